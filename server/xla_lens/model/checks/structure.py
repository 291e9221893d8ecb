"""The checks of a dump's form: lines that are none, parts without their header, and files that were cut off."""

from collections.abc import Iterator
from typing import Final

import numpy as np

from xla_lens.model.checks.findings import Code, Finding, Severity, error
from xla_lens.model.places.places import Place, row_place
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.lookup import taken
from xla_lens.syntax.columns import NONE, Column, Section, Table
from xla_lens.syntax.file_names import FileKind


def check_structure(dump: DumpSet) -> Iterator[Finding]:
    """All findings about the form."""
    for file in dump.files:
        document = file.document
        if not document.data or document.data.isspace():
            yield _syntax(Place(file, 0, 0), what="empty")
        elif not file.columns.has_rows():
            yield _syntax(Place(file, 0, len(document.data)), what="nothing")
        else:
            yield from _form(dump, file)
    yield from _allocation_gaps(dump)


def _form(dump: DumpSet, file: DumpFile) -> Iterator[Finding]:
    missing = _missing_end(dump, file)
    cut = truncated(file, missing) if missing else None
    yield from _unknown_lines(file, cut.place.start if cut else file.document.content_end)
    if cut:
        yield cut
    yield from _other_modules(file)
    yield from _without_header(file)


def truncated(file: DumpFile, missing: str) -> Finding:
    """A file that was cut off, at its last line."""
    end = file.document.content_end
    last_line = file.document.line_span(file.document.row(end))[0]
    return error(Code.TRUNCATED_DUMP, Place(file, last_line, end), what=missing)


def _syntax(place: Place, severity: Severity = Severity.ERROR, **facts: int | str) -> Finding:
    return Finding(Code.SYNTAX, severity, place, facts)


def _unknown_lines(file: DumpFile, end: int) -> Iterator[Finding]:
    """One finding for each run of lines before a byte."""
    document, unknown = file.document, file.columns.unknown_lines
    count = int(unknown.start.searchsorted(end))
    if not count:
        return
    rows = document.line_starts.searchsorted(unknown.start[:count], "right") - 1
    for run in np.split(np.arange(count), np.flatnonzero(np.diff(rows) > 1) + 1):
        place = Place(file, int(unknown.start[run[0]]), int(unknown.end[run[-1]]))
        is_part = bool(document.data[document.line_span(int(rows[run[0]]))[0] : place.start].strip())
        if is_part:
            # An allocation is read whatever else its header says.
            is_read = document.data.startswith(b"allocation ", document.line_span(int(rows[run[0]]))[0])
            yield _syntax(place, Severity.WARNING, what="part", is_read=int(is_read))
        else:
            yield _syntax(place, what="lines", lines=int(rows[run[-1]] - rows[run[0]]) + 1)


def _other_modules(file: DumpFile) -> Iterator[Finding]:
    """One finding a file, at the first of them."""
    others = file.columns.other_modules
    if len(others):
        name = file.document.data[others.name_start[0] : others.name_end[0]].decode("utf-8", "replace")
        yield _syntax(row_place(file, others, 0), Severity.INFORMATION, what="module", name=name)


# ---------------------------------------------------------------- headers


_HEADERS: Final = {
    "allocations": (Section.BUFFER_ASSIGNMENT, "BufferAssignment:"),
    "used_values": (Section.USED_VALUES, "Used values:"),
    "schedule": (Section.INSTRUCTION_SEQUENCE, "InstructionSequence:"),
    "live_ranges": (Section.BUFFER_LIVE_RANGES, "BufferLiveRange:"),
    "peak_buffers": (Section.PEAK, "Live ranges at ... (peak):"),
}
"""Below which header the rows of a table stand."""

_IN_LIVE_RANGES: Final = (Section.INSTRUCTION_SEQUENCE, Section.BUFFER_LIVE_RANGES, Section.PEAK)


