"""Checks of the memory usage report. They run on dumps without errors, as all of it follows from the allocations: each
line is compared with the one that XLA would print.
"""

from collections import Counter
from collections.abc import Iterable
from itertools import zip_longest
from typing import Final

import numpy as np
from msgspec import Struct

from tree_sitter_xla_dump import report_rows_agree, split_lists
from xla_lens.model.checks.allocations import rounded_size_agrees
from xla_lens.model.checks.codes import Severity
from xla_lens.model.checks.context import Context
from xla_lens.model.checks.file_structure import truncated
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
from xla_lens.model.places.places import Place, report_table_allocations, row_place
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.lookup import distinct, found, repeated, row_ranges, taken
from xla_lens.syntax.columns import NONE, Column, Mask, pairs
from xla_lens.syntax.file_names import FileKind
from xla_lens.syntax.hlo.shapes import without_layout
from xla_lens.syntax.numbers import human_size, integer
from xla_lens.syntax.texts import column, number_texts, span_cells
from xla_lens.text.patterns import lazy_pattern


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


_SIZE: Final = lazy_pattern(rb"size -?\d+")
_ADDRESS: Final = lazy_pattern(rb"^(allocation \d+: )0x[0-9a-f]+, ")


def _allocations(dump: DumpSet, context: Context, file: DumpFile) -> Findings:
    """Both lists have all allocations, the largest first. Reports the first line of each list that is wrong."""
    allocations, table, document = dump.allocations, file.columns.report_allocations, file.document
    is_by_size, sizes = table.cumulative_start != NONE, allocations.size_bytes
    order = np.lexsort((allocations.index, -sizes)).tolist()
    reserved = sum(sizes.tolist())
    has_unknown = _have_unknown(file, table.start).tolist()
    is_unknown = _have_unknown(dump.assignment, allocations.start).tolist() if dump.assignment else []
    for rows in (np.flatnonzero(is_by_size), np.flatnonzero(~is_by_size)):
        cumulative, found = 0, list[Finding]()
        for row, allocation in zip(rows.tolist(), [*order, *[NONE] * len(rows)], strict=False):
            start, end = document.line_at(table.start.item(row))
            printed, expected = document.data[start:end].rstrip(b":"), b""
            if allocation != NONE:
                cumulative += sizes.item(allocation)
                header = document.data[table.start[row] : table.end[row]].rstrip(b":")
                sums = _cumulative(cumulative, reserved), human_size(reserved - cumulative)
                if dump.assignment and not has_unknown[row] and not is_unknown[allocation]:
                    header = _header(dump, dump.assignment, allocation)
                expected = b";".join((*(sums if is_by_size[row] else ()), header))
            if not found and printed != expected:
                related = context.related(allocations, [allocation], Relation.ALLOCATION)
                found += _difference(row_place(file, table, row), printed, expected, *related)
        yield from found


def _header(dump: DumpSet, assignment: DumpFile, allocation: int) -> bytes:
    """The header of an allocation with a rounded size."""
    allocations = dump.allocations
    header = assignment.document.data[allocations.start[allocation] : allocations.end[allocation]]
    size = human_size(allocations.size_bytes.item(allocation))
    return _SIZE.sub(b"size " + size, _ADDRESS.sub(rb"\1", header), count=1).rstrip(b":")


def _have_unknown(file: DumpFile, starts: Column) -> Mask:
    """For each line, by a byte in it, whether a part of it is unknown."""
    line_starts = file.document.line_starts
    rows, unknown = (line_starts.searchsorted(places, "right") for places in (starts, file.columns.unknown_lines.start))
    return np.isin(rows, unknown)


# ---------------------------------------------------------------- the tables of an allocation


class _Groups(Struct, frozen=True, eq=False):
    """The values that start at one offset of an allocation: `count` of `values` from `first` on, in the order of the
    dump, and the size of the largest. Sorted by allocation, then by offset.
    """

    allocation: Column
    offset: Column
    first: Column
    count: Column
    size_bytes: Column
    values: Column

    def rows_at(self, allocation: Column, offset: Column) -> Column:
        """Return the group at each offset of each allocation, NONE if there is none."""
        offsets = distinct(self.offset)
        width, place = np.int64(len(offsets)), found(offsets, offset)
        own = self.allocation * width + offsets.searchsorted(self.offset)
        return np.where(place != NONE, found(own, allocation * width + place), NONE)


