"""Which instruction writes the content of a value, where the one that defines it does not say.

A loop defines its results, but the instructions of its body write them: the element of the body's root, and what a
`dynamic-update-slice` there stores. A copy, the end of an asynchronous operation and many fusions have no metadata of
their own. The data flow in the HLO module leads from each of them to an instruction that has some.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from xla_lens.model.hlo.module import HloModule
from xla_lens.model.hlo.stack_frames import StackFrame, user_frame
from xla_lens.syntax.columns import NONE
from xla_lens.syntax.hlo.instruction import Instruction
from xla_lens.syntax.hlo.lexical import NAME
from xla_lens.syntax.hlo.shapes import byte_sizes
from xla_lens.syntax.numbers import integer

SOURCE_FIELDS: Final = ("stack_frame_id", "source_file", "source_line")
"""The fields of an instruction's metadata that lead to a source line."""


def is_path(op_name: str | None) -> bool:
    """Whether an op_name says where an instruction comes from. XLA names instructions that it makes after others
    (``convert.12``), which says nothing.
    """
    return op_name is not None and ("/" in op_name or "[" in op_name)


@dataclass(frozen=True, slots=True)
class Stored:
    """How a loop stacks what its body computes: `count` arrays of a shape without its layout, stored by the
    instruction `name`.
    """

    name: str
    count: int
    shape: str


@dataclass(frozen=True, slots=True)
class Writer:
    """The instruction that writes the content of a value, a row of the module's instructions. `stored` is None unless a
    loop stacks what it writes.
    """

    row: int
    stored: Stored | None


@dataclass(frozen=True, slots=True)
class _Position:
    """An instruction, or an element of its result. `callers` are the instructions that call the computations around it,
    outermost first, as far as the search came through them.
    """

    row: int
    index: tuple[int, ...]
    callers: tuple[int, ...] = ()


class Writers:
    """Finds writers in one module. Keeps what it reads, because many values lead to the same instructions."""

    def __init__(self, module: HloModule, *, through_loops: bool) -> None:
        self.module, self.through_loops = module, through_loops
        self._instructions: dict[int, Instruction | None] = {}
        self._operands: dict[int, tuple[bytes, ...]] = {}
        self._metadata: dict[int, Mapping[str, str]] = {}
        self._lines: dict[tuple[str | None, ...], StackFrame | None] = {}
        self._callers: dict[int, int] = {}
        self.without_source: set[int] = set()
        """Instructions from which no way leads to a writer. A module without metadata has thousands."""
        self._loops: dict[int, tuple[int, ...]] = {}

    def writer(self, row: int, index: tuple[int, ...]) -> Writer | None:
        """Return the instruction that writes the result of an instruction, or an element of it. None if the module does
        not say.
        """
        loops = {loop: self.line(loop) for loop in self.loops_around(row)} if self.through_loops else {}
        return _Search(self, loops).find(_Position(row, index))

    # ------------------------------------------------------------ instructions

    def instruction(self, row: int) -> Instruction | None:
        """The instruction of a row, None if its text is not well-formed."""
        if row not in self._instructions:
            self._instructions[row] = self.module.instruction(row)
        return self._instructions[row]

    def opcode(self, row: int) -> bytes:
        """The opcode of a row, empty if its text is not well-formed."""
        instruction = self.instruction(row)
        return instruction.opcode if instruction else b""

    def shape(self, row: int) -> bytes:
        """The shape of a row, empty if its text is not well-formed."""
        instruction = self.instruction(row)
        return instruction.shape if instruction else b""

    def metadata(self, row: int) -> Mapping[str, str]:
        """The metadata of a row."""
        if row not in self._metadata:
            instruction = self.instruction(row)
            self._metadata[row] = instruction.metadata() if instruction else {}
        return self._metadata[row]

    def has_source(self, row: int) -> bool:
        """Whether the metadata of a row say where it comes from: a source line, or an op_name that is a path."""
        return self.line(row) is not None or is_path(self.metadata(row).get("op_name"))

    def line(self, row: int) -> StackFrame | None:
        """The line of the user's call that made a row, without the column. None if it is unknown."""
        metadata = self.metadata(row)
        key = tuple(map(metadata.get, SOURCE_FIELDS))
        if key not in self._lines:
            own = user_frame(self.module.frames(metadata))
            self._lines[key] = replace(own, column=None) if own else None
        return self._lines[key]

    def operand_count(self, row: int) -> int:
        """The number of operands of a row."""
        return len(self._operand_names(row))

    def operand(self, position: _Position, number: int, index: tuple[int, ...]) -> _Position | None:
        """An element of an operand, None if the module lacks it."""
        names = self._operand_names(position.row)
        row, element = self.module.operand(names[number]) if 0 <= number < len(names) else (NONE, b"")
        if row == NONE or self.module.computation_of(row) != self.module.computation_of(position.row):
            return None
        path = tuple(map(integer, element[1:-1].split(b","))) if element else ()
        return _Position(row, (*path, *index), position.callers)

    def _operand_names(self, row: int) -> tuple[bytes, ...]:
        # Some tuples have thousands.
        if row not in self._operands:
            instruction = self.instruction(row)
            self._operands[row] = instruction.operand_names() if instruction else ()
        return self._operands[row]

    def element_number(self, row: int) -> int:
        """Which element a `get-tuple-element` reads, NONE if it does not say."""
        found = self._attribute(row, _INDEX)
        return integer(found) if found else NONE

    def _attribute(self, row: int, pattern: re.Pattern[bytes]) -> bytes | None:
        instruction = self.instruction(row)
        match = pattern.search(instruction.text, instruction.operands_end, instruction.end) if instruction else None
        return match[match.lastindex or 0] if match else None

    # ------------------------------------------------------------ computations

    def called(self, row: int, pattern: re.Pattern[bytes]) -> list[int]:
        """The computations that an attribute names, NONE for those that the module lacks."""
        names = _NAME.findall(self._attribute(row, pattern) or b"")
        return [self.module.computation_rows.row(name) for name in names]

    def loops_around(self, row: int) -> tuple[int, ...]:
        """The loops whose bodies contain a row, innermost first."""
        computation = self.module.computation_of(row)
        if computation not in self._loops:
            found, passed = [], {computation}
            # A damaged module may call itself.
            while not self.module.is_in_entry(row) and (row := self.caller(row)) != NONE and len(passed) < _MOST_DEPTH:
                if self.opcode(row) == b"while":
                    found.append(row)
                if self.module.computation_of(row) in passed:
                    break
                passed.add(self.module.computation_of(row))
            self._loops[computation] = tuple(found)
        return self._loops[computation]

    def caller(self, row: int) -> int:
        """The only instruction that calls the computation of a row, NONE if there are several or none."""
        computation = self.module.computation_of(row)
        if computation not in self._callers:
            starts = self.module.references.of_computation(computation).tolist()
            callers = {self.module.instruction_at(start) for start in starts} - {NONE}
            self._callers[computation] = callers.pop() if len(callers) == 1 else NONE
        return self._callers[computation]


