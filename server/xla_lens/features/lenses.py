"""Code lenses, and the target of a click on each.

`lenses` only finds lines and subjects, which is cheap. `shown` is called when the editor is about to show a lens.
The dump set may be reloaded in between, so a lens refers to its subject by the numbers that XLA prints.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from xla_lens.model.analysis import Analysis
from xla_lens.model.capacity import capacity_of, over_bytes
from xla_lens.model.checks.codes import Severity
from xla_lens.model.memory.over_time import MemorySpace
from xla_lens.model.memory.printed_peak import DEFAULT_COLOR
from xla_lens.model.places.mentions import Value
from xla_lens.model.places.pages import HistoryPage, LiveSetPage, Page, SummaryPage
from xla_lens.model.places.places import Place, schedule_place
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.lookup import biggest, taken
from xla_lens.model.warrants import Bound, Quantity
from xla_lens.render.memory_spaces import space_name
from xla_lens.render.numbers import counted, human, percent
from xla_lens.render.warrants import bounded, bounded_size, real_peak, short_reason, short_suffix, warranted_size
from xla_lens.syntax.columns import NONE, Column, Kind, Table

LENS_LIMIT: Final = 500
"""Maximum number of allocations, and of values, with lenses in a file: editors are slow with thousands of lenses."""

_SMALLEST_SHARE: Final = 0.0005
"""The smallest share of the peak with a lens: less rounds to 0.0 %."""


_MOST_SPACES: Final = 3
"""Maximum number of memory spaces in a title."""


class LensKind(StrEnum):
    """The kind of a lens, which also determines the meaning of its number."""

    SUMMARY = "summary"
    """The summary of the dump set. No number."""
    LIMIT = "limit"
    """Only the largest allocations or values have lenses; their number."""
    FILL = "fill"
    """The maximum share of an allocation that is live at once; its index."""
    USES = "uses"
    """The uses of a value; its id."""
    SHARE = "share"
    """The share of a value in the peak; its id."""
    PEAK = "peak"
    """The real peak of memory spaces; its step."""
    PRINTED_PEAK = "printed-peak"
    """The live bytes at the printed peak; its step."""
    REAL_PEAK = "real-peak"
    """On the printed peak: the real peak of memory space 0; the color."""


@dataclass(frozen=True, slots=True)
class Lens:
    """A lens on the line that starts at a byte of a file."""

    offset: int
    kind: LensKind
    number: int = 0


Click: TypeAlias = Page | Place | Value | None
"""The target of a click: a page, a place in the dump, the references of a value, or nothing."""


@dataclass(frozen=True, slots=True)
class Shown:
    """The text of a lens, and where a click on it leads."""

    title: str
    click: Click


def lenses(analysis: Analysis, file: DumpFile, limit: int = LENS_LIMIT) -> list[Lens]:
    """Return the lenses of a file in the order of its lines, for at most `limit` allocations and `limit` values: the
    largest.
    """
    dump = analysis.dump
    found: list[Lens] = []
    if file is dump.assignment:
        found += _on_allocations(dump, limit)
    if file is dump.used:
        found += _on_used_values(analysis, limit)
    if file is dump.live:
        found += _on_steps(analysis)
    found.sort(key=lambda lens: lens.offset)
    return [*_on_top(dump, file, limit), *found]


def shown(analysis: Analysis, lens: Lens) -> Shown | None:
    """Return what a lens shows, with bounds and the reason where numbers are not exact: ``HBM: needs 4.22 MiB, peak
    ≥ 3.57 MiB · dump is cut off``. None if the dump set no longer has its subject.
    """
    number, value = lens.number, analysis.dump.value_of_id(lens.number)
    match lens.kind:
        case LensKind.SUMMARY:
            return _summary(analysis)
        case LensKind.LIMIT:
            return Shown(f"lenses for the {number:,} largest only", None)
        case LensKind.FILL:
            return _fill(analysis, analysis.dump.allocation_row(number))
        case LensKind.USES:
            return _uses(analysis, value) if value != NONE else None
        case LensKind.SHARE:
            return _share(analysis, value) if value != NONE else None
        case LensKind.PEAK:
            live = [space for space in analysis.memory.spaces if space.peak_step == number]
            return _live(analysis, "show values live at the peak", live, number) if live else None
        case LensKind.PRINTED_PEAK:
            live = [space for space in analysis.memory.spaces if space.live.at(number)]
            return _live(analysis, "show values live here", live, number)
        case LensKind.REAL_PEAK:
            return _real_peak(analysis, number)


# ---------------------------------------------------------------- lines


def _on_top(dump: DumpSet, file: DumpFile, limit: int) -> Iterator[Lens]:
    yield Lens(0, LensKind.SUMMARY)
    allocations = len(_with_lens(dump)) if file is dump.assignment else 0
    values = len(dump.used_values) if file is dump.used else 0
    if max(allocations, values) > limit:
        yield Lens(0, LensKind.LIMIT, limit)


def _with_lens(dump: DumpSet) -> Column:
    """The preallocated temps. The lines of other allocations show all their values."""
    table = dump.allocations
    is_temp = (table.kind != NONE) & ((table.kind & int(Kind.PREALLOCATED_TEMP)) != 0)
    return np.flatnonzero(is_temp & (table.index != NONE) & (table.size_bytes > 0))


def _on_allocations(dump: DumpSet, limit: int) -> Iterator[Lens]:
    table, rows = dump.allocations, _with_lens(dump)
    rows = rows[biggest(table.size_bytes[rows], limit)]
    if dump.assignment:
        yield from _lenses(dump.assignment, LensKind.FILL, table, rows, table.index[rows])


def _on_used_values(analysis: Analysis, limit: int) -> Iterator[Lens]:
    dump, table = analysis.dump, analysis.dump.used_values
    rows = np.flatnonzero(table.id != NONE)
    rows = rows[biggest(taken(dump.values.size_bytes, dump.value_of_used_value[rows]), limit)]
    if dump.used:
        yield from _lenses(dump.used, LensKind.USES, table, rows, table.id[rows])
        rows = rows[_is_at_peak(analysis, dump.value_of_used_value[rows])]
        yield from _lenses(dump.used, LensKind.SHARE, table, rows, table.id[rows])


def _on_steps(analysis: Analysis) -> Iterator[Lens]:
    dump, spaces = analysis.dump, analysis.memory.spaces
    if dump.live is None:
        return
    steps = sorted({space.peak_step for space in spaces if space.peak_step is not None and space.peak_live_bytes})
    entries = [(step, row) for step in steps if (row := dump.schedule_row(step)) != NONE]
    rows = np.array([row for _, row in entries], np.int64)
    yield from _lenses(dump.live, LensKind.PEAK, dump.schedule, rows, np.array([step for step, _ in entries], np.int64))
    peaks = np.arange(len(dump.peaks))
    yield from _lenses(dump.live, LensKind.PRINTED_PEAK, dump.peaks, peaks, dump.peaks.step)
    default = analysis.memory.space(DEFAULT_COLOR)
    if default and default.peak_step is not None:
        peaks = peaks[default.live.at_each(dump.peaks.step) < default.peak_live_bytes]
        yield from _lenses(dump.live, LensKind.REAL_PEAK, dump.peaks, peaks, np.full(len(peaks), default.color))


def _lenses(file: DumpFile, kind: LensKind, table: Table, rows: Column, numbers: Column) -> Iterator[Lens]:
    starts = file.document.line_starts
    lines = starts[starts.searchsorted(table.start[rows], "right") - 1]
    for offset, number in zip(lines.tolist(), numbers.tolist(), strict=True):
        yield Lens(offset, kind, number)


def _is_at_peak(analysis: Analysis, rows: Column) -> NDArray[np.bool_]:
    """Which of some values are live at the peak of their memory space, with a share that does not round to 0.0 %."""
    values = analysis.dump.values
    is_there = np.zeros(len(rows), bool)
    for space in analysis.memory.spaces:
        if space.peak_step is not None:
            is_live = (values.start_step[rows] <= space.peak_step) & (space.peak_step <= values.end_step[rows])
            is_big = values.size_bytes[rows] > _SMALLEST_SHARE * space.peak_live_bytes
            is_there |= is_live & is_big & (values.color[rows] == space.color) & (values.start_step[rows] != NONE)
    return is_there


# ---------------------------------------------------------------- titles


def _summary(analysis: Analysis) -> Shown:
    """The largest memory spaces, the default one first, and the number of findings that are errors or warnings."""
    spaces = sorted(analysis.memory.spaces, key=lambda space: (space.color != DEFAULT_COLOR, -space.needed_bytes))
    findings = sum(finding.severity in (Severity.ERROR, Severity.WARNING) for finding in analysis.findings)
    parts = [_needed(analysis, space) for space in spaces[:_MOST_SPACES]]
    more = len(spaces) - _MOST_SPACES
    parts += [counted(more, "more memory space")] if more > 0 else []
    parts += [counted(findings, "finding")] if findings else []
    title = " · ".join(filter(None, (*parts, short_reason(analysis.warrants))))
    return Shown(title or "summary", SummaryPage())


def _needed(analysis: Analysis, space: MemorySpace) -> str:
    live, reserved = analysis.warrants.of(Quantity.LIVE).bound, analysis.warrants.of(Quantity.RESERVED).bound
    known = capacity_of(space, analysis.capacity)
    capacity = f" of {human(known.size_bytes)}" if known else ""
    over = " (does not fit)" if known and over_bytes(space, known.size_bytes) else ""
    peak = f", peak {bounded_size(space.peak_live_bytes, live)}" if space.peak_step is not None else ""
    return f"{space_name(space.id)}: needs {bounded_size(space.needed_bytes, reserved)}{capacity}{over}{peak}"


def _fill(analysis: Analysis, allocation: int) -> Shown | None:
    """The number of values of a preallocated temp, and how full it gets."""
    if allocation == NONE:
        return None
    table, live = analysis.dump.allocations, analysis.memory.allocation(allocation)
    is_known = live.peak_step is not None and analysis.warrants.of(Quantity.LIVE, Quantity.RESERVED).is_exact
    fill = f"{percent(live.peak_bytes, int(table.size_bytes[allocation]))} live at once, " if is_known else ""
    values = counted(int(table.slice_count[allocation]), "value")
    return Shown(f"{fill}{values}", HistoryPage(int(table.index[allocation])))


def _uses(analysis: Analysis, value: int) -> Shown | None:
    dump, bound = analysis.dump, analysis.warrants.of(Quantity.USES).bound
    row = int(dump.values.used_value[value])
    if row == NONE:
        return None
    uses = dump.uses_of(row)
    readers = len(np.unique(dump.uses.name[uses.start : uses.stop]))
    title = bounded(f"{counted(len(uses), 'use')} in {counted(readers, 'instruction')}", bound)
    if not uses:
        title = "no uses" if bound is Bound.EXACT else f"no known uses, {short_reason(analysis.warrants)}"
    return Shown(title, Value(value))


def _share(analysis: Analysis, value: int) -> Shown | None:
    values, warrant = analysis.dump.values, analysis.warrants.of(Quantity.LIVE)
    space = analysis.memory.space(int(values.color[value]))
    if space is None or space.peak_step is None or not _is_at_peak(analysis, np.array([value]))[0]:
        return None
    peak = f"the {space_name(space.id)} peak"
    if warrant.is_exact:
        title = f"{percent(int(values.size_bytes[value]), space.peak_live_bytes)} of {peak}"
    else:
        title = f"part of {peak}, {warranted_size(space.peak_live_bytes, warrant)}"
    return Shown(title, LiveSetPage(space.peak_step))


def _live(analysis: Analysis, words: str, spaces: Sequence[MemorySpace], step: int) -> Shown:
    """The live bytes of some memory spaces at a step, the most first."""
    warrant = analysis.warrants.of(Quantity.LIVE)
    live = sorted(((space.live.at(step), space_name(space.id)) for space in spaces), key=lambda pair: -pair[0])
    sizes = ", ".join(f"{bounded_size(size, warrant.bound)} of {name}" for size, name in live[:_MOST_SPACES])
    more = f" and {counted(len(live) - _MOST_SPACES, 'more memory space')}" if len(live) > _MOST_SPACES else ""
    return Shown(f"{words}: {sizes or 'nothing'}{more}{short_suffix(warrant)}", LiveSetPage(step))


def _real_peak(analysis: Analysis, color: int) -> Shown | None:
    space = analysis.memory.space(color)
    if space is None or space.peak_step is None:
        return None
    place = schedule_place(analysis.dump, analysis.dump.schedule_row(space.peak_step))
    return Shown(real_peak(space) + short_suffix(analysis.warrants.of(Quantity.LIVE)), place)
