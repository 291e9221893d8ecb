"""Checks of the structure of files: unknown lines, missing headers, and files that are cut off."""

import re
from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np

from xla_lens.model.checks.codes import Severity
from xla_lens.model.checks.context import marked
from xla_lens.model.checks.findings import Finding, error
from xla_lens.model.checks.problems import Cut, Problem
from xla_lens.model.checks.resemblance import Damage, UnknownLine
from xla_lens.model.checks.values import views_in_used_values
from xla_lens.model.places.places import Place, row_place
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.lookup import distinct, taken
from xla_lens.syntax.columns import NONE, Column, Kind, Section, Table
from xla_lens.syntax.file_names import FileKind
from xla_lens.syntax.hlo.shapes import nests_too_deeply
from xla_lens.syntax.rows import end_of_lines, ends_with_empty_line


def files_are_well_formed(dump: DumpSet, lines: Iterable[UnknownLine], damage: Damage) -> Iterator[Finding]:
    """Each file consists of known lines below their headers, and is complete. `lines` are the unknown ones."""
    of_file: dict[int, list[UnknownLine]] = {}
    for line in lines:
        of_file.setdefault(id(line.file), []).append(line)
    for file in dump.files:
        document = file.document
        if file.unreadable:
            yield unreadable(file)
        elif not document.data or document.data.isspace():
            yield error(Place(file, 0, 0), Problem.EMPTY_FILE())
        elif not file.columns.has_rows():
            yield error(Place(file, 0, len(document.data)), Problem.NO_DUMP_LINES())
        else:
            yield from _lines(dump, file, of_file.get(id(file), []), damage)
    yield from _deep_shapes(dump)
    yield from _large_sizes(dump)


def unreadable(file: DumpFile) -> Finding:
    """The finding for a file that could not be read."""
    return error(Place(file, 0, 0), Problem.UNREADABLE_FILE(file.unreadable))


def _lines(dump: DumpSet, file: DumpFile, lines: list[UnknownLine], damage: Damage) -> Iterator[Finding]:
    cut = _cut(dump, file, [line for line in lines if line.key in damage])
    truncation = truncated(file, cut) if cut else None
    end = truncation.place.start if truncation else file.document.content_end
    yield from _unknown_lines(file, [line for line in lines if line.start < end], damage)
    if truncation:
        yield truncation
    yield from _second_module(file)
    yield from _missing_headers(file)


def truncated(file: DumpFile, cut: Cut) -> Finding:
    """The finding for a file that is cut off, at its last line."""
    end = file.document.content_end
    last_line = file.document.line_span(file.document.row(end))[0]
    return error(Place(file, last_line, end), Problem.TRUNCATED_FILE(cut))


def _unknown_lines(file: DumpFile, lines: list[UnknownLine], damage: Damage) -> Iterator[Finding]:
    """One finding for each run of unknown lines, which are either all damaged rows or all notes."""
    document = file.document
    runs: list[list[UnknownLine]] = []
    for line in lines:
        before = runs[-1][-1] if runs else None
        is_next = before and document.row(line.start) <= document.row(before.start) + 1
        if before and is_next and (before.key in damage) == (line.key in damage):
            runs[-1].append(line)
        else:
            runs.append([line])
    for run in runs:
        place = Place(file, run[0].start, run[-1].end)
        rows = tuple(dict.fromkeys(damage[line.key] for line in run if line.key in damage))
        count = document.row(run[-1].start) - document.row(run[0].start) + 1
        # Headers of allocations are read in spite of unknown parts.
        is_part = run[0].is_part
        severity = (Severity.WARNING if is_part else Severity.ERROR) if rows else Severity.INFORMATION
        yield Finding(
            severity,
            place,
            Problem.UNKNOWN_LINE_PART(rows[0] if rows else None) if is_part else Problem.UNKNOWN_LINES(count, rows),
        )


def _deep_shapes(dump: DumpSet) -> Iterator[Finding]:
    """The shapes in allocations that nest too deeply to be read."""
    shapes, shape = dump.slice_shapes
    deep = [number for number, text in enumerate(shapes) if nests_too_deeply(text)]
    for row in marked(np.isin(shape, deep)) if deep else ():
        assert dump.assignment is not None, "it has the shapes"
        place = Place(dump.assignment, int(dump.slices.shape_start[row]), int(dump.slices.end[row]))
        yield Finding(Severity.INFORMATION, place, Problem.UNKNOWN_LINE_PART(None))


