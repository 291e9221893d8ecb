"""Checks of the parameters and output shapes in the headers of allocations."""

import re
from collections.abc import Iterator
from typing import Final

import numpy as np

from xla_lens.model.checks.allocations import (
    decoded,
    holds_shape,
    output_shape,
    parameter_shape,
    without_layout,
)
from xla_lens.model.checks.findings import Finding, Related, Relation, error
from xla_lens.model.checks.problems import Problem
from xla_lens.model.checks.tainted import Marks, Tainted
from xla_lens.model.places.places import row_place
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.tables.dump_set import EMPTY_INDEX, DumpSet
from xla_lens.model.tables.lookup import repeated, taken
from xla_lens.syntax.columns import NONE, Kind
from xla_lens.syntax.hlo.quotes import QuoteParts, read_quotes
from xla_lens.syntax.hlo.shapes import byte_sizes, subshape_spans
from xla_lens.syntax.texts import number_texts


def allocations_hold_their_parameters(dump: DumpSet, tainted: Tainted) -> Iterator[Finding]:
    """Each allocation of a parameter holds that parameter, and parameters are numbered 0, 1, 2, … without gaps."""
    allocations, file = dump.allocations, dump.assignment
    if file is None:
        return
    rows = np.flatnonzero(((allocations.kind & int(Kind.PARAMETER)) != 0) & ~tainted.allocations)
    has_quotes = tainted.is_whole(dump.used) and bool(np.any(dump.used_values.instruction_start != NONE))
    wrong: dict[int, None] = {}
    if has_quotes:
        unsure = rows[~_shows_parameter(dump)[rows]]
        wrong = dict.fromkeys(row for row in unsure.tolist() if not _holds_parameter(dump, tainted, row))
        for row in wrong:
            yield error(row_place(file, allocations, row), Problem.PARAMETER_MISMATCH(*_header(dump, row)))
    firsts, again = repeated(key[rows] for key in (allocations.parameter_index, allocations.parameter))
    for first, row in zip(rows[firsts].tolist(), rows[again].tolist(), strict=True):
        if first not in wrong and row not in wrong:
            wrong[row] = None
            number, parameter, index = _header(dump, row)
            yield error(
                row_place(file, allocations, row),
                Problem.DUPLICATE_PARAMETER(number, int(allocations.index[first]), parameter, index),
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


def _shows_parameter(dump: DumpSet) -> Marks:
    """For each allocation whether the quoted instruction of one of its values is the parameter in its header."""
    slices, allocations, used = dump.slices, dump.allocations, dump.used_values
    shows = np.zeros(len(allocations), bool)
    if dump.used is None:
        return shows
    rows = np.flatnonzero(taken(allocations.parameter, slices.allocation) != NONE)
    value, allocation = dump.value_of_slice[rows], slices.allocation[rows]
    indices = (dump.values.index[value], allocations.parameter_index[allocation])
    quote = dump.first_quote[dump.values.name[value]]
    is_maker = (np.maximum(indices[0], EMPTY_INDEX) == np.maximum(indices[1], EMPTY_INDEX)) & (quote != NONE)
    allocation = allocation[is_maker]
    # The elements of a tuple share one quote.
    quote, which = np.unique(quote[is_maker], return_inverse=True)
    spans = used.instruction_start[quote], used.instruction_end[quote]
    quotes = read_quotes(dump.used.document.data, *spans, QuoteParts.HEADS)
    shows[allocation[quotes.parameter[which] == allocations.parameter[allocation]]] = True
    return shows


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
    file = dump.assignment
    # A value that is in no allocation may belong to any.
    if file is None or np.any(tainted.values & (dump.values.slice == NONE)):
        return
    unsure = _has_other_shape(dump, file)
    for row in np.flatnonzero(unsure & ~tainted.allocations & (dump.allocations.slice_count > 0)).tolist():
        if np.any(tainted.values[dump.values_of_allocation(row)]):
            continue
        parameter, output = parameter_shape(dump, row), output_shape(dump, row)
        wrong = [
            (problem, shape)
            for problem, shape, may_stand_for in (
                (Problem.PARAMETER_SHAPE_MISMATCH, parameter, _is_whole_parameter),
                (Problem.OUTPUT_SHAPE_MISMATCH, output, _may_be_bitcast),
            )
            if shape
            and not shape.startswith(b"<")
            and not holds_shape(dump, row, shape)
            and not may_stand_for(dump, row, shape)
        ]
        for problem, shape in wrong:
            tainted.allocations[row] = True
            place = row_place(file, dump.allocations, row)
            yield error(place, problem(int(dump.allocations.index[row]), decoded(shape)))


def _has_other_shape(dump: DumpSet, file: DumpFile) -> Marks:
    """For each allocation whether a shape in its header is that of none of its values; layouts are not compared."""
    allocations, slices = dump.allocations, dump.slices
    shapes, shape = dump.slice_shapes
    plain: dict[bytes, int] = {}
    plain_shape = np.array([plain.setdefault(without_layout(text), len(plain)) for text in shapes], np.int64)[shape]
    has_other = np.zeros(len(allocations), bool)
    for start, end in (
        (allocations.parameter_shape_start, allocations.parameter_shape_end),
        (allocations.output_shape_start, allocations.output_shape_end),
    ):
        rows = np.flatnonzero(start != NONE)
        header, first = number_texts(file.document.data, start[rows], end[rows])
        spans = zip(start[rows[first]].tolist(), end[rows[first]].tolist(), strict=True)
        texts = [plain.get(without_layout(file.document.data[one:other]), NONE) for one, other in spans]
        wanted = np.full(len(allocations), NONE)
        wanted[rows] = np.array(texts, np.int64)[header]
        holds = np.zeros(len(allocations), bool)
        holds[slices.allocation[(taken(wanted, slices.allocation) == plain_shape) & (slices.allocation != NONE)]] = True
        has_other[rows] |= ~holds[rows]
    return has_other


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
