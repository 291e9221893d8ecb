"""What happened to each value."""

from collections.abc import Iterator
from typing import Final

from xla_lens.features.diff.facts import Diff
from xla_lens.features.diff.options import DiffPart
from xla_lens.model.advice.alive import last_uses
from xla_lens.model.diff.changes import Change, ValueClass
from xla_lens.model.diff.comparison import Comparison
from xla_lens.model.diff.matching import Confidence, Level, confidence
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.render.diff.rows import linked, value_entity
from xla_lens.render.memory_spaces import space_name
from xla_lens.render.numbers import counted, human
from xla_lens.render.report.blocks import (
    LONGEST_NAME,
    WIDEST_SHAPE,
    Inline,
    Name,
    Section,
    Sections,
    Table,
    Text,
    headers,
)
from xla_lens.render.report.values import first_names, op_name, reader_names, shape_text
from xla_lens.syntax.columns import NONE

CLASS_NAMES: Final = {
    ValueClass.UNCHANGED: "unchanged",
    ValueClass.CHANGED: "changed",
    ValueClass.MOVED: "moved in time",
    ValueClass.ADDED: "added",
    ValueClass.REMOVED: "removed",
}


def values_sections(one: Diff) -> Sections:
    """How many values are unchanged, changed, moved, added and removed, and those with the biggest change."""
    compared = one.comparison
    if DiffPart.VALUES not in one.options.parts or compared is None:
        return ()
    values, top = compared.values, one.options.top
    counts = ", ".join(f"{values.count(value_class):,} {name}" for value_class, name in CLASS_NAMES.items())
    fraction = 100 * compared.matched_peak_bytes_fraction
    matched = f"{fraction:.1f} % of the bytes at the peaks belong to matched values."
    rows = one.rows[:top].tolist()
    blocks: list[Text | Table] = [matched]
    if rows:
        header = headers("value", "old", "new", "", "at peak", "what", text=("value", "", "at peak", "what"))
        blocks.append(Table(header, tuple(_row(one, compared, row) for row in rows)))
    if len(one.rows) > len(rows):
        blocks.append(f"… {counted(len(one.rows) - len(rows), 'other')}")
    return (Section(f"Values: {counts}", tuple(blocks)),)


def _row(facts: Diff, one: Comparison, row: int) -> tuple[Text, ...]:
    values = one.values
    old, new = int(values.old[row]), int(values.new[row])
    value_class = ValueClass(int(values.value_class[row]))
    return (
        _value(facts, one, old, new),
        linked(_size(one.old.dump, old), value_entity(facts, old, is_old=True)),
        linked(_size(one.new.dump, new), value_entity(facts, new, is_old=False)),
        CLASS_NAMES[value_class],
        _AT_PEAK[bool(values.is_at_old_peak[row]), bool(values.is_at_new_peak[row])],
        tuple(_what(one, row, old, new)),
    )


def _value(facts: Diff, one: Comparison, old: int, new: int) -> Name:
    if new == NONE:
        return Name(one.old.dump.value_label(old), value_entity(facts, old, is_old=True))
    return Name(one.new.dump.value_label(new), value_entity(facts, new, is_old=False))


def _size(dump: DumpSet, value: int) -> str:
    return human(int(dump.values.size_bytes[value])) if value != NONE and dump.values.size_bytes[value] != NONE else ""


_AT_PEAK: Final = {(True, True): "both", (True, False): "old", (False, True): "new", (False, False): ""}


def _what(one: Comparison, row: int, old: int, new: int) -> Iterator[Inline]:
    values = one.values
    if NONE in (old, new):
        dump, value = (one.old.dump, old) if new == NONE else (one.new.dump, new)
        yield Name(shape_text(dump, value), widest=WIDEST_SHAPE)
        name = op_name(dump, value)
        if name:
            yield from (" ", Name(name, widest=LONGEST_NAME))
        return
    change, separator = Change(int(values.change[row])), ""
    for words in _changes(one, change, int(values.longer_by[row]), old, new):
        yield separator
        yield from words
        separator = ", "
    before = one.old.dump.value_label(old)
    if before != one.new.dump.value_label(new):
        yield from (f"{separator}was ", Name(before))
    if confidence(Level(int(values.level[row]))) is Confidence.LOW:
        yield " (uncertain match)"


def _changes(one: Comparison, change: Change, longer_by: int, old: int, new: int) -> Iterator[tuple[Inline, ...]]:
    old_dump, new_dump = one.old.dump, one.new.dump
    if change & (Change.SHAPE | Change.LAYOUT):
        before, after = (
            Name(shape_text(dump, value), widest=WIDEST_SHAPE) for dump, value in ((old_dump, old), (new_dump, new))
        )
        yield (before, " → ", after)
    elif change & Change.PADDING:
        yield ("padding changed",)
    if change & Change.MEMORY_SPACE:
        before_space, after_space = (
            space_name(dump.space_id(int(dump.values.color[value])))
            for dump, value in ((old_dump, old), (new_dump, new))
        )
        yield (f"{before_space} → {after_space}",)
    if change & Change.LIVE_RANGE:
        if longer_by:
            word = "longer" if longer_by > 0 else "shorter"
            yield (f"lives {counted(abs(longer_by), 'step')} {word}", *_ending(new_dump, new))
        else:
            yield ("lives at other steps",)


def _ending(dump: DumpSet, value: int) -> tuple[Inline, ...]:
    ending = last_uses(dump, value)
    names = [Name(name) for name in reader_names(dump, ending)] if ending else []
    return (", last read by ", *first_names(names)) if names else ()
