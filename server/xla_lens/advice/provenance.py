"""Which arguments of the program an output is the update of: what it is computed from element by element.

New weights are the old ones plus something, a new moment is most of the old one plus something, a new cache is the old
one with a slice written over. What an output merely has in common with other arguments is its shape: the weights of a
frozen model are read by products, and reach the output through these only.

An argument is *kept* in an output if it is a summand of it, with a constant factor of one half or more. It is
*scaled* if it passes through another operation on its elements, as weights do whose decay is added to a gradient.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from heapq import heappop, heappush
from itertools import count
from math import prod
from typing import Final, NamedTuple

import numpy as np

from xla_lens.advice.op_names import is_backward, is_forward
from xla_lens.model.attribution.frames import Origins
from xla_lens.model.attribution.parameters import parameter_path, root_of
from xla_lens.model.attribution.writers import BRANCHES, ELEMENT_INDEX, Position, Writers, is_path
from xla_lens.model.hlo.dataflow import index_path
from xla_lens.model.hlo.order import VIEWS
from xla_lens.model.memory.donation import ELEMENTWISE, candidates, may_write_over
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.syntax.columns import NONE, Kind
from xla_lens.syntax.hlo.replica_groups import group_size
from xla_lens.syntax.hlo.shapes import parse_shape
from xla_lens.syntax.numbers import integer
from xla_lens.text.patterns import lazy_pattern


def updated_arguments(origins: Origins) -> dict[int, int]:
    """Return the argument that an output is the update of, for outputs that have a buffer of their own, and arguments
    that could hold them. Both are rows of `DumpSet.values`. An output is left out if it is the update of none, or if
    several come into question.

    Without an HLO module, which shows what fusions compute, those arguments count that the instruction reads that makes
    the output, if it may write over them. It might add a part of them to a gradient: only its op_name tells that it
    does not.

    Keys of random numbers are drawn anew, and some numbers stay as they are. In a state that is returned as a whole,
    their place tells which outputs are their updates. Weights of which another argument keeps a more precise version
    are cast from the update of that.
    """
    dump, writers = origins.dump, origins.writers
    flow = _Flow(dump, writers) if writers else None
    kept, scaled, cast = (dict[int, frozenset[int]]() for _ in range(3))
    for output, arguments in candidates(dump).items():
        if _is_copy_of_any(dump, output, arguments):
            continue
        if flow is None:
            op_name = origins.of_name(dump.name_of(output)).op_name
            may_update = is_path(op_name) and not is_backward(op_name)
            read = (argument for argument in arguments if may_write_over(dump, argument, output))
            kept[output] = frozenset(read if may_update else ())
        else:
            sources = flow.sources(output)
            kept[output] = sources.kept.intersection(arguments)
            scaled[output] = sources.scaled.intersection(arguments) if not kept[output] else frozenset()
            cast[output] = sources.kept.difference(arguments)
    updates = _certain(scaled, _certain(kept, {}))
    if writers:
        updates |= _in_their_place(dump, writers, updates)
        updates |= _cast(dump, writers, updates, cast)
    return updates


def elementwise_sources(origins: Origins, output: int) -> frozenset[int]:
    """Return the arguments that an output is computed from element by element, empty if the HLO module does not tell.
    Both are rows of `DumpSet.values`.
    """
    sources = _Flow(origins.dump, origins.writers).reached(output)[0] if origins.writers else {}
    return frozenset(sources)


def adds_forward_sums(origins: Origins, output: int, *, has_predicates: bool = False) -> bool:
    """Return whether an output is computed, element by element, from what the forward pass has summed up, as a mean of
    normalization is, rather than from gradients; with `has_predicates`, also if only what selects its elements is.
    False if the HLO module does not tell.
    """
    writers = origins.writers
    return writers is not None and _Flow(origins.dump, writers).has_forward_sums(output, has_predicates=has_predicates)


def has_gradient(origins: Origins, output: int) -> bool:
    """Return whether an output, a row of `DumpSet.values`, is computed from a gradient, element by element, such as
    trained weights.
    """
    writers = origins.writers
    if writers is None:
        return False
    _, rows = _Flow(origins.dump, writers).reached(output)
    return any(is_backward(writers.read(row).metadata.get("op_name")) for row in rows)


def is_first_moment(origins: Origins, output: int, argument: int) -> bool | None:
    """Return whether an output is a constant part of an argument, less than all of it, plus something that is no
    square, as the new first moment is of the old one. A sum of all gradients grows, and needs its precision, as squares
    do. Both are rows of `DumpSet.values`. None if the HLO module does not tell.
    """
    return _Flow(origins.dump, origins.writers).decays(output, argument) if origins.writers is not None else None


def moves_weights(origins: Origins, outputs: Iterable[int], moment: int) -> bool:
    """Return whether one of some outputs is computed from a moment, and the first one not from its square: the
    difference of a mean of squares and the square of a mean is negative where the mean has few digits. True if that is
    unknown. All are rows of `DumpSet.values`.
    """
    if origins.writers is None:
        return True
    flow, is_unknown = _Flow(origins.dump, origins.writers), False
    for output in outputs:
        found, rows = flow.reached(output)
        if moment in found:
            return not flow.has_square_of(moment, rows)
        is_unknown |= not found
    return is_unknown


def adding_devices(origins: Origins, output: int, devices: int) -> int:
    """Return how many devices add up the gradient that an output is computed from, element by element, of all `devices`
    of the program. All of these compute the same output. 1 if none do so, or the HLO module does not tell.
    """
    return _Flow(origins.dump, origins.writers).adding_devices(output, devices) if origins.writers else 1


def _is_copy_of_any(dump: DumpSet, output: int, arguments: Sequence[int]) -> bool:
    """Whether an output is a copy of an argument. A program that swaps two arguments needs more copies once both are
    donated.
    """
    is_copy = dump.opcode(dump.name_of(output)) == b"copy"
    return is_copy and any(may_write_over(dump, argument, output) for argument in arguments)


def _certain(arguments: Mapping[int, frozenset[int]], known: Mapping[int, int]) -> dict[int, int]:
    """Add to the known updates those that are certain: an output has only one argument left that comes into question,
    or as many outputs have the same ones.
    """
    updates = dict(known)
    while True:
        taken, groups = {*updates.values()}, dict[frozenset[int], list[int]]()
        for output, found in arguments.items():
            if output not in updates and found - taken:
                groups.setdefault(found - taken, []).append(output)
        group = next((left for left, outputs in groups.items() if len(outputs) >= len(left)), None)
        if group is None:
            return updates
        updates.update(zip(groups[group], sorted(group), strict=False))


def _in_their_place(dump: DumpSet, writers: Writers, updates: Mapping[int, int]) -> dict[int, int]:
    """Return the updates of what else is in states that are returned as a whole: for each array of such an argument,
    there is an output of its shape, as far from its place as the known updates of the others are from theirs.
    """
    place_of = _places_of_outputs(dump, writers) if updates else {}
    output_at = {place: output for output, place in place_of.items()}
    number_of, allocation_of = dump.allocations.parameter, dump.values.allocation
    arguments = {number_of.item(allocation_of.item(value)): value for value in _undonated(dump)} if place_of else {}
    known = {argument: place_of[output] for output, argument in updates.items() if output in place_of}
    name_of = cache(lambda number: _argument_name(dump, allocation_of.item(arguments[number])))
    # Other arguments have nothing of their name beside them that is updated.
    left = (number for number, argument in arguments.items() if argument not in known)
    beside = [(number, other) for number in left for other in (number - 1, number + 1) if arguments.get(other) in known]
    found = dict[int, int]()
    for name in {name_of(number) for number, other in beside if name_of(number) == name_of(other)} - {None}:
        parts = {number: argument for number, argument in arguments.items() if name_of(number) == name}
        updated = [number for number, argument in parts.items() if argument in known]
        distances = {known[parts[number]] - number for number in updated}
        outputs = {number: output_at.get(number + min(distances), NONE) for number in parts}
        shapes = [(dump.shape(output) if output != NONE else None) for output in outputs.values()]
        if len(distances) > 1 or shapes != [dump.shape(argument) for argument in parts.values()]:
            continue
        for number, output in outputs.items():
            is_new = parts[number] not in known and output not in updates
            if is_new and _may_be_returned(dump, parts[number], output, is_last=number > max(updated)):
                found[output] = parts[number]
    return found


def _cast(
    dump: DumpSet, writers: Writers, updates: Mapping[int, int], sources: Mapping[int, frozenset[int]]
) -> dict[int, int]:
    """The updates of weights that are cast from those of other arguments, of which `sources` has some for each output:
    the arguments of the same names within the whole argument, as far from their place.
    """
    place_of, allocation_of = _places_of_outputs(dump, writers) if updates else {}, dump.values.allocation
    number_of = {value: dump.allocations.parameter.item(allocation_of.item(value)) for value in _undonated(dump)}
    argument_at = {number: value for value, number in number_of.items()}
    output_of = {argument: output for output, argument in updates.items()}
    found = dict[int, int]()
    for output in (place_of.keys() & sources.keys()) - updates.keys():
        for master in sources[output] & output_of.keys() & number_of.keys():
            distance = place_of[output_of[master]] - number_of[master] if output_of[master] in place_of else None
            argument = argument_at.get(place_of[output] - distance, NONE) if distance is not None else NONE
            if argument in (NONE, *output_of) or dump.shape(argument) != dump.shape(output):
                continue
            paths = [parameter_path(dump, allocation_of.item(value)) or "" for value in (argument, master)]
            name = paths[0].removeprefix(root_of(paths[0]))
            if name and paths[1].endswith(name):
                found[output] = argument
    return found


def _may_be_returned(dump: DumpSet, argument: int, output: int, *, is_last: bool) -> bool:
    """Whether an output may be that of a state at its place. A loss may follow a state and look like a part of it, but
    is no copy. If large arrays are copies of others, the program may swap two of them; what is a copy of the argument
    itself is returned as it is, such as frozen weights in a state.
    """
    if dump.opcode(dump.name_of(output)) == b"copy":
        return dump.values.size_bytes.item(output) <= _SMALL or may_write_over(dump, argument, output)
    return not (is_last and _LOSS.match(dump.shape(output) or b""))


def _undonated(dump: DumpSet) -> list[int]:
    """The arguments that are not donated."""
    table = dump.allocations
    rows = ((table.parameter != NONE) & (table.kind & int(Kind.MAYBE_LIVE_OUT) == 0)).nonzero()[0]
    values = [value for row in rows.tolist() for value in dump.values_of_allocation(row).tolist()]
    return [value for value in values if dump.opcode(dump.name_of(value)) == b"parameter"]


def _argument_name(dump: DumpSet, allocation: int) -> str | None:
    """The name of the whole argument whose part is in an allocation, such as ``state``."""
    path = parameter_path(dump, allocation)
    return root_of(path) if path else None


def _places_of_outputs(dump: DumpSet, writers: Writers) -> dict[int, int]:
    """The places of the values that the program returns in a tuple."""
    module = writers.module
    root = module.root(module.entry) if module.entry != NONE else NONE
    if root == NONE or writers.read(root).own.opcode != b"tuple" or not writers.read(root).operands:
        return {}
    places = range(len(writers.read(root).operands))
    indices = dump.index_numbers(map(b"{%d}".__mod__, places))
    values = dump.values_at(np.full(len(indices), dump.name_number(module.name(root))), indices).tolist()
    return {value: place for place, value in enumerate(values) if value != NONE}


class _Sources(NamedTuple):
    """The arguments that an output keeps, and those that it has scaled; both are rows of `DumpSet.values`."""

    kept: frozenset[int]
    scaled: frozenset[int]


class _Flow:
    """The data flow in a module from arguments to outputs, element by element."""

    def __init__(self, dump: DumpSet, writers: Writers) -> None:
        self.dump, self.writers = dump, writers

    def sources(self, output: int) -> _Sources:
        """Return what an output is computed from element by element. Nothing if that takes too many instructions."""
        found, rows = self.reached(output)
        return _Sources(
            frozenset(value for value, is_scaled in found.items() if not is_scaled),
            # A weight that is also used elsewhere is a part of its gradient if the loss has its decay. A count is no
            # weight, and more than its update depends on it.
            frozenset(
                value
                for value, is_scaled in found.items()
                if is_scaled and (self._is_count(value) or self._is_read_in(value, rows))
            ),
        )

    def reached(self, output: int) -> tuple[dict[int, bool], set[int]]:
        """Return the arguments that an output is computed from element by element, with whether it has scaled them, and
        the instructions on the way.
        """
        begin = self._begin(output)
        return self._reached(begin) if begin else ({}, set())

    def _reached(self, begin: Position) -> tuple[dict[int, bool], set[int]]:
        """Return the same as `reached`, for one position instead of an output."""
        # What is reached without scaling comes first.
        order, waiting = count(), [(False, 0, begin)]
        passed, found = set[Position](), dict[int, bool]()
        while waiting:
            is_scaled, _, position = heappop(waiting)
            if position in passed:
                continue
            if len(passed) == _MOST_STEPS:
                return {}, set()
            passed.add(position)
            if self._is_argument(position):
                found.setdefault(self._value(position), is_scaled)
                continue
            for scales, before in self._before(position):
                if before:
                    heappush(waiting, (is_scaled or scales, next(order), before))
        return found, {position.row for position in passed}

    def has_square_of(self, argument: int, rows: Iterable[int]) -> bool:
        """Whether one of some instructions is the square of what is computed from an argument element by element."""
        for row in rows:
            read = self.writers.read(row)
            if read.own.opcode == b"multiply":
                position = Position(row, ())
                sources = [self._unscaled(self.writers.operand(position, number, ())) for number in (0, 1)]
                if sources[0] is not None and sources[0] == sources[1] and argument in self._reached(sources[0])[0]:
                    return True
        return False

    def decays(self, output: int, argument: int) -> bool | None:
        """Return whether an output is a sum whose part of an argument is less than all of it, and that has no squares.
        None if it has too many summands, or the part is not known.
        """
        begin, left = self._begin(output), 0.0
        waiting = [(1.0, begin)] if begin else []
        for factor, position in waiting:
            if len(waiting) > _MOST_STEPS:
                return None
            if self._is_argument(position):
                left += factor * (self._value(position) == argument)
                continue
            opcode = self.writers.read(position.row).own.opcode
            operands = [self.writers.operand(position, number, ()) for number in (0, 1)]
            if opcode in (b"multiply", b"divide"):
                scaled = self._scaled(opcode, operands)
                if scaled is None and opcode == b"multiply":
                    sources = [self._unscaled(operand) for operand in operands]
                    if sources[0] == sources[1]:
                        return False
                befores = [scaled] if scaled else []
            elif opcode in (b"add", b"subtract"):
                befores = [(1.0, operands[0]), (1.0 if opcode == b"add" else -1.0, operands[1])]
            elif opcode == b"negate":
                befores = [(-1.0, operands[0])]
            else:
                befores = [(1.0, self._moved_from(position))]
            waiting += ((factor * each, before) for each, before in befores if before)
        return left < 1 if left > 0 else None

    def has_forward_sums(self, output: int, *, has_predicates: bool) -> bool:
        """Return whether a sum of the forward pass is among what an output is computed from, element by element, but
        for what loops compute. If not `has_predicates`, what selects elements does not count. False if that takes too
        many instructions.
        """
        begin = self._begin(output)
        waiting = [begin] if begin else []
        passed = set[Position]()
        for position in waiting:
            if position in passed or self._is_argument(position):
                continue
            passed.add(position)
            if len(passed) > _MOST_STEPS:
                return False
            read = self.writers.read(position.row)
            if read.own.opcode in _SUMMING and is_forward(read.metadata.get("op_name")):
                return True
            if read.own.opcode in ELEMENTWISE - _PASSING:
                first = int(read.own.opcode == b"select" and not has_predicates)
                operands = (self.writers.operand(position, number, ()) for number in range(first, len(read.operands)))
                waiting += filter(None, operands)
            elif before := self._moved_from(position):
                waiting.append(before)
        return False

    def adding_devices(self, output: int, devices: int) -> int:
        """Return the fewest devices among which a sum is added up that an output is computed from, element by element,
        and of which each then has all elements. 1 if there is none, or it takes too many instructions to find it.
        """
        begin = self._begin(output)
        waiting = [begin] if begin else []
        passed, counts = set[Position](), set[int]()
        for position in waiting:
            if position in passed or self._is_argument(position):
                continue
            passed.add(position)
            if len(passed) > _MOST_STEPS:
                return 1
            read = self.writers.read(position.row)
            if read.own.opcode in ADDING_UP:
                counts.add(group_size(read.own, devices) or 1)
            # Devices that have a slice of the sum have parts of the output, too, as do those that have some layers of
            # a stack: the loop over all of them then writes to an array of these.
            elif read.own.opcode != _SLICING and not self._is_written_whole(position):
                waiting += (before for _, before in self._before(position) if before)
        return min(counts, default=1)

    def _is_written_whole(self, position: Position) -> bool:
        """Whether an instruction writes over all of an array at once, as if over a slice of it."""
        if self.writers.read(position.row).own.opcode != b"dynamic-update-slice":
            return False
        written = self.writers.operand(position, 1, ())
        return written is not None and _elements(self.writers, written.row) == _elements(self.writers, position.row)

    def _scaled(self, opcode: bytes, operands: Sequence[Position | None]) -> tuple[float, Position | None] | None:
        """The constant factor of a product or a quotient, and the other operand. None if neither is constant."""
        first, second = map(self._constant, operands)
        if second:
            return (second if opcode == b"multiply" else 1 / second), operands[0]
        return (first, operands[1]) if first is not None and opcode == b"multiply" else None

    def _moved_from(self, position: Position) -> Position | None:
        """Where an element is that an instruction only moves, casts or passes on; a part stands for all of what a TPU
        has copied in parts. None if it computes something else, such as a loop that adds up gradients.
        """
        is_moved = self.writers.read(position.row).own.opcode in _PASSING | _PASSING_ON
        return next((before for _, before in self._before(position)), None) if is_moved else None

    def _unscaled(self, position: Position | None) -> Position | None:
        """Follow an element back through constant factors, casts and moves, to what it is a multiple of."""
        for _ in range(_MOST_STEPS):
            if position is None:
                return None
            opcode = self.writers.read(position.row).own.opcode
            if opcode == b"multiply":
                scaled = self._scaled(opcode, [self.writers.operand(position, number, ()) for number in (0, 1)])
                before = scaled[1] if scaled else None
            else:
                before = None if self._is_argument(position) else self._moved_from(position)
            if before is None:
                return position
            position = before
        return position

    def _is_count(self, value: int) -> bool:
        """Whether a value is a single integer, such as the number of a step."""
        return value != NONE and _COUNT.match(self.dump.shape(value) or b"") is not None

    def _begin(self, output: int) -> Position | None:
        row = self._row(self.dump.name_of(output))
        return Position(row, index_path(self.dump, self.dump.values.index.item(output))) if row != NONE else None

    def _row(self, name: int) -> int:
        return self.writers.module.row_of(self.dump.names[name]) if name != NONE else NONE

    def _is_argument(self, position: Position) -> bool:
        own = self.writers.read(position.row).own
        return own.opcode == b"parameter" and self.writers.module.is_in_entry(position.row)

    def _value(self, position: Position) -> int:
        index = self.dump.index_number(b"{%s}" % b",".join(b"%d" % number for number in position.index))
        return self.dump.value_at(self.dump.name_number(self.writers.module.name(position.row)), index)

    def _is_read_in(self, value: int, rows: set[int]) -> bool:
        """Whether all that reads a value is among some instructions, which only compute on its elements."""
        used = self.dump.values.used_value.item(value) if value != NONE else NONE
        names = {*self.dump.uses.name[self.dump.uses_of(used)].tolist()} if used != NONE else set()
        readers = [(self.dump.opcode(name), self._row(name)) for name in names]
        computing = [(opcode, row) for opcode, row in readers if opcode not in VIEWS]
        return all(row in rows and (opcode == b"fusion" or opcode in ELEMENTWISE) for opcode, row in computing)

    # ------------------------------------------------------------ what an element is computed from

    def _before(self, position: Position) -> Iterator[tuple[bool, Position | None]]:
        """Yield what an element is computed from, and whether the instruction scales it."""
        of, index = self.writers, position.index
        read = of.read(position.row)
        own = read.own
        match own.opcode:
            case b"parameter":
                yield from ((False, before) for before in self._outside(position))
            case b"tuple":
                yield False, of.operand(position, index[0], index[1:]) if index else None
            case b"get-tuple-element":
                element = ELEMENT_INDEX.search(own.text, own.operands_end, own.end)
                yield False, of.operand(position, 0, (integer(element[1]), *index)) if element else None
            case b"while" | b"conditional" | b"fusion" | b"call":
                yield from ((False, root) for root in self._roots(position, index))
            case b"async-start" | b"slice-start" | b"dynamic-slice-start":
                # The result has the operands, the result and more, in this order.
                yield from ((False, root) for root in self._roots(position, index[1:]))
            case b"async-done" | b"async-update" | b"slice-done" | b"dynamic-slice-done":
                yield False, of.operand(position, 0, (1, *index))
            case b"add" | b"maximum" | b"minimum" | b"concatenate" | b"dynamic-update-slice" | b"select":
                # What is selected by has too few bits to be an argument of the shape.
                yield from ((False, of.operand(position, number, ())) for number in range(len(read.operands)))
            case b"clamp":
                yield False, of.operand(position, 1, ())
            case b"subtract":
                yield False, of.operand(position, 0, ())
                yield True, of.operand(position, 1, ())
            case b"gather":
                # Caches of beams are read in the order of those that survive.
                table = of.operand(position, 0, ())
                is_whole = table is not None and _elements(of, table.row) == _elements(of, position.row)
                yield False, table if is_whole else None
            case b"multiply":
                for number in (0, 1):
                    factor = self._constant(of.operand(position, 1 - number, ()))
                    yield factor is None or factor < _LEAST_KEPT, of.operand(position, number, ())
            case b"custom-call" if own.has_text(_JOINING):
                yield from ((False, of.operand(position, number, ())) for number in range(len(read.operands)))
            case b"custom-call":
                aliased = {_path(match[1]): match for match in _ALIASED.finditer(own.text, own.operands_end, own.end)}
                if match := aliased.get(index):
                    yield False, of.operand(position, integer(match[2]), _path(match[3]))
            case opcode if opcode in _PASSING:
                yield (
                    False,
                    of.operand(position, index[0] if index and opcode == b"all-reduce" else 0, _passed(opcode, index)),
                )
            case opcode if opcode in ELEMENTWISE:
                yield from ((True, of.operand(position, number, ())) for number in range(len(read.operands)))

    def _outside(self, position: Position) -> Iterator[Position | None]:
        """What a parameter of a called computation stands for."""
        of, index, callers = self.writers, position.index, position.callers
        row = callers[-1] if callers else of.caller(position.row)
        if row == NONE:
            return
        caller = Position(row, (), callers[:-1])
        own, number = of.read(caller.row).own, of.read(position.row).own.parameter_number
        if own.opcode == b"while":
            yield of.operand(caller, 0, index)
            yield from self._roots(caller, index)
        elif own.opcode == b"conditional":
            here = of.module.computation_of(position.row)
            branches = of.called(caller.row, *BRANCHES)
            yield from (of.operand(caller, 1 + at, index) for at, branch in enumerate(branches) if branch == here)
        elif number is not None:
            yield of.operand(caller, number, index)

    def _roots(self, position: Position, index: tuple[int, ...]) -> Iterator[Position]:
        """An element of the roots of the computations that an instruction calls."""
        for computation in self.writers.called(position.row, *_CALLS, *BRANCHES):
            root = self.writers.module.root(computation) if computation != NONE else NONE
            if root != NONE:
                yield Position(root, index, (*position.callers, position.row))

    def _constant(self, position: Position | None) -> float | None:
        """The number that all elements have, None if it is not a constant."""
        for _ in range(_MOST_TO_CONSTANT):
            if position is None:
                return None
            own = self.writers.read(position.row).own
            if own.opcode == b"constant":
                number = _NUMBER.match(own.text, own.operands_start, own.end)
                return float(number[0]) if number else None
            if own.opcode == b"parameter":
                position = next(self._outside(position), None)
            else:
                position = self.writers.operand(position, 0, ()) if own.opcode in _SPREADING else None
        return None


def _elements(writers: Writers, row: int) -> int | None:
    """The number of elements of the result of an instruction, None if it is unknown."""
    shape = parse_shape(writers.read(row).own.shape)
    return prod(dimension or 0 for dimension in shape.dimensions) if shape else None


def _path(numbers: bytes) -> tuple[int, ...]:
    """The numbers of a shape index: (0, 1) for ``0, 1``."""
    return tuple(map(integer, _DIGITS.findall(numbers)))


def _passed(opcode: bytes, index: tuple[int, ...]) -> tuple[int, ...]:
    """The index in the operand of what passes its operand on: tuples keep theirs."""
    return index if opcode in (b"opt-barrier", b"optimization-barrier", b"domain", b"add-dependency") else ()


_MOST_STEPS: Final = 2000
"""Maximum number of instructions that an output is followed through: many times as many as those of an optimizer."""

_MOST_TO_CONSTANT: Final = 20
"""Maximum number of instructions between a constant and the product with it."""

_LEAST_KEPT: Final = 0.5
"""An average that keeps less than this of an argument is not the update of it."""

_SUMMING: Final = frozenset((b"convolution", b"dot", b"reduce", b"reduce-window"))

_SLICING: Final = b"dynamic-slice"
ADDING_UP: Final = (b"all-reduce", b"all-reduce-start")
"""Instructions by which devices add up what each of them has, and all get the sum."""

_LOSS: Final = lazy_pattern(rb"b?f[0-9]+\[\]")

_SMALL: Final = 512
"""The most bytes of a key or a number, which a TPU gives a tile."""

_COUNT: Final = lazy_pattern(rb"[su](?:32|64)\[\]")

_PASSING: Final = frozenset(
    b"""
    all-gather all-gather-done all-gather-start all-reduce all-reduce-done all-reduce-start add-dependency bitcast
    bitcast-convert convert copy copy-done copy-start domain dynamic-slice opt-barrier optimization-barrier pad
    reduce-precision reshape scatter slice transpose
    """.split()
)
"""Instructions whose elements are those of their first operand, moved, cast, or with others added."""

_PASSING_ON: Final = frozenset(
    b"""
    async-done async-start async-update call custom-call dynamic-slice-done dynamic-slice-start fusion get-tuple-element
    parameter slice-done slice-start tuple
    """.split()
)
"""Instructions that may have the elements of something else, as `_Flow._before` tells."""

_JOINING: Final = b'custom_call_target="ConcatBitcast"'
"""How a TPU joins the slices in which it has copied an array to VMEM."""

_SPREADING: Final = frozenset((b"bitcast", b"broadcast", b"convert", b"copy", b"reshape"))
_CALLS: Final = (b"body", b"calls", b"to_apply")
_ALIASED: Final = lazy_pattern(rb"\{([0-9, ]*)\}: \(([0-9]{1,9}), \{([0-9, ]*)\}")
_DIGITS: Final = lazy_pattern(rb"[0-9]{1,9}")
_NUMBER: Final = lazy_pattern(rb"[0-9.]{1,20}(?:e[-+]?[0-9]{1,3})?(?=\))")
