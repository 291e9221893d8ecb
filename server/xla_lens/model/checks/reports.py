"""Checks of the memory usage report against the buffer assignment (BufferAssignment::MemoryUsageReport)."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

import numpy as np

from xla_lens.model.checks.allocations import without_layout
from xla_lens.model.checks.doubts import Doubts, in_doubt
from xla_lens.model.dump_set import DumpSet
from xla_lens.model.findings import Code, Finding, Related, error, warning
from xla_lens.model.members import Member
from xla_lens.model.places import Place, allocation_by_size, row_place
from xla_lens.syntax.columns import NONE, Column
from xla_lens.syntax.file_names import MemberKind
from xla_lens.syntax.human_sizes import human_size


def report_mismatch(dump: DumpSet, doubts: Doubts) -> Iterator[Finding]:
    """What a report tells else than the allocations do."""
    for member in dump.members:
        if member.kind is MemberKind.MEMORY_USAGE_REPORT:
            yield from _human_sizes(member)
            if doubts.is_whole(dump.assignment) and not np.any(dump.allocations.index == NONE):
                yield from _totals(dump, doubts, member)
                yield from _allocations(dump, doubts, member)
                yield from _tables(dump, doubts, member)


def _human_sizes(member: Member) -> Iterator[Finding]:
    for table in (member.columns.totals, member.columns.report_spaces):
        for row in np.flatnonzero(table.human_start != NONE).tolist():
            start, end = int(table.human_start[row]), int(table.human_end[row])
            printed, expected = member.document.data[start:end], human_size(int(table.size_bytes[row]))
            if printed != expected:
                yield warning(
                    Code.HUMAN_SIZE_MISMATCH,
                    Place(member, start, end),
                    total_bytes=int(table.size_bytes[row]),
                    printed=_text(printed),
                    expected=_text(expected),
                )


def _totals(dump: DumpSet, doubts: Doubts, member: Member) -> Iterator[Finding]:
    """The total of all allocations, and that of each memory space."""
    colors, sizes = dump.allocations.color, dump.allocations.size_bytes
    if np.any(doubts.allocations):
        return
    for row, total in enumerate(member.columns.totals.size_bytes.tolist()):
        if total != sum(sizes.tolist()):
            place = row_place(member, member.columns.totals, row)
            yield error(Code.REPORT_MISMATCH, place, what="total", printed=total, expected=sum(sizes.tolist()))
    spaces = member.columns.report_spaces
    for row, (color, total) in enumerate(zip(spaces.color.tolist(), spaces.size_bytes.tolist(), strict=True)):
        reserved = sum(sizes[colors == color].tolist())
        if total != reserved:
            place = row_place(member, spaces, row)
            yield error(Code.REPORT_MISMATCH, place, what="space", color=color, printed=total, expected=reserved)


_SIZE: Final = re.compile(rb"size -?\d+")
_ADDRESS: Final = re.compile(rb"^(allocation \d+: )0x[0-9a-f]+, ")


def _allocations(dump: DumpSet, doubts: Doubts, member: Member) -> Iterator[Finding]:
    """The lists of allocations: their headers, and the sums of the list by size."""
    table, data = member.columns.report_allocations, member.document.data
    if dump.assignment is None:
        return
    source, sizes = dump.assignment.document.data, dump.allocations.size_bytes
    total = sum(sizes.tolist())
    seen: set[tuple[int, bool]] = set()
    cumulative = 0
    for row, index in enumerate(table.index.tolist()):
        place, allocation = row_place(member, table, row), dump.allocation_row(index)
        is_by_size = bool(table.cumulative_start[row] != NONE)
        if allocation == NONE or (index, is_by_size) in seen:
            what = "unknown" if allocation == NONE else "twice"
            yield error(Code.REPORT_MISMATCH, place, what=what, allocation=index)
            return
        seen.add((index, is_by_size))
        cumulative += int(sizes[allocation]) if is_by_size else 0
        if doubts.allocations[allocation]:
            continue
        related = Related(row_place(dump.assignment, dump.allocations, allocation), "allocation")
        header = source[dump.allocations.start[allocation] : dump.allocations.end[allocation]]
        human = b"size " + human_size(int(sizes[allocation]))
        expected = _SIZE.sub(human.replace(b"\\", b""), _ADDRESS.sub(rb"\1", header), count=1)
        if data[table.start[row] : table.end[row]].rstrip(b":") != expected.rstrip(b":"):
            yield error(Code.REPORT_MISMATCH, place, related, what="header", allocation=index, expected=_text(expected))
        elif is_by_size and not np.any(doubts.allocations):
            sums = (
                ("cumulative", table.cumulative_start, table.cumulative_end, cumulative),
                ("rest", table.remaining_start, table.remaining_end, total - cumulative),
            )
            for what, start, end, value in sums:
                printed = data[start[row] : end[row]]
                if printed != human_size(value):
                    span = Place(member, int(start[row]), int(end[row]))
                    facts = {"printed": _text(printed), "expected": _text(human_size(value))}
                    yield error(Code.REPORT_MISMATCH, span, related, what=what, allocation=index, **facts)


# ---------------------------------------------------------------- the tables of an allocation


def _tables(dump: DumpSet, doubts: Doubts, member: Member) -> Iterator[Finding]:
    rows = member.columns.report_rows
    tables = np.stack((rows.color, rows.index, rows.table))
    starts = np.flatnonzero(np.append(True, np.any(np.diff(tables) != 0, axis=0)))[: len(rows)]
    for group in np.split(np.arange(len(rows)), starts[1:]) if len(rows) else ():
        color, index, number = (int(cell) for cell in tables[:, group[0]])
        allocation = dump.allocation_row(index) if index != NONE else allocation_by_size(dump, color, number)
        if allocation != NONE:
            values = dump.values_of_allocation(allocation)
            if not doubts.allocations[allocation] and not np.any(in_doubt(doubts.values, values)):
                yield from _table(dump, member, group, allocation)


def _table(dump: DumpSet, member: Member, group: Column, allocation: int) -> Iterator[Finding]:
    """A row for each offset: the biggest size, the number and the shapes of the values there, and the sum of sizes."""
    rows, data, values = member.columns.report_rows, member.document.data, dump.values_of_allocation(allocation)
    offsets, sizes = dump.values.offset[values], dump.values.size_bytes[values]
    cumulative, before = 0, NONE
    seen: set[int] = set()
    for row in group.tolist():
        here = offsets == rows.offset[row]
        facts: dict[str, int | str] = {
            "offset": int(rows.offset[row]),
            "allocation": int(dump.allocations.index[allocation]),
        }
        place = row_place(member, rows, row)
        if not here.any() or int(rows.offset[row]) in seen:
            what = "offset twice" if here.any() else "offset"
            yield error(Code.REPORT_MISMATCH, place, what=what, **facts)
            return
        seen.add(int(rows.offset[row]))
        size = int(sizes[here].max())
        cumulative += size
        shapes = data[rows.shapes_start[row] : rows.end[row]]
        checks = (
            ("size", data[rows.size_start[row] : rows.size_end[row]], human_size(size)),
            ("sum", data[rows.cumulative_start[row] : rows.cumulative_end[row]], human_size(cumulative)),
            ("values", b"%d" % rows.values[row], b"%d" % here.sum()),
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


_COUNT: Final = re.compile(rb"(\d+)\xc3\x97")


def _shapes(dump: DumpSet, values: Column, printed: bytes) -> bytes:
    """What is printed, if these are the shapes of the values; the shapes of the values otherwise."""
    shapes = Counter(without_layout(dump.shape(value) or b"") for value in values.tolist())
    found: Counter[bytes] = Counter()
    for text in _split(printed):
        match = _COUNT.match(text)
        found[without_layout(text[match.end() :] if match else text)] += int(match[1]) if match else 1
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
