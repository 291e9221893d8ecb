"""Tests of finding rows by name."""

import numpy as np
import pytest

from xla_lens.model.hlo import rows_by_name
from xla_lens.model.hlo.rows_by_name import RowsByName
from xla_lens.syntax.columns import NONE, Column


def test_names_with_the_same_hash_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows_by_name, "hash", len, raising=False)
    rows = RowsByName(b"ab cd ab x", *_spans((0, 2), (3, 5), (6, 8), (9, 10)))
    names, found = [b"cd", b"ab", b"zz", b"y", b"x", b"xyz"], [1, 0, NONE, NONE, 3, NONE]
    assert rows.rows_of(names).tolist() == found
    assert [rows.row(name) for name in names] == found


def _spans(*spans: tuple[int, int]) -> tuple[Column, Column]:
    return np.array([start for start, _ in spans], np.int32), np.array([end for _, end in spans], np.int32)
