"""Checks of the memory spaces.

Up to four places give the memory space of a value: the header of its allocation, its row there, the `S(n)` of its shape
and its header in the used values. The one that disagrees with the others is wrong.
"""

import re
from collections.abc import Iterator
from typing import Final

import numpy as np

from xla_lens.model.checks.findings import Finding, Related, Relation, error, hint, warning
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
    slices, file, values = dump.slices, dump.assignment, dump.values
    if file is None:
        return
    value, owner, row = dump.value_of_slice, slices.allocation, slices.color
    allocation = taken(dump.allocations.color, owner)
    # A place without memory space agrees with all others.
    used, shape = taken(dump.used_values.color, values.used_value[value]), _shape_colors(dump)
    used, shape = (np.where(column == NONE, row, column) for column in (used, shape))
    known = (owner != NONE) & (row != NONE) & (allocation != NONE) & ~tainted.values[value]
    known &= ~np.isin(slices.id, file.columns.other_color_values.id)
    yield from _headers(dump, tainted, file, np.flatnonzero(known), (row, allocation, used, shape))
    known &= ~is_marked(tainted.allocations, owner)
    for at in np.flatnonzero(known & ((row != allocation) | (row != used) | (row != shape))).tolist():
        label, space = dump.value_label(int(value[at])), dump.space_id(int(row[at]))
        place, header = row_place(file, slices, at), row_place(file, dump.allocations, int(owner[at]))
        tainted.values[value[at]] = True
        if row[at] != allocation[at]:
            # XLA releases of 2026 place values in arenas of another space; then all other places agree with each other.
            agrees = dump.allocations.kind[owner[at]] & int(Kind.PREALLOCATED_TEMP) and row[at] == used[at] == shape[at]
            is_reuse = bool(agrees) and _has_second_place(dump, int(value[at]), used[at], shape[at])
            number, other = dump.allocations.index[owner[at]], dump.space_id(int(allocation[at]))
            related = Related(header, Relation.ALLOCATION)
            if is_reuse:
                yield hint(place, Problem.REUSED_ARENA(label, space, number, other), related)
            else:
                yield error(
                    place, Problem.SPACE_MISMATCH(f"`{label}`", space, f"allocation {number} is", other), related
                )
        elif row[at] != used[at] and dump.used:
            used_place = row_place(dump.used, dump.used_values, int(values.used_value[value[at]]))
            other = dump.space_id(int(used[at]))
            problem = Problem.SPACE_MISMATCH(f"`{label}`", other, "its row in the allocation is", space)
            yield error(used_place, problem, Related(place, Relation.SLICE))
        else:
            other = dump.space_id(int(shape[at]))
            yield warning(place, Problem.SPACE_MISMATCH(f"The layout of `{label}`", other, "the value is", space))


def _headers(
    dump: DumpSet, tainted: Tainted, file: DumpFile, known: Column, colors: tuple[Column, Column, Column, Column]
) -> Iterator[Finding]:
    """Report allocations with a memory space that all of their values contradict."""
    row, allocation, used, shape = colors
    owner = dump.slices.allocation
    is_against = (row != allocation) & (row == used) & (row == shape)
    count, against = (
        np.bincount(owner[rows], minlength=len(dump.allocations)) for rows in (known, known[is_against[known]])
    )
    for found in np.flatnonzero((count > 0) & (against == count)).tolist():
        slices = known[owner[known] == found]
        first = int(slices[0])
        is_sure = len(slices) > 1 or _has_second_place(dump, int(dump.value_of_slice[first]), used[first], shape[first])
        if is_sure and np.all(row[slices] == row[first]):
            tainted.allocations[found] = True
            spaces = (dump.space_id(int(color)) for color in (dump.allocations.color[found], row[first]))
            name = f"Allocation {dump.allocations.index[found]}"
            problem = Problem.SPACE_MISMATCH(name, next(spaces), "its values are", next(spaces))
            related = Related(row_place(file, dump.slices, first), Relation.SLICE)
            yield error(row_place(file, dump.allocations, found), problem, related)


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
