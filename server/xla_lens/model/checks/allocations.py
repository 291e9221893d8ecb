"""Checks of the allocations: their numbers, kinds and sizes, and whether their values fit."""

import re
from collections.abc import Callable, Iterator
from typing import Final

import numpy as np

from xla_lens.model.checks.findings import Finding, Related, Relation, error, warning
from xla_lens.model.checks.problems import Occurrence, Problem
from xla_lens.model.checks.structure import allocations_before_gaps, renumbered_allocation
from xla_lens.model.checks.tainted import Marks, Tainted
from xla_lens.model.places.places import Place, row_place, total_place
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.lookup import distinct, first_rows
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
        yield error(place, Problem.RENUMBERED_ALLOCATION(int(index[renumbered]), expected=renumbered))
        return
    rows = np.arange(len(index))
    first = first_rows(index, index, rows)
    for row in np.flatnonzero((first != rows) & (index != NONE)).tolist():
        tainted.allocations[[row, first[row]]] = True
        yield error(
            row_place(dump.assignment, dump.allocations, row),
            Problem.DUPLICATE_ALLOCATION(int(index[row])),
            Related(row_place(dump.assignment, dump.allocations, int(first[row])), Relation.OTHER_OCCURRENCE),
        )
    if np.any(tainted.allocations) or np.any(index == NONE):
        return
    for row in np.flatnonzero(np.diff(index) < 0)[:1].tolist():
        place = row_place(dump.assignment, dump.allocations, row + 1)
        yield error(place, Problem.ALLOCATION_OUT_OF_ORDER(int(index[row + 1]), previous=int(index[row])))


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
    is_read_only_parameter = has[Kind.PARAMETER] & ~has[Kind.MAYBE_LIVE_OUT]
    value_count = _value_count(dump)
    number = dump.allocations.index
    conflicts: tuple[tuple[Marks, Callable[[int], Occurrence]], ...] = (
        (kind == 0, lambda row: Problem.ALLOCATION_WITHOUT_KIND(int(number[row]))),
        (
            (exclusive > 1) | ((exclusive == 1) & others),
            lambda row: Problem.EXCLUSIVE_KINDS(int(number[row]), Kind(int(kind[row]))),
        ),
        (has[Kind.OUTPUT] & ~has[Kind.MAYBE_LIVE_OUT], lambda row: Problem.OUTPUT_NOT_LIVE_OUT(int(number[row]))),
        (
            is_read_only_parameter & (value_count > 1),
            lambda row: Problem.SHARED_READ_ONLY_PARAMETER(int(number[row]), values=int(value_count[row])),
        ),
        (
            has[Kind.THREAD_LOCAL] & _has_live_ranges(dump),
            lambda row: Problem.THREAD_LOCAL_LIVE_RANGE(int(number[row])),
        ),
    )
    for is_wrong, problem in conflicts:
        for row in known[is_wrong[known] & ~tainted.allocations[known]].tolist():
            tainted.allocations[row] = True
            yield error(row_place(file, dump.allocations, row), problem(row))
    yield from _one_output(dump, tainted, file, np.flatnonzero(has[Kind.OUTPUT]))


def _value_count(dump: DumpSet) -> Column:
    placed = dump.values.allocation[dump.values.allocation != NONE]
    return np.bincount(placed, minlength=len(dump.allocations))


def _has_live_ranges(dump: DumpSet) -> Marks:
    found = np.zeros(len(dump.allocations), bool)
    placed = (dump.values.allocation != NONE) & (dump.values.live_range != NONE)
    found[dump.values.allocation[placed]] = True
    return found


def _one_output(dump: DumpSet, tainted: Tainted, file: DumpFile, rows: Column) -> Iterator[Finding]:
    """Exactly one allocation holds the root of the entry computation."""
    if not len(rows) and len(dump.allocations) and tainted.is_whole(file) and not np.any(tainted.allocations):
        yield error(row_place(file, dump.allocations, 0), Problem.NO_OUTPUT())
    if len(rows) > 1 and not np.any(tainted.allocations[rows]):
        # An allocation without a value of its output shape does not hold the root.
        wrong = {row for row in rows.tolist() if not holds_shape(dump, row, output_shape(dump, row))}
        first, *others = sorted(rows.tolist(), key=lambda row: (row in wrong, row))
        tainted.allocations[rows] = True
        for row in others:
            yield error(
                row_place(file, dump.allocations, row),
                Problem.SECOND_OUTPUT(int(dump.allocations.index[row]), output=int(dump.allocations.index[first])),
                Related(row_place(file, dump.allocations, first), Relation.OUTPUT),
            )


def output_shape(dump: DumpSet, allocation: int) -> bytes | None:
    """The output shape in the header of an allocation, None if it has none."""
    return _header_text(dump, dump.allocations.output_shape_start, dump.allocations.output_shape_end, allocation)


def parameter_shape(dump: DumpSet, allocation: int) -> bytes | None:
    """The parameter's shape in the header of an allocation, None if it has none."""
    return _header_text(dump, dump.allocations.parameter_shape_start, dump.allocations.parameter_shape_end, allocation)


