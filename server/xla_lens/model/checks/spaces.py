"""Checks of the memory spaces.

Up to four places give the memory space of a value: the header of its allocation, its row there, the `S(n)` of its shape
and its header in the used values. The one that disagrees with the others is wrong.
"""

import re
from collections.abc import Iterator
from typing import Final

import numpy as np

from xla_lens.model.checks.codes import Severity
from xla_lens.model.checks.findings import Finding, Related, Relation, error, warning
from xla_lens.model.checks.problems import Problem
from xla_lens.model.checks.tainted import Tainted, is_marked
from xla_lens.model.places.places import row_place
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.lookup import taken
from xla_lens.syntax.columns import NONE, Column, Kind
from xla_lens.syntax.numbers import integer


def memory_spaces_agree(dump: DumpSet, tainted: Tainted) -> Iterator[Finding]:
    """All places of a value give the same memory space (BufferAllocation::AddAssignment)."""
    slices, file = dump.slices, dump.assignment
    if file is None:
        return
    value = dump.value_of_slice
    row = slices.color
    allocation = taken(dump.allocations.color, slices.allocation)
    used = taken(dump.used_values.color, dump.values.used_value[value])
    shape = _shape_colors(dump)
    # A place without memory space agrees with all others.
    used, shape = (np.where(column == NONE, row, column) for column in (used, shape))
    is_known = (slices.allocation != NONE) & (row != NONE) & (allocation != NONE) & ~tainted.values[value]
    listed_as_reused = {int(number) for number in file.columns.other_color_values.id}
    is_known &= ~np.isin(slices.id, list(listed_as_reused))
    yield from _headers(dump, tainted, file, np.flatnonzero(is_known), (row, allocation, used, shape))
    is_known &= ~is_marked(tainted.allocations, slices.allocation)
    agrees = (row == used) & (row == shape)
    for found in np.flatnonzero(is_known & (row != allocation)).tolist():
        # XLA releases of 2026 place values in arenas of another space; then all other places agree with each other.
        is_temp = dump.allocations.kind[slices.allocation[found]] & int(Kind.PREALLOCATED_TEMP)
        is_reuse = bool(agrees[found] and is_temp and _has_second_place(dump, value[found], used[found], shape[found]))
        problem = Problem.REUSED_ARENA if is_reuse else Problem.SLICE_SPACE_MISMATCH
        number = int(dump.allocations.index[slices.allocation[found]])
        label = dump.value_label(int(value[found]))
        yield Finding(
            Severity.HINT if is_reuse else Severity.ERROR,
            row_place(file, slices, found),
            problem(label, dump.space_id(int(row[found])), number, dump.space_id(int(allocation[found]))),
            (Related(row_place(file, dump.allocations, int(slices.allocation[found])), Relation.ALLOCATION),),
        )
        tainted.values[value[found]] = True
    is_known &= row == allocation
    for found in np.flatnonzero(is_known & (row != used)).tolist():
        if dump.used:
            label = dump.value_label(int(value[found]))
            yield error(
                row_place(dump.used, dump.used_values, int(dump.values.used_value[value[found]])),
                Problem.USED_VALUE_SPACE_MISMATCH(
                    label, dump.space_id(int(used[found])), dump.space_id(int(row[found]))
                ),
                Related(row_place(file, slices, found), Relation.SLICE),
            )
            tainted.values[value[found]] = True
    for found in np.flatnonzero(is_known & (row == used) & (row != shape)).tolist():
        label = dump.value_label(int(value[found]))
        spaces = (dump.space_id(int(color)) for color in (shape[found], row[found]))
        yield warning(row_place(file, slices, found), Problem.LAYOUT_SPACE_MISMATCH(label, *spaces))
        tainted.values[value[found]] = True


def _headers(
    dump: DumpSet, tainted: Tainted, file: DumpFile, known: Column, colors: tuple[Column, Column, Column, Column]
) -> Iterator[Finding]:
    """Report allocations with a memory space that all of their values contradict."""
    row, allocation, used, shape = colors
    owner = dump.slices.allocation
    count = np.bincount(owner[known], minlength=len(dump.allocations))
    against = known[(row[known] != allocation[known]) & (row[known] == used[known]) & (row[known] == shape[known])]
    against = against[np.argsort(owner[against], kind="stable")]
    owners = owner[against]
    for found in np.flatnonzero((count > 0) & (np.bincount(owners, minlength=len(count)) == count)).tolist():
        slices = against[slice(*owners.searchsorted((found, found + 1)))]
        value_colors = {int(number) for number in row[slices]}
        first = int(slices[0])
        value = int(dump.value_of_slice[first])
        if len(value_colors) > 1 or (
            len(slices) == 1 and not _has_second_place(dump, value, used[first], shape[first])
        ):
            continue
        tainted.allocations[found] = True
        number, space = int(dump.allocations.index[found]), dump.space_id(int(dump.allocations.color[found]))
        yield error(
            row_place(file, dump.allocations, found),
            Problem.ALLOCATION_SPACE_MISMATCH(number, space, dump.space_id(value_colors.pop())),
            Related(row_place(file, dump.slices, first), Relation.SLICE),
        )


def _has_second_place(dump: DumpSet, value: int, used: int, shape: int) -> bool:
    """Whether the used values or the shape confirm the memory space in the row of a value."""
    row = dump.values.used_value[value]
    is_used = bool(row != NONE and dump.used_values.color[row] == used)
    text = dump.shape(value) or b"("
    return is_used or (not text.startswith(b"(") and _color_of(text) == shape)


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
