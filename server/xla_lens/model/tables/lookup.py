"""Looking rows up, by columns of keys and by size. NONE stands for a row that is not there, and for the cells of such a
row.
"""

import numpy as np

from xla_lens.syntax.columns import NONE, Column


def taken(column: Column, rows: Column) -> Column:
    """The cells of some rows, NONE for the row NONE."""
    return np.where(rows == NONE, NONE, column[rows]) if len(column) else np.full(np.shape(rows), NONE)


def found(sorted_keys: Column, keys: Column) -> Column:
    """For each key its row among sorted ones, NONE if it is not there."""
    if not len(sorted_keys):
        return np.full(len(keys), NONE)
    rows = sorted_keys.searchsorted(keys)
    rows[rows == len(sorted_keys)] = 0
    return np.where(sorted_keys[rows] == keys, rows, NONE)


def first_rows(wanted: Column, keys: Column, rows: Column) -> Column:
    """For each wanted key the first of `rows` whose key it is, NONE if there is none."""
    unique, first = np.unique(keys, return_index=True)
    return taken(rows[first], found(unique, wanted))


def biggest(sizes: Column, limit: int) -> Column:
    """The rows of the biggest sizes, at most `limit`, in their own order."""
    if len(sizes) <= limit:
        return np.arange(len(sizes))
    return np.sort(np.argpartition(-sizes, limit)[:limit])
