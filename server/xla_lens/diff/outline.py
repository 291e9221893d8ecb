"""Comparisons as blocks: their title and answer, where the change of a peak comes from, what happened to each value,
and all totals; and the table of two folders.
"""

from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

from xla_lens.blocks.blocks import (
    WIDEST_SHAPE,
    Cells,
    Inline,
    Inlines,
    Name,
    Outline,
    Role,
    Section,
    Sections,
    Table,
    Text,
    joined,
    linked,
    more,
    table,
)
from xla_lens.blocks.entities import first_names, op_name, reader_names, shape_name, shape_text
from xla_lens.diff.compare import Diff
from xla_lens.diff.options import DiffPart
from xla_lens.diff.words import (
    BIG_BYTES,
    cause_text,
    difference_text,
    grown_text,
    is_serious,
    more_or_fewer,
    signed_percent,
    steps_longer,
)
from xla_lens.model.diff.breakdowns import BreakdownRow, By, Group, Key, Pair
from xla_lens.model.diff.causes import ChangeCause
from xla_lens.model.diff.changes import Change, ValueChange, ValueClass
from xla_lens.model.diff.comparison import Comparison, SpaceComparison
from xla_lens.model.diff.matching import Confidence
from xla_lens.model.memory.alive import last_uses
from xla_lens.model.memory.printed_peak import DEFAULT_COLOR
from xla_lens.model.places.entities import Entity, EntityKind
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.report.sections import DERIVED_TEXT
from xla_lens.syntax.columns import NONE
from xla_lens.words.numbers import MINUS, capitalized, counted, differing_parts, human, signed
from xla_lens.words.warrants import bounded_size

_MAX_GROUPS: Final = 2
"""The groups that the answer names."""

_NAMED_SHARE: Final = 0.2
"""The answer names further groups that changed at least by this share of the first one, and begins with causes of at
least this share of the change.
"""


def diff_outline(diff: Diff) -> Outline:
    """Return a comparison as blocks."""
    files = [(word, side.label.rpartition("/")) for word, side in (("old", diff.old), ("new", diff.new))]
    return Outline(
        title=_title(diff),
        facts=tuple((word, (Name(file), " in ", Name(folder or "."))) for word, (folder, _, file) in files),
        parts=tuple(_parts(diff)),
        answer=tuple(_answer(diff)),
    )


def _title(diff: Diff) -> Text:
    name, space = Name(diff.name or diff.new.label.rpartition("/")[2]), diff.default_space
    if space is None:
        return (name, ": no buffer assignment to compare")
    needed = space.exact.needed_bytes
    needs = f"; needs {grown_text(needed, '{} as before')}" if needed else ""
    return (name, f": {_peak_text(space)}{needs}")


def _peak_text(space: SpaceComparison) -> str:
    """The peak of a memory space in both dumps: ``HBM peak 157.54 MiB → 180.04 MiB, +22.50 MiB (+14.3 %)``."""
    peak = space.exact.peak_live_bytes
    if peak is None:
        old, new = (bounded_size(side.peak_live_bytes, side.live_bound) for side in (space.old, space.new))
        return f"{space.id.name} peak {old} → {new}"
    return f"{space.id.name} peak {grown_text(peak, 'unchanged, {}')}"


def _answer(diff: Diff) -> Iterator[Text]:
    """What changed most, in a few sentences."""
    yield from (difference_text(difference) for difference in diff.differences if is_serious(difference))
    compared, space = diff.comparison, diff.default_space
    if compared and compared.is_unchanged and len(compared.values):
        count = counted(len(compared.values), "value")
        yield f"Nothing changed but names and addresses: {count} with the same sizes, shapes and live ranges."
    elif space and (peak := space.exact.peak_live_bytes):
        big = [cause for cause in diff.causes if _is_big(cause, peak)]
        yield from map(cause_text, big)
        yield from _biggest_groups(space.breakdowns.get(By.GROUP, ()))
        yield from (cause_text(cause) for cause in diff.causes if cause not in big)
    yield from (f"{capitalized(_peak_text(other))}." for other in _changed(diff) if other.color != DEFAULT_COLOR)
    yield from (difference_text(difference) for difference in diff.differences if not is_serious(difference))