_LARGEST: Final = float(1 << 62)
"""From which sum on, a further one may not fit into 64 bits."""


def _large_sizes(dump: DumpSet) -> Iterator[Finding]:
    """Sums of sizes fit into 64 bits."""
    tables: tuple[tuple[DumpFile | None, Table, tuple[Column, ...]], ...] = (
        (dump.assignment, dump.allocations, (dump.allocations.size_bytes,)),
        (dump.assignment, dump.slices, (dump.slices.size_bytes, dump.slices.offset)),
        (dump.live, dump.peak_buffers, (dump.peak_buffers.size_bytes,)),
    )
    for file, table, columns in tables:
        sizes = np.sum([np.abs(column.astype(float)) for column in columns], axis=0)
        if file and sizes.sum() >= _LARGEST:
            yield error(row_place(file, table, int(sizes.argmax())), Problem.SIZES_TOO_LARGE(len(sizes)))


def _second_module(file: DumpFile) -> Iterator[Finding]:
    others = file.columns.other_modules
    if len(others):
        name = file.document.data[others.name_start[0] : others.name_end[0]].decode("utf-8", "replace")
        yield Finding(Severity.INFORMATION, row_place(file, others, 0), Problem.SECOND_MODULE(name))


# ---------------------------------------------------------------- headers


_HEADERS: Final = {
    "allocations": (Section.BUFFER_ASSIGNMENT, "BufferAssignment:"),
    "used_values": (Section.USED_VALUES, "Used values:"),
    "schedule": (Section.INSTRUCTION_SEQUENCE, "InstructionSequence:"),
    "live_ranges": (Section.BUFFER_LIVE_RANGES, "BufferLiveRange:"),
    "peak_buffers": (Section.PEAK, "Live ranges at N (peak):"),
}
"""For each table the section of its rows, and the header of that section."""

_IN_LIVE_RANGES: Final = (Section.INSTRUCTION_SEQUENCE, Section.BUFFER_LIVE_RANGES, Section.PEAK)


def _missing_headers(file: DumpFile) -> Iterator[Finding]:
    """Each row is below the header of its section. One finding for each kind of rows, at the first."""
    columns = file.columns
    places: list[tuple[Table, Column, str]] = [
        (table, _outside(file, table, section), header)
        for name, (section, header) in _HEADERS.items()
        for table in [getattr(columns, name)]
    ]
    nested = np.flatnonzero(np.isin(columns.sections.section, _IN_LIVE_RANGES))
    outside = _outside(file, columns.sections, Section.LIVE_RANGES)
    used_values = np.flatnonzero(columns.sections.section == Section.USED_VALUES)
    places += [
        (columns.sections, nested[np.isin(nested, outside)], "HloLiveRange (max N):"),
        (columns.slices, np.flatnonzero(columns.slices.allocation == NONE), "allocation N:"),
        (columns.positions, np.flatnonzero(columns.positions.value == NONE), _VALUE_HEADER),
        (columns.uses, np.flatnonzero(columns.uses.value == NONE), _VALUE_HEADER),
        (columns.positions, _second_positions(file), _VALUE_HEADER),
        (columns.sections, used_values if not len(columns.totals) else used_values[:0], "Total bytes used: N"),
    ]
    for table, rows, header in places:
        for start in table.start[rows[:1]].tolist():
            end = file.document.line_span(file.document.row(start))[1]
            yield error(Place(file, start, end), Problem.MISSING_HEADER(header))


_VALUE_HEADER: Final = "<id name @color>"


def _outside(file: DumpFile, table: Table, section: Section) -> Column:
    """The rows of a table that are not within a section of the given kind."""
    sections = file.columns.sections
    spans = np.flatnonzero(sections.section == section)
    inside = sections.start[spans].searchsorted(table.start, "right") - 1
    ends = np.append(sections.end[spans], NONE)
    return np.flatnonzero(table.end > ends[inside])


