"""Where values come from in the program: their op_names and stack frames, for one value or many at once.

The dump quotes the metadata of instructions that define values. Until jaxlib 0.8.2 it contains a file and a line; since
then it contains a `stack_frame_id`, which the tables of the HLO module resolve. Instructions that the dump does not
quote are looked up in the module.

The metadata of the instruction that defines a value may say nothing about its content: a loop has the line that calls
`scan`, a copy has none. Such a value has the source of the instruction that writes its content
(`model/attribution/writers.py`). This source is derived from the data flow, and `Origin.derived` says from what.
"""

from collections.abc import Collection, Iterable, Mapping
from functools import cached_property
from typing import Final, NamedTuple

from xla_lens.model.attribution.parameters import argument_of, folded_paths, paths_by
from xla_lens.model.attribution.writers import Writer, Writers, is_path
from xla_lens.model.hlo.dataflow import index_path
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.hlo.stack_frames import SOURCE_FIELDS, Calls, Frames, StackFrame, metadata_frames
from xla_lens.model.places.mentions import Allocation, Instruction, Step, Target, Value
from xla_lens.model.tables.dump_set import EMPTY_INDEX, DumpSet
from xla_lens.syntax.columns import NONE
from xla_lens.syntax.hlo.instruction import Metadata


class Origin(NamedTuple):
    """Where a value comes from.

    `frames` are the calls that made it, innermost first, empty if they are unknown. `line` is the user frame among them
    without its column, so that calls on one line are equal. `is_unresolved` says that the metadata refers to a frame
    that no HLO module resolves. `derived` is the instruction that has all of this in its metadata because it computes
    the content of the value, None if the one that defines the value has.
    """

    op_name: str | None
    frames: Frames
    line: StackFrame | None
    is_unresolved: bool
    derived: Writer | None = None


