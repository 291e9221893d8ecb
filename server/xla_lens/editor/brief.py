"""Short answers as text, for the language models that editors run: few kilobytes, with whole paths and lines."""

from collections.abc import Iterable, Mapping
from typing import Final

from xla_lens.blocks.blocks import Line, Outline
from xla_lens.blocks.text import text_lines
from xla_lens.model.analysis import Analysis
from xla_lens.model.hlo.stack_frames import StackFrame
from xla_lens.report.facts import report
from xla_lens.report.options import DEFAULT_TOP, Part, ReportOptions
from xla_lens.report.outline import report_outline
from xla_lens.syntax.file_names import FileKind

LONGEST_BRIEF: Final = 4096
"""Bytes of an answer in UTF-8."""

_WIDTH: Final = 200


def brief(outlines: Iterable[Outline], more: str) -> str:
    """Return the first lines of some outlines, at most `LONGEST_BRIEF` bytes. `more` is the command that shows all of
    them, which an answer that is cut off names.
    """
    lines = [_with_path(line) for outline in outlines for line in (*text_lines(outline, _WIDTH), Line("", ()))]
    cut = f"... cut off; all of it: {more}\n"
    shown, size = list[str](), 0
    for line in lines:
        size += len(line.encode("utf-8", "replace")) + 1
        if size > LONGEST_BRIEF - len(cut.encode("utf-8", "replace")):
            return "\n".join((*shown, cut))
        shown.append(line)
    return "\n".join(shown).rstrip() + "\n"


def _with_path(line: Line) -> str:
    """A line with the whole paths of the files of the program, which the reader opens without links."""
    text = line.text
    for start, end, target in reversed(line.spans):
        if isinstance(target, StackFrame) and target.line and not text[start:end].startswith(target.file):
            text = f"{text[:start]}{target.file}:{target.line}{text[end:]}"
    return text.rstrip()


def part_outline(analysis: Analysis, files: Mapping[FileKind, str], part: Part) -> Outline:
    """Return the answer of a report with one of its parts."""
    return report_outline(report(analysis, files, ReportOptions(top=DEFAULT_TOP, parts=frozenset({part}))))
