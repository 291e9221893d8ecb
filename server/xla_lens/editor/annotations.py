"""What editors add to a dump: inlay hints, code lenses with the target of a click on each, and code actions: explain a
finding, go to a place, show a page. None of them edits the dump.

Hints stand beside the lines of a dump and of its HLO module:

===================  ======================================================================================
line                 hint
===================  ======================================================================================
allocation           its size, and how much of the peak of its memory space is in it
value in it          its size and live range, and its part of the peak
schedule, module     the bytes live at that step in the first memory space and in those that peak there,
                     and their changes: ``+256.0 KiB → 576.0 KiB live``; the hover lists all memory spaces
live range           the size of the value; in a module, the sum of the values of the instruction
printed peak         the real peak of the memory space that differs most from the printed step
===================  ======================================================================================
"""

from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from xla_lens.editor.page_kinds import AdvicePage, HistoryPage, LiveSetPage, Page, ReportPage, SummaryPage
from xla_lens.model.analysis import Analysis
from xla_lens.model.attribution.frames import Origins
from xla_lens.model.capacity import capacity_of, over_bytes
from xla_lens.model.checks.codes import Code
from xla_lens.model.checks.problems import Finding
from xla_lens.model.hlo.mentions import HloInstruction, defined_bytes, hlo_mention_at
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.hlo.stack_frames import StackFrame, is_file, user_frame
from xla_lens.model.memory.over_time import MemorySpace, is_live_at_peak
from xla_lens.model.memory.printed_peak import DEFAULT_COLOR
from xla_lens.model.places.mentions import Allocation, Instruction, Mention, Value, mention_at, step_of
from xla_lens.model.places.places import Place, schedule_place
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.lookup import biggest, taken
from xla_lens.model.warrants import Bound, Quantity
from xla_lens.syntax.columns import NONE, Column, FileTable, Kind, cells, place_in
from xla_lens.syntax.tables import MentionRole
from xla_lens.text.document import Span
from xla_lens.words.numbers import apart, counted, human, percent, signed
from xla_lens.words.sources import brief_frame, call_text, without_folder
from xla_lens.words.warrants import bounded, bounded_size, real_peak, short_reason, short_suffix, warranted_size

# ---------------------------------------------------------------- inlay hints


class Hint(NamedTuple):
    """A hint at a byte of the file."""

    offset: int
    label: str


def hints(analysis: Analysis, file: DumpFile, span: Span, limit: int) -> list[Hint]:
    """Return the first `limit` hints at some bytes of a file, in the order of its tables. Those of a module follow the
    names, because the rest of the lines is long.
    """
    dump, found = analysis.dump, list[Iterator[Hint]]()
    if module := analysis.module_in(file):
        found.append(_instructions(analysis, module, span, limit))
    if file is dump.assignment:
        found.append(_allocations(analysis, _rows(dump.allocations, span)))
        found.append(_slices(analysis, _rows(dump.slices, span)[:limit]))
    if file is dump.live:
        found.append(_schedule(analysis, _rows(dump.schedule, span)[:limit]))
        found.append(_live_ranges(analysis, _rows(dump.live_ranges, span)))
        found.append(_peaks(analysis, _rows(dump.peaks, span)))
    return list(islice(chain.from_iterable(found), limit))


def _instructions(analysis: Analysis, module: HloModule, span: Span, limit: int) -> Iterator[Hint]:
    dump, table = analysis.dump, module.columns.instructions
    first, last = place_in(table.name_end, span[0]), place_in(table.name_end, span[1] + 1)
    names = [dump.name_number(module.name(row)) for row in range(first, last)]
    steps = taken(dump.schedule_row_of_name, np.array(names, np.int64))
    rows, sizes = np.flatnonzero(steps != NONE)[:limit], defined_bytes(dump)
    for row, label in zip(rows.tolist(), _live_bytes(analysis, steps[rows]), strict=True):
        size = human(sizes.item(names[row])) if sizes[names[row]] > 0 else ""
        yield from (Hint(table.name_end.item(first + row), text) for text in (size, label) if text)


def _rows(table: FileTable, span: Span) -> Column:
    """The rows of a table that end at some bytes."""
    return np.arange(place_in(table.end, span[0]), place_in(table.end, span[1], "right"))


_SMALLEST: Final = 1024
"""Smaller sizes are easy to read as XLA prints them."""

_WIDEST: Final = 120
"""In longer rows, a hint at the end would be out of sight, so it follows the name."""

_SMALLEST_CHANGE: Final = 1000
"""Changes of less than one part of the peak in so many are not shown."""


