"""The first page about a dump: whether the program fits, which lines take the memory, and what to do first. Other pages
have the details.
"""

from collections.abc import Callable, Iterator
from typing import Final

from xla_lens.advice.actions import Cost
from xla_lens.advice.sections import advice_sections
from xla_lens.blocks.blocks import Explanation, Inline, Name, Outline, Role, Section, Text, bar, joined, linked, table
from xla_lens.model.analysis import Analysis
from xla_lens.model.attribution.breakdowns import LineBytes
from xla_lens.model.hlo.stack_frames import StackFrame
from xla_lens.report.answer import answer
from xla_lens.report.facts import LineReport, Report, SpaceReport, report
from xla_lens.report.options import Part, ReportOptions
from xla_lens.report.sections import without_source
from xla_lens.syntax.columns import Rows
from xla_lens.syntax.file_names import FileKind
from xla_lens.words.capacity import device_text
from xla_lens.words.numbers import human, percent, shortened
from xla_lens.words.sources import PARAMETERS, short_frame
from xla_lens.words.warrants import gap_lines, peak_size

CodeOf = Callable[[StackFrame], str]
"""Return the code of a line of the program, empty if it is unknown or may have changed since."""

_MOST_LINES: Final = 5
_MOST_ACTIONS: Final = 3
_MOST_IN_MAP: Final = 1000
_LONGEST_CODE: Final = 60

_COSTS: Final = {
    Cost.NOTHING: "nothing",
    Cost.CODE: "a change of the code",
    Cost.COMPUTE: "time to compute it again",
    Cost.NUMBERS: "slightly other results",
}


def answer_outline(analysis: Analysis, files: dict[FileKind, str], code_of: CodeOf, *, has_map: bool) -> Outline:
    """Return the page. With `has_map`, actions lead to their buffers in a memory map."""
    options = ReportOptions(top=_MOST_LINES, parts=frozenset({Part.LINE, Part.ADVICE}), has_map=has_map)
    made = report(analysis, files, options)
    first, *others = answer(made) or ("",)
    sentences = (first, joined(others, " ")) if others else (first,)
    parts = [*_where(made, code_of), *_actions(made, has_map=has_map)]
    facts = tuple(_facts(made))
    name = made.module or next(iter(files.values())).rpartition("/")[2]
    return Outline(Name(name), facts, tuple((part,) for part in parts), tuple(filter(None, sentences)))


def _facts(made: Report) -> Iterator[tuple[str, Text]]:
    if made.capacity and made.hbm:
        yield "device", device_text(made.dump, made.hbm.space, made.capacity)
    for line in gap_lines(made.warrants.gaps):
        yield "incomplete", line


def _where(made: Report, code_of: CodeOf) -> Iterator[Section]:
    """The lines of the program with the most bytes at the peak."""
    if made.hbm is None or made.hbm.lines is None:
        return
    space_report, lines = made.hbm, made.hbm.lines
    rows = [_row(made, space_report, lines, line, code_of) for line in lines.lines]
    title = f"Where it goes: the {space_report.name} peak, {peak_size(space_report.space)}"
    more = (f"{lines.count - len(rows):,} more in the report: {human(lines.rest_bytes)}.",) * (lines.count > len(rows))
    yield Section(title, (table("< | size | share | <line | <code", rows, has_text_header=False), *more))


def _row(
    made: Report, space_report: SpaceReport, lines: LineReport, line: LineBytes, code_of: CodeOf
) -> tuple[Text, ...]:
    whole, code = space_report.space.peak_live_bytes, ""
    name: Text = without_source(lines, made.sourced.bound)
    if line.frame:
        where = Name(short_frame(line.frame), line.frame, Role.SOURCE)
        name = (where, " in ", Name(line.frame.function)) if line.frame.function else where
        code = shortened(code_of(line.frame), _LONGEST_CODE)
    elif line.argument is not None:
        name = (f"{PARAMETERS} ", Name(line.argument, role=Role.PATH))
    share = percent(line.size_bytes, whole) if made.sourced.is_exact else ""
    return bar(line.size_bytes, whole), human(line.size_bytes), share, name, Name(code) if code else ""


def _actions(made: Report, *, has_map: bool) -> Iterator[Section]:
    """What closes the gap to the device, and the first actions. The page of the advice has all of them, with code."""
    advice = made.advice
    if advice is None:
        return
    head, *_ = advice_sections(made.dump, advice, 0, has_map=has_map)
    rows = []
    for number, action in enumerate(advice.actions[:_MOST_ACTIONS], 1):
        values: Rows = tuple(value for group in action.groups for value in group.values)[:_MOST_IN_MAP]
        in_map: Inline = linked("buffers", values) if values and has_map else ""
        saving = f"{human(action.saved_needed_bytes)} ({action.certainty})"
        why = linked(action.rule, Explanation(action.rule))
        rows.append((f"{number}.", saving, action.what, _COSTS[action.cost], why, in_map))
    blocks = [table("# | saves | <what to do | <cost | <when it helps | <in the map", rows)] if rows else []
    # The actions are in view without scrolling.
    yield Section(head.title, (*head.blocks[:1], *blocks, *head.blocks[1:]))
