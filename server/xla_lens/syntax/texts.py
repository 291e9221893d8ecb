"""Comparing many texts of a file at once, by the columns of their starts and ends."""

import numpy as np
from numpy.typing import NDArray

import tree_sitter_xla_dump
from xla_lens.syntax.columns import Column


def number_texts(data: bytes, start: Column, end: Column) -> tuple[Column, Column]:
    """Return for each text the number of the first text that equals it, counting only distinct texts, and for each
    number the row of its first text.
    """
    (numbers,), (rows,) = tree_sitter_xla_dump.number_texts(data, cells(start), cells(end))
    return column(numbers), column(rows)


def same_texts(
    data: bytes, span: tuple[Column, Column], other: bytes, other_span: tuple[Column, Column]
) -> NDArray[np.bool_]:
    """Return for each row whether the text in `data` equals that in `other`."""
    start, end, other_start, other_end = (cells(part) for part in (*span, *other_span))
    (found,) = tree_sitter_xla_dump.same_texts(data, start, end, other, other_start, other_end)
    same: NDArray[np.bool_] = column(found) != 0
    return same


def column(cells: tree_sitter_xla_dump.Column) -> Column:
    """Return a column that C code has filled."""
    return np.asarray(cells)


def cells(column: Column) -> Column:
    """Return a column in the form that C code reads."""
    return np.ascontiguousarray(column)
