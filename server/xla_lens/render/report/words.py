"""How reports name what the dump has a place for."""

from xla_lens.features.report.facts import LiveValue, ValueName
from xla_lens.model.places.subjects import Subject, SubjectKind
from xla_lens.render.report.blocks import LONGEST_NAME, Linked, Name, Word


def step_link(step: int | None, text: str | None = None) -> Word:
    """A step; nothing where there is none."""
    return Linked(text or f"{step}", Subject(SubjectKind.STEP, step)) if step is not None else ""


def allocation_link(index: int) -> Linked:
    """An allocation by its index."""
    return Linked(f"allocation {index}", Subject(SubjectKind.ALLOCATION, index))


def value_link(value: ValueName) -> Name:
    """A value by its name."""
    return Name(value.name + (value.index or ""), Subject(SubjectKind.VALUE, value.id))


def op_name_word(value: LiveValue) -> Word:
    """The op_name of a value; nothing where there is none."""
    return Name(value.op_name, widest=LONGEST_NAME) if value.op_name else ""
