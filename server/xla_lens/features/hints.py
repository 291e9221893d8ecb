"""Inlay hints beside the lines of a dump and of its HLO module. `xla_lens.render.hints` words them."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final, TypeAlias

import numpy as np

from xla_lens.model.analysis import Analysis
from xla_lens.model.hlo.mentions import defined_bytes
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.memory.over_time import MemorySpace, live_at_peak
from xla_lens.model.tables.backend import SpaceId
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.tables.lookup import taken
from xla_lens.model.warrants import Bound, Quantity
from xla_lens.syntax.columns import NONE, Column, Table, place_in


@dataclass(frozen=True, slots=True)
class LiveBytesHint:
    """On an entry of the schedule, or on its instruction: the bytes live at that step in the first memory space and in
    those that peak there, which are `peaks`. The hover lists the others: there are up to nine. `changes` are the
    differences to the step before, 0 if they are too small to matter.
    """

    live: tuple[tuple[SpaceId, int], ...]
    changes: tuple[int, ...]
    peaks: tuple[SpaceId, ...]


@dataclass(frozen=True, slots=True)
class SlotHint:
    """On a value in its allocation: its size, its live range, and the peak of its memory space if it is live there.
    None for what it lacks, and for sizes that the line shows already.
    """

    size_bytes: int | None
    peak_bytes: int | None
    live: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class AllocationHint:
    """On an allocation: its size, and how much of the peak of its memory space is in it; None if that is unknown."""

    size_bytes: int
    space: SpaceId
    live_bytes: int | None
    peak_bytes: int


@dataclass(frozen=True, slots=True)
class SizeHint:
    """On a live range: the size of the value. On an instruction: the sum of its values."""

    size_bytes: int


@dataclass(frozen=True, slots=True)
class PeakHint:
    """On the printed peak: the real peak of the memory space that differs most from the printed step."""

    space: SpaceId
    live_bytes: int
    peak_step: int
    peak_bytes: int


HintFacts: TypeAlias = LiveBytesHint | SlotHint | AllocationHint | SizeHint | PeakHint


@dataclass(frozen=True, slots=True)
class Hint:
    """A hint at a byte of the file."""

    offset: int
    facts: HintFacts


def hints(analysis: Analysis, file: DumpFile, start: int, end: int, limit: int) -> list[Hint]:
    """Return the hints from byte `start` to `end` of a file, at most `limit` of each kind."""
    dump = analysis.dump
    found: list[Hint] = []
    if file is dump.assignment:
        found += islice(_allocations(analysis, _rows(dump.allocations, start, end)), limit)
        found += islice(_slices(analysis, _rows(dump.slices, start, end)), limit)
    if file is dump.live:
        found += islice(_schedule(analysis, _rows(dump.schedule, start, end)[:limit]), limit)
        found += islice(_live_ranges(analysis, _rows(dump.live_ranges, start, end)), limit)
        found += islice(_peaks(analysis, _rows(dump.peaks, start, end)), limit)
    return found


def module_hints(analysis: Analysis, module: HloModule, start: int, end: int, limit: int) -> list[Hint]:
    """Return the hints from byte `start` to `end` of an HLO module, for at most `limit` scheduled instructions. They
    follow the names, because the rest of the lines is long.
    """
    dump, table = analysis.dump, module.columns.instructions
    first, last = place_in(table.name_end, start), place_in(table.name_end, end + 1)
    names = [dump.name_number(module.name(row)) for row in range(first, last)]
    steps = taken(dump.schedule_row_of_name, np.array(names, np.int64))
    rows = np.flatnonzero(steps != NONE)[:limit]
    sizes = defined_bytes(dump)
    found: list[Hint] = []
    for row, facts in zip(rows.tolist(), _live_bytes(analysis, steps[rows]), strict=True):
        offset = int(table.name_end[first + row])
        if sizes[names[row]] > 0:
            found.append(Hint(offset, SizeHint(int(sizes[names[row]]))))
        if facts.live:
            found.append(Hint(offset, facts))
    return found


def _rows(table: Table, start: int, end: int) -> Column:
    """The rows of a table that end between two bytes."""
    first, last = place_in(table.end, start), place_in(table.end, end, "right")
    return np.arange(first, last)


_SMALLEST: Final = 1024
"""Smaller sizes are easy to read as XLA prints them."""

_WIDEST: Final = 120
"""In longer rows, a hint at the end would be out of sight, so it follows the name."""

_SMALLEST_CHANGE: Final = 1000
"""Changes of less than one part of the peak in so many are not shown."""


def _allocations(analysis: Analysis, rows: Column) -> Iterator[Hint]:
    table, is_exact = analysis.dump.allocations, analysis.warrants.of(Quantity.LIVE, Quantity.RESERVED).is_exact
    for row in rows[table.size_bytes[rows] >= _SMALLEST].tolist():
        space = analysis.memory.space(int(table.color[row]))
        if space is None:
            continue
        is_known = is_exact and space.peak_step is not None
        live = analysis.memory.allocation(row).at(space.peak_step or 0) if is_known else None
        facts = AllocationHint(int(table.size_bytes[row]), space.id, live, space.peak_live_bytes)
        yield Hint(int(table.end[row]), facts)


def _slices(analysis: Analysis, rows: Column) -> Iterator[Hint]:
    dump, values = analysis.dump, analysis.dump.values
    table, of_row = dump.slices, dump.value_of_slice[rows]
    # Shares of a peak that may be higher would be wrong.
    peaks = {space.color: space.peak_live_bytes for space in analysis.memory.spaces if space.live_bound is Bound.EXACT}
    at_peak = live_at_peak(dump, analysis.memory, of_row)
    for row, value, is_at_peak in zip(rows.tolist(), of_row.tolist(), at_peak.tolist(), strict=True):
        size_bytes = int(values.size_bytes[value])
        facts = SlotHint(
            size_bytes if size_bytes >= _SMALLEST else None,
            (peaks.get(int(values.color[value])) if is_at_peak else None) or None,
            (int(values.start_step[value]), int(values.end_step[value])) if values.live_range[value] != NONE else None,
        )
        is_wide = table.end[row] - table.start[row] > _WIDEST
        if facts.size_bytes is not None or facts.live:
            yield Hint(int(table.value_end[row] if is_wide else table.end[row]), facts)


def _schedule(analysis: Analysis, rows: Column) -> Iterator[Hint]:
    for row, facts in zip(rows.tolist(), _live_bytes(analysis, rows), strict=True):
        if facts.live:
            yield Hint(int(analysis.dump.schedule.end[row]), facts)


def _live_bytes(analysis: Analysis, rows: Column) -> Iterator[LiveBytesHint]:
    """The live bytes at some rows of the schedule."""
    schedule = analysis.dump.schedule
    is_known = analysis.warrants.of(Quantity.LIVE).is_known
    spaces = [space for space in analysis.memory.spaces if space.peak_live_bytes and is_known]
    steps = schedule.step[rows]
    live = [(space, space.live.at_each(steps), _changes(space, steps)) for space in spaces]
    for number, row in enumerate(rows.tolist()):
        peaks = tuple(space.id for space in spaces if space.peak_step == schedule.step[row])
        shown = [columns for columns in live if columns[0] is spaces[0] or columns[0].id in peaks]
        at_step = tuple((space.id, int(column[number])) for space, column, _ in shown)
        yield LiveBytesHint(at_step, tuple(int(changes[number]) for _, _, changes in shown), peaks)


def _changes(space: MemorySpace, steps: Column) -> Column:
    """The changes of the live bytes since the step before, 0 for those that do not matter, that are not known, or that
    start from nothing.
    """
    before = space.live.at_each(steps - 1)
    changes = space.live.at_each(steps) - before
    matters = (np.abs(changes) * _SMALLEST_CHANGE >= space.peak_live_bytes) & (before > 0)
    return np.where(matters & (space.live_bound is Bound.EXACT), changes, 0)


def _live_ranges(analysis: Analysis, rows: Column) -> Iterator[Hint]:
    dump = analysis.dump
    for row, value in zip(rows.tolist(), dump.value_of_live_range[rows].tolist(), strict=True):
        if value != NONE and dump.values.slice[value] != NONE:
            yield Hint(int(dump.live_ranges.end[row]), SizeHint(int(dump.values.size_bytes[value])))


def _peaks(analysis: Analysis, rows: Column) -> Iterator[Hint]:
    peaks = analysis.dump.peaks
    for row in rows.tolist():
        here = [(space, space.live.at(int(peaks.step[row]))) for space in analysis.memory.spaces]
        space, live = max(here, key=lambda pair: pair[0].peak_live_bytes - pair[1], default=(None, 0))
        is_known = space is not None and space.live_bound is not Bound.UNKNOWN
        if space and is_known and space.peak_step is not None and live < space.peak_live_bytes:
            yield Hint(int(peaks.end[row]), PeakHint(space.id, live, space.peak_step, space.peak_live_bytes))
