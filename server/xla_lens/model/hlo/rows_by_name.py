"""The rows of a table by the names that the text has there.

A dictionary of all names of a big module would take as much memory as half of its text. This takes 8 bytes a name.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np

from xla_lens.model.tables.lookup import as_rows
from xla_lens.syntax.columns import NONE, Column

_HALF: Final = 1 << 31


class RowsByName:
    """The rows of a table by name. The first row of a name wins. `start` and `end` span the names in `data`."""

    def __init__(self, data: bytes, start: Column, end: Column) -> None:
        self._data, self._start, self._end = data, start, end
        spans = zip(start.tolist(), end.tolist(), strict=True)
        hashes = _hashes((data[first:last] for first, last in spans), len(start))
        order = np.argsort(hashes, kind="stable")
        self._hashes, self._rows = hashes[order], as_rows(order)
        # Reading one number from a memory view is several times as fast as from an array.
        self._views = self._hashes.data, self._rows.data, start.data, end.data

    def rows_of(self, names: Sequence[bytes]) -> Column:
        """Return the row of each name, NONE where there is none."""
        if not len(self._rows):
            return np.full(len(names), NONE)
        hashes = _hashes(names, len(names))
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


def _hashes(names: Iterable[bytes], count: int) -> Column:
    """The lower 32 bits of hashes. Few names have the same."""
    return np.fromiter(map(hash, names), np.int64, count).astype(np.int32)
