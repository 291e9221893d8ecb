"""Checks of the parameters and output shapes in the headers of allocations."""

import re
from collections.abc import Iterator
from typing import Final

import numpy as np

from xla_lens.model.checks.allocations import without_layout
from xla_lens.model.checks.findings import Finding, Related, Relation, error
from xla_lens.model.checks.problems import Problem
from xla_lens.model.checks.tainted import Tainted
from xla_lens.model.places.places import row_place
from xla_lens.model.tables.dump_set import EMPTY_INDEX, DumpSet
from xla_lens.model.tables.lookup import repeated, taken
from xla_lens.syntax.columns import NONE, Kind
from xla_lens.syntax.hlo.shapes import byte_sizes, subshape_spans


def allocations_hold_their_parameters(dump: DumpSet, tainted: Tainted) -> Iterator[Finding]:
    """Each allocation of a parameter holds that parameter, and parameters are numbered 0, 1, 2, … without gaps."""
    allocations, file = dump.allocations, dump.assignment
    if file is None:
        return
    rows = np.flatnonzero(((allocations.kind & int(Kind.PARAMETER)) != 0) & ~tainted.allocations)
    has_quotes = tainted.is_whole(dump.used) and bool(np.any(dump.used_values.instruction_start != NONE))
    wrong: dict[int, None] = {}
    if has_quotes:
        wrong = dict.fromkeys(row for row in rows.tolist() if not _holds_parameter(dump, tainted, row))
        for row in wrong:
            yield error(row_place(file, allocations, row), Problem.PARAMETER_MISMATCH(*_header(dump, row), ""))
    firsts, again = repeated(key[rows] for key in (allocations.parameter_index, allocations.parameter))
    for first, row in zip(rows[firsts].tolist(), rows[again].tolist(), strict=True):
        if first not in wrong and row not in wrong:
            wrong[row] = None
            number, parameter, index = _header(dump, row)
            yield error(
                row_place(file, allocations, row),
                Problem.DUPLICATE_PARAMETER(number, allocations.index[first], parameter, index),
                Related(row_place(file, allocations, first), Relation.OTHER_OCCURRENCE),
            )
    # A broken header may be that of a missing parameter.
    if wrong or not tainted.is_whole(file) or np.any(allocations.index == NONE) or np.any(tainted.allocations):
        tainted.allocations[list(wrong)] = True
        return
    numbers, first_row = np.unique(allocations.parameter[rows], return_index=True)
    gaps = np.flatnonzero(np.diff(numbers, prepend=-1) > 1)
    for gap in gaps[-1:].tolist():
        missing = int(numbers[gap - 1]) + 1 if gap else 0
        row = int(rows[first_row[gap]])
        tainted.allocations[row] = True
        number, parameter, _ = _header(dump, row)
        yield error(row_place(file, allocations, row), Problem.MISSING_PARAMETER(number, parameter, missing))


def _header(dump: DumpSet, row: int) -> tuple[int, int, str]:
    """The number of an allocation, and the parameter and the index that its header names."""
    allocations = dump.allocations
    index = int(allocations.parameter_index[row])
    text = dump.indices[index].decode() if index != NONE else ""
    return int(allocations.index[row]), int(allocations.parameter[row]), text


def _holds_parameter(dump: DumpSet, tainted: Tainted, allocation: int) -> bool:
    """Whether an allocation holds the parameter in its header; true if the dump does not show it."""
    values = dump.values_of_allocation(allocation)
    index = max(int(dump.allocations.parameter_index[allocation]), EMPTY_INDEX)
    number = int(dump.allocations.parameter[allocation])
    # A value that is in no allocation may belong to any.
    is_unsure = np.any(tainted.values[values]) or np.any(tainted.values & (dump.values.slice == NONE))
    is_unsure |= np.any(tainted.names[dump.values.name[values]])
    if not len(values) or is_unsure:
        return True
    here = values[np.maximum(dump.values.index[values], EMPTY_INDEX) == index]
    makers = map(dump.instruction, dump.values.name[here].tolist())
    return any(maker is None or maker.parameter_number == number for maker in makers)


def header_shapes_match_values(dump: DumpSet, tainted: Tainted) -> Iterator[Finding]:
    """The shapes in the header of an allocation are shapes of its values."""
    file, allocations = dump.assignment, dump.allocations
    # A value that is in no allocation may belong to any.
    if file is None or np.any(tainted.values & (dump.values.slice == NONE)):
        return
    headers = (
        ("its parameter", allocations.parameter_shape_start, allocations.parameter_shape_end, _is_whole_parameter),
        ("the output", allocations.output_shape_start, allocations.output_shape_end, _may_be_bitcast),
    )
    for what, start, end, may_stand_for in headers:
        for row in np.flatnonzero((start != NONE) & ~tainted.allocations & (allocations.slice_count > 0)).tolist():
            shape = file.document.data[start[row] : end[row]]
            is_right = shape.startswith(b"<") or holds_shape(dump, row, shape) or may_stand_for(dump, row, shape)
            if not is_right and not np.any(tainted.values[dump.values_of_allocation(row)]):
                tainted.allocations[row] = True
                problem = Problem.HEADER_SHAPE_MISMATCH(allocations.index[row], what, shape)
                yield error(row_place(file, allocations, row), problem)


def holds_shape(dump: DumpSet, allocation: int, shape: bytes) -> bool:
    """Whether any value of an allocation has the shape; layouts are not compared."""
    wanted, (shapes, number) = without_layout(shape), dump.slice_shapes
    numbers = number[dump.values.slice[dump.values_of_allocation(allocation)]]
    return any(without_layout(shapes[one]) == wanted for one in set(numbers.tolist()))


def _is_whole_parameter(dump: DumpSet, allocation: int, shape: bytes) -> bool:
    """Whether the allocation holds one element of a parameter of this shape; until 2025 XLA printed the whole shape."""
    index = int(dump.allocations.parameter_index[allocation])
    if index <= EMPTY_INDEX:
        return False
    start, end = subshape_spans(shape).get(dump.indices[index], (0, 0))
    return holds_shape(dump, allocation, shape[start:end])


def _may_be_bitcast(dump: DumpSet, allocation: int, shape: bytes) -> bool:
    """Whether the output may be a bitcast of a value in the allocation.

    A bitcast is a further position of the value and has as many bytes. Without a layout, the number of bytes of packed
    or dynamic shapes is unknown.
    """
    values = dump.values_of_allocation(allocation)
    rows = dump.values.used_value[values]
    if shape.startswith(b"("):
        return False
    is_shown = (rows == NONE) | (taken(dump.used_values.position_count, rows) > 1)
    is_unsure = bool(_PACKED.match(shape))
    return bool(np.any(is_shown & (is_unsure | (dump.logical_bytes[values] == byte_sizes([shape])[0]))))


_PACKED: Final = re.compile(rb"[suf][124]\D|f4|.*<=")