class _Rows(Struct, frozen=True, eq=False):
    """Rows of the tables of a report, and what they should print: the values of a group, NONE if there are none at the
    offset, the size of the largest, the sum of these sizes up to the row, and the sum for the whole allocation.
    """

    file: DumpFile
    groups: _Groups
    table: Column
    row: Column
    group: Column
    size_bytes: Column
    cumulative: Column
    total: Column


def _tables(dump: DumpSet, context: Context, file: DumpFile) -> Findings:
    """The table of an allocation has a row for each offset at which values start, with the size of the largest value
    there, the number and the shapes of the values, and the sum of the sizes up to the row. Reports the first row of
    each table that is wrong, else a wrong number of rows.
    """
    tables = file.columns.report_tables
    allocations = report_table_allocations(dump, tables, np.arange(len(tables)))
    covered = dump.slices.allocation[context.values[dump.value_of_slice]]
    checked = np.flatnonzero((allocations != NONE) & ~np.isin(allocations, covered))
    groups = _groups(dump)
    rows = _rows(file, groups, allocations, checked)
    suspects = np.flatnonzero(~_are_surely_right(dump, rows))
    count = np.bincount(groups.allocation, minlength=len(dump.allocations))
    printed_count = tables.row_count + np.maximum(tables.rest, 0)
    miscounted = checked[printed_count[checked] != count[allocations[checked]]]
    for table in distinct(np.append(rows.table[suspects], miscounted)).tolist():
        first, last = rows.table[suspects].searchsorted((table, table + 1))
        wrong = (_row(dump, context, rows, row) for row in suspects[first:last].tolist())
        differences = next(filter(None, wrong), [])
        if not differences and context.is_whole(file):
            place = row_place(file, tables, table)
            if tables.rest[table] != NONE:
                # The last line has the number of rows that are left out.
                place = Place(file, file.document.line_at(place.end)[0], place.end)
            both = printed_count.item(table), count.item(allocations[table])
            differences = [*_difference(place, b"rows: %d" % both[0], b"rows: %d" % both[1])]
        yield from differences


def _groups(dump: DumpSet) -> _Groups:
    """The groups of all allocations."""
    allocation, value = dump.slices.allocation, dump.value_of_slice
    order = np.lexsort((dump.values.offset[value], allocation))
    order = order[allocation[order] != NONE]
    allocation, value = allocation[order], value[order]
    offset, size_bytes = dump.values.offset[value], dump.values.size_bytes[value]
    first = np.flatnonzero((np.diff(allocation, prepend=NONE) != 0) | (np.diff(offset, prepend=NONE) != 0))
    largest = np.maximum.reduceat(size_bytes, first) if len(first) else first
    return _Groups(allocation[first], offset[first], first, np.diff(first, append=len(order)), largest, value)


def _rows(file: DumpFile, groups: _Groups, allocations: Column, checked: Column) -> _Rows:
    """The rows of the tables in `checked`. `allocations` are those of all tables."""
    tables = file.columns.report_tables
    first, count = tables.first_row[checked], tables.row_count[checked]
    table, row = np.repeat(checked, count), row_ranges(first, count)
    group = groups.rows_at(allocations[table], file.columns.report_rows.offset[row])
    # Of rows with the same offset, the first has the values.
    group[repeated((group, table))[1]] = NONE
    size_bytes = np.where(group != NONE, taken(groups.size_bytes, group), 0)
    sums, total = size_bytes.cumsum(), np.zeros(allocations.max(initial=NONE) + 1, np.int64)
    before = np.append(0, sums)[np.repeat(count.cumsum() - count, count)]
    is_shown = groups.allocation < len(total)
    np.add.at(total, groups.allocation[is_shown], groups.size_bytes[is_shown])
    return _Rows(file, groups, table, row, group, size_bytes, sums - before, total[allocations[table]])


def _are_surely_right(dump: DumpSet, rows: _Rows) -> Mask:
    """For each row whether it surely prints what it should. `_row` looks closely at the others."""
    data, table = rows.file.document.data, rows.file.columns.report_rows
    spans = span_cells(data, table.start[rows.row], table.shapes_start[rows.row])
    offset, count = table.offset[rows.row], taken(rows.groups.count, rows.group)
    numbers = np.stack((rows.cumulative, rows.total, rows.size_bytes, offset, count), axis=1, dtype=np.int64)
    is_right: Mask = (rows.group != NONE) & np.frombuffer(report_rows_agree(data, spans, numbers), np.bool_)
    is_right[_with_other_shapes(dump, rows)] = False
    return is_right


