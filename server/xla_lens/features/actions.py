"""Code actions: explain a finding, go to a place, show a page. None of them edits the dump."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple

from xla_lens.model.analysis import Analysis
from xla_lens.model.attribution.frames import Origins
from xla_lens.model.checks.codes import Code
from xla_lens.model.checks.problems import Finding
from xla_lens.model.hlo.mentions import HloInstruction, hlo_mention_at
from xla_lens.model.hlo.stack_frames import StackFrame, is_file, user_frame
from xla_lens.model.memory.printed_peak import DEFAULT_COLOR
from xla_lens.model.places.mentions import Allocation, Instruction, Mention, Role, Value, mention_at, step_of
from xla_lens.model.places.pages import AdvicePage, HistoryPage, LiveSetPage, Page, ReportPage
from xla_lens.model.places.places import Place, schedule_place
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.warrants import Bound
from xla_lens.render.sources import brief_frame, call_text, without_folder
from xla_lens.render.warrants import real_peak
from xla_lens.syntax.columns import NONE
from xla_lens.text.document import Span

_MOST: Final = 2
"""Maximum number of actions of one kind, so that all fit into a menu."""

_MOST_CALLS: Final = 4
_MAX_NAME: Final = 80


class Action(NamedTuple):
    """An action: it explains a kind of finding, goes to a place or to a line of the program, or shows a page. `finding`
    is the finding that it helps with.
    """

    title: str
    target: Code | Place | StackFrame | Page
    finding: Finding | None = None


_PAGES: Final = (
    Action("Show what would lower the peak", AdvicePage()),
    Action("Show the report as Markdown", ReportPage()),
)


def actions(analysis: Analysis, file: DumpFile, span: Span) -> list[Action]:
    """Return the actions for some bytes of a file, most helpful first; never more than twelve. In an HLO module, they
    go to the source lines of an instruction. Since jaxlib 0.8.2 the source lines of a dump are in its module.
    """
    start, end = span
    if module := analysis.module_in(file):
        named = hlo_mention_at(module, start)
        is_instruction = named is not None and isinstance(named.target, HloInstruction)
        return source_actions(module.frames(module.metadata(named.target.row))) if named and is_instruction else []
    here = [
        finding
        for finding in analysis.findings
        if finding.place.file is file and finding.place.start <= end and start <= finding.place.end
    ]
    first: dict[Code, Finding] = {}
    for finding in here:
        first.setdefault(finding.code, finding)
    mention = mention_at(analysis.dump, file, start)
    leading = _of_mention(analysis, mention) if mention else ()
    explained = (Action(f"Explain {finding.code}", finding.code, finding) for finding in first.values())
    is_made = mention and (isinstance(mention.target, Value | Instruction) or mention.role is Role.SCHEDULE)
    origin = Origins(analysis.dump, analysis.module).of_target(mention.target) if mention and is_made else None
    return [*islice(explained, _MOST), *leading, *source_actions(origin.frames if origin else ()), *_PAGES]


def source_actions(frames: Sequence[StackFrame]) -> list[Action]:
    """Return actions that go to the calls that created an instruction: the innermost user frame, then some others."""
    own = user_frame(frames)
    calls: dict[tuple[str, int | None, str | None], StackFrame] = {}
    for frame in (own, *frames):
        if frame and is_file(frame.file):
            calls.setdefault((frame.file, frame.line, frame.function), frame)
    return [
        Action(f"Go to Python source: {call_text(brief_frame(without_folder(frame), _MAX_NAME))}", frame)
        for frame in islice(calls.values(), 1 + _MOST_CALLS)
    ]


def _of_mention(analysis: Analysis, mention: Mention) -> Iterator[Action]:
    dump = analysis.dump
    step = step_of(dump, mention)
    if step is not None:
        yield Action(f"Show values live at step {step}", LiveSetPage(step))
    yield from _peak(analysis, mention, step)
    match mention.target:
        case Value(row) if dump.values.allocation[row] != NONE:
            yield from _allocation_history(analysis, dump.values.allocation.item(row))
        case Allocation(row):
            yield from _allocation_history(analysis, row)


def _peak(analysis: Analysis, mention: Mention, step: int | None) -> Iterator[Action]:
    """The real peak to go to from a step or a value: that of the memory space of the value, else of memory space 0."""
    target, color = mention.target, DEFAULT_COLOR
    if step is None and isinstance(target, Value):
        color = analysis.dump.values.color.item(target.row)
    space = analysis.memory.space(color) if step is not None or isinstance(target, Value) else None
    if space and space.peak_step not in (None, step) and space.live_bound is not Bound.UNKNOWN:
        place = schedule_place(analysis.dump, analysis.dump.schedule_row(space.peak_step or 0))
        if place:
            yield Action(f"Go to the {real_peak(space)}", place)


def _allocation_history(analysis: Analysis, allocation: int) -> Iterator[Action]:
    index = analysis.dump.allocations.index.item(allocation)
    if index != NONE:
        yield Action(f"Show the history of allocation {index}", HistoryPage(index))
