"""Which instruction writes the content of a value, where the one that defines it does not say.

A loop defines its results, but the instructions of its body write them: the element of the body's root, and what a
`dynamic-update-slice` there stores. A copy, the end of an asynchronous operation and many fusions have no metadata of
their own. The data flow in the HLO module leads from each of them to an instruction that has some.
"""

from typing import Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from xla_lens.model.hlo.module import HloModule
from xla_lens.model.hlo.stack_frames import Calls, Frames, StackFrame
from xla_lens.syntax.columns import NONE
from xla_lens.syntax.hlo.instruction import InstructionText, Metadata
from xla_lens.syntax.hlo.shapes import byte_sizes
from xla_lens.syntax.numbers import integer
from xla_lens.text.patterns import lazy_pattern
from xla_lens.text.positions import decode


def is_path(op_name: str | None) -> bool:
    """Whether an op_name says where an instruction comes from. XLA names instructions that it makes after others
    (``convert.12``), which says nothing.
    """
    return op_name is not None and ("/" in op_name or "[" in op_name)


class Stored(Struct, frozen=True):
    """How a loop stacks what its body computes: `count` arrays of a shape without its layout, stored by the
    instruction `name`.
    """

    name: str
    count: int
    shape: str


class Writer(NamedTuple):
    """The instruction that writes the content of a value, by its row in the module and its name. `stored` is None
    unless a loop stacks what it writes.
    """

    row: int
    name: str
    stored: Stored | None


class ReadInstruction(NamedTuple):
    """An instruction of the module, empty if its text is not well-formed, and what is read of it. `operands` are names.
    `frames` are the calls that made it, innermost first, empty if they are unknown, and `line` is the line of the
    user's call among them, without the column.
    """

    own: InstructionText
    operands: tuple[bytes, ...]
    metadata: Metadata
    frames: Frames
    line: StackFrame | None

    @property
    def has_source(self) -> bool:
        """Whether the metadata say where it comes from: a source line, or an op_name that is a path."""
        return self.line is not None or is_path(self.metadata.get("op_name"))


class Position(Struct, frozen=True):
    """An instruction, or an element of its result. `callers` are the instructions that call the computations around it,
    outermost first, as far as the search came through them.
    """

    row: int
    index: tuple[int, ...]
    callers: tuple[int, ...] = ()