def _changed(diff: Diff) -> Iterator[SpaceComparison]:
    """The memory spaces whose peaks are exact: the default one, and those that changed by much."""
    for space in diff.memory_spaces:
        peak = space.exact.peak_live_bytes
        if peak and (space.color == DEFAULT_COLOR or abs(peak.change) >= BIG_BYTES):
            yield space


def _is_big(cause: ChangeCause, peak: Pair) -> bool:
    """Whether a cause is about a fair share of the change of the peak, or has no bytes but is meant to save memory."""
    if cause.size_bytes is None:
        return cause.kind in ("checkpoint", "rematerialized")
    return abs(cause.size_bytes.change) >= _NAMED_SHARE * abs(peak.change)


def _biggest_groups(all_rows: Sequence[BreakdownRow]) -> Iterator[Text]:
    rows = [row for row in all_rows if row.change]
    named = [row for row in rows[:_MAX_GROUPS] if abs(row.change) >= _NAMED_SHARE * abs(rows[0].change)]
    for row in named:
        more = f"{more_or_fewer(row.count.change)} × "
        size = f"{counted(row.count.new, 'buffer')} {'larger' if row.change > 0 else 'smaller'} at the peak, "
        what = more if row.count.change else size
        yield (f"{signed(row.change)}: {what}", *_key(row.key, By.GROUP), f"{_derived_part(row)}.")
    if rest := rows[len(named) :]:
        yield f"{signed(sum(row.change for row in rest))}: {counted(len(rest), 'more group')} of like buffers."


def _parts(diff: Diff) -> Iterator[Sections]:
    for space in _changed(diff):
        yield from ((section,) for section in _breakdowns(diff, space))
    if DiffPart.VALUES in diff.options.parts and diff.comparison:
        yield (_values(diff, diff.comparison),)
    if DiffPart.TOTALS in diff.options.parts:
        yield (_totals(diff),)


# ---------------------------------------------------------------- where the change comes from

_TITLES: Final = {
    By.GROUP: "groups of like buffers",
    By.LINE: "source line",
    By.PARAMETER: "parameter path",
    By.OP_NAME: "op_name",
    By.OPCODE: "opcode",
    By.KIND: "kind",
}

_UNKNOWN_KEY: Final = {By.LINE: "(no source)", By.PARAMETER: "(no parameter path)"}


def _breakdowns(diff: Diff, space: SpaceComparison) -> Iterator[Section]:
    """The requested breakdowns of a memory space whose peak changed in total or within. Parameters are shown only if
    one with a path changed.
    """
    for by, title in _TITLES.items():
        rows = space.breakdowns.get(by, ()) if DiffPart(by.value) in diff.options.parts else ()
        changed = [row for row in rows if row.change]
        if not any(row.key or by is not By.PARAMETER for row in changed):
            continue
        unchanged = len(rows) - len(changed)
        same = f" ({counted(unchanged, 'row')} unchanged)" if unchanged else ""
        is_derived = by is By.LINE and any(_derived_part(row) for row in changed[: diff.options.top])
        yield Section(
            f"Change of the {space.id.name} peak by {title}: {signed(space.peak_live_bytes.change)}{same}",
            (_table(diff, changed, by), *((DERIVED_TEXT,) if is_derived else ())),
        )


def _table(diff: Diff, changed: list[BreakdownRow], by: By) -> Table:
    found: list[Cells] = []
    for row in changed[: diff.options.top]:
        sizes = map(linked, map(human, row.size_bytes), _links(diff.comparison, row.value))
        buffers = f"{row.count.old:,} → {row.count.new:,}" if row.count.change else f"{row.count.new:,}"
        found.append((signed(row.change), *sizes, buffers, (*_key(row.key, by), _derived_part(row))))
    rest = changed[len(found) :]
    found += [(signed(sum(row.change for row in rest)), "", "", "", text) for text in more(len(rest), "other")]
    what = _TITLES[by] if by is not By.GROUP else "shape, op_name, source line"
    return table(f"change | old | new | buffers | <{what}", found)


