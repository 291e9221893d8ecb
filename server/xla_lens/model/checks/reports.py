"""Checks of the memory usage report against the buffer assignment (BufferAssignment::MemoryUsageReport)."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

import numpy as np

from xla_lens.model.checks.allocations import human_size_mismatch, without_layout
from xla_lens.model.checks.doubts import Doubts, in_doubt
from xla_lens.model.checks.findings import Code, Finding, Related, error
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
from xla_lens.syntax.columns import NONE, Column
from xla_lens.syntax.file_names import FileKind
from xla_lens.syntax.human_sizes import human_size
from xla_lens.syntax.numbers import integer


def report_mismatch(dump: DumpSet, doubts: Doubts) -> Iterator[Finding]:
    """What a report tells else than the allocations do, and whether its end is missing."""
    for file in dump.files:
        if file.kind is FileKind.MEMORY_USAGE_REPORT:
            yield from _human_sizes(file)
            if doubts.is_whole(dump.assignment) and not np.any(doubts.allocations):
                yield from _against_allocations(dump, doubts, file)


def _against_allocations(dump: DumpSet, doubts: Doubts, file: DumpFile) -> Iterator[Finding]:
    # What follows is told by order: one that is not where it belongs hides what comes after.
    found = list(_spaces(dump, file)) or list(_allocations(dump, file))
    if not found and doubts.is_whole(file) and not np.any(doubts.values) and _is_cut(dump, file):
        doubts.broken.add(id(file))
        found.append(truncated(file, "tables"))
    yield from found
    yield from _totals(dump, file)
    if all(finding.code is Code.TRUNCATED_DUMP for finding in found):
        yield from _tables(dump, doubts, file)


def _spaces(dump: DumpSet, file: DumpFile) -> Iterator[Finding]:
    """One part for each memory space, by colour."""
    spaces = file.columns.report_spaces
    expected = np.unique(dump.allocations.color)
    for row, color in enumerate(spaces.color.tolist()):
        if row >= len(expected) or color != expected[row]:
            place = Place(file, int(spaces.header_start[row]), int(spaces.header_end[row]))
            belongs = int(expected[row]) if row < len(expected) else NONE
            yield error(Code.REPORT_MISMATCH, place, what="color", color=color, expected=belongs)
            return


_MOST_SHOWN: Final = 50
"""Of so many allocations at least a report shows each, of more all but the smallest (MemoryUsageReport)."""


def _is_cut(dump: DumpSet, file: DumpFile) -> bool:
    """Whether rows, tables or memory spaces are missing at the end of a report."""
    columns, colors = file.columns, dump.allocations.color
    tables = columns.report_tables
    if len(tables) and tables.rest[-1] == NONE and tables.end[-1] >= file.document.content_end:
        values = dump.values_of_allocation(report_table_allocation(dump, tables, len(tables) - 1))
        if tables.row_count[-1] < len(np.unique(dump.values.offset[values])):
            return True
    listed = columns.report_allocations
    if len(listed) and listed.cumulative_start[-1] == NONE and listed.end[-1] > np.append(NONE, tables.end)[-1]:
        # All but those of one value have a table.
        allocation = dump.allocation_row(int(listed.index[-1]))
        if allocation != NONE and dump.allocations.slice_count[allocation] != 1:
            return True
    if len(columns.report_spaces):
        color = columns.report_spaces.color[-1]
        here = int((colors == color).sum())
        return bool(color < colors.max(initial=NONE)) or int((tables.color == color).sum()) < min(here, _MOST_SHOWN)
    return len(columns.totals) > 0 and int((listed.cumulative_start == NONE).sum()) < len(dump.allocations)


def _human_sizes(file: DumpFile) -> Iterator[Finding]:
    for table in (file.columns.totals, file.columns.report_spaces):
        for row in range(len(table)):
            yield from human_size_mismatch(file, table, row)


def _totals(dump: DumpSet, file: DumpFile) -> Iterator[Finding]:
    """The total of all allocations, and that of each memory space."""
    colors, sizes = dump.allocations.color, dump.allocations.size_bytes
    reserved = sum(sizes.tolist())
    for row, total in enumerate(file.columns.totals.size_bytes.tolist()):
        if total != reserved:
            place = row_place(file, file.columns.totals, row)
            printed = total_place(dump)
            related = [Related(printed, "total")] if printed else []
            yield error(Code.REPORT_MISMATCH, place, *related, what="total", printed=total, expected=reserved)
    spaces = file.columns.report_spaces
    for row, (color, total) in enumerate(zip(spaces.color.tolist(), spaces.size_bytes.tolist(), strict=True)):
        reserved = sum(sizes[colors == color].tolist())
        if np.any(colors == color) and total != reserved:
            place = row_place(file, spaces, row)
            yield error(Code.REPORT_MISMATCH, place, what="space", color=color, printed=total, expected=reserved)


_SIZE: Final = re.compile(rb"size -?\d+")
_ADDRESS: Final = re.compile(rb"^(allocation \d+: )0x[0-9a-f]+, ")


def _allocations(dump: DumpSet, file: DumpFile) -> Iterator[Finding]:
    """The two lists of allocations, both the biggest first."""
    table = file.columns.report_allocations
    is_by_size = table.cumulative_start != NONE
    order = np.lexsort((dump.allocations.index, -dump.allocations.size_bytes))
    for rows in (np.flatnonzero(is_by_size), np.flatnonzero(~is_by_size)):
        cumulative = 0
        for row, allocation in zip(rows.tolist(), [*order.tolist(), *[NONE] * len(rows)], strict=False):
            expected = int(dump.allocations.index[allocation]) if allocation != NONE else NONE
            if table.index[row] != expected:
                facts = {"allocation": int(table.index[row]), "expected": expected}
                yield error(Code.REPORT_MISMATCH, row_place(file, table, row), what="allocation", **facts)
                break
            cumulative += int(dump.allocations.size_bytes[allocation])
            yield from _allocation(dump, file, row, allocation, cumulative)


def _allocation(dump: DumpSet, file: DumpFile, row: int, allocation: int, cumulative: int) -> Iterator[Finding]:
    """A header, which is that of the allocation with another size; and the sums before it."""
    table, data = file.columns.report_allocations, file.document.data
    if dump.assignment is None:
        return
    sizes = dump.allocations.size_bytes
    related = Related(row_place(dump.assignment, dump.allocations, allocation), "allocation")
    start, end = int(dump.allocations.start[allocation]), int(dump.allocations.end[allocation])
    header = _ADDRESS.sub(rb"\1", dump.assignment.document.data[start:end])
    expected = _SIZE.sub(b"size " + human_size(int(sizes[allocation])), header, count=1)
    facts: dict[str, int | str] = {"allocation": int(dump.allocations.index[allocation])}
    if data[table.start[row] : table.end[row]].rstrip(b":") != expected.rstrip(b":"):
        place = row_place(file, table, row)
        yield error(Code.REPORT_MISMATCH, place, related, what="header", expected=_text(expected), **facts)
        return
    sums = (
        ("cumulative", table.cumulative_start, table.cumulative_end, cumulative),
        ("rest", table.remaining_start, table.remaining_end, sum(sizes.tolist()) - cumulative),
    )
    for what, first, last, size in sums if table.cumulative_start[row] != NONE else ():
        printed, wanted = data[first[row] : last[row]], human_size(size)
        if printed != wanted:
            place = Place(file, int(first[row]), int(last[row]))
            facts |= {"printed": _text(printed), "expected": _text(wanted)}
            yield error(Code.REPORT_MISMATCH, place, related, what=what, **facts)


# ---------------------------------------------------------------- the tables of an allocation


def _tables(dump: DumpSet, doubts: Doubts, file: DumpFile) -> Iterator[Finding]:
    tables = file.columns.report_tables
    for table, allocation in enumerate(report_table_allocations(dump, tables, np.arange(len(tables))).tolist()):
        if allocation == NONE:
            continue
        values = dump.values_of_allocation(allocation)
        if np.any(in_doubt(doubts.values, values)):
            continue
        first, count = int(tables.first_row[table]), int(tables.row_count[table])
        found = list(_table(dump, file, np.arange(first, first + count), allocation))
        yield from found
        shown, rest = len(np.unique(dump.values.offset[values])), max(int(tables.rest[table]), 0)
        if not found and doubts.is_whole(file) and count + rest != shown:
            place = row_place(file, tables, table)
            if tables.rest[table] != NONE:
                # The last line tells how many are not shown.
                place = Place(file, file.document.line_span(file.document.row(place.end))[0], place.end)
            facts = {"printed": count + rest, "expected": shown, "allocation": int(dump.allocations.index[allocation])}
            yield error(Code.REPORT_MISMATCH, place, what="rows", **facts)


def _table(dump: DumpSet, file: DumpFile, group: Column, allocation: int) -> Iterator[Finding]:
    """A row for each offset: the biggest size, the number and the shapes of the values there, and the sum of sizes."""
    rows, data, values = file.columns.report_rows, file.document.data, dump.values_of_allocation(allocation)
    # Those at one offset stand together, in the order of the dump.
    values = values[np.argsort(dump.values.offset[values], kind="stable")]
    offsets, sizes = dump.values.offset[values], dump.values.size_bytes[values]
    cumulative, before = 0, NONE
    # Of two rows at one offset the one is wrong that has another size than the values there.
    twice = _rows_at_one_offset(rows.offset[group])
    for row in group[twice].tolist():
        size = int(sizes[offsets == rows.offset[row]].max(initial=0))
        if data[rows.size_start[row] : rows.size_end[row]] != human_size(size) or row == group[twice[-1]]:
            facts: dict[str, int | str] = {
                "offset": int(rows.offset[row]),
                "allocation": int(dump.allocations.index[allocation]),
            }
            yield error(Code.REPORT_MISMATCH, row_place(file, rows, row), what="offset twice", **facts)
            return
    for row in group.tolist():
        here = slice(*offsets.searchsorted((rows.offset[row], rows.offset[row] + 1)))
        facts = {
            "offset": int(rows.offset[row]),
            "allocation": int(dump.allocations.index[allocation]),
        }
        place = row_place(file, rows, row)
        count = here.stop - here.start
        if not count:
            yield error(Code.REPORT_MISMATCH, place, what="offset", **facts)
            return
        size = int(sizes[here].max())
        cumulative += size
        shapes = data[rows.shapes_start[row] : rows.end[row]]
        checks = (
            ("size", data[rows.size_start[row] : rows.size_end[row]], human_size(size)),
            ("sum", data[rows.cumulative_start[row] : rows.cumulative_end[row]], human_size(cumulative)),
            ("values", b"%d" % rows.values[row], b"%d" % count),
            ("shapes", shapes, _shapes(dump, values[here], shapes)),
            ("order", b"", b"" if before == NONE or size <= before else b"?"),
        )
        for what, printed, expected in checks:
            if printed != expected:
                facts |= {"printed": _text(printed), "expected": _text(expected)}
                related = (
                    row_place(dump.assignment, dump.slices, int(dump.values.slice[values[here][0]]))
                    if dump.assignment
                    else place
                )
                yield error(Code.REPORT_MISMATCH, place, Related(related, "slice"), what=what, **facts)
                break
        before = size


def _rows_at_one_offset(offsets: Column) -> Column:
    """The first rows that have the same offset, none if all differ."""
    found, count = np.unique(offsets, return_counts=True)
    return np.flatnonzero(offsets == found[count > 1][0]) if np.any(count > 1) else np.zeros(0, np.int64)


_COUNT: Final = re.compile(rb"(\d+)\xc3\x97")


def _shapes(dump: DumpSet, values: Column, printed: bytes) -> bytes:
    """What is printed, if these are the shapes of the values; the shapes of the values otherwise."""
    shapes = Counter(without_layout(dump.shape(value) or b"") for value in values.tolist())
    found: Counter[bytes] = Counter()
    for text in _split(printed):
        match = _COUNT.match(text)
        found[without_layout(text[match.end() :] if match else text)] += integer(match[1]) if match else 1
    expected = b", ".join(b"%d\xc3\x97%s" % (count, shape) if count > 1 else shape for shape, count in shapes.items())
    return printed if found == shapes else expected


def _split(shapes: bytes) -> Iterator[bytes]:
    depth, start = 0, 0
    for place, letter in enumerate(shapes):
        depth += (letter in b"([{") - (letter in b")]}")
        if letter == ord(",") and not depth:
            yield shapes[start:place].strip()
            start = place + 1
    yield shapes[start:].strip()


def _text(text: bytes) -> str:
    return text.decode("utf-8", "replace")