class _Search:
    """The way from one value to the instruction that writes it."""

    def __init__(self, writers: Writers, loops: dict[int, StackFrame | None]) -> None:
        self._of, self._left, self._depth = writers, _MOST_STEPS, 0
        self._passed: set[tuple[int, tuple[int, ...]]] = set()
        """The elements of loops whose bodies were searched."""
        self._loops = loops
        """The loops in whose bodies the search is, with their lines."""
        self._stored: Stored | None = None
        self._is_within_fusion = False
        """Whether the search must not leave a fusion: it passed an instruction that computes something else."""
        self._is_slice = False
        """Whether the value is a slice that a loop takes out of what another one has stacked."""

    def find(self, position: _Position | None) -> Writer | None:
        """Follow a value to its writer."""
        if self._depth == _MOST_DEPTH:
            return None
        self._depth += 1
        found: _Position | Writer | None = position
        while isinstance(found, _Position) and self._left:
            self._left -= 1
            found = self._next(found)
        self._depth -= 1
        return found if isinstance(found, Writer) else None

    def _next(self, position: _Position) -> _Position | Writer | None:
        of, row, index = self._of, position.row, position.index
        opcode = of.opcode(row)
        match opcode:
            case b"tuple":
                return of.operand(position, index[0], index[1:]) if index else None
            case b"get-tuple-element":
                number = of.element_number(row)
                return of.operand(position, 0, (number, *index)) if number != NONE else None
            case b"bitcast" | b"optimization-barrier" | b"add-dependency" | b"domain":
                return of.operand(position, 0, index)
            case b"parameter":
                return self._parameter(position)
            case b"while":
                return self._loop(position)
            case b"conditional":
                return self._conditional(position)
            case b"fusion" | b"call":
                return self._called(position)
            case b"dynamic-update-slice" if self._loops and self._is_by_loop(row):
                self._store(position)
                return of.operand(position, 1, index)
            case b"dynamic-slice" if self._loops and self._is_by_loop(row):
                self._is_slice = True
                return of.operand(position, 0, index)
        if opcode.endswith(b"-start") or opcode == b"async-update":
            return self._start(position)
        if opcode.endswith(b"-done"):
            return self._own(position) or of.operand(position, 0, (0 if opcode == b"copy-done" else 1, *index))
        if self._stored and opcode in _RESHAPING and self._is_by_loop(row):
            return of.operand(position, 0, index)
        return self._own(position) or self._of_operand(position)

    def _own(self, position: _Position) -> Writer | None:
        return self._writer(position.row) if self._of.has_source(position.row) else None

    def _writer(self, row: int) -> Writer:
        return Writer(row, None if self._is_slice else self._stored)

    def _of_operand(self, position: _Position) -> Writer | None:
        """What an instruction without metadata copies: its operand of its own size, else its largest. One that computes
        something has the source of what computes its operands in the same fusion.
        """
        of, count, opcode = self._of, self._of.operand_count(position.row), self._of.opcode(position.row)
        is_copy = opcode in _MOVING or opcode.endswith(b"-start")
        is_fused = bool(position.callers) and of.opcode(position.callers[-1]) == b"fusion"
        if opcode in _CONTROL or not (is_copy or is_fused) or not 0 < count <= _MOST_OPERANDS:
            return None
        before, self._is_within_fusion = self._is_within_fusion, self._is_within_fusion or not is_copy
        found = self._first(position, count)
        self._is_within_fusion = before
        return found

    def _first(self, position: _Position, count: int) -> Writer | None:
        """The writer of the first of an instruction's operands that has one."""
        of = self._of
        operands = [of.operand(position, number, ()) for number in range(count)]
        found = [operand for operand in operands if operand is not None]
        (own,), sizes = _sizes([of.shape(position.row)]), _sizes([of.shape(operand.row) for operand in found])
        order = sorted(range(len(found)), key=lambda number: (sizes[number] != own, -sizes[number]))
        for operand in (found[number] for number in order):
            if operand.row not in of.without_source:
                writer = self.find(operand)
                if writer:
                    return writer
                if self._left and not self._loops and not self._is_within_fusion:
                    of.without_source.add(operand.row)
        return None

    # ------------------------------------------------------------ computations

    def _into(self, position: _Position, computation: int, index: tuple[int, ...]) -> _Position | None:
        root = self._of.module.root(computation) if computation != NONE else NONE
        return _Position(root, index, (*position.callers, position.row)) if root != NONE else None

    def _parameter(self, position: _Position) -> _Position | Writer | None:
        of, row, index, callers = self._of, position.row, position.index, position.callers
        if of.module.is_in_entry(row):
            return self._writer(row) if "op_name" in of.metadata(row) else None
        caller = callers[-1] if callers else of.caller(row)
        if caller == NONE:
            return None
        instruction, outer = of.instruction(row), _Position(caller, (), callers[:-1])
        number = instruction.parameter_number if instruction else None
        match of.opcode(caller):
            case b"while":
                return self._loop(replace(outer, index=index)) if of.through_loops else None
            case b"conditional":
                branches = of.called(caller, _BRANCHES)
                here = of.module.computation_of(row)
                return of.operand(outer, 1 + branches.index(here), index) if here in branches else None
            case b"fusion" if self._is_within_fusion:
                return None
            case b"fusion" | b"call" | b"async-start":
                return of.operand(outer, number, index) if number is not None else None
        return None

    def _loop(self, position: _Position) -> _Position | Writer | None:
        """An element of what a loop carries: what its body writes, else what is in it before the loop."""
        of, row, index = self._of, position.row, position.index
        if not of.through_loops:
            return self._own(position)
        if (row, index) in self._passed:
            self._loops.pop(row, None)
            return of.operand(position, 0, index)
        self._passed.add((row, index))
        self._loops[row] = of.line(row)
        (body,) = of.called(row, _BODY) or (NONE,)
        return self._into(position, body, index)

    def _conditional(self, position: _Position) -> Writer | None:
        """What all branches write; if they differ, the conditional itself, else the first branch that is known."""
        branches = self._of.called(position.row, _BRANCHES)
        writers = [self.find(self._into(position, branch, position.index)) for branch in branches]
        known = [writer for writer in writers if writer]
        metadata = [self._of.metadata(writer.row) for writer in known]
        is_same = len(known) == len(branches) and all(one == metadata[0] for one in metadata)
        return (None if is_same else self._own(position)) or next(iter(known), None)

    def _called(self, position: _Position) -> Writer | None:
        """What a fusion or a call writes: the root of its computation. Its own metadata count if it is one array and
        not stacked by a loop.
        """
        own = self._own(position)
        is_fusion = self._of.opcode(position.row) == b"fusion"
        if own and is_fusion and not position.index and not self._loops:
            return own
        (computation,) = self._of.called(position.row, _CALLS) or (NONE,)
        before = self._stored
        inner = self.find(self._into(position, computation, position.index))
        if inner and own and inner.stored is before and not self._is_within(inner.row, position.row):
            # It only passes on what something else has computed.
            return own
        return inner or own

    def _is_within(self, row: int, caller: int) -> bool:
        """Whether a row is not in the computation of an instruction, so that it is inside of what that calls."""
        return self._of.module.computation_of(row) != self._of.module.computation_of(caller)

    def _start(self, position: _Position) -> _Position | Writer | None:
        """The start of an asynchronous operation. Its result has the operands, the result and more, in this order; that
        of a `copy-start` has the copy first.
        """
        of, row, index = self._of, position.row, position.index
        if of.opcode(row) == b"async-update":
            return self._own(position) or of.operand(position, 0, index)
        if own := self._own(position):
            return own
        if index[:1] > (1,):
            # What the operation needs for itself.
            return None
        computations = of.called(row, _CALLS)
        if not computations:
            return self._of_operand(position)
        if index[:1] == (0,) and len(index) > 1:
            return of.operand(position, index[1], index[2:])
        return self.find(self._into(position, computations[0], index[1:]))

    # ------------------------------------------------------------ what loops store

    def _is_by_loop(self, row: int) -> bool:
        """Whether the loop itself made an instruction: it has the line of the loop, or none."""
        line = self._of.line(row)
        return line is None or line in self._loops.values()

    def _store(self, position: _Position) -> None:
        update = self._of.operand(position, 1, ())
        if self._stored or update is None:
            return
        callers = position.callers
        is_fused = callers and self._of.opcode(callers[-1]) == b"fusion"
        name = self._of.module.name(callers[-1] if is_fused else position.row).decode("utf-8", "replace")
        self._stored = _stored(name, self._of.shape(position.row), self._of.shape(update.row))


