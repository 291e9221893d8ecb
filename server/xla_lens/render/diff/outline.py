"""Comparisons as blocks: their title and answer, where the change of a peak comes from, what happened to each value,
and all totals; and the table of two folders.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from xla_lens.features.diff.baseline import Baseline
from xla_lens.features.diff.facts import Diff
from xla_lens.features.diff.options import DiffPart
from xla_lens.model.advice.alive import last_uses
from xla_lens.model.diff.breakdowns import By, Group, Key, Pair, Row
from xla_lens.model.diff.causes import CauseKind, ChangeCause
from xla_lens.model.diff.changes import Change, ValueClass
from xla_lens.model.diff.comparison import Comparison, SpaceComparison
from xla_lens.model.diff.matching import Confidence
from xla_lens.model.memory.printed_peak import DEFAULT_COLOR
from xla_lens.model.places.entities import Entity, EntityKind
from xla_lens.render.diff.words import (
    BIG_BYTES,
    cause_text,
    change_text,
    difference_text,
    grown_text,
    is_serious,
    signed_percent,
)
from xla_lens.render.memory_spaces import space_name
from xla_lens.render.numbers import MINUS, apart, capitalized, counted, human, signed
from xla_lens.render.report.blocks import (
    Inline,
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
from xla_lens.render.report.sections import DERIVED_TEXT
from xla_lens.render.report.values import first_names, op_name, reader_names, shape_text
from xla_lens.render.warrants import bounded_size
from xla_lens.syntax.columns import NONE

_MAX_GROUPS: Final = 2
"""The groups that the answer names."""

_NAMED_SHARE: Final = 0.2
"""The answer names further groups that changed at least by this share of the first one, and begins with causes of at
least this share of the change.
"""


def diff_outline(one: Diff) -> Outline:
    """Return a comparison as blocks."""
    files = (("old", one.old.label.rpartition("/")), ("new", one.new.label.rpartition("/")))
    return Outline(
        title=_title(one),
        facts=tuple((word, (Name(file), " in ", Name(folder or "."))) for word, (folder, _, file) in files),
        parts=tuple(sections for sections in _parts(one) if sections),
        answer=tuple(_answer(one)),
    )


def _title(one: Diff) -> Text:
    name, space = Name(one.name or one.new.label.rpartition("/")[2]), one.default_space
    if space is None:
        return (name, ": no buffer assignment to compare")
    needed = space.exact("needed_bytes")
    needs = f"; needs {grown_text(needed, f'{human(needed.new)} as before')}" if needed else ""
    return (name, f": {_peak_text(space)}{needs}")


def _peak_text(space: SpaceComparison) -> str:
    """The peak of a memory space in both dumps: ``HBM peak 157.54 MiB → 180.04 MiB, +22.50 MiB (+14.3 %)``."""
    peak = space.exact("peak_live_bytes")
    if peak is None:
        old, new = (bounded_size(side.peak_live_bytes, side.live_bound) for side in (space.old, space.new))
        return f"{space_name(space.id)} peak {old} → {new}"
    return f"{space_name(space.id)} peak {grown_text(peak, f'unchanged, {human(peak.new)}')}"


def _answer(one: Diff) -> Iterator[Text]:
    """What changed most, in a few sentences."""
    texts = [(is_serious(difference), difference_text(difference)) for difference in one.differences]
    yield from (text for serious, text in texts if serious)
    compared, space = one.comparison, one.default_space
    if compared and compared.is_unchanged and len(compared.values):
        count = counted(len(compared.values), "value")
        yield f"Nothing changed but names and addresses: {count} with the same sizes, shapes and live ranges."
    elif space and (peak := space.exact("peak_live_bytes")):
        big = [cause for cause in one.causes if _is_big(cause, peak)]
        yield from map(cause_text, big)
        yield from _biggest_groups(space.breakdowns.get(By.GROUP, ()))
        yield from (cause_text(cause) for cause in one.causes if cause not in big)
    yield from (f"{capitalized(_peak_text(other))}." for other in _changed(one) if other.color != DEFAULT_COLOR)
    yield from (text for serious, text in texts if not serious)


def _changed(one: Diff) -> Iterator[SpaceComparison]:
    """The memory spaces whose peaks are exact: the default one, and those that changed by much."""
    for space in one.memory_spaces:
        peak = space.exact("peak_live_bytes")
        if peak and (space.color == DEFAULT_COLOR or abs(peak.change) >= BIG_BYTES):
            yield space


def _is_big(cause: ChangeCause, peak: Pair) -> bool:
    """Whether a cause is about a fair share of the change of the peak or, if it has no bytes, of what it counts."""
    size, count = cause.size_bytes, cause.count
    if size is None:
        is_about_bytes = cause.kind in (CauseKind.CHECKPOINT, CauseKind.REMATERIALIZED)
        return is_about_bytes and abs(count.change) >= _NAMED_SHARE * max(count.old, count.new)
    # The bytes of donations are those lost, and those gained.
    size_bytes = max(size.old, size.new) if cause.kind is CauseKind.DONATION else abs(size.change)
    return size_bytes >= _NAMED_SHARE * abs(peak.change)


def _biggest_groups(all_rows: Sequence[Row]) -> Iterator[Text]:
    rows = [row for row in all_rows if row.change]
    named = [row for row in rows[:_MAX_GROUPS] if abs(row.change) >= _NAMED_SHARE * abs(rows[0].change)]
    for row in named:
        if count := row.count.change:
            what = f"{abs(count):,} {'more' if count > 0 else 'fewer'} × "
        else:
            what = f"{counted(row.count.new, 'buffer')} {'larger' if row.change > 0 else 'smaller'} at the peak, "
        yield (f"{signed(row.change)}: {what}", *_key(row.key, By.GROUP), f"{_derived_part(row)}.")
    if rest := rows[len(named) :]:
        yield f"{signed(sum(row.change for row in rest))}: {counted(len(rest), 'more group')} of like buffers."


def _parts(one: Diff) -> Iterator[Sections]:
    for space in _changed(one):
        yield from ((section,) for section in _breakdowns(one, space))
    yield _values_sections(one)
    yield _totals_sections(one)


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

_SMALLEST_SHARE: Final = 0.01
"""Parameters are shown if those with a path made at least this share of what changed."""


def _breakdowns(one: Diff, space: SpaceComparison) -> Iterator[Section]:
    """The requested breakdowns of a memory space whose peak changed in total or within."""
    for by, title in _TITLES.items():
        rows = space.breakdowns.get(by, ()) if DiffPart(by.value) in one.options.parts else ()
        changed = [row for row in rows if row.change]
        moved, of_known = (sum(abs(row.change) for row in changed if row.key or every) for every in (True, False))
        if not changed or (by is By.PARAMETER and of_known < _SMALLEST_SHARE * moved):
            continue
        unchanged = len(rows) - len(changed)
        same = f" ({counted(unchanged, 'row')} unchanged)" if unchanged else ""
        is_derived = any(_derived_part(row) for row in changed[: one.options.top])
        has_note = is_derived and (by is By.LINE or DiffPart.LINE not in one.options.parts)
        yield Section(
            f"Change of the {space_name(space.id)} peak by {title}: {signed(space.peak_live_bytes.change)}{same}",
            (_table(one, changed, by), *((DERIVED_TEXT,) if has_note else ())),
        )


def _table(one: Diff, changed: list[Row], by: By) -> Table:
    found: list[tuple[Text, ...]] = []
    for row in changed[: one.options.top]:
        old, new = _entities(one, row)
        sizes = _linked(human(row.size_bytes.old), old), _linked(human(row.size_bytes.new), new)
        buffers = f"{row.count.old:,} → {row.count.new:,}" if row.count.change else f"{row.count.new:,}"
        found.append((signed(row.change), *sizes, buffers, (*_key(row.key, by), _derived_part(row))))
    rest = changed[len(found) :]
    found += [(signed(sum(row.change for row in rest)), "", "", "", text) for text in more(len(rest), "other")]
    what = _TITLES[by] if by is not By.GROUP else "shape, op_name, source line"
    return table(f"change | old | new | buffers | <{what}", found)


def _key(key: Key, by: By) -> tuple[Inline, ...]:
    """What a row is about: for like buffers, their shape, op_name or opcode, and source line."""
    if isinstance(key, Group):
        shape: Inline = Name(key.shape, role=Role.SHAPE) if key.shape else "(unknown shape)"
        names = (Name(text) for text in (key.op_name or key.opcode, key.line) if text)
        return joined((shape, *names), ", ")
    return (Name(str(key)) if key else _UNKNOWN_KEY.get(by, f"(no {by.value})"),)


def _derived_part(row: Row) -> str:
    """How much of a row has a derived source, to follow its key: ``, derived`` or ``, 1.00 MiB → 2.00 MiB derived``.
    Empty if nothing is, or if the row has no source.
    """
    derived = row.derived_bytes
    if row.key is None or not (derived.old or derived.new):
        return ""
    if derived == row.size_bytes:
        return ", derived"
    before = f"{apart(derived.old, derived.new)} → " if derived.change else ""
    return f", {before}{human(derived.new)} derived"


def _entity(one: Diff, value: int, *, is_old: bool) -> Entity | None:
    """A value of one of the dumps, a row of `DumpSet.values`; None for NONE, and if the dump is only a report."""
    side = one.old if is_old else one.new
    if value == NONE or isinstance(side, Baseline):
        return None
    return Entity(EntityKind.VALUE, int(side.dump.values.id[value]), is_old)


def _entities(one: Diff, row: Row) -> tuple[Entity | None, Entity | None]:
    """The values that own most bytes of a row in the old and in the new dump. Where a dump has no bytes in the row,
    the partner of the other dump's value.
    """
    old, new = row.value.old, row.value.new
    if one.comparison:
        matching = one.comparison.matching
        old = int(matching.old_of_new[new]) if old == NONE != new else old
        new = int(matching.new_of_old[old]) if new == NONE != old else new
    return _entity(one, old, is_old=True), _entity(one, new, is_old=False)


def _linked(text: str, entity: Entity | None) -> Inline:
    """Our own words, with a link if there is an entity."""
    return linked(text, entity) if entity and text else text


# ---------------------------------------------------------------- values

_CLASSES: Final = {
    ValueClass.UNCHANGED: "unchanged",
    ValueClass.CHANGED: "changed",
    ValueClass.MOVED: "moved in time",
    ValueClass.ADDED: "added",
    ValueClass.REMOVED: "removed",
}

_AT_PEAK: Final = {(True, True): "both", (True, False): "old", (False, True): "new", (False, False): ""}


def _values_sections(one: Diff) -> Sections:
    """How many values are added, removed, changed and unchanged, and what happened to those that changed most."""
    compared = one.comparison
    if DiffPart.VALUES not in one.options.parts or compared is None:
        return ()
    counts = ", ".join(f"{compared.values.count(value_class):,} {name}" for value_class, name in _CLASSES.items())
    matched = f"{100 * compared.matched_peak_bytes_fraction:.1f} % of the bytes at the peaks belong to matched values."
    rows = tuple(_value_row(one, compared, row) for row in one.rows[: one.options.top].tolist())
    shown = table("<value | old | new | < | <at peak | <what", rows)
    rest = more(len(one.rows) - len(rows), "other")
    return (Section(f"Values: {counts}", (matched, *((shown,) if rows else ()), *rest)),)


def _value_row(one: Diff, compared: Comparison, row: int) -> tuple[Text, ...]:
    values = compared.values
    old, new = int(values.old[row]), int(values.new[row])
    sides = ((compared.old.dump, old, True), (compared.new.dump, new, False))
    links = [_entity(one, value, is_old=is_old) for _, value, is_old in sides]
    sizes = [human(int(dump.values.size_bytes[value])) if value != NONE else "" for dump, value, _ in sides]
    # The name in the new dump, if it has the value.
    number = int(new != NONE)
    is_uncertain = bool(values.confidence[row] == Confidence.LOW)
    return (
        Name(sides[number][0].value_label(sides[number][1]), links[number]),
        *map(_linked, sizes, links),
        _CLASSES[ValueClass(int(values.value_class[row]))],
        _AT_PEAK[bool(values.is_at_old_peak[row]), bool(values.is_at_new_peak[row])],
        (*joined(_what(compared, row, old, new), ", "), " (uncertain match)" * is_uncertain),
    )


def _what(one: Comparison, row: int, old: int, new: int) -> Iterator[Text]:
    old_dump, new_dump, values = one.old.dump, one.new.dump, one.values
    if NONE in (old, new):
        dump, value = (old_dump, old) if new == NONE else (new_dump, new)
        name = op_name(dump, value)
        shape = Name(shape_text(dump, value), role=Role.SHAPE)
        yield (shape, " ", Name(name)) if name else shape
        return
    change, longer_by = Change(int(values.change[row])), int(values.longer_by[row])
    sides = ((old_dump, old), (new_dump, new))
    if change & (Change.SHAPE | Change.LAYOUT):
        yield joined((Name(shape_text(*side), role=Role.SHAPE) for side in sides), " → ")
    elif change & Change.PADDING:
        yield "padding changed"
    if change & Change.MEMORY_SPACE:
        yield " → ".join(space_name(dump.space_id(int(dump.values.color[value]))) for dump, value in sides)
    if change & Change.LIVE_RANGE and longer_by:
        yield f"lives {counted(abs(longer_by), 'step')} {'longer' if longer_by > 0 else 'shorter'}"
        ending = last_uses(new_dump, new)
        if names := [Name(name) for name in reader_names(new_dump, ending)] if ending else []:
            yield ("last read by ", *first_names(names))
    elif change & Change.LIVE_RANGE:
        yield "lives at other steps"
    before = old_dump.value_label(old)
    if before != new_dump.value_label(new):
        yield ("was ", Name(before))


# ---------------------------------------------------------------- totals

_TOTALS: Final = {
    "peak": "peak_live_bytes",
    "needed": "needed_bytes",
    "reserved": "reserved_bytes",
    "reserved, but free at the peak": "free_bytes",
    "padding at the peak": "padding_bytes",
    "values": "values",
    "allocations": "allocations",
}
"""The rows of the totals: numbers of `SpaceSide`."""


def _totals_sections(one: Diff) -> Sections:
    """Each total of both dumps, its change in bytes and in percent."""
    if DiffPart.TOTALS not in one.options.parts:
        return ()
    rows = [row for space in one.memory_spaces for row in _space_rows(space)]
    if one.comparison:
        rows.append(_number("scheduled instructions", one.comparison.instructions))
    return (Section("Totals", (table("< | old | new | change | percent", rows),)),)


def _space_rows(space: SpaceComparison) -> Iterator[tuple[Text, ...]]:
    reserved = space.reserved_bytes
    if space.color != DEFAULT_COLOR and max(reserved.old, reserved.new) < BIG_BYTES:
        return
    name = capitalized(space_name(space.id))
    for words, attribute in _TOTALS.items():
        if pair := space.exact(attribute):
            yield (_size if attribute.endswith("_bytes") else _number)(f"{name} {words}", pair)
            if attribute == "reserved_bytes":
                yield from (_size(f"  {row.key}", row.size_bytes) for row in space.reserved_by_kind or ())


def _size(title: str, pair: Pair) -> tuple[Text, ...]:
    return (title, human(pair.old), human(pair.new), signed(pair.change), signed_percent(pair))


def _number(title: str, pair: Pair) -> tuple[Text, ...]:
    change = f"{'+' if pair.change > 0 else MINUS}{abs(pair.change):,}" if pair.change else "0"
    return (title, f"{pair.old:,}", f"{pair.new:,}", change, signed_percent(pair))


# ---------------------------------------------------------------- folders

_Row: TypeAlias = tuple[str, Pair | None, Pair | None]
"""The name of a module, what it needs, and its peak."""


@dataclass(frozen=True, slots=True)
class FolderDiff:
    """The modules of two folders.

    `rows` have the module, and what both dumps need of the default memory space and their peaks there; None if the
    change is unknown. The modules that only one folder has are `only_old` and `only_new`.
    """

    rows: tuple[_Row, ...]
    only_old: tuple[str, ...]
    only_new: tuple[str, ...]
    top: int | None


def folder_outline(one: FolderDiff) -> Outline:
    """Return the table of two folders: the modules whose needs grew most come first, then those whose peak did."""
    changes = [_change(row) for row in one.rows]
    counts = {
        "grew": sum(change is not None and change > 0 for change in changes),
        "shrank": sum(change is not None and change < 0 for change in changes),
        "stayed the same": changes.count(0),
        "unknown": changes.count(None),
    }
    text = ", ".join(f"{count:,} {word}" for word, count in counts.items() if count)
    title = f"{counted(len(one.rows), 'module')} in both" + (f": the memory of {text}" if text else "")
    return Outline(title, (), tuple((section,) for section in _folder_sections(one) if section.blocks))


def _change(row: _Row) -> int | None:
    """The change of what a module needs, or else of its peak; None if one is unknown and the other did not change."""
    return next((pair.change for pair in row[1:] if pair and pair.change), 0 if all(row[1:]) else None)


def _folder_sections(one: FolderDiff) -> Iterator[Section]:
    changed = [row for row in one.rows if _change(row)]
    changed.sort(key=lambda row: [-(pair.change if pair else 0) for pair in row[1:]])
    shown = changed if one.top is None else [*changed[: one.top], *changed[one.top :][-1:]]
    rows: list[tuple[Text, ...]] = [(*_sizes(needed), *_sizes(peak), Name(name)) for name, needed, peak in shown]
    rows[-1:-1] = (("", "", "", "", text) for text in more(len(changed) - len(shown), "other"))
    yield Section("Modules that changed", (table("needs | change | peak | change | <module", rows),) if rows else ())
    for word, names in (("old", one.only_old), ("new", one.only_new)):
        named = tuple((Name(name),) for name in names[: one.top])
        title = f"{counted(len(names), 'module')} only in the {word} dumps"
        yield Section(title, (*named, *more(len(names) - len(named), "other")))


def _sizes(pair: Pair | None) -> tuple[str, str]:
    """The cells of a size in both dumps and of its change."""
    if pair is None:
        return "unknown", ""
    return (f"{human(pair.old)} → {human(pair.new)}", change_text(pair)) if pair.change else (human(pair.new), "")
