"""The bytes at the peak on the lines of a file of the program."""

from collections import Counter
from pathlib import Path

import pytest

from samples import DUMPS, SHARED_DUMPS, SPLIT, TPU, joined, needs_shared_dumps
from xla_lens.editor.source_memory import (
    PeakByLine,
    SourceMemory,
    annotated_source,
    callers,
    functions_in,
    line_hover,
    line_label,
    peak_by_line,
    source_memory,
)
from xla_lens.report.facts import report
from xla_lens.report.options import Part, ReportOptions

_PROGRAM = DUMPS / "programs" / "programs.py"
_NAME = "/home/user/programs/programs.py"


def _peak(path: Path) -> PeakByLine:
    peak = peak_by_line(joined(path))
    assert peak
    return peak


def _memory(path: Path, program: Path = _PROGRAM, name: str = _NAME) -> SourceMemory:
    return source_memory(_peak(path), {name}, program.read_text())


def _lines_of_report(path: Path, name: str) -> Counter[int]:
    """The bytes by line in the report of the default memory space."""
    made = report(joined(path), {}, ReportOptions(parts=frozenset({Part.LINE})))
    found: Counter[int] = Counter()
    for line in made.hbm.lines.lines if made.hbm and made.hbm.lines else ():
        if line.frame and line.frame.file == name and line.frame.line:
            found[line.frame.line] += line.size_bytes
    return found


def test_lines_are_those_of_the_report() -> None:
    memory = _memory(SPLIT)
    assert {line.line: line.size_bytes for line in memory.lines} == _lines_of_report(SPLIT, _NAME)
    for line in memory.lines:
        assert sum(one.size_bytes for one in line.buffers) == line.size_bytes
        sizes = [one.size_bytes for one in line.buffers]
        assert sizes == sorted(sizes, reverse=True)
    # Parameters and constants have no line.
    assert memory.size_bytes + 2014212 == memory.peak.space.peak_live_bytes


@pytest.mark.parametrize("text", ["def f(:", "x = 1\0", "(" * 5000, "", "é" * (5 << 20)])
def test_text_that_cannot_be_parsed_has_no_functions(text: str) -> None:
    assert functions_in(text) == []


def test_names_of_functions_contain_what_they_are_in() -> None:
    text = "class A:\n  async def f(self):\n    if 1:\n      def g(): return lambda: 1\n@x\ndef h(): pass\n"
    assert functions_in(text) == [("A.f", 2, 4), ("A.f.g", 4, 4), ("h", 6, 6)]


def test_file_that_no_line_is_in_is_empty() -> None:
    memory = source_memory(_peak(SPLIT), {"/other.py"}, "")
    assert (memory.lines, memory.functions, memory.size_bytes) == ((), (), 0)


def test_label_has_size_and_share() -> None:
    memory = _memory(SPLIT)
    line = next(line for line in memory.lines if line.line == 50)
    assert line_label(memory, line) == "██▉ 1.53 MiB (36.4 %)"
    assert line_label(memory, line, 0.0).startswith("██▉ 1.53 MiB (36.4 %) · dump of 19")


def test_hover_names_buffers_callers_and_savings() -> None:
    memory = _memory(SPLIT)
    line = next(line for line in memory.lines if line.line == 50)
    text = line_hover(memory, line)
    title, _, first, *_ = text.split("\n")
    assert title == "**1.53 MiB** · 36.4 % of the host memory peak · `jit_train_step`"
    assert first.startswith("- 1.53 MiB · `f32[784,512]` · ")
    assert "live until step " in first
    assert "\nCalled from `programs.py:" in text
    assert all(frame.line != 50 for frame in callers(line))


def test_annotated_source_has_every_line_of_the_file() -> None:
    memory, text = _memory(SPLIT), _PROGRAM.read_text()
    title, _, blank, *rows = annotated_source(memory, "programs.py", text)
    assert title.startswith("programs.py: 2.29 MiB (54.4 %) of the host memory peak of 4.21 MiB at step 36 of ")
    assert blank == ""
    assert [row.partition("│ ")[2] for row in rows] == [line.rstrip() for line in text.splitlines()]
    with_bytes = {number for number, row in enumerate(rows, 1) if "iB" in row.partition("│")[0] or " B " in row[:14]}
    assert with_bytes == {line.line for line in memory.lines} | {one.line for one in memory.functions}


def test_file_that_has_changed_says_so() -> None:
    _, *rows = annotated_source(_memory(SPLIT), "programs.py", "x = 1\n", 0.0)
    assert rows[0].startswith("  The file is newer than the dump of 19")
    assert rows[1] == "  2.29 MiB come from lines that the file does not have: it has changed since."


def test_dump_without_live_ranges_has_no_peak() -> None:
    path = next(DUMPS.glob("cpu-tf2.5.3/while/*-buffer-assignment.txt"))
    assert peak_by_line(joined(path)) is None


def test_default_memory_space_counts() -> None:
    assert _peak(TPU).space.color == 0


@needs_shared_dumps
@pytest.mark.parametrize("folder", ["tpu-v5e-oom-libtpu0.0.51/llama3_8b_scan_L32", "cpu-jaxlib0.10.2/mlp_train"])
def test_lines_of_big_programs_are_those_of_the_report(folder: str) -> None:
    path = next((SHARED_DUMPS / folder).glob("*-buffer-assignment.txt"))
    peak = _peak(path)
    for name in peak.files:
        memory = source_memory(peak, {name}, "")
        assert {line.line: line.size_bytes for line in memory.lines} == _lines_of_report(path, name)
    llama = "/home/user/programs/big_programs.py"
    if llama in peak.files:
        text = (SHARED_DUMPS / "programs" / "big_programs.py").read_text()
        memory = source_memory(peak, {llama}, text)
        # Attention scores are made by the einsum of line 23, inside the layer.
        scores = next(line for line in memory.lines if line.line == 23)
        assert scores.size_bytes >= 2 << 30
        assert [action.rule for action, _ in scores.savings] == ["attention-scores"]
        _, _, saving, _, first, *_ = line_hover(memory, scores).split("\n")
        assert saving.endswith(" of its buffers come from this line.")
        assert first.startswith("- ")
        layer = next(one for one in memory.functions if one.name == "llama_layer")
        assert layer.size_bytes >= scores.size_bytes