def _stored(name: str, whole: bytes, part: bytes) -> Stored | None:
    arrays = _ARRAY.match(whole), _ARRAY.match(part)
    if not arrays[0] or not arrays[1]:
        return None
    lengths = [[*map(integer, array[2].split(b","))] for array in arrays if array and array[2]]
    if len(lengths) != 2 or len(lengths[0]) != len(lengths[1]) or 0 in lengths[1]:
        return None
    count, rest = 1, []
    for whole_length, length in zip(*lengths, strict=True):
        count *= whole_length // length
        if length != 1 or whole_length == 1:
            rest.append(length)
    return Stored(name, count, f"{arrays[1][1].decode()}[{','.join(map(str, rest))}]")


def _sizes(shapes: list[bytes]) -> list[int]:
    found: list[int] = byte_sizes(shapes).tolist()
    return found


_MOST_STEPS: Final = 300
"""Maximum number of instructions that one search passes."""

_MOST_DEPTH: Final = 50
"""Maximum number of computations, and of choices between operands, that a search is within."""

_MOST_OPERANDS: Final = 16
"""Maximum number of operands of an instruction without metadata that are searched."""

_RESHAPING: Final = frozenset((b"reshape", b"broadcast", b"copy", b"transpose", b"convert"))
"""Instructions between what a loop computes and what it stores."""