def _second_positions(file: DumpFile) -> Column:
    """Positions after the uses or the instruction of a value. They belong to the next value; its header is missing."""
    values, positions, uses = file.columns.used_values, file.columns.positions, file.columns.uses
    if not len(values):
        return np.zeros(0, np.int64)
    end = np.iinfo(np.int64).max
    first_use = np.append(uses.start, end)[np.minimum(values.first_use, len(uses))]
    limit = np.where(values.use_count > 0, first_use, end)
    quote = values.instruction_start.astype(np.int64)
    limit = np.minimum(limit, np.where(quote != NONE, quote, end))
    return np.flatnonzero(positions.start > np.append(limit, end)[positions.value])


def used_values_before_gaps(dump: DumpSet) -> Column:
    """The used values that also hold the rows of the next one, whose header is missing."""
    return distinct(dump.positions.value[_second_positions(dump.used)]) if dump.used else np.zeros(0, np.int64)


# ---------------------------------------------------------------- the end of a file


def _cut(dump: DumpSet, file: DumpFile, damaged: list[UnknownLine]) -> Cut | None:
    """Where a file is cut off, None if it is complete."""
    if not file.document.data.endswith((b"\n", b"\r")):
        return Cut.LINE
    if damaged:
        # They may be the part that seems to be missing.
        return None
    if file.kind is FileKind.BUFFER_ASSIGNMENT and (cut := _cut_in_allocations(dump, file)):
        return cut
    is_total = len(file.columns.totals) and file.kind is not FileKind.MEMORY_USAGE_REPORT
    # A single missing value may have been deleted.
    has_header = Section.USED_VALUES in file.columns.sections.section
    if is_total and len(dump.slices) > has_header and not len(file.columns.used_values):
        return Cut.USED_VALUES
    if file is dump.used and (cut := _cut_in_used_values(dump, file)):
        return cut
    if file is dump.live:
        return _cut_in_live_ranges(dump, file)
    return None


def _cut_in_allocations(dump: DumpSet, file: DumpFile) -> Cut | None:
    slices, allocations = file.columns.slices, file.columns.allocations
    if not ends_in(file, Section.BUFFER_ASSIGNMENT):
        return None
    if not len(allocations):
        return Cut.ALLOCATIONS
    if dump.used is None and not len(file.columns.totals):
        if _has_several_parts(dump, file):
            return Cut.USED_VALUES
        return Cut.LAST_ALLOCATION if _has_space(dump) else None
    is_missing = ~np.isin(dump.used_values.id, slices.id) & (dump.used_values.id != NONE)
    missing = dump.used_values.id[is_missing]
    # Where all allocations of a memory space are cut off, its values look like views.
    reported = [color for other in dump.files for color in other.columns.report_spaces.color.tolist()]
    is_view = views_in_used_values(dump)[is_missing]
    is_view &= ~np.isin(dump.used_values.color[is_missing], reported)
    total = sum(dump.totals.size_bytes.tolist())
    # A single missing value may have been deleted, but not together with bytes of the total.
    if not np.all(is_view) and misplaced_allocation(dump) == NONE and sum(allocations.size_bytes.tolist()) < total:
        return Cut.SLICES
    # Values ascend by id in each allocation, so those that are cut off have higher ids than the last one.
    last = slices.id[-1] if len(allocations) and allocations.slice_count[-1] else NONE
    return Cut.SLICES if len(missing) > 1 and missing.min() > last else None


def _has_several_parts(dump: DumpSet, file: DumpFile) -> bool:
    """Whether a release of XLA that prints all parts to one file printed this one."""
    data, starts = file.document.data, file.columns.allocations.start
    # Such releases print an empty line between two parts, and some of them addresses.
    if ends_with_empty_line(data):
        return True
    if len(starts) and b": 0x" in data[int(starts[0]) : data.find(b",", int(starts[0])) + 1]:
        return True
    # Newer releases print reports by memory space, without a total of their own.
    return any(len(other.columns.totals) for other in dump.files if other.kind is FileKind.MEMORY_USAGE_REPORT)


def _has_space(dump: DumpSet) -> bool:
    """Whether the last allocation has bytes after all of its values. Each allocation ends where one of its values does;
    without values are only preallocated ones of size 0.
    """
    allocations, slices = dump.allocations, dump.slices
    rows = dump.slices.allocation == len(allocations) - 1
    end = (slices.offset + slices.size_bytes)[rows].max(initial=0)
    is_preallocated = allocations.kind[-1] & int(Kind.PREALLOCATED_TEMP) != 0
    return bool(end < allocations.size_bytes[-1]) or not (np.any(rows) or is_preallocated)


