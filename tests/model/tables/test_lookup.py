"""Searches in columns."""

import numpy as np
import pytest

from xla_lens.model.tables import lookup
from xla_lens.model.tables.lookup import RowsByName, biggest
from xla_lens.syntax.columns import NONE, Column


@pytest.mark.parametrize("limit", [0, 1, 7, 99, 100, 101, 2999, 3000, 3001])
@pytest.mark.parametrize("sizes", [1, 2, 5, 1 << 40])
def test_first_rows_of_equal_sizes_are_the_biggest(sizes: int, limit: int) -> None:
    column = np.random.default_rng(sizes).integers(0, sizes, 3000)
    expected = sorted(range(3000), key=lambda row: (-column[row], row))[:limit]
    assert biggest(column, limit).tolist() == sorted(expected)


def test_names_with_the_same_hash_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lookup, "hash", len, raising=False)
    rows = RowsByName(b"ab cd ab x", *_spans((0, 2), (3, 5), (6, 8), (9, 10)))
    names, found = [b"cd", b"ab", b"zz", b"y", b"x", b"xyz"], [1, 0, NONE, NONE, 3, NONE]
    assert rows.rows_of(names).tolist() == found
    assert [rows.row(name) for name in names] == found


def _spans(*spans: tuple[int, int]) -> tuple[Column, Column]:
    return np.array([start for start, _ in spans], np.int32), np.array([end for _, end in spans], np.int32)
