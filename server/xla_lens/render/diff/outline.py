"""Comparisons as blocks: their title and answer, and which tables they have, in which order."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from xla_lens.features.diff.facts import Diff
from xla_lens.model.diff.breakdowns import By
from xla_lens.model.diff.causes import CauseKind, ChangeCause
from xla_lens.model.diff.comparison import Pair, Row, SpaceComparison
from xla_lens.model.memory.printed_peak import DEFAULT_COLOR
from xla_lens.render.diff.tables import breakdown_sections, derived_part, group_text, totals_sections, values_sections
from xla_lens.render.diff.words import (
    BIG_BYTES,
    cause_text,
    change_text,
    difference_text,
    grown_text,
    is_serious,
)
from xla_lens.render.memory_spaces import space_name
from xla_lens.render.numbers import capitalized, counted, human, signed
from xla_lens.render.report.blocks import Name, Outline, Section, Sections, Table, Text, headers
from xla_lens.render.warrants import bounded_size

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
        facts=tuple(
            (word, (Name(file, widest=None), " in ", Name(folder or ".", widest=None)))
            for word, (folder, _, file) in files
        ),
        parts=tuple(sections for sections in _parts(one) if sections),
        answer=tuple(_answer(one)),
    )


def _title(one: Diff) -> Text:
    name, space = Name(one.name or one.new.label.rpartition("/")[2], widest=None), one.default_space
    if space is None:
        return (name, ": no buffer assignment to compare")
    needed, text = space.exact("needed_bytes"), _peak_text(space)
    if needed:
        text += f"; needs {grown_text(needed, f'{human(needed.new)} as before')}"
    return (name, ": ", text)


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
        if more := row.count.change:
            what = f"{abs(more):,} {'more' if more > 0 else 'fewer'} × "
        else:
            what = f"{counted(row.count.new, 'buffer')} {'larger' if row.change > 0 else 'smaller'} at the peak, "
        yield (f"{signed(row.change)}: {what}", *group_text(row.key), f"{derived_part(row)}.")
    rest = rows[len(named) :]
    if rest:
        yield f"{signed(sum(row.change for row in rest))}: {counted(len(rest), 'more group')} of like buffers."


def _parts(one: Diff) -> Iterator[Sections]:
    for space in _changed(one):
        yield from breakdown_sections(one, space)
    yield values_sections(one)
    yield totals_sections(one)


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
    return Outline(title, (), tuple(sections for sections in _folder_parts(one) if sections))


def _change(row: _Row) -> int | None:
    """The change of what a module needs, or else of its peak; None if one is unknown and the other did not change."""
    return next((pair.change for pair in row[1:] if pair and pair.change), 0 if all(row[1:]) else None)


def _folder_parts(one: FolderDiff) -> Iterator[Sections]:
    changed = [row for row in one.rows if _change(row)]
    changed.sort(key=lambda row: [-(pair.change if pair else 0) for pair in row[1:]])
    shown = changed if one.top is None else [*changed[: one.top], *changed[one.top :][-1:]]
    rows: list[tuple[Text, ...]] = [
        (*_sizes(needed), *_sizes(peak), Name(name, widest=None)) for name, needed, peak in shown
    ]
    if len(shown) < len(changed):
        rows.insert(len(rows) - 1, ("", "", "", "", f"… {counted(len(changed) - len(shown), 'other')}"))
    header = headers("needs", "change", "peak", "change", "module", text=("module",))
    yield (Section("Modules that changed", (Table(header, tuple(rows)),)),) if rows else ()
    for word, names in (("old", one.only_old), ("new", one.only_new)):
        named = names[: one.top]
        more: tuple[Text, ...] = (f"… {counted(len(names) - len(named), 'other')}",) if len(named) < len(names) else ()
        blocks = (*((Name(name, widest=None),) for name in named), *more)
        yield (Section(f"{counted(len(names), 'module')} only in the {word} dumps", blocks),) if names else ()


def _sizes(pair: Pair | None) -> tuple[str, str]:
    """The cells of a size in both dumps and of its change."""
    if pair is None:
        return "unknown", ""
    return (f"{human(pair.old)} → {human(pair.new)}", change_text(pair)) if pair.change else (human(pair.new), "")
