"""The first page about a dump: whether the program fits, which lines take the memory, and what to do first. Everything
in it leads to its details.
"""

from collections.abc import Callable, Iterator
from typing import Final

from xla_lens.advice.actions import Action, Advice, Cost
from xla_lens.advice.sections import arguments_exceed, current_need, in_map, numbered, plan, suggested, tried_sentences
from xla_lens.blocks.blocks import (
    EditorCommand,
    Explanation,
    FileLine,
    Inline,
    Name,
    Outline,
    Role,
    Section,
    Table,
    Text,
    bar,
    inlines,
    joined,
    linked,
    table,
)
from xla_lens.blocks.entities import step_link, value_link
from xla_lens.model.analysis import Analysis
from xla_lens.model.attribution.breakdowns import LineBytes
from xla_lens.model.attribution.parameters import parameter_path
from xla_lens.model.capacity import CapacitySource
from xla_lens.model.hlo.stack_frames import StackFrame
from xla_lens.report.answer import answer, printed_short
from xla_lens.report.facts import LineReport, Report, SpaceReport, report
from xla_lens.report.options import Part, ReportOptions
from xla_lens.report.sections import without_source
from xla_lens.syntax.columns import NONE, Rows, cells
from xla_lens.syntax.file_names import FileKind
from xla_lens.text.paths import PATH_SEPARATOR
from xla_lens.words.capacity import device_text
from xla_lens.words.numbers import capitalized, counted, human, is_visible, percent, shortened
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
    Cost.CODE: "other code",
    Cost.TIME: "less at once",
    Cost.COMMUNICATION: "communication",
    Cost.COMPUTE: "recomputation",
    Cost.NUMBERS: "rounding",
}


def answer_outline(analysis: Analysis, files: dict[FileKind, str], code_of: CodeOf, *, has_map: bool) -> Outline:
    """Return the page. With `has_map`, it leads to the memory map and to other pages, by commands of the editor."""
    parts = frozenset({Part.LINE, Part.LIVE, Part.ADVICE})
    made = report(analysis, files, ReportOptions(top=_MOST_LINES, parts=parts, has_map=has_map))
    first, *others = answer(made, is_brief=True) or ("",)
    sentences = (first, joined(others, " ")) if others else (first,)
    sections = [*_where(made, code_of), *_actions(made), *_live(made), *_details(made)]
    name = made.module or next(iter(files.values())).rpartition("/")[2]
    return Outline(
        Name(name), tuple(_facts(made)), tuple((section,) for section in sections), tuple(filter(None, sentences))
    )


def _facts(made: Report) -> Iterator[tuple[str, Text]]:
    if made.capacity and made.hbm:
        yield "device", device_text(made.dump, made.hbm.space, made.capacity)
    for line in gap_lines(made.warrants.gaps):
        yield "incomplete", line


def _run(made: Report, text: str, name: str, step: int | None = None, path: str | None = None) -> Inline:
    """Words that run a command of the editor, if that can."""
    return linked(text, EditorCommand(name, step, path) if made.options.has_map else None)


def _in_map(made: Report, text: str, values: Rows) -> Inline:
    """Words that show some values in the memory map, if there is one."""
    return linked(text, tuple(values)[:_MOST_IN_MAP] if values and made.options.has_map else None)


# ---------------------------------------------------------------- where it goes


def _where(made: Report, code_of: CodeOf) -> Iterator[Section]:
    """The lines of the program with the most bytes at the peak."""
    if made.hbm is None or made.hbm.lines is None:
        return
    space_report, lines = made.hbm, made.hbm.lines
    whole = space_report.space.peak_live_bytes
    shown = [line for line in lines.lines if is_visible(line.size_bytes, whole)]
    rows = [_row(made, space_report, lines, line, code_of) for line in shown]
    rest_bytes = lines.rest_bytes + sum(line.size_bytes for line in lines.lines if line not in shown)
    title = f"Where it goes: the {space_report.name} peak, {peak_size(space_report.space)}"
    blocks: list[Text | Table] = [table("< | size | share | <line | <code", rows, has_text_header=False)]
    if (count := lines.count - len(rows)) > 0:
        blocks.append((f"{count:,} more in ", _run(made, "the report", "openReport"), f": {human(rest_bytes)}."))
    yield Section(title, tuple(blocks))


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
    size = _in_map(made, human(line.size_bytes), line.values)
    share = percent(line.size_bytes, whole) if made.sourced.is_exact else ""
    return bar(line.size_bytes, whole), size, share, name, Name(code) if code else ""


