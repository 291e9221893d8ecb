"""Checks of the allocations: their numbers, kinds, sizes and headers, and whether their values fit."""

from collections.abc import Iterator
from typing import Final

import numpy as np

from xla_lens.model.checks.codes import Severity
from xla_lens.model.checks.context import Context, Marks, RelatedRows, marked
from xla_lens.model.checks.file_structure import misplaced_allocation
from xla_lens.model.checks.problems import (
    MAXIMUM_RELATED,
    Finding,
    Findings,
    Problem,
    Related,
    Relation,
    Sizes,
    error,
)
from xla_lens.model.places.places import Place, row_place, total_place
from xla_lens.model.tables.backend import GPU_TEMPORARIES, Backend
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.tables.dump_set import EMPTY_INDEX, DumpSet
from xla_lens.model.tables.lookup import distinct, taken
from xla_lens.syntax.columns import NONE, Column, FileTable, Kind
from xla_lens.syntax.file_names import FileKind
from xla_lens.syntax.hlo.shapes import byte_sizes, subshape_spans, without_layout
from xla_lens.syntax.numbers import human_size
from xla_lens.syntax.tables import ReportSpaces, Totals
from xla_lens.syntax.texts import number_texts
from xla_lens.text.patterns import lazy_pattern


def allocation_numbers_ascend(dump: DumpSet, context: Context) -> Findings:
    """Allocations are numbered 0, 1, 2, … in the order of the text (BufferAssigner::CombineTempAllocations)."""
    allocations, index = dump.allocations, dump.allocations.index
    yield from context.repeats(allocations, (index,), Problem.DUPLICATE_ALLOCATION, index, known=index != NONE)
    row = misplaced_allocation(dump)
    if row != NONE and dump.assignment:
        yield from context.found(allocations, [row], Problem.MISPLACED_ALLOCATION, index, row)
        # If a header is missing, the allocation before it seems to hold its values.
        context.cover(allocations=(row, row - 1))
        context.broken_files.add(id(dump.assignment))


def allocation_kinds_agree(dump: DumpSet, context: Context) -> Findings:
    """Each allocation has a kind, and one has the output, which is `maybe-live-out`."""
    allocations, kind = dump.allocations, dump.allocations.kind
    yield from context.found(allocations, kind == 0, Problem.NO_KIND, allocations.index)
    is_lost = kind & int(Kind.OUTPUT | Kind.MAYBE_LIVE_OUT) == Kind.OUTPUT
    yield from context.found(allocations, is_lost, Problem.OUTPUT_NOT_LIVE_OUT, allocations.index)
    outputs = marked(kind & int(Kind.OUTPUT) != 0)
    yield from context.found(allocations, outputs[1:], Problem.SECOND_OUTPUT, allocations.index)


# ---------------------------------------------------------------- sizes


_ALIGNMENT: Final = 4
"""The least alignment of an offset, that of the sync flags of TPUs. Other memory spaces align to 16 bytes or more."""


def slices_fit_allocations(dump: DumpSet, context: Context) -> Findings:
    """Each value lies inside its allocation (CHECK_LE in BufferAllocation::AddAssignment), at an aligned offset."""
    slices, allocations, owner = dump.slices, dump.allocations, dump.slices.allocation
    offset, size, whole = slices.offset, slices.size_bytes, taken(allocations.size_bytes, owner)
    is_wrong = (offset < 0) | (size < 0) | (offset + size > whole) | (offset % _ALIGNMENT != 0)
    is_wrong &= context.free(allocations=owner)
    facts = context.labels(slices), size, offset, taken(allocations.index, owner), whole
    related = (allocations, owner, Relation.ALLOCATION)
    yield from context.found(slices, is_wrong, Problem.SLICE_OUT_OF_BOUNDS, *facts, related=related)


def sizes_are_not_negative(dump: DumpSet, context: Context) -> Findings:
    """No printed size is negative: those of XLA are sums of sizes of buffers. Reports all together."""
    rows: list[tuple[Sizes, Place, int]] = []
    for part, file, table, sizes in _sizes(dump):
        wrong = marked(sizes < NONE if part is Sizes.REPORT else sizes < 0)
        rows += [(part, row_place(file, table, row), sizes.item(row)) for row in wrong]
        if part is Sizes.ALLOCATIONS:
            context.cover(allocations=wrong)
    if rows:
        parts = tuple(dict.fromkeys(part for part, *_ in rows))
        (_, place, size_bytes), *others = rows
        related = tuple(Related(other, Relation.OTHER_NEGATIVE) for _, other, _ in others[:MAXIMUM_RELATED])
        problem = Problem.NEGATIVE_SIZES(size_bytes, len(others), parts)
        yield Finding(Severity.ERROR, place, problem, related)


