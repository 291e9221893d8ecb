"""Checks of the memory usage report. They run on dumps without errors, as all of it follows from the allocations."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import zip_longest
from typing import Final, TypeAlias

import numpy as np

from xla_lens.model.checks.allocations import rounded_size_agrees
from xla_lens.model.checks.context import Context, marked
from xla_lens.model.checks.findings import Finding, Related, Relation, error, of_another_compilation
from xla_lens.model.checks.problems import Cut, Problem
from xla_lens.model.checks.structure import truncated
from xla_lens.model.places.places import (
    Place,
    report_table_allocation,
    report_table_allocations,
    row_place,
    total_place,
)
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.lookup import distinct
from xla_lens.syntax.columns import NONE, Column, ReportAllocations, ReportRows
from xla_lens.syntax.file_names import FileKind
from xla_lens.syntax.hlo.shapes import without_layout
from xla_lens.syntax.human_sizes import human_size
from xla_lens.syntax.numbers import integer


def reports_match_allocations(context: Context) -> Iterator[Finding]:
    """A memory usage report agrees with the allocations, and is complete."""
    for file in context.dump.files:
        if file.kind is not FileKind.MEMORY_USAGE_REPORT:
            continue
        # Rows belong to allocations by their order, so one misplaced row makes all later ones unreliable.
        found = [*_spaces(context.dump, file)] or [*_allocations(context, file)]
        is_cut = not found and context.is_whole(file) and _is_cut(context.dump, file)
        if not found and not is_cut:
            found = [*_tables(context, file)]
        totals = [*_totals(context.dump, file)]
        found += totals
        if totals and len(found) > _MAXIMUM_EDITED:
            found.sort(key=lambda finding: finding.place.start)
            yield of_another_compilation(found, Problem.FOREIGN_REPORT)
            continue
        yield from found
        if is_cut:
            yield truncated(file, Cut.REPORT_TABLES)


def rounded_sizes_agree(context: Context) -> Iterator[Finding]:
    """The rounded form of each total in a report agrees with the bytes, unless these are wrong."""
    for file in context.dump.files:
        wrong = {finding.place.start for finding in _totals(context.dump, file)}
        for table in (file.columns.totals, file.columns.report_spaces):
            for row in range(len(table)) if file.kind is FileKind.MEMORY_USAGE_REPORT else ():
                if int(table.start[row]) not in wrong:
                    yield from rounded_size_agrees(file, table, row)


_MAXIMUM_EDITED: Final = 2
"""The most differences that one edit of a report causes."""


def _spaces(dump: DumpSet, file: DumpFile) -> Iterator[Finding]:
    """The report has a part for each memory space, in the order of their numbers. Reports the first that is wrong."""
    spaces = file.columns.report_spaces
    colors = zip_longest(spaces.color.tolist(), distinct(dump.allocations.color).tolist())
    for row, (color, expected) in enumerate(colors):
        if row < len(spaces) and color != expected:
            place = Place(file, int(spaces.header_start[row]), int(spaces.header_end[row]))
            words = "memory space", str(color), "" if expected is None else str(expected)
            yield error(place, Problem.REPORT_MISMATCH(*words))
            return


_MAXIMUM_SHOWN: Final = 50
"""XLA's own limit: a report lists up to this many allocations of a memory space, and leaves out only small ones after
that (BufferAssignment::MemoryUsageReport).
"""


_LAST_COLUMN: Final = b"; shapes_list"
"""The end of the names of a table's columns. A line of dashes always follows, even if the table has no rows."""


def _is_cut(dump: DumpSet, file: DumpFile) -> bool:
    """Whether rows, tables or memory spaces are missing at the end of a report."""
    columns, colors = file.columns, dump.allocations.color
    tables = columns.report_tables
    if file.document.data.endswith(_LAST_COLUMN, 0, file.document.content_end):
        return True
    if len(tables) and tables.rest[-1] == NONE and tables.end[-1] >= file.document.content_end:
        values = dump.values_of_allocation(report_table_allocation(dump, tables, len(tables) - 1))
        if tables.row_count[-1] < len(distinct(dump.values.offset[values])):
            return True
    listed = columns.report_allocations
    if len(listed) and listed.cumulative_start[-1] == NONE and listed.end[-1] > np.append(NONE, tables.end)[-1]:
        # Each allocation has a table unless it holds exactly one value.
        allocation = dump.allocation_row(int(listed.index[-1]))
        if allocation != NONE and dump.allocations.slice_count[allocation] != 1:
            return True
    if len(columns.report_spaces):
        color = columns.report_spaces.color[-1]
        here = int((colors == color).sum())
        return bool(color < colors.max(initial=NONE)) or int((tables.color == color).sum()) < min(here, _MAXIMUM_SHOWN)
    return len(columns.totals) > 0 and int((listed.cumulative_start == NONE).sum()) < len(dump.allocations)


