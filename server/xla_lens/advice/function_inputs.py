"""What a function of the program reads that earlier calls of it have made, and what it returns. `jax.checkpoint` around
the function keeps both.

A Python loop calls a function once for each layer, and nothing in a module tells these calls apart. But the first call
reads what is made outside of the function. Where it does so, by the line within the function and the operand, later
calls read what those before them return.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple, TypeAlias

from xla_lens.advice.facts import Facts
from xla_lens.advice.op_names import is_backward
from xla_lens.advice.stacks import (
    callers,
    fused_parameters,
    reading_operands,
    row_of,
    taken_from,
    value_of,
    way_back,
)
from xla_lens.model.attribution.writers import Position, ReadInstruction, Writers
from xla_lens.model.hlo.dataflow import index_path
from xla_lens.model.hlo.stack_frames import Frames
from xla_lens.model.memory.donation import ELEMENTWISE
from xla_lens.model.tables.backend import Backend
from xla_lens.syntax.columns import NONE
from xla_lens.syntax.hlo.shapes import parse_shape
from xla_lens.text.patterns import lazy_pattern

Read: TypeAlias = tuple[int, int]
"""An instruction that reads something, and the number of the operand."""


class _Place(NamedTuple):
    """Where a function makes an instruction, which is the same in each call of it: the innermost frame and that of the
    function, the operation, because a line may make several, and the opcode, because XLA may make several of one, such
    as a broadcast, a multiplication and a sum of a product. Between the frames, what `jax.custom_vjp` calls may depend
    on what is differentiated. A TPU concatenates arrays by padding each, by other numbers.
    """

    frames: Frames
    operation: str
    opcode: bytes
    padding: bytes


_PlaceOfRead: TypeAlias = tuple[_Place | None, int]
"""Where a function reads something, None outside of it, and the number of the operand."""


def _without_padding(places: Iterable[_PlaceOfRead]) -> set[_PlaceOfRead]:
    return {(place and place._replace(padding=b""), number) for place, number in places}


class _Content(NamedTuple):
    """The result of an instruction, which several fusions may compute: the calls and the op_name of the instruction,
    and the last of the values that it is computed from.
    """

    frames: Frames
    op_name: str
    made_from: int


class FunctionInputs:
    """Where a function reads what is made outside of it, as far as some values that it makes depend on that.

    The function is known by the frames with its name. If the values depend on too many instructions of it to follow, it
    counts as having no inputs.
    """

    def __init__(self, reads: "ForwardReads", function: str, values: Iterable[int]) -> None:
        self._reads, self._writers, self._function = reads, reads.writers, function
        self._inputs = set[_PlaceOfRead]()
        """The places of the instructions that read the inputs of the function, and the numbers of the operands."""
        self._is_complete = True
        firsts = [*values]
        positions = [position for value in firsts if (position := position_of(reads.facts, reads.writers, value))]
        # What fusions compute from a value may be the result of the call that makes it.
        behind = [row for value in firsts for row in reads.behind_elements(value)]
        self._search([*positions, *(Position(row, (), callers(self._writers, row)) for row in behind)])

    def kept(self, values: Iterable[int], others: Iterable[int]) -> set[int]:
        """Those of some values of the function that the forward pass reads as inputs of it, or outside of it.

        A TPU concatenates arrays by padding each. Only the padding tells an input from what the function makes itself,
        and it counts if one of these values or of some others shows that a call reads what another call returns. A
        function that is called once is computed again as a whole, with all of what it concatenates.
        """
        if not self._is_complete:
            return set()
        inputs, reads_of = self._inputs, {value: self._places_of_reads(value) for value in values}
        if not any(reads & inputs for reads in (*reads_of.values(), *map(self._places_of_reads, others))):
            inputs = _without_padding(inputs)
            reads_of = {value: _without_padding(reads) for value, reads in reads_of.items()}
        return {
            value for value, reads in reads_of.items() if any(place is None for place, _ in reads) or reads & inputs
        }

    def _places_of_reads(self, value: int) -> set[_PlaceOfRead]:
        return {(self._place(row), number) for row, number in self._reads.of(value)}

    def unstored(self, values: Iterable[int], kept: Iterable[int]) -> dict[int, int]:
        """The inputs of the function that fusions compute element by element from some values, and that no buffer
        holds, not even one of the values that are kept: the bytes that each takes in a buffer of its own, by the last
        of the values that it is computed from.
        """
        facts, reads_of = self._reads.facts, dict[_Content, list[Read]]()
        made_from = dict[int, int]()
        """The last value that instructions are computed from."""
        for value in sorted(values, key=facts.start.__getitem__) if self._is_complete else ():
            made_from.update(dict.fromkeys(self._reads.behind_elements(value), value))
        for row, value in made_from.items():
            inputs = [read for read in self._reads.behind_elements(value)[row] if self._is_input(*read)]
            if inputs:
                reads_of.setdefault(self._content(row, value), []).extend(inputs)
        positions = {value: position_of(facts, self._writers, value) for value in kept}
        makers = {value: [*self._makers(position)] for value, position in positions.items() if position}
        rows = [maker.row for found in makers.values() for maker in found]
        held = {self._content(row, made_from[row]) for row in rows if row in made_from}
        # Where the function has a loop, its lines read their own results, too. What calls return is made in one place;
        # they return no statistics.
        least = max((facts.size[value] for value in made_from.values()), default=0) // _SMALL_PART
        large = [maker.row for value, found in makers.items() for maker in found if facts.size[value] >= least]
        results = {self._content(row, NONE) for row in large if self._place(row)}
        found = dict[int, int]()
        for content, reads in reads_of.items():
            if content not in held and (not results or content._replace(made_from=NONE) in results):
                value = content.made_from
                found[value] = found.get(value, 0) + self._size_bytes(value, reads)
        return found

    def _is_input(self, row: int, number: int) -> bool:
        return (self._place(row), number) in self._inputs

    def _content(self, row: int, value: int) -> "_Content":
        read = self._writers.read(row)
        return _Content(read.frames, read.metadata.get("op_name", ""), value)

    def _size_bytes(self, value: int, reads: Sequence[Read]) -> int:
        """The bytes of an input that has as many elements as a value, by some reads of it."""
        facts, writers = self._reads.facts, self._writers
        row, number = reads[0]
        shape, operand = facts.dump.shape(value), writers.operand(Position(row, ()), number, ())
        before = parse_shape(shape) if shape else None
        after = parse_shape(writers.read(operand.row).own.shape) if operand else None
        if before is None or after is None:
            return facts.size[value]
        bits = min(after.bits, _BITS_OF_FACTORS) if self._are_rounded(reads) else after.bits
        return facts.size[value] * bits // before.bits

    def _are_rounded(self, reads: Iterable[Read]) -> bool:
        """Whether a TPU needs an input only as the factor of products. It rounds that to bfloat16 unless a program
        wants more precision, and stores it rounded.
        """
        instructions = [self._writers.read(row).own for row, _ in reads]
        return self._reads.facts.dump.backend is Backend.TPU and all(
            own.opcode in PRODUCTS and _PRECISION.search(own.text, own.operands_end, own.end) is None
            for own in instructions
        )

    def _place(self, row: int) -> _Place | None:
        """Where the function makes an instruction, None if it does not."""
        read = self._writers.read(row)
        depths = [depth for depth, frame in enumerate(read.frames, 1) if frame.function == self._function]
        operation = read.metadata.get("op_name", "").rpartition("/")[2]
        frames = read.frames[: depths[-1]] if depths else ()
        own = read.own
        padding = _PADDING.search(own.text, own.operands_end, own.end) if own.opcode == b"pad" else None
        if not frames:
            return None
        return _Place((frames[0], frames[-1]), operation, own.opcode, padding[0] if padding else b"")

    def _search(self, waiting: list[Position]) -> None:
        """Follow some positions back through the function to its inputs."""
        writers, passed = self._writers, set[Position]()
        waiting = [made for position in waiting for made in self._makers(position)]
        for made in waiting:
            place = self._place(made.row)
            if place is None or made in passed:
                continue
            passed.add(made)
            if len(passed) > _MOST_STEPS:
                self._is_complete = False
                return
            for number in range(len(writers.read(made.row).operands)):
                operand = writers.operand(made, number, ())
                makers = [*self._makers(operand)] if operand else []
                if any(self._place(maker.row) is None for maker in makers):
                    self._inputs.add((place, number))
                waiting += makers

    def _makers(self, position: Position) -> Iterator[Position]:
        """The instructions with a source, or parameters, that make what is at a position: behind tuples, fusions, and
        what XLA inserts, such as copies. What is the same for both passes may have the op_name of the backward one.
        """
        writers, waiting, passed = self._writers, [position], set[Position]()
        for each in waiting:
            if each in passed:
                continue
            passed.add(each)
            # In a damaged module, the path of an element may get longer and longer.
            if len(passed) > _MOST_STEPS:
                self._is_complete = False
                return
            read = writers.read(each.row)
            if before := taken_from(writers, each):
                waiting.append(before)
            elif read.own.opcode == b"parameter" or (_computes(read) and not is_backward(read.metadata.get("op_name"))):
                yield each
            else:
                operands = (writers.operand(each, number, ()) for number in range(len(read.operands)))
                waiting += filter(None, operands)


class ForwardReads:
    """By which instructions the forward pass reads values. Keeps what it finds: the functions that make values are
    looked for several times.
    """

    def __init__(self, facts: Facts, writers: Writers) -> None:
        self.facts, self.writers = facts, writers
        self._found: dict[int, list[Read]] = {}
        self._behind: dict[int, dict[int, list[Read]]] = {}

    def of(self, value: int) -> list[Read]:
        """The instructions with a source by which the forward pass reads what a value holds, with the numbers of the
        operands: those of the value, of what it is a copy of, and of copies of these.
        """
        if value not in self._found:
            self._found[value] = [*self._reads(value)]
        return self._found[value]

    def _reads(self, value: int) -> Iterator[Read]:
        facts, writers = self.facts, self.writers
        places = [*way_back(writers, position_of(facts, writers, value))]
        sources = (value_of(facts, writers, place) for place in places if not place.callers)
        waiting = [*dict.fromkeys((value, *(source for source in sources if source != NONE)))]
        for place in places:
            if place.callers:
                yield from self._reads_within(place)
        for each in waiting:
            for _, name in facts.reads(each):
                row = writers.module.row_of(facts.dump.names[name])
                if row == NONE or is_backward(facts.op_name(name)):
                    continue
                if writers.read(row).own.opcode == b"fusion":
                    yield from self._reads_of_parameters(Position(row, ()), facts.operand_numbers(name, each))
                elif _computes(writers.read(row)):
                    yield from ((row, number) for number in facts.operand_numbers(name, each))
                else:
                    waiting += [made for made in facts.defined_by(name) if made not in waiting]

    def behind_elements(self, value: int) -> dict[int, list[Read]]:
        """What fusions compute from a value element by element: the instructions that do, each with those of the same
        fusions that read it.
        """
        if value not in self._behind:
            found, waiting = self._behind.setdefault(value, {}), [*self.of(value)]
            for row, _ in waiting:
                is_new = row not in found and self.writers.read(row).own.opcode in ELEMENTWISE
                if is_new and (around := callers(self.writers, row)):
                    found[row] = [*self._reads_within(Position(row, (), around))]
                    waiting += found[row]
        return self._behind[value]

    def _reads_of_parameters(self, fusion: Position, numbers: Sequence[int]) -> Iterator[Read]:
        """The instructions with a source that read some operands of a fusion."""
        # In a damaged module, a fusion may call itself.
        if fusion.row in fusion.callers:
            return
        for row in fused_parameters(self.writers, fusion.row, numbers):
            yield from self._reads_within(Position(row, (), (*fusion.callers, fusion.row)))

    def _reads_within(self, position: Position) -> Iterator[Read]:
        """The instructions with a source that read the result of one within a fusion."""
        writers, module, row, callers = self.writers, self.writers.module, position.row, position.callers
        for user, numbers in reading_operands(writers, row).items():
            read = writers.read(user)
            if read.own.opcode == b"fusion":
                yield from self._reads_of_parameters(Position(user, (), callers), numbers)
            elif not _computes(read):
                yield from self._reads_within(Position(user, (), callers))
            elif not is_backward(read.metadata.get("op_name")):
                yield from ((user, number) for number in numbers)
        if len(callers) > 1 and row == module.root(module.computation_of(row)):
            # A fusion within a fusion may only give the same bytes another shape.
            yield from self._reads_within(Position(callers[-1], (), callers[:-1]))


def position_of(facts: Facts, writers: Writers, value: int) -> Position | None:
    """Return what a value is in the module, None if that lacks it. Of a copy to another memory space, it is what is
    copied.
    """
    row = row_of(facts, writers, value)
    if row == NONE:
        return None
    if facts.opcode(value) == b"copy-start":
        return writers.operand(Position(row, ()), 0, ())
    return Position(row, index_path(facts.dump, facts.dump.values.index.item(value)))


def _computes(read: ReadInstruction) -> bool:
    """Whether an instruction is one of the program's. Copies are XLA's, and so is what moves elements of factors and of
    results of products, with their op_names.
    """
    opcode = read.own.opcode
    is_of_product = opcode in _MOVING and read.metadata.get("op_name", "").endswith(PRODUCTS_OF_JAX)
    return read.has_source and opcode != b"copy" and not is_of_product


_MOVING: Final = frozenset(b"bitcast concatenate dynamic-slice pad reshape select slice transpose".split())
PRODUCTS_OF_JAX: Final = ("/dot_general", "/conv_general_dilated")

_MOST_STEPS: Final = 5000
"""Maximum number of instructions of a function that are followed back from what it makes."""

PRODUCTS: Final = frozenset((b"convolution", b"dot"))

_PRECISION: Final = lazy_pattern(rb"operand_precision=|algorithm=")
"""What HLO adds to a product that is to be computed with more precision than usual."""

_PADDING: Final = lazy_pattern(rb"padding=[-0-9_x]+")

_SMALL_PART: Final = 64
"""The results of a function are at least this part of the values from which it computes inputs."""

_BITS_OF_FACTORS: Final = 16