def _with_other_shapes(dump: DumpSet, rows: _Rows) -> Column:
    """The rows that list other shapes than their values have. The order of the shapes does not count."""
    known, groups = np.flatnonzero(rows.group != NONE), rows.groups
    first, count = groups.first[rows.group[known]], groups.count[rows.group[known]]
    shapes, number = dump.slice_shapes
    # The shapes of values and of lists by number, without their layouts.
    numbers = dict[bytes, int]()
    plain = np.array([numbers.setdefault(without_layout(shape), len(numbers)) for shape in shapes], np.int64)
    expected = plain[number[dump.values.slice[groups.values[row_ranges(first, count)]]]]
    data, table = rows.file.document.data, rows.file.columns.report_rows
    spans = span_cells(data, table.shapes_start[rows.row[known]], table.end[rows.row[known]])
    row, start, end = map(column, split_lists(data, spans))
    text, text_rows = number_texts(data, start, end)
    listed = [_listed(data[start[at] : end[at]]) for at in text_rows.tolist()]
    plain = np.array([numbers.setdefault(shape, len(numbers)) for _, shape in listed], np.int64)
    times = np.array([min(count, _MANY) for count, _ in listed], np.int64)[text]
    # For each row and shape, how many more values are listed than there are.
    keys = np.append(
        np.repeat(np.arange(len(known)), count) * len(numbers) + expected, row * np.int64(len(numbers)) + plain[text]
    )
    order = np.argsort(keys, kind="stable")
    firsts = np.flatnonzero(np.diff(keys[order], prepend=NONE))
    excess = np.add.reduceat(np.append(np.full(len(expected), -1), times)[order], firsts) if len(keys) else firsts
    differing: Column = known[keys[order][firsts][excess != 0] // max(len(numbers), 1)]
    return differing


_MANY: Final = 1 << 40
"""More values than a dump has. A sum of such counts has less than 64 bits."""


def _row(dump: DumpSet, context: Context, rows: _Rows, row: int) -> list[Finding]:
    """The finding at a row that differs from what it should print."""
    file, groups, at = rows.file, rows.groups, rows.row.item(row)
    table, data = file.columns.report_rows, file.document.data
    expected, group, related = b"", rows.group.item(row), tuple[Related, ...]()
    if group != NONE:
        here = groups.values[groups.first[group] : groups.first[group] + groups.count[group]]
        shapes = (dump.shape(value) or b"" for value in here.tolist())
        cells = (
            _cumulative(rows.cumulative.item(row), rows.total.item(row)),
            human_size(rows.size_bytes.item(row)),
            table.offset[at],
            len(here),
            _shapes(shapes, data[table.shapes_start[at] : table.end[at]]),
        )
        expected = b"%s;%s;%d;%d;%s" % cells
        related = context.related(dump.slices, [dump.values.slice[here[0]]], Relation.SLICE)
    return [*_difference(row_place(file, table, at), data[table.start[at] : table.end[at]], expected, *related)]


_COUNT: Final = lazy_pattern(rb"(\d+)\xc3\x97")


def _listed(text: bytes) -> tuple[int, bytes]:
    """The number of values and their shape, without the layout, in an element of a list of shapes: `2×f32[8]`."""
    match = _COUNT.match(text)
    return (integer(match[1]), without_layout(text[match.end() :])) if match else (1, without_layout(text))


def _shapes(expected: Iterable[bytes], printed: bytes) -> bytes:
    """The printed text if it lists the expected shapes in any order, else the shapes as XLA prints them."""
    shapes, listed = Counter(map(without_layout, expected)), Counter[bytes]()
    _, start, end = map(column, split_lists(printed, np.array([(0, len(printed))])))
    for span in pairs(start, end):
        count, shape = _listed(printed[slice(*span)])
        listed[shape] += count
    if listed == shapes:
        return printed
    return b", ".join(b"%d\xc3\x97%s" % (count, shape) if count > 1 else shape for shape, count in shapes.items())
