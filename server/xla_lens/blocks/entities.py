"""How reports name steps, allocations and values."""

from collections.abc import Sequence
from typing import Final

from xla_lens.blocks.blocks import Inline, Inlines, Name, Role, joined, linked
from xla_lens.model.hlo.stack_frames import StackFrame
from xla_lens.model.memory.alive import Ending
from xla_lens.model.places.entities import Entity, EntityKind
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.syntax.columns import NONE
from xla_lens.words.numbers import counted, human
from xla_lens.words.sources import frame_text

PRINTED_PEAK: Final = Entity(EntityKind.PRINTED_PEAK, 0)


def step_link(step: int | None, text: str | None = None) -> Inline:
    """A step, empty for None."""
    return linked(text or f"{step}", Entity(EntityKind.STEP, step)) if step is not None else ""


def running(dump: DumpSet, step: int) -> Inlines:
    """The instruction that runs at a step, to follow the step: `` (fusion.5)``. Empty if it is unknown."""
    instruction = dump.instruction_at(step)
    return (" (", Name(instruction), ")") if instruction else ()


def allocation_link(index: int) -> Name:
    """An allocation by its index."""
    return linked(f"allocation {index}", Entity(EntityKind.ALLOCATION, index))


def value_link(dump: DumpSet, value: int) -> Name:
    """A value, a row of `DumpSet.values`."""
    return Name(dump.value_label(value), Entity(EntityKind.VALUE, dump.values.id.item(value)))


DERIVED: Final = "(derived)"
"""Marks a source that is not in the metadata of the instruction that defines a value."""


def op_name(dump: DumpSet, value: int) -> str | None:
    """The op_name of the instruction that defines a value, None if it has none."""
    instruction = dump.instruction(dump.name_of(value))
    return instruction.op_name if instruction else None


def size_text(dump: DumpSet, value: int) -> str:
    """The size of a value."""
    return human(dump.values.size_bytes.item(value))


def shape_text(dump: DumpSet, value: int) -> str:
    """The shape of a value with its layout, empty if it is unknown."""
    return (dump.shape(value) or b"").decode("utf-8", "replace")


def shape_name(dump: DumpSet, value: int) -> Name:
    """The shape of a value as a cell."""
    return Name(shape_text(dump, value), role=Role.SHAPE)


def source_name(frame: StackFrame) -> Inlines:
    """A line of the program with its function: ``train.py:31 in step``."""
    name = Name(frame_text(frame), role=Role.SOURCE, target=frame)
    return (name, " in ", Name(frame.function)) if frame.function else (name,)


def live_range_text(dump: DumpSet, value: int) -> str:
    """The first and the last step of a value: ``35–37``."""
    return steps_text(dump.values.start_step.item(value), dump.values.end_step.item(value))


def steps_text(first: int, last: int) -> str:
    """A range of steps, both included: ``35–37``, or ``35``."""
    return f"{first}–{last}" if first != last else f"{first}"


def first_names(names: Sequence[Name]) -> Inlines:
    """Two names, and how many more there are."""
    more = len(names) - 2
    return (*joined(names[:2], ", "), f" and {more:,} more") if more > 0 else joined(names, " and ")


def reader_names(dump: DumpSet, ending: Ending) -> tuple[str, ...]:
    """The instructions that read a value, or pass it on, at its last step."""
    names = [*dump.uses.name[list(ending.uses)].tolist(), *dump.positions.name[list(ending.positions)].tolist()]
    return tuple(dict.fromkeys(dump.label(name, NONE) for name in names))


def kind_counted(kind: str, count: int) -> str:
    """Some values in allocations of one kind: ``4 parameter buffers``."""
    return counted(count, f"{'temporary' if kind == 'temp' else kind} buffer")
