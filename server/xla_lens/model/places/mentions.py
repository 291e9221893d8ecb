"""What the text at a byte of a dump means: a value, an allocation, a step, an instruction or the printed peak.

A name means a position, and a position means the value that holds it: a bitcast means the value that it is an alias of.
A name without a value means the instruction, if it is scheduled.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final, NamedTuple, TypeAlias

from xla_lens.model.places.places import live_range_steps, report_table_allocation, use_places
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.lookup import row_at
from xla_lens.syntax.columns import NONE, place_in
from xla_lens.syntax.hlo.lexical import reference_at


@dataclass(frozen=True, slots=True)
class Value:
    """A row of `DumpSet.values`."""

    row: int


@dataclass(frozen=True, slots=True)
class Allocation:
    """A row of `DumpSet.allocations`."""

    row: int


@dataclass(frozen=True, slots=True)
class Step:
    """A step of the schedule, by its number."""

    step: int


@dataclass(frozen=True, slots=True)
class Instruction:
    """An instruction that holds no value, by the number of its name."""

    name: int


@dataclass(frozen=True, slots=True)
class Peak:
    """The header of the printed peak: a row of `DumpSet.peaks`."""

    row: int


Target: TypeAlias = Value | Allocation | Step | Instruction | Peak


class Role(Enum):
    """The part of the dump that mentions something."""

    ALLOCATION_HEADER = auto()
    SLICE = auto()
    USED_VALUE = auto()
    POSITION = auto()
    USER = auto()
    OPERAND = auto()
    INSTRUCTION_TEXT = auto()
    SCHEDULE = auto()
    LIVE_RANGE = auto()
    PEAK = auto()
    STACK_TRACE = auto()
    REPORT = auto()


@dataclass(frozen=True, slots=True)
class Mention:
    """A mention of `target` from byte `start` to `end` of a file. `name` is the number of the printed name if it can
    differ from the value's own name, else NONE.
    """

    target: Target
    role: Role
    start: int
    end: int
    name: int = NONE


def mention_at(dump: DumpSet, file: DumpFile, offset: int) -> Mention | None:
    """Return what the text at a byte of a file means. A byte right after a word counts as the word. In rows about one
    thing, every byte means that thing.
    """
    for holder, name, rows in _ROWS:
        row = row_at(getattr(file.columns, name), offset) if file is getattr(dump, holder, file) else NONE
        if row == NONE:
            continue
        if not isinstance(rows, _Rows):
            return rows(dump, file, row, offset)
        target = rows.target_of(dump, file, row)
        start, end = (int(getattr(getattr(file.columns, name), column)[row]) for column in (rows.start, rows.end))
        printed = int(dump.positions.name[row]) if rows.role is Role.POSITION else NONE
        return Mention(target, rows.role, start, end, printed) if target else None
    return _in_instruction_text(dump, offset) if file is dump.used else None


_DECLARATIONS: Final[dict[type[Target], tuple[Role, ...]]] = {
    Value: (Role.SLICE, Role.USED_VALUE),
    Allocation: (Role.ALLOCATION_HEADER,),
    Instruction: (Role.SCHEDULE,),
    Step: (Role.SCHEDULE,),
    Peak: (),
}


def is_declaration(target: Target, role: Role) -> bool:
    """Whether a mention declares what it means. A value has two declarations: its row in the allocation and its header
    in `Used values`. The schedule entry of its instruction is not one.
    """
    return role in _DECLARATIONS[type(target)]


def meaning(dump: DumpSet, name: int, index: int = NONE) -> Value | Instruction | None:
    """Return what a name and index mean: the value at that position, else the instruction, else None."""
    value = dump.value_at(name, index)
    if value != NONE:
        return Value(value)
    return Instruction(name) if name != NONE and dump.schedule_row_of_name[name] != NONE else None


def step_of(dump: DumpSet, mention: Mention) -> int | None:
    """Return the step of a mention, None if it has none. An entry of the schedule has its own step, whether it means a
    value or an instruction.
    """
    match mention.target:
        case Step(step):
            return step
        case Peak(row):
            return int(dump.peaks.step[row])
        case Value() | Instruction() if mention.role is Role.SCHEDULE:
            return int(dump.schedule.step[place_in(dump.schedule.start, mention.start, "right") - 1])
    return None


# ---------------------------------------------------------------- rows about one thing


class _Rows(NamedTuple):
    """Rows that mean one thing, from one column to another."""

    role: Role
    target_of: Callable[[DumpSet, DumpFile, int], Target | None]
    start: str = "start"
    end: str = "end"


def _value(row: int) -> Value | None:
    return Value(int(row)) if row != NONE else None


def _owner(dump: DumpSet, used_value: int) -> Value | None:
    return _value(dump.value_of_used_value[used_value]) if used_value != NONE else None


def _of_allocation(dump: DumpSet, _: DumpFile, row: int) -> Allocation | None:
    return Allocation(row) if dump.allocations.index[row] != NONE else None


def _of_position(dump: DumpSet, _: DumpFile, row: int) -> Value | None:
    table = dump.positions
    return _owner(dump, int(table.value[row])) or _value(dump.value_at(int(table.name[row]), int(table.index[row])))


def _of_peak_buffer(dump: DumpSet, _: DumpFile, row: int) -> Target | None:
    return _value(dump.value_of_peak_buffer[row]) or meaning(dump, int(dump.peak_buffers.name[row]))


def _of_stack_trace(dump: DumpSet, file: DumpFile, row: int) -> Target | None:
    """Leaves without an op_name print the name and index of the value."""
    start, end = dump.stack_traces.name_start[row], dump.stack_traces.name_end[row]
    return meaning(dump, *position_of(dump, file.document.data[start:end]))


def _of_report_allocation(dump: DumpSet, file: DumpFile, row: int) -> Allocation | None:
    allocation = dump.allocation_row(int(file.columns.report_allocations.index[row]))
    return Allocation(allocation) if allocation != NONE else None


def _of_report_row(dump: DumpSet, file: DumpFile, row: int) -> Value | None:
    """The biggest of the values that a row of a report stands for."""
    rows = file.columns.report_rows
    allocation = report_table_allocation(dump, rows, row)
    values = dump.values_of_allocation(allocation) if allocation != NONE else dump.value_of_slice[:0]
    values = values[dump.values.offset[values] == rows.offset[row]]
    return Value(int(values[dump.values.size_bytes[values].argmax()])) if len(values) else None


# ---------------------------------------------------------------- rows about several things


def _in_use(dump: DumpSet, file: DumpFile, row: int, offset: int) -> Mention | None:
    ((place, user_end),) = use_places(dump, file, range(row, row + 1))
    if offset > user_end:
        value = _owner(dump, int(dump.uses.value[row]))
        return Mention(value, Role.OPERAND, user_end + len(b", "), place.end) if value else None
    return _named(dump, int(dump.uses.name[row]), Role.USER, place.start, user_end)


def _named(dump: DumpSet, name: int, role: Role, start: int, end: int) -> Mention | None:
    target = meaning(dump, name)
    return Mention(target, role, start, end, name) if target else None


def _in_instruction_text(dump: DumpSet, offset: int) -> Mention | None:
    table = dump.used_values
    row = place_in(table.start, offset, "right") - 1
    if row < 0 or not table.instruction_start[row] <= offset <= table.instruction_end[row]:
        return None
    start, text = int(table.instruction_start[row]), dump.instruction_text(row)
    operand = reference_at(text, offset - start) if text else None
    name = dump.name_number(operand.name) if operand else NONE
    return _named(dump, name, Role.INSTRUCTION_TEXT, start + operand.start, start + operand.end) if operand else None


def _in_schedule(dump: DumpSet, _: DumpFile, row: int, offset: int) -> Mention | None:
    table = dump.schedule
    start, name_start, end = (int(column[row]) for column in (table.start, table.name_start, table.end))
    if offset < name_start:
        return Mention(Step(int(table.step[row])), Role.SCHEDULE, start, name_start - len(b":"))
    return _named(dump, int(table.name[row]), Role.SCHEDULE, name_start, end)


def _in_live_range(dump: DumpSet, file: DumpFile, row: int, offset: int) -> Mention | None:
    table = dump.live_ranges
    first, last = live_range_steps(file, table, row)
    if offset >= first.start:
        place, step = (first, table.start_step[row]) if offset <= first.end else (last, table.end_step[row])
        return Mention(Step(int(step)), Role.LIVE_RANGE, place.start, place.end)
    target = meaning(dump, int(table.name[row]), int(table.index[row]))
    return Mention(target, Role.LIVE_RANGE, int(table.start[row]), int(table.value_end[row])) if target else None


_ROWS: Final[tuple[tuple[str, str, _Rows | Callable[[DumpSet, DumpFile, int, int], Mention | None]], ...]] = (
    ("assignment", "allocations", _Rows(Role.ALLOCATION_HEADER, _of_allocation)),
    (
        "assignment",
        "slices",
        _Rows(Role.SLICE, lambda dump, _, row: _value(dump.value_of_slice[row]), "value_start", "value_end"),
    ),
    ("used", "used_values", _Rows(Role.USED_VALUE, lambda dump, _, row: _owner(dump, row))),
    ("used", "positions", _Rows(Role.POSITION, _of_position)),
    ("used", "uses", _in_use),
    ("live", "schedule", _in_schedule),
    ("live", "live_ranges", _in_live_range),
    ("live", "peaks", _Rows(Role.PEAK, lambda _, __, row: Peak(row))),
    ("live", "peak_buffers", _Rows(Role.PEAK, _of_peak_buffer, end="value_end")),
    ("live", "stack_traces", _Rows(Role.STACK_TRACE, _of_stack_trace, "name_start", "name_end")),
    ("", "report_allocations", _Rows(Role.REPORT, _of_report_allocation)),
    ("", "report_rows", _Rows(Role.REPORT, _of_report_row)),
)
"""The tables, with the file that has to hold each, empty for any."""


def position_of(dump: DumpSet, text: bytes) -> tuple[int, int]:
    """Return the numbers of the name and index in a text such as ``fusion.5{0}``. The index is NONE if the text has
    none. The name is NONE if the set lacks the name or the index.
    """
    name, brace, rest = text.partition(b"{")
    index = dump.index_number(brace + rest) if brace else NONE
    return dump.name_number(name) if not brace or index != NONE else NONE, index