class Writers:
    """Finds writers in one module. Keeps what it reads, because many values lead to the same instructions. Without
    `through_loops`, a loop counts as the writer of what it carries.
    """

    def __init__(self, module: HloModule, calls: Calls, *, through_loops: bool) -> None:
        self.module, self._calls, self.through_loops = module, calls, through_loops
        self._read: dict[int, ReadInstruction] = {}

    def writer(self, row: int, index: tuple[int, ...]) -> Writer | None:
        """Return the instruction that writes the result of an instruction, or an element of it. None if the module does
        not say.
        """
        loops = {loop: self.read(loop).line for loop in self.loops_around(row)}
        return _Search(self, loops).find(Position(row, index))

    def read(self, row: int) -> ReadInstruction:
        """Read the instruction of a row."""
        if row not in self._read:
            own = self.module.instruction(row) or _EMPTY
            metadata, operands = self._metadata(row, own), tuple(operand.name for operand in own.operands())
            self._read[row] = ReadInstruction(own, operands, metadata, *self._calls.of(metadata))
        return self._read[row]

    def _metadata(self, row: int, own: InstructionText) -> Metadata:
        """The fields of the metadata of an instruction that say where it comes from, from columns if it has a call
        stack: to read its text takes several times as long.
        """
        sources = self.module.sources
        frame_id, op_name = sources.stack_frame_id.item(row), sources.op_names[sources.op_name.item(row)]
        if frame_id == NONE:
            return own.metadata()
        return {"stack_frame_id": str(frame_id)} | ({"op_name": op_name} if op_name else {})

    def operand(self, position: Position, number: int, index: tuple[int, ...]) -> Position | None:
        """An element of an operand, None if the module lacks it."""
        names = self.read(position.row).operands
        row, element = self.module.operand(names[number]) if 0 <= number < len(names) else (NONE, b"")
        if row == NONE or self.module.computation_of(row) != self.module.computation_of(position.row):
            return None
        path = tuple(map(integer, element[1:-1].split(b","))) if element else ()
        return Position(row, (*path, *index), position.callers)

    def called(self, row: int, *attributes: bytes) -> list[int]:
        """The computations that some attributes name, NONE for those that the module lacks."""
        own = self.read(row).own
        calls = self.module.called(own.operands_end, own.end)
        return [computation for attribute, _, computation in calls if attribute in attributes]

    def loops_around(self, row: int) -> tuple[int, ...]:
        """The loops whose bodies contain a row, innermost first; none without `through_loops`."""
        callers: dict[int, None] = {}
        if not self.through_loops:
            return ()
        # A damaged module may call itself.
        while not self.module.is_in_entry(row) and (row := self.caller(row)) not in (NONE, *callers):
            callers[row] = None
        return tuple(caller for caller in callers if self.read(caller).own.opcode == b"while")

    def caller(self, row: int) -> int:
        """The only instruction that calls the computation of a row, NONE if there are several or none."""
        computation = self.module.computation_of(row)
        return self.module.only_callers.item(computation) if computation != NONE else NONE


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

    def find(self, position: Position | None) -> Writer | None:
        """Follow a value to its writer."""
        if self._depth == _MOST_DEPTH:
            return None
        self._depth += 1
        found: Position | Writer | None = position
        while isinstance(found, Position) and self._left:
            self._left -= 1
            found = self._next(found)
        self._depth -= 1
        return found if isinstance(found, Writer) else None

    def _next(self, position: Position) -> Position | Writer | None:
        of, row, index = self._of, position.row, position.index
        read = of.read(row)
        own, opcode = read.own, read.own.opcode
        match opcode:
            case b"tuple":
                return of.operand(position, index[0], index[1:]) if index else None
            case b"get-tuple-element":
                element = ELEMENT_INDEX.search(own.text, own.operands_end, own.end)
                return of.operand(position, 0, (integer(element[1]), *index)) if element else None
            case b"parameter":
                return self._parameter(position)
            case b"while":
                return self._loop(position)
            case b"conditional":
                return self._own(position) or self._into(position, *BRANCHES)
            case b"fusion" | b"call":
                return self._called(position)
            case b"dynamic-update-slice" if self._loops and read.line in (None, *self._loops.values()):
                # The loop itself made it.
                self._store(position)
                return of.operand(position, 1, index)
            case b"dynamic-slice" if self._loops:
                self._is_slice = True
                return of.operand(position, 0, index)
        if opcode.endswith((b"-start", b"-done")):
            # What a loop stores asynchronously on a GPU has the line of the loop.
            is_of_loop = self._loops and read.line in self._loops.values()
            writer = None if is_of_loop else self._own(position)
            if opcode.endswith(b"-start"):
                return writer or self._start(position) or self._own(position)
            return writer or of.operand(position, 0, (1, *index)) or self._own(position)
        if opcode in _SAME or (self._stored and opcode in _RESHAPING):
            return of.operand(position, 0, index)
        return self._own(position) or self._of_operand(position)

    def _own(self, position: Position) -> Writer | None:
        return self._writer(position.row) if self._of.read(position.row).has_source else None

    def _writer(self, row: int) -> Writer:
        return Writer(row, decode(self._of.module.name(row)), None if self._is_slice else self._stored)

    def _is_fused(self, position: Position) -> bool:
        return bool(position.callers) and self._of.read(position.callers[-1]).own.opcode == b"fusion"

    def _of_operand(self, position: Position) -> Writer | None:
        """What an instruction without metadata copies, or computes within a fusion: what its first operand with a
        writer holds.
        """
        read = self._of.read(position.row)
        is_copy = read.own.opcode in _MOVING or read.own.opcode.endswith(b"-start")
        if not (is_copy or self._is_fused(position)):
            return None
        before, self._is_within_fusion = self._is_within_fusion, self._is_within_fusion or not is_copy
        operands = (self._of.operand(position, number, ()) for number in range(len(read.operands)))
        writer = next(filter(None, map(self.find, operands)), None)
        self._is_within_fusion = before
        return writer

    # ------------------------------------------------------------ computations

    def _into(self, position: Position, *attributes: bytes) -> Position | None:
        """The root of the first computation that some attributes name."""
        computation = next(iter(self._of.called(position.row, *attributes)), NONE)
        root = self._of.module.root(computation) if computation != NONE else NONE
        return Position(root, position.index, (*position.callers, position.row)) if root != NONE else None

    def _parameter(self, position: Position) -> Position | Writer | None:
        of, row, index, callers = self._of, position.row, position.index, position.callers
        if of.module.is_in_entry(row):
            return self._writer(row) if "op_name" in of.read(row).metadata else None
        caller = callers[-1] if callers else of.caller(row)
        if caller == NONE:
            return None
        number, outer = of.read(row).own.parameter_number, Position(caller, (), callers[:-1])
        match of.read(caller).own.opcode:
            case b"while":
                return self._loop(replace(outer, index=index))
            case b"conditional":
                branches = of.called(caller, *BRANCHES)
                here = of.module.computation_of(row)
                return of.operand(outer, 1 + branches.index(here), index) if here in branches else None
            case b"fusion" if self._is_within_fusion:
                return None
            case b"fusion" | b"call" | b"async-start":
                return of.operand(outer, number, index) if number is not None else None
        return None

    def _loop(self, position: Position) -> Position | Writer | None:
        """An element of what a loop carries: what its body writes, else what is in it before the loop."""
        of, row, index = self._of, position.row, position.index
        if not of.through_loops:
            return self._own(position)
        if (row, index) in self._passed:
            self._loops.pop(row, None)
            return of.operand(position, 0, index)
        self._passed.add((row, index))
        self._loops[row] = of.read(row).line
        return self._into(position, b"body")

    def _called(self, position: Position) -> Writer | None:
        """What a fusion or a call writes: the root of its computation. Its own metadata count if it is one array and
        not stacked by a loop.
        """
        own = self._own(position)
        is_fusion = self._of.read(position.row).own.opcode == b"fusion"
        if own and is_fusion and not position.index and not self._loops:
            return own
        return self.find(self._into(position, *_CALLS)) or own

    def _start(self, position: Position) -> Position | Writer | None:
        """The start of an asynchronous operation. Its result has the operands, the result and more, in this order; that
        of a `copy-start` has the copy first.
        """
        index = position.index
        if index[:1] > (1,):
            # What the operation needs for itself.
            return None
        return self.find(self._into(replace(position, index=index[1:]), *_CALLS)) or self._of_operand(position)

    # ------------------------------------------------------------ what loops store

    def _store(self, position: Position) -> None:
        update = self._of.operand(position, 1, ())
        if self._stored or not update:
            return
        name = self._of.module.name(position.callers[-1] if self._is_fused(position) else position.row)
        shapes = [self._of.read(row).own.shape for row in (position.row, update.row)]
        array, (whole, part) = _ARRAY.match(shapes[1]), byte_sizes(shapes).tolist()
        if array and part > 0:
            shape = array[0].replace(b"[1,", b"[", 1).decode()
            self._stored = Stored(decode(name), whole // part, shape)


_EMPTY: Final = InstructionText(b"", 0, 0, 0, 0, 0, 0, b"", 0)

_MOST_STEPS: Final = 100
"""Maximum number of instructions that one search passes."""

_MOST_DEPTH: Final = 50
"""Maximum number of computations, and of choices between operands, that a search is within."""

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

_SAME: Final = frozenset((b"async-update", b"bitcast", b"opt-barrier", b"add-dependency", b"domain"))
"""Instructions that pass on their first operand."""

_CALLS: Final = (b"calls", b"to_apply", b"called_computation")
BRANCHES: Final = (b"branch_computations", b"true_computation", b"false_computation")
"""The attributes that name the computations of a conditional."""

ELEMENT_INDEX: Final = lazy_pattern(rb"[, ]index=([0-9]{1,9})")
"""The index of a `get-tuple-element`."""

_ARRAY: Final = lazy_pattern(rb"[a-z][a-z0-9]*\[[0-9,]*\]")
