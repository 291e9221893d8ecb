"""Checks of the allocations: their numbers, kinds and sizes, and whether the values in them fit."""

import re
from collections.abc import Iterator
from typing import Final

import numpy as np

from xla_lens.model.checks.doubts import Doubts, Marks
from xla_lens.model.checks.findings import Code, Finding, Related, error, warning
from xla_lens.model.checks.structure import allocations_before_gaps
from xla_lens.model.places.places import Place, row_place, total_place
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.lookup import first_rows
from xla_lens.syntax.columns import NONE, Column, Kind, ReportSpaces, Totals
from xla_lens.syntax.human_sizes import human_size


def duplicate_allocations(dump: DumpSet, doubts: Doubts) -> Iterator[Finding]:
    """Indices that are there twice, or not in order (BufferAssigner::CombineTempAllocations numbers them anew)."""
    index = dump.allocations.index
    if dump.assignment is None:
        return
    # The allocation before a gap may have got the values of those whose headers are missing.
    before_gaps = allocations_before_gaps(dump)
    doubts.allocations[before_gaps[before_gaps != NONE]] = True
    rows = np.arange(len(index))
    first = first_rows(index, index, rows)
    for row in np.flatnonzero((first != rows) & (index != NONE)).tolist():
        doubts.allocations[[row, first[row]]] = True
        yield error(
            Code.DUPLICATE_ALLOCATION,
            row_place(dump.assignment, dump.allocations, row),
            Related(row_place(dump.assignment, dump.allocations, int(first[row])), "first"),
            index=int(index[row]),
        )
    if np.any(doubts.allocations) or np.any(index == NONE):
        return
    for row in np.flatnonzero(np.diff(index) < 0)[:1].tolist():
        place = row_place(dump.assignment, dump.allocations, row + 1)
        yield error(Code.SYNTAX, place, what="order", before=int(index[row]), after=int(index[row + 1]))


# ---------------------------------------------------------------- kinds


_ALONE: Final = Kind.PREALLOCATED_TEMP | Kind.CONSTANT | Kind.THREAD_LOCAL
"""Each of these kinds excludes the others (BufferAllocation::IsPreallocatedTempBuffer is what is left over)."""


def kind_conflicts(dump: DumpSet, doubts: Doubts) -> Iterator[Finding]:
    """Kinds that exclude each other, and those that need another."""
    kind, file = dump.allocations.kind, dump.assignment
    if file is None:
        return
    known = np.flatnonzero((dump.allocations.index != NONE) & ~doubts.allocations)
    has = {flag: (kind & int(flag)) != 0 for flag in Kind}
    alone = sum(has[flag].astype(int) for flag in _ALONE)
    others = has[Kind.PARAMETER] | has[Kind.OUTPUT] | has[Kind.MAYBE_LIVE_OUT]
    # Only what is also an output may hold other values than the parameter's own.
    read_only = has[Kind.PARAMETER] & ~has[Kind.MAYBE_LIVE_OUT]
    conflicts = (
        ("none", kind == 0),
        ("excluded", (alone > 1) | ((alone == 1) & others)),
        ("output", has[Kind.OUTPUT] & ~has[Kind.MAYBE_LIVE_OUT]),
        ("parameter", read_only & (_number_of_values(dump) > 1)),
        ("ranges", has[Kind.THREAD_LOCAL] & _has_live_ranges(dump)),
    )
    for what, is_wrong in conflicts:
        for row in known[is_wrong[known] & ~doubts.allocations[known]].tolist():
            doubts.allocations[row] = True
            yield error(
                Code.ALLOCATION_KIND_CONFLICT,
                row_place(file, dump.allocations, row),
                what=what,
                index=int(dump.allocations.index[row]),
            )
    yield from _outputs(dump, doubts, file, np.flatnonzero(has[Kind.OUTPUT]))


def _number_of_values(dump: DumpSet) -> Column:
    placed = dump.values.allocation[dump.values.allocation != NONE]
    return np.bincount(placed, minlength=len(dump.allocations))


def _has_live_ranges(dump: DumpSet) -> Marks:
    found = np.zeros(len(dump.allocations), bool)
    placed = (dump.values.allocation != NONE) & (dump.values.live_range != NONE)
    found[dump.values.allocation[placed]] = True
    return found


def _outputs(dump: DumpSet, doubts: Doubts, file: DumpFile, rows: Column) -> Iterator[Finding]:
    """Exactly one allocation holds the root of the entry computation."""
    if not len(rows) and len(dump.allocations) and doubts.is_whole(file) and not np.any(doubts.allocations):
        place = row_place(file, dump.allocations, 0)
        yield error(Code.ALLOCATION_KIND_CONFLICT, place, what="no output", index=int(dump.allocations.index[0]))
    if len(rows) > 1 and not np.any(doubts.allocations[rows]):
        # The root's shape is printed; where another shape is, is no root.
        wrong = {row for row in rows.tolist() if not holds_shape(dump, row, output_shape(dump, row))}
        first, *others = sorted(rows.tolist(), key=lambda row: (row in wrong, row))
        doubts.allocations[rows] = True
        for row in others:
            yield error(
                Code.ALLOCATION_KIND_CONFLICT,
                row_place(file, dump.allocations, row),
                Related(row_place(file, dump.allocations, first), "output"),
                what="outputs",
                index=int(dump.allocations.index[row]),
            )


def output_shape(dump: DumpSet, allocation: int) -> bytes | None:
    """The shape in the header of an allocation that holds the output, None if it has none."""
    return _header_text(dump, dump.allocations.output_shape_start, dump.allocations.output_shape_end, allocation)