def _allocations(analysis: Analysis, rows: Column) -> Iterator[Hint]:
    table, is_exact = analysis.dump.allocations, analysis.warrants.of(Quantity.LIVE, Quantity.RESERVED).is_exact
    for row in rows[table.size_bytes[rows] >= _SMALLEST].tolist():
        space = analysis.memory.space(analysis.dump.allocation_spaces.item(row))
        if space is None:
            continue
        is_known = is_exact and space.peak_step is not None
        live = analysis.memory.allocation(row).at(space.peak_step or 0) if is_known else 0
        share = _share(live, space.peak_live_bytes)
        part = f" · {share} of the {space.id.name} peak" if share else ""
        yield Hint(table.end.item(row), human(table.size_bytes.item(row)) + part)


def _slices(analysis: Analysis, rows: Column) -> Iterator[Hint]:
    dump, values = analysis.dump, analysis.dump.values
    table, of_row = dump.slices, dump.value_of_slice[rows]
    # Shares of a peak that may be higher would be wrong.
    peaks = {space.color: space.peak_live_bytes for space in analysis.memory.spaces if space.live_bound is Bound.EXACT}
    for row, value in cells(rows, of_row):
        size_bytes, is_timed = values.size_bytes.item(value), values.live_range[value] != NONE
        if size_bytes < _SMALLEST and not is_timed:
            continue
        share = _share(size_bytes, peaks.get(values.space.item(value), 0))
        share = share if is_live_at_peak(dump, analysis.memory, value) else ""
        size = human(size_bytes) if size_bytes >= _SMALLEST else ""
        live = f"live {values.start_step[value]}–{values.end_step[value]}" if is_timed else ""
        label = " · ".join(filter(None, (size, share and f"{share} of the peak", live)))
        is_wide = table.end[row] - table.start[row] > _WIDEST
        yield Hint(int(table.value_end[row] if is_wide else table.end[row]), label)


def _share(part: int, peak: int) -> str:
    """A share of a peak; empty if it is unknown or too small to matter."""
    share = percent(part, peak) if peak else ""
    return "" if share == percent(0, 1) else share


def _schedule(analysis: Analysis, rows: Column) -> Iterator[Hint]:
    for row, label in zip(rows.tolist(), _live_bytes(analysis, rows), strict=True):
        if label:
            yield Hint(analysis.dump.schedule.end.item(row), label)


def _live_bytes(analysis: Analysis, rows: Column) -> Iterator[str]:
    """The live bytes at some rows of the schedule; empty texts if they are unknown."""
    warrant = analysis.warrants.live
    spaces = [space for space in analysis.memory.spaces if space.peak_live_bytes and warrant.is_known]
    steps, why = analysis.dump.schedule.step[rows], short_suffix(warrant)
    live = [(space.live.at_each(steps).tolist(), _changes(space, steps).tolist()) for space in spaces]
    for number, step in enumerate(steps.tolist()):
        peaks = [space.id.name for space in spaces if space.peak_step == step]
        levels = [
            (space, _level(sizes[number], changes[number], warrant.bound))
            for space, (sizes, changes) in zip(spaces, live, strict=True)
            if space is spaces[0] or space.peak_step == step
        ]
        if len(levels) == 1 and levels[0][0].color == DEFAULT_COLOR:
            yield f"{levels[0][1]} live{why}" + (" ◀ peak" if peaks else "")
        else:
            named = ", ".join(f"{space.id.name} {level}" for space, level in levels)
            yield f"{named}{why}" + (f" ◀ peak of {', '.join(peaks)}" if peaks else "") if named else ""


def _changes(space: MemorySpace, steps: Column) -> Column:
    """The changes of the live bytes since the step before; 0 if they do not matter, are unknown or start from 0."""
    before = space.live.at_each(steps - 1)
    changes = space.live.at_each(steps) - before
    matters = (np.abs(changes) * _SMALLEST_CHANGE >= space.peak_live_bytes) & (before > 0)
    return np.where(matters & (space.live_bound is Bound.EXACT), changes, 0)


def _level(size_bytes: int, change: int, bound: Bound) -> str:
    """A number of live bytes after its change: ``+64.00 GiB → 1.41 TiB``."""
    return f"{signed(change)} → {bounded_size(size_bytes, bound)}" if change else bounded_size(size_bytes, bound)


def _live_ranges(analysis: Analysis, rows: Column) -> Iterator[Hint]:
    dump = analysis.dump
    for row, value in cells(rows, dump.value_of_live_range[rows]):
        if value != NONE and dump.values.slice[value] != NONE:
            yield Hint(dump.live_ranges.end.item(row), human(dump.values.size_bytes.item(value)))


def _peaks(analysis: Analysis, rows: Column) -> Iterator[Hint]:
    peaks, warrant = analysis.dump.peaks, analysis.warrants.live
    for row in rows.tolist():
        here = [(space, space.live.at(peaks.step.item(row))) for space in analysis.memory.spaces]
        space, live = max(here, key=lambda pair: pair[0].peak_live_bytes - pair[1], default=(None, 0))
        is_known = space is not None and space.live_bound is not Bound.UNKNOWN
        if space and is_known and space.peak_step is not None and live < space.peak_live_bytes:
            here_bytes = bounded(apart(live, space.peak_live_bytes), warrant.bound)
            yield Hint(peaks.end.item(row), f"{real_peak(space)} ({here_bytes} here){short_suffix(warrant)}")


