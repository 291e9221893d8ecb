"""Code lenses, and the target of a click on each."""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from xla_lens.model.analysis import Analysis
from xla_lens.model.capacity import capacity_of, over_bytes
from xla_lens.model.memory.over_time import MemorySpace, is_live_at_peak
from xla_lens.model.memory.printed_peak import DEFAULT_COLOR
from xla_lens.model.places.mentions import Value
from xla_lens.model.places.pages import HistoryPage, LiveSetPage, Page, SummaryPage
from xla_lens.model.places.places import Place
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.lookup import biggest
from xla_lens.model.warrants import Bound, Quantity
from xla_lens.render.numbers import counted, human, percent
from xla_lens.render.warrants import bounded, bounded_size, short_reason, short_suffix, warranted_size
from xla_lens.syntax.columns import NONE, Column, Kind, Table, cells

LENS_LIMIT: Final = 500
"""Maximum number of allocations, and of values, with lenses in a file: editors are slow with thousands of lenses."""

_SMALLEST_SHARE: Final = 0.0005
"""The smallest share of the peak with a lens: less rounds to 0.0 %."""


_MOST_SPACES: Final = 3
"""Maximum number of memory spaces in a title."""


Click: TypeAlias = Page | Place | Value | None
"""The target of a click: a page, a place in the dump, the references of a value, or nothing."""


class Lens(NamedTuple):
    """A lens on the line that starts at a byte of a file, and where a click on it leads."""

    offset: int
    title: str
    click: Click


def lenses(analysis: Analysis, file: DumpFile, limit: int = LENS_LIMIT) -> list[Lens]:
    """Return the lenses of a file in the order of its lines, for at most `limit` allocations and `limit` values: the
    largest. Where numbers are not exact, they have bounds and the reason: ``HBM: needs 4.22 MiB, peak ≥ 3.57 MiB · dump
    is cut off``.
    """
    dump = analysis.dump
    found: list[Lens] = []
    if file is dump.assignment:
        found += _on_allocations(analysis, file, limit)
    if file is dump.used:
        found += _on_used_values(analysis, file, limit)
    if file is dump.live:
        found += _on_steps(analysis, file)
    found.sort(key=lambda lens: lens.offset)
    return [*_on_top(analysis, file, limit), *found]


# ---------------------------------------------------------------- lines


def _on_top(analysis: Analysis, file: DumpFile, limit: int) -> Iterator[Lens]:
    dump = analysis.dump
    yield Lens(0, _summary(analysis), SummaryPage())
    allocations = len(_with_lens(dump)) if file is dump.assignment else 0
    values = len(dump.used_values) if file is dump.used else 0
    if max(allocations, values) > limit:
        yield Lens(0, f"lenses for the {limit:,} largest only", None)


def _with_lens(dump: DumpSet) -> Column:
    """The preallocated temps. The lines of other allocations show all their values."""
    table = dump.allocations
    is_temp = (table.kind != NONE) & ((table.kind & int(Kind.PREALLOCATED_TEMP)) != 0)
    return np.flatnonzero(is_temp & (table.index != NONE) & (table.size_bytes > 0))


def _on_allocations(analysis: Analysis, file: DumpFile, limit: int) -> Iterator[Lens]:
    table, rows = analysis.dump.allocations, _with_lens(analysis.dump)
    rows = rows[biggest(table.size_bytes[rows], limit)]
    for row, offset in cells(rows, _lines(file, table, rows)):
        yield Lens(offset, _fill(analysis, row), HistoryPage(table.index.item(row)))


def _on_used_values(analysis: Analysis, file: DumpFile, limit: int) -> Iterator[Lens]:
    dump, table, live = analysis.dump, analysis.dump.used_values, analysis.warrants.live
    rows = np.flatnonzero(dump.value_of_used_value != NONE)
    rows = rows[biggest(dump.values.size_bytes[dump.value_of_used_value[rows]], limit)]
    values = dump.value_of_used_value[rows]
    for row, value, offset in cells(rows, values, _lines(file, table, rows)):
        yield Lens(offset, _uses(analysis, row), Value(value))
        space, size_bytes = analysis.memory.space(dump.values.color.item(value)), dump.values.size_bytes.item(value)
        is_big = space is not None and size_bytes > _SMALLEST_SHARE * space.peak_live_bytes
        if is_big and space and space.peak_step is not None and is_live_at_peak(dump, analysis.memory, value):
            peak = f"the {space.id.name} peak"
            title = f"part of {peak}, {warranted_size(space.peak_live_bytes, live)}"
            title = f"{percent(size_bytes, space.peak_live_bytes)} of {peak}" if live.is_exact else title
            yield Lens(offset, title, LiveSetPage(space.peak_step))


