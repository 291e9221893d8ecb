"""Inlay hints beside the lines of a dump and of its HLO module. `xla_lens.render.hints` words them."""

from collections.abc import Iterator
from itertools import islice
from typing import TypeAlias

import numpy as np

from xla_lens.model.analysis import Analysis
from xla_lens.model.hlo.mentions import defined_bytes
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.tables.backend import SpaceId
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.tables.lookup import taken
from xla_lens.model.warrants import Bound, Quantity
from xla_lens.records import dataclass
from xla_lens.syntax.columns import NONE, Column, Table, place_in


@dataclass(frozen=True, slots=True)
class LiveBytesHint:
    """On an entry of the schedule, or on its instruction: the bytes live at that step in the first memory space and in
    those that peak there, which are `peaks`. The hover lists the others: there are up to nine.
    """

    live: tuple[tuple[SpaceId, int], ...]
    peaks: tuple[SpaceId, ...]


@dataclass(frozen=True, slots=True)
class LiveRangeHint:
    """On a value in its allocation: its live range."""

    start_step: int
    end_step: int


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


HintFacts: TypeAlias = LiveBytesHint | LiveRangeHint | SizeHint | PeakHint


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


def _slices(analysis: Analysis, rows: Column) -> Iterator[Hint]:
    dump, values = analysis.dump, analysis.dump.values
    for row, value in zip(rows.tolist(), dump.value_of_slice[rows].tolist(), strict=True):
        if values.live_range[value] != NONE:
            facts = LiveRangeHint(int(values.start_step[value]), int(values.end_step[value]))
            yield Hint(int(dump.slices.end[row]), facts)


def _schedule(analysis: Analysis, rows: Column) -> Iterator[Hint]:
    for row, facts in zip(rows.tolist(), _live_bytes(analysis, rows), strict=True):
        if facts.live:
            yield Hint(int(analysis.dump.schedule.end[row]), facts)


def _live_bytes(analysis: Analysis, rows: Column) -> Iterator[LiveBytesHint]:
    """The live bytes at some rows of the schedule."""
    schedule = analysis.dump.schedule
    is_known = analysis.warrants.of(Quantity.LIVE).is_known
    spaces = [space for space in analysis.memory.spaces if space.peak_live_bytes and is_known]
    live = [(space, space.live.at_each(schedule.step[rows]).tolist()) for space in spaces]
    for number, row in enumerate(rows.tolist()):
        peaks = tuple(space.id for space in spaces if space.peak_step == schedule.step[row])
        at_step = tuple((space.id, column[number]) for space, column in live if space is spaces[0] or space.id in peaks)
        yield LiveBytesHint(at_step, peaks)


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