def _links(compared: Comparison | None, values: Pair) -> list[Entity | None]:
    """A value of each dump; where one has none, the partner of the other one's. None where there is none."""
    if compared is None:
        return [None, None]
    (old, new), matching = values, compared.matching
    sides = (
        (compared.old.dump, old if old != NONE else matching.old_of_new.item(new), True),
        (compared.new.dump, new if new != NONE else matching.new_of_old.item(old), False),
    )
    return [
        Entity(EntityKind.VALUE, dump.values.id.item(value), is_old) if value != NONE else None
        for dump, value, is_old in sides
    ]


def _key(key: Key, by: By) -> Inlines:
    """What a row is about: for like buffers, their shape, op_name or opcode, and source line."""
    if isinstance(key, Group):
        shape: Inline = Name(key.shape, role=Role.SHAPE) if key.shape else "(unknown shape)"
        names = (Name(text) for text in (key.op_name or key.opcode, key.line) if text)
        return joined((shape, *names), ", ")
    return (Name(str(key)) if key else _UNKNOWN_KEY.get(by, f"(no {by.value})"),)


def _derived_part(row: BreakdownRow) -> str:
    """How much of a row has a derived source, to follow its key: ``, derived`` or ``, 2.00 MiB derived``. Empty if
    nothing is, or if the row has no source.
    """
    derived, size_bytes = row.derived_bytes, row.size_bytes
    if row.key is None or derived == Pair(0, 0):
        return ""
    return ", derived" if derived == size_bytes else f", {human(max(derived.old, derived.new))} derived"


# ---------------------------------------------------------------- values

_CLASSES: Final = {
    ValueClass.UNCHANGED: "unchanged",
    ValueClass.CHANGED: "changed",
    ValueClass.MOVED: "moved in time",
    ValueClass.ADDED: "added",
    ValueClass.REMOVED: "removed",
}


def _values(diff: Diff, compared: Comparison) -> Section:
    """How many values are added, removed, changed and unchanged, and what happened to those that changed most."""
    counts = ", ".join(f"{compared.values.count(value_class):,} {name}" for value_class, name in _CLASSES.items())
    matched = f"{100 * compared.matched_peak_bytes_fraction:.1f} % of the bytes at the peaks belong to matched values."
    rows = tuple(_value_row(compared, row) for row in diff.rows[: diff.options.top].tolist())
    shown = table("<value | old | new | < | <at peak | <what", rows)
    rest = more(len(diff.rows) - len(rows), "other")
    return Section(f"Values: {counts}", (matched, *((shown,) if rows else ()), *rest))


def _value_row(compared: Comparison, row: int) -> Cells:
    found, sizes, name = compared.values.row(row), list[Text](), Name("")
    sides = (compared.old.dump, found.old), (compared.new.dump, found.new)
    for (dump, value), link in zip(sides, _links(compared, Pair(found.old, found.new)), strict=True):
        sizes.append(linked(human(dump.values.size_bytes.item(value)), link) if link else "")
        # The name in the new dump, if it has the value.
        name = Name(dump.value_label(value), link) if link else name
    at_peak = ("", "old", "new", "both")[found.is_at_old_peak + 2 * found.is_at_new_peak]
    doubt = " (uncertain match)" * (found.confidence is Confidence.LOW)
    return (name, *sizes, _CLASSES[found.value_class], at_peak, (*joined(_what(*sides, found), ", "), doubt))


