"""A line that no release of XLA has printed so far costs nothing but itself, wherever it stands."""

import random
from collections import Counter
from pathlib import Path

import pytest

from foreign_lines import with_lines
from samples import never, on_each_file
from xla_lens.syntax.file_names import FileKind
from xla_lens.syntax.rows import read_columns
from xla_lens.syntax.tables import FileColumns

_LINES = (
    b"New section of 2027:",
    b" hints: {a=1, b=(2}",
    b"  brand new: 17 of <something>",
    b"    deeper [x] line; 12",
    b"      nested deeper than all: yes!",
    b"\tSummary of pools; 3 pools",
    b'%weird{ 0x12 } "unclosed',
    "│ ünïcode └".encode(),
)


def _rows(columns: FileColumns, text: bytes) -> Counter[tuple[str, bytes]]:
    """All rows as text. Leaves out sections and tables, which span several rows."""
    return Counter(
        (name, text[start:end])
        for name in columns.tables()
        if name not in ("sections", "report_tables", "unknown_lines")
        for start, end in zip(getattr(columns, name).start.tolist(), getattr(columns, name).end.tolist(), strict=True)
    )


def _assert_only_line_is_unknown(path: Path, count: int) -> None:
    text = path.read_bytes()
    columns = read_columns(text, never)
    rows, chance = _rows(columns, text), random.Random(len(text))
    for line, changed in with_lines(chance, text, FileKind.BUFFER_ASSIGNMENT, chance.choices(_LINES, k=count)):
        found = read_columns(changed, never)
        assert _rows(found, changed) == rows
        unknown = [
            changed[start:end] for start, end in zip(found.unknown_lines.start, found.unknown_lines.end, strict=True)
        ]
        assert unknown == [line.strip()]


@on_each_file
def test_unknown_line_costs_no_row(path: Path) -> None:
    _assert_only_line_is_unknown(path, 8)


@pytest.mark.slow
@on_each_file
def test_unknown_line_costs_no_row_anywhere(path: Path) -> None:
    _assert_only_line_is_unknown(path, 2_000)
