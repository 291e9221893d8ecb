"""Checks of the structure of files: unknown lines, missing headers, and files that are cut off."""

from collections.abc import Iterable
from itertools import groupby
from operator import itemgetter
from typing import Final

import numpy as np

from xla_lens.model.checks.codes import Severity
from xla_lens.model.checks.context import marked
from xla_lens.model.checks.problems import Cut, Finding, Findings, Problem, error
from xla_lens.model.checks.resemblance import Damage, UnknownLine
from xla_lens.model.checks.value_tables import views_in_used_values
from xla_lens.model.places.places import Place, row_place
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.lookup import distinct, taken
from xla_lens.syntax.columns import NONE, Column, FileTable
from xla_lens.syntax.file_names import FileKind
from xla_lens.syntax.rows import end_of_lines
from xla_lens.syntax.tables import DumpSection
from xla_lens.text.patterns import lazy_pattern


def files_are_well_formed(dump: DumpSet, lines: Iterable[UnknownLine], damage: Damage) -> Findings:
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
    yield from _large_sizes(dump)


def unreadable(file: DumpFile) -> Finding:
    """The finding for a file that could not be read."""
    return error(Place(file, 0, 0), Problem.UNREADABLE_FILE(file.unreadable))


def _lines(dump: DumpSet, file: DumpFile, lines: list[UnknownLine], damage: Damage) -> Findings:
    cut = _cut(dump, file, [line for line in lines if line.key in damage])
    truncation = truncated(file, cut) if cut else None
    end = truncation.place.start if truncation else file.document.content_end
    yield from _unknown_lines(file, [line for line in lines if line.start < end], damage)
    if truncation:
        yield truncation
    others = file.columns.other_modules
    if len(others):
        name = file.document.data[others.name_start[0] : others.name_end[0]]
        yield Finding(Severity.INFORMATION, row_place(file, others, 0), Problem.SECOND_MODULE(name))
    yield from _missing_headers(file)


def truncated(file: DumpFile, cut: Cut) -> Finding:
    """The finding for a file that is cut off, at its last line."""
    end = file.document.content_end
    last_line = file.document.line_at(end)[0]
    return error(Place(file, last_line, end), Problem.TRUNCATED_FILE(cut))


def _unknown_lines(file: DumpFile, lines: list[UnknownLine], damage: Damage) -> Findings:
    """One finding for each run of unknown lines, which are either all damaged rows or all notes."""
    keys = [(file.document.row(line.start) - place, line.key in damage) for place, line in enumerate(lines)]
    for (_, is_damaged), group in groupby(zip(keys, lines, strict=True), itemgetter(0)):
        run = [line for _, line in group]
        rows = tuple(dict.fromkeys(damage[line.key] for line in run)) if is_damaged else ()
        # Headers of allocations are read in spite of unknown parts.
        is_part = run[0].is_part
        severity = (Severity.WARNING if is_part else Severity.ERROR) if is_damaged else Severity.INFORMATION
        part, whole = Problem.UNKNOWN_LINE_PART, Problem.UNKNOWN_LINES
        problem = part(rows[0] if rows else None) if is_part else whole(len(run), rows)
        yield Finding(severity, Place(file, run[0].start, run[-1].end), problem)


_LARGEST: Final = float(1 << 62)
"""From which sum on, a further one may not fit into 64 bits."""


def _large_sizes(dump: DumpSet) -> Findings:
    """Sums of sizes fit into 64 bits."""
    tables: tuple[tuple[DumpFile | None, FileTable, tuple[Column, ...]], ...] = (
        (dump.assignment, dump.allocations, (dump.allocations.size_bytes,)),
        (dump.assignment, dump.slices, (dump.slices.size_bytes, dump.slices.offset)),
        (dump.live, dump.peak_buffers, (dump.peak_buffers.size_bytes,)),
    )
    for file, table, columns in tables:
        sizes = np.sum([np.abs(column.astype(float)) for column in columns], axis=0)
        if file and sizes.sum() >= _LARGEST:
            yield error(row_place(file, table, int(sizes.argmax())), Problem.SIZES_TOO_LARGE(len(sizes)))