def _sizes(dump: DumpSet) -> Iterator[tuple[Sizes, DumpFile, FileTable, Column]]:
    """The tables with sizes, except for those of values in allocations, which have to fit in there."""
    place = total_place(dump)
    if place:
        yield Sizes.TOTAL, place.file, dump.totals, dump.totals.size_bytes[:1]
    if dump.assignment:
        is_read = dump.allocations.index != NONE
        yield Sizes.ALLOCATIONS, dump.assignment, dump.allocations, np.where(is_read, dump.allocations.size_bytes, 0)
    if dump.live:
        yield Sizes.PEAK, dump.live, dump.peak_buffers, dump.peak_buffers.size_bytes
    for file in dump.files:
        if file.kind is FileKind.MEMORY_USAGE_REPORT:
            for table in (file.columns.totals, file.columns.report_spaces):
                yield Sizes.REPORT, file, table, table.size_bytes


def total_is_sum_of_allocations(dump: DumpSet, context: Context) -> Findings:
    """The printed total is the sum of all allocations, and its rounded form agrees with it."""
    sizes, place = dump.allocations.size_bytes, total_place(dump)
    if place is None:
        return
    total, reserved = dump.totals.size_bytes.item(0), sum(sizes.tolist())
    if total < 0:
        return
    if total == reserved or not context.is_whole(dump.assignment) or np.any(context.allocations):
        yield from rounded_size_agrees(place.file, dump.totals, 0)
        return
    yield error(place, Problem.TOTAL_MISMATCH(total, len(sizes), reserved, reserved - total))
    context.cover(allocations=range(len(sizes)))


def rounded_size_agrees(file: DumpFile, table: Totals | ReportSpaces, row: int) -> Findings:
    """The rounded form of a size, if it is printed, agrees with the bytes."""
    start, end, size_bytes = table.human_start.item(row), table.human_end.item(row), table.size_bytes.item(row)
    if start != NONE and not rounded_size_confirms(file, table, row):
        problem = Problem.HUMAN_SIZE_MISMATCH(size_bytes, human_size(size_bytes), file.document.data[start:end])
        yield Finding(Severity.WARNING, Place(file, start, end), problem)


def rounded_size_confirms(file: DumpFile, table: Totals | ReportSpaces, row: int) -> bool:
    """Whether the rounded form of a size is printed behind it and agrees with the bytes."""
    start, end = table.human_start.item(row), table.human_end.item(row)
    return start != NONE and file.document.data[start:end] == human_size(table.size_bytes.item(row))


# ---------------------------------------------------------------- headers


def parameters_are_numbered(dump: DumpSet, context: Context) -> Findings:
    """Each allocation of a parameter holds that parameter, and parameters are numbered 0, 1, 2, … without gaps."""
    allocations, is_parameter = dump.allocations, dump.allocations.kind & int(Kind.PARAMETER) != 0

    def holds_another(row: int) -> bool:
        names = distinct(dump.values.name[dump.values_of_allocation(row)]).tolist()
        parameters = (dump.instruction(name) for name in names if dump.opcode(name) == b"parameter")
        held = {parameter.parameter_number for parameter in parameters if parameter} - {None}
        return bool(held) and allocations.parameter[row] not in held

    # Most allocations hold the parameter that their header names.
    owner, held = dump.slices.allocation, dump.parameter_numbers[dump.slices.name]
    is_right = np.zeros(len(allocations), np.bool_)
    is_right[owner[(held != NONE) & (held == taken(allocations.parameter, owner))]] = True
    facts, wrong = (
        (allocations.index, allocations.parameter),
        [*filter(holds_another, marked(is_parameter & ~is_right))],
    )
    yield from context.found(allocations, wrong, Problem.PARAMETER_MISMATCH, *facts)
    # A broken header may be that of a missing parameter.
    if not np.any(context.allocations) and context.is_whole(dump.assignment):
        rows = np.flatnonzero(is_parameter)
        numbers, first = np.unique(allocations.parameter[rows], return_index=True)
        gaps = rows[first[np.diff(numbers, prepend=-1) > 1]].tolist()[-1:]
        yield from context.found(allocations, gaps, Problem.PARAMETER_GAP, *facts)


def header_shapes_match_values(dump: DumpSet, context: Context) -> Findings:
    """The shapes in the header of an allocation are shapes of its values."""
    allocations, data = dump.allocations, dump.assignment.document.data if dump.assignment else b""
    # A value that is in no allocation may belong to any.
    if np.any(context.values & (dump.values.slice == NONE)):
        return
    headers = (
        ("its parameter", allocations.parameter_shape_start, allocations.parameter_shape_end, _is_whole_parameter),
        ("the output", allocations.output_shape_start, allocations.output_shape_end, _may_be_bitcast),
    )
    for what, start, end, may_stand_for in headers:
        rows = np.flatnonzero((start != NONE) & (allocations.slice_count > 0))
        for row in rows[~_hold_shapes(dump, rows, start[rows], end[rows])].tolist():
            shape = data[start[row] : end[row]]
            is_right = shape.startswith(b"<") or _holds_shape(dump, row, shape) or may_stand_for(dump, row, shape)
            if not is_right and not np.any(context.values[dump.values_of_allocation(row)]):
                facts = allocations.index, what, shape
                yield from context.found(allocations, [row], Problem.HEADER_SHAPE_MISMATCH, *facts)