def _without_header(file: DumpFile) -> Iterator[Finding]:
    """One finding for each kind of row that stands elsewhere."""
    columns = file.columns
    places: list[tuple[Table, Column, str]] = [
        (table, _outside(file, table, section), header)
        for name, (section, header) in _HEADERS.items()
        for table in [getattr(columns, name)]
    ]
    nested = np.flatnonzero(np.isin(columns.sections.section, _IN_LIVE_RANGES))
    outside = _outside(file, columns.sections, Section.LIVE_RANGES)
    places += [
        (columns.sections, nested[np.isin(nested, outside)], "HloLiveRange (max ...):"),
        (columns.slices, np.flatnonzero(columns.slices.allocation == NONE), "allocation ...:"),
        (columns.positions, np.flatnonzero(columns.positions.value == NONE), "<...>, a value"),
        (columns.uses, np.flatnonzero(columns.uses.value == NONE), "<...>, a value"),
        (columns.positions, _second_positions(file), "<...>, a value"),
    ]
    for table, rows, header in places:
        if len(rows):
            start = int(table.start[rows[0]])
            end = file.document.line_span(file.document.row(start))[1]
            yield _syntax(Place(file, start, end), what="header", header=header, lines=len(rows))


def _outside(file: DumpFile, table: Table, section: Section) -> Column:
    """The rows of a table that are not in a section of a kind."""
    sections = file.columns.sections
    spans = np.flatnonzero(sections.section == section)
    inside = sections.start[spans].searchsorted(table.start, "right") - 1
    ends = np.append(sections.end[spans], NONE)
    return np.flatnonzero(table.end > ends[inside])


def _second_positions(file: DumpFile) -> Column:
    """The positions that follow the uses or the instruction of a value: the next value has no header."""
    values, positions, uses = file.columns.used_values, file.columns.positions, file.columns.uses
    if not len(values):
        return np.zeros(0, np.int64)
    end = np.iinfo(np.int64).max
    first_use = np.append(uses.start, end)[np.minimum(values.first_use, len(uses))]
    limit = np.where(values.use_count > 0, first_use, end)
    limit = np.minimum(limit, np.where(values.instruction_start != NONE, values.instruction_start, end))
    return np.flatnonzero(positions.start > np.append(limit, end)[positions.value])


def used_values_before_gaps(dump: DumpSet) -> Column:
    """The used values that have got what belongs to the next one, whose header is missing."""
    return np.unique(dump.positions.value[_second_positions(dump.used)]) if dump.used else np.zeros(0, np.int64)


# ---------------------------------------------------------------- the end of a file


def _missing_end(dump: DumpSet, file: DumpFile) -> str | None:
    """What is missing at the end of a file that was cut off, None if nothing is."""
    if not file.document.data.endswith((b"\n", b"\r")):
        return "line"
    if len(file.columns.unknown_lines):
        # They may be what is missing.
        return None
    if file.kind is FileKind.BUFFER_ASSIGNMENT and (missing := _missing_slices(dump, file)):
        return missing
    is_total = len(file.columns.totals) and file.kind is not FileKind.MEMORY_USAGE_REPORT
    # A single one may have been taken out.
    has_header = Section.USED_VALUES in file.columns.sections.section
    if is_total and len(dump.slices) > has_header and not len(file.columns.used_values):
        return "values"
    if file is dump.used and (missing := _missing_values(dump, file)):
        return missing
    if file is dump.live:
        return _missing_live_ranges(dump, file)
    return None


def _missing_slices(dump: DumpSet, file: DumpFile) -> str | None:
    """Values ascend by id in each allocation, so the next of the last one would have a higher id than its last."""
    if dump.used is None or not _is_last(file, Section.BUFFER_ASSIGNMENT):
        return None
    slices, allocations = file.columns.slices, file.columns.allocations
    missing = dump.used_values.id[~np.isin(dump.used_values.id, slices.id)]
    missing = missing[missing != NONE]
    last = slices.id[-1] if len(allocations) and allocations.slice_count[-1] else NONE
    # A single one may have been taken out.
    return "slices" if len(missing) > 1 and missing.min() > last else None


def _missing_values(dump: DumpSet, file: DumpFile) -> str | None:
    values = dump.used_values
    if not len(values) or not _is_last(file, Section.USED_VALUES):
        return None
    is_quoted = values.instruction_start != NONE
    if not values.position_count[-1] or (is_quoted.any() and not is_quoted[-1]):
        return "value"
    if (dump.slices.id > values.id.max()).sum() > 1:
        return "values"
    # Releases that quote instructions print live ranges.
    if file.kind is FileKind.BUFFER_ASSIGNMENT and is_quoted.any() and dump.live is None:
        return "live ranges"
    return None


