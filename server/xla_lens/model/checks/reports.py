"""Checks of the memory usage report. They run on dumps without errors, as all of it follows from the allocations: each
line is compared with the one that XLA would print.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import zip_longest
from typing import Final

import numpy as np

from xla_lens.model.checks.allocations import rounded_size_agrees
from xla_lens.model.checks.codes import Severity
from xla_lens.model.checks.context import Context, marked
from xla_lens.model.checks.problems import (
    Cut,
    Finding,
    Findings,
    Problem,
    Related,
    Relation,
    error,
    of_another_compilation,
)
from xla_lens.model.checks.structure import truncated
from xla_lens.model.places.places import Place, report_table_allocations, row_place
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.lookup import distinct, ordered
from xla_lens.syntax.columns import NONE, rows_of
from xla_lens.syntax.file_names import FileKind
from xla_lens.syntax.hlo.shapes import without_layout
from xla_lens.syntax.numbers import human_size, integer


def reports_match_allocations(dump: DumpSet, context: Context) -> Findings:
    """A memory usage report agrees with the allocations, and is complete."""
    for file in dump.files:
        if file.kind is not FileKind.MEMORY_USAGE_REPORT:
            continue
        # Rows belong to allocations by their order, so one misplaced row makes all later ones unreliable.
        found = [*_spaces(dump, file)] or [*_allocations(dump, context, file)]
        if not found and context.is_whole(file) and _is_cut(dump, file):
            found = [truncated(file, Cut.REPORT_TABLES)]
        found = found or [*_tables(dump, context, file)]
        totals = [*_totals(dump, file)]
        found += totals
        if totals and len(found) > _MAXIMUM_EDITED:
            found.sort(key=lambda finding: finding.place.start)
            found = [of_another_compilation(found, Problem.FOREIGN_REPORT)]
        yield from found


_MAXIMUM_EDITED: Final = 2
"""The most differences that one edit of a report causes."""


_MAXIMUM_SHOWN: Final = 50
"""XLA's own limit: a report lists up to this many allocations of a memory space, and leaves out only small ones after
that (BufferAssignment::MemoryUsageReport).
"""


def _is_cut(dump: DumpSet, file: DumpFile) -> bool:
    """Whether lists or tables are missing at the end of a report."""
    columns, allocations = file.columns, dump.allocations
    if len(columns.report_spaces):
        color = allocations.color.max(initial=NONE)
        tables = int((columns.report_tables.color == color).sum())
        return tables < min(int((allocations.color == color).sum()), _MAXIMUM_SHOWN)
    # The second list has all allocations, and each has a table unless it holds exactly one value.
    listed, tables = columns.report_allocations.cumulative_start == NONE, (allocations.slice_count != 1).sum()
    return bool(listed.sum() < len(allocations) or len(columns.report_tables) < tables)


def _totals(dump: DumpSet, file: DumpFile) -> Findings:
    """The totals of all allocations and of each memory space are sums of their allocations, and their rounded forms
    agree with them.
    """
    colors, sizes, columns = dump.allocations.color, dump.allocations.size_bytes, file.columns
    for table, space in ((columns.totals, None), (columns.report_spaces, columns.report_spaces.color)):
        for row, total in enumerate(table.size_bytes.tolist()):
            reserved = sum(sizes[colors == space[row]].tolist() if space is not None else sizes.tolist())
            if total != reserved and (space is None or space[row] in colors):
                name = None if space is None else dump.space_id(space.item(row))
                problem = Problem.REPORT_TOTAL(total, name, reserved)
                yield error(row_place(file, table, row), problem)
            else:
                yield from rounded_size_agrees(file, table, row)


def _spaces(dump: DumpSet, file: DumpFile) -> Findings:
    """The report has a part for each memory space, in the order of their numbers. Reports the first that is wrong."""
    spaces, colors = file.columns.report_spaces, distinct(dump.allocations.color).tolist()
    both = zip(spaces.color.tolist(), [*colors, *[NONE] * len(spaces)], strict=False)
    for row, (color, expected) in enumerate(both):
        if color != expected:
            printed, right = b"color=%d" % color, b"" if expected == NONE else b"color=%d" % expected
            yield from _difference(row_place(file, spaces, row, "header_start", "header_end"), printed, right)
            return


def _difference(place: Place, printed: bytes, expected: bytes, *related: Related) -> Findings:
    """A finding for the first cell of a line that is not as expected."""
    cells = zip_longest(printed.split(b";"), expected.split(b";"), fillvalue=b"") if expected else [(printed, b"")]
    for one, other in ((one.strip(), other.strip()) for one, other in cells):
        # Some platforms print the sign of what is not a number.
        if one.replace(b"-nan", b"nan") != other:
            yield Finding(Severity.ERROR, place, Problem.REPORT_MISMATCH(one, other), related)
            return


def _cumulative(part: int, total: int) -> bytes:
    """A part of a sum and its share as XLA prints them."""
    return human_size(part) + (b"(%3.0f%%)" % (100.0 * part / total) if total else b"(nan%)")


# ---------------------------------------------------------------- the lists of allocations


_SIZE: Final = re.compile(rb"size -?\d+")
_ADDRESS: Final = re.compile(rb"^(allocation \d+: )0x[0-9a-f]+, ")


def _allocations(dump: DumpSet, context: Context, file: DumpFile) -> Findings:
    """Both lists have all allocations, the largest first. Reports the first line of each list that is wrong."""
    allocations, table, document = dump.allocations, file.columns.report_allocations, file.document
    is_by_size, sizes = table.cumulative_start != NONE, allocations.size_bytes
    order = np.lexsort((allocations.index, -sizes)).tolist()
    reserved = sum(sizes.tolist())
    for rows in (np.flatnonzero(is_by_size), np.flatnonzero(~is_by_size)):
        cumulative, found = 0, list[Finding]()
        for row, allocation in zip(rows.tolist(), [*order, *[NONE] * len(rows)], strict=False):
            start, end = document.line_at(table.start.item(row))
            printed, expected = document.data[start:end].rstrip(b":"), b""
            if allocation != NONE:
                cumulative += sizes.item(allocation)
                header = document.data[table.start[row] : table.end[row]].rstrip(b":")
                sums = _cumulative(cumulative, reserved), human_size(reserved - cumulative)
                expected = b";".join(
                    (*(sums if is_by_size[row] else ()), _header(dump, file, start, allocation) or header)
                )
            related = context.related(allocations, [allocation], Relation.ALLOCATION)
            found += [] if found else _difference(row_place(file, table, row), printed, expected, *related)
        yield from found


def _header(dump: DumpSet, file: DumpFile, line: int, allocation: int) -> bytes | None:
    """The header of an allocation with a rounded size. None if a part of it or of the line in the report is unknown."""
    start, end = dump.allocations.start.item(allocation), dump.allocations.end.item(allocation)
    if dump.assignment is None or _has_unknown(dump.assignment, start) or _has_unknown(file, line):
        return None
    header = _ADDRESS.sub(rb"\1", dump.assignment.document.data[start:end])
    size = human_size(dump.allocations.size_bytes.item(allocation))
    return _SIZE.sub(b"size " + size, header, count=1).rstrip(b":")


def _has_unknown(file: DumpFile, start: int) -> bool:
    """Whether a part of the line at a byte is unknown."""
    end = file.document.line_at(start)[1]
    first, last = file.columns.unknown_lines.start.searchsorted((start, end))
    return bool(last > first)


# ---------------------------------------------------------------- the tables of an allocation


def _tables(dump: DumpSet, context: Context, file: DumpFile) -> Findings:
    """The table of an allocation has a row for each offset at which values start, with the size of the largest value
    there, the number and the shapes of the values, and the sum of the sizes up to the row. Reports the first row of
    each table that is wrong, else a wrong number of rows.
    """
    tables, data = file.columns.report_tables, file.document.data
    allocations = report_table_allocations(dump, tables, np.arange(len(tables)))
    for table in marked(allocations != NONE):
        values = dump.values_of_allocation(allocations.item(table))
        if np.any(context.values[values]):
            continue
        # Values at the same offset keep the order of the dump.
        values = ordered(values, dump.values.offset)
        offsets, first = np.unique(dump.values.offset[values], return_index=True)
        groups = dict(zip(offsets.tolist(), np.split(values, first[1:]), strict=False))
        count, total = len(groups), sum(int(dump.values.size_bytes[group].max()) for group in groups.values())
        rows, cumulative, found = file.columns.report_rows, 0, list[Finding]()
        for row in rows_of(tables.first_row, tables.row_count, table):
            expected, group = b"", groups.pop(rows.offset.item(row), None)
            related: tuple[Related, ...] = ()
            if group is not None:
                size = int(dump.values.size_bytes[group].max())
                cumulative += size
                shapes = _shapes(
                    (dump.shape(value) or b"" for value in group.tolist()), data[rows.shapes_start[row] : rows.end[row]]
                )
                cells = _cumulative(cumulative, total), human_size(size), rows.offset[row], len(group), shapes
                expected = b"%s;%s;%d;%d;%s" % cells
                related = context.related(dump.slices, [dump.values.slice[group[0]]], Relation.SLICE)
            printed = data[rows.start[row] : rows.end[row]]
            found += [] if found else _difference(row_place(file, rows, row), printed, expected, *related)
        if not found and context.is_whole(file):
            place = row_place(file, tables, table)
            if tables.rest[table] != NONE:
                # The last line has the number of rows that are left out.
                place = Place(file, file.document.line_at(place.end)[0], place.end)
            printed_count = tables.row_count.item(table) + max(tables.rest.item(table), 0)
            found += _difference(place, b"rows: %d" % printed_count, b"rows: %d" % count)
        yield from found


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
