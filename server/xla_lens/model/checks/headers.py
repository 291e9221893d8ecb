"""Checks of what the headers of allocations say of parameters and of the output."""

import re
from collections.abc import Iterator
from typing import Final

import numpy as np

from xla_lens.model.checks.allocations import holds_shape, output_shape, parameter_shape
from xla_lens.model.checks.doubts import Doubts
from xla_lens.model.checks.findings import Code, Finding, Related, error
from xla_lens.model.places.places import row_place
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.tables.dump_set import EMPTY_INDEX, DumpSet
from xla_lens.model.tables.lookup import taken
from xla_lens.syntax.columns import NONE, Kind
from xla_lens.syntax.hlo.shapes import byte_sizes, subshape_spans


def parameter_mismatch(dump: DumpSet, doubts: Doubts) -> Iterator[Finding]:
    """Parameters of allocations that are not the parameters of the program, each there once."""
    allocations, file = dump.allocations, dump.assignment
    if file is None:
        return
    rows = np.flatnonzero(((allocations.kind & int(Kind.PARAMETER)) != 0) & ~doubts.allocations)
    is_quoted = doubts.is_whole(dump.used) and bool(np.any(dump.used_values.instruction_start != NONE))
    wrong: dict[int, None] = {}
    if is_quoted:
        wrong = dict.fromkeys(row for row in rows.tolist() if not _holds_parameter(dump, doubts, row))
        for row in wrong:
            yield _parameter_finding(dump, file, row, what="value")
    keys = np.stack((allocations.parameter_index, allocations.parameter))[:, rows]
    order = np.lexsort(keys)
    again = np.flatnonzero(np.all(np.diff(keys[:, order]) == 0, axis=0))
    for first, row in zip(rows[order[again]].tolist(), rows[order[again + 1]].tolist(), strict=True):
        if first not in wrong and row not in wrong:
            wrong[row] = None
            related = Related(row_place(file, allocations, first), "first")
            yield _parameter_finding(dump, file, row, related, what="twice")
    # The rows of parameters that are missing may be those of broken headers.
    if wrong or not doubts.is_whole(file) or np.any(allocations.index == NONE) or np.any(doubts.allocations):
        doubts.allocations[list(wrong)] = True
        return
    numbers, first_row = np.unique(allocations.parameter[rows], return_index=True)
    gaps = np.flatnonzero(np.diff(numbers, prepend=-1) > 1)
    for gap in gaps[-1:].tolist():
        missing = int(numbers[gap - 1]) + 1 if gap else 0
        doubts.allocations[rows[first_row[gap]]] = True
        yield _parameter_finding(dump, file, int(rows[first_row[gap]]), what="gap", missing=missing)


def _parameter_finding(dump: DumpSet, file: DumpFile, row: int, *related: Related, **facts: int | str) -> Finding:
    allocations = dump.allocations
    index = int(allocations.parameter_index[row])
    return error(
        Code.PARAMETER_MISMATCH,
        row_place(file, allocations, row),
        *related,
        allocation=int(allocations.index[row]),
        parameter=int(allocations.parameter[row]),
        index=dump.indices[index].decode() if index != NONE else "",
        **facts,
    )


def _holds_parameter(dump: DumpSet, doubts: Doubts, allocation: int) -> bool:
    """Whether an allocation holds the parameter that it says; also if that cannot be told."""
    values = dump.values_of_allocation(allocation)
    index = max(int(dump.allocations.parameter_index[allocation]), EMPTY_INDEX)
    number = int(dump.allocations.parameter[allocation])
    if not len(values) or np.any(doubts.values[values]):
        return True
    here = values[np.maximum(dump.values.index[values], EMPTY_INDEX) == index]
    makers = map(dump.instruction, dump.values.name[here].tolist())
    return any(maker is None or maker.parameter_number == number for maker in makers)


def header_shapes(dump: DumpSet, doubts: Doubts) -> Iterator[Finding]:
    """Shapes in the headers of allocations that none of the values in them has."""
    file = dump.assignment
    # A value that is in no allocation may be missing in any.
    if file is None or np.any(doubts.values & (dump.values.slice == NONE)):
        return
    for row in np.flatnonzero(~doubts.allocations & (dump.allocations.slice_count > 0)).tolist():
        if np.any(doubts.values[dump.values_of_allocation(row)]):
            continue
        parameter, output = parameter_shape(dump, row), output_shape(dump, row)
        wrong = [
            (what, shape)
            for what, shape, has in (("parameter", parameter, _has_parameter), ("output", output, _has_output))
            if shape and not shape.startswith(b"<") and not holds_shape(dump, row, shape) and not has(dump, row, shape)
        ]
        for what, shape in wrong:
            doubts.allocations[row] = True
            yield error(
                Code.SHAPE_MISMATCH,
                row_place(file, dump.allocations, row),
                what=what,
                allocation=int(dump.allocations.index[row]),
                shape=shape.decode("utf-8", "replace"),
            )


def _has_parameter(dump: DumpSet, allocation: int, shape: bytes) -> bool:
    """Whether a header shows the whole parameter of which the allocation holds an element, as XLA did until 2025."""
    index = int(dump.allocations.parameter_index[allocation])
    if index <= EMPTY_INDEX:
        return False
    start, end = subshape_spans(shape).get(dump.indices[index], (0, 0))
    return holds_shape(dump, allocation, shape[start:end])


def _has_output(dump: DumpSet, allocation: int, shape: bytes) -> bool:
    """Whether the root may show a value as another shape: a bitcast is a position, and has as many bytes. Without its
    layout it is not known how many bytes a shape has that is packed or dynamic.
    """
    values = dump.values_of_allocation(allocation)
    rows = dump.values.used_value[values]
    if shape.startswith(b"("):
        return False
    is_shown = (rows == NONE) | (taken(dump.used_values.position_count, rows) > 1)
    is_unsure = bool(_PACKED.match(shape))
    return bool(np.any(is_shown & (is_unsure | (dump.logical_bytes[values] == byte_sizes([shape])[0]))))


_PACKED: Final = re.compile(rb"[suf][124]\D|f4|.*<=")
