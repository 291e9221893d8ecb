"""Tests of finding rows by name."""

from pathlib import Path

import numpy as np
import pytest

from samples import PALLAS, SPLIT, WHILE
from xla_lens.files import find_set, load_module
from xla_lens.model.hlo import rows_by_name
from xla_lens.model.hlo.rows_by_name import RowsByName
from xla_lens.syntax.columns import NONE, Column, Table


@pytest.mark.parametrize("path", [SPLIT, WHILE, PALLAS], ids=lambda path: path.parent.name)
def test_names_lead_to_their_rows(path: Path) -> None:
    loaded = load_module(find_set(path), {}, None, lambda: False)
    assert loaded
    module = loaded.module
    for found, table in (
        (module.instruction_rows, module.columns.instructions),
        (module.computation_rows, module.columns.computations),
    ):
        expected: dict[bytes, int] = {}
        for row, name in enumerate(_names(module.data, table)):
            expected.setdefault(name, row)
        assert dict(found) == expected
        assert len(found) == len(expected)
        names = [*expected, b"", b"no.such.name", *(name[:-1] for name in expected)]
        assert found.rows_of(names).tolist() == [expected.get(name, NONE) for name in names]
        assert [found.get(name, NONE) for name in names] == [expected.get(name, NONE) for name in names]
        assert [name in found for name in names] == [name in expected for name in names]


def _names(data: bytes, table: Table) -> list[bytes]:
    starts, ends = table.name_start.tolist(), table.name_end.tolist()  # type: ignore[attr-defined]
    return [data[start:end] for start, end in zip(starts, ends, strict=True)]


def test_names_with_the_same_hash_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows_by_name, "hash", len, raising=False)
    rows = RowsByName(b"ab cd ab x", *_spans((0, 2), (3, 5), (6, 8), (9, 10)))
    assert dict(rows) == {b"ab": 0, b"cd": 1, b"x": 3}
    assert rows.rows_of([b"cd", b"ab", b"zz", b"y", b"x", b"xyz"]).tolist() == [1, 0, NONE, NONE, 3, NONE]
    assert b"zz" not in rows
    with pytest.raises(KeyError):
        rows[b"zz"]


def test_a_table_without_rows_has_no_names() -> None:
    rows = RowsByName(b"ab", *_spans())
    assert rows.rows_of([b"ab", b""]).tolist() == [NONE, NONE]
    assert rows.get(b"ab") is None


def _spans(*spans: tuple[int, int]) -> tuple[Column, Column]:
    return np.array([start for start, _ in spans], np.int32), np.array([end for _, end in spans], np.int32)
