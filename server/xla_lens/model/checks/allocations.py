"""Checks of the allocations: their numbers, kinds and sizes, and whether their values fit."""

import re
from collections.abc import Iterator
from typing import Final

import numpy as np

from xla_lens.model.checks.findings import Finding, Related, Relation, error, warning
from xla_lens.model.checks.problems import KindConflict, Problem
from xla_lens.model.checks.structure import allocations_before_gaps, renumbered_allocation
from xla_lens.model.checks.tainted import Tainted, is_marked
from xla_lens.model.places.places import Place, row_place, total_place
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.lookup import distinct, first_rows, taken
from xla_lens.syntax.columns import NONE, Column, Kind, ReportSpaces, Totals
from xla_lens.syntax.human_sizes import human_size


def allocation_numbers_ascend(dump: DumpSet, tainted: Tainted) -> Iterator[Finding]:
    """Allocations are numbered 0, 1, 2, … in the order of the text (BufferAssigner::CombineTempAllocations)."""
    index = dump.allocations.index
    if dump.assignment is None:
        return
    # The allocation before a gap may hold values whose own headers are missing.
    before_gaps = allocations_before_gaps(dump)
    tainted.allocations[before_gaps[before_gaps != NONE]] = True
    renumbered = renumbered_allocation(dump)
    if renumbered != NONE and index[renumbered] != NONE:
        tainted.allocations[renumbered] = True
        place = row_place(dump.assignment, dump.allocations, renumbered)
        yield error(place, Problem.RENUMBERED_ALLOCATION(index[renumbered], renumbered))
        return
    rows = np.arange(len(index))
    first = first_rows(index, index, rows)
    for row in np.flatnonzero((first != rows) & (index != NONE)).tolist():
        tainted.allocations[[row, first[row]]] = True
        yield error(
            row_place(dump.assignment, dump.allocations, row),
            Problem.DUPLICATE_ALLOCATION(index[row]),
            Related(row_place(dump.assignment, dump.allocations, int(first[row])), Relation.OTHER_OCCURRENCE),
        )
    if np.any(tainted.allocations) or np.any(index == NONE):
        return
    for row in np.flatnonzero(np.diff(index) < 0)[:1].tolist():
        place = row_place(dump.assignment, dump.allocations, row + 1)
        yield error(place, Problem.OUT_OF_ORDER(f"Allocation {index[row + 1]}", f"allocation {index[row]}", "numbers"))


# ---------------------------------------------------------------- kinds


_EXCLUSIVE_KINDS: Final = Kind.PREALLOCATED_TEMP | Kind.CONSTANT | Kind.THREAD_LOCAL
"""Kinds that exclude each other and all others (BufferAllocation::IsPreallocatedTempBuffer)."""


def allocation_kinds_agree(dump: DumpSet, tainted: Tainted) -> Iterator[Finding]:
    """Each allocation has a kind, and kinds agree with each other and with the values."""
    kind, file = dump.allocations.kind, dump.assignment
    if file is None:
        return
    known = np.flatnonzero((dump.allocations.index != NONE) & ~tainted.allocations)
    has = {flag: (kind & int(flag)) != 0 for flag in Kind}
    exclusive = sum(has[flag].astype(int) for flag in _EXCLUSIVE_KINDS)
    others = has[Kind.PARAMETER] | has[Kind.OUTPUT] | has[Kind.MAYBE_LIVE_OUT]
    conflicts = {
        KindConflict.NO_KIND: kind == 0,
        KindConflict.EXCLUSIVE: (exclusive > 1) | ((exclusive == 1) & others),
        KindConflict.OUTPUT: has[Kind.OUTPUT] & ~has[Kind.MAYBE_LIVE_OUT],
        KindConflict.READ_ONLY: has[Kind.PARAMETER] & ~has[Kind.MAYBE_LIVE_OUT] & (_count(dump, live=False) > 1),
        KindConflict.THREAD_LOCAL: has[Kind.THREAD_LOCAL] & (_count(dump, live=True) > 0),
    }
    for conflict, is_wrong in conflicts.items():
        for row in known[is_wrong[known] & ~tainted.allocations[known]].tolist():
            tainted.allocations[row] = True
            problem = Problem.KIND_CONFLICT(dump.allocations.index[row], conflict)
            yield error(row_place(file, dump.allocations, row), problem)
    yield from _one_output(dump, tainted, file, np.flatnonzero(has[Kind.OUTPUT]))


def _count(dump: DumpSet, *, live: bool) -> Column:
    """The number of values in each allocation, or of those with live ranges."""
    values = dump.values
    counted = (values.allocation != NONE) & ((values.live_range != NONE) | (not live))
    return np.bincount(values.allocation[counted], minlength=len(dump.allocations))


