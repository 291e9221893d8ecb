"""Checks of the allocations: their numbers, kinds, sizes and headers, and whether their values fit."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

import numpy as np

from xla_lens.model.checks.context import Context, marked, repeats
from xla_lens.model.checks.findings import Finding, Related, Relation, error, hint, warning
from xla_lens.model.checks.problems import KindConflict, Problem
from xla_lens.model.checks.structure import allocations_before_gaps, renumbered_allocation
from xla_lens.model.places.places import Place, total_place
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.tables.dump_set import EMPTY_INDEX, DumpSet
from xla_lens.model.tables.lookup import distinct, taken
from xla_lens.syntax.columns import NONE, Column, Kind, ReportSpaces, Totals
from xla_lens.syntax.hlo.shapes import byte_sizes, subshape_spans, without_layout
from xla_lens.syntax.human_sizes import human_size
from xla_lens.syntax.numbers import integer


def allocation_numbers_ascend(context: Context) -> Iterator[Finding]:
    """Allocations are numbered 0, 1, 2, … in the order of the text (BufferAssigner::CombineTempAllocations)."""
    allocations, index = context.dump.allocations, context.dump.allocations.index
    # The allocation before a gap may hold values whose own headers are missing.
    context.cover(allocations=allocations_before_gaps(context.dump).tolist())
    renumbered = renumbered_allocation(context.dump)
    if renumbered != NONE and index[renumbered] != NONE:
        problem = Problem.RENUMBERED_ALLOCATION(index[renumbered], renumbered)
        yield context.error(allocations, renumbered, problem, allocations=renumbered)
        return
    for first, row in repeats((index,), index != NONE):
        related = context.related(allocations, first, Relation.OTHER_OCCURRENCE)
        problem = Problem.DUPLICATE_ALLOCATION(index[row])
        yield context.error(allocations, row, problem, *related, allocations=(row, first))
    if not np.any(context.allocations):
        for row in marked(np.diff(index) < 0)[:1]:
            words = f"Allocation {index[row + 1]}", f"allocation {index[row]}", "numbers"
            yield context.error(allocations, row + 1, Problem.OUT_OF_ORDER(*words))


_EXCLUSIVE_KINDS: Final = Kind.PREALLOCATED_TEMP | Kind.CONSTANT | Kind.THREAD_LOCAL
"""Kinds that exclude each other and all others (BufferAllocation::IsPreallocatedTempBuffer)."""


def allocation_kinds_agree(context: Context) -> Iterator[Finding]:
    """Each allocation has a kind, and kinds agree with each other and with the values. One has the output."""
    dump, allocations = context.dump, context.dump.allocations
    kind = allocations.kind
    has = {flag: (kind & int(flag)) != 0 for flag in Kind}
    exclusive = sum(has[flag].astype(int) for flag in _EXCLUSIVE_KINDS)
    others = has[Kind.PARAMETER] | has[Kind.OUTPUT] | has[Kind.MAYBE_LIVE_OUT]
    count, live = (
        np.bincount(dump.values.allocation[has_values & (dump.values.allocation != NONE)], minlength=len(allocations))
        for has_values in (True, dump.values.live_range != NONE)
    )
    conflicts = {
        KindConflict.NO_KIND: kind == 0,
        KindConflict.EXCLUSIVE: (exclusive > 1) | ((exclusive == 1) & others),
        KindConflict.OUTPUT: has[Kind.OUTPUT] & ~has[Kind.MAYBE_LIVE_OUT],
        KindConflict.READ_ONLY: has[Kind.PARAMETER] & ~has[Kind.MAYBE_LIVE_OUT] & (count > 1),
        KindConflict.THREAD_LOCAL: has[Kind.THREAD_LOCAL] & (live > 0),
        KindConflict.SECOND_OUTPUT: has[Kind.OUTPUT] & (has[Kind.OUTPUT].cumsum() > 1),
    }
    for conflict, is_wrong in conflicts.items():
        for row in marked(is_wrong):
            problem = Problem.KIND_CONFLICT(allocations.index[row], conflict)
            yield context.error(allocations, row, problem, allocations=row)
    is_known = len(allocations) and context.is_whole(dump.assignment) and not np.any(context.allocations)
    if is_known and not np.any(has[Kind.OUTPUT]):
        yield context.error(allocations, 0, Problem.NO_OUTPUT())


# ---------------------------------------------------------------- sizes


_ALIGNMENT: Final = 4
"""The least alignment of an offset, that of the sync flags of TPUs. Other memory spaces align to 16 bytes or more."""


def slices_fit_allocations(context: Context) -> Iterator[Finding]:
    """Each value lies inside its allocation (CHECK_LE in BufferAllocation::AddAssignment), where XLA may place it."""
    dump, slices, allocations = context.dump, context.dump.slices, context.dump.allocations
    owner, offset, size = slices.allocation, slices.offset, slices.size_bytes
    kind = taken(allocations.kind, owner)
    is_outside = (offset < 0) | (size < 0) | (offset + size > taken(allocations.size_bytes, owner))
    is_moved = (offset != 0) & ((kind & int(Kind.PREALLOCATED_TEMP)) == 0) & (kind != 0)
    is_wrong = is_outside | is_moved | (offset % _ALIGNMENT != 0)
    for row in marked(is_wrong & context.free(allocations=owner)):
        value, allocation = int(dump.value_of_slice[row]), int(owner[row])
        label, number, whole = context.value(value), allocations.index[allocation], allocations.size_bytes[allocation]
        problem = Problem.MISPLACED_SLICE(label, offset[row], number)
        if is_outside[row]:
            problem = Problem.SLICE_OUT_OF_BOUNDS(label, size[row], offset[row], number, whole)
        make = warning if is_moved[row] and not is_outside[row] else error
        related = context.related(allocations, allocation, Relation.ALLOCATION)
        yield make(context.place(slices, row), problem, *related, values=value)


def total_is_sum_of_allocations(context: Context) -> Iterator[Finding]:
    """The printed total is the sum of all allocations, and its rounded form agrees with it."""
    dump, allocations, place = context.dump, context.dump.allocations, total_place(context.dump)
    if place is None:
        return
    total, reserved = int(dump.totals.size_bytes[0]), sum(allocations.size_bytes.tolist())
    is_known = context.is_whole(dump.assignment) and not len(allocations_before_gaps(dump))
    is_known &= NONE not in allocations.index and len(distinct(allocations.index)) == len(allocations)
    if not is_known or total == reserved:
        yield from rounded_size_agrees(place.file, dump.totals, 0)
        return
    # The only allocation that makes the sum right if it gets the size that its values need has the wrong size.
    needed, owner = np.zeros(len(allocations), np.int64), dump.slices.allocation
    np.maximum.at(needed, owner[owner != NONE], (dump.slices.offset + dump.slices.size_bytes)[owner != NONE])
    is_wrong = (needed - allocations.size_bytes == total - reserved) & (allocations.slice_count > 0)
    match marked(is_wrong):
        case [row]:
            sizes = allocations.size_bytes[row], needed[row], total
            problem = Problem.ALLOCATION_SIZE_MISMATCH(allocations.index[row], *sizes)
            yield context.error(allocations, row, problem, Related(place, Relation.TOTAL), allocations=row)
        case _:
            problem = Problem.TOTAL_MISMATCH(total, len(allocations), reserved, reserved - total)
            yield error(place, problem, allocations=range(len(allocations)))


def rounded_size_agrees(file: DumpFile, table: Totals | ReportSpaces, row: int) -> Iterator[Finding]:
    """The rounded form of a size, if it is printed, agrees with the bytes."""
    start, end, size_bytes = int(table.human_start[row]), int(table.human_end[row]), int(table.size_bytes[row])
    printed, expected = file.document.data[start:end], human_size(size_bytes)
    if start != NONE and printed != expected:
        yield warning(Place(file, start, end), Problem.HUMAN_SIZE_MISMATCH(size_bytes, expected, printed))


# ---------------------------------------------------------------- headers


def allocations_hold_their_parameters(context: Context) -> Iterator[Finding]:
    """Each allocation of a parameter holds that parameter, and parameters are numbered 0, 1, 2, … without gaps."""
    dump, allocations = context.dump, context.dump.allocations
    number, parameter, path = allocations.index, allocations.parameter, allocations.parameter_index
    is_parameter = ((allocations.kind & int(Kind.PARAMETER)) != 0) & (number != NONE)
    if context.is_whole(dump.used) and np.any(dump.used_values.instruction_start != NONE):
        for row in marked(is_parameter & ~context.allocations):
            if not _holds_parameter(context, row):
                problem = Problem.PARAMETER_MISMATCH(number[row], parameter[row], _index(dump, row))
                yield context.error(allocations, row, problem, allocations=row)
    for first, row in repeats((path, parameter), is_parameter):
        problem = Problem.DUPLICATE_PARAMETER(number[first], number[row], parameter[row], _index(dump, row))
        related = context.related(allocations, first, Relation.OTHER_OCCURRENCE)
        yield context.error(allocations, row, problem, *related, allocations=(row, first))
    # A broken header may be that of a missing parameter.
    if np.any(context.allocations) or not context.is_whole(dump.assignment):
        return
    rows = np.flatnonzero(is_parameter)
    numbers, first_row = np.unique(parameter[rows], return_index=True)
    for gap in marked(np.diff(numbers, prepend=-1) > 1)[-1:]:
        row, missing = int(rows[first_row[gap]]), int(numbers[gap - 1]) + 1 if gap else 0
        problem = Problem.MISSING_PARAMETER(number[row], parameter[row], missing)
        yield context.error(allocations, row, problem, allocations=row)


def _index(dump: DumpSet, allocation: int) -> str:
    """The index that the header of an allocation names."""
    index = int(dump.allocations.parameter_index[allocation])
    return dump.indices[index].decode() if index != NONE else ""


def _holds_parameter(context: Context, allocation: int) -> bool:
    """Whether an allocation holds the parameter in its header; true if the dump does not show it."""
    dump = context.dump
    values = dump.values_of_allocation(allocation)
    index = max(int(dump.allocations.parameter_index[allocation]), EMPTY_INDEX)
    # A value that is in no allocation may belong to any.
    is_sure = np.all(context.free(values=values, names=dump.values.name[values])) and not _has_lost_slices(context)
    if not len(values) or not is_sure:
        return True
    here = values[np.maximum(dump.values.index[values], EMPTY_INDEX) == index]
    makers = map(dump.instruction, dump.values.name[here].tolist())
    return any(maker is None or maker.parameter_number == dump.allocations.parameter[allocation] for maker in makers)


def _has_lost_slices(context: Context) -> bool:
    return bool(np.any(context.values & (context.dump.values.slice == NONE)))


def header_shapes_match_values(context: Context) -> Iterator[Finding]:
    """The shapes in the header of an allocation are shapes of its values."""
    dump, allocations = context.dump, context.dump.allocations
    # A value that is in no allocation may belong to any.
    if dump.assignment is None or _has_lost_slices(context):
        return
    headers = (
        ("its parameter", allocations.parameter_shape_start, allocations.parameter_shape_end, _is_whole_parameter),
        ("the output", allocations.output_shape_start, allocations.output_shape_end, _may_be_bitcast),
    )
    for what, start, end, may_stand_for in headers:
        for row in marked((start != NONE) & (allocations.slice_count > 0)):
            shape = dump.assignment.document.data[start[row] : end[row]]
            is_right = shape.startswith(b"<") or _holds_shape(dump, row, shape) or may_stand_for(dump, row, shape)
            if not is_right and not np.any(context.values[dump.values_of_allocation(row)]):
                problem = Problem.HEADER_SHAPE_MISMATCH(allocations.index[row], what, shape)
                yield context.error(allocations, row, problem, allocations=row)


def _holds_shape(dump: DumpSet, allocation: int, shape: bytes) -> bool:
    """Whether any value of an allocation has the shape; layouts are not compared."""
    wanted, (shapes, number) = without_layout(shape), dump.slice_shapes
    numbers = number[dump.values.slice[dump.values_of_allocation(allocation)]]
    return any(without_layout(shapes[one]) == wanted for one in set(numbers.tolist()))


def _is_whole_parameter(dump: DumpSet, allocation: int, shape: bytes) -> bool:
    """Whether the allocation holds one element of a parameter of this shape; until 2025 XLA printed the whole shape."""
    index = int(dump.allocations.parameter_index[allocation])
    start, end = subshape_spans(shape).get(dump.indices[max(index, EMPTY_INDEX)], (0, 0))
    return index > EMPTY_INDEX and _holds_shape(dump, allocation, shape[start:end])


def _may_be_bitcast(dump: DumpSet, allocation: int, shape: bytes) -> bool:
    """Whether the output may be a bitcast of a value in the allocation.

    A bitcast is a further position of the value and has as many bytes. Without a layout, the number of bytes of packed
    or dynamic shapes is unknown.
    """
    values = dump.values_of_allocation(allocation)
    rows = dump.values.used_value[values]
    is_shown = (rows == NONE) | (taken(dump.used_values.position_count, rows) > 1)
    has_size = bool(_PACKED.match(shape)) | (dump.logical_bytes[values] == byte_sizes([shape])[0])
    return not shape.startswith(b"(") and bool(np.any(is_shown & has_size))


_PACKED: Final = re.compile(rb"[suf][124]\D|f4|.*<=")


# ---------------------------------------------------------------- memory spaces


def memory_spaces_agree(context: Context) -> Iterator[Finding]:
    """The header of an allocation, the `S(n)` of the shape of a value, its header in the used values and its row in the
    allocation give the same memory space (BufferAllocation::AddAssignment). The one that disagrees is wrong.
    """
    dump, slices, allocations = context.dump, context.dump.slices, context.dump.allocations
    if dump.assignment is None:
        return
    value, owner = dump.value_of_slice, slices.allocation
    header, used_value = taken(allocations.color, owner), dump.values.used_value[value]
    colors = np.stack((header, _shape_colors(dump), taken(dump.used_values.color, used_value), slices.color))
    is_other = (colors != slices.color) & (colors != NONE)
    known = (header != NONE) & context.free(values=value, allocations=owner)
    known &= ~np.isin(slices.id, dump.assignment.columns.other_color_values.id)
    agree = np.bincount(owner[known & ~is_other[0]], minlength=len(allocations))
    count = np.bincount(owner[known], minlength=len(allocations))
    for at in marked(known & is_other.any(axis=0)):
        printed = [int(color) for color in colors[:, at] if color != NONE]
        right = Counter(printed).most_common(1)[0][0]
        is_header_wrong = not agree[owner[at]] and (count[owner[at]] > 1 or right != header[at])
        which = 0 if is_header_wrong else int(((colors[:, at] != right) & (colors[:, at] != NONE)).argmax())
        label, number, arena = context.value(value[at]), allocations.index[owner[at]], owner[at]
        row, others = context.place(slices, at), context.related(allocations, arena, Relation.ALLOCATION)
        spaces = [dump.space_id(int(color)) for color in (colors[which, at], slices.color[at], header[at])]
        if is_header_wrong:
            problem = Problem.SPACE_MISMATCH(f"Allocation {number}", spaces[0], "its values are", spaces[1])
            related = context.related(slices, at, Relation.SLICE)
            yield context.error(allocations, arena, problem, *related, allocations=arena)
        elif which == _HEADER and allocations.kind[arena] & int(Kind.PREALLOCATED_TEMP):
            # XLA releases of 2026 place values in arenas of another space.
            yield hint(row, Problem.REUSED_ARENA(label, spaces[1], number, spaces[2]), *others, values=value[at])
        elif which == _SHAPE:
            problem = Problem.SPACE_MISMATCH(f"The layout of `{label}`", spaces[0], "the value is", spaces[1])
            yield warning(row, problem, values=value[at])
        elif which == _USED:
            words = f"`{label}`", spaces[0], "its row in the allocation is", spaces[1]
            related = context.related(slices, at, Relation.SLICE)
            problem = Problem.SPACE_MISMATCH(*words)
            yield context.error(dump.used_values, used_value[at], problem, *related, values=value[at])
        else:
            problem = Problem.SPACE_MISMATCH(f"`{label}`", spaces[1], f"allocation {number} is", spaces[2])
            yield error(row, problem, *others, values=value[at])


_HEADER, _SHAPE, _USED = range(3)
"""The places of a memory space, in the order of the comparison; then the row of the value."""


_COLOR: Final = re.compile(rb"S\((\d+)\)")


def _shape_colors(dump: DumpSet) -> Column:
    """For each slice the memory space in the layout of its shape, NONE for tuples, which have no layout."""
    shapes, shape = dump.slice_shapes
    colors = [NONE if text.startswith(b"(") else _color_of(text) for text in shapes]
    return np.array(colors, np.int64)[shape]


def _color_of(shape: bytes) -> int:
    layout = shape.partition(b"]")[2]
    if not layout.startswith(b"{"):
        # Tokens, opaque shapes and buffers have no layout.
        return 0 if shape[:1].isalpha() and b"[]" not in shape else NONE
    match = _COLOR.search(layout)
    return integer(match[1]) if match else 0