def _cut_in_used_values(dump: DumpSet, file: DumpFile) -> Cut | None:
    values = dump.used_values
    if not len(values) or not ends_in(file, Section.USED_VALUES):
        return None
    is_quoted = values.instruction_start != NONE
    # Every value has the line ` uses:`, with or without uses.
    last = file.document.data[int(values.start[-1]) :]
    if not values.position_count[-1] or b" uses:" not in last or (is_quoted.any() and not is_quoted[-1]):
        return Cut.USED_VALUE
    quote = dump.instruction_text(len(values) - 1) or b""
    # The text of an instruction may have several lines.
    if b"\n" in quote and quote.count(b"{") > quote.count(b"}"):
        return Cut.USED_VALUE
    if (dump.slices.id > values.id.max()).sum() > 1:
        return Cut.USED_VALUES
    # XLA releases that quote instructions also print live ranges.
    if file.kind is FileKind.BUFFER_ASSIGNMENT and is_quoted.any() and dump.live is None:
        return Cut.LIVE_RANGES
    return None


_NO_PEAK: Final = b"Peak memory could not be determined"


def _cut_in_live_ranges(dump: DumpSet, file: DumpFile) -> Cut | None:
    columns = file.columns
    sections = set(columns.sections.section.tolist())
    if not len(columns.live_range_headers) or columns.live_range_headers.maximum[0] == NONE:
        return None
    if not len(columns.live_ranges) and Section.BUFFER_LIVE_RANGES not in sections:
        return Cut.LIVE_RANGES if ends_in(file, Section.LIVE_RANGES) else None
    # XLA releases that quote instructions also print a peak.
    is_recent = file.kind is FileKind.LIVE_RANGE or np.any(dump.used_values.instruction_start != NONE)
    if is_recent and Section.PEAK not in sections and not len(columns.peak_buffers):
        is_unknown = _NO_PEAK in file.document.data[int(columns.sections.end[-1]) - len(_NO_PEAK) :]
        return None if is_unknown or not ends_in(file, Section.LIVE_RANGES) else Cut.PEAK_LIST
    if not len(columns.peaks) or not ends_in(file, Section.PEAK):
        return None
    if _is_peak_cut(dump):
        return Cut.PEAK_LIST
    # XLA releases that print live ranges to a file of their own also print stack traces.
    # They have done so since they print the ids of stack frames.
    has_traces = file.kind is FileKind.LIVE_RANGE or b" stack_frame_id=" in file.document.data
    return Cut.STACK_TRACES if has_traces else None


def _is_peak_cut(dump: DumpSet) -> bool:
    """Whether the list of the peak lacks its end: at least two values, as a single one may have been deleted."""
    ranges, buffers, step = dump.live_ranges, dump.peak_buffers, dump.peaks.step[0]
    live = np.flatnonzero((ranges.start_step <= step) & (step <= ranges.end_step))
    if len(live) - len(buffers) < 2:
        return False
    if np.any(buffers.cumulative_bytes == NONE):
        # Older lists have the order of the live ranges.
        return bool(np.array_equal(ranges.name[live[: len(buffers)]], buffers.name))
    # Newer lists are sorted by size, the largest first.
    sizes = np.sort(taken(dump.logical_bytes, dump.value_of_live_range[live]))[::-1]
    return bool(np.array_equal(sizes[: len(buffers)], buffers.size_bytes))


def ends_in(file: DumpFile, section: Section) -> bool:
    """Return whether a section of the given kind is the last of the file. A last line without a line end is ignored."""
    sections, data = file.columns.sections, file.document.data
    ends = sections.end[sections.section == section]
    end = end_of_lines(data)
    blank = _BLANK.match(data, int(ends[-1]), end) if len(ends) else None
    return blank is not None and blank.end() == end


_BLANK: Final = re.compile(rb"\s*+")


def misplaced_allocation(dump: DumpSet) -> int:
    """Return the first allocation whose number is not its place in the list, NONE if there is none. A header that could
    not be read has no number.
    """
    index = dump.allocations.index
    return next(iter(marked((index != np.arange(len(index))) & (index != NONE))), NONE)
