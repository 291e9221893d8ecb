"""Lookups in columns. NONE stands for a missing row and for the cells of a missing row."""

from collections.abc import Iterable

import numpy as np

from xla_lens.syntax.columns import NONE, Column, Table, place_in


def taken(column: Column, rows: Column) -> Column:
    """Return the cells of `rows`, NONE for the row NONE."""
    return np.where(rows == NONE, NONE, column[rows]) if len(column) else np.full(np.shape(rows), NONE)


def found(sorted_keys: Column, keys: Column) -> Column:
    """Return the row of each key in `sorted_keys`, NONE if it is missing."""
    if not len(sorted_keys):
        return np.full(len(keys), NONE)
    rows = as_rows(sorted_keys.searchsorted(keys))
    rows[rows == len(sorted_keys)] = 0
    return np.where(sorted_keys[rows] == keys, rows, NONE)


def first_rows(wanted: Column, keys: Column, rows: Column) -> Column:
    """Return for each wanted key the first of `rows` with that key, NONE if there is none."""
    unique, first = np.unique(keys, return_index=True)
    return taken(as_rows(rows[first]), found(unique, wanted))


def row_at(table: Table, offset: int) -> int:
    """Return the row of a table around a byte, NONE if there is none."""
    row = place_in(table.start, offset, "right") - 1
    return row if row >= 0 and offset <= table.end[row] else NONE


def as_rows(rows: Column) -> Column:
    """Return row numbers in 32 bits if they fit, which halves the memory of a join."""
    return rows.astype(np.int32) if rows.max(initial=0) <= np.iinfo(np.int32).max else rows


def repeated(keys: Iterable[Column]) -> tuple[Column, Column]:
    """Return the rows that have the same keys as another row: first those rows, then the next row with the same keys
    for each of them. The last key sorts first.
    """
    keys = tuple(keys)
    order = np.lexsort(keys)
    is_same = np.ones(max(0, len(order) - 1), bool)
    for key in keys:
        ordered = key[order]
        is_same &= ordered[1:] == ordered[:-1]
    return order[:-1][is_same], order[1:][is_same]


def biggest(sizes: Column, limit: int) -> Column:
    """Return the rows of the `limit` biggest sizes, in ascending order. Of equal sizes, the first rows count."""
    if len(sizes) <= limit:
        return np.arange(len(sizes))
    # `argpartition` alone would choose among equal sizes by the version of numpy and by the processor.
    bound = np.partition(sizes, -limit - 1)[-limit - 1]
    above, equal = np.flatnonzero(sizes > bound), np.flatnonzero(sizes == bound)
    return np.sort(np.append(above, equal[: limit - len(above)]))


def distinct(keys: Column) -> Column:
    """Return the distinct keys in ascending order. For columns, this is several times as fast as `np.unique`."""
    keys = np.sort(keys)
    found: Column = keys[np.append(True, keys[1:] != keys[:-1])[: len(keys)]]
    return found


def distinct_pairs(pairs: Column) -> Column:
    """Return the distinct columns of two rows in ascending order."""
    # Without counts, `np.unique` imports `numpy.ma`, which takes longer than all checks of a small dump.
    found: Column = np.unique(pairs, axis=1, return_counts=True)[0]
    return found
