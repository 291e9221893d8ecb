"""Forms that XLA's sources print since 2026, made from real dumps: they are no contradictions."""

import re
from collections.abc import Mapping

import pytest

from goldens import files_of, findings_text
from samples import DUMPS, analysis_of, dump_file
from xla_lens.model.analysis import Analysis, analyse
from xla_lens.model.checks.codes import Code, Severity
from xla_lens.model.checks.problems import Problem
from xla_lens.syntax.file_names import FileKind

_TPU = next(DUMPS.glob("tpu-v5e2x2-*/mlp_train/module_0000*-buffer-assignment.txt"))
_ASSIGNMENT, _VALUES = FileKind.BUFFER_ASSIGNMENT, FileKind.VALUES


def _texts() -> dict[FileKind, str]:
    """The files of the dump without its report, which has no ids to edit."""
    return {
        kind: file.document.data.decode()
        for kind, file in files_of(_TPU).items()
        if kind is not FileKind.MEMORY_USAGE_REPORT
    }


def _analysis(texts: Mapping[FileKind, str]) -> Analysis:
    return analyse(dump_file(text.encode(), kind) for kind, text in texts.items())


def _numbers(analysis: Analysis) -> list[tuple[int | None, ...]]:
    spaces = analysis.memory.spaces
    return [(space.color, space.peak_live_bytes, space.peak_step, space.reserved_bytes) for space in spaces]


def _problems(analysis: Analysis) -> list[Problem]:
    """The problems of all findings, without the understated peak that the dump has."""
    return [finding.problem.kind for finding in analysis.findings if finding.code is not Code.PEAK_UNDERSTATED]


def _slices(texts: Mapping[FileKind, str], color: int) -> list[str]:
    """The rows of values in the arena of a memory space, without elements of tuples."""
    arena = re.search(rf"allocation \d+: size \d+, color {color}, [^\n]*preallocated-temp:\n", texts[_ASSIGNMENT])
    assert arena
    rows = texts[_ASSIGNMENT][arena.end() :].split("allocation ")[0]
    return re.findall(r" value: <\d+ [\w.-]+ @\d+> \(size=[^\n]+\n", rows)


def _value(row: str) -> str:
    return row.removeprefix(" value: ").split(" (size=")[0]


@pytest.mark.parametrize("is_used", [True, False], ids=["in the used values", "only in the live ranges"])
def test_address_into_another_buffer_has_no_allocation(is_used: bool) -> None:
    """`dus_view_color`: values of a memory space without allocations."""
    for row in _slices(_texts(), 1):
        texts = _texts()
        texts[_ASSIGNMENT] = texts[_ASSIGNMENT].replace(row, "")
        header = f"{_value(row)}\n"
        block = re.search(rf"{re.escape(header)}(?:(?!<\d).*\n)*", texts[_VALUES])
        assert block
        texts[_VALUES] = texts[_VALUES].replace(
            *((header, header.replace("@1>", "@9>")) if is_used else (block[0], ""))
        )
        analysis = _analysis(texts)
        assert [(finding.severity, finding.problem.kind) for finding in analysis.findings] == [
            (Severity.HINT, Problem.VIEW)
        ]
        assert analysis.warrants.is_complete


def test_view_is_named_where_it_stands() -> None:
    texts = _texts()
    row = _slices(texts, 1)[0]
    header = f"{_value(row)}\n"
    texts[_ASSIGNMENT] = texts[_ASSIGNMENT].replace(row, "")
    texts[_VALUES] = texts[_VALUES].replace(header, header.replace("@1>", "@9>"))
    name = header.split()[1]
    text = findings_text(_analysis(texts))
    assert text.startswith(f"hint[unassigned-value] `{name}` has no allocation.")
    assert header.replace("@1>", "@9>") in f"{text}\n"


@pytest.mark.parametrize("is_listed", [True, False])
def test_value_of_another_memory_space_reuses_an_arena(is_listed: bool) -> None:
    """Values of memory space 0 inside allocations of memory space 1, with and without the list of such values."""
    before = _numbers(analysis_of(_TPU))
    rows = _slices(_texts(), 1)
    assert len(rows) > 2
    for row in rows:
        texts = _texts()
        value, other = _value(row), _value(row).replace("@1>", "@0>")
        listed = f" reused by buffers of a different color:\n  value: {other} (color=0)\n" if is_listed else ""
        changed = row.replace(value, other).replace("S(1)", "")
        texts[_ASSIGNMENT] = texts[_ASSIGNMENT].replace(row, changed)
        before_row, after_row = texts[_ASSIGNMENT].split(changed)
        in_arena, following, others = after_row.partition("allocation ")
        texts[_ASSIGNMENT] = f"{before_row}{changed}{in_arena}{listed}{following}{others}"
        definition = f"%{value.split()[1]} = {row.split(': ')[-1].strip()}"
        texts[_VALUES] = texts[_VALUES].replace(f"{value}\n", f"{other}\n")
        texts[_VALUES] = texts[_VALUES].replace(definition, definition.replace("S(1)", ""))
        analysis = _analysis(texts)
        assert _problems(analysis) == ([] if is_listed else [Problem.REUSED_ARENA])
        assert _numbers(analysis) == before


def test_allocations_have_pages() -> None:
    texts = _texts()
    pages = iter(range(100))
    texts[_ASSIGNMENT] = re.sub(r", page 0\b", lambda _: f", page {next(pages)}", texts[_ASSIGNMENT])
    assert "page 3" in texts[_ASSIGNMENT]
    analysis = _analysis(texts)
    assert not _problems(analysis)
    assert _numbers(analysis) == _numbers(analysis_of(_TPU))