def _totals(dump: DumpSet, file: DumpFile) -> Iterator[Finding]:
    """The totals of all allocations and of each memory space are sums of their allocations."""
    colors, sizes, columns, printed = (
        dump.allocations.color,
        dump.allocations.size_bytes,
        file.columns,
        total_place(dump),
    )
    for row, total in enumerate(columns.totals.size_bytes.tolist()):
        if total != (reserved := sum(sizes.tolist())):
            related = [Related(printed, Relation.TOTAL)] if printed else []
            yield error(row_place(file, columns.totals, row), Problem.REPORT_TOTAL(total, None, reserved), *related)
    spaces = columns.report_spaces
    for row, (color, total) in enumerate(zip(spaces.color.tolist(), spaces.size_bytes.tolist(), strict=True)):
        reserved = sum(sizes[colors == color].tolist())
        if color in colors and total != reserved:
            problem = Problem.REPORT_TOTAL(total, dump.space_id(color), reserved)
            yield error(row_place(file, spaces, row), problem)


_SIZE: Final = re.compile(rb"size -?\d+")
_ADDRESS: Final = re.compile(rb"^(allocation \d+: )0x[0-9a-f]+, ")
_Cell: TypeAlias = tuple[str, bytes, bytes]
"""What a part of a line is, its text, and the text that the buffer assignment gives, empty if it has no such part."""


def _first_wrong(place: Place, cells: Iterable[_Cell], *related: Related) -> list[Finding]:
    """A finding for the first cell of a line that is not as expected."""
    wrong = (cell for cell in cells if cell[1] != cell[2])
    return [error(place, Problem.REPORT_MISMATCH(*cell), *related) for cell in wrong][:1]


def _allocations(context: Context, file: DumpFile) -> Iterator[Finding]:
    """Both lists have all allocations, the largest first. Reports the first line of each list that is wrong."""
    allocations, table, data = context.dump.allocations, file.columns.report_allocations, file.document.data
    is_by_size, sizes = table.cumulative_start != NONE, allocations.size_bytes
    order = np.lexsort((allocations.index, -sizes)).tolist()
    reserved = sum(sizes.tolist())
    for rows in (np.flatnonzero(is_by_size), np.flatnonzero(~is_by_size)):
        cumulative = 0
        for row, allocation in zip(rows.tolist(), [*order, *[NONE] * len(rows)], strict=False):
            header, expected = data[table.start[row] : table.end[row]].rstrip(b":"), b""
            if allocation != NONE:
                expected = _header(context.dump, file, int(table.start[row]), allocation) or header
                cumulative += int(sizes[allocation])
            cells = [("header", header, expected)]
            if is_by_size[row]:
                size, rest = human_size(cumulative), human_size(reserved - cumulative)
                cells += [
                    ("cumulative size", _with_share(file, table, row), size + _share(cumulative, reserved)),
                    ("remaining size", data[table.remaining_start[row] : table.remaining_end[row]], rest),
                ]
            related = context.related(allocations, allocation, Relation.ALLOCATION)
            if wrong := _first_wrong(row_place(file, table, row), cells, *related):
                yield from wrong
                break


def _header(dump: DumpSet, file: DumpFile, line: int, allocation: int) -> bytes | None:
    """The header of an allocation with a rounded size. None if a part of it or of the line in the report is unknown."""
    start, end = int(dump.allocations.start[allocation]), int(dump.allocations.end[allocation])
    if dump.assignment is None or _has_unknown(dump.assignment, start) or _has_unknown(file, line):
        return None
    header = _ADDRESS.sub(rb"\1", dump.assignment.document.data[start:end])
    size = human_size(int(dump.allocations.size_bytes[allocation]))
    return _SIZE.sub(b"size " + size, header, count=1).rstrip(b":")


def _has_unknown(file: DumpFile, start: int) -> bool:
    """Whether a part of the line at a byte is unknown."""
    end = file.document.line_span(file.document.row(start))[1]
    first, last = file.columns.unknown_lines.start.searchsorted((start, end))
    return bool(last > first)


# ---------------------------------------------------------------- the tables of an allocation