def _one_output(dump: DumpSet, tainted: Tainted, file: DumpFile, rows: Column) -> Iterator[Finding]:
    """Exactly one allocation holds the root of the entry computation."""
    if not len(rows) and len(dump.allocations) and tainted.is_whole(file) and not np.any(tainted.allocations):
        yield error(row_place(file, dump.allocations, 0), Problem.NO_OUTPUT())
    if len(rows) > 1 and not np.any(tainted.allocations[rows]):
        first, *others = rows.tolist()
        tainted.allocations[rows] = True
        for row in others:
            yield error(
                row_place(file, dump.allocations, row),
                Problem.KIND_CONFLICT(dump.allocations.index[row], KindConflict.SECOND_OUTPUT),
                Related(row_place(file, dump.allocations, first), Relation.OUTPUT),
            )


_LAYOUT: Final = re.compile(rb"\{[^{}]*\}|/\*[^*]*\*/")


def without_layout(shape: bytes) -> bytes:
    """A shape as ShapeUtil::HumanString prints it, without comments."""
    return _LAYOUT.sub(b"", shape)


# ---------------------------------------------------------------- sizes


_ALIGNMENT: Final = 4
"""The least alignment of an offset, that of the sync flags of TPUs. Other memory spaces align to 16 bytes or more."""


def slices_fit_allocations(dump: DumpSet, tainted: Tainted) -> Iterator[Finding]:
    """Each value lies inside its allocation (CHECK_LE in BufferAllocation::AddAssignment), where XLA may place it."""
    slices, allocations, file = dump.slices, dump.allocations, dump.assignment
    if file is None:
        return
    owner, offset, size = slices.allocation, slices.offset, slices.size_bytes
    kind = taken(allocations.kind, owner)
    known = (taken(allocations.index, owner) != NONE) & ~is_marked(tainted.allocations, owner)
    is_outside = (offset < 0) | (size < 0)
    if tainted.are_sizes_sound:
        is_outside |= offset + size > taken(allocations.size_bytes, owner)
    is_moved = (offset != 0) & ((kind & int(Kind.PREALLOCATED_TEMP)) == 0) & (kind != 0)
    for row in np.flatnonzero(known & (is_outside | is_moved | (offset % _ALIGNMENT != 0))).tolist():
        value, allocation = int(dump.value_of_slice[row]), int(owner[row])
        label, number, place = dump.value_label(value), allocations.index[allocation], row_place(file, slices, row)
        related = Related(row_place(file, allocations, allocation), Relation.ALLOCATION)
        tainted.values[value] = True
        if is_outside[row]:
            sizes = size[row], offset[row], number, allocations.size_bytes[allocation]
            yield error(place, Problem.SLICE_OUT_OF_BOUNDS(label, *sizes), related)
        else:
            make = warning if is_moved[row] else error
            yield make(place, Problem.MISPLACED_SLICE(label, offset[row], number), related)


def total_is_sum_of_allocations(dump: DumpSet, tainted: Tainted) -> Iterator[Finding]:
    """The printed total is the sum of all allocations, and its rounded form agrees with it."""
    place = total_place(dump)
    if place is None:
        return
    total = int(dump.totals.size_bytes[0])
    reserved = sum(dump.allocations.size_bytes.tolist())
    is_known = dump.assignment is not None and not np.any(dump.allocations.index == NONE)
    is_known &= not len(allocations_before_gaps(dump)) and tainted.is_whole(dump.assignment)
    is_known &= len(distinct(dump.allocations.index)) == len(dump.allocations)
    if not is_known or total == reserved or dump.assignment is None:
        yield from rounded_size_agrees(place.file, dump.totals, 0)
        return
    row, needed_bytes = _wrong_size(dump, total - reserved)
    if row == NONE:
        tainted.are_sizes_sound = False
        yield error(place, Problem.TOTAL_MISMATCH(total, reserved, reserved - total, len(dump.allocations)))
        return
    tainted.allocations[row] = True
    sizes = dump.allocations.size_bytes[row], needed_bytes, total
    yield error(
        row_place(dump.assignment, dump.allocations, row),
        Problem.ALLOCATION_SIZE_MISMATCH(dump.allocations.index[row], *sizes),
        Related(place, Relation.TOTAL),
    )


def _wrong_size(dump: DumpSet, missing_bytes: int) -> tuple[int, int]:
    """The row and the needed bytes of the only allocation that makes the sum right if it gets the size that its values
    need. NONE for both unless there is exactly one.
    """
    slices, allocations = dump.slices, dump.allocations
    needed = np.zeros(len(allocations), np.int64)
    placed = slices.allocation != NONE
    np.maximum.at(needed, slices.allocation[placed], (slices.offset + slices.size_bytes)[placed])
    rows = np.flatnonzero((needed - allocations.size_bytes == missing_bytes) & (allocations.slice_count > 0))
    return (int(rows[0]), int(needed[rows[0]])) if len(rows) == 1 else (NONE, NONE)


def rounded_size_agrees(file: DumpFile, table: Totals | ReportSpaces, row: int) -> Iterator[Finding]:
    """The rounded form of a size, if it is printed, agrees with the bytes."""
    start, end, size_bytes = int(table.human_start[row]), int(table.human_end[row]), int(table.size_bytes[row])
    printed, expected = file.document.data[start:end], human_size(size_bytes)
    if start != NONE and printed != expected:
        yield warning(Place(file, start, end), Problem.HUMAN_SIZE_MISMATCH(size_bytes, printed, expected))
