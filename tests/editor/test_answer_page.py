"""The first page about a dump."""

import re

from samples import DUMPS, SPLIT, TPU, joined
from xla_lens.blocks.blocks import EditorCommand, Explanation, InMap, LinkTarget
from xla_lens.editor.page_kinds import AnswerPage, ReportPage
from xla_lens.editor.page_text import page_text
from xla_lens.editor.pages import PageText
from xla_lens.model.analysis import Analysis
from xla_lens.model.hlo.stack_frames import StackFrame


def _text(analysis: Analysis) -> str:
    def code_of(frame: StackFrame) -> str:
        return f"y = layer_{frame.line}(x)" if frame.line == 50 else ""

    return page_text(analysis, AnswerPage(), has_map=True, code_of=code_of).text


def test_lines_have_their_code() -> None:
    text = _text(joined(SPLIT))
    assert "It needs 4.21 MiB of host memory." in text
    (row,) = re.findall(r"^.*`programs.py:50` in .*$", text, re.MULTILINE)
    assert "| 1.53 MiB | 36.4 % |" in row
    assert row.endswith("| `y = layer_50(x)` |")
    # What is in no row is named with its size: nothing is lost.
    assert "3 more in the report: 5.0 KiB." in text


def _targets(page: PageText, target: type) -> dict[str, LinkTarget]:
    """The targets of a kind by the text of the link."""
    data = page.text.encode()
    return {data[link.start : link.end].decode(): link.target for link in page.links if isinstance(link.target, target)}


def test_a_program_that_does_not_fit_says_by_how_much_and_what_to_do() -> None:
    page = page_text(joined(TPU).on_device(10 << 20), AnswerPage(), has_map=True)
    lines = [line for line in page.text.splitlines() if line]
    assert (
        lines[1] == "It needs 12.05 MiB of 10.00 MiB of HBM (120.5 %) and does not fit the device: 2.05 MiB too much."
    )
    # The first action is above the fold.
    first = next(number for number, line in enumerate(lines) if line.startswith("| 1. |"))
    assert first < 20
    # Each action leads to its explanation and to its buffers in the map, each size to its values.
    assert "why" in _targets(page, Explanation)
    assert "buffers" in _targets(page, InMap)
    assert "4.00 MiB" in _targets(page, tuple)
    # Everything else is one click away.
    commands = _targets(page, EditorCommand)
    assert commands["code"] == EditorCommand("openAdvice")
    assert commands["all 3 values"] == EditorCommand("showLiveSet", 8)


def test_a_program_that_nothing_helps_has_what_is_left_to_do() -> None:
    (dump,) = DUMPS.glob("tpu-v5p-jaxlib0.4.38-libtpu0.0.7.1/pallas_kernels/*jit_multi.*-buffer-assignment.txt")
    text = _text(joined(dump).on_device(96 << 10))
    assert "None of the rules finds anything that lowers it." in text
    assert (
        "The program needs 96.0 KiB more than 96.0 KiB: 64.0 KiB are arguments, 128.0 KiB outputs and temporaries. "
        "To fit, compute less at once (a smaller batch, in parts), use smaller types, or return less."
    ) in text


def test_an_editor_without_commands_gets_no_links_to_them() -> None:
    page = page_text(joined(TPU), AnswerPage())
    assert not _targets(page, EditorCommand)
    assert not _targets(page, tuple)


def test_pages_that_are_rendered_show_files_without_their_folders() -> None:
    page = page_text(joined(TPU), ReportPage())
    frames = _targets(page, StackFrame)
    assert frames
    for text, frame in frames.items():
        assert isinstance(frame, StackFrame)
        assert "/" in frame.file
        assert "/" not in text