def parameter_shape(dump: DumpSet, allocation: int) -> bytes | None:
    """The shape in the header of a parameter's allocation, None if it has none."""
    return _header_text(dump, dump.allocations.parameter_shape_start, dump.allocations.parameter_shape_end, allocation)


def _header_text(dump: DumpSet, start: Column, end: Column, allocation: int) -> bytes | None:
    if dump.assignment is None or start[allocation] == NONE:
        return None
    return dump.assignment.document.data[start[allocation] : end[allocation]]


def holds_shape(dump: DumpSet, allocation: int, shape: bytes | None) -> bool:
    """Whether one of the values in an allocation has a shape, leaving out its layout."""
    if shape is None or dump.assignment is None:
        return False
    first = int(dump.allocations.first_slice[allocation])
    data, slices = dump.assignment.document.data, dump.slices
    wanted = without_layout(shape)
    rows = range(first, first + int(dump.allocations.slice_count[allocation]))
    return any(without_layout(data[slices.shape_start[row] : slices.end[row]]) == wanted for row in rows)


_LAYOUT: Final = re.compile(rb"\{[^{}]*\}|/\*[^*]*\*/")


def without_layout(shape: bytes) -> bytes:
    """A shape as ShapeUtil::HumanString prints it, without comments."""
    return _LAYOUT.sub(b"", shape)


# ---------------------------------------------------------------- sizes


def slices_out_of_bounds(dump: DumpSet, doubts: Doubts) -> Iterator[Finding]:
    """Values that do not fit into their allocation (CHECK_LE in BufferAllocation::AddAssignment)."""
    slices, allocations = dump.slices, dump.allocations
    if dump.assignment is None:
        return
    known = np.flatnonzero(slices.allocation != NONE)
    row_allocation = slices.allocation[known]
    known = known[(allocations.index[row_allocation] != NONE) & ~doubts.allocations[row_allocation]]
    allocation = slices.allocation[known]
    end = slices.offset[known] + slices.size_bytes[known]
    outside = (end > allocations.size_bytes[allocation]) | (slices.offset[known] < 0) | (slices.size_bytes[known] < 0)
    is_temp = (allocations.kind[allocation] & int(Kind.PREALLOCATED_TEMP)) != 0
    moved = (slices.offset[known] != 0) & ~is_temp & (allocations.kind[allocation] != 0) & ~outside
    for row in known[outside | moved].tolist():
        allocation_row = int(slices.allocation[row])
        doubts.values[dump.value_of_slice[row]] = True
        yield (warning if moved[known.searchsorted(row)] else error)(
            Code.SLICE_OUT_OF_BOUNDS,
            row_place(dump.assignment, slices, row),
            Related(row_place(dump.assignment, allocations, allocation_row), "allocation"),
            what="moved" if moved[known.searchsorted(row)] else "outside",
            value=dump.value_label(int(dump.value_of_slice[row])),
            offset=int(slices.offset[row]),
            size_bytes=int(slices.size_bytes[row]),
            allocation=int(allocations.index[allocation_row]),
            allocation_bytes=int(allocations.size_bytes[allocation_row]),
        )


def total_mismatch(dump: DumpSet, doubts: Doubts) -> Iterator[Finding]:
    """The printed total against the allocations, and against itself in a unit that fits."""
    place = total_place(dump)
    if place is None:
        return
    total = int(dump.totals.size_bytes[0])
    reserved = sum(dump.allocations.size_bytes.tolist())
    is_known = dump.assignment is not None and not np.any(dump.allocations.index == NONE)
    is_known &= not len(allocations_before_gaps(dump)) and doubts.is_whole(dump.assignment)
    is_known &= not _has_twice(dump.allocations.index)
    if is_known and total != reserved and dump.assignment:
        row = _wrong_size(dump, total - reserved)
        if row != NONE:
            doubts.allocations[row] = True
        yield error(
            Code.TOTAL_MISMATCH,
            place if row == NONE else row_place(dump.assignment, dump.allocations, row),
            *([] if row == NONE else [Related(place, "total")]),
            total_bytes=total,
            reserved_bytes=reserved,
            allocations=len(dump.allocations),
            allocation=int(dump.allocations.index[row]) if row != NONE else NONE,
            allocation_bytes=int(dump.allocations.size_bytes[row]) if row != NONE else NONE,
        )
    else:
        yield from human_size_mismatch(place.file, dump.totals, 0)


def human_size_mismatch(file: DumpFile, table: Totals | ReportSpaces, row: int) -> Iterator[Finding]:
    """A size against the same in a unit that fits, where that is printed."""
    start, end, size_bytes = int(table.human_start[row]), int(table.human_end[row]), int(table.size_bytes[row])
    printed, expected = file.document.data[start:end], human_size(size_bytes)
    if start != NONE and printed != expected:
        facts = {"printed": _text(printed), "expected": _text(expected)}
        yield warning(Code.HUMAN_SIZE_MISMATCH, Place(file, start, end), total_bytes=size_bytes, **facts)


def _wrong_size(dump: DumpSet, missing_bytes: int) -> int:
    """The allocation that makes the sum right if it is as big as the values in it need, NONE if that is not one."""
    slices, allocations = dump.slices, dump.allocations
    needed = np.zeros(len(allocations), np.int64)
    placed = slices.allocation != NONE
    np.maximum.at(needed, slices.allocation[placed], (slices.offset + slices.size_bytes)[placed])
    rows = np.flatnonzero((needed - allocations.size_bytes == missing_bytes) & (allocations.slice_count > 0))
    return int(rows[0]) if len(rows) == 1 else NONE


def _has_twice(numbers: Column) -> bool:
    return len(np.unique(numbers)) < len(numbers)


def _text(text: bytes) -> str:
    return text.decode("utf-8", "replace")
