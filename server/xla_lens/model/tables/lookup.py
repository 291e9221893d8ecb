"""Lookups in columns. NONE stands for a missing row and for the cells of a missing row."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np

from xla_lens.syntax.columns import NONE, Column, FileTable, Pairs, cells, place_in
from xla_lens.text.document import without_repetitions


def taken(column: Column, rows: Column) -> Column:
    """Return the cells of `rows`, NONE for the row NONE."""
    return np.where(rows == NONE, NONE, column[rows]) if len(column) else np.full(np.shape(rows), NONE, column.dtype)


def found(sorted_keys: Column, keys: Column) -> Column:
    """Return the row of each key in `sorted_keys`, NONE if it is missing."""
    if not len(sorted_keys):
        return np.full(len(keys), NONE, np.int32)
    rows = as_rows(sorted_keys.searchsorted(keys))
    rows[rows == len(sorted_keys)] = 0
    return np.where(sorted_keys[rows] == keys, rows, NONE)


def row_ranges(first: Column, count: Column) -> Column:
    """Return `count` rows from each `first` on, one range after another."""
    rows: Column = np.arange(int(count.sum())) + np.repeat(first - (count.cumsum() - count), count)
    return rows


def first_rows(wanted: Column, keys: Column, rows: Column) -> Column:
    """Return for each wanted key the first of `rows` with that key, NONE if there is none."""
    unique, first = np.unique(keys, return_index=True)
    return taken(as_rows(rows[first]), found(unique, wanted))


def row_at(table: FileTable, offset: int) -> int:
    """Return the row of a table around a byte, NONE if there is none."""
    row = place_in(table.start, offset, "right") - 1
    return row if row >= 0 and offset <= table.end[row] else NONE


def ordered(rows: Column, column: Column) -> Column:
    """Return rows in the order of their cells in a column, those with equal cells in the given order."""
    found: Column = rows[np.argsort(column[rows], kind="stable")]
    return found


def as_rows(rows: Column) -> Column:
    """Return row numbers in 32 bits if they fit, which halves the memory of a join."""
    return rows.astype(np.int32) if rows.max(initial=0) <= np.iinfo(np.int32).max else rows


def repeated(keys: Iterable[Column]) -> Pairs:
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
    return without_repetitions(np.sort(keys))


def distinct_pairs(pairs: Column) -> Column:
    """Return the distinct columns of two rows in ascending order."""
    # Without counts, `np.unique` imports `numpy.ma`, which takes longer than all checks of a small dump.
    return np.unique(pairs, axis=1, return_counts=True)[0]


_HALF: Final = 1 << 31


class RowsByName:
    """The rows of a table by name. The first row of a name wins. `start` and `end` span the names in `data`.

    A dictionary of all names of a big module would take as much memory as half of its text. This takes 8 bytes a name.
    """

    def __init__(self, data: bytes, start: Column, end: Column) -> None:
        self._data, self._start, self._end = data, start, end
        parts = (slice(first, first + _CHUNK) for first in range(0, len(start), _CHUNK))
        chunks = [_hashes([data[one:other] for one, other in cells(start[part], end[part])]) for part in parts]
        hashes = np.concatenate(chunks) if chunks else np.zeros(0, np.int32)
        order = np.argsort(hashes, kind="stable")
        self._hashes, self._rows = hashes[order], as_rows(order)
        # Reading one number from a memory view is several times as fast as from an array.
        self._views = self._hashes.data, self._rows.data, start.data, end.data

    def rows_of(self, names: Sequence[bytes]) -> Column:
        """Return the row of each name, NONE where there is none."""
        if not len(self._rows):
            return np.full(len(names), NONE)
        hashes = _hashes(names)
        places = np.minimum(self._hashes.searchsorted(hashes), len(self._hashes) - 1)
        rows = self._rows[places]
        candidates = zip(
            names,
            rows.tolist(),
            (self._hashes[places] == hashes).tolist(),
            self._start[rows].tolist(),
            self._end[rows].tolist(),
            strict=True,
        )
        data = self._data
        found = (
            NONE if not is_there else row if data[start:end] == name else self.row(name)
            for name, row, is_there, start, end in candidates
        )
        return np.fromiter(found, np.int64, len(names))

    def row(self, name: bytes) -> int:
        """Return the row of a name, NONE if there is none."""
        hashes, rows, starts, ends = self._views
        number = (hash(name) + _HALF) % (2 * _HALF) - _HALF
        for place in range(bisect_left(hashes, number), len(hashes)):
            if hashes[place] != number:
                break
            row: int = rows[place]
            # Different names may have the same hash.
            if self._data[starts[row] : ends[row]] == name:
                return row
        return NONE


_CHUNK: Final = 1 << 12
"""Names that are in memory at once."""


def _hashes(names: Sequence[bytes]) -> Column:
    """The lower 32 bits of hashes. Few names have the same."""
    return np.fromiter(map(hash, names), np.int64, len(names)).astype(np.int32)
