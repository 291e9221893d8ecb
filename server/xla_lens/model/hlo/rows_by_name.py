"""The rows of a table by the names that the text has there.

A dictionary of all names of a big module would take as much memory as half of its text. This takes 8 bytes a name.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from xla_lens.model.tables.lookup import as_rows
from xla_lens.syntax.columns import NONE, Column
from xla_lens.syntax.tree import check_cancelled

_CHUNK: Final = 1 << 11
"""Names hashed at once. numpy gives the interpreter's lock back in each chunk and takes it again at once. If it does so
more often than once in a switch interval, threads that wait for the lock are woken again and again, but never get it.
"""

_HALF: Final = 1 << 31


class RowsByName(Mapping[bytes, int]):
    """The rows of a table by name. The first row of a name wins. `start` and `end` span the names in `data`. Raises
    `Cancelled` once `is_cancelled` returns True.
    """

    def __init__(
        self, data: bytes, start: Column, end: Column, is_cancelled: Callable[[], bool] = lambda: False
    ) -> None:
        self._data, self._start, self._end = data, start, end
        hashes = np.zeros(len(start), np.int32)
        for first in range(0, len(start), _CHUNK):
            check_cancelled(is_cancelled)
            hashes[first : first + _CHUNK] = _hashes(list(self._names(slice(first, first + _CHUNK))))
        order = np.argsort(hashes, kind="stable")
        self._hashes, self._rows = hashes[order], as_rows(order)
        # Reading one number from a memory view is several times as fast as from an array.
        self._views = self._hashes.data, self._rows.data, start.data, end.data

    def __getitem__(self, name: bytes) -> int:
        row = self._row(name)
        if row == NONE:
            raise KeyError(name)
        return row

    def __contains__(self, name: object) -> bool:
        return isinstance(name, bytes) and self._row(name) != NONE

    def __iter__(self) -> Iterator[bytes]:
        return iter(dict.fromkeys(self._names(slice(None))))

    def __len__(self) -> int:
        return len(set(self._names(slice(None))))

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
            NONE if not is_there else row if data[start:end] == name else self._row(name)
            for name, row, is_there, start, end in candidates
        )
        return np.fromiter(found, np.int64, len(names))

    def _row(self, name: bytes) -> int:
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

    def _names(self, rows: slice) -> Iterator[bytes]:
        for start, end in zip(self._start[rows].tolist(), self._end[rows].tolist(), strict=True):
            yield self._data[start:end]


def _hashes(names: Sequence[bytes]) -> Column:
    """The lower 32 bits of hashes. Few names have the same."""
    return np.fromiter(map(hash, names), np.int64, len(names)).astype(np.int32)
