"""Code lenses, and the target of a click on each. `xla_lens.render.lenses` words them.

`lenses` only finds lines and subjects, which is cheap. `lens_facts` is called when the editor is about to show a lens.
The dump set may be reloaded in between, so a lens refers to its subject by the numbers that XLA prints.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from xla_lens.model.analysis import Analysis
from xla_lens.model.capacity import capacity_of, over_bytes
from xla_lens.model.checks.codes import Severity
from xla_lens.model.memory.printed_peak import DEFAULT_COLOR
from xla_lens.model.places.mentions import Value
from xla_lens.model.places.pages import HistoryPage, LiveSetPage, Page, SummaryPage
from xla_lens.model.places.places import Place, schedule_place
from xla_lens.model.tables.backend import SpaceId
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.lookup import biggest, taken
from xla_lens.syntax.columns import NONE, Column, Kind, Table

LENS_LIMIT: Final = 500
"""Maximum number of allocations, and of values, with lenses in a file: editors are slow with thousands of lenses."""

_SMALLEST_SHARE: Final = 0.0005
"""The smallest share of the peak with a lens: less rounds to 0.0 %."""


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
class SpacePeak:
    """The needed bytes and the peak of a memory space, and the capacity of the device; None if it is unknown."""

    space: SpaceId
    peak_bytes: int
    peak_step: int | None
    needed_bytes: int
    capacity_bytes: int | None = None
    is_over: bool = False


@dataclass(frozen=True, slots=True)
class SummaryLens:
    """The memory spaces of the dump set, and the number of findings that are errors or warnings."""

    spaces: tuple[SpacePeak, ...]
    findings: int
    click: Click


@dataclass(frozen=True, slots=True)
class LimitLens:
    """Only the `limit` largest have lenses."""

    limit: int
    click: Click = None


@dataclass(frozen=True, slots=True)
class FillLens:
    """An allocation. `peak_bytes` is the maximum of the live bytes of a preallocated temp; None for other allocations,
    and if nothing in it is ever live.
    """

    size_bytes: int
    peak_bytes: int | None
    values: int
    click: Click


@dataclass(frozen=True, slots=True)
class UsesLens:
    """The number of uses of a value, and of the instructions that use it."""

    uses: int
    instructions: int
    click: Click


@dataclass(frozen=True, slots=True)
class ShareLens:
    """A value is `size_bytes` of the `peak_bytes` at the peak of a memory space."""

    space: SpaceId
    size_bytes: int
    peak_bytes: int
    click: Click


@dataclass(frozen=True, slots=True)
class LiveLens:
    """The live bytes at a step, by memory space."""

    live: tuple[tuple[SpaceId, int], ...]
    click: Click


@dataclass(frozen=True, slots=True)
class PeakLens:
    """The live bytes at a step of the memory spaces that peak there."""

    live: tuple[tuple[SpaceId, int], ...]
    click: Click


@dataclass(frozen=True, slots=True)
class RealPeakLens:
    """A memory space peaks at another step than the printed one."""

    space: SpaceId
    step: int
    live_bytes: int
    click: Click


LensFacts: TypeAlias = SummaryLens | LimitLens | FillLens | UsesLens | ShareLens | LiveLens | PeakLens | RealPeakLens


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


def lens_facts(analysis: Analysis, lens: Lens) -> LensFacts | None:
    """Return the facts of a lens, None if the dump set no longer has its subject."""
    dump, number = analysis.dump, lens.number
    match lens.kind:
        case LensKind.SUMMARY:
            return _summary(analysis)
        case LensKind.LIMIT:
            return LimitLens(number)
        case LensKind.FILL:
            row = dump.allocation_row(number)
            return _fill(analysis, row) if row != NONE else None
        case LensKind.USES | LensKind.SHARE:
            value = dump.value_of_id(number)
            if value == NONE:
                return None
            return _uses(dump, value) if lens.kind is LensKind.USES else _share(analysis, value)
        case LensKind.PEAK:
            return _peak(analysis, number)
        case LensKind.PRINTED_PEAK:
            live = ((space.id, space.live.at(number)) for space in analysis.memory.spaces)
            return LiveLens(tuple((space, size) for space, size in live if size), click=LiveSetPage(number))
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
    """The preallocated temps, and the allocations of several values. The headers of others need no lens."""
    table = dump.allocations
    is_shared = ((table.kind & int(Kind.PREALLOCATED_TEMP)) != 0) | (table.slice_count > 1)
    return np.flatnonzero(is_shared & (table.index != NONE) & (table.kind != NONE) & (table.size_bytes > 0))


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


# ---------------------------------------------------------------- facts


def _summary(analysis: Analysis) -> SummaryLens:
    spaces = (
        SpacePeak(
            space.id,
            space.peak_live_bytes,
            space.peak_step,
            space.needed_bytes,
            capacity.size_bytes if (capacity := capacity_of(space, analysis.capacity)) else None,
            bool(capacity and over_bytes(space, capacity.size_bytes)),
        )
        for space in analysis.memory.spaces
    )
    findings = sum(finding.severity in (Severity.ERROR, Severity.WARNING) for finding in analysis.findings)
    return SummaryLens(tuple(spaces), findings, SummaryPage())


def _fill(analysis: Analysis, allocation: int) -> FillLens:
    table, live = analysis.dump.allocations, analysis.memory.allocation(allocation)
    is_filled = live.peak_step is not None and table.kind[allocation] & int(Kind.PREALLOCATED_TEMP)
    return FillLens(
        size_bytes=int(table.size_bytes[allocation]),
        peak_bytes=live.peak_bytes if is_filled else None,
        values=int(table.slice_count[allocation]),
        click=HistoryPage(int(table.index[allocation])),
    )


def _uses(dump: DumpSet, value: int) -> UsesLens | None:
    row = int(dump.values.used_value[value])
    if row == NONE:
        return None
    uses = dump.uses_of(row)
    return UsesLens(len(uses), len(np.unique(dump.uses.name[uses.start : uses.stop])), Value(value))


def _share(analysis: Analysis, value: int) -> ShareLens | None:
    values = analysis.dump.values
    space = analysis.memory.space(int(values.color[value]))
    if space is None or space.peak_step is None or not _is_at_peak(analysis, np.array([value]))[0]:
        return None
    page = LiveSetPage(space.peak_step)
    return ShareLens(space.id, int(values.size_bytes[value]), space.peak_live_bytes, page)


def _peak(analysis: Analysis, step: int) -> PeakLens | None:
    live = tuple((space.id, space.peak_live_bytes) for space in analysis.memory.spaces if space.peak_step == step)
    return PeakLens(live, LiveSetPage(step)) if live else None


def _real_peak(analysis: Analysis, color: int) -> RealPeakLens | None:
    space = analysis.memory.space(color)
    if space is None or space.peak_step is None:
        return None
    place = schedule_place(analysis.dump, analysis.dump.schedule_row(space.peak_step))
    return RealPeakLens(space.id, space.peak_step, space.peak_live_bytes, place)
