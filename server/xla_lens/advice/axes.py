"""Where the axes of the program's inputs go: which dimension of each array is that of the examples of a batch, or of
the positions of a sequence.

Shapes alone do not tell: a batch may be as large as a layer is wide, and a similarity of 256 examples has the shape of
attention over 256 positions. The HLO module shows what each instruction does with each dimension.

An axis is *added up* by a sum over it, *joined* by all else that lets one element of it depend on others: a product of
two of its elements, a maximum, a sort, a gather from it. The gradient of a loss that is a mean adds the batch up last.
Where an array that still has the axis was computed from what has joined it, the examples are not independent.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import accumulate, combinations, permutations
from math import prod
from operator import or_
from typing import Final, NamedTuple

from msgspec import Struct

from xla_lens.advice.arrays import (
    NOTHING,
    Array,
    Result,
    arrays_of,
    begun,
    complete,
    counted_dimensions,
    drawn,
    element_of,
    elements_of,
    from_backward,
    is_like,
    joined_with,
    lengths_of,
    union,
    unknown,
    unknown_array,
    unpacked,
)
from xla_lens.advice.dimensions import (
    COUNTED,
    MARKS,
    OF_FACTORS,
    OF_LEFT,
    OF_RIGHT,
    Dimension,
    Factor,
    Lengths,
    all_axes,
    axes_of,
    axis_length,
    bits_of,
    first_part,
    grown,
    in_memory,
    is_interleaved,
    length_of,
    merged,
    padded,
    plain,
    regrouped,
    resized,
    shrunk,
    together,
    total,
    without,
)
from xla_lens.advice.op_names import RANDOM_BITS, folded, is_backward, is_differentiated
from xla_lens.model.attribution.writers import BRANCHES, ELEMENT_INDEX
from xla_lens.model.hlo.module import HloModule
from xla_lens.syntax.columns import NONE
from xla_lens.syntax.hlo.instruction import InstructionText
from xla_lens.syntax.hlo.shapes import ArrayShape, parse_shape, subshape_spans
from xla_lens.syntax.numbers import integer
from xla_lens.text.patterns import lazy_pattern


class Parameter(NamedTuple):
    """An argument of the program: the bits of the axes of its dimensions, and what is known of its content."""

    axes: tuple[int, ...]
    is_data: bool
    is_trained: bool


class Pairs(NamedTuple):
    """An array with an element, or several, for each pair of two examples: its lengths, those of the rows and of the
    columns alone, and the axes of these.
    """

    lengths: Lengths
    of_examples: Lengths
    axes: int


class _Known(NamedTuple):
    """What is known of an instruction: the number of its result, and how often it reduces arrays, by the numbers of
    their elements.
    """

    number: int
    reductions: Counter[int] | None = None


class _Made(Struct, frozen=True):
    """What is made in an iteration of a loop: the elements that it depends on of those that the loop carries, and
    whether it is an array of which a slice was written over.
    """

    depends: frozenset[int] = frozenset()
    is_stored: bool = False


def _together(made: _Made | tuple[_Made, ...]) -> _Made:
    """What depends on all of some elements, or on the only one."""
    if isinstance(made, _Made):
        return made
    return _Made(frozenset[int]().union(*(each.depends for each in made)))


class _Sums:
    """The sums of the forward pass over axes of what depends on weights that are trained, and whether they reach arrays
    that still have these axes. Each has a bit, the same for those of several layers, but for one that depends on
    another one of the same calls, as a variance does on a mean.
    """

    def __init__(self) -> None:
        self._bits, self._axes = dict[tuple[object, ...], int](), dict[int, int]()
        self._early = self._late = self._early_axes = 0

    def bit_of(self, calls: tuple[str | None, ...], axes: int, before: int) -> int:
        """Return the bit of a sum over some axes that some calls make. `before` are those that it depends on."""
        is_second = bool(self._bits.get((*calls, axes, False), 0) & before)
        bit = self._bits.setdefault((*calls, axes, is_second), 1 << len(self._bits))
        self._axes[bit] = axes
        return bit

    def reach(self, array: Array, axes: int) -> None:
        """Note that an array has some axes that sums have added up on which it depends."""
        sums = sum(bit for bit in bits_of(array.sums) if self._axes[bit] & axes)
        if array.is_from_backward:
            self._late |= sums
        else:
            self._early |= sums
            self._early_axes |= axes

    @property
    def late(self) -> int:
        """The axes of which some sums reach no such arrays in the forward pass, but may do so in the backward pass."""
        late = self._late & ~self._early
        return ~self._early_axes | reduce(or_, map(self._axes.__getitem__, bits_of(late)), 0)


class Axes:
    """Follows the axes of arguments through a module.

    `arguments` are those of the program by their number, or by that of a tuple and their place in it, and `lengths` the
    length of each axis, by its bit. After that,

    - `added` are the axes whose sums reach arrays that still have them, such as those of batch normalization.
      `added_late` are those for which only the backward pass computes such arrays, because the loss is a quotient of
      sums, or their root.
    - `normalized` are the axes by whose sums, or the roots of these, the program divides. `normalized_trained` are
      those of sums of what depends on arguments that it returns anew.
    - `joined` are the axes whose elements depend on each other in another way.
    - `joined_within` are those for which that is more than to move elements of what depends on no weights that are
      trained, and `moved` those along which the program moves such elements, as mixup does.
    - `looked_up` are the lengths of dimensions of which integer arguments select elements, such as the vocabulary.
    - `scores` are the numbers of elements of products of two positions, `exponentials` those of exponentials, and
      `weights` those of the weights of averages over positions. `learned_scores` are the sorted lengths of products of
      positions with what has none, such as the learned queries of a Perceiver.
    - `averaged` has, by the numbers of elements of such products, the marks of the dimensions over which the forward
      pass averages other values with them, and `compared` those of the dimensions along which it reduces or sorts them.
    - `trained_sums` are the axes over which the program sums what depends on arguments that it returns anew, such as
      those of gradients. What only a frozen model sums over is none.
    - `products_apart` are the axes over which products sum that depend on such arguments and are not differentiated,
      such as those that approximate second derivatives. Without marks of what is differentiated, there are none.
    - `updated` are the axes over which it has summed factors of products that it differentiates and that have them no
      more, such as weights that were updated with gradients before.
    - `of_own_weights` are the axes each element of which has weights of its own, as each of several models has.
    - `pairs` are the numbers of elements of what compares all examples with all, in a product or element by element,
      and of what the forward pass computes of that, with their dimensions. `centred` are those of arrays in whose
      elements it has what it reduced along both dimensions.
    - `one_hot` are the numbers of elements of one-hot arrays, with the greatest number of their dimensions that numbers
      select from. `one_hot_factors` are those of factors of products.
    - `reductions` counts, by the numbers of elements, what the forward pass reduces, and `summed` has the axes that its
      products sum over. `products` are the numbers of elements of its products other than `pairs`, and `others` those
      of what is carried by loops, or read by a sort, a decomposition and the like.
    - `with_weights` are the names of its products of what depends on the batch with weights, by how many elements they
      sum over; not those with one-hot vectors, which select elements.
    - `of_count` has the axes of the arrays with each number of elements, `dependent` those of their `recent` axes that
      they have, so that their elements depend on each other along these, and `parted` those of which they have a part.
    - `beside` has, for each axis of arrays that are put end to end, the axes of all of them, and `aligned`, for each
      axis whose elements are combined one by one with those of others, all of these.
    - `left` has, by the numbers of elements of what the forward pass reduces, the lengths of the dimensions that stay.
    - `totals` has the axes over which the program sums arrays with each number of elements, by whatever instruction.
    - `whole` are the numbers of elements of arrays of which something needs more than one element along an axis, other
      than sums and maxima of them: what sorts them, gathers from them or cuts them into parts. Loops carry others.
    - `interleaved` are the numbers of elements of arrays that a reshape makes of others with rows of another length, so
      that elements move from row to row.
    - `layered` are the lengths of inputs of which a loop reads a row in each iteration, as it does of weights that are
      trained: the frozen weights of as many layers.
    - `results` are the arrays that the program returns.
    - `numbered` are the axes of arrays that it combines with what it computes from the numbers of the elements.
    - `random` are the axes of arrays that it combines with random numbers, such as those of dropout, and
      `is_random_input` says that it multiplies these with matrices, as models do that make something of noise.
    - `is_complete` is False if the module is too long, or if a part of it is missing.
    """

    def __init__(
        self, module: HloModule, arguments: Mapping[tuple[int, ...], Parameter], lengths: Mapping[int, int]
    ) -> None:
        self.added = self.joined = self.joined_within = self.moved = self.normalized = self.normalized_trained = 0
        self.trained_sums = self.products_apart = self.updated = self.of_own_weights = self.random = self.numbered = 0
        self.looked_up = set[int]()
        self.scores, self.exponentials, self.weights = set[int](), set[int](), set[int]()
        self.learned_scores = set[Lengths]()
        self.averaged, self.compared = Counter[int](), Counter[int]()
        self.pairs, self.centred = dict[int, Pairs](), set[int]()
        self.one_hot, self.one_hot_factors = dict[int, int](), set[int]()
        self.reductions, self.summed = Counter[int](), Counter[int]()
        self.products, self.others = set[int](), set[int]()
        self.with_weights = dict[int, set[bytes]]()
        self.of_count, self.dependent = Counter[int](), Counter[int]()
        self.parted, self.totals = Counter[int](), Counter[int]()
        self.whole, self.left = set[int](), dict[int, set[int]]()
        self.interleaved, self.layered = set[int](), set[Lengths]()
        self.beside, self.aligned = Counter[int](), Counter[int]()
        self._end_to_end: dict[Dimension, set[tuple[int, Dimension]]] = {}
        """The dimensions of arrays that are end to end in a dimension of another one, with their first places in it."""
        self._trained_rows, self._rows_of_inputs = set[tuple[int, int]](), dict[tuple[int, int], set[Lengths]]()
        """The loops that read a row of arrays in each iteration, by their bodies, with the numbers of rows."""
        self._bodies = [NONE]
        """The bodies of the loops around what is followed."""
        self.results: tuple[Array, ...] = ()
        self._module, self._arguments, self._lengths = module, arguments, lengths
        self._sums, self.is_random_input = _Sums(), False
        self._gathered = dict(lengths)
        """The length of each axis on all devices together, as far as arrays with it are gathered, or of several arrays
        end to end.
        """
        forms = module.forms
        self._form: list[int] = forms.form.tolist()
        self._operands: list[int] = forms.operands.tolist()
        self._operands_end: list[int] = forms.operand_count.clip(0).cumsum().tolist()
        self._found: list[Result] = []
        self._number_of: dict[Result, int] = {}
        """The results that were found, each once, and their numbers."""
        self._scheduled: dict[int, int] = {}
        """The numbers of the results of instructions, by their row, other than those in fusions and in what is like
        another that was followed.
        """
        self._known: dict[bool, dict[tuple[int, ...], _Known]] = {False: {}, True: {}}
        """What instructions compute, by their form and the numbers of their operands. The layers of an unrolled loop
        are followed once. What is being prefetched is apart.
        """
        self._left, self._rows_left, self._depth = _MOST_INSTRUCTIONS, _MOST_ROWS, 0
        self._has_marks = _MARK in module.data
        """Whether op_names tell what is differentiated."""
        self._is_prefetching = False
        """Whether the slices are those that a TPU copies to VMEM one by one and joins again."""
        entry = module.entry
        self.is_complete = entry != NONE
        if self.is_complete:
            try:
                self.results = tuple(arrays_of(self._computation(entry, None)))
            except (IndexError, KeyError, ValueError, ZeroDivisionError):
                # A damaged module, or one of an unknown form, may name dimensions that its arrays lack.
                self.is_complete = False

    @property
    def added_late(self) -> int:
        """The axes of which some sums reach arrays that still have them in the backward pass alone."""
        return self.added & self._sums.late

    def array(self, row: int, path: Iterable[int]) -> Array | None:
        """Return what is known of the result of the instruction in a row, or of an element of it; None if nothing is,
        or if it is a tuple.
        """
        number = self._scheduled.get(row, NONE)
        result = reduce(element_of, path, self._found[number]) if number != NONE else NOTHING
        return result if isinstance(result, Array) and result is not NOTHING else None

    # ------------------------------------------------------------ computations

    def _computation(self, computation: int, parameters: Sequence[Result] | None, *, is_fused: bool = False) -> Result:
        """The result of a computation, None for the parameters of the program."""
        self._depth += 1
        rows = self._module.instructions_of(computation)
        root, numbers = self._module.root(computation), dict[int, int]()
        if len(rows) > self._rows_left or self._depth > _MOST_DEPTH:
            self.is_complete = False
            rows = range(0)
        self._rows_left -= len(rows)
        for row in rows:
            operands = self._operands_of(row)
            key = self._form[row], *[numbers.get(operand, NONE) for operand in operands]
            known = self._known[self._is_prefetching].get(key) or self._follow(row, key, numbers, parameters)
            if known.reductions:
                self.reductions.update(known.reductions)
            numbers[row] = known.number
        self._depth -= 1
        if not is_fused:
            self._scheduled.update(numbers)
        return self._found[numbers[root]] if root in numbers else NOTHING

    def _follow(
        self, row: int, key: tuple[int, ...], numbers: Mapping[int, int], parameters: Sequence[Result] | None
    ) -> "_Known":
        """What an instruction computes, which is kept for those that are like it."""
        own, before = self._module.instruction(row), self.reductions
        self._left -= 1
        if own is None or self._left < 0:
            self.is_complete = False
            return _Known(self._number(NOTHING))
        is_drawn = own.opcode in _DRAWING or any(map(own.has_text, _RANDOM))
        self.reductions = Counter()
        if self._form[row] == NONE or own.has_text(b"#"):
            operands = [self._operand(reference.name, numbers) for reference in own.operands()]
        else:
            operands = [self._found[number] if number != NONE else NOTHING for number in key[1:]]
        result = self._result(own, operands, parameters)
        result = drawn(result) if is_drawn else result
        if own.opcode not in _CALLING:
            is_late = is_backward(own.op_name)
            result = from_backward(result) if is_late else self._with_sums(own, operands, result)
        for array in arrays_of(result):
            axes = array.axes
            self.random |= axes * array.is_drawn
            if axes:
                count = total(array.dimensions)
                self.of_count[count] |= axes
                self.dependent[count] |= axes & array.recent
                self.parted[count] |= self._parted(array.dimensions)
                if axes & OF_FACTORS == OF_FACTORS and _is_forward(own):
                    self._note_pairs(array, count)
                # XLA puts updates and their indices end to end to scatter all of them to one table.
                if not (_is_joined_by_xla(own) and (array.is_index or array.is_from_backward)):
                    self._note_neighbors(array)
            self.added |= axes & array.added
            if axes & array.added:
                self._sums.reach(array, axes & array.added)
            self.joined |= axes & array.joined
            self.joined_within |= axes & array.joined_within
        known = _Known(self._number(result), self.reductions)
        self.reductions = before
        # A parameter depends on the caller, and `async-update` on the instruction that has started the operation.
        if self._form[row] != NONE and own.opcode not in (b"parameter", b"async-update"):
            self._known[self._is_prefetching][key] = known
        return known

    def _with_sums(self, own: InstructionText, operands: Iterable[Result], result: Result) -> Result:
        """The result of an instruction of the forward pass, with its bit if it adds up axes of its operands."""
        if not isinstance(result, Array) or not (result.is_trained and result.added & ~result.axes):
            return result
        # Without marks in op_names, one without an op_name may be of any pass.
        if not (own.op_name or self._has_marks):
            return result
        before = reduce(or_, (array.axes for operand in operands for array in arrays_of(operand)), 0)
        gone = before & result.added & ~result.axes
        if not gone:
            return result
        metadata = own.metadata()
        calls = folded(own.op_name), *map(metadata.get, _CALLS)
        return result._replace(sums=result.sums | self._sums.bit_of(calls, gone, result.sums))

    def _note_neighbors(self, array: Array) -> None:
        """Note the axes that share a dimension: if it is longer than any of them, the arrays are put end to end."""
        for dimension in array.dimensions:
            for axes, length in dimension:
                own = axes & ~MARKS
                # Nearly all have one axis at most.
                if own & (own - 1):
                    is_longer = length > max(self._lengths.get(bit, 0) for bit in bits_of(own))
                    for bit in bits_of(own):
                        (self.beside if is_longer else self.aligned)[bit] |= own

    def _note_pairs(self, array: Array, count: int) -> None:
        """Note an array with the positions of both factors of a product, or of both arrays that are compared."""
        if _is_centred(array):
            self.centred.add(count)
        rows, columns = (
            next((dimension for dimension in array.dimensions if axes_of(dimension) & mark), ())
            for mark in (OF_LEFT, OF_RIGHT)
        )
        if rows is not columns:
            of_examples = length_of(rows), length_of(columns)
            axes = axes_of(rows) | axes_of(columns)
            known = self.pairs.setdefault(count, Pairs(array.lengths, of_examples, 0))
            self.pairs[count] = known._replace(axes=known.axes | (axes & ~MARKS))

    def _parted(self, dimensions: Sequence[Dimension]) -> int:
        """The axes of which dimensions have only a part."""
        factors = [factor for dimension in dimensions for factor in dimension if factor[0] & ~MARKS]
        own = reduce(or_, (axes for axes, _ in factors), 0) & ~MARKS
        return sum(bit for bit in bits_of(own) if axis_length(factors, bit) < self._lengths.get(bit, 0))

    def _need_whole(self, arrays: Iterable[Array]) -> None:
        """Note arrays that a loop carries, or that an instruction mixes in an unknown way."""
        counts = {total(array.dimensions) for array in arrays}
        self.others |= counts
        self.whole |= counts

    def _number(self, result: Result) -> int:
        """The number of a result, which gets one if it has none."""
        number = self._number_of.setdefault(result, len(self._found))
        if number == len(self._found):
            self._found.append(result)
        return number

    def _result(self, own: InstructionText, operands: Sequence[Result], parameters: Sequence[Result] | None) -> Result:
        opcode = own.opcode
        if opcode == b"parameter":
            number = own.parameter_number or 0
            if parameters is None:
                return self._argument(own.shape, (number,))
            return parameters[number] if number < len(parameters) else unknown(own.shape, ())
        if opcode == b"tuple":
            return tuple(operands)
        if opcode == b"get-tuple-element":
            element = ELEMENT_INDEX.search(own.text, own.operands_end, own.end)
            return (
                element_of(operands[0], integer(element[1])) if element and operands else unknown(own.shape, operands)
            )
        called = self._called(own)
        match opcode:
            case b"custom-call" | b"topk" if operands and (opcode == b"topk" or own.has_text(_TOP)):
                return self._top(own, next(arrays_of(operands[0]), NOTHING))
            case b"fusion" | b"call" | b"async-start" | b"custom-call" if called:
                before, self._is_prefetching = self._is_prefetching, self._is_prefetching or opcode == b"async-start"
                result = self._computation(called[0], operands, is_fused=opcode == b"fusion")
                self._is_prefetching = before
                return (tuple(operands), result) if opcode == b"async-start" else result
            case b"async-update" if len(operands) > 1:
                # A SparseCore starts without operands, and gets them here.
                return tuple(operands[1:]), self._started(own, operands[1:])
            case b"while" if len(called) == _BODY_AND_CONDITION and operands:
                return self._loop(called[0], operands[0])
            case b"conditional" if called:
                pairs = zip(called, operands[1:], strict=False)
                return reduce(union, (self._computation(branch, [operand]) for branch, operand in pairs))
            case b"copy-start":
                return operands[0], operands[0]
        if opcode.endswith(b"-done") or opcode == b"async-update":
            done = operands[0] if operands else NOTHING
            is_started = isinstance(done, tuple) and opcode not in (b"async-update", b"all-reduce-done")
            return element_of(done, 1) if is_started else done
        if opcode in _PASSING:
            return operands[0] if len(operands) == 1 else tuple(operands)
        arrays = [next(arrays_of(operand), NOTHING) for operand in operands]
        if opcode == b"custom-call" and own.has_text(_COLLECTIVE):
            return self._collective(own, arrays)
        if opcode in _STARTS and (spans := elements_of(own.shape)):
            # The result has the operands, the results and more, in this order.
            return tuple(operands), self._exchanged(arrays, own.shape[slice(*spans[1])])
        if opcode in _EXCHANGING and own.shape.startswith(b"("):
            return self._exchanged(arrays, own.shape)
        result = self._array(own, arrays)
        if isinstance(result, Array) and _is_one_hot(own, arrays) and (numbers := counted_dimensions(result)):
            count = total(result.dimensions)
            self.one_hot[count] = max(numbers, self.one_hot.get(count, 0))
            return result._replace(is_one_hot=True)
        return result

    def _exchanged(self, arrays: Sequence[Array], shape: bytes) -> Result:
        """The results of an exchange of one array between devices, or of several that XLA has combined."""
        spans = elements_of(shape) if shape.startswith(b"(") else ()
        if not spans:
            return self._like(arrays[0], lengths_of(shape))
        return tuple(
            self._like(array, lengths_of(shape[slice(*span)])) for array, span in zip(arrays, spans, strict=False)
        )

    def _started(self, own: InstructionText, operands: Sequence[Result]) -> Result:
        """The result of what an asynchronous operation computes, of which an instruction has the operands."""
        reference = own.operand(0)
        row = self._module.row_of(reference.name) if reference else NONE
        start = self._module.instruction(row) if row != NONE else None
        called = self._called(start) if start else []
        return self._computation(called[0], operands) if called else unknown(own.shape, operands)

    def _collective(self, own: InstructionText, arrays: Sequence[Array]) -> Result:
        """What a TPU starts or ends within a fusion that holds the collective operation itself: the part of a device,
        its result and more, or that result alone.
        """
        if spans := elements_of(own.shape):
            source = arrays[0] if arrays else NOTHING
            parts = (lengths_of(own.shape[slice(*span)]) for span in spans)
            return tuple(
                source._replace(dimensions=shrunk(source.dimensions, part))
                if len(part) == len(source.dimensions)
                else NOTHING
                for part in parts
            )
        like = [array for array in arrays if array.lengths == lengths_of(own.shape)]
        # The buffer for the result has its shape.
        return next(reversed(like), unknown(own.shape, arrays, joins=True))

    def _like(self, operand: Array, lengths: Lengths) -> Array:
        """What devices gather or exchange of an array."""
        dimensions = grown(operand.dimensions, lengths)
        self._gather_axes(dimensions)
        return self._joint(dimensions, (operand,))

    def _gather_axes(self, dimensions: Sequence[Dimension]) -> None:
        factors = [factor for dimension in dimensions for factor in dimension]
        for bit in bits_of(all_axes(dimensions)):
            if (length := axis_length(factors, bit)) > self._gathered.get(bit, 0):
                self._gathered[bit] = length
                # What has the axis twice may now be two parts of it.
                self._known = {False: {}, True: {}}

    def _called(self, own: InstructionText) -> list[int]:
        """The computations that an instruction calls, the body of a loop before its condition."""
        if own.opcode not in _CALLING:
            return []
        calls = sorted(self._module.called(own.operands_end, own.end), key=lambda call: (call[0], call[1]))
        return [row for attribute, _, row in calls if row != NONE and (attribute in _BODIES or attribute in BRANCHES)]

    def _operand(self, name: bytes, numbers: Mapping[int, int]) -> Result:
        row, index = self._module.operand(name)
        result = self._found[numbers[row]] if row in numbers else NOTHING
        for number in re.findall(rb"\d+", index):
            result = element_of(result, integer(number))
        return result

    def _argument(self, shape: bytes, place: tuple[int, ...]) -> Result:
        """A parameter of the program, or an element of one: JAX passes thousands of arguments to a TPU as one tuple."""
        if shape.startswith(b"("):
            return tuple(
                self._argument(shape[slice(*span)], (*place, element))
                for element, span in enumerate(elements_of(shape))
            )
        known = self._arguments.get(place)
        if known is None:
            return unknown(shape, ())
        lengths = lengths_of(shape)
        axes = known.axes if len(known.axes) == len(lengths) else (0,) * len(lengths)
        dimensions = tuple(((bits, length),) for bits, length in zip(axes, lengths, strict=True))
        is_index = known.is_data and _is_integer(shape)
        return Array(dimensions, 0, self._paired(dimensions), known.is_data, known.is_trained, is_index)

    def _loop(self, body: int, carried: Result) -> Result:
        """What a loop carries, once another iteration adds nothing to it."""
        carried = complete(carried)
        self._need_whole(arrays_of(carried))
        self._bodies.append(body)
        for _ in range(_MOST_ITERATIONS):
            before = carried
            carried = union(before, complete(self._computation(body, [begun(before)])))
            if carried == before:
                break
        self._bodies.pop()
        self.moved |= self._passed_between_steps(body, carried) & ~MARKS
        return carried

    def _passed_between_steps(self, body: int, carried: Result) -> int:
        """The axes along which a loop takes elements of data in turn, and stacks what depends on those before them,
        such as returns of the rewards that come later.
        """
        elements = dict(enumerate(carried if isinstance(carried, tuple) else ()))
        likely = {
            number: array
            for number, array in elements.items()
            if isinstance(array, Array) and array.is_data and array.joined and not (array.is_trained or array.is_index)
        }
        begins = tuple(_Made(frozenset((number,)) if number in likely else frozenset()) for number in elements)
        results = self._made_in(body, [begins]) if likely else ()
        if isinstance(results, _Made) or len(results) != len(elements):
            return 0
        stacks = (array for number, array in likely.items() if results[number].is_stored and results[number].depends)
        return reduce(or_, (array.joined for array in stacks), 0)

    def _made_in(
        self, computation: int, parameters: Sequence[_Made | tuple[_Made, ...]], around: frozenset[int] = frozenset()
    ) -> _Made | tuple[_Made, ...]:
        """What the result of a computation depends on, by what its parameters do. What is written over a slice of an
        array does not depend on that. `around` are the computations that call it: those of a damaged module may call
        themselves.
        """
        made, root = dict[int, _Made | tuple[_Made, ...]](), self._module.root(computation)
        for row in self._module.instructions_of(computation):
            own = self._module.instruction(row)
            operands = [made.get(operand, _Made()) for operand in self._operands_of(row)]
            called = self._called(own) if own and own.opcode in (b"fusion", b"async-start") else []
            element = ELEMENT_INDEX.search(own.text, own.operands_end, own.end) if own else None
            first = operands[0] if operands else _Made()
            if own is None:
                made[row] = _Made()
            elif own.opcode == b"parameter":
                number = own.parameter_number or 0
                made[row] = parameters[number] if number < len(parameters) else _Made()
            elif own.opcode == b"tuple":
                made[row] = tuple(map(_together, operands))
            elif own.opcode == b"get-tuple-element" and element and isinstance(first, tuple):
                number = integer(element[1])
                made[row] = first[number] if number < len(first) else _Made()
            elif called:
                callers = around | {computation}
                made[row] = self._made_in(called[0], operands, callers) if called[0] not in callers else _Made()
            elif own.opcode == b"dynamic-update-slice":
                made[row] = _Made(_together(tuple(map(_together, operands[1:]))).depends, is_stored=True)
            elif own.opcode in (b"async-done", b"bitcast", b"copy", b"get-tuple-element"):
                made[row] = first
            else:
                made[row] = _together(tuple(map(_together, operands)))
        return made.get(root, _Made())

    def _operands_of(self, row: int) -> list[int]:
        """The instructions that are the operands of another one, as rows."""
        return self._operands[self._operands_end[row - 1] if row else 0 : self._operands_end[row]]

    # ------------------------------------------------------------ arrays

    def _array(self, own: InstructionText, operands: Sequence[Array]) -> Result:
        """The result of an instruction that computes arrays."""
        text, lengths = own.text[own.operands_end : own.end].partition(b", metadata={")[0], lengths_of(own.shape)
        first = operands[0] if operands else NOTHING
        # Optimizers divide gradients, too.
        self._note(own.opcode, text, operands, is_of_loss=not self._is_undifferentiated(own))
        match own.opcode:
            case b"partition-id" | b"replica-id":
                return Array((), is_device=True)
            case b"iota":
                counted = _numbers(text, b"iota_dimension")
                return Array(tuple(((COUNTED * (number in counted), length),) for number, length in enumerate(lengths)))
            case b"constant" | b"rng" | b"rng-bit-generator" | b"after-all":
                return unknown(own.shape, operands)
            case b"dot" | b"convolution" | b"custom-call" if len(operands) > 1 and (
                product := self._product(own, operands)
            ):
                return (product, NOTHING) if own.shape.startswith(b"(") else product
            case b"triangular-solve" | b"custom-call" if len(operands) > 1 and (
                side := _SIDE.search(own.text, own.operands_end, own.end)
            ):
                return self._solution(*operands[:2], is_left=bool(side[1] or side[2]))
            case b"reduce":
                return self._reduced(own, text, operands)
            case b"reduce-window" | b"select-and-scatter":
                return self._of_windows(own, text, first)
            case b"sort" | b"reverse" | b"all-to-all":
                return self._rearranged(own, text, operands)
            case b"gather" if len(operands) > 1:
                return self._gather(own, text, first, operands[1])
            case b"scatter" if len(operands) >= _SCATTER_OPERANDS:
                return self._scatter(own, text, operands)
        dimensions = self._moved(own, text, operands)
        if dimensions is None:
            return self._of_elements(own, operands)
        sources = operands[: _SOURCES.get(own.opcode, len(operands))]
        if _is_joined_by_xla(own) and all(one.is_from_backward for one in sources):
            sources = _apart(sources)
        is_regrouped = own.opcode in (b"bitcast", b"reshape")
        found = self._joint(dimensions, sources, is_index=_is_integer(own.shape), is_regrouped=is_regrouped)
        beside = self._cut(own, operands) | self._shifted(own, text, first)
        self._mix(first, beside)
        return joined_with(found, beside)

    def _is_undifferentiated(self, own: InstructionText) -> bool:
        """Whether op_names tell that the program does not differentiate an instruction."""
        return self._has_marks and own.op_name is not None and not is_differentiated(own.op_name)

    def _note(self, opcode: bytes, text: bytes, operands: Sequence[Array], *, is_of_loss: bool) -> None:
        """Note what an instruction tells of axes, whatever its result is."""
        match opcode, operands:
            case b"compare", [left, right] if b"direction=EQ" in text:
                for one, other in ((left, right), (right, left)):
                    if other.is_index and not one.is_data:
                        counted = (dimension for dimension in one.dimensions if axes_of(dimension) & COUNTED)
                        self.looked_up.update(map(length_of, counted))
            case ((b"rsqrt" | b"sqrt" | b"power"), [operand, *_]) if is_of_loss:
                self._normalize(operand)
            case b"divide", [dividend, divisor] if is_of_loss:
                # The derivative of a logarithm of a sum divides by it, too, whatever the sum is of.
                is_quotient = (dividend.axes | dividend.added | dividend.joined) & divisor.added
                if is_quotient or not divisor.is_trained:
                    self._normalize(divisor)
            case b"exponential", [operand] if operand.is_data:
                self.exponentials.add(total(operand.dimensions))

    def _normalize(self, divisor: Array) -> None:
        axes = divisor.added & ~divisor.axes
        self.normalized |= axes
        self.normalized_trained |= axes * divisor.is_trained

    def _moved(self, own: InstructionText, text: bytes, operands: Sequence[Array]) -> tuple[Dimension, ...] | None:
        """The dimensions of what has the elements of its operands in other places, None for other instructions."""
        lengths, first = lengths_of(own.shape), operands[0] if operands else NOTHING
        match own.opcode:
            case b"broadcast":
                places = dict(zip(_numbers(text, b"dimensions"), first.dimensions, strict=False))
                return tuple(places.get(number, ((0, length),)) for number, length in enumerate(lengths))
            case b"transpose":
                return tuple(first.dimensions[number] for number in _numbers(text, b"dimensions"))
            case b"reshape":
                self.interleaved |= {prod(lengths)} if is_interleaved(first.lengths, lengths) else set()
                return regrouped(first.dimensions, lengths)
            case b"bitcast":
                is_reshape = not _is_tiled(own.shape)
                self.interleaved |= {prod(lengths)} if is_reshape and is_interleaved(first.lengths, lengths) else set()
                return self._bitcast(own, first)
            case b"pad":
                return padded(first.dimensions, lengths)
            case b"concatenate" | b"all-gather" | b"dynamic-update-slice":
                parts = operands[: _SOURCES.get(own.opcode, len(operands))]
                joined = merged([part.dimensions for part in parts], is_loose=True)
                # What XLA adds by itself is a padding, such as that of a reduce-scatter of parts that are no multiples.
                dimensions = grown(joined, lengths, is_padded=_is_joined_by_xla(own))
                if own.opcode == b"all-gather":
                    self._gather_axes(dimensions)
                if own.opcode == b"concatenate":
                    self.numbered |= _numbered(parts) if _is_forward(own) and not _is_integer(own.shape) else 0
                    for number in _numbers(text, b"dimensions"):
                        self._note_ends(dimensions[number], [part.dimensions[number] for part in parts])
                # So do the examples of two batches end to end. Tiles may divide these into two dimensions.
                for dimension in dimensions:
                    self._gather_axes((dimension,))
                return dimensions
            case b"slice" | b"dynamic-slice" | b"reduce-scatter":
                self._note_row(first, lengths)
                if _is_forward(own) and not self._is_prefetching:
                    pairs = zip(first.dimensions, lengths, strict=False)
                    self._compare(first.dimensions, all_axes(one for one, length in pairs if length_of(one) > length))
                is_of_device = any(operand.is_device for operand in operands[1:])
                return shrunk(
                    self._taken_apart(first.dimensions, text, lengths),
                    lengths,
                    is_padded=is_of_device,
                    keeps_axes=self._is_prefetching,
                )
            case b"custom-call" if _SAME_CALLS.search(text):
                return (padded if len(operands) == 1 else grown)(first.dimensions, lengths)
        return None

    def _of_elements(self, own: InstructionText, operands: Sequence[Array]) -> Result:
        """What is computed from the elements in the same place of each operand, or from all if that is unknown."""
        is_reducing = own.opcode in _REDUCING
        if operands and (count := _mapped_dimensions(own, len(operands[0].dimensions))):
            return self._of_kernel(own.shape, operands, count)
        if own.shape.startswith(b"("):
            # An all-reduce of several arrays keeps each as it is.
            return tuple(operands) if is_reducing else unknown(own.shape, operands, joins=True)
        lengths = lengths_of(own.shape)
        like = [operand for operand in operands if is_like(operand, lengths)]
        others = [operand for operand in operands if operand.dimensions and not is_like(operand, lengths)]
        dimensions = padded(merged([operand.dimensions for operand in like], is_loose=True) if like else (), lengths)
        if own.opcode in _ELEMENTWISE and len(like) > 1 and _is_forward(own):
            dimensions = _with_pairs_marked(dimensions, like)
            self.numbered |= 0 if _is_integer(own.shape) else _numbered(like)
        joining = others if own.opcode in _ELEMENTWISE or is_reducing else operands
        if joining is operands:
            self._need_whole(operands)
        joined = reduce(or_, (operand.axes for operand in joining), 0)
        found = self._joint(dimensions, operands, joined=joined, is_index=_is_integer(own.shape))
        return unpacked(found) if own.opcode == b"and" and found.packed else found

    def _of_kernel(self, shape: bytes, operands: Sequence[Array], count: int) -> Result:
        """What a kernel or a transform computes. Only along the first dimensions, over which it is mapped, is each
        element its own.
        """
        if shape.startswith(b"("):
            return tuple(self._of_kernel(shape[slice(*span)], operands, count) for span in elements_of(shape))
        lengths = lengths_of(shape)
        self._need_whole(operands)
        mapped = list(plain(lengths[:count]))
        for number, length in enumerate(lengths[:count]):
            for operand in operands:
                if operand.lengths[number : number + 1] == (length,):
                    mapped[number] = together(mapped[number], operand.dimensions[number])
        # The elements of the other axes are anywhere in the rest.
        inside = reduce(or_, (operand.axes for operand in operands), 0) & ~all_axes(mapped)
        rest = (((inside, length),) for length in lengths[count:])
        return self._joint((*mapped, *rest), operands, joined=inside, is_sum=True)

    def _solution(self, matrix: Array, right: Array, *, is_left: bool) -> Array:
        """The solution of triangular systems of equations. Columns do not depend on each other, nor do rows if the
        unknowns are on the left.
        """
        self._need_whole((matrix, right))
        dimensions = list(right.dimensions)
        for number, dimension in enumerate(matrix.dimensions[:-_MATRIX]):
            dimensions[number] = together(dimensions[number], dimension)
        solved = len(dimensions) - (_MATRIX if is_left else 1)
        return self._joint(dimensions, (matrix, right), joined=axes_of(dimensions[solved]) | matrix.axes, is_sum=True)

    def _reduced(self, own: InstructionText, text: bytes, operands: Sequence[Array]) -> Result:
        """What is left of arrays that are reduced along some dimensions: the first half of the operands."""
        dropped, dimensions = _numbers(text, b"dimensions"), operands[0].dimensions
        reduction = self._reduction(own)
        gone, is_sum = all_axes(dimensions[number] for number in dropped), reduction == b"add"
        kept = [dimension for number, dimension in enumerate(dimensions) if number not in dropped]
        arrays = operands[: len(operands) // 2]
        if reduction == b"or" and own.op_name is None and len(dropped) == 1:
            # A TPU packs a mask that it keeps for the backward pass: the bits of a number are examples of the batch.
            return self._joint(kept, arrays)._replace(packed=dimensions[dropped[0]])
        added, joined = (gone, 0) if is_sum else (0, gone)
        self.trained_sums |= gone * any(array.is_trained for array in arrays)
        self.totals[total(dimensions)] |= gone * is_sum
        if _is_forward(own):
            self._compare(dimensions, gone)
        reduced = self._joint(without(kept, added & self._divided(operands[0])), arrays, added, joined, is_sum=True)
        if _is_forward(own):
            self.reductions[total(dimensions)] += 1
            self.left.setdefault(total(dimensions), set()).update(map(length_of, kept))
            reduced = reduced._replace(reduced=reduced.reduced | (gone & OF_FACTORS))
        return (reduced,) * len(arrays) if own.shape.startswith(b"(") else reduced

    def _compare(self, dimensions: Iterable[Dimension], over: int) -> None:
        """Note that the forward pass needs the elements of an array together along some axes."""
        if over & OF_FACTORS:
            self.compared[total(dimensions)] |= over & OF_FACTORS

    def _top(self, own: InstructionText, operand: Array) -> Result:
        """The largest elements of an array along one dimension, and their numbers."""
        self.others.add(total(operand.dimensions))
        lengths, found, joined = _lengths_of_first(own.shape), list[Dimension](), 0
        for dimension, length in zip(operand.dimensions, lengths, strict=True):
            is_whole = length_of(dimension) == length
            found.append(dimension if is_whole else ((0, length),))
            joined |= 0 if is_whole else axes_of(dimension)
        self.whole |= {total(operand.dimensions)} if joined else set()
        return (self._joint(found, [operand], joined=joined),) * len(elements_of(own.shape))

    def _rearranged(self, own: InstructionText, text: bytes, operands: Sequence[Array]) -> Result:
        """Arrays whose elements change places along some dimensions."""
        dimensions, lengths = operands[0].dimensions, lengths_of(own.shape)
        if own.opcode == b"sort":
            self.others.add(total(dimensions))
        along = all_axes(dimensions[number] for number in _numbers(text, b"dimensions"))
        # Devices that exchange parts compute nothing of them.
        joined = 0 if _is_of_scatter(own) or own.opcode == b"all-to-all" else along
        self.whole |= {total(dimensions)} if joined else set()
        if _is_forward(own):
            self._compare(dimensions, along)
        if own.opcode == b"all-to-all":
            dimensions = grown(shrunk(dimensions, lengths), lengths) if lengths else dimensions
        rearranged = self._joint(dimensions, operands, joined=joined, is_index=_is_integer(own.shape))
        return (rearranged,) * len(operands) if own.shape.startswith(b"(") else rearranged

    def _joint(
        self,
        dimensions: Iterable[Dimension],
        operands: Sequence[Array],
        added: int = 0,
        joined: int = 0,
        *,
        is_index: bool = False,
        is_regrouped: bool = False,
        is_sum: bool = False,
    ) -> Array:
        """An array computed from some others. What has an axis twice pairs its elements, unless it is another one with
        its elements in other dimensions. `is_sum` says that it is computed from several elements of
        others, as sums are.
        """
        found = tuple(dimensions)
        seen = all_axes(found)
        joined |= 0 if is_regrouped else self._paired(found, operands)
        own_added, own_joined = added, joined
        for operand in operands:
            added |= operand.added
            joined |= operand.joined
        added, joined = added & ~MARKS, joined & ~MARKS
        recent = reduce(or_, (operand.recent for operand in operands), (own_added | own_joined) & ~MARKS)
        is_trained = any(operand.is_trained for operand in operands)
        # A loss that is no sum over the batch depends on all of it: a root, or a logarithm of one.
        if is_trained and total(found) == 1:
            added, joined, own_joined = 0, joined | added, own_joined | added
        joined_within = (
            reduce(or_, (operand.joined_within for operand in operands), own_joined * (is_trained or is_sum)) & ~MARKS
        )
        self.joined |= joined & seen
        self.joined_within |= joined_within & seen
        if own_joined:
            self._note_moved(own_joined, is_trained=is_trained or is_sum)
        return Array(
            found,
            added,
            joined,
            any(operand.is_data for operand in operands),
            is_trained,
            is_index and any(operand.is_index for operand in operands),
            any(operand.is_device for operand in operands),
            is_drawn=any(operand.is_drawn for operand in operands),
            packed=next((operand.packed for operand in operands if operand.packed), ()),
            recent=recent,
            reduced=reduce(or_, (operand.reduced for operand in operands), 0),
            is_from_backward=any(operand.is_from_backward for operand in operands),
            joined_within=joined_within,
            sums=reduce(or_, (operand.sums for operand in operands), 0),
        )

    def _paired(self, dimensions: Sequence[Dimension], operands: Sequence[Array] = ()) -> int:
        """The axes that an array has twice, and what it is computed from once. The parts of an axis that a reshape has
        divided are no pairs, even with a padding or with elements of other axes, which add less than pairs do.
        """
        once = twice = 0
        for dimension in dimensions:
            axes = axes_of(dimension) & ~MARKS
            twice |= once & axes
            once |= axes
        factors = [factor for dimension in dimensions for factor in dimension] if twice else []
        return sum(bit for bit in bits_of(twice) if axis_length(factors, bit) >= 2 * self._longest(bit, operands))

    def _longest(self, bit: int, operands: Iterable[Array]) -> int:
        """The length of an axis in that of some arrays that has the most of it, at least that of the whole axis."""
        of_operands = ([factor for dimension in operand.dimensions for factor in dimension] for operand in operands)
        return max([self._gathered.get(bit, 0), *(axis_length(factors, bit) for factors in of_operands)])

    def _bitcast(self, own: InstructionText, operand: Array) -> tuple[Dimension, ...] | None:
        """The dimensions of other ones on the same bytes, by their order in memory."""
        after = parse_shape(own.shape)
        reference = own.operand(0)
        row, index = self._module.operand(reference.name) if reference else (NONE, b"")
        source = self._module.instruction(row) if row != NONE else None
        shape = source.shape if source else b""
        # The operand may be an element of a tuple.
        before = parse_shape(shape[slice(*subshape_spans(shape).get(index, (0, 0)))] if index else shape)
        if after is None or before is None or len(before.dimensions) != len(operand.dimensions):
            return regrouped(operand.dimensions, lengths_of(own.shape))
        if total(operand.dimensions) != prod(lengths_of(own.shape)) and (
            left := _without_padding(operand, before, after)
        ):
            return left
        order, new_order = in_memory(before), in_memory(after)
        if order is None or new_order is None:
            order, new_order = in_memory(before, is_tiled=False), in_memory(after, is_tiled=False)
        assert order is not None
        assert new_order is not None
        # Tiles divide a dimension into the number of the tile and the place in it.
        divided = {
            number: list(regrouped((dimension,), tuple(length for place, length in order if place == number)))
            for number, dimension in enumerate(operand.dimensions)
        }
        parts = tuple(divided[number].pop(0) for number, _ in order)
        moved = regrouped(parts, tuple(length for _, length in new_order))
        found: list[list[tuple[int, int]]] = [[] for _ in after.dimensions]
        for (number, _), part in zip(new_order, moved, strict=True):
            found[number] += [factor for factor in part if factor[1] != 1]
        return tuple(tuple(factors) or ((0, 1),) for factors in found)

    def _reduction(self, own: InstructionText) -> bytes | None:
        """The opcode by which a reduction combines elements, None if that is unknown. XLA for CPUs computes in f32, and
        rounds each result to bfloat16.
        """
        calls = [
            row for attribute, _, row in self._module.called(own.operands_end, own.end) if attribute == b"to_apply"
        ]
        root = self._module.root(calls[0]) if calls and calls[0] != NONE else NONE
        read = self._module.instruction(root) if root != NONE else None
        for _ in range(_MOST_CONVERSIONS):
            if read is None or read.opcode != b"convert" or not (operand := read.operand(0)):
                break
            row = self._module.row_of(operand.name)
            read = self._module.instruction(row) if row != NONE else None
        return read.opcode if read else None

    def _mix(self, array: Array, axes: int) -> None:
        """Note that elements of an array along some axes, if there are any, get to the places of others."""
        self.joined |= axes
        self.joined_within |= axes * array.is_trained
        self._note_moved(axes, is_trained=array.is_trained)
        self.whole |= {total(array.dimensions)} if axes else set()

    def _note_moved(self, axes: int, *, is_trained: bool) -> None:
        """Note along which axes the program moves elements before weights that are trained meet them. A loop takes
        parts of arrays one after another.
        """
        self.moved |= axes * (not is_trained and self._bodies[-1] == NONE) & ~MARKS

    def _shifted(self, own: InstructionText, text: bytes, operand: Array) -> int:
        """The axes along which a padding of the program moves elements to the places of others, at once or by a slice
        that cuts off the first ones. XLA also pads what it concatenates: a few elements and an array, or two arrays.
        """
        if own.opcode != b"pad" or is_backward(own.op_name):
            return 0
        is_of_program = (own.op_name or "").endswith("/pad")
        padding = _PADDING.search(text)
        ends = [tuple(map(integer, end.split(b"_"))) for end in padding[1].split(b"x")] if padding else []
        moved = [
            number
            for number, (end, length) in enumerate(zip(ends, operand.lengths, strict=False))
            if (any(end) if is_of_program else 0 < end[0] < min(_SHIFTED_BEFORE, length))
        ]
        return all_axes(operand.dimensions[number] for number in moved) & ~MARKS

    def _note_row(self, array: Array, lengths: Lengths) -> None:
        """Note that a loop reads one row of an array."""
        if self._bodies[-1] == NONE or lengths[:1] != (1,) or array.lengths[:1] == (1,):
            return
        rows = self._bodies[-1], length_of(array.dimensions[0])
        if array.is_trained and not array.is_data:
            self._trained_rows.add(rows)
        elif array.is_data and not array.is_trained:
            self._rows_of_inputs.setdefault(rows, set()).add(array.lengths)
        if rows in self._trained_rows:
            self.layered |= self._rows_of_inputs.get(rows, set())

    def _note_ends(self, dimension: Dimension, parts: Sequence[Dimension]) -> None:
        """Note which dimensions are end to end in another one, which is longer than that of one array. One whose parts
        change places is as long.
        """
        longest = max((self._lengths.get(bit, 0) for bit in bits_of(axes_of(dimension) & ~MARKS)), default=0)
        if length_of(dimension) > longest:
            starts = accumulate(map(length_of, parts), initial=0)
            self._end_to_end.setdefault(dimension, set()).update(zip(starts, parts, strict=False))

    def _taken_apart(self, dimensions: tuple[Dimension, ...], text: bytes, lengths: Lengths) -> tuple[Dimension, ...]:
        """The dimensions of an array of which an instruction slices parts of some lengths. Where a part is one of
        several arrays that are end to end, it is that one: a GPU computes products of several arrays with the same
        weights at once.
        """
        found = list(dimensions)
        for number, (start, end) in self._slices_of_ends(dimensions, text):
            parts = [part for place, part in self._end_to_end[found[number]] if place == start]
            alike = [part for part in parts if length_of(part) == end - start == lengths[number]]
            found[number] = alike[0] if len(alike) == 1 else found[number]
        return tuple(found)

    def _slices_of_ends(self, dimensions: Sequence[Dimension], text: bytes) -> Iterator[tuple[int, tuple[int, int]]]:
        """Yield the numbers of dimensions in which arrays are end to end, with the ranges that are sliced of these."""
        ranges = _SLICES.search(text) if self._end_to_end else None
        for number, (start, end) in enumerate(_RANGE.findall(ranges[1]) if ranges else ()):
            if number < len(dimensions) and dimensions[number] in self._end_to_end:
                yield number, (integer(start), integer(end))

    def _shifted_ends(self, dimensions: Sequence[Dimension], text: bytes) -> int:
        """The axes of arrays that are end to end of which a slice begins or ends within one: its elements get to the
        places of others.
        """
        found = 0
        for number, (start, end) in self._slices_of_ends(dimensions, text):
            whole, places = dimensions[number], [place for place, _ in self._end_to_end[dimensions[number]]]
            found |= axes_of(whole) * bool({start, end} - {*places, length_of(whole)})
        return found & ~MARKS

    def _cut(self, own: InstructionText, operands: Sequence[Array]) -> int:
        """The axes of which a slice of the program has only some elements. One half of two batches in one is a whole
        batch, and each device may take its own part.
        """
        if own.opcode not in _SLICING or self._is_prefetching or own.op_name is None:
            return 0
        operand, *others = operands
        if any(other.is_device for other in others):
            return 0
        text, lengths = own.text[own.operands_end : own.end], lengths_of(own.shape)
        before, after = list[Factor](), list[Factor]()
        for dimension, length in zip(self._taken_apart(operand.dimensions, text, lengths), lengths, strict=False):
            before += dimension
            after += (first_part(dimension, length) or ()) if len(dimension) > 1 else ((axes_of(dimension), length),)
        # The parts of an axis that devices exchange may be in two dimensions.
        pairs = ((bit, axis_length(before, bit), axis_length(after, bit)) for bit in bits_of(operand.axes))
        parts = sum(bit for bit, whole, left in pairs if left < min(whole, self._lengths.get(bit, whole)))
        return parts | self._shifted_ends(operand.dimensions, text)

    # ------------------------------------------------------------ products

    def _product(self, own: InstructionText, operands: Sequence[Array]) -> Array | None:
        """A product of the first two operands; None for calls that are none, or do not say what they sum over."""
        text = own.text[own.operands_end : own.end]
        left, right, *_ = operands
        if own.opcode == b"dot":
            return self._of_dimensions(own, left, right, [_numbers(text, name) for name in _DOT])
        if b"dim_labels=" in text:
            return self._convolution(own, left, right, lengths_of(own.shape) or _lengths_of_first(own.shape))
        if transposed := _ONEDNN.search(text):
            return self._of_dimensions(own, left, right, _onednn_numbers(left, right, transposed))
        rank = len(left.dimensions)
        if _ONLINE_SOFTMAX in text and rank == len(right.dimensions) >= _MATRIX:
            both = tuple(range(rank - _MATRIX))
            return self._of_dimensions(own, left, right, ((rank - 1,), (rank - _MATRIX,), both, both))
        if b"dot_dimension_numbers" in text:
            return self._of_dimensions(own, left, right, [_listed(text, name) for name in _DOT_OF_LIBRARY])
        return None

    def _of_dimensions(self, own: InstructionText, left: Array, right: Array, numbers: Sequence[Lengths]) -> Array:
        """A product of two arrays, by the numbers of the dimensions of each that it sums over, and that both have."""
        left_over, right_over, left_both, right_both = numbers
        pairs = [*zip(left_both, right_both, strict=True)]
        parts = _Parts(
            both=[together(left.dimensions[one], right.dimensions[other]) for one, other in pairs],
            left_free=_others(left.dimensions, (*left_over, *left_both)),
            right_free=_others(right.dimensions, (*right_over, *right_both)),
            left_over=[left.dimensions[number] for number in left_over],
            right_over=[right.dimensions[number] for number in right_over],
        )
        marks = [0] * len(parts.both) + [OF_LEFT] * len(parts.left_free) + [OF_RIGHT] * len(parts.right_free)
        dimensions = [*parts.both, *parts.left_free, *parts.right_free]
        return self._of_parts(own, left, right, parts, [*zip(dimensions, marks, strict=True)])

    def _of_parts(
        self, own: InstructionText, left: Array, right: Array, parts: "_Parts", marked: Sequence[tuple[Dimension, int]]
    ) -> Array:
        """A product of two arrays with some dimensions, each with the mark of the factor that alone has it."""
        dimensions = without((dimension for dimension, _ in marked), OF_FACTORS)
        self.is_random_input |= left.is_drawn or right.is_drawn
        if any(each.is_trained and not (each.is_data or each.axes & ~MARKS) for each in (left, right)):
            self.of_own_weights |= all_axes(parts.both) & ~MARKS
        is_apart, mixed = _is_product(own) and self._is_undifferentiated(own), 0
        for factor, over in ((left, parts.left_over), (right, parts.right_over)):
            self.trained_sums |= all_axes(over) * factor.is_trained
            self.products_apart |= all_axes(over) * (is_apart and factor.is_trained)
            self.totals[total(factor.dimensions)] |= all_axes(over)
            if _is_forward(own) and is_differentiated(own.op_name) and factor.is_trained:
                gone = (factor.added | factor.joined) & ~factor.axes
                self.updated |= gone * factor.is_from_backward
                # A layer gets a sum over the examples, which is no statistic. Its gradient may have no axis of them.
                mixed |= gone * (not factor.is_from_backward) & ~MARKS
        self.joined |= mixed
        self.joined_within |= mixed
        if _is_forward(own) and (left.is_data or right.is_data):
            self._note_product(own, left, right, parts, total(dimensions))
        shared = all_axes(parts.both) | MARKS
        if left.is_data and right.is_data:
            is_mapped = total(parts.both) > 1
            positions = [all_axes(free) & ~shared for free in (parts.left_free, parts.right_free)]
            if is_mapped:
                self._note_scores(own, left, right, parts, dimensions=dimensions, positions=positions)
            if all(positions) or (is_mapped and any(positions)):
                dimensions = tuple(
                    tuple((axes | mark, length) for axes, length in dimension)
                    for dimension, (_, mark) in zip(dimensions, marked, strict=True)
                )
        summed = all_axes([*parts.left_over, *parts.right_over]) & ~MARKS
        partly = self._divided(left) | self._divided(right)
        product = self._joint(without(dimensions, summed & partly), (left, right), joined=summed | mixed, is_sum=True)
        return product._replace(reduced=0)

    def _note_scores(
        self,
        own: InstructionText,
        left: Array,
        right: Array,
        parts: "_Parts",
        *,
        dimensions: Sequence[Dimension],
        positions: Sequence[int],
    ) -> None:
        """Note a product of two arrays that depend on the batch, for each of its examples: of positions, or an average
        over positions. `positions` are the axes that only one of them has.
        """
        if all(positions):
            self.scores.add(total(dimensions))
        elif any(positions):
            self.learned_scores.add(tuple(sorted(map(length_of, dimensions))))
        # XLA for CPUs leaves the products of a single example without names.
        is_unnamed = own.op_name is None and not (left.is_from_backward or right.is_from_backward)
        for factor, over in ((left, parts.left_over), (right, parts.right_over)):
            if all_axes(over) & ~MARKS:
                self.weights.add(total(factor.dimensions))
            if is_unnamed or _is_forward(own):
                self.averaged[total(factor.dimensions)] |= all_axes(over) & OF_FACTORS

    def _note_product(self, own: InstructionText, left: Array, right: Array, parts: "_Parts", count: int) -> None:
        """Note what a product of the forward pass tells of its factors and its result."""
        rows, columns = all_axes(parts.left_free) & ~MARKS, all_axes(parts.right_free) & ~MARKS
        if left.is_data and right.is_data and rows and columns and total(parts.both) == 1:
            lengths = total(parts.left_free), total(parts.right_free)
            self.pairs[count] = Pairs(lengths, lengths, rows | columns)
        else:
            self.products.add(count)
        for factor, other, over in ((left, right, parts.left_over), (right, left, parts.right_over)):
            self.summed[total(factor.dimensions)] |= all_axes(over) & ~MARKS
            if factor.is_data and not factor.is_one_hot and other.is_trained and not other.is_data:
                self.with_weights.setdefault(total(over), set()).add(own.name)
            if factor.is_one_hot:
                self.one_hot_factors.add(total(factor.dimensions))

    def _divided(self, array: Array) -> int:
        """The axes that a reshape has divided among several dimensions: a sum over one of these is a part of a sum."""
        axes = [axes_of(dimension) for dimension in array.dimensions]
        twice = reduce(or_, (one & other for number, one in enumerate(axes) for other in axes[:number]), 0)
        return twice & ~(self._paired(array.dimensions) & array.joined)

    def _convolution(self, own: InstructionText, left: Array, right: Array, lengths: Lengths) -> Array:
        """A convolution. On TPUs, products are convolutions whose windows stand for dimensions that the two have in
        common, that only one of them has, or that are summed over.
        """
        text = own.text[own.operands_end : own.end]
        match = _LABELS.search(text)
        arrays = left.dimensions, right.dimensions, lengths
        labels = [name.decode() for name in match.groups()] if match else []
        gradient = _GRADIENT_OF_CUDNN.search(text)
        kind = gradient[1] if gradient else b""
        if labels and gradient:
            labels = _labels_of_gradient(kind, labels)
        if list(map(len, labels)) != list(map(len, arrays)):
            return unknown_array(lengths, (left, right), joins=True)
        one, other = dict(zip(labels[0], arrays[0], strict=True)), dict(zip(labels[1], arrays[1], strict=True))
        window, found = _window(text), {"b": one["b"], "f": other["o"]}
        dilations, strides = window.get(b"lhs_dilate", []), window.get(b"stride", [])
        marks = dict.fromkeys(labels[2], 0) | {"b": OF_LEFT, "f": OF_RIGHT}
        parts = _Parts([], [one["b"]], [other["o"]], [one["f"]], [other["i"]])
        if in_groups := _in_groups(own, kind, one, other):
            parts, of_groups = in_groups
            found |= of_groups
        after_by_name, beside = dict(zip(labels[2], lengths, strict=True)), 0
        for number, name in enumerate(sorted({*labels[2]} - {*"bf"})):
            here, there, after = one[name], other[name], after_by_name[name]
            size, dilation = length_of(there), dilations[number] if number < len(dilations) else 1
            if size == 1:
                # A stride leaves some of the elements out.
                found[name], marks[name] = resized(here, after), OF_LEFT
                parts.left_free.append(found[name])
            elif (dilation > 1 or strides[number : number + 1] == [size]) and length_of(here) == size == after:
                # For a size of 2, no gaps are needed between the elements.
                found[name] = together(here, there)
                parts.both.append(found[name])
            elif length_of(here) == 1 and after == size:
                found[name], marks[name] = there, OF_RIGHT
                parts.right_free.append(there)
            elif after == 1 or axes_of(there):
                found[name] = ((0, after),)
                parts.left_over.append(here)
                parts.right_over.append(there)
            else:
                # Elements beside each other depend on each other now.
                beside |= axes_of(here) & ~MARKS
                found[name] = resized(here, after)
                parts.left_free.append(found[name])
        self._mix(left, beside)
        result = self._of_parts(own, left, right, parts, [(found[name], marks[name]) for name in labels[2]])
        return joined_with(result, beside)

    # ------------------------------------------------------------ elements by number

    def _gather(self, own: InstructionText, text: bytes, table: Array, indices: Array) -> Array:
        """What is gathered from a table: the dimensions of the indices, and those of the slices."""
        by, vector, sizes, offset, collapsed, common, common_of_indices = (_numbers(text, name) for name in _GATHER)
        selected = [number for number in by if sizes[number] < length_of(table.dimensions[number])]
        if indices.is_index:
            self.looked_up.update(length_of(table.dimensions[number]) for number in selected)
        # An element that is selected by its own number, as in `take_along_axis`, stays with it.
        chosen = all_axes(table.dimensions[number] for number in selected) & ~MARKS
        joined = chosen & ~indices.axes if len(by) > 1 else chosen
        if chosen & indices.axes and _is_of_scatter(own):
            # What is computed from the same examples stays with their updates.
            joined = 0
        batch = list(_others(indices.dimensions, vector))
        in_place = list[tuple[int, int]]()
        if _ALONG_AXIS in (own.op_name or ""):
            # XLA may know the numbers, such as those of labels that are all 0.
            in_place += [(number, number) for number in selected if number < len(batch)]
        if _MAPPED in (own.op_name or ""):
            # XLA for TPUs selects the examples over which `jax.vmap` maps by their numbers.
            in_place += _examples(table.dimensions, selected, batch)
        for number, place in in_place:
            if length_of(batch[place]) == length_of(table.dimensions[number]):
                batch[place] = together(batch[place], table.dimensions[number])
                joined &= ~axes_of(table.dimensions[number])
        self._mix(table, joined)
        kept = [number for number in range(len(table.dimensions)) if number not in (*collapsed, *common)]
        slices = [resized(table.dimensions[number], sizes[number]) for number in kept]
        for here, there in zip(common, common_of_indices, strict=False):
            place = there - sum(number < there for number in vector)
            batch[place] = together(batch[place], table.dimensions[here])
        rank = len(lengths_of(own.shape))
        dimensions = [slices.pop(0) if number in offset else batch.pop(0) for number in range(rank)]
        # What selects an element is no number of it, but for rows of weights that are selected by their numbers alone.
        is_by_number = table.is_trained and not (table.is_data or indices.is_data)
        return self._joint(
            dimensions if is_by_number else without(dimensions, COUNTED), (table, indices), joined=joined
        )

    def _scatter(self, own: InstructionText, text: bytes, operands: Sequence[Array]) -> Result:
        """A table with updates at some elements: sums of what the updates have and the table has not."""
        by, window, inserted, common, vector = (_numbers(text, name) for name in _SCATTER)
        count = len(operands) // 2
        table, indices, updates = operands[0], operands[count], operands[count + 1]
        if indices.is_index:
            self.looked_up.update(length_of(table.dimensions[number]) for number in by)
        dimensions = list(table.dimensions)
        kept = [number for number in range(len(dimensions)) if number not in (*inserted, *common)]
        for here, there in zip(kept, window, strict=True):
            length = length_of(dimensions[here])
            dimensions[here] = resized(together(updates.dimensions[there], dimensions[here]), length)
        # To count labels, a scatter adds ones: only its indices, the labels, have the axes of the batch.
        pairs = zip(_others(updates.dimensions, window), _others(indices.dimensions, vector), strict=False)
        places = [together(update, index) for update, index in pairs]
        for here, dimension in zip(common, places, strict=False):
            dimensions[here] = together(dimensions[here], dimension)
        spread = all_axes(places) & ~all_axes(dimensions) & ~MARKS
        self.trained_sums |= spread * updates.is_trained
        self.totals[total(updates.dimensions)] |= spread
        # An update of an element by its own number, as in the gradient of `take_along_axis`, stays with it.
        if len(by) > 1 and indices.axes & spread:
            left = [factor for place in places for factor in place if factor[0] & spread]
            for number in by:
                factor = next((factor for factor in left if factor[1] == length_of(dimensions[number])), None)
                if factor:
                    left.remove(factor)
                    dimensions[number] = together(dimensions[number], (factor,))
            spread &= ~all_axes(dimensions)
        elif spread and len(dimensions) == len(by) == 1 and not window and own.op_name is None:
            # XLA for TPUs numbers the elements of all dimensions as one.
            each, rest = divmod(total(dimensions), total(updates.dimensions))
            if each > 1 and not rest:
                dimensions = [(*(factor for place in places for factor in place), (0, each))]
                spread = 0
        # Updates of two labels of each example are in the rows of these.
        is_sum = {self._lengths.get(bit) for bit in bits_of(spread)}.isdisjoint(map(length_of, dimensions))
        scattered = self._joint(dimensions, (table, indices, updates), joined=spread, is_sum=is_sum)
        return (scattered,) * count if own.shape.startswith(b"(") else scattered

    def _of_windows(self, own: InstructionText, text: bytes, operand: Array) -> Result:
        """Sums or maxima over windows, of one array or of several alike. Windows side by side are the first part of a
        long sum.
        """
        window, added, joined = _window(text), 0, 0
        lengths, elements = lengths_of(own.shape) or _lengths_of_first(own.shape), len(elements_of(own.shape))
        sizes, strides = window.get(b"size", []), window.get(b"stride", [])
        is_sum = own.opcode == b"reduce-window" and self._reduction(own) == b"add"
        # A maximum of windows side by side may be a pooling, which is no part of a longer one. XLA names only that.
        is_part = is_sum or own.op_name is None or _REDUCTION.search(own.op_name) is not None
        dimensions = list[Dimension]()
        for number, (dimension, size) in enumerate(zip(operand.dimensions, sizes, strict=True)):
            is_beside = is_part and strides[number : number + 1] == [size]
            if size > 1:
                is_added = is_beside and is_sum
                # XLA for CPUs leaves the windows of cumulative sums without names.
                if _is_forward(own) or (own.op_name is None and not is_beside):
                    self._compare(operand.dimensions, axes_of(dimension))
                self.trained_sums |= axes_of(dimension) * operand.is_trained
                added |= axes_of(dimension) * is_added
                joined |= axes_of(dimension) * (not is_added)
                self.whole |= set() if is_beside else {total(operand.dimensions)}
            is_gone = size > 1 and is_beside
            dimensions.append(((0, lengths[number]),) if is_gone else resized(dimension, lengths[number]))
        found = self._joint(dimensions, [operand], added, joined, is_sum=True)
        return (found,) * elements if own.shape.startswith(b"(") else found


# ---------------------------------------------------------------- arrays


class _Parts(NamedTuple):
    """The dimensions of the factors of a product: what both have, what only one has, and what is summed over."""

    both: list[Dimension]
    left_free: list[Dimension]
    right_free: list[Dimension]
    left_over: list[Dimension]
    right_over: list[Dimension]


def _lengths_of_first(shape: bytes) -> Lengths:
    spans = elements_of(shape)
    return lengths_of(shape[slice(*spans[0])]) if spans else ()


def _onednn_numbers(left: Array, right: Array, transposed: re.Match[bytes]) -> list[Lengths]:
    """The numbers of the dimensions that a product of oneDNN sums over, and of those that both factors have."""
    ranks = len(left.dimensions), len(right.dimensions)
    left_over = ranks[0] - 1 - (transposed[1] == b"true")
    right_over = ranks[1] - 2 + (transposed[2] == b"true")
    both = tuple(range(min(ranks) - 2)) if ranks[0] == ranks[1] else ()
    return [(left_over,), (right_over,), both, both]


def _with_pairs_marked(dimensions: tuple[Dimension, ...], operands: Sequence[Array]) -> tuple[Dimension, ...]:
    """The dimensions of what combines elements of arrays. Where one of these has an axis that the other lacks, and the
    other way around, they are marked: each row of one meets each of the other.
    """
    if any(axes_of(dimension) & OF_FACTORS for dimension in dimensions):
        return dimensions
    axes = [[axes_of(dimension) & ~MARKS for dimension in operand.dimensions] for operand in operands]
    rows = [number for number in range(len(dimensions)) if any(own[number] for own in axes)]
    pair = next(
        ((row, column) for row, column in combinations(rows, 2) if not any(own[row] and own[column] for own in axes)),
        None,
    )
    if pair is None:
        return dimensions
    marks = dict(zip(pair, (OF_LEFT, OF_RIGHT), strict=True))
    return tuple(
        tuple((axes | marks.get(number, 0), length) for axes, length in dimension)
        for number, dimension in enumerate(dimensions)
    )


def _labels_of_gradient(kind: bytes, labels: Sequence[str]) -> list[str]:
    """The labels of a convolution that computes what a call of cuDNN does, which has those of the forward pass: of the
    gradient of a kernel, whose windows are as large as the image, or of the gradient of an image.
    """
    image, kernel, result = labels
    if kind == b"Input":
        return [result, kernel.translate(str.maketrans("io", "oi")), image]
    return [
        image.translate(str.maketrans("bf", "fb")),
        result.translate(str.maketrans("bf", "io")),
        kernel.translate(str.maketrans("io", "bf")),
    ]


def _is_centred(array: Array) -> bool:
    """Whether an element depends on what was reduced along both dimensions of pairs, or on that of another row."""
    marks = [axes_of(dimension) & OF_FACTORS for dimension in array.dimensions]
    is_of_pairs = reduce(or_, marks, 0) == OF_FACTORS
    return is_of_pairs and (array.reduced == OF_FACTORS or OF_FACTORS in marks)


def _is_forward(own: InstructionText) -> bool:
    """Whether an instruction surely belongs to the forward pass."""
    return own.op_name is not None and not is_backward(own.op_name)


def _is_one_hot(own: InstructionText, operands: Sequence[Array]) -> bool:
    """Whether an instruction compares numbers with those of elements, or computes zeros wherever that has zeros."""
    match own.opcode, operands:
        case b"compare", [left, right]:
            is_equal = own.text.find(b"direction=EQ", own.operands_end, own.end) != NONE
            is_counted = any(
                one.is_data and not other.is_data and counted_dimensions(other) for one, other in _both(left, right)
            )
            return is_equal and is_counted
        case ((b"multiply" | b"and"), [left, right]):
            return left.is_one_hot or right.is_one_hot
        case b"select", [where, value, otherwise]:
            return (where.is_one_hot or value.is_one_hot) and not otherwise.is_data
        case opcode, [operand, *_]:
            return operand.is_one_hot and opcode in _KEEPING_ZEROS
    return False


def _both(left: Array, right: Array) -> tuple[tuple[Array, Array], ...]:
    return (left, right), (right, left)


def _is_joined_by_xla(own: InstructionText) -> bool:
    """Whether XLA, not the program, puts arrays end to end."""
    return own.opcode == b"concatenate" and own.op_name is None


def _apart(arrays: Sequence[Array]) -> list[Array]:
    """Arrays that XLA puts end to end to add all of them up with one scatter, such as the gradients of the rows of a
    table that two inputs select. What one of them was computed from joins no axis of another one.
    """
    axes = reduce(or_, (array.axes for array in arrays), 0)
    kept = ((array, ~axes | array.axes) for array in arrays)
    return [
        array._replace(added=array.added & own, joined=array.joined & own, joined_within=array.joined_within & own)
        for array, own in kept
    ]


def _numbered(arrays: Sequence[Array]) -> int:
    """The axes of arrays that are combined with others that depend on the numbers of their elements, and on no data."""
    found = 0
    for one, other in permutations(arrays, 2):
        if other.is_data and not (one.is_data or one.is_drawn or other.is_drawn):
            pairs = zip(one.dimensions, other.dimensions, strict=False)
            found |= all_axes(there for here, there in pairs if here == ((COUNTED, length_of(there)),))
    return found & ~MARKS


def _in_groups(
    own: InstructionText, kind: bytes, one: Mapping[str, Dimension], other: Mapping[str, Dimension]
) -> tuple["_Parts", dict[str, Dimension]] | None:
    """The parts of the factors of a convolution in groups, and the dimensions of its result, by their labels; None if
    it has no groups. Each group is a convolution of its own, such as that of an example of which `vmap` takes the
    gradient. `kind` is that of a gradient that cuDNN computes, empty for others.
    """
    text, found = own.text[own.operands_end : own.end], None
    for attribute, divided in _GROUPS:
        groups, inputs = next(iter(_numbers(text, attribute)), 1), other["i"]
        if divided == "f" and groups == 1 and _is_masked(own, one["f"], inputs, other["o"]):
            groups, inputs = length_of(one["f"]), ((0, 1),)
        if groups > 1:
            # In the gradient of a kernel, the features are where a batch is else, and in that of an image, the groups
            # are among what is summed over.
            name, of_image = "b" if kind == b"Filter" else divided, kind == b"Input"
            whole = one[name], inputs if of_image else other["o"]
            (group, left_part), (same, right_part) = (
                regrouped((dimension,), (groups, length_of(dimension) // groups)) for dimension in whole
            )
            shared = together(group, same)
            left_free, left_over = (left_part, one["f"]) if name == "b" else (one["b"], left_part)
            right_free, right_over = (other["o"], right_part) if of_image else (right_part, inputs)
            features = tuple(factor for factor in (*shared, *right_free) if factor[1] != 1) or ((0, 1),)
            dimensions = {"f": features} | ({"b": left_part} if name == "b" else {})
            found = _Parts([shared], [left_free], [right_free], [left_over], [right_over]), dimensions
    return found


def _is_masked(own: InstructionText, features: Dimension, inputs: Dimension, outputs: Dimension) -> bool:
    """Whether a convolution is that of groups, one for each of the examples over which `jax.vmap` maps: a TPU may
    compute all of them at once, with filters that are zero but for the inputs whose number is that of the group.
    """
    of_examples = axes_of(features) & axes_of(outputs[:1]) & ~MARKS
    is_counted = axes_of(inputs) & COUNTED and length_of(inputs) == length_of(features) > 1
    return bool(of_examples and is_counted) and _MAPPED in (own.op_name or "")


def _is_of_scatter(own: InstructionText) -> bool:
    """Whether an instruction is made by XLA to order the updates of a scatter, which adds them up in any order. Two
    scatters whose results JAX adds up may have become one, with the name of the sum. Where updates replace elements,
    the sort of their places has no name.
    """
    if own.op_name is None:
        return own.opcode == b"sort" and _SORTED_PLACES.match(own.shape) is not None
    return own.op_name.rpartition("/")[2].startswith(("scatter", "add_any"))


def _examples(
    table: Sequence[Dimension], selected: Iterable[int], batch: Sequence[Dimension]
) -> Iterator[tuple[int, int]]:
    """Yield the numbers of the dimensions of a table from which indices select each element once, in turn, and of the
    dimensions of the indices that count them.
    """
    free = [place for place, dimension in enumerate(batch) if axes_of(dimension) & COUNTED]
    for number in selected:
        place = next((place for place in free if length_of(batch[place]) == length_of(table[number])), None)
        if place is not None:
            free.remove(place)
            yield number, place


def _without_padding(operand: Array, before: ArrayShape, after: ArrayShape) -> tuple[Dimension, ...] | None:
    """The dimensions of what a TPU makes of the bytes of an array by leaving out elements within the last tile, None if
    it has more or fewer dimensions in memory.
    """
    order, new_order = (
        [place for place in in_memory(shape, is_tiled=False) or () if place[1] != 1] for shape in (before, after)
    )
    if len(order) != len(new_order):
        return None
    left = shrunk(tuple(operand.dimensions[number] for number, _ in order), tuple(length for _, length in new_order))
    places = {number: dimension for (number, _), dimension in zip(new_order, left, strict=True)}
    return tuple(places.get(number, ((0, 1),)) for number in range(len(after.dimensions)))


def _is_tiled(shape: bytes) -> bool:
    parsed = parse_shape(shape)
    return parsed is not None and bool(parsed.tiles)


def _is_product(own: InstructionText) -> bool:
    """Whether an instruction has the name of a product. Old releases add its parameters, and give such a name to those
    of the backward pass, too.
    """
    return (own.op_name or "").endswith("/dot_general")


def _mapped_dimensions(own: InstructionText, rank: int) -> int:
    """Over how many dimensions of its first operand, which has so many in all, an instruction computes the same: of
    a Fourier transform those before the last, which it transforms, of a decomposition those before its matrices. They
    are the first ones, in operands and results. So are those over which `jax.vmap` maps a kernel of Pallas.
    """
    match own.opcode:
        case b"fft":
            return max(0, rank - len(_numbers(own.text[own.operands_end : own.end], b"fft_length")))
        case b"cholesky" | b"triangular-solve":
            return max(0, rank - _MATRIX)
        case b"custom-call" if own.has_text(_DECOMPOSING):
            return max(0, rank - _MATRIX)
        case b"custom-call":
            op_name = own.op_name or ""
            return op_name.count("vmap(") if op_name.endswith("/pallas_call") else 0
    return 0


def _is_integer(shape: bytes) -> bool:
    return shape[:1] in (b"s", b"u")


# ---------------------------------------------------------------- texts


def _numbers(text: bytes, name: bytes) -> Lengths:
    """The numbers of an attribute: ``, NAME={0,1}`` or ``, NAME=1``."""
    match = re.search(rb"(?:^|[, ])" + name + rb"=\{?([0-9,]*)", text)
    return tuple(map(integer, _DIGITS.findall(match[1]))) if match else ()


def _window(text: bytes) -> dict[bytes, list[int]]:
    """The fields of a window, with a number for each dimension of it."""
    return {name: [*map(integer, _DIGITS.findall(value))] for name, value in _WINDOW_FIELD.findall(text)}


def _others(dimensions: Sequence[Dimension], numbers: Lengths) -> list[Dimension]:
    """The dimensions without those of some numbers."""
    return [dimension for number, dimension in enumerate(dimensions) if number not in numbers]


def _listed(text: bytes, name: bytes) -> Lengths:
    """The numbers of a list in a configuration: ``"NAME":["0","1"]``."""
    match = re.search(rb'"' + name + rb'":\[([^\]]*)\]', text)
    return tuple(map(integer, _DIGITS.findall(match[1]))) if match else ()


_MOST_INSTRUCTIONS: Final = 40_000
"""Maximum number of instructions that are followed: those that are not like others with the same operands."""

_MOST_ROWS: Final = 2_000_000
"""Maximum number of instructions in the computations that are followed, those of loops once for each time."""

_MOST_DEPTH: Final = 50
"""How deep computations may call each other. Those of real modules do for a few levels."""

_MOST_ITERATIONS: Final = 4
"""How often a loop is followed."""

_CALLS: Final = ("stack_frame_id", "source_file", "source_line")
"""The metadata that tell which calls make an instruction."""

_SLICING: Final = frozenset((b"slice", b"dynamic-slice"))
_BODY_AND_CONDITION: Final = 2
_SCATTER_OPERANDS: Final = 3

_CALLING: Final = frozenset((b"fusion", b"call", b"custom-call", b"async-start", b"while", b"conditional"))
_BODIES: Final = (b"body", b"calls", b"condition", b"to_apply", b"called_computation", b"called_computations")
_PASSING: Final = frozenset((b"optimization-barrier", b"opt-barrier", b"add-dependency", b"domain"))
_ALONG_AXIS: Final = "take_along_axis"
_COLLECTIVE: Final = b'custom_call_target="AsyncCollective'
_STARTS: Final = frozenset((b"all-gather-start", b"collective-permute-start"))
_EXCHANGING: Final = frozenset((b"all-gather", b"collective-permute", b"reduce-scatter"))
_REDUCING: Final = frozenset(
    (b"all-reduce", b"all-reduce-start", b"collective-permute", b"collective-permute-start", b"collective-broadcast")
)
_ELEMENTWISE: Final = frozenset(
    b"""abs add and atan2 bitcast-convert cbrt ceil clamp compare complex convert copy cosine divide erf exponential
    exponential-minus-one floor imag is-finite log log-plus-one logistic maximum minimum multiply negate not or popcnt
    power real reduce-precision remainder round-nearest-afz round-nearest-even rsqrt select shift-left
    shift-right-arithmetic shift-right-logical sign sine sqrt stochastic-convert subtract tan tanh xor""".split()
)
_KEEPING_ZEROS: Final = frozenset(
    (b"bitcast", b"broadcast", b"convert", b"copy", b"pad", b"reduce", b"reshape", b"slice", b"transpose")
)
"""Instructions that move the elements of their first operand, convert them, or add some up."""

_DOT: Final = (b"lhs_contracting_dims", b"rhs_contracting_dims", b"lhs_batch_dims", b"rhs_batch_dims")
_DOT_OF_LIBRARY: Final = (
    b"lhs_contracting_dimensions",
    b"rhs_contracting_dimensions",
    b"lhs_batch_dimensions",
    b"rhs_batch_dimensions",
)
_GATHER: Final = (
    *(b"start_index_map", b"index_vector_dim", b"slice_sizes", b"offset_dims", b"collapsed_slice_dims"),
    *(b"operand_batching_dims", b"start_indices_batching_dims"),
)
_SCATTER: Final = (
    *(b"scatter_dims_to_operand_dims", b"update_window_dims", b"inserted_window_dims", b"input_batching_dims"),
    b"index_vector_dim",
)
_SOURCES: Final = {b"broadcast": 1, b"pad": 1, b"dynamic-update-slice": 2}
"""How many of the operands have elements that are in the result; all of those of others."""

_ONEDNN: Final = lazy_pattern(rb'"onednn_matmul_config":\{"transpose_a":(true|false),"transpose_b":(true|false)')
"""The configuration of a product of oneDNN, of which the last two dimensions are those of matrices."""

_ONLINE_SOFTMAX: Final = b'op_name="online-softmax"'
"""What libtpu names the kernel that it puts in place of a softmax of rows and a product of that."""

_GROUPS: Final = ((b"feature_group_count", "f"), (b"batch_group_count", "b"))
"""What divides a convolution into groups, and the dimension of the first operand that it divides."""

_GRADIENT_OF_CUDNN: Final = lazy_pattern(rb"__cudnn\$convBackward(Filter|Input)")
_LABELS: Final = lazy_pattern(rb"dim_labels=([0-9bf]+)_([0-9io]+)->([0-9bf]+)")
_WINDOW_FIELD: Final = lazy_pattern(rb"(?<=[{ ])(size|stride|lhs_dilate)=([0-9x]+)(?=[ }])")
_SHIFTED_BEFORE: Final = 9
"""More elements than a program puts before an array to move it."""

_MOST_CONVERSIONS: Final = 4
"""Maximum number of conversions of what a reduction computes."""

_DRAWING: Final = frozenset((b"rng", b"rng-bit-generator"))
_RANDOM: Final = tuple(part.encode() for part in RANDOM_BITS)

_SAME_CALLS: Final = lazy_pattern(
    rb'custom_call_target="(?:ConcatBitcast|AssumeGatherIndicesInBound|GatherScatterIndicesBitpacked|Sharding'
    rb'|annotate_device_placement|MoveToHost|MoveToDevice|LayoutConstraint)"'
)
"""Calls whose result has the elements of their operands."""

_SIDE: Final = lazy_pattern(rb"\bleft_side=(?:(true)|false)|trsm.*\bside = (?:(76)|82)\b", re.DOTALL)
"""On which side of the unknowns the matrix of a triangular system of equations is: as `L` or `R` in calls of LAPACK."""

_DECOMPOSING: Final = b'custom_call_target="lapack_'
_MATRIX: Final = 2
"""The number of dimensions of a matrix, which are the last ones."""

_TOP: Final = b'TopK"'
_SORTED_PLACES: Final = lazy_pattern(rb"\([su](?:32|64)\[[0-9]+\]")
"""The shape of the places of updates, as numbers in one dimension, with what is sorted by them."""
_REDUCTION: Final = lazy_pattern(r"/reduce_(?!window)\w+$")
"""The end of the op_names of reductions along whole dimensions."""

_SLICES: Final = lazy_pattern(rb"\bslice=\{([^}]*)\}")
_RANGE: Final = lazy_pattern(rb"\[(\d+):(\d+)")
_PADDING: Final = lazy_pattern(rb"\bpadding=([-0-9_x]+)")
"""The elements before and after those of each dimension, negative if some are cut off."""

_MARK: Final = b"jvp("
_MAPPED: Final = "vmap("
_DIGITS: Final = lazy_pattern(rb"[0-9]{1,18}")