def _what(old: tuple[DumpSet, int], new: tuple[DumpSet, int], found: ValueChange) -> Iterator[Text]:
    known = [side for side in (old, new) if side[1] != NONE]
    if len(known) == 1:
        shape, name = shape_name(*known[0]), op_name(*known[0])
        yield (shape, " ", Name(name)) if name else shape
        return
    if found.change & (Change.SHAPE | Change.LAYOUT):
        shapes = differing_parts(shape_text(*old), shape_text(*new), WIDEST_SHAPE)
        yield joined([Name(shape, role=Role.SHAPE) for shape in shapes], " → ")
    if found.change & Change.MEMORY_SPACE:
        yield " → ".join(dump.space_id(dump.values.color.item(value)).name for dump, value in known)
    if found.longer_by:
        yield f"lives {steps_longer(found.longer_by, 'shorter')}"
        ending = last_uses(*new)
        if names := [Name(name) for name in reader_names(new[0], ending)] if ending else []:
            yield ("last read by ", *first_names(names))
    elif found.change & Change.LIVE_RANGE:
        yield "lives at other steps"
    before, after = (dump.value_label(value) for dump, value in known)
    if before != after:
        yield ("was ", Name(before))


# ---------------------------------------------------------------- totals


def _totals(diff: Diff) -> Section:
    """Each total of both dumps, its change in bytes and in percent."""
    rows = [row for space in diff.memory_spaces for row in _space_rows(space)]
    if diff.comparison:
        rows += _number("scheduled instructions", diff.comparison.instructions)
    return Section("Totals", (table("< | old | new | change | percent", rows),))


def _space_rows(space: SpaceComparison) -> Iterator[Cells]:
    if space.color != DEFAULT_COLOR and max(space.reserved_bytes) < BIG_BYTES:
        return
    name = capitalized(space.id.name)
    exact = space.exact
    yield from _size(f"{name} peak", exact.peak_live_bytes)
    yield from _size(f"{name} needed", exact.needed_bytes)
    yield from _size(f"{name} reserved", exact.reserved_bytes)
    if exact.reserved_bytes:
        for row in space.reserved_by_kind or ():
            yield from _size(f"  {row.key}", row.size_bytes)
    yield from _size(f"{name} reserved, but free at the peak", exact.free_bytes)
    yield from _size(f"{name} padding at the peak", exact.padding_bytes)
    yield from _number(f"{name} values", exact.values)
    yield from _number(f"{name} allocations", exact.allocations)


def _size(title: str, pair: Pair | None) -> Iterator[Cells]:
    if pair:
        yield (title, *map(human, pair), signed(pair.change), signed_percent(pair))


def _number(title: str, pair: Pair | None) -> Iterator[Cells]:
    if pair:
        change = f"{pair.change:+,}".replace("-", MINUS) if pair.change else "0"
        yield (title, *(f"{number:,}" for number in pair), change, signed_percent(pair))


# ---------------------------------------------------------------- folders

ModuleRow: TypeAlias = tuple[str, Pair | None, Pair | None]
"""The name of a module, what it needs of the default memory space, and its peak there; None if one is unknown."""


def folder_outline(
    rows: Sequence[ModuleRow], only_old: Sequence[str], only_new: Sequence[str], top: int | None
) -> Outline:
    """Return the table of two folders: the modules whose needs grew most come first, then those whose peak did. The
    names are those of modules that only one folder has.
    """
    changed = [row for row in rows if any(pair.change for pair in row[1:] if pair)]
    changed.sort(key=lambda row: [-(pair.change if pair else 0) for pair in row[1:]])
    title = f"{counted(len(rows), 'module')} in both, {len(changed):,} changed"
    if unknown := sum(None in row for row in rows):
        title += f", {unknown:,} unknown"
    cells: list[Cells] = [(*map(_grown, pairs), Name(name)) for name, *pairs in changed[:top]]
    cells += [("", "", text) for text in more(len(changed) - len(cells), "other")]
    sections = [Section("Modules that changed", (table("needs | peak | <module", cells),))] if cells else []
    for word, names in (("old", only_old), ("new", only_new)):
        named: Cells = tuple((Name(name),) for name in names[:top])
        blocks = (*named, *more(len(names) - len(named), "other"))
        sections += [Section(f"{counted(len(names), 'module')} only in the {word} dumps", blocks)] if names else []
    return Outline(title, (), tuple((section,) for section in sections))


def _grown(pair: Pair | None) -> str:
    return grown_text(pair, "{}") if pair else "unknown"