class Origins:
    """The origins of the values of a dump set. Keeps what it reads: thousands of instructions share one source.

    Without `through_loops`, what a loop carries has the source of the loop itself.
    """

    def __init__(self, dump: DumpSet, module: HloModule | None, *, through_loops: bool = True) -> None:
        self.dump, self.module = dump, module if module and _is_of_dump(module, dump) else None
        self._calls = Calls(self.module.frames if self.module else metadata_frames)
        self.writers = Writers(self.module, self._calls, through_loops=through_loops) if self.module else None
        self._own: dict[int, Origin] = {}
        self._of_value: dict[int, Origin] = {}

    def of_value(self, value: int) -> Origin:
        """Return the origin of a row of `DumpSet.values`."""
        if value not in self._of_value:
            own = self.of_name(self.dump.name_of(value))
            self._of_value[value] = self._derived(self.writers, value, own) if self.writers else own
        return self._of_value[value]

    def _derived(self, writers: Writers, value: int, own: Origin) -> Origin:
        """The origin of the instruction that writes a value, or else its `own` one."""
        module, name, index = writers.module, self.dump.name_of(value), self.dump.values.index.item(value)
        opcode = self.dump.opcode(name)
        # One of several results of a fusion is what something else in it computes.
        is_by_other = opcode in _CALLING or (opcode == b"fusion" and index > EMPTY_INDEX)
        is_by_other |= own.line is None and not is_path(own.op_name)
        # Most say where they come from, so that their instructions are not looked up in the module.
        row = module.row_of(self.dump.names[name]) if opcode and (is_by_other or module.has_loops) else NONE
        # The table of a tuple has no content of its own.
        if row == NONE or (index <= EMPTY_INDEX and writers.read(row).own.shape.startswith(b"(")):
            return own
        loops = () if is_by_other else writers.loops_around(row)
        if not is_by_other and all(writers.read(loop).line != own.line for loop in loops):
            return own
        writer = writers.writer(row, index_path(self.dump, index))
        if writer is None or writer.row == row:
            return own
        metadata = writers.read(writer.row).metadata
        found = self._origin(metadata.get("op_name"), metadata, writer)
        return own if (found.op_name, found.line) == (own.op_name, own.line) and not writer.stored else found

    @cached_property
    def parameter_paths(self) -> Mapping[int, str]:
        """The paths of the parameters of the program by the rows of their allocations."""
        return paths_by(self.dump, lambda name: self.of_name(name).op_name)

    @cached_property
    def folded_parameter_paths(self) -> Mapping[str, str]:
        """Each of these paths with ``*`` in place of the numbers of layers."""
        return folded_paths(self.parameter_paths.values())

    def copied_parameters(self, values: Iterable[int]) -> dict[int, int]:
        """Return for values whose content is that of a parameter of the program, but which are in other buffers, that
        parameter. Both are rows of `DumpSet.values`.
        """
        derived = ((value, self.of_value(value).derived) for value in values)
        names = ((value, self.dump.name_number(writer.name.encode())) for value, writer in derived if writer)
        found = ((value, self.dump.value_at(name, EMPTY_INDEX)) for value, name in names if name != NONE)
        return {value: parameter for value, parameter in found if parameter != NONE}

    def paths_of(self, values: Collection[int], folded: Mapping[str, str] | None = None) -> dict[int, str]:
        """Return the path of each value in the buffer of a parameter that has one, of each copy of such a parameter,
        and of each value with its op_name, with the numbers of layers folded. `values` are rows of `DumpSet.values`.
        `folded` is given where the paths of other parameters count for what a layer is.
        """
        dump, copied = self.dump, self.copied_parameters(values)
        folded = self.folded_parameter_paths if folded is None else folded
        found: dict[int, str] = {}
        for value in values:
            buffer = dump.values.allocation.item(value)
            if buffer == NONE or dump.allocations.parameter[buffer] == NONE:
                buffer = dump.values.allocation.item(copied[value]) if value in copied else NONE
            # XLA gives the op_name of a parameter to what it makes of that alone.
            path = self.parameter_paths.get(buffer) if buffer != NONE else self.of_value(value).op_name
            if path is not None and path in folded:
                found[value] = folded[path]
        return found

    def arguments_of(self, values: Collection[int]) -> dict[int, str]:
        """Return the arguments of the same values: ``state[1]``."""
        return {value: argument_of(path) for value, path in self.paths_of(values).items()}

    def of_name(self, name: int) -> Origin:
        """Return the origin of an instruction by its own metadata."""
        if name not in self._own:
            instruction, writers = self.dump.instruction(name), self.writers
            metadata: Metadata = instruction.metadata() if instruction else {}
            op_name = metadata.get("op_name")
            if writers and name != NONE and not any(field in metadata for field in SOURCE_FIELDS):
                row = writers.module.row_of(self.dump.names[name])
                metadata = writers.read(row).metadata if row != NONE else metadata
            self._own[name] = self._origin(op_name, metadata)
        return self._own[name]

    def of_target(self, target: Target | None) -> Origin | None:
        """Return the origin of what a place of the dump means: that of an allocation is its first value, that of a step
        the instruction that runs then. None for the printed peak, and where nothing is known.
        """
        dump = self.dump
        match target:
            case Value(row):
                return self.of_value(row)
            case Instruction(name):
                return self.of_name(name)
            case Allocation(row) if dump.allocations.slice_count[row] > 0:
                return self.of_value(dump.value_of_slice.item(dump.allocations.first_slice[row]))
            case Step(step) if (entry := dump.schedule_row(step)) != NONE:
                return self.of_name(dump.schedule.name.item(entry))
        return None

    def _origin(self, op_name: str | None, metadata: Metadata, derived: Writer | None = None) -> Origin:
        calls, line = self._calls.of(metadata)
        return Origin(op_name, calls, line, not calls and "stack_frame_id" in metadata, derived)


def _is_of_dump(module: HloModule, dump: DumpSet) -> bool:
    """Whether some instructions that the dump quotes are the same in the module. A module of another compilation has
    other instructions of the same names, and its stack frames have other numbers. An edit changes few of them.
    """
    names = dump.quoting_rows[1]
    sample = (
        (dump.instruction(name), module.row_of(dump.names[name]))
        for name in names[:: 1 + len(names) // _SAMPLED].tolist()
    )
    common = [(quoted, module.instruction(row)) for quoted, row in sample if quoted and row != NONE]
    # An asynchronous operation has another opcode in the module.
    same = [
        written and (written.shape, written.metadata()) == (quoted.shape, quoted.metadata())
        for quoted, written in common
    ]
    return (len(same) - same.count(True)) * _MOST_DIFFERENT <= len(same)


_SAMPLED: Final = 32
"""How many instructions of a dump are compared with the module."""

_MOST_DIFFERENT: Final = 8
"""A module is of another compilation if more than an eighth of the instructions compared differ."""


def frames_of(dump: DumpSet, module: HloModule | None, name: int) -> Frames:
    """Return the calls that made the instruction with a name, by its own metadata, innermost first; empty if they are
    unknown.
    """
    return Origins(dump, module).of_name(name).frames


_CALLING: Final = frozenset((b"while", b"conditional", b"call"))
"""Opcodes of instructions whose results others write."""
