"""What the text at a byte of a dump means: a value, an allocation, a step, an instruction or the printed peak.

A name means a position, and a position means the value that holds it: a bitcast means the value that it is an alias of.
A name without a value means the instruction, if it is scheduled.
"""

from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from msgspec import Struct

from xla_lens.model.places.places import live_range_steps, report_table_allocations, use_places
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.lookup import row_at
from xla_lens.syntax.columns import NONE, place_in
from xla_lens.syntax.hlo.lexical import reference_at
from xla_lens.syntax.tables import MENTIONS, MentionRole


class Value(Struct, frozen=True):
    """A row of `DumpSet.values`."""

    row: int


class Allocation(Struct, frozen=True):
    """A row of `DumpSet.allocations`."""

    row: int


class Step(Struct, frozen=True):
    """A step of the schedule, by its number."""

    step: int


class Instruction(Struct, frozen=True):
    """An instruction that holds no value, by the number of its name."""

    name: int


class PeakHeader(Struct, frozen=True):
    """The header of the printed peak: a row of `DumpSet.peaks`."""

    row: int


Target: TypeAlias = Value | Allocation | Step | Instruction | PeakHeader


class Mention(NamedTuple):
    """A mention of `target` from byte `start` to `end` of a file. `name` is the number of the printed name if it can
    differ from the value's own name, else NONE.
    """

    target: Target
    role: MentionRole
    start: int
    end: int
    name: int = NONE


def mention_at(dump: DumpSet, file: DumpFile, offset: int) -> Mention | None:
    """Return what the text at a byte of a file means. A byte right after a word counts as the word. In rows about one
    thing, every byte means that thing.
    """
    for name, (holder, _) in MENTIONS.items():
        if file is getattr(dump, holder, file):
            row = row_at(getattr(dump if holder else file.columns, name), offset)
            if row != NONE:
                return _mention_in_row(dump, file, name, row, offset)
    return _in_instruction_text(dump, offset) if file is dump.used else None


_DECLARATIONS: Final[dict[type[Target], tuple[MentionRole, ...]]] = {
    Value: (MentionRole.SLICE, MentionRole.USED_VALUE),
    Allocation: (MentionRole.ALLOCATION_HEADER,),
    Instruction: (MentionRole.SCHEDULE,),
    Step: (MentionRole.SCHEDULE,),
    PeakHeader: (),
}


def is_declaration(target: Target, role: MentionRole) -> bool:
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
        case PeakHeader(row):
            return dump.peaks.step.item(row)
        case Value() | Instruction() if mention.role is MentionRole.SCHEDULE:
            return dump.schedule.step.item(place_in(dump.schedule.start, mention.start, "right") - 1)
    return None


# ---------------------------------------------------------------- rows


def _mention_in_row(dump: DumpSet, file: DumpFile, name: str, row: int, offset: int) -> Mention | None:
    """What the text at a byte means in a row of the table with a name."""
    target: Target | None = None
    holder, role = MENTIONS[name]
    table: Any = getattr(dump if holder else file.columns, name)
    (start, end), printed = table.span(row), NONE
    match name:
        case "allocations" if table.index[row] != NONE:
            target = Allocation(row)
        case "slices":
            start, end = table.span(row, "value_start", "value_end")
            target = _value(dump.value_of_slice[row])
        case "used_values":
            target = _value(dump.value_of_used_value[row])
        case "positions":
            printed = table.name.item(row)
            target = _owner(dump, table.value[row]) or _value(dump.value_at(printed, table.index.item(row)))
        case "uses":
            ((_, user_end),) = use_places(dump, file, range(row, row + 1))
            if offset > user_end:
                role, start, target = MentionRole.OPERAND, user_end + len(b", "), _owner(dump, table.value[row])
            else:
                end, printed = user_end, table.name.item(row)
                target = meaning(dump, printed)
        case "schedule" if offset < table.name_start[row]:
            end, target = table.name_start.item(row) - len(b":"), Step(table.step.item(row))
        case "schedule":
            start, printed = table.name_start.item(row), table.name.item(row)
            target = meaning(dump, printed)
        case "live_ranges":
            first, last = live_range_steps(file, table, row)
            if offset < first.start:
                end, target = table.value_end.item(row), meaning(dump, table.name.item(row), table.index.item(row))
            else:
                place, steps = (first, table.start_step) if offset <= first.end else (last, table.end_step)
                start, end, target = place.start, place.end, Step(steps.item(row))
        case "peaks":
            target = PeakHeader(row)
        case "peak_buffers":
            end = table.value_end.item(row)
            target = _value(dump.value_of_peak_buffer[row]) or meaning(dump, table.name.item(row))
        case "stack_traces":
            # Leaves without an op_name print the name and index of the value.
            start, end = table.span(row, "name_start", "name_end")
            target = meaning(dump, *position_of(dump, file.document.data[start:end]))
        case "report_allocations" if (allocation := dump.allocation_row(table.index.item(row))) != NONE:
            target = Allocation(allocation)
        case "report_rows" if (allocation := report_table_allocations(dump, table, np.array([row])).item(0)) != NONE:
            # The biggest of the values that the row stands for.
            values = dump.values_of_allocation(allocation)
            values = values[dump.values.offset[values] == table.offset[row]]
            target = Value(values.item(dump.values.size_bytes[values].argmax())) if len(values) else None
    return Mention(target, role, start, end, printed) if target else None


def _value(row: int) -> Value | None:
    return Value(int(row)) if row != NONE else None


def _owner(dump: DumpSet, used_value: int) -> Value | None:
    return _value(dump.value_of_used_value[used_value]) if used_value != NONE else None


def _in_instruction_text(dump: DumpSet, offset: int) -> Mention | None:
    table = dump.used_values
    row = place_in(table.start, offset, "right") - 1
    if row < 0 or not table.instruction_start[row] <= offset <= table.instruction_end[row]:
        return None
    start, text = table.instruction_start.item(row), dump.instruction_text(row)
    operand = reference_at(text, offset - start) if text else None
    name = dump.name_number(operand.name) if operand else NONE
    target = meaning(dump, name)
    if operand is None or target is None:
        return None
    return Mention(target, MentionRole.INSTRUCTION_TEXT, start + operand.start, start + operand.end, name)


def position_of(dump: DumpSet, text: bytes) -> tuple[int, int]:
    """Return the numbers of the name and index in a text such as ``fusion.5{0}``. The index is NONE if the text has
    none. The name is NONE if the set lacks the name or the index.
    """
    name, brace, rest = text.partition(b"{")
    index = dump.index_number(brace + rest) if brace else NONE
    return dump.name_number(name) if not brace or index != NONE else NONE, index
