"""What the text at a byte of a dump means: a value, an allocation, a step, an instruction or the printed peak.

A name means a position, and a position means the value that holds it: a bitcast means the value that it is an alias of.
A name without a value means the instruction, if it is scheduled.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import TypeAlias

from xla_lens.model.places.places import live_range_steps, report_table_allocation, use_places
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.syntax.columns import NONE, Table, place_in
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
    finders: list[Callable[[DumpSet, int], Mention | None]] = []
    if file is dump.assignment:
        finders += [_in_allocation, _in_slice]
    if file is dump.used:
        finders += [_in_used_value, _in_position, _in_use, _in_instruction_text]
    if file is dump.live:
        finders += [_in_schedule, _in_live_range, _in_peak, _in_peak_buffer, _in_stack_trace]
    mentions = (finder(dump, offset) for finder in finders)
    return next((mention for mention in mentions if mention), None) or _in_report(dump, file, offset)


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


def _row_at(table: Table, offset: int) -> int:
    row = place_in(table.start, offset, "right") - 1
    return row if row >= 0 and offset <= table.end[row] else NONE


def _value_mention(row: int, role: Role, start: int, end: int, name: int = NONE) -> Mention | None:
    return Mention(Value(row), role, int(start), int(end), name) if row != NONE else None


def _in_allocation(dump: DumpSet, offset: int) -> Mention | None:
    table = dump.allocations
    row = _row_at(table, offset)
    if row == NONE or table.index[row] == NONE:
        return None
    return Mention(Allocation(row), Role.ALLOCATION_HEADER, int(table.start[row]), int(table.end[row]))


def _in_slice(dump: DumpSet, offset: int) -> Mention | None:
    table = dump.slices
    row = _row_at(table, offset)
    if row == NONE:
        return None
    return _value_mention(int(dump.value_of_slice[row]), Role.SLICE, table.value_start[row], table.value_end[row])


def _in_used_value(dump: DumpSet, offset: int) -> Mention | None:
    table = dump.used_values
    row = _row_at(table, offset)
    if row == NONE:
        return None
    return _value_mention(int(dump.value_of_used_value[row]), Role.USED_VALUE, table.start[row], table.end[row])


def _in_position(dump: DumpSet, offset: int) -> Mention | None:
    table = dump.positions
    row = _row_at(table, offset)
    if row == NONE:
        return None
    value = _owner(dump, int(table.value[row]))
    if value == NONE:
        value = dump.value_at(int(table.name[row]), int(table.index[row]))
    return _value_mention(value, Role.POSITION, table.start[row], table.end[row], int(table.name[row]))


def _in_use(dump: DumpSet, offset: int) -> Mention | None:
    table = dump.uses
    row = _row_at(table, offset)
    if dump.used is None or row == NONE:
        return None
    ((place, user_end),) = use_places(dump, dump.used, range(row, row + 1))
    if offset > user_end:
        return _value_mention(_owner(dump, int(table.value[row])), Role.OPERAND, user_end + len(b", "), place.end)
    name = int(table.name[row])
    target = meaning(dump, name)
    return Mention(target, Role.USER, place.start, user_end, name) if target else None


def _owner(dump: DumpSet, used_value: int) -> int:
    return int(dump.value_of_used_value[used_value]) if used_value != NONE else NONE


def _in_instruction_text(dump: DumpSet, offset: int) -> Mention | None:
    table = dump.used_values
    row = place_in(table.start, offset, "right") - 1
    if row < 0 or not table.instruction_start[row] <= offset <= table.instruction_end[row]:
        return None
    text = dump.instruction_text(row)
    operand = reference_at(text, offset - int(table.instruction_start[row])) if text else None
    name = dump.name_number(operand.name) if operand else NONE
    target = meaning(dump, name)
    if operand is None or target is None:
        return None
    start = int(table.instruction_start[row])
    return Mention(target, Role.INSTRUCTION_TEXT, start + operand.start, start + operand.end, name)


def _in_schedule(dump: DumpSet, offset: int) -> Mention | None:
    table = dump.schedule
    row = _row_at(table, offset)
    if row == NONE:
        return None
    if offset < table.name_start[row]:
        return Mention(Step(int(table.step[row])), Role.SCHEDULE, int(table.start[row]), int(table.name_start[row]) - 1)
    name = int(table.name[row])
    target = meaning(dump, name)
    return Mention(target, Role.SCHEDULE, int(table.name_start[row]), int(table.end[row]), name) if target else None


def _in_live_range(dump: DumpSet, offset: int) -> Mention | None:
    table = dump.live_ranges
    row = _row_at(table, offset)
    if dump.live is None or row == NONE:
        return None
    start, end = live_range_steps(dump.live, table, row)
    if offset >= start.start:
        place, step = (start, table.start_step[row]) if offset <= start.end else (end, table.end_step[row])
        return Mention(Step(int(step)), Role.LIVE_RANGE, place.start, place.end)
    target = meaning(dump, int(table.name[row]), int(table.index[row]))
    value_end = int(table.value_end[row])
    return Mention(target, Role.LIVE_RANGE, int(table.start[row]), value_end) if target else None


def _in_peak(dump: DumpSet, offset: int) -> Mention | None:
    row = _row_at(dump.peaks, offset)
    if row == NONE:
        return None
    return Mention(Peak(row), Role.PEAK, int(dump.peaks.start[row]), int(dump.peaks.end[row]))


def _in_peak_buffer(dump: DumpSet, offset: int) -> Mention | None:
    table = dump.peak_buffers
    row = _row_at(table, offset)
    if row == NONE:
        return None
    value = int(dump.value_of_peak_buffer[row])
    target = Value(value) if value != NONE else meaning(dump, int(table.name[row]))
    return Mention(target, Role.PEAK, int(table.start[row]), int(table.value_end[row])) if target else None


def _in_stack_trace(dump: DumpSet, offset: int) -> Mention | None:
    """A mention in the stack trace: leaves without an op_name print the name and index of the value."""
    table = dump.stack_traces
    row = _row_at(table, offset)
    if dump.live is None or row == NONE:
        return None
    start, end = int(table.name_start[row]), int(table.name_end[row])
    target = meaning(dump, *position_of(dump, dump.live.document.data[start:end]))
    return Mention(target, Role.STACK_TRACE, start, end) if target else None


def position_of(dump: DumpSet, text: bytes) -> tuple[int, int]:
    """Return the numbers of the name and index in a text such as ``fusion.5{0}``. The index is NONE if the text has
    none. The name is NONE if the set lacks the name or the index.
    """
    name, brace, rest = text.partition(b"{")
    index = dump.index_number(brace + rest) if brace else NONE
    return dump.name_number(name) if not brace or index != NONE else NONE, index


def _in_report(dump: DumpSet, file: DumpFile, offset: int) -> Mention | None:
    table, rows = file.columns.report_allocations, file.columns.report_rows
    header, row = _row_at(table, offset), _row_at(rows, offset)
    if header != NONE:
        allocation = dump.allocation_row(int(table.index[header]))
        start, end = int(table.start[header]), int(table.end[header])
        return Mention(Allocation(allocation), Role.REPORT, start, end) if allocation != NONE else None
    if row == NONE:
        return None
    allocation = report_table_allocation(dump, rows, row)
    values = dump.values_of_allocation(allocation) if allocation != NONE else dump.value_of_slice[:0]
    values = values[dump.values.offset[values] == rows.offset[row]]
    if not len(values):
        return None
    biggest = int(values[dump.values.size_bytes[values].argmax()])
    return Mention(Value(biggest), Role.REPORT, int(rows.start[row]), int(rows.end[row]))