_NO_PEAK: Final = b"Peak memory could not be determined"


def _missing_live_ranges(dump: DumpSet, file: DumpFile) -> str | None:
    columns = file.columns
    sections = set(columns.sections.section.tolist())
    if not len(columns.live_range_headers) or columns.live_range_headers.maximum[0] == NONE:
        return None
    if not len(columns.live_ranges) and Section.BUFFER_LIVE_RANGES not in sections:
        return "live ranges" if _is_last(file, Section.LIVE_RANGES) else None
    # Releases that quote instructions print a peak.
    is_recent = file.kind is FileKind.LIVE_RANGE or np.any(dump.used_values.instruction_start != NONE)
    if is_recent and Section.PEAK not in sections and not len(columns.peak_buffers):
        is_said = _NO_PEAK in file.document.data[int(columns.sections.end[-1]) - len(_NO_PEAK) :]
        return None if is_said or not _is_last(file, Section.LIVE_RANGES) else "peak"
    if len(columns.peaks) and _is_last(file, Section.PEAK):
        if _is_peak_cut(dump):
            return "peak"
        # Releases that print live ranges to a file of their own print stack traces.
        return "stack traces" if file.kind is FileKind.LIVE_RANGE else None
    if len(columns.stack_trace_headers) and _is_last(file, Section.STACK_TRACES):
        # The last row tells that bytes remain, and all rows up to there agree.
        total, tree = columns.stack_trace_headers.size_bytes.sum(), columns.stack_traces
        left = total - tree.current_bytes.sum()
        is_left = left > 0 and left == np.append(total, tree.remaining_bytes)[-1]
        return "stack traces" if is_left and total == dump.peak_buffers.size_bytes.sum() else None
    return None


def _is_peak_cut(dump: DumpSet) -> bool:
    """Whether the list of the peak is the beginning of what is live there. Where one is missing it was taken out."""
    ranges, buffers, step = dump.live_ranges, dump.peak_buffers, dump.peaks.step[0]
    live = np.flatnonzero((ranges.start_step <= step) & (step <= ranges.end_step))
    missing = len(live) - len(buffers)
    if missing < 2:
        return False
    if np.any(buffers.cumulative_bytes == NONE):
        # In the order of the live ranges.
        return bool(np.array_equal(ranges.name[live[: len(buffers)]], buffers.name))
    # The biggest first.
    sizes = np.sort(taken(dump.logical_bytes, dump.value_of_live_range[live]))[::-1]
    return bool(np.array_equal(sizes[: len(buffers)], buffers.size_bytes))


def _is_last(file: DumpFile, section: Section) -> bool:
    """Whether a file ends with a section of a kind."""
    sections = file.columns.sections
    ends = sections.end[sections.section == section]
    return bool(len(ends)) and int(ends[-1]) >= file.document.content_end


# ---------------------------------------------------------------- allocations


def _gaps(dump: DumpSet) -> Column:
    """The rows of allocations before which one is missing. XLA numbers them from 0 on."""
    index = dump.allocations.index
    if np.any(index == NONE):
        return np.zeros(0, np.int64)
    before = np.append(NONE, index)[:-1]
    # Numbers that stand elsewhere are out of order, not missing.
    known = np.unique(index)
    between = known.searchsorted(index) - known.searchsorted(before, "right")
    return np.flatnonzero(index - before - 1 > np.maximum(between, 0))


def allocations_before_gaps(dump: DumpSet) -> Column:
    """The allocations that may have got values of others, whose header is missing."""
    return _gaps(dump) - 1


def _allocation_gaps(dump: DumpSet) -> Iterator[Finding]:
    for row in _gaps(dump).tolist():
        if dump.assignment:
            first = int(dump.allocations.index[row - 1]) + 1 if row else 0
            last = int(dump.allocations.index[row]) - 1
            place = row_place(dump.assignment, dump.allocations, row)
            yield _syntax(place, what="allocations", first=first, last=last)
