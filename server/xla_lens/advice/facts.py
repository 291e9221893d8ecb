"""What the rules know about a program: the values that matter, who reads them and when, and which instructions belong
to the backward pass.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cache, cached_property, lru_cache
from math import prod
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np

from xla_lens.advice.arrays import Array, counted_dimensions
from xla_lens.advice.axes import Axes, Parameter
from xla_lens.advice.dimensions import FIRST_AXIS, axes_of
from xla_lens.advice.op_names import GRADIENT_WITHIN, folded, is_backward, is_differentiated, is_forward, is_marked
from xla_lens.advice.provenance import adds_forward_sums, has_gradient, updated_arguments
from xla_lens.advice.subject import Batch
from xla_lens.model.attribution.frames import Origins
from xla_lens.model.attribution.owned import owned_bytes
from xla_lens.model.attribution.parameters import argument_of, root_of, told_path
from xla_lens.model.attribution.writers import is_path
from xla_lens.model.hlo.dataflow import index_path
from xla_lens.model.memory.donation import outputs_of, parameters_of
from xla_lens.model.memory.edits import EditableSpace, Piece
from xla_lens.model.memory.over_time import MemorySpace, placed_values
from xla_lens.model.tables.dump_set import EMPTY_INDEX, DumpSet
from xla_lens.model.tables.lookup import ordered, taken
from xla_lens.syntax.columns import NONE, Column, Kind, Pairs, Rows, cells
from xla_lens.syntax.numbers import integer
from xla_lens.text.patterns import lazy_pattern

MOST_CANDIDATES: Final = 3000
"""Maximum number of values that the rules look at."""

SMALLEST_SHARE: Final = 1024
"""Sizes whose values take less of the peak than one part in so many are not looked at."""

FLOATS: Final = ("f32", "bf16", "f16")

_Kept = TypeVar("_Kept")


class Dimensions(NamedTuple):
    """The element type and the lengths of an array, without its layout."""

    type: str
    lengths: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.type}[{','.join(map(str, self.lengths))}]"

    def without(self, number: int) -> "Dimensions":
        """The dimensions but for one of them."""
        return Dimensions(self.type, (*self.lengths[:number], *self.lengths[number + 1 :]))


class Effect(NamedTuple):
    """What a rule does to a value: `pieces` of it are left. The pieces of NONE are buffers that the program needs in
    addition.

    The value stacks `layers` layers, 1 if it stacks none. `outputs` are rows of the allocations that the program no
    longer needs. `content` is the value whose source is that of the bytes, NONE if it is the value itself. `is_aside`
    says that no text has to name the value, which the change only moves.
    """

    value: int
    pieces: tuple[Piece, ...] = ()
    layers: int = 1
    outputs: Rows = ()
    content: int = NONE
    is_aside: bool = False

    @property
    def source_value(self) -> int:
        """The value whose source is that of the bytes."""
        return self.value if self.content == NONE else self.content


class Read(NamedTuple):
    """A use of a value: the step at which an instruction reads it, NONE if that is not scheduled, and its name."""

    step: int
    name: int


class Facts:
    """A memory space of a dump set that has a peak, and the origins of the values.

    `name`, `start`, `end`, `size` and `kind` have a cell for each value: the instruction that defines it, its first and
    last step, the bytes of its slice, and the kind of its allocation. What shares the buffer of an output before it is
    written has the kind of a temporary value. They are lists, whose items are read five times as fast as those of
    arrays. So are `_users`, the instruction of each use, and `_steps`, the step of the instruction of each name.
    `outputs` are the last values in the allocations of outputs.
    """

    def __init__(self, origins: Origins, space: MemorySpace) -> None:
        dump = origins.dump
        values = dump.values
        self.dump, self.origins, self.space = dump, origins, space
        self.name: list[int] = values.name.tolist()
        self.start: list[int] = values.start_step.tolist()
        self.end: list[int] = values.end_step.tolist()
        self.size: list[int] = values.size_bytes.tolist()
        self.outputs: Rows = tuple(outputs_of(dump))
        self.kind: list[int] = _kinds(dump, self.outputs).tolist()
        self.reads = cache(self._reads)
        self.opcode = cache(self._opcode)
        self.dimensions = cache(self._dimensions)
        self.op_name = cache(self._op_name)
        self.is_backward = cache(is_backward)
        self.owned_at = cache(self._owned_at)
        self.axes_of_leading = cache(self._axes_of_leading)
        """Where the first dimension of all arguments with a length goes, as `FIRST_AXIS`, also of those that are
        trained.
        """
        self._is_view = cache(lambda name: _VIEW.match(dump.names[name]) is not None)
        self._users: list[int] = dump.uses.name.tolist()
        self._steps: list[int] = taken(dump.schedule.step, dump.schedule_row_of_name).tolist()
        self._for_backward: dict[int, bool] = {}
        self._kept: dict[Callable[[Facts], Any], Any] = {}
        self._found: dict[Callable[[Facts], Iterator[Effect]], tuple[Effect, ...]] = {}

    def found(self, rule: "Callable[[Facts], Iterator[Effect]]") -> tuple[Effect, ...]:
        """What a rule finds, which others may ask for, too."""
        if rule not in self._found:
            self._found[rule] = tuple(rule(self))
        return self._found[rule]

    def kept(self, make: "Callable[[Facts], _Kept]") -> _Kept:
        """What is made of the facts, once."""
        if make not in self._kept:
            self._kept[make] = make(self)
        kept: _Kept = self._kept[make]
        return kept

    @cached_property
    def edited(self) -> EditableSpace:
        """The memory space, to ask what is left after edits."""
        return EditableSpace(self.dump, self.space)

    @property
    def owned(self) -> dict[int, int]:
        """The bytes that each value owns at the peak, without those that own none."""
        return self.owned_at(self.space.peak_step or 0)

    def _owned_at(self, step: int) -> dict[int, int]:
        """The bytes that each value owns at a step, without those that own none."""
        values, sizes = owned_bytes(self.dump, step, self.space.color)
        return {value: size for value, size in cells(values, sizes) if size}

    @cached_property
    def candidates(self) -> Rows:
        """The values of the memory space that matter, by their start: the biggest of those of whose size so many are
        live at once that they take a part of the peak.
        """
        values, placed = self.dump.values, placed_values(self.dump)
        found = placed[values.space[placed] == self.space.color]
        start, end, size = values.start_step[found], values.end_step[found], values.size_bytes[found]
        sizes, which = np.unique(size, return_inverse=True)
        deltas, most = np.repeat((1, -1), len(found)), np.zeros(len(sizes), np.int64)
        events = np.lexsort((deltas, np.append(start, end + 1), np.tile(which, 2)))
        np.maximum.at(most, np.tile(which, 2)[events], deltas[events].cumsum())
        found = found[(sizes * most)[which] * SMALLEST_SHARE >= self.space.peak_live_bytes]
        found = ordered(found, -values.size_bytes)[:MOST_CANDIDATES]
        return tuple(ordered(np.sort(found), values.start_step).tolist())

    # ------------------------------------------------------------ values

    def piece(self, value: int, start: int, end: int) -> Piece:
        """All bytes of a value for some of its steps."""
        return Piece(start, end, self.size[value])

    def whole_time(self, size_bytes: int) -> Piece:
        """Bytes that are live at all steps."""
        return Piece(0, int(self.dump.schedule.step.max(initial=0)), size_bytes)

    def layer_bytes(self, argument: int) -> int:
        """Return the bytes of an argument, of one layer if it stacks several."""
        shape = self.dimensions(argument)
        return (
            self.size[argument] // max(shape.lengths[0], 1)
            if shape and len(shape.lengths) > _MATRIX
            else self.size[argument]
        )

    def divided(self, value: int, parts: int) -> Effect:
        """The effect that leaves one of several parts of the bytes of a value, for all of its steps."""
        return Effect(value, (Piece(self.start[value], self.end[value], self.size[value] // parts),))

    def _dimensions(self, value: int) -> Dimensions | None:
        """The dimensions of an array, None for a tuple, an unknown shape or a dynamic one."""
        return dimensions_of(self.dump.shape(value))

    def squeezed(self, value: int) -> Dimensions | None:
        """The dimensions of an array without those of length 1, which a change of layout adds and removes."""
        return without_ones(self.dimensions(value))

    def of_layer(self, value: int, *, is_stacked: bool) -> Dimensions | None:
        """The dimensions of an array, or of one layer of one that stacks several, without those of length 1."""
        shape = self.dimensions(value)
        is_stacked = is_stacked and shape is not None and len(shape.lengths) > 1
        return without_ones(shape.without(self.stacked_dimension(value)) if shape and is_stacked else shape)

    def stacked_dimension(self, value: int) -> int:
        """The number of the dimension along which a loop stacks: the first one, but for GPUs, whose compiler numbers
        dimensions by their order in memory.
        """
        derived, whole = self.origins.of_value(value).derived, self.dimensions(value)
        part = dimensions_of(derived.stored.shape.encode()) if derived and derived.stored else None
        if whole is None or part is None or len(part.lengths) != len(whole.lengths):
            return 0
        pairs = zip(whole.lengths, part.lengths, strict=True)
        others = [number for number, (length, own) in enumerate(pairs) if own != length]
        return others[0] if len(others) == 1 else 0

    def is_computed(self, value: int) -> bool:
        """Whether the program can do without a value: it is neither an argument nor a result nor a constant."""
        return not self.kind[value] & _NOT_COMPUTED

    @cached_property
    def computed(self) -> dict[int, Dimensions]:
        """The dimensions of the arrays among the candidates that the program computes and can do without."""
        computed = (value for value in self.candidates if not self.kind[value] & _NOT_COMPUTED)
        shapes = {value: self.dimensions(value) for value in computed}
        return {value: shape for value, shape in shapes.items() if shape}

    @cached_property
    def all_arguments(self) -> Rows:
        """The arguments of the program, in all memory spaces."""
        return tuple(sorted(value for value in parameters_of(self.dump) if self.size[value] > 0))

    @cached_property
    def donated(self) -> frozenset[int]:
        """The arguments of the program that the caller donates."""
        is_donated = int(Kind.MAYBE_LIVE_OUT)
        return frozenset(value for value in self.all_arguments if self.kind[value] & is_donated)

    @cached_property
    def arguments(self) -> Rows:
        """The arguments of the program that are in the memory space."""
        return tuple(value for value in self.all_arguments if self.dump.values.space[value] == self.space.color)

    def path_of(self, argument: int) -> str | None:
        """Return the path of an argument, such as ``params['w']``, None if the dump does not tell it."""
        return told_path(self.op_name(self.name[argument]))

    def tree_of(self, argument: int) -> str:
        """Return the name of the tree that an argument is in: ``params``. If that is unknown, it is one of its own."""
        path = self.path_of(argument)
        return root_of(path) if path else str(argument)

    @cached_property
    def shapes_of_arguments(self) -> dict[int, Dimensions]:
        """The dimensions of the arguments of the program that are arrays."""
        return {value: shape for value in self.all_arguments if (shape := self.dimensions(value))}

    @cached_property
    def tokens(self) -> tuple[tuple[int, ...], ...]:
        """The lengths of the integer arguments."""
        shapes = map(self.dimensions, self.all_arguments)
        return tuple(shape.lengths for shape in shapes if shape and shape.type in ("s32", "s64", "u32"))

    @cached_property
    def updated(self) -> dict[int, int]:
        """The argument that an output is the update of, by outputs; donated arguments are left out."""
        return updated_arguments(self.origins)

    def in_buffer_of(self, value: int) -> list[int]:
        """Return the values in the buffer of a value, which is one of them."""
        values: list[int] = self.dump.values_of_allocation(self.dump.values.allocation.item(value)).tolist()
        return values

    def new_version(self, argument: int) -> int:
        """The output that updates an argument, in the buffer of a donated one the last value. NONE if none does."""
        if self.kind[argument] & Kind.MAYBE_LIVE_OUT:
            return max(self.in_buffer_of(argument), key=self.start.__getitem__)
        return next((output for output, updated in self.updated.items() if updated == argument), NONE)

    def is_returned_unchanged(self, argument: int) -> bool:
        """Whether the output in place of an argument is a copy of it, as of weights from the beginning of training."""
        new = self.new_version(argument)
        return new in (argument, *self.copies_of(argument))

    @cached_property
    def inputs(self) -> Rows:
        """The arguments that the program does not return anew: batches, and weights that are not trained."""
        known = {*self.updated.values()}
        known |= self.donated
        shapes = self.shapes_of_arguments
        updated = Counter[Dimensions | None](shapes[value] for value in known if value in shapes)
        # A program that returns gradients has a result for each weight, too.
        counts, gradients = Counter[Dimensions | None](shapes.values()), self.returned.copy()
        counts.subtract(updated)
        gradients.subtract(updated)
        return tuple(
            value for value, shape in shapes.items() if value not in known and counts[shape] > gradients[shape]
        )

    @cached_property
    def _shapes_of_inputs(self) -> dict[int, Dimensions]:
        """The dimensions of the inputs that are arrays, without those of a model that does not learn beside one that
        does, such as that of preference training: weights with the names and dimensions of others that are trained.
        """
        shapes = {value: shape for value in self.inputs if (shape := self.dimensions(value))}
        likely, updated = {*shapes.values()}, {*self.updated.values(), *self.donated}
        alike = [value for value in updated if self.dimensions(value) in likely]
        trained = {(self.dimensions(value), self._path_within(value)) for value in alike}
        names = {value: self._path_within(value) for value in shapes} if trained else {}
        found = {
            value: shape
            for value, shape in shapes.items()
            if not names.get(value) or (shape, names[value]) not in trained
        }
        frozen = self._frozen_layers(found)
        return {value: shape for value, shape in found.items() if shape not in frozen}

    def _frozen_layers(self, inputs: Mapping[int, Dimensions]) -> set[Dimensions]:
        """The dimensions of inputs that stack the frozen weights of as many layers as there are trained ones, such as
        adapters.
        """
        of_trained = {shape.lengths[0] for shape in self._trained_shapes if len(shape.lengths) > 1}
        likely = {
            value: shape
            for value, shape in inputs.items()
            if len(shape.lengths) > 1 and shape.type in FLOATS and shape.lengths[0] in of_trained
        }
        # The axes of a module take long to follow.
        axes = self._followed({}, {}) if likely else None
        return {shape for shape in likely.values() if axes and shape.lengths in axes.layered}

    def _path_within(self, argument: int) -> str:
        """The path of an argument within the whole argument that it is a part of, empty if it is unknown."""
        path = self.path_of(argument) or ""
        return path.removeprefix(root_of(path))

    def axis(self, length: int, number: int = 0) -> int:
        """The axis, as a bit, of the dimensions with a number and a length of inputs that are no biases; 0 without
        any.
        """
        return self._axis_bits.get((number, length, False), 0)

    @cached_property
    def axes_of_tokens(self) -> int:
        """The axes, as bits, of the dimensions of integer arguments."""
        places = {(number, length) for lengths in self.tokens for number, length in enumerate(lengths)}
        return sum(
            bit
            for (number, length, is_bias), bit in self._axis_bits.items()
            if (number, length) in places and not is_bias
        )

    @property
    def axes_of_indices(self) -> list[int]:
        """The axes, each as a bit, of integer arguments with one or two numbers for each of their elements, such as the
        nodes from which and to which edges lead.
        """
        places = {(0, lengths[0], False) for lengths in self.tokens if lengths[1:] in ((), (_ENDS,))}
        places |= {(1, lengths[1], False) for lengths in self.tokens if len(lengths) > 1 and lengths[0] == _ENDS}
        return [bit for place, bit in self._axis_bits.items() if place in places]

    def axis_of_examples(self, count: int) -> int:
        """The axes, as bits, of inputs with a number of examples, such as images and their labels. Among them may be
        those of a bias as long as that.
        """
        return self.axis(count) | self._axis_bits.get((0, count, True), 0)

    @cached_property
    def _axis_bits(self) -> dict[tuple[int, int, bool], int]:
        """A bit for each axis of the inputs, by the number of the dimension, its length, and whether the array may be a
        bias, which may be as long as the batch. The lower bits are no axes.
        """
        shapes = self._shapes_of_inputs.values()
        places = dict.fromkeys(place for shape in shapes for place in _places(shape) if place[1] > 1)
        return {place: FIRST_AXIS << number for number, place in enumerate(places)}

    @property
    def leading_lengths(self) -> set[int]:
        """The lengths of the first dimensions of inputs that are no biases."""
        return {length for number, length, is_bias in self._axis_bits if not number and not is_bias}

    def axis_elements(self, axes: int) -> int:
        """The number of elements of an array with some axes, a set of bits, and nothing else."""
        return prod(length for (_, length, _), bit in self._axis_bits.items() if bit & axes)

    @cached_property
    def axes(self) -> Axes | None:
        """Where the axes of the inputs go, None if the HLO module does not show it all."""
        bits = {
            value: tuple(self._axis_bits.get(place, 0) for place in _places(shape))
            for value, shape in self._shapes_of_inputs.items()
        }
        return self._followed(bits, {bit: length for (_, length, _), bit in self._axis_bits.items()})

    def is_independent(self, size: int) -> bool:
        """Whether each element of the results is computed from one element of the arguments whose first dimension has a
        size, and from all of the others.
        """
        axes = self.axes_of_leading(size)
        return axes is not None and not any(
            found & FIRST_AXIS
            for found in (axes.added, axes.joined, *(result.added | result.joined for result in axes.results))
        )

    def _axes_of_leading(self, size: int) -> Axes | None:
        bits = {
            value: (FIRST_AXIS, *[0] * (len(shape.lengths) - 1))
            for value, shape in self.shapes_of_arguments.items()
            if shape.lengths[0] == size
        }
        return self._followed(bits, {FIRST_AXIS: size})

    def _followed(self, bits: Mapping[int, tuple[int, ...]], lengths: Mapping[int, int]) -> Axes | None:
        """Where axes of arguments go, by the bits of the dimensions of each argument that has data; None if the HLO
        module does not show it all.
        """
        module, numbers = self.origins.module, taken(self.dump.allocations.parameter, self.dump.values.allocation)
        if module is None:
            return None
        arguments, inputs = dict[tuple[int, ...], Parameter](), {*self.inputs}
        for value in self.all_arguments:
            place = numbers.item(value), *index_path(self.dump, self.dump.values.index.item(value))
            shape, is_data = self.dimensions(value), value in inputs or value in bits
            axes = bits.get(value, (0,) * len(shape.lengths) if shape else ())
            arguments[place] = Parameter(axes, is_data=is_data, is_trained=not is_data)
        found = Axes(module, arguments, lengths)
        return found if found.is_complete else None

    def array(self, value: int) -> Array | None:
        """What the HLO module tells of an array, None if nothing."""
        if self.axes is None or self.origins.module is None:
            return None
        path = index_path(self.dump, self.dump.values.index.item(value))
        return self.axes.array(self.origins.module.row_of(self.dump.names[self.name[value]]), path)

    def fills(self, value: int) -> bool:
        """Whether a computed array may be filled with one number: it depends on no input, nor on the numbers of its
        elements, as frequencies do.
        """
        array = self.array(value)
        return array is None or not (array.is_data or counted_dimensions(array))

    def axes_of_array(self, value: int) -> int:
        """The axes that an array has, as far as the HLO module tells."""
        array = self.array(value)
        return array.axes if array else 0

    def is_of_weights(self, value: int) -> bool:
        """Whether an array is computed from weights that are trained alone, such as a gathered or a transposed one."""
        array = self.array(value)
        return array is not None and array.is_trained and not array.is_data

    @cached_property
    def batch(self) -> Batch | None:
        """The batch of a program that adds up the gradients of its examples, and computes each of them from that
        example alone, but for sums that normalize. None if there is none: the nodes and edges of a graph, and examples
        that a loss compares with each other, are no batch. It is the first dimension of arguments, or the second one
        of those with the time first.
        """
        module = self.origins.module
        if self.backward_step is None or self.axes is None or module is None or _NUMPYRO in module.up_to_files:
            return None
        if first := self._batch_in(self.axes, 0):
            return first
        # Time may be first, for loops or for attention between frames, but not models, each with a batch of its own. A
        # loop with a backward pass in each iteration takes the batch in parts already.
        first_axes = sum(bit for (number, *_), bit in self._axis_bits.items() if not number)
        is_in_parts = self.axes.of_own_weights & first_axes or self.trains_in_loop
        if not is_in_parts and (second := self._batch_in(self.axes, 1)):
            return second
        return self._batch_in(self.axes, 0, is_of_numbers=True)

    def _batch_in(self, axes: Axes, number: int, *, is_of_numbers: bool = False) -> Batch | None:
        """The batch, if it is a dimension of arguments: of those with features, or of those with one number for each
        example, such as a coordinate.
        """
        shapes = self._with_numbers if is_of_numbers else self._with_features(number)
        likely = sorted(shapes, key=lambda value: (shapes[value].type in FLOATS, -self.size[value]))
        sizes = dict.fromkeys(length for value in likely if (length := shapes[value].lengths[number]) > 1)
        inputs = {shape.lengths for shape in shapes.values() if shape.type in FLOATS}
        trained = {shape.lengths for shape in self._trained_shapes}
        for size in sizes:
            # A frozen model has dimensions, too, but no gradient sums over them.
            axis = self._axis_bits.get((number, size, is_of_numbers), 0) & axes.trained_sums
            if number and self._have_first(size) and self.axis(size) & ~axes.aligned[axis]:
                continue
            # A sum over chains of a sampler has the dimensions of no weight.
            is_summed = any(
                result.is_trained and result.lengths and (result.added | result.joined) & ~result.axes & axis
                for result in axes.results
                if result.lengths in trained
            )
            # A result with the shape of an input is its gradient.
            is_differentiated = any(result.axes & axis and result.lengths in inputs for result in axes.results)
            # Before a loop that takes the batch in parts, examples may only be moved into these.
            joined = axes.joined if self.trains_in_loop else axes.joined_within
            # What only the backward pass divides is no normalization.
            mixed = joined | axes.added & ~axes.normalized | axes.added_late & axes.normalized_trained
            if is_summed and not is_differentiated and not mixed & axis:
                states = self._states(axis)
                if self._have_own_weights(axes, axis, size, states):
                    continue
                is_normalized, is_divided = (
                    bool(axes.added & axis & sums) for sums in (axes.normalized_trained, ~axes.normalized_trained)
                )
                numbers = self._axis_of_numbers(size, number)
                of_numbers = axes.added & numbers
                # They may be weights that are divided by their maximum.
                divided = of_numbers & axes.normalized & ~axes.normalized_trained | axes.joined_within & numbers
                is_divided = is_divided or bool(divided)
                # What is subtracted from them may be their mean.
                is_normalized = is_normalized or bool(of_numbers & ~axes.normalized)
                is_random = axes.is_random_input or bool(axes.random & axis)
                names = self._names_of_batch(size, number, states, axes.beside[axis])
                across = self._names_across(size, number, axes.aligned[axis])
                told = {*names, *(name for _, some in across for name in some)}
                others = {name: added for name, added in self._statistics.items() if name not in told}
                return Batch(
                    names,
                    size,
                    is_normalized,
                    is_divided,
                    is_random,
                    bool(axes.updated & axis),
                    number,
                    is_trained=self._trains_each(axes, axis, size),
                    has_gradients=self._has_gradients(axes, axis, size),
                    has_products=bool(axes.products_apart & axis),
                    has_gradients_within=self.has_op_name(GRADIENT_WITHIN),
                    has_results=any(
                        # What is returned for each example may also be computed in the backward pass.
                        result.axes & axis
                        and (result.lengths == (size,) or not (result.is_from_backward and result.lengths in trained))
                        for result in axes.results
                    ),
                    statistics=tuple(name for name, is_added in others.items() if is_added),
                    decided=tuple(name for name, is_added in others.items() if not is_added),
                    is_mixed=bool(axes.moved & (axis | numbers)),
                    is_numbered=bool(axes.numbered & (axis | numbers)),
                    across=across,
                )
        return None

    def _have_first(self, size: int) -> bool:
        """Whether an input has a number of elements first, and in no other dimension: examples, perhaps, which the
        program combines with others by places of its own.
        """
        lengths = (shape.lengths for shape in self._shapes_of_inputs.values())
        return any(first == size and len(rest) and size not in rest for first, *rest in lengths)

    @cached_property
    def _statistics(self) -> dict[str, bool]:
        """The names of the arguments that are updated with sums of the forward pass over the batch, such as means that
        a normalization keeps, and whether these are added to them, rather than decide which elements change: one array
        of each tells.
        """
        largest = dict[str, int]()
        returned = {*self.shapes_of_arguments}.difference(self.inputs)
        for value in sorted(returned, key=lambda value: (-self.size[value], value)):
            if path := self.path_of(value):
                largest.setdefault(argument_of(path), value)
        news = {name: self.new_version(value) for name, value in largest.items()}
        return {
            name: adds_forward_sums(self.origins, new)
            for name, new in news.items()
            if new != NONE and adds_forward_sums(self.origins, new, has_predicates=True)
        }

    def _have_own_weights(self, axes: Axes, axis: int, size: int, states: Iterable[int]) -> bool:
        """Whether each element of an axis has weights of its own: it is a model of an ensemble, or it trains a row of
        a table, which would have to be joined in place of added up, as would the moments of the row.
        """
        weights = [shape.lengths for shape in self._trained_shapes if len(shape.lengths) > 1]
        if axis & axes.of_own_weights and all(lengths[0] == size for lengths in weights):
            return True
        news = map(self.new_version, states)
        return any(new != NONE and has_gradient(self.origins, new) for new in news)

    @property
    def trains_in_loop(self) -> bool:
        """Whether the iterations of a loop have backward passes of their own, as with microbatches."""
        return self.has_op_name(_BACKWARD_IN_LOOP)

    def _trains_each(self, axes: Axes, axis: int, size: int) -> bool:
        """Whether a loop trains weights for each example, such as those of a client, of which the program returns the
        mean.
        """
        return self.trains_in_loop and any(
            axes.of_count[count] & axis for count in self._weight_counts(size) & axes.others
        )

    def _has_gradients(self, axes: Axes, axis: int, size: int) -> bool:
        """Whether the program computes a gradient for each example, such as those that it clips one by one. Gradients
        of several models are mapped, too: then all weights have one for each of them.
        """
        first = {shape.lengths[0] for shape in self._trained_shapes if shape.lengths}
        is_mapped = len(first) > 1 and self.has_op_name(_MAPPED_GRADIENT)
        return is_mapped and any(axes.of_count[count] & axis for count in self._weight_counts(size))

    def _weight_counts(self, size: int) -> set[int]:
        """The numbers of elements of matrices that the program trains, each for some examples."""
        return {prod(shape.lengths) * size for shape in self._trained_shapes if len(shape.lengths) > 1}

    @cached_property
    def _trained_shapes(self) -> list[Dimensions]:
        """The dimensions of the arguments that are no inputs, such as weights and moments."""
        trained = {*self.all_arguments}.difference(self.inputs)
        return [shape for value in trained if (shape := self.dimensions(value))]

    def _with_features(self, number: int) -> dict[int, Dimensions]:
        """The inputs that have a dimension with a number beside that of the features, which is the last one of
        floating-point numbers.
        """
        return {
            value: shape
            for value, shape in self._shapes_of_inputs.items()
            if len(shape.lengths) > max(1, number + (shape.type in FLOATS))
        }

    @property
    def _with_numbers(self) -> dict[int, Dimensions]:
        """The inputs that have one floating-point number for each example, and that no others have features for."""
        return {
            value: shape
            for value, shape in self._shapes_of_inputs.items()
            if len(shape.lengths) == 1 and shape.type in FLOATS and not self.axis(shape.lengths[0])
        }

    def _axis_of_numbers(self, size: int, number: int) -> int:
        """The axis, as a bit, of inputs that have a number for each example, such as rewards. 0 if they may be biases:
        if a layer is as wide as the batch is long.
        """
        is_width = any(size in shape.lengths[1:] for shape in self._shapes_of_inputs.values())
        return 0 if number or is_width else self._axis_bits.get((0, size, True), 0)

    @cached_property
    def models(self) -> int:
        """How many models `jax.vmap` trains with the same examples, each apart from the others: all that the program
        returns has as many elements. 0 without such models.
        """
        lengths = {shape.lengths[0] for shape in (*self._trained_shapes, *self.returned) if shape}
        if len(lengths) > 1 or self.is_sharded or self.backward_step is None or not self.has_op_name(_VMAP):
            return 0
        (size,) = lengths or (0,)
        return size if size > 1 and size not in self.leading_lengths and self.is_independent(size) else 0

    @property
    def axes_of_mapped(self) -> tuple[Axes | None, int]:
        """The axes that tell what `mapped` is about, and its own axis. None without such a batch."""
        if self.models:
            return self.axes_of_leading(self.models), FIRST_AXIS
        return (self.axes, self.axis(self.mapped.size)) if self.mapped else (None, 0)

    @cached_property
    def mapped(self) -> Batch | None:
        """The batch of a program that computes an element of its results for each example, from that example alone, or
        the sum of these: of one without a backward pass, or of one that trains a model for each example, or several
        models with the same examples. None without one, and where several devices share it.
        """
        if self.models:
            return Batch((), self.models, is_trained=True)
        if self.is_sharded or self.batch:
            return None
        counts = {prod(shape.lengths) for shape in self.computed.values()}
        sizes = self.leading_lengths
        is_training = self.backward_step is not None
        sizes -= set() if is_training else self._in_place
        likely = sorted((size for size in sizes if any(count % size == 0 for count in counts)), reverse=True)
        # The axes of a module take long to follow.
        if not likely or not (axes := self.axes):
            return None
        for size in likely:
            axis = self.axis(size)
            # Each model has numbers of its own, such as those of the steps that it has been trained.
            if is_training and any(result.lengths and result.lengths[0] != size for result in axes.results):
                continue
            own = [result for result in axes.results if result.axes & axis]
            others = [result for result in axes.results if not result.axes & axis]
            is_mixed = any(result.joined & axis for result in others) or (axes.joined | axes.added) & axis
            is_summed = any(result.added & axis for result in others)
            if is_mixed or not all(axes_of(result.dimensions[0]) & axis for result in own):
                continue
            # Caches whose second dimension is that of the examples would be copied to be mapped.
            if not is_training and self._names_across(size, 0, axes.aligned[axis]):
                continue
            # A sum over models is no result of one of them.
            if (own and not is_summed) or (is_summed and not is_training and self._tells_training):
                return Batch(
                    self._names_of_batch(size, 0),
                    size,
                    is_random=bool(axes.random & axis),
                    is_trained=is_training,
                    is_summed=is_summed,
                )
        return None

    @cached_property
    def apart(self) -> Batch | None:
        """The batch of a part of the program that is not differentiated, and computes something of each example from
        that example alone: the distances of points from centres in each iteration of a loop, or the values of all
        observations, before a loop trains with them. Of several, it is the one whose values take most of the peak. None
        without one, where several devices share it, and where nothing tells what is differentiated.
        """
        if not self._tells_training:
            return None
        likely = [value for value in self.computed if value in self.owned and self._is_undifferentiated(value)]
        if self.is_sharded or sum(map(self.owned.__getitem__, likely)) * _LARGE_PART < self.space.peak_live_bytes:
            return None
        sizes = self.leading_lengths - self._in_place
        values = {size: found for size in sizes if (found := [value for value in likely if self.is_apart(value, size)])}
        if not values or not self.axes:
            return None
        size = max(values, key=lambda size: (sum(map(self.owned.__getitem__, values[size])), size))
        counts = {prod(self.computed[value].lengths) for value in values[size]}
        is_summed = any(self.axes.totals[count] & self.axis(size) for count in counts)
        has_results = any(result.axes & self.axis(size) for result in self.axes.results)
        names = self._names_of_batch(size, 0)
        return Batch(names, size, is_summed=is_summed, is_apart=True, has_results=has_results)

    @property
    def _tells_training(self) -> bool:
        """Whether op_names tell what the program differentiates. Those of some releases have no marks: then a program
        that updates arguments may train them.
        """
        module = self.origins.module
        is_updating = self.updated or self.donated
        return not is_updating or (module is not None and any(map(is_marked, module.sources.op_names)))

    def is_apart(self, value: int, size: int) -> bool:
        """Whether each element of a value is computed from one element of a batch of a size, and nothing needs more
        than sums of them. Where something almost as large depends on all elements, as deviations from a mean do, a part
        of the program would be hard to tell from the rest.
        """
        shape, axis, axes = self.computed.get(value), self.axis(size), self.axes
        # What XLA copies has no op_name of its own.
        if shape is None or axes is None or not is_path(self.origins.of_value(value).op_name):
            return False
        count = prod(shape.lengths)
        is_separable = axes.of_count[count] & ~axes.dependent[count] & ~axes.parted[count] & axis
        is_mixed = any(others & axis and other * _MUCH_LARGER > count for other, others in axes.dependent.items())
        is_whole = is_mixed or count in axes.whole or count in self._argument_counts
        return bool(is_separable) and not is_whole and self._is_undifferentiated(value)

    @cached_property
    def _argument_counts(self) -> set[int]:
        """The numbers of elements of the arguments, of which a value of the same number may be a conversion."""
        shapes = map(self.dimensions, self.all_arguments)
        return {prod(shape.lengths) for shape in shapes if shape}

    def _is_undifferentiated(self, value: int) -> bool:
        """Whether neither a value nor what reads it belongs to what the program differentiates, or comes later, as the
        update of the weights does.
        """
        if self.backward_step is not None and self.end[value] > self.backward_step:
            return False
        op_names = [self.origins.of_value(value).op_name, *(self.op_name(read.name) for read in self.reads(value))]
        return not any(map(is_differentiated, op_names))

    @property
    def _in_place(self) -> set[int]:
        """The leading lengths of what is updated in place, such as a cache. A loop over it would hold it twice."""
        donated = {*self.donated}
        # Large arguments that could be donated are such caches, too.
        updated = {*self.updated.values()}
        if sum(map(self.size.__getitem__, updated)) * _LARGE_PART >= self.space.peak_live_bytes:
            donated |= updated
        return {shape.lengths[0] for shape in map(self.dimensions, donated) if shape and shape.lengths}

    def _names_of_batch(self, size: int, number: int, states: Collection[int] = (), beside: int = 0) -> tuple[str, ...]:
        """The names of the inputs of which a dimension has a length, and of the states that come with these, such as
        those of a recurrent net. Inputs with the axes `beside` go through the model together with these, end to end.
        """
        chosen = {*self._shapes_of_inputs, *states}
        values = (
            value
            for value, shape in self.shapes_of_arguments.items()
            for length in shape.lengths[number : number + 1]
            if value in chosen and (length == size or self._axis_bits.get((number, length, False), 0) & beside)
        )
        return self.names_of(values)

    def names_of(self, arguments: Iterable[int]) -> tuple[str, ...]:
        """The names of the whole arguments that some are parts of, without those that the dump does not tell."""
        paths = map(self.path_of, arguments)
        return tuple(dict.fromkeys(argument_of(path) for path in paths if path is not None))

    def _names_across(self, size: int, number: int, aligned: int) -> tuple[tuple[int, tuple[str, ...]], ...]:
        """The names of the inputs that have a batch as another dimension than most, by the numbers of these dimensions,
        such as images whose examples are last.
        """
        shapes = self._shapes_of_inputs.items()
        dimensions = [
            other
            for (other, length, is_bias), bit in self._axis_bits.items()
            if length == size and other != number and not is_bias and bit & aligned
        ]
        values = {
            other: [
                value
                for value, shape in shapes
                if shape.lengths[other : other + 1] == (size,) != shape.lengths[number : number + 1]
            ]
            for other in dimensions
        }
        return tuple((other, names) for other, found in values.items() if (names := self.names_of(found)))

    def _states(self, axis: int) -> set[int]:
        """The arguments that are returned anew with an axis. Of states in a tuple, some may have the shape of a weight,
        so that nothing tells which output is the new one; they are those beside another one.
        """
        own, others = set[tuple[int, ...]](), set[tuple[int, ...]]()
        for result in self.axes.results if self.axes else ():
            (own if result.axes & axis else others).add(result.lengths)
        known, inputs = dict[int, bool](), {*self.inputs}
        for value, shape in self.shapes_of_arguments.items():
            if shape.lengths in own and value not in inputs:
                new = self.new_version(value)
                array = self.array(new) if new != NONE else None
                known[value] = bool(array.axes & axis) if array else shape.lengths not in others
        beside = {self._place_of(value) for value, is_state in known.items() if is_state} - {None}
        return {value for value, is_state in known.items() if is_state or self._place_of(value) in beside}

    def _place_of(self, argument: int) -> str | None:
        """The path of the tuple that an argument is in, with its shape; None if it is in none."""
        path = _ELEMENT.match(self.path_of(argument) or "")
        return f"{path[1]}: {self.dimensions(argument)}" if path else None

    @cached_property
    def returned(self) -> Counter[Dimensions | None]:
        """The number of outputs by their dimensions."""
        return Counter(self.dimensions(output) for output in self.outputs)

    @cached_property
    def idle_arguments(self) -> frozenset[int]:
        """The arguments that nothing reads before the backward pass has begun, and that are returned with new contents:
        optimizer state. Small arguments are left out.
        """
        begin, arguments = self.backward_step, frozenset(self.arguments).intersection(self.candidates)
        return frozenset(
            value
            for value in (arguments if begin is not None else ())
            if (new := self.new_version(value)) != NONE
            and (reads := self.reads_behind_copies(value))
            and reads[0].step >= (begin or 0)
            # XLA may schedule a part of the backward pass early.
            and not any(is_forward(self.op_name(read.name)) for read in reads)
            # XLA may fuse the update of an argument with the product of the gradient.
            and not {read.name for read in reads if self.is_backward(self.op_name(read.name))}.difference(
                self.name[other] for other in (*self.in_buffer_of(value), *self.in_buffer_of(new))
            )
        )

    # ------------------------------------------------------------ instructions

    def _opcode(self, value: int) -> bytes | None:
        """The opcode of the instruction that defines a value, None if the dump does not quote it."""
        return self.dump.opcode(self.name[value])

    def _op_name(self, name: int) -> str | None:
        """The op_name of an instruction."""
        return self.origins.of_name(name).op_name

    def _reads(self, value: int) -> list[Read]:
        """The instructions that read a value, by step. Those that only pass it on are left out."""
        row = self.dump.values.used_value.item(value)
        uses = self.dump.uses_of(row) if row != NONE else range(0)
        names = {*self._users[uses.start : uses.stop]} - {self.name[value]}
        return sorted(Read(self._steps[name], name) for name in names if not self._is_view(name))

    def step_of(self, name: int) -> int:
        """Return the step of the instruction of a name, NONE if that is not scheduled."""
        return self._steps[name] if name != NONE else NONE

    def operand_numbers(self, name: int, value: int) -> list[int]:
        """The numbers of the operands of an instruction that are a value, not those that are tuples with it."""
        rows = self.dump.uses_of(self.dump.values.used_value.item(value))
        of_value, uses = slice(rows.start, rows.stop), self.dump.uses
        is_read = (uses.name[of_value] == name) & (uses.index[of_value] <= EMPTY_INDEX)
        numbers: list[int] = uses.operand[of_value][is_read].tolist()
        return numbers

    def copies_of(self, value: int) -> list[int]:
        """The copies of a value, such as those that XLA for CPUs makes of donated arguments before it writes them."""
        copies = (read.name for read in self.reads(value) if self.dump.opcode(read.name) == b"copy")
        return [copy for name in copies for copy in self.defined_by(name)]

    def reads_behind_copies(self, value: int) -> list[Read]:
        """The instructions that read a value or a copy of it, by step, without those that copy it."""
        copies = self.copies_of(value)
        names = {self.name[copy] for copy in copies}
        return sorted(read for one in (value, *copies) for read in self.reads(one) if read.name not in names)

    def is_for_backward(self, name: int) -> bool:
        """Whether an instruction belongs to the backward pass, or is a copy that only the backward pass reads."""
        known = self._for_backward
        if name not in known:
            # Something that reads its own result through others is in a loop, and no copy for the backward pass.
            known[name] = self.is_backward(self.op_name(name))
            if not known[name] and (self.op_name(name) is None or self.dump.opcode(name) in _COPYING):
                known[name] = self._passes_to_backward(name)
        return known[name]

    def _passes_to_backward(self, name: int) -> bool:
        readers = {read.name for value in self.defined_by(name) for read in self.reads(value)}
        # A `copy-done` defines no value; the readers of what it shows are those of the `copy-start`.
        readers = {reader for reader in readers if self.op_name(reader) is not None or self.defined_by(reader)}
        # What an asynchronous slice reads is passed on in a computation of its own.
        is_late = self.backward_step is not None and self._steps[name] >= self.backward_step
        return all(map(self.is_for_backward, readers)) if readers else is_late

    def is_computed_with(self, value: int, end: int) -> bool:
        """Whether something but copies reads a value, or copies of it, before a step."""
        return any(0 <= read.step < end for read in self.reads_of_content(value))

    def reads_of_content(self, value: int) -> Iterator[Read]:
        """Yield how a value is read, and copies of it, and copies of these, but for what makes the copies. A TPU copies
        slices of an argument to VMEM, and joins them there.
        """
        waiting = [value]
        for each in waiting:
            for read in self.reads(each):
                if self.is_copy(read.name):
                    waiting += [made for made in self.defined_by(read.name) if made not in waiting]
                # The end of an asynchronous copy reads nothing.
                elif not _END.match(self.dump.names[read.name]):
                    yield read

    def is_copy(self, name: int) -> bool:
        """Whether an instruction passes the content of a value on, in whole or in slices."""
        opcode = self.dump.opcode(name)
        return opcode in _COPYING or (opcode in _SLICING and self.op_name(name) is None)

    def defined_by(self, name: int) -> list[int]:
        """The values that an instruction defines."""
        order, names = self._values_by_name
        values: list[int] = order[slice(*names.searchsorted((name, name + 1)))].tolist()
        return values

    def leads_to(self, name: int, others: Collection[int]) -> bool:
        """Whether one of some other instructions reads what is computed from the result of an instruction. True if that
        takes long to find out.
        """
        waiting, passed = [name], {name}
        for each in waiting:
            after = {read.name for value in self.defined_by(each) for read in self.reads(value)} - passed
            if not after.isdisjoint(others) or len(passed) > _MOST_READERS:
                return True
            passed |= after
            waiting += after
        return False

    @cached_property
    def _values_by_name(self) -> Pairs:
        """The values by the instructions that define them, and these."""
        order = np.argsort(self.dump.values.name, kind="stable")
        return order, self.dump.values.name[order]

    @cached_property
    def backward_step(self) -> int | None:
        """The first step at which the backward pass reads a value: one that is not an argument, if one of them matters.
        None without a backward pass.
        """
        for values in ({*self.candidates} - {*self.arguments}, self.arguments):
            reads = {read for value in values for read in self.reads(value) if read.step != NONE}
            first = next((step for step, name in sorted(reads) if self.is_backward(self.op_name(name))), None)
            if first is not None:
                return min(first, self._first_read_elsewhere(first))
        return None

    def _first_read_elsewhere(self, end: int) -> int:
        """The first step before an `end` at which the backward pass reads something large that is computed to another
        memory space, else that end. A TPU may have in VMEM all that it reads. Labels, which are small, it reads early.
        """
        values, placed = self.dump.values, placed_values(self.dump)
        least = max(map(self.size.__getitem__, {*self.candidates} - {*self.arguments}), default=0) // MUCH_SMALLER
        is_large = (values.space[placed] != self.space.color) & (values.size_bytes[placed] >= least)
        for value in ordered(placed[is_large], values.start_step).tolist():
            if self.start[value] >= end:
                break
            steps = (read.step for read in self.reads(value) if self.is_backward(self.op_name(read.name)))
            first = min((step for step in steps if step != NONE), default=end)
            # Arguments are copied and transposed early.
            if first < end and is_path(self.origins.of_value(value).op_name):
                end = first
        return end

    # ------------------------------------------------------------ sources

    def shape(self, value: int, layers: int = 1) -> str:
        """The shape of one layer of a value without its layout, empty if unknown."""
        dimensions = self.dimensions(value)
        if dimensions is None:
            return (self.dump.shape(value) or b"").partition(b"{")[0].decode("utf-8", "replace")
        return str(dimensions.without(self.stacked_dimension(value)) if layers > 1 else dimensions)

    def grouped(self, effects: Iterable[Effect]) -> list[list[Effect]]:
        """Group effects on values that are alike except for the number of their layer: with the same shape of one
        layer, and the same line of the content, or op_name if no line is known.
        """
        members: dict[tuple[str, object], list[Effect]] = {}
        for effect in effects:
            origin = self.origins.of_value(effect.source_value)
            source = origin.line or folded(origin.op_name)
            members.setdefault((self.shape(effect.value, effect.layers), source), []).append(effect)
        return list(members.values())

    @cached_property
    def partitions(self) -> int:
        """The number of devices that share the work of the program, 1 if it is unknown."""
        module = self.origins.module
        found = _PARTITIONS.search(module.data, *module.header_line) if module else None
        return integer(found[1]) if found else 1

    @property
    def is_sharded(self) -> bool:
        """Whether the program is for several devices."""
        return self.partitions > 1

    def has_opcode(self, opcode: bytes) -> bool:
        """Whether the HLO module has an instruction with an opcode."""
        module = self.origins.module
        return module is not None and opcode in module.sources.opcodes

    def has_op_name(self, pattern: re.Pattern[str]) -> bool:
        """Whether an op_name of the HLO module has a pattern."""
        module = self.origins.module
        return module is not None and any(map(pattern.search, module.sources.op_names))


def _kinds(dump: DumpSet, outputs: Rows) -> Column:
    """The kind of the allocation of each value. XLA for CPUs and GPUs has temporary values in the buffers of outputs,
    too, which are not kept for the result.
    """
    kinds: Column = np.maximum(taken(dump.allocations.kind, dump.values.allocation), 0)
    is_temporary = kinds & int(Kind.PARAMETER | Kind.MAYBE_LIVE_OUT) == Kind.MAYBE_LIVE_OUT
    is_temporary[[*outputs]] = False
    kinds[is_temporary] &= ~int(Kind.MAYBE_LIVE_OUT)
    return kinds


def _places(shape: Dimensions) -> list[tuple[int, int, bool]]:
    """The number and the length of each dimension, and whether the array may be a bias."""
    is_bias = len(shape.lengths) == 1 and shape.type in FLOATS
    return [(number, length, is_bias) for number, length in enumerate(shape.lengths)]


_MOST_READERS: Final = 500
"""Maximum number of instructions to follow from one."""

_NOT_COMPUTED: Final = int(Kind.PARAMETER | Kind.MAYBE_LIVE_OUT | Kind.CONSTANT)

_MAPPED_GRADIENT: Final = lazy_pattern(r"/vmap\(transpose\(")
"""A backward pass that is mapped over examples or models."""

_VMAP: Final = lazy_pattern(r"\bvmap\(")
_BACKWARD_IN_LOOP: Final = lazy_pattern(r"/while/body/.*transpose\(")
"""A backward pass within the iterations of a loop."""

NNX_STATE: Final = ".states["
"""A part of the paths that `nnx.jit` gives to the states of its arguments."""

_PARTITIONS: Final = lazy_pattern(rb"num_partitions=(\d{1,9})")
_ENDS: Final = 2
"""The number of the ends of an edge."""

_MATRIX: Final = 2
"""The rank of the arrays of one layer."""

_LARGE_PART: Final = 16
"""Arguments that could be donated, and values, are large from this part of the peak on."""

MUCH_SMALLER: Final = 64
"""How many times as large as what the backward pass may read early the largest value is."""

_MUCH_LARGER: Final = 8
"""How many times as many elements what is computed of each example has as what all examples have in common."""

_NUMPYRO: Final = b"/numpyro/infer/svi.py"
"""A part of the path of the step of NumPyro. Its loss has terms without examples, which each microbatch would add."""


@lru_cache(maxsize=1 << 12)
def dimensions_of(shape: bytes | None) -> Dimensions | None:
    """Return the dimensions of a shape, None if it is that of a tuple, unknown or dynamic."""
    match = _ARRAY.match(shape) if shape is not None else None
    return Dimensions(match[1].decode(), tuple(map(integer, match[2].split(b",")))) if match else None


@lru_cache(maxsize=1 << 12)
def without_ones(dimensions: Dimensions | None) -> Dimensions | None:
    """Return dimensions without those of length 1."""
    return dimensions and Dimensions(dimensions.type, tuple(length for length in dimensions.lengths if length > 1))


_COPYING: Final = frozenset(
    (b"reduce-precision", b"copy", b"copy-start", b"convert", b"optimization-barrier", b"slice-start", b"async-start")
)
"""Opcodes of instructions that pass the content of a value on."""

_SLICING: Final = frozenset((b"slice", b"custom-call"))
"""Opcodes of what copies an argument in slices, where it has no op_name of its own."""

_ELEMENT: Final = lazy_pattern(r"(.+)\[[0-9]+\]$")
"""The path of an element of a tuple or of a list."""

_ARRAY: Final = lazy_pattern(rb"([a-z][a-z0-9]*)\[([0-9]+(?:,[0-9]+)*)\]")
_END: Final = lazy_pattern(rb"[a-z-]+-done(?:\.|$)")
_VIEW: Final = lazy_pattern(rb"(?:tuple|bitcast|get-tuple-element|copy-done)(?:\.|$)")
