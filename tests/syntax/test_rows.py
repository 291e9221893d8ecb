"""The rows of dumps, read without a tree, match the tree of the grammar."""

import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from fuzzing.texts import damaged
from samples import DUMPS, big_dumps, dump_paths, needs_shared_dumps, never, on_each_file, sweep
from tree_columns import tree_columns
from xla_lens.syntax.rows import read_columns
from xla_lens.syntax.tables import FileColumns

_FILES = dump_paths(DUMPS)


def _differences(data: bytes) -> Iterator[str]:
    """Yield the names of the tables and columns that differ between the reader and the tree."""
    read, expected = read_columns(data, never), tree_columns(data)
    if [*read.names, *read.indices] != [*expected.names, *expected.indices] or len(read.names) != len(expected.names):
        yield "names"
    for name, table in FileColumns.tables().items():
        for column in table.__struct_fields__:
            ours, theirs = (getattr(getattr(columns, name), column) for columns in (read, expected))
            if not np.array_equal(ours, theirs):
                yield f"{name}.{column}"


@on_each_file
def test_rows_match_the_tree(path: Path) -> None:
    assert list(_differences(path.read_bytes())) == []


@pytest.mark.slow
@needs_shared_dumps
def test_rows_of_big_dumps_match_the_tree(tmp_path: Path) -> None:
    paths = [path for path in big_dumps(tmp_path).rglob("*-buffer-assignment*.txt") if path.is_file()]
    assert paths
    for path in paths:
        assert list(_differences(path.read_bytes())) == [], path


@pytest.mark.parametrize("seed", sweep(range(8), 4))
def test_rows_of_damaged_dumps_match_the_tree(seed: int) -> None:
    dice = random.Random(seed)
    for _ in range(250):
        text, other = (dice.choice(_FILES).read_bytes()[:20_000] for _ in range(2))
        start = dice.randrange(len(text)) if dice.random() < 0.6 else 0
        text = damaged(dice, text[start : start + dice.randrange(50, 6000)] if start else text, other)
        assert list(_differences(text)) == [], text
