"""The rows of dumps, read without a tree, match the tree of the grammar."""

import random
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from samples import DUMPS, big_dumps, dump_paths, needs_shared_dumps, never, on_each_file
from tree_columns import tree_columns
from xla_lens.syntax.columns import FileColumns
from xla_lens.syntax.rows import read_columns

_FILES = dump_paths(DUMPS)

_PIECES = [
    *(
        b"\n",
        b"\r\n",
        b"\r",
        b" ",
        b"    ",
        b"\t",
        b"\0",
        b'"',
        b"{",
        b"}",
        b"(",
        b")",
        b">",
        b"-1",
        b"9999999999999999999999",
    ),
    *(b"\xff", "é".encode(), "└── ".encode(), "│   ".encode(), b"\xef\xbb\xbf", "\u2028".encode()),
    b"<8 fusion @0>",
    b" from instruction: %a = f32[] b({\n",
    b"Used values:\n",
    b"BufferAssignment:\n",
    b"HloLiveRange (max 3):\n",
    b"*** Begin x-live-range.txt ***\n",
    b"\n*** Begin y.txt ***\n",
    b"*** End y.txt ***\n",
    b"Memory Space: a (color=3)\n",
    b"allocation 3: size 4, foo bar, constant:\n",
    b" reused by buffers of a different color:\n  value: <3 a @1> (color=1)\n",
    b"memory_space {\n  color: 3\n}\n",
    b"  The rest 3 values are less than 5%",
    b"HloLiveRange not available  \r \n",
    b" (1.0%, total: 1 000 bytes, current: 3 bytes, remaining: 4 bytes)",
    b"    x (1.0%, 3 bytes)\n",
]


def _differences(data: bytes) -> Iterator[str]:
    """Yield the names of the tables and columns that differ between the reader and the tree."""
    read, expected = read_columns(data, never), tree_columns(data)
    if [*read.names, *read.indices] != [*expected.names, *expected.indices] or len(read.names) != len(expected.names):
        yield "names"
    for name, table in FileColumns.tables().items():
        for column in fields(table):
            ours, theirs = (getattr(getattr(columns, name), column.name) for columns in (read, expected))
            if not np.array_equal(ours, theirs):
                yield f"{name}.{column.name}"


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


def _edited(data: bytes, dice: random.Random) -> bytes:
    """Return a piece of a dump with some random damage."""
    start = dice.randrange(len(data))
    text = bytearray(data[start : start + dice.randrange(50, 6000)] if dice.random() < 0.6 else data)
    for _ in range(dice.choice((1, 2, 3, 8))):
        at = dice.randrange(len(text) + 1)
        match dice.randrange(5):
            case 0 | 1:
                text[at:at] = dice.choice(_PIECES)
            case 2:
                del text[at : at + dice.choice((1, 2, 30, 200))]
            case 3:
                lines = bytes(text).split(b"\n")
                lines.insert(dice.randrange(len(lines)), dice.choice(lines))
                text = bytearray(b"\n".join(lines))
            case _ if at < len(text):
                text[at] = dice.randrange(256)
    return bytes(text)


@pytest.mark.parametrize("seed", range(8))
def test_rows_of_damaged_dumps_match_the_tree(seed: int) -> None:
    dice = random.Random(seed)
    for _ in range(250):
        text = _edited(dice.choice(_FILES).read_bytes()[:20_000], dice)
        assert list(_differences(text)) == [], text