# ---------------------------------------------------------------- code lenses


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


# ---------------------------------------------------------------- code lenses: lines


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
        space, size_bytes = analysis.memory.space(dump.values.space.item(value)), dump.values.size_bytes.item(value)
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


def _lines(file: DumpFile, table: FileTable, rows: Column) -> Column:
    """The starts of the lines that some rows of a table begin on."""
    starts = file.document.line_starts
    return starts[starts.searchsorted(table.start[rows], "right") - 1]


# ---------------------------------------------------------------- code lenses: titles


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


# ---------------------------------------------------------------- code actions


_MOST_ACTIONS: Final = 2
"""Maximum number of actions of one kind, so that all fit into a menu."""

_MOST_CALLS: Final = 4
_MAX_NAME: Final = 80


class EditorAction(NamedTuple):
    """An action: it explains a kind of finding, goes to a place or to a line of the program, or shows a page. `finding`
    is the finding that it helps with.
    """

    title: str
    target: Code | Place | StackFrame | Page
    finding: Finding | None = None


_PAGES: Final = (
    EditorAction("Show what would lower the peak", AdvicePage()),
    EditorAction("Show the report as Markdown", ReportPage()),
)


def actions(analysis: Analysis, file: DumpFile, span: Span) -> list[EditorAction]:
    """Return the actions for some bytes of a file, most helpful first; never more than twelve. In an HLO module, they
    go to the source lines of an instruction. Since jaxlib 0.8.2 the source lines of a dump are in its module.
    """
    start, end = span
    if module := analysis.module_in(file):
        named = hlo_mention_at(module, start)
        is_instruction = named is not None and isinstance(named.target, HloInstruction)
        return source_actions(module.frames(module.metadata(named.target.row))) if named and is_instruction else []
    here = [
        finding
        for finding in analysis.findings
        if finding.place.file is file and finding.place.start <= end and start <= finding.place.end
    ]
    first: dict[Code, Finding] = {}
    for finding in here:
        first.setdefault(finding.code, finding)
    mention = mention_at(analysis.dump, file, start)
    leading = _of_mention(analysis, mention) if mention else ()
    explained = (EditorAction(f"Explain {finding.code}", finding.code, finding) for finding in first.values())
    is_made = mention and (isinstance(mention.target, Value | Instruction) or mention.role is MentionRole.SCHEDULE)
    origin = Origins(analysis.dump, analysis.module).of_target(mention.target) if mention and is_made else None
    return [*islice(explained, _MOST_ACTIONS), *leading, *source_actions(origin.frames if origin else ()), *_PAGES]


def source_actions(frames: Sequence[StackFrame]) -> list[EditorAction]:
    """Return actions that go to the calls that created an instruction: the innermost user frame, then some others."""
    own = user_frame(frames)
    calls: dict[tuple[str, int | None, str | None], StackFrame] = {}
    for frame in (own, *frames):
        if frame and is_file(frame.file):
            calls.setdefault((frame.file, frame.line, frame.function), frame)
    return [
        EditorAction(f"Go to Python source: {call_text(brief_frame(without_folder(frame), _MAX_NAME))}", frame)
        for frame in islice(calls.values(), 1 + _MOST_CALLS)
    ]


def _of_mention(analysis: Analysis, mention: Mention) -> Iterator[EditorAction]:
    dump = analysis.dump
    step = step_of(dump, mention)
    if step is not None:
        yield EditorAction(f"Show values live at step {step}", LiveSetPage(step))
    yield from _peak(analysis, mention, step)
    match mention.target:
        case Value(row) if dump.values.allocation[row] != NONE:
            yield from _allocation_history(analysis, dump.values.allocation.item(row))
        case Allocation(row):
            yield from _allocation_history(analysis, row)


def _peak(analysis: Analysis, mention: Mention, step: int | None) -> Iterator[EditorAction]:
    """The real peak to go to: that of the memory space of a value, from a step that of the device's memory."""
    target, color = mention.target, DEFAULT_COLOR
    if step is None and isinstance(target, Value):
        color = analysis.dump.values.space.item(target.row)
    space = analysis.memory.space(color) if step is not None or isinstance(target, Value) else None
    if space and space.peak_step not in (None, step) and space.live_bound is not Bound.UNKNOWN:
        place = schedule_place(analysis.dump, analysis.dump.schedule_row(space.peak_step or 0))
        if place:
            yield EditorAction(f"Go to the {real_peak(space)}", place)


def _allocation_history(analysis: Analysis, allocation: int) -> Iterator[EditorAction]:
    index = analysis.dump.allocations.index.item(allocation)
    if index != NONE:
        yield EditorAction(f"Show the history of allocation {index}", HistoryPage(index))