def _missing_headers(file: DumpFile) -> Findings:
    """The printed peak, the total and the headers of used values are there. Without other headers, nothing is missing:
    all rows are read.
    """
    columns = file.columns
    used_values = columns.sections.start[columns.sections.section == DumpSection.USED_VALUES]
    missing = (
        (columns.peaks, columns.peak_buffers.start, "Live ranges at N (peak):"),
        (columns.totals, used_values, "Total bytes used: N"),
        ((), columns.positions.start[_second_positions(file)], "<id name @color>"),
    )
    for table, below, header in missing:
        for start in below[: not len(table)].tolist():
            end = file.document.line_at(start)[1]
            yield error(Place(file, start, end), Problem.MISSING_HEADER(header))


def _second_positions(file: DumpFile) -> Column:
    """Positions after the uses or the instruction of a value. They belong to the next value; its header is missing."""
    values, positions = file.columns.used_values, file.columns.positions
    first_use = taken(file.columns.uses.start, np.where(values.use_count > 0, values.first_use, NONE))
    limits = np.stack((first_use, values.instruction_start))
    limit = np.where(limits == NONE, len(file.document.data), limits).min(axis=0)
    return np.flatnonzero(positions.start > np.append(limit, len(file.document.data))[positions.value])


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
    has_header = DumpSection.USED_VALUES in file.columns.sections.section
    if is_total and len(dump.slices) > has_header and not len(file.columns.used_values):
        return Cut.USED_VALUES
    if file is dump.used and (cut := _cut_in_used_values(dump, file)):
        return cut
    if file is dump.live:
        return _cut_in_live_ranges(dump, file)
    return None


def _cut_in_allocations(dump: DumpSet, file: DumpFile) -> Cut | None:
    slices, allocations = file.columns.slices, file.columns.allocations
    if not ends_in(file, DumpSection.BUFFER_ASSIGNMENT):
        return None
    if not len(allocations):
        return Cut.ALLOCATIONS
    if dump.used is None:
        return None
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


def _cut_in_used_values(dump: DumpSet, file: DumpFile) -> Cut | None:
    values = dump.used_values
    if not len(values) or not ends_in(file, DumpSection.USED_VALUES):
        return None
    is_quoted = values.instruction_start != NONE
    # Every value has the line ` uses:`, with or without uses.
    last = file.document.data[values.start.item(-1) :]
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
    if not len(columns.live_ranges) and DumpSection.BUFFER_LIVE_RANGES not in sections:
        return Cut.LIVE_RANGES if ends_in(file, DumpSection.LIVE_RANGES) else None
    # XLA releases that quote instructions also print a peak.
    is_recent = file.kind is FileKind.LIVE_RANGE or np.any(dump.used_values.instruction_start != NONE)
    if is_recent and DumpSection.PEAK not in sections and not len(columns.peak_buffers):
        is_unknown = _NO_PEAK in file.document.data[columns.sections.end.item(-1) - len(_NO_PEAK) :]
        return None if is_unknown or not ends_in(file, DumpSection.LIVE_RANGES) else Cut.PEAK_LIST
    if not len(columns.peaks) or not ends_in(file, DumpSection.PEAK):
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


def ends_in(file: DumpFile, section: DumpSection) -> bool:
    """Return whether a section of the given kind is the last of the file. A last line without a line end is ignored."""
    sections, data = file.columns.sections, file.document.data
    ends = sections.end[sections.section == section]
    end = end_of_lines(data)
    blank = _BLANK.match(data, ends.item(-1), end) if len(ends) else None
    return blank is not None and blank.end() == end


_BLANK: Final = lazy_pattern(rb"\s*+")


def misplaced_allocation(dump: DumpSet) -> int:
    """Return the first allocation whose number is not its place in the list, NONE if there is none. A header that could
    not be read has no number.
    """
    index = dump.allocations.index
    return next(iter(marked((index != np.arange(len(index))) & (index != NONE))), NONE)