# ---------------------------------------------------------------- what to do


def _actions(made: Report) -> Iterator[Section]:
    """The first actions, and what closes the gap to the device. The page of the advice has all of them, with code."""
    advice = made.advice
    if advice is None:
        return
    rows = [_action(made, number, action) for number, action in enumerate(advice.actions[:_MOST_ACTIONS], 1)]
    blocks: list[Text | Table] = [table("# | saves | <what to do | <cost | <", rows)] if rows else []
    blocks += _plan(advice)
    every = _run(made, "the advice", "openAdvice")
    for suggestion in advice.suggestions[:1]:
        blocks.append((*suggested(advice, suggestion), ", with the code in ", every, "."))
    count = len(advice.actions) - len(rows)
    more = f"{counted(count, 'more action')} in " if count else "The arguments and the numbers of each action are in "
    if rows:
        blocks.append((more, every, "."))
    yield Section("What to do", tuple(blocks))


def _action(made: Report, number: int, action: Action) -> tuple[Text, ...]:
    values: Rows = tuple(value for group in action.groups for value in group.values)
    links: list[Inline] = [_run(made, "code", "openAdvice")] if action.snippet else []
    links.append(linked("why", Explanation(action.rule)))
    if values and made.options.has_map:
        links.append(linked("buffers", in_map(action, values[:_MOST_IN_MAP])))
    saved_bytes = action.saved_needed_bytes
    saved = human(saved_bytes) if saved_bytes > 0 else f"costs {human(-saved_bytes)}" if saved_bytes else "nothing"
    saving = f"{saved} ({action.certainty})"
    return f"{number}.", saving, action.what, _COSTS[action.cost], joined(links, " · ")


def _plan(advice: Advice) -> Iterator[Text | Table]:
    if not advice.actions:
        yield current_need(advice)
    elif advice.budget is None and len(advice.together) > 1:
        yield f"{capitalized(numbered(advice.together))} together save {human(advice.all_saved_needed_bytes)}."
    if advice.tried:
        yield from tried_sentences(advice, advice.tried)
    if advice.budget is None:
        return
    if advice.budget.do_arguments_exceed:
        yield arguments_exceed(advice.budget)
    yield from plan(advice, advice.budget)


# ---------------------------------------------------------------- details


def _live(made: Report) -> Iterator[Section]:
    """The biggest values at the peak."""
    live = made.hbm.peak if made.hbm and made.live.is_exact else None
    if live is None:
        return
    values, dump = live.values[:_MOST_LINES], made.dump
    rows = [
        (
            _in_map(made, human(size_bytes), (value,)),
            value_link(dump, value),
            _source(made, value),
        )
        for value, size_bytes in cells(values, dump.values.size_bytes[values])
    ]
    every = _run(made, f"all {counted(len(live.values), 'value')}", "showLiveSet", live.step)
    title = ("Live at the peak, ", *inlines(step_link(live.step, f"step {live.step}")), ": the biggest of ", every)
    yield Section(title, (table("size | <value | <line", rows, has_text_header=False),))


def _source(made: Report, value: int) -> Text:
    """The line of the program that makes a value, or the path of a parameter."""
    if line := made.origins.of_value(value).line:
        return Name(short_frame(line), line, Role.SOURCE)
    allocation = made.dump.values.allocation.item(value)
    path = parameter_path(made.dump, allocation) if allocation != NONE else None
    return Name(path, role=Role.PATH) if path else ""


def _details(made: Report) -> Iterator[Section]:
    """What explains other numbers: XLA's own peak, and the message of a program that ran out of memory."""
    blocks: list[Text] = [*printed_short(made, made.hbm)] if made.hbm else []
    capacity = made.capacity
    # The page about a log has only the name of it.
    path = capacity.file if capacity and capacity.source is CapacitySource.OOM_MESSAGE else None
    if path and PATH_SEPARATOR.search(path):
        log = Name(PATH_SEPARATOR.split(path)[-1], FileLine(path))
        message = _run(made, "its message explained", "explainOutOfMemory", path=path)
        blocks.append((log, " says that the program ran out of memory: ", message, "."))
    if blocks:
        yield Section("Details", tuple(blocks))