def _header_text(dump: DumpSet, start: Column, end: Column, allocation: int) -> bytes | None:
    if dump.assignment is None or start[allocation] == NONE:
        return None
    return dump.assignment.document.data[start[allocation] : end[allocation]]


def holds_shape(dump: DumpSet, allocation: int, shape: bytes | None) -> bool:
    """Whether any value of an allocation has the shape; layouts are not compared."""
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


_ALIGNMENT: Final = 4
"""The least alignment of an offset, that of the sync flags of TPUs. Other memory spaces align to 16 bytes or more."""


def slices_fit_allocations(dump: DumpSet, tainted: Tainted) -> Iterator[Finding]:
    """Each value lies inside its allocation (CHECK_LE in BufferAllocation::AddAssignment)."""
    slices, allocations = dump.slices, dump.allocations
    if dump.assignment is None:
        return
    known = np.flatnonzero(slices.allocation != NONE)
    row_allocation = slices.allocation[known]
    known = known[(allocations.index[row_allocation] != NONE) & ~tainted.allocations[row_allocation]]
    allocation = slices.allocation[known]
    is_negative = (slices.offset[known] < 0) | (slices.size_bytes[known] < 0)
    is_past_end = slices.offset[known] + slices.size_bytes[known] > allocations.size_bytes[allocation]
    is_temp = (allocations.kind[allocation] & int(Kind.PREALLOCATED_TEMP)) != 0
    has_kind = allocations.kind[allocation] != 0
    is_outside = is_past_end | is_negative
    is_moved = (slices.offset[known] != 0) & ~is_temp & has_kind & ~is_outside
    is_misaligned = (slices.offset[known] % _ALIGNMENT != 0) & ~is_outside & ~is_moved
    for place in np.flatnonzero(is_outside | is_moved | is_misaligned).tolist():
        row, allocation_row = int(known[place]), int(allocation[place])
        value = dump.value_label(int(dump.value_of_slice[row]))
        offset, size_bytes = int(slices.offset[row]), int(slices.size_bytes[row])
        number, allocation_bytes = int(allocations.index[allocation_row]), int(allocations.size_bytes[allocation_row])
        if is_negative[place]:
            problem = Problem.NEGATIVE_SLICE(value, offset, size_bytes)
        elif is_moved[place]:
            problem = Problem.UNEXPECTED_OFFSET(value, offset, number)
        elif is_misaligned[place]:
            problem = Problem.MISALIGNED_SLICE(value, offset, _ALIGNMENT)
        else:
            problem = Problem.SLICE_OUT_OF_BOUNDS(value, offset + size_bytes, number, allocation_bytes)
        tainted.values[dump.value_of_slice[row]] = True
        yield (warning if is_moved[place] else error)(
            row_place(dump.assignment, slices, row),
            problem,
            Related(row_place(dump.assignment, allocations, allocation_row), Relation.ALLOCATION),
        )


def total_is_sum_of_allocations(dump: DumpSet, tainted: Tainted) -> Iterator[Finding]:
    """The printed total is the sum of all allocations, and its rounded form agrees with it."""
    place = total_place(dump)
    if place is None:
        return
    total = int(dump.totals.size_bytes[0])
    reserved = sum(dump.allocations.size_bytes.tolist())
    is_known = dump.assignment is not None and not np.any(dump.allocations.index == NONE)
    is_known &= not len(allocations_before_gaps(dump)) and tainted.is_whole(dump.assignment)
    is_known &= not _has_duplicates(dump.allocations.index)
    if not is_known or total == reserved or dump.assignment is None:
        yield from rounded_size_agrees(place.file, dump.totals, 0)
        return
    row, needed_bytes = _wrong_size(dump, total - reserved)
    if row == NONE:
        tainted.are_sizes_sound = False
        yield error(place, Problem.TOTAL_MISMATCH(total, reserved, reserved - total, allocations=len(dump.allocations)))
        return
    tainted.allocations[row] = True
    yield error(
        row_place(dump.assignment, dump.allocations, row),
        Problem.ALLOCATION_SIZE_MISMATCH(
            int(dump.allocations.index[row]), int(dump.allocations.size_bytes[row]), needed_bytes, total
        ),
        Related(place, Relation.TOTAL),
    )


def rounded_size_agrees(file: DumpFile, table: Totals | ReportSpaces, row: int) -> Iterator[Finding]:
    """The rounded form of a size, if it is printed, agrees with the bytes."""
    start, end, size_bytes = int(table.human_start[row]), int(table.human_end[row]), int(table.size_bytes[row])
    printed, expected = file.document.data[start:end], human_size(size_bytes)
    if start != NONE and printed != expected:
        yield warning(
            Place(file, start, end), Problem.HUMAN_SIZE_MISMATCH(size_bytes, decoded(printed), decoded(expected))
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


def _has_duplicates(numbers: Column) -> bool:
    return len(distinct(numbers)) < len(numbers)


def decoded(text: bytes) -> str:
    """Text of a dump for a message."""
    return text.decode("utf-8", "replace")