def _hold_shapes(dump: DumpSet, allocations: Column, start: Column, end: Column) -> Marks:
    """Whether each of some allocations surely holds a value of the shape at some bytes; layouts are not compared."""
    if dump.assignment is None:
        return np.zeros(len(allocations), np.bool_)
    data, slices, (shapes, shape) = dump.assignment.document.data, dump.slices, dump.slice_shapes
    text, first = number_texts(data, start, end)
    numbers = {without_layout(data[start[row] : end[row]]): number for number, row in enumerate(first.tolist())}
    wanted = np.full(len(dump.allocations), NONE)
    wanted[allocations] = text
    same = np.array([numbers.get(without_layout(each_shape), NONE) for each_shape in shapes], np.int64)[shape]
    holds = np.zeros(len(dump.allocations), np.bool_)
    is_held = (same != NONE) & (same == taken(wanted, slices.allocation))
    holds[slices.allocation[is_held]] = True
    return holds[allocations]


def _holds_shape(dump: DumpSet, allocation: int, shape: bytes) -> bool:
    """Whether any value of an allocation has the shape; layouts are not compared."""
    wanted, (shapes, number) = without_layout(shape), dump.slice_shapes
    numbers = number[dump.values.slice[dump.values_of_allocation(allocation)]]
    return any(without_layout(shapes[each_number]) == wanted for each_number in set(numbers.tolist()))


def _is_whole_parameter(dump: DumpSet, allocation: int, shape: bytes) -> bool:
    """Whether the allocation holds one element of a parameter of this shape; until 2025 XLA printed the whole shape."""
    index = dump.allocations.parameter_index.item(allocation)
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


_PACKED: Final = lazy_pattern(rb"[suf][124]\D|f4|.*<=")


# ---------------------------------------------------------------- memory spaces


def memory_spaces_agree(dump: DumpSet, context: Context) -> Findings:
    """The header of an allocation, the header of a value in the used values and its row in the allocation give the same
    memory space (BufferAllocation::AddAssignment). The one that most disagree with is wrong.
    """
    slices, allocations, used = dump.slices, dump.allocations, dump.used_values
    owner, used_value = slices.allocation, dump.values.used_value[dump.value_of_slice]
    header, used_color = taken(allocations.color, owner), taken(used.color, used_value)
    if dump.backend in (Backend.GPU, None):
        # XLA changes the color of such an allocation from 0, but not that of its values.
        is_temporary = (taken(allocations.kind, owner) & int(Kind.PREALLOCATED_TEMP) != 0) & (owner != NONE)
        is_placed = (slices.color == GPU_TEMPORARIES) & np.isin(used_color, (GPU_TEMPORARIES, NONE))
        header[is_temporary & (header == GPU_TEMPORARIES) & ~is_placed] = 0
    printed = header, used_color, slices.color
    known = (header != NONE) & context.free(values=dump.value_of_slice, allocations=owner)
    if dump.assignment:
        known &= ~np.isin(slices.id, dump.assignment.columns.other_color_values.id)
    # If an allocation holds a value of its own memory space, its header is right.
    is_shared = np.isin(owner, owner[known & (header == slices.color)])
    for row in marked(
        known & np.logical_or.reduce([(colors != slices.color) & (colors != NONE) for colors in printed])
    ):
        spaces = [colors.item(row) for colors in printed]
        right = max(filter(NONE.__ne__, reversed(spaces)), key=spaces.count)
        wrong = next(at for at, space in enumerate(spaces) if space not in (right, NONE))
        space, problem, severity = spaces[wrong], Problem.SPACE_MISMATCH, Severity.ERROR
        if wrong == 0 and is_shared[row]:
            # XLA releases of 2026 place values in arenas of another space.
            wrong, space, right, problem, severity = 2, right, space, Problem.REUSED_ARENA, Severity.HINT
        label, number = f"`{context.labels(slices)(row)}`", allocations.index[owner[row]]
        table, at, name, other = (
            (allocations, owner[row], f"Allocation {number}", "its values are"),
            (used, used_value[row], label, "its row in the allocation is"),
            (slices, row, label, f"allocation {number} is"),
        )[wrong]
        related: RelatedRows = (slices, row, Relation.SLICE)
        if table is slices:
            related = (allocations, owner, Relation.ALLOCATION)
        facts = name, dump.space_id(space), other, dump.space_id(right)
        yield from context.found(table, [at], problem, *facts, severity=severity, related=related)