def _tables(context: Context, file: DumpFile) -> Iterator[Finding]:
    """The table of an allocation has a row for each offset at which values start. Reports the first wrong row."""
    dump, tables = context.dump, file.columns.report_tables
    allocations = report_table_allocations(dump, tables, np.arange(len(tables)))
    for table in marked(allocations != NONE):
        values = dump.values_of_allocation(int(allocations[table]))
        if np.any(context.values[values]):
            continue
        # Values at the same offset keep the order of the dump.
        values = values[np.argsort(dump.values.offset[values], kind="stable")]
        offsets, first = np.unique(dump.values.offset[values], return_index=True)
        groups = dict(zip(offsets.tolist(), np.split(values, first[1:]), strict=False))
        wrong = _rows(context, file, table, groups)
        if not wrong and context.is_whole(file):
            place = row_place(file, tables, table)
            if tables.rest[table] != NONE:
                # The last line has the number of rows that are left out.
                place = Place(file, file.document.line_span(file.document.row(place.end))[0], place.end)
            printed = int(tables.row_count[table]) + max(int(tables.rest[table]), 0)
            wrong = _first_wrong(place, [("number of offsets", b"%d" % printed, b"%d" % len(groups))])
        yield from wrong


def _rows(context: Context, file: DumpFile, table: int, groups: Mapping[int, Column]) -> list[Finding]:
    """The first wrong row of a table. A row has the size of the largest value at its offset, the number and the shapes
    of the values there, and the sum of the sizes up to the row. `groups` are the values at each offset.
    """
    dump, rows, data, tables = context.dump, file.columns.report_rows, file.document.data, file.columns.report_tables
    largest = {offset: int(dump.values.size_bytes[values].max()) for offset, values in groups.items()}
    cumulative, total, seen = 0, sum(largest.values()), dict[int, Place]()
    for row in range(tables.first_row[table], tables.first_row[table] + tables.row_count[table]):
        offset, place = int(rows.offset[row]), row_place(file, rows, row)
        if offset in seen or offset not in groups:
            others = [Related(seen[offset], Relation.OTHER_OCCURRENCE)] if offset in seen else []
            return _first_wrong(place, [("offset", b"%d" % offset, b"")], *others)
        seen[offset] = place
        size, values = largest[offset], groups[offset]
        cumulative += size
        shapes = data[rows.shapes_start[row] : rows.end[row]]
        cells = (
            ("size", data[rows.size_start[row] : rows.size_end[row]], human_size(size)),
            ("cumulative size", _with_share(file, rows, row), human_size(cumulative) + _share(cumulative, total)),
            ("number of values", b"%d" % rows.values[row], b"%d" % len(values)),
            ("list of shapes", shapes, _shapes((dump.shape(value) or b"" for value in values.tolist()), shapes)),
        )
        related = context.related(dump.slices, dump.values.slice[values[0]], Relation.SLICE)
        if wrong := _first_wrong(place, cells, *related):
            return wrong
    return []


def _share(part: int, total: int) -> bytes:
    """A share of a sum as XLA prints it behind the part."""
    return b"(%3.0f%%)" % (100.0 * part / total) if total else b"(nan%)"


def _with_share(file: DumpFile, table: ReportRows | ReportAllocations, row: int) -> bytes:
    """A cumulative size and its share of the sum, as the report prints them."""
    data, start, end = file.document.data, int(table.cumulative_start[row]), int(table.cumulative_end[row])
    # Some platforms print the sign of what is not a number.
    return data[start : data.find(b")", end) + 1].replace(b"-nan", b"nan")


_COUNT: Final = re.compile(rb"(\d+)\xc3\x97")


def _shapes(expected: Iterable[bytes], printed: bytes) -> bytes:
    """The printed text if it lists the expected shapes in any order, else the shapes as XLA prints them."""
    shapes = Counter(map(without_layout, expected))
    listed: Counter[bytes] = Counter()
    for text in _split(printed):
        match = _COUNT.match(text)
        listed[without_layout(text[match.end() :] if match else text)] += integer(match[1]) if match else 1
    if listed == shapes:
        return printed
    return b", ".join(b"%d\xc3\x97%s" % (count, shape) if count > 1 else shape for shape, count in shapes.items())


def _split(shapes: bytes) -> Iterator[bytes]:
    depth, start = 0, 0
    for place, letter in enumerate(shapes):
        depth += (letter in b"([{") - (letter in b")]}")
        if letter == ord(",") and not depth:
            yield shapes[start:place].strip()
            start = place + 1
    yield shapes[start:].strip()
