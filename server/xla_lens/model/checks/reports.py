"""Checks of the memory usage report against the buffer assignment (BufferAssignment::MemoryUsageReport)."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from xla_lens.model.checks.allocations import decoded, rounded_size_agrees, without_layout
from xla_lens.model.checks.findings import Finding, Related, Relation, error, of_another_compilation
from xla_lens.model.checks.problems import Cut, Problem
from xla_lens.model.checks.structure import truncated
from xla_lens.model.checks.tainted import Marks, Tainted, is_marked
from xla_lens.model.places.places import (
    Place,
    report_table_allocation,
    report_table_allocations,
    row_place,
    total_place,
)
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.lookup import distinct, found
from xla_lens.syntax.columns import NONE, Column, ReportAllocations, ReportRows
from xla_lens.syntax.file_names import FileKind
from xla_lens.syntax.human_sizes import human_size
from xla_lens.syntax.numbers import integer
from xla_lens.syntax.texts import number_texts


def report_matches_allocations(dump: DumpSet, tainted: Tainted) -> Iterator[Finding]:
    """A memory usage report agrees with the allocations, and is complete."""
    for file in dump.files:
        if file.kind is FileKind.MEMORY_USAGE_REPORT:
            found: list[Finding] = []
            if tainted.is_whole(dump.assignment) and tainted.are_sizes_sound and not np.any(tainted.allocations):
                found += _against_allocations(dump, tainted, file)
            if len(found) > _MAXIMUM_EDITED and any(finding.problem.kind in _TOTALS for finding in found):
                found.sort(key=lambda finding: finding.place.start)
                yield of_another_compilation(found, Problem.FOREIGN_REPORT)
                continue
            yield from found
            # A wrong total differs from its rounded form, too.
            row = file.document.row
            wrong = {row(finding.place.start) for finding in found}
            yield from (finding for finding in _rounded_sizes(file) if row(finding.place.start) not in wrong)


_MAXIMUM_EDITED: Final = 2
"""The most differences that one edit of a report causes."""

_TOTALS: Final = (Problem.REPORT_TOTAL, Problem.REPORT_SPACE_TOTAL)


def _against_allocations(dump: DumpSet, tainted: Tainted, file: DumpFile) -> Iterator[Finding]:
    # Rows belong to allocations by their order, so one misplaced row makes all later ones unreliable.
    found = list(_spaces(dump, file)) or list(_allocations(dump, file))
    if not found and tainted.is_whole(file) and not np.any(tainted.values) and _is_cut(dump, file):
        tainted.broken_files.add(id(file))
        found.append(truncated(file, Cut.REPORT_TABLES))
    yield from found
    yield from _totals(dump, file)
    # A value without a slice is missing from the tables of its allocation, whichever that is.
    has_all_slices = not np.any(tainted.values & (dump.values.slice == NONE))
    if has_all_slices and all(finding.problem.kind is Problem.TRUNCATED_FILE for finding in found):
        yield from _tables(dump, tainted, file)


def _spaces(dump: DumpSet, file: DumpFile) -> Iterator[Finding]:
    """The report has a part for each memory space, in the order of their numbers. Reports the first that is wrong."""
    spaces = file.columns.report_spaces
    expected = distinct(dump.allocations.color)
    for row, color in enumerate(spaces.color.tolist()):
        if row < len(expected) and color == expected[row]:
            continue
        place = Place(file, int(spaces.header_start[row]), int(spaces.header_end[row]))
        if row < len(expected):
            yield error(place, Problem.REPORT_SPACE_ORDER(dump.space_id(color), dump.space_id(int(expected[row]))))
        else:
            yield error(place, Problem.REPORT_SPACE_UNUSED(dump.space_id(color), spaces=len(expected)))
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


def _rounded_sizes(file: DumpFile) -> Iterator[Finding]:
    for table in (file.columns.totals, file.columns.report_spaces):
        for row in range(len(table)):
            yield from rounded_size_agrees(file, table, row)


def _totals(dump: DumpSet, file: DumpFile) -> Iterator[Finding]:
    """The totals of all allocations and of each memory space are sums of their allocations."""
    colors, sizes = dump.allocations.color, dump.allocations.size_bytes
    reserved = sum(sizes.tolist())
    for row, total in enumerate(file.columns.totals.size_bytes.tolist()):
        if total != reserved:
            printed = total_place(dump)
            related = [Related(printed, Relation.TOTAL)] if printed else []
            yield error(row_place(file, file.columns.totals, row), Problem.REPORT_TOTAL(total, reserved), *related)
    spaces = file.columns.report_spaces
    for row, (color, total) in enumerate(zip(spaces.color.tolist(), spaces.size_bytes.tolist(), strict=True)):
        reserved = sum(sizes[colors == color].tolist())
        if np.any(colors == color) and total != reserved:
            yield error(row_place(file, spaces, row), Problem.REPORT_SPACE_TOTAL(dump.space_id(color), total, reserved))


_SIZE: Final = re.compile(rb"size -?\d+")
_ADDRESS: Final = re.compile(rb"^(allocation \d+: )0x[0-9a-f]+, ")


def _allocations(dump: DumpSet, file: DumpFile) -> Iterator[Finding]:
    """Both lists have all allocations, the largest first."""
    table, numbers = file.columns.report_allocations, dump.allocations.index
    is_by_size = table.cumulative_start != NONE
    order = np.lexsort((numbers, -dump.allocations.size_bytes)).tolist()
    reserved = sum(dump.allocations.size_bytes.tolist())
    for rows in (np.flatnonzero(is_by_size), np.flatnonzero(~is_by_size)):
        cumulative = 0
        for row, allocation in zip(rows.tolist(), [*order, *[NONE] * len(rows)], strict=False):
            number = int(table.index[row])
            if allocation == NONE:
                yield error(
                    row_place(file, table, row), Problem.REPORT_ALLOCATION_UNKNOWN(number, allocations=len(numbers))
                )
                break
            if number != numbers[allocation]:
                problem = Problem.REPORT_ALLOCATION_ORDER(number, expected=int(numbers[allocation]))
                yield error(row_place(file, table, row), problem)
                break
            cumulative += int(dump.allocations.size_bytes[allocation])
            yield from _allocation(dump, file, row, allocation, (cumulative, reserved - cumulative))


def _has_unknown(file: DumpFile, start: int) -> bool:
    """Whether a part of the line at a byte is unknown."""
    end = file.document.line_span(file.document.row(start))[1]
    first, last = file.columns.unknown_lines.start.searchsorted((start, end))
    return bool(last > first)


def _allocation(dump: DumpSet, file: DumpFile, row: int, allocation: int, sums: tuple[int, int]) -> Iterator[Finding]:
    """The header is that of the allocation, with a rounded size. Before it are two sums: of the allocations up to this
    one, and of those after it.
    """
    table, data = file.columns.report_allocations, file.document.data
    if dump.assignment is None:
        return
    sizes = dump.allocations.size_bytes
    related = Related(row_place(dump.assignment, dump.allocations, allocation), Relation.ALLOCATION)
    start, end = int(dump.allocations.start[allocation]), int(dump.allocations.end[allocation])
    header = _ADDRESS.sub(rb"\1", dump.assignment.document.data[start:end])
    expected = _SIZE.sub(b"size " + human_size(int(sizes[allocation])), header, count=1)
    is_known = not (_has_unknown(dump.assignment, start) or _has_unknown(file, int(table.start[row])))
    if is_known and data[table.start[row] : table.end[row]].rstrip(b":") != expected.rstrip(b":"):
        problem = Problem.REPORT_HEADER(int(dump.allocations.index[allocation]), decoded(expected))
        yield error(row_place(file, table, row), problem, related)
        return
    printed_sums = (
        (Problem.REPORT_CUMULATIVE, table.cumulative_start, table.cumulative_end, sums[0]),
        (Problem.REPORT_REMAINING, table.remaining_start, table.remaining_end, sums[1]),
    )
    for sum_problem, first, last, size in printed_sums if table.cumulative_start[row] != NONE else ():
        printed, wanted = data[first[row] : last[row]], human_size(size)
        if sum_problem is Problem.REPORT_CUMULATIVE and printed == wanted:
            printed, wanted = _with_share(file, table, row), wanted + _share(size, sum(sums))
        if printed != wanted:
            place = Place(file, int(first[row]), int(last[row]))
            yield error(place, sum_problem(decoded(printed), decoded(wanted)), related)


# ---------------------------------------------------------------- the tables of an allocation


def _tables(dump: DumpSet, tainted: Tainted, file: DumpFile) -> Iterator[Finding]:
    tables = file.columns.report_tables
    allocations = report_table_allocations(dump, tables, np.arange(len(tables)))
    for table in np.flatnonzero((allocations != NONE) & ~_is_right(dump, file, allocations)).tolist():
        allocation = int(allocations[table])
        values = dump.values_of_allocation(allocation)
        if np.any(is_marked(tainted.values, values)):
            continue
        first, count = int(tables.first_row[table]), int(tables.row_count[table])
        rows = np.arange(first, first + count)
        found = list(_table(dump, file, rows, allocation)) or list(_shares(dump, file, rows, allocation))
        yield from found
        shown, rest = len(distinct(dump.values.offset[values])), max(int(tables.rest[table]), 0)
        if not found and tainted.is_whole(file) and count + rest != shown:
            place = row_place(file, tables, table)
            if tables.rest[table] != NONE:
                # The last line has the number of rows that are left out.
                place = Place(file, file.document.line_span(file.document.row(place.end))[0], place.end)
            yield error(
                place, Problem.REPORT_ROW_COUNT(int(dump.allocations.index[allocation]), count + rest, offsets=shown)
            )


def _is_right(dump: DumpSet, file: DumpFile, allocations: Column) -> Marks:
    """For each table whether all of its rows are right, computed for all tables together. `_table` finds what is wrong
    with the others, and may find nothing. `allocations` are those of the tables.
    """
    tables, rows = file.columns.report_tables, file.columns.report_rows
    table = np.repeat(np.arange(len(tables)), tables.row_count)
    start = tables.row_count.cumsum() - tables.row_count
    row = np.arange(len(table)) + np.repeat(tables.first_row - start, tables.row_count)
    groups = _groups(dump)
    group = groups.rows(allocations[table], rows.offset[row])
    is_wrong = (group == NONE) | (rows.values[row] != groups.count[group])
    is_right = np.zeros(len(tables), bool)
    if not len(groups.first):
        return is_right
    sizes = groups.size_bytes[group]
    is_next = np.append(False, table[1:] == table[:-1])[: len(table)]
    is_wrong[1:] |= is_next[1:] & (sizes[1:] > sizes[:-1])
    sums = np.append(0, sizes.cumsum())
    cumulative = sums[1:] - sums[start[table]]
    is_wrong |= ~_are_printed(file, rows.size_start[row], rows.size_end[row], sizes)
    is_wrong |= ~_are_printed(file, rows.cumulative_start[row], rows.cumulative_end[row], cumulative)
    totals = np.zeros(len(dump.allocations), np.int64)
    np.add.at(totals, groups.allocation, groups.size_bytes)
    is_wrong |= ~_are_shares_right(file, row, cumulative, totals[allocations[table]])
    is_wrong |= ~_are_shapes_right(dump, file, row, group, groups)
    # Two rows with the same offset belong to the same group.
    order = np.lexsort((group, table))
    is_again = (np.diff(table[order]) == 0) & (np.diff(group[order]) == 0)
    is_wrong[order[1:][is_again]] = True
    shown = np.bincount(groups.allocation, minlength=len(dump.allocations))
    is_right[:] = shown[allocations] == tables.row_count + np.maximum(tables.rest, 0)
    is_right[table[is_wrong]] = False
    return is_right


@dataclass(frozen=True, slots=True, eq=False)
class _Groups:
    """The values at each offset of each allocation: their number, the size of the largest, and the numbers of their
    shapes, `count` cells of `shapes` from `first` on. Sorted by allocation, then by offset.
    """

    allocation: Column
    offset: Column
    first: Column
    count: Column
    size_bytes: Column
    shapes: Column

    def rows(self, allocation: Column, offset: Column) -> Column:
        """Return the group at each offset of each allocation, NONE if there is none."""
        offsets = distinct(self.offset)
        own = self.allocation.astype(np.int64) * len(offsets) + offsets.searchsorted(self.offset)
        place = found(offsets, offset)
        return np.where(place != NONE, found(own, allocation.astype(np.int64) * len(offsets) + place), NONE)


def _groups(dump: DumpSet) -> _Groups:
    slices, values = dump.slices, dump.values
    value = dump.value_of_slice[slices.allocation != NONE]
    allocation = slices.allocation[slices.allocation != NONE]
    offset, shape = values.offset[value], dump.slice_shapes[1][values.slice[value]]
    order = np.lexsort((shape, offset, allocation))
    allocation, offset = allocation[order], offset[order]
    is_first = np.append(True, (np.diff(allocation) != 0) | (np.diff(offset) != 0))[: len(order)]
    first = np.flatnonzero(is_first)
    count = np.diff(np.append(first, len(order)))
    size_bytes = np.maximum.reduceat(values.size_bytes[value][order], first) if len(first) else first
    return _Groups(allocation[first], offset[first], first, count, size_bytes, shape[order])


def _are_printed(file: DumpFile, start: Column, end: Column, sizes: Column) -> Marks:
    """For each span whether it is the rounded form of a size."""
    data = file.document.data
    columns = (start.tolist(), end.tolist(), sizes.tolist())
    return np.array([data[one:other] == human_size(size) for one, other, size in zip(*columns, strict=True)], bool)


def _are_shares_right(file: DumpFile, rows: Column, cumulative: Column, totals: Column) -> Marks:
    """For each row of the tables whether its share is that of a sum in the total of its table."""
    columns = (rows.tolist(), cumulative.tolist(), totals.tolist())
    return np.array(
        [
            _with_share(file, file.columns.report_rows, row).endswith(_share(part, total))
            for row, part, total in zip(*columns, strict=True)
        ],
        bool,
    )


def _are_shapes_right(dump: DumpSet, file: DumpFile, rows: Column, group: Column, groups: _Groups) -> Marks:
    """For each row of the tables whether it lists the shapes of a group. Compares each text with each list once."""
    data, table, texts = file.document.data, file.columns.report_rows, dump.slice_shapes[0]
    printed, first = number_texts(data, table.shapes_start[rows], table.end[rows])
    spans = zip(table.shapes_start[rows[first]].tolist(), table.end[rows[first]].tolist(), strict=True)
    printed_texts = [data[start:end] for start, end in spans]
    known: dict[tuple[int, bytes], bool] = {}
    is_right = []
    columns = (printed.tolist(), groups.first[group].tolist(), groups.count[group].tolist())
    for number, start, count in zip(*columns, strict=True):
        shapes = groups.shapes[start : start + count]
        key = number, shapes.tobytes()
        if key not in known:
            text = printed_texts[number]
            known[key] = _shapes((texts[shape] for shape in shapes.tolist()), text) == text
        is_right.append(known[key])
    return np.array(is_right, bool)


def _table(dump: DumpSet, file: DumpFile, group: Column, allocation: int) -> Iterator[Finding]:
    """A table has a row for each offset: the size of the largest value, the number and shapes of the values there, and
    the sum of the sizes up to the row. `group` are the rows of the table.
    """
    rows, data, values = file.columns.report_rows, file.document.data, dump.values_of_allocation(allocation)
    number = int(dump.allocations.index[allocation])
    # Sorted by offset; values at the same offset keep the order of the dump.
    values = values[np.argsort(dump.values.offset[values], kind="stable")]
    offsets, sizes = dump.values.offset[values], dump.values.size_bytes[values]
    # Of two rows at one offset, the one that does not have the values there is wrong.
    twice = group[_rows_at_one_offset(rows.offset[group])].tolist()
    for row in twice:
        at = offsets == rows.offset[row]
        largest, shown = int(sizes[at].max(initial=0)), data[rows.shapes_start[row] : rows.end[row]]
        is_right = (
            data[rows.size_start[row] : rows.size_end[row]] == human_size(largest)
            and rows.values[row] == at.sum()
            and _shapes((dump.shape(value) or b"" for value in values[at].tolist()), shown) == shown
        )
        if not is_right or row == twice[-1]:
            others = (
                Related(row_place(file, rows, other), Relation.OTHER_OCCURRENCE) for other in twice if other != row
            )
            yield error(row_place(file, rows, row), Problem.REPORT_OFFSET_TWICE(number, int(rows.offset[row])), *others)
            return
    cumulative, previous, is_sum_known = 0, NONE, True
    for row in group.tolist():
        offset, place = int(rows.offset[row]), row_place(file, rows, row)
        here = slice(*offsets.searchsorted((offset, offset + 1)))
        count = here.stop - here.start
        if not count:
            yield error(place, Problem.REPORT_OFFSET_UNUSED(number, offset))
            return
        first_slice = int(dump.values.slice[values[here][0]])
        related = row_place(dump.assignment, dump.slices, first_slice) if dump.assignment else place
        size = int(sizes[here].max())
        cumulative += size
        shapes = data[rows.shapes_start[row] : rows.end[row]]
        columns = (
            (Problem.REPORT_ROW_SIZE, data[rows.size_start[row] : rows.size_end[row]], human_size(size)),
            (
                Problem.REPORT_ROW_CUMULATIVE,
                data[rows.cumulative_start[row] : rows.cumulative_end[row]],
                human_size(cumulative),
            ),
            (Problem.REPORT_ROW_VALUES, b"%d" % rows.values[row], b"%d" % count),
            (
                Problem.REPORT_ROW_SHAPES,
                shapes,
                _shapes((dump.shape(value) or b"" for value in values[here].tolist()), shapes),
            ),
        )
        for wrong, printed, expected in columns:
            if wrong is Problem.REPORT_ROW_CUMULATIVE and not is_sum_known:
                continue
            if printed != expected:
                # What is added up has another size than the values.
                is_sum_known &= wrong is not Problem.REPORT_ROW_SIZE
                problem = wrong(number, offset, decoded(printed), decoded(expected))
                yield error(place, problem, Related(related, Relation.SLICE))
                break
        else:
            if previous != NONE and size > previous:
                yield error(place, Problem.REPORT_ROW_ORDER(number), Related(related, Relation.SLICE))
        previous = size


def _shares(dump: DumpSet, file: DumpFile, group: Column, allocation: int) -> Iterator[Finding]:
    """Each sum up to a row of a table is printed with its share of the sum of all rows. `group` are the rows."""
    rows, values = file.columns.report_rows, dump.values_of_allocation(allocation)
    largest: dict[int, int] = {}
    for value in values.tolist():
        offset = int(dump.values.offset[value])
        largest[offset] = max(largest.get(offset, 0), int(dump.values.size_bytes[value]))
    cumulative, total = 0, sum(largest.values())
    for row in group.tolist():
        offset = int(rows.offset[row])
        cumulative += largest.get(offset, 0)
        printed, expected = _with_share(file, rows, row), human_size(cumulative) + _share(cumulative, total)
        if printed != expected:
            number = int(dump.allocations.index[allocation])
            problem = Problem.REPORT_ROW_CUMULATIVE(number, offset, decoded(printed), decoded(expected))
            yield error(row_place(file, rows, row), problem)


def _share(part: int, total: int) -> bytes:
    """A share of a sum as XLA prints it behind the part."""
    return b"(%3.0f%%)" % (100.0 * part / total) if total else b"(nan%)"


def _with_share(file: DumpFile, table: ReportRows | ReportAllocations, row: int) -> bytes:
    """A cumulative size and its share of the sum, as the report prints them."""
    data, start, end = file.document.data, int(table.cumulative_start[row]), int(table.cumulative_end[row])
    # Some platforms print the sign of what is not a number.
    return data[start : data.find(b")", end) + 1].replace(b"-nan", b"nan")


def _rows_at_one_offset(offsets: Column) -> Column:
    """The rows at the lowest offset that has several; empty if there is none."""
    found, count = np.unique(offsets, return_counts=True)
    return np.flatnonzero(offsets == found[count > 1][0]) if np.any(count > 1) else np.zeros(0, np.int64)


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