def _on_steps(analysis: Analysis, file: DumpFile) -> Iterator[Lens]:
    dump, spaces = analysis.dump, analysis.memory.spaces
    for step in sorted({space.peak_step for space in spaces if space.peak_step is not None and space.peak_live_bytes}):
        rows = np.array([dump.schedule_row(step)], np.int64)
        for offset in _lines(file, dump.schedule, rows[rows != NONE]).tolist():
            peaking = [space for space in spaces if space.peak_step == step]
            yield Lens(offset, _live(analysis, "show values live at the peak", peaking, step), LiveSetPage(step))
    offsets = _lines(file, dump.peaks, np.arange(len(dump.peaks)))
    for offset, step in cells(offsets, dump.peaks.step):
        live = [space for space in spaces if space.live.at(step)]
        yield Lens(offset, _live(analysis, "show values live here", live, step), LiveSetPage(step))


def _lines(file: DumpFile, table: Table, rows: Column) -> Column:
    """The starts of the lines that some rows of a table begin on."""
    starts = file.document.line_starts
    return starts[starts.searchsorted(table.start[rows], "right") - 1]


# ---------------------------------------------------------------- titles


def _summary(analysis: Analysis) -> str:
    """The largest memory spaces, the default one first, and the number of findings that are errors or warnings."""
    spaces = sorted(analysis.memory.spaces, key=lambda space: (space.color != DEFAULT_COLOR, -space.needed_bytes))
    findings = sum(finding.severity.is_alarm for finding in analysis.findings)
    parts = [_needed(analysis, space) for space in spaces[:_MOST_SPACES]]
    more = len(spaces) - _MOST_SPACES
    parts += [counted(more, "more memory space")] if more > 0 else []
    parts += [counted(findings, "finding")] if findings else []
    return " · ".join(filter(None, (*parts, short_reason(analysis.warrants)))) or "summary"


def _needed(analysis: Analysis, space: MemorySpace) -> str:
    live, reserved = analysis.warrants.live.bound, analysis.warrants.of(Quantity.RESERVED).bound
    known = capacity_of(space, analysis.capacity)
    capacity = f" of {human(known.size_bytes)}" if known else ""
    over = " (does not fit)" if known and over_bytes(space, known.size_bytes) else ""
    peak = f", peak {bounded_size(space.peak_live_bytes, live)}" if space.peak_step is not None else ""
    return f"{space.id.name}: needs {bounded_size(space.needed_bytes, reserved)}{capacity}{over}{peak}"


def _fill(analysis: Analysis, allocation: int) -> str:
    """The number of values of a preallocated temp, and how full it gets."""
    table, live = analysis.dump.allocations, analysis.memory.allocation(allocation)
    is_known = live.peak_step is not None and analysis.warrants.of(Quantity.LIVE, Quantity.RESERVED).is_exact
    fill = f"{percent(live.peak_bytes, table.size_bytes.item(allocation))} live at once, " if is_known else ""
    return f"{fill}{counted(table.slice_count.item(allocation), 'value')}"


def _uses(analysis: Analysis, row: int) -> str:
    dump, bound = analysis.dump, analysis.warrants.of(Quantity.USES).bound
    uses = dump.uses_of(row)
    if not uses:
        return "no uses" if bound is Bound.EXACT else f"no known uses, {short_reason(analysis.warrants)}"
    readers = len(set(dump.uses.name[uses.start : uses.stop].tolist()))
    return bounded(f"{counted(len(uses), 'use')} in {counted(readers, 'instruction')}", bound)


def _live(analysis: Analysis, words: str, spaces: Sequence[MemorySpace], step: int) -> str:
    """The live bytes of some memory spaces at a step, the most first."""
    warrant = analysis.warrants.live
    live = sorted(((space.live.at(step), space.id.name) for space in spaces), key=lambda pair: -pair[0])
    sizes = ", ".join(f"{bounded_size(size, warrant.bound)} of {name}" for size, name in live[:_MOST_SPACES])
    more = f" and {counted(len(live) - _MOST_SPACES, 'more memory space')}" if len(live) > _MOST_SPACES else ""
    return f"{words}: {sizes or 'nothing'}{more}{short_suffix(warrant)}"
