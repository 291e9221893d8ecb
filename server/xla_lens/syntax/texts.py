"""Comparing many texts of a file at once, by the columns of their starts and ends."""

import numpy as np
from numpy.typing import NDArray

import tree_sitter_xla_dump
from xla_lens.syntax.columns import NONE, Column


def number_texts(data: bytes, start: Column, end: Column) -> tuple[Column, Column]:
    """Return for each text the number of the first text that equals it, counting only distinct texts, and for each
    number the row of its first text.
    """
    numbers = np.frombuffer(tree_sitter_xla_dump.number_texts(data, span_cells(data, start, end)), np.int32)
    return numbers, np.flatnonzero(np.diff(np.maximum.accumulate(numbers), prepend=NONE))


def column(cells: tuple[bytes, int]) -> Column:
    """Return a column that C code has filled, from its bytes and the size of its cells."""
    block, size = cells
    return np.frombuffer(block, np.int64 if size == np.int64().itemsize else np.int32)


def span_cells(data: bytes, start: Column, end: Column) -> NDArray[np.int64]:
    """Return spans of a text in the form that C code reads. Raises ValueError if they are not within the text."""
    if ((start < 0) | (start > end) | (end > len(data))).any():
        raise ValueError("spans outside of the text")
    return np.stack((start, end), axis=1, dtype=np.int64)
