"""What a memory usage report proves without the buffer assignment: the bytes of each memory space, and its buffers.

Reports of XLA until 2025 list the headers of all allocations, with their kinds and rounded sizes. Newer ones have a
table for each allocation and the total of each memory space, but no kinds. An allocation with a table of several
offsets is not thread-local: XLA gives each thread-local buffer an allocation of its own
(`BufferAssigner::AssignBuffersForComputations`).
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from xla_lens.model.tables.backend import Backend
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.kinds import KIND_NAMES
from xla_lens.syntax.columns import NONE, rows_of
from xla_lens.syntax.file_names import FileKind
from xla_lens.syntax.printed_size import printed_size
from xla_lens.text.patterns import lazy_pattern

MOST_TABLES: Final = 50
"""A report has a table for up to this many allocations of a memory space, and leaves out only small ones after that
(`BufferAssignment::MemoryUsageReport`).
"""


class Interval(NamedTuple):
    """A number of bytes of which only bounds are known, both included."""

    least: int
    most: int

    @property
    def is_exact(self) -> bool:
        """Whether the number is known."""
        return self.least == self.most

    def __add__(self, other: "Interval") -> "Interval":  # type: ignore[override]
        return Interval(self.least + other.least, self.most + other.most)

    def taken_from(self, whole: "Interval") -> "Interval":
        """What remains of `whole` without these bytes, which are a part of it."""
        return Interval(max(0, whole.least - self.most), max(0, whole.most - self.least))


class ReportedBuffer(NamedTuple):
    """Bytes of an allocation that one value takes, or several in turn. `kind` is that of the allocation, a name of
    `KIND_NAMES`, None where the report has no kinds. `shapes` is the printed list. `start` is where the row starts.
    """

    color: int
    kind: str | None
    size: str
    size_bytes: Interval
    values: int
    shapes: str
    start: int


class ReportedSpace(NamedTuple):
    """The bytes of a memory space, and those that the device must provide: without thread-local allocations."""

    color: int
    reserved: Interval
    needed: Interval
    kinds: dict[str, Interval] | None
    """The bytes by the kind of the allocation, None where the report has no kinds."""


def usage_report(dump: DumpSet) -> DumpFile | None:
    """Return the memory usage report of a set that has no buffer assignment, None without one that states a total."""
    if dump.assignment is not None:
        return None
    for file in dump.files:
        if file.kind is FileKind.MEMORY_USAGE_REPORT and (len(file.columns.report_spaces) or len(file.columns.totals)):
            return file
    return None


def reported_spaces(dump: DumpSet) -> list[ReportedSpace]:
    """Return the memory spaces of a set that has a memory usage report but no buffer assignment, by color. What has a
    negative number or total is damaged and left out.
    """
    file = usage_report(dump)
    if file is None:
        return []
    found = _by_tables(dump, file) if len(file.columns.report_spaces) else _by_headers(file)
    return [space for space in found if space.color >= 0 and space.reserved.least >= 0]


def reported_buffers(dump: DumpSet) -> list[ReportedBuffer]:
    """Return the buffers of a set that has a memory usage report but no buffer assignment, the largest first."""
    file = usage_report(dump)
    found = [buffer for buffer in (_buffers(file) if file else ()) if buffer.color >= 0 and buffer.values >= 0]
    return sorted(found, key=lambda buffer: (-buffer.size_bytes.most, buffer.start))


# ---------------------------------------------------------------- tables without kinds


def _by_tables(dump: DumpSet, file: DumpFile) -> Iterator[ReportedSpace]:
    spaces, tables, rows = file.columns.report_spaces, file.columns.report_tables, file.columns.report_rows
    by_row = {buffer.start: buffer for buffer in _buffers(file)}
    for color, total in sorted(zip(spaces.color.tolist(), spaces.size_bytes.tolist(), strict=True)):
        here = (tables.color == color).nonzero()[0].tolist()
        perhaps_local, surely_needed = Interval(0, 0), 0
        for table in here:
            buffers = [by_row[rows.start.item(row)] for row in rows_of(tables.first_row, tables.row_count, table)]
            offsets = [rows.offset.item(row) for row in rows_of(tables.first_row, tables.row_count, table)]
            if len(buffers) == 1 and tables.rest[table] == NONE and _may_be_local(dump, buffers[0]):
                perhaps_local += buffers[0].size_bytes
            else:
                ends = (start + buffer.size_bytes.least for start, buffer in zip(offsets, buffers, strict=True))
                surely_needed += max(ends, default=0)
        # Then each allocation has a table.
        if len(here) <= MOST_TABLES and _is_whole(file):
            surely_needed = max(surely_needed, total - perhaps_local.most)
        yield ReportedSpace(color, Interval(total, total), Interval(min(surely_needed, total), total), None)


_SCALAR: Final = lazy_pattern(r"\w+\[\]|\((?:\w+\[\](?:, )?)+\)")


def _may_be_local(dump: DumpSet, buffer: ReportedBuffer) -> bool:
    """Whether a buffer that is alone in its allocation may be thread-local. On CPUs and GPUs, such buffers belong to
    the computations that operations such as reductions apply to scalars.
    """
    return dump.backend not in (Backend.CPU, Backend.GPU) or bool(_SCALAR.fullmatch(buffer.shapes))


def _is_whole(file: DumpFile) -> bool:
    """Whether a report ends as XLA ends the part of a memory space, and is not cut off between two tables."""
    return file.document.data.replace(b"\r\n", b"\n").endswith(b"\n\n\n")


def _buffers(file: DumpFile) -> Iterator[ReportedBuffer]:
    rows, data, kinds = file.columns.report_rows, file.document.data, dict(_kinds(file))
    for row in range(len(rows)):
        cells = data[rows.start[row] : rows.shapes_start[row]].split(b";")
        size = cells[1].decode("utf-8", "replace").strip()
        shapes = data[rows.shapes_start[row] : rows.end[row]].decode("utf-8", "replace").strip()
        kind, color = kinds.get(rows.index.item(row), (None, rows.color.item(row)))
        values, start = rows.values.item(row), rows.start.item(row)
        yield ReportedBuffer(color, kind, size, _interval(size), values, shapes, start)


def _interval(size: str) -> Interval:
    printed = printed_size(size)
    return Interval(printed.least_bytes, printed.most_bytes) if printed else Interval(0, 0)


# ---------------------------------------------------------------- lists with kinds

_HEADER: Final = lazy_pattern(
    r"allocation (?P<number>\d{1,18}): (?:0x[0-9a-f]+, )?size (?P<size>[\d.]+\w*)(?:, color (?P<color>\d{1,9}))?"
)
_KIND_WORDS: Final = (
    (r"\bparameter \d", "parameter"),
    (r"\bconstant\b", "constant"),
    (r"\bthread-local\b", "thread-local"),
    (r"\bpreallocated-temp\b", "temp"),
    (r"\boutput shape is\b|\bmaybe-live-out\b", "output"),
)
"""The words of a header for each kind, in the order in which they count."""


class _Header(NamedTuple):
    number: int
    color: int
    kind: str
    size_bytes: Interval


def _headers(file: DumpFile) -> Iterator[_Header]:
    """The headers in the list that has all allocations."""
    table, data = file.columns.report_allocations, file.document.data
    for row in (table.cumulative_start == NONE).nonzero()[0].tolist():
        text = data[table.start[row] : table.end[row]].decode("utf-8", "replace")
        if match := _HEADER.match(text):
            # A shape can contain any words.
            words = re.sub(r"\|[^|]*\|", "", text)
            kind = next((kind for pattern, kind in _KIND_WORDS if re.search(pattern, words)), KIND_NAMES[-1])
            yield _Header(int(match["number"]), int(match["color"] or 0), kind, _interval(match["size"]))


def _kinds(file: DumpFile) -> Iterator[tuple[int, tuple[str, int]]]:
    """The kinds and colors of allocations by their numbers."""
    return ((header.number, (header.kind, header.color)) for header in _headers(file))


def _by_headers(file: DumpFile) -> Iterator[ReportedSpace]:
    """The memory spaces of a report with kinds. It has the exact total of all of them only."""
    total, headers = file.columns.totals.size_bytes.item(0), [*_headers(file)]
    nothing = Interval(0, 0)
    for color in sorted({header.color for header in headers}):
        kinds = dict.fromkeys(KIND_NAMES, nothing)
        for header in headers:
            if header.color == color:
                kinds[header.kind] += header.size_bytes
        others = sum((header.size_bytes for header in headers if header.color != color), nothing)
        listed = sum(kinds.values(), nothing)
        rest = others.taken_from(Interval(total, total))
        least = max(listed.least, rest.least)
        reserved = Interval(least, max(least, min(listed.most, rest.most)))
        needed = kinds["thread-local"].taken_from(reserved)
        yield ReportedSpace(color, reserved, needed, {kind: size for kind, size in kinds.items() if size.most})
