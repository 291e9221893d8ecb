"""Checks of the memory spaces. Up to four places tell that of a value: the header of its allocation, its row there,
the `S(n)` of its shape and its header among the used values. The one that disagrees with the others is wrong.
"""

import re
from collections.abc import Iterator
from typing import Final

import numpy as np

from xla_lens.model.checks.doubts import Doubts, in_doubt
from xla_lens.model.checks.findings import Code, Finding, Related, Severity, error, warning
from xla_lens.model.places.places import row_place
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.lookup import taken
from xla_lens.syntax.columns import NONE, Column, Kind
from xla_lens.syntax.numbers import integer


def memory_spaces(dump: DumpSet, doubts: Doubts) -> Iterator[Finding]:
    """Values and allocations of another memory space than all else says (BufferAllocation::AddAssignment)."""
    slices, file = dump.slices, dump.assignment
    if file is None:
        return
    value = dump.value_of_slice
    row = slices.color
    allocation = taken(dump.allocations.color, slices.allocation)
    used = taken(dump.used_values.color, dump.values.used_value[value])
    shape = _shape_colors(dump, file)
    # Where nothing is said, nothing disagrees.
    used, shape = (np.where(column == NONE, row, column) for column in (used, shape))
    is_known = (slices.allocation != NONE) & (row != NONE) & (allocation != NONE) & ~doubts.values[value]
    said_elsewhere = {int(number) for number in file.columns.other_color_values.id}
    is_known &= ~np.isin(slices.id, list(said_elsewhere))
    yield from _headers(dump, doubts, file, np.flatnonzero(is_known), (row, allocation, used, shape))
    is_known &= ~in_doubt(doubts.allocations, slices.allocation)
    agrees = (row == used) & (row == shape)
    for found in np.flatnonzero(is_known & (row != allocation)).tolist():
        # A value that says so everywhere may be in an arena of another space (XLA of 2026 reuses them).
        is_temp = dump.allocations.kind[slices.allocation[found]] & int(Kind.PREALLOCATED_TEMP)
        is_reuse = bool(agrees[found] and is_temp and _is_said(dump, value[found], used[found], shape[found]))
        yield Finding(
            Code.MEMORY_SPACE_MISMATCH,
            Severity.HINT if is_reuse else Severity.ERROR,
            row_place(file, slices, found),
            _facts(dump, found, "reuse" if is_reuse else "row", int(row[found]), int(allocation[found])),
            (Related(row_place(file, dump.allocations, int(slices.allocation[found])), "allocation"),),
        )
        doubts.values[value[found]] = True
    is_known &= row == allocation
    for found in np.flatnonzero(is_known & (row != used)).tolist():
        if dump.used:
            used_row = int(dump.values.used_value[value[found]])
            yield error(
                Code.MEMORY_SPACE_MISMATCH,
                row_place(dump.used, dump.used_values, used_row),
                Related(row_place(file, slices, found), "slice"),
                **_facts(dump, found, "used", int(used[found]), int(row[found])),
            )
            doubts.values[value[found]] = True
    for found in np.flatnonzero(is_known & (row == used) & (row != shape)).tolist():
        place = row_place(file, slices, found)
        facts = _facts(dump, found, "shape", int(shape[found]), int(row[found]))
        yield warning(Code.MEMORY_SPACE_MISMATCH, place, **facts)
        doubts.values[value[found]] = True


def _headers(
    dump: DumpSet, doubts: Doubts, file: DumpFile, known: Column, colors: tuple[Column, Column, Column, Column]
) -> Iterator[Finding]:
    """Allocations whose header none of their values agrees with."""
    row, allocation, used, shape = colors
    owner = dump.slices.allocation
    count = np.bincount(owner[known], minlength=len(dump.allocations))
    against = known[(row[known] != allocation[known]) & (row[known] == used[known]) & (row[known] == shape[known])]
    against = against[np.argsort(owner[against], kind="stable")]
    owners = owner[against]
    for found in np.flatnonzero((count > 0) & (np.bincount(owners, minlength=len(count)) == count)).tolist():
        slices = against[slice(*owners.searchsorted((found, found + 1)))]
        said = {int(number) for number in row[slices]}
        first = int(slices[0])
        value = int(dump.value_of_slice[first])
        if len(said) > 1 or (len(slices) == 1 and not _is_said(dump, value, used[first], shape[first])):
            continue
        doubts.allocations[found] = True
        yield error(
            Code.MEMORY_SPACE_MISMATCH,
            row_place(file, dump.allocations, found),
            Related(row_place(file, dump.slices, first), "slice"),
            what="allocation",
            allocation=int(dump.allocations.index[found]),
            color=int(dump.allocations.color[found]),
            expected=said.pop(),
        )


def _is_said(dump: DumpSet, value: int, used: int, shape: int) -> bool:
    """Whether anything but its row in the allocation tells the memory space of a value."""
    row = dump.values.used_value[value]
    is_used = bool(row != NONE and dump.used_values.color[row] == used)
    text = dump.shape(value) or b"("
    return is_used or (not text.startswith(b"(") and _color_of(text) == shape)


def _facts(dump: DumpSet, row: int, what: str, color: int, expected: int) -> dict[str, int | str]:
    return {
        "what": what,
        "value": dump.value_label(int(dump.value_of_slice[row])),
        "allocation": int(dump.allocations.index[dump.slices.allocation[row]]),
        "color": color,
        "expected": expected,
    }


_COLOR: Final = re.compile(rb"S\((\d+)\)")


def _shape_colors(dump: DumpSet, file: DumpFile) -> Column:
    """For each slice the memory space in the layout of its shape, NONE for a tuple, whose table has none."""
    data, slices = file.document.data, dump.slices
    known: dict[bytes, int] = {}
    colors = []
    for start, end in zip(slices.shape_start.tolist(), slices.end.tolist(), strict=True):
        if data[start : start + 1] == b"(":
            colors.append(NONE)
            continue
        text = data[start:end]
        color = known.get(text)
        if color is None:
            color = known[text] = _color_of(text)
        colors.append(color)
    return np.array(colors, np.int64)


def _color_of(shape: bytes) -> int:
    layout = shape.partition(b"]")[2]
    if not layout.startswith(b"{"):
        # Of a token, an unknown shape or a buffer nothing is told.
        return 0 if shape[:1].isalpha() and b"[]" not in shape else NONE
    match = _COLOR.search(layout)
    return integer(match[1]) if match else 0
