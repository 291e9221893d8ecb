"""A line that no release of XLA has printed so far costs nothing but itself, wherever it stands."""

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from samples import DUMPS, dump_file, never, on_each_file
from xla_lens.files import SetFiles, find_sets, load_files
from xla_lens.model.analysis import Analysis, analyse
from xla_lens.model.checks.problems import Problem
from xla_lens.syntax.columns import NONE, FileColumns
from xla_lens.syntax.rows import read_columns

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


def _within_rows(columns: FileColumns, text: bytes) -> set[int]:
    """The starts of lines at which the text of an instruction or a name in the stack traces continues."""
    used, stacks = columns.used_values, columns.stack_traces
    spans = [
        *zip(used.instruction_start, used.instruction_end, strict=True),
        *zip(stacks.start, stacks.end, strict=True),
    ]
    return {
        at + 1
        for start, end in spans
        if start != NONE and b"\n" in text[start:end]
        for at in range(int(start), int(end))
        if text[at] == ord("\n")
    }


def _with_unknown_lines(text: bytes, columns: FileColumns, places: int | None) -> Iterator[tuple[bytes, bytes]]:
    """Put one of the lines at places between two lines, and return it with the text. All places if `places` is None."""
    within = _within_rows(columns, text)
    lines = text.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    outside = [start for start in starts if start not in within and (not start or text[start - 1] == ord("\n"))]
    chance = random.Random(len(text))
    for start in outside if places is None else chance.sample(outside, min(places, len(outside))):
        for line in _LINES if places is None else [chance.choice(_LINES)]:
            yield line, text[:start] + line + b"\n" + text[start:]


def _assert_only_line_is_unknown(path: Path, places: int | None) -> None:
    text = path.read_bytes()
    columns = read_columns(text, never)
    rows = _rows(columns, text)
    for line, changed in _with_unknown_lines(text, columns, places):
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
    _assert_only_line_is_unknown(path, None)


def _results(analysis: Analysis) -> tuple[Counter[Problem], list[tuple[int | None, ...]]]:
    """The findings, and the memory spaces with their peaks."""
    spaces = analysis.memory.spaces
    return (
        Counter(finding.problem.kind for finding in analysis.findings),
        [(space.color, space.peak_live_bytes, space.peak_step, space.reserved_bytes) for space in spaces],
    )


@pytest.mark.parametrize("files", find_sets(DUMPS), ids=lambda files: str(files.stem.relative_to(DUMPS)))
def test_unknown_line_is_one_finding_and_changes_no_number(files: SetFiles) -> None:
    loaded = {path: one.dump_file for path, one in load_files(files, {}, {}, never).items()}
    findings, spaces = _results(analyse(loaded.values()))
    for path, file in loaded.items():
        for _, changed in _with_unknown_lines(file.document.data, file.columns, 1):
            other = dump_file(changed, file.kind)
            analysis = analyse(other if one == path else loaded[one] for one in loaded)
            assert _results(analysis) == (findings + Counter([Problem.UNKNOWN_LINES]), spaces)
