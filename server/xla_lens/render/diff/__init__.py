"""Comparisons as text and Markdown: which parts they have, in which order."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from xla_lens.features.diff.baseline import Baseline
from xla_lens.features.diff.facts import Diff, DiffSide
from xla_lens.model.diff.breakdowns import By
from xla_lens.model.diff.causes import CauseKind, ChangeCause
from xla_lens.model.diff.comparison import Pair, SpaceComparison
from xla_lens.model.memory.printed_peak import DEFAULT_COLOR
from xla_lens.model.warrants import Bound
from xla_lens.render.diff.causes import cause_text
from xla_lens.render.diff.differences import difference_text, is_serious
from xla_lens.render.diff.rows import BIG_BYTES, change_text, derived_part, group_text, grown, signed_percent
from xla_lens.render.diff.tables import breakdown_sections
from xla_lens.render.diff.totals import totals_sections
from xla_lens.render.diff.values import values_sections
from xla_lens.render.memory_spaces import space_name
from xla_lens.render.numbers import apart, capitalized, counted, human, signed
from xla_lens.render.report.blocks import Name, Outline, Section, Sections, Table, Text, headers
from xla_lens.render.warrants import UNKNOWN, bounded_size

_MAX_GROUPS: Final = 2
"""The groups that the answer names."""

_NAMED_SHARE: Final = 0.2
"""The answer names further groups that changed at least by this share of the first one, and begins with causes of at
least this share of the change.
"""


def diff_outline(one: Diff) -> Outline:
    """Return a comparison as blocks."""
    parts = tuple(sections for sections in _parts(one) if sections)
    return Outline(_title(one), tuple(_files(one)), parts, tuple(_answer(one)))


def peak_text(one: Diff, space: SpaceComparison) -> str:
    """The peak of a memory space in both dumps: ``HBM peak 157.54 MiB → 180.04 MiB, +22.50 MiB (+14.3 %)``."""
    name, peak = space_name(space.id), space.peak_live_bytes
    old_bound, new_bound = _bounds(one, space)
    if not one.has_peaks or Bound.UNKNOWN in (old_bound, new_bound):
        old_text, new_text = (
            bounded_size(size_bytes, bound) if side.has_live_ranges else UNKNOWN
            for size_bytes, bound, side in (
                (peak.old, old_bound, one.old),
                (peak.new, new_bound, one.new),
            )
        )
        return f"{name} peak {old_text} → {new_text}"
    if space.live_bound is not Bound.EXACT:
        return f"{name} peak {bounded_size(peak.old, old_bound)} → {bounded_size(peak.new, new_bound)}"
    if not peak.change:
        return f"{name} peak unchanged, {human(peak.new)}"
    return f"{name} peak {apart(peak.old, peak.new)} → {human(peak.new)}, {change_text(peak)}"


def _bounds(one: Diff, space: SpaceComparison) -> tuple[Bound, Bound]:
    return one.old.live_bound(space.color), one.new.live_bound(space.color)


def _title(one: Diff) -> Text:
    space = one.default_space
    name = Name(one.name or _first_file(one.new).rpartition("/")[2], widest=None)
    return (name, ": ", _headline(one, space) if space else "no buffer assignment to compare")


def _headline(one: Diff, space: SpaceComparison) -> str:
    """The peak of a memory space in both dumps, and what the program needs of it."""
    peak, needed = peak_text(one, space), space.needed_bytes
    if space.needed_bound is not Bound.EXACT:
        return peak
    if not needed.change:
        return f"{peak}; needs {human(needed.new)} as before"
    return f"{peak}; needs {apart(needed.old, needed.new)} → {human(needed.new)}, {change_text(needed)}"


def _answer(one: Diff) -> Iterator[Text]:
    """What changed most, in a few sentences."""
    texts = [(is_serious(difference), difference_text(difference)) for difference in one.differences]
    yield from (text for serious, text in texts if serious)
    compared = one.comparison
    if compared and compared.is_unchanged and len(compared.values):
        count = counted(len(compared.values), "value")
        yield f"Nothing changed but names and addresses: {count} with the same sizes, shapes and live ranges."
    elif one.default_space and is_exact(one, one.default_space):
        big = [cause for cause in one.causes if _is_big(cause, one.default_space)]
        yield from map(cause_text, big)
        yield from _biggest_groups(one.default_space)
        yield from (cause_text(cause) for cause in one.causes if cause not in big)
    for space in one.memory_spaces:
        is_big = abs(space.peak_live_bytes.change) >= BIG_BYTES
        if space.color != DEFAULT_COLOR and is_big and is_exact(one, space):
            yield f"{capitalized(peak_text(one, space))}."
    yield from (text for serious, text in texts if not serious)


def is_exact(one: Diff, space: SpaceComparison) -> bool:
    """Whether the change of the peak of a memory space is exact."""
    return one.has_peaks and space.live_bound is Bound.EXACT


def _is_big(cause: ChangeCause, space: SpaceComparison) -> bool:
    """Whether a cause is about a fair share of the change of the peak or, if it has no bytes, of what it counts."""
    size = cause.size_bytes
    if size is None:
        most = max(cause.count.old, cause.count.new)
        return cause.kind in _RECOMPUTED and abs(cause.count.change) >= _NAMED_SHARE * most
    size_bytes = max(size.old, size.new) if cause.kind in _GAINED_OR_LOST else abs(size.change)
    return size_bytes >= _NAMED_SHARE * abs(space.peak_live_bytes.change)


_RECOMPUTED: Final = (CauseKind.CHECKPOINT, CauseKind.REMATERIALIZED)
_GAINED_OR_LOST: Final = (CauseKind.DONATION, CauseKind.FUSION)
"""Causes whose bytes are those gained, and those lost."""


def _biggest_groups(space: SpaceComparison) -> Iterator[Text]:
    rows = [row for row in space.breakdowns.get(By.GROUP, ()) if row.change]
    if not rows:
        return
    named = [row for row in rows[:_MAX_GROUPS] if abs(row.change) >= _NAMED_SHARE * abs(rows[0].change)]
    for row in named:
        yield (f"{signed(row.change)}: ", *grown(row), *group_text(row.key), f"{derived_part(row)}.")
    rest = rows[len(named) :]
    if rest:
        yield f"{signed(sum(row.change for row in rest))}: {counted(len(rest), 'more group')} of like buffers."


def _parts(one: Diff) -> Iterator[Sections]:
    spaces = [space for space in one.memory_spaces if is_exact(one, space)]
    for space in spaces:
        if space.color == DEFAULT_COLOR or abs(space.peak_live_bytes.change) >= BIG_BYTES:
            yield from breakdown_sections(one, space)
    yield values_sections(one)
    yield totals_sections(one)


def _files(one: Diff) -> Iterator[tuple[str, Text]]:
    sides: tuple[tuple[str, DiffSide | Baseline], ...] = (("old", one.old), ("new", one.new))
    for word, side in sides:
        folder, _, file = _first_file(side).rpartition("/")
        yield word, (Name(file, widest=None), " in ", Name(folder or ".", widest=None))


def _first_file(side: DiffSide | Baseline) -> str:
    if isinstance(side, Baseline):
        return side.label
    return next(iter(side.files.values()))


# ---------------------------------------------------------------- folders


@dataclass(frozen=True, slots=True)
class FolderDiff:
    """The modules of two folders.

    `rows` have the module, and its peak in both dumps of the default memory space; None if the change is unknown. The
    modules that only one folder has are `only_old` and `only_new`.
    """

    rows: tuple[tuple[str, Pair | None], ...]
    only_old: tuple[str, ...]
    only_new: tuple[str, ...]
    top: int | None


def folder_outline(one: FolderDiff) -> Outline:
    """Return the table of two folders: the modules whose peak grew most come first."""
    known = [(name, pair) for name, pair in one.rows if pair]
    grown_count, shrunk = (sum(sign * pair.change > 0 for _, pair in known) for sign in (1, -1))
    same, unknown = sum(not pair.change for _, pair in known), len(one.rows) - len(known)
    words = ((grown_count, "grew"), (shrunk, "shrank"), (same, "stayed the same"), (unknown, "unknown"))
    counts = ", ".join(f"{count:,} {word}" for count, word in words if count)
    title = f"{counted(len(one.rows), 'module')} in both" + (f": the peaks of {counts}" if counts else "")
    return Outline(title, (), tuple(sections for sections in _folder_parts(one, known) if sections))


def _folder_parts(one: FolderDiff, known: Sequence[tuple[str, Pair]]) -> Iterator[Sections]:
    changed = sorted((row for row in known if row[1].change), key=lambda row: -row[1].change)
    shown = changed if one.top is None else [*changed[: one.top], *changed[one.top :][-1:]]
    rows: list[tuple[Text, ...]] = [
        (signed(pair.change), signed_percent(pair), human(pair.old), human(pair.new), Name(name, widest=None))
        for name, pair in shown
    ]
    if len(shown) < len(changed):
        rows.insert(len(rows) - 1, ("", "", "", "", f"… {counted(len(changed) - len(shown), 'other')}"))
    header = headers("change", "percent", "old", "new", "module", text=("module",))
    yield (Section("Peaks", (Table(header, tuple(rows)),)),) if rows else ()
    for word, names in (("old", one.only_old), ("new", one.only_new)):
        named = names[: one.top]
        more: tuple[Text, ...] = (f"… {counted(len(names) - len(named), 'other')}",) if len(named) < len(names) else ()
        blocks = (*((Name(name, widest=None),) for name in named), *more)
        yield (Section(f"{counted(len(names), 'module')} only in the {word} dumps", blocks),) if names else ()