_MOVING: Final = frozenset(
    b"""
    copy convert reduce-precision bitcast-convert reshape transpose broadcast reverse
    slice dynamic-slice dynamic-update-slice gather pad concatenate custom-call
    all-gather all-reduce all-to-all reduce-scatter collective-permute collective-broadcast send recv
    """.split()
)
"""Instructions that copy their operands, in part, elsewhere or in another form."""

_CONTROL: Final = frozenset(
    (b"constant", b"iota", b"parameter", b"while", b"after-all", b"partition-id", b"replica-id")
)
"""Instructions that neither compute nor copy their operands."""

_NAME: Final = re.compile(rb"%?(" + NAME + rb")")
_CALLEE: Final = rb"=(%?" + NAME + rb")"
_BODY: Final = re.compile(rb"[, ]body" + _CALLEE)
_CALLS: Final = re.compile(rb"[, ](?:calls|to_apply|called_computation)" + _CALLEE)
_BRANCHES: Final = re.compile(
    rb"[, ](?:branch_computations=\{([^{}]*)\}|true_computation=(%?"
    + NAME
    + rb",\s*false_computation=%?"
    + NAME
    + rb"))"
)
_INDEX: Final = re.compile(rb"[, ]index=([0-9]{1,9})")
_ARRAY: Final = re.compile(rb"([a-z][a-z0-9]*)\[([0-9,]*)\]")
