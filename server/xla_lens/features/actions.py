"""Code actions: explain a finding, go to a related place, show a page. None of them edits the dump."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final, TypeAlias

from xla_lens.model.analysis import Analysis
from xla_lens.model.attribution.frames import Origins
from xla_lens.model.checks.codes import Code
from xla_lens.model.checks.findings import Finding, Related
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.hlo.stack_frames import StackFrame, is_file, user_frame
from xla_lens.model.memory.over_time import MemorySpace
from xla_lens.model.memory.printed_peak import DEFAULT_COLOR
from xla_lens.model.places.mentions import (
    Allocation,
    Instruction,
    Mention,
    Peak,
    Role,
    Step,
    Value,
    mention_at,
    step_of,
)
from xla_lens.model.places.pages import AdvicePage, HistoryPage, LiveSetPage, Page, ReportPage
from xla_lens.model.places.places import Place, schedule_place
from xla_lens.model.tables.backend import SpaceId
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.warrants import Bound
from xla_lens.syntax.columns import NONE

_MOST: Final = 2
"""Maximum number of actions of one kind, so that all fit into a menu."""

_MOST_CALLS: Final = 4


@dataclass(frozen=True, slots=True)
class Explain:
    """Show the explanation of a finding."""

    finding: Finding


@dataclass(frozen=True, slots=True)
class GoToRelated:
    """Go to a related location of a finding."""

    finding: Finding
    related: Related


@dataclass(frozen=True, slots=True)
class ShowPage:
    """Show a page beside the dump."""

    page: Page


@dataclass(frozen=True, slots=True)
class GoToPeak:
    """Go to the real peak of a memory space. `bound` says how `live_bytes` relates to the true peak."""

    space: SpaceId
    step: int
    live_bytes: int
    bound: Bound
    place: Place


@dataclass(frozen=True, slots=True)
class GoToSource:
    """Go to a call in the source code that created an instruction."""

    frame: StackFrame


Action: TypeAlias = Explain | GoToRelated | ShowPage | GoToPeak | GoToSource


def actions(analysis: Analysis, module: HloModule | None, file: DumpFile, start: int, end: int) -> list[Action]:
    """Return the actions for bytes `start` to `end` of a file, most helpful first; never more than fourteen.

    Since jaxlib 0.8.2 the source lines are in the HLO module.
    """
    here = [
        finding
        for finding in analysis.findings
        if finding.place.file is file and finding.place.start <= end and start <= finding.place.end
    ]
    first: dict[Code, Finding] = {}
    for finding in here:
        first.setdefault(finding.code, finding)
    mention = mention_at(analysis.dump, file, start)
    leading = list(_of_mention(analysis, mention)) if mention else []
    known = {_line(action.place) for action in leading if isinstance(action, GoToPeak)}
    explaining = [*islice(map(Explain, first.values()), _MOST), *islice(_related(here, known), _MOST)]
    sources = source_actions(_frames(analysis.dump, module, mention)) if mention else []
    return [*explaining, *leading, *sources, ShowPage(AdvicePage()), ShowPage(ReportPage())]


def _frames(dump: DumpSet, module: HloModule | None, mention: Mention) -> Sequence[StackFrame]:
    """The calls that made what is at a place: the content of a value, or an instruction."""
    origins = Origins(dump, module)
    if isinstance(mention.target, Value):
        return origins.of_value(mention.target.row).frames
    return origins.of_name(_name(dump, mention)).frames


def source_actions(frames: Sequence[StackFrame]) -> list[GoToSource]:
    """Return actions that go to the calls that created an instruction: the innermost user frame first, then some of
    the others, in their order.
    """
    own = user_frame(frames)
    calls: dict[tuple[str, int | None, str | None], StackFrame] = {}
    for frame in (own, *frames):
        if frame and is_file(frame.file):
            calls.setdefault((frame.file, frame.line, frame.function), frame)
    return [GoToSource(frame) for frame in islice(calls.values(), 1 + _MOST_CALLS)]


def _name(dump: DumpSet, mention: Mention) -> int:
    """The number of the name of the mentioned instruction, NONE if the mention is of something else."""
    match mention.target:
        case Value(row):
            return mention.name if mention.name != NONE else int(dump.values.name[row])
        case Instruction(name):
            return name
        case Step(step) if mention.role is Role.SCHEDULE:
            row = dump.schedule_row(step)
            return int(dump.schedule.name[row]) if row != NONE else NONE
    return NONE


def _related(findings: list[Finding], known: set[tuple[str, int]]) -> Iterator[Action]:
    """The related locations of findings, except for lines with a finding and `known` lines."""
    seen = known | {_line(finding.place) for finding in findings}
    for finding in findings:
        for related in finding.related:
            if _line(related.place) not in seen:
                seen.add(_line(related.place))
                yield GoToRelated(finding, related)


def _line(place: Place) -> tuple[str, int]:
    return place.file.label, place.file.document.row(place.start)


def _of_mention(analysis: Analysis, mention: Mention) -> Iterator[Action]:
    dump = analysis.dump
    step = step_of(dump, mention)
    if step is not None:
        yield ShowPage(LiveSetPage(step))
    yield from islice(_peaks(analysis, mention, step), _MOST)
    match mention.target:
        case Value(row) if dump.values.allocation[row] != NONE:
            yield from _allocation_history(analysis, int(dump.values.allocation[row]))
        case Allocation(row):
            yield from _allocation_history(analysis, row)


def _peaks(analysis: Analysis, mention: Mention, step: int | None) -> Iterator[Action]:
    """The real peaks to go to: on a step, that of memory space 0; on the printed peak, those at other steps; on a
    value, the one that it is part of.
    """
    values, memory = analysis.dump.values, analysis.memory
    if isinstance(mention.target, Peak) and step is not None:
        for space in memory.spaces:
            if space.live.at(step) < space.peak_live_bytes:
                yield from _peak(analysis, space)
    elif step is not None:
        default = memory.space(DEFAULT_COLOR)
        if default and default.peak_step != step:
            yield from _peak(analysis, default)
    elif isinstance(mention.target, Value):
        row = mention.target.row
        own = memory.space(int(values.color[row]))
        is_timed = own is not None and own.peak_step is not None and values.start_step[row] != NONE
        if own and is_timed and values.start_step[row] <= own.peak_step <= values.end_step[row]:
            yield from _peak(analysis, own)


def _peak(analysis: Analysis, space: MemorySpace) -> Iterator[Action]:
    if space.peak_step is not None and space.live_bound is not Bound.UNKNOWN:
        place = schedule_place(analysis.dump, analysis.dump.schedule_row(space.peak_step))
        if place:
            yield GoToPeak(space.id, space.peak_step, space.peak_live_bytes, space.live_bound, place)


def _allocation_history(analysis: Analysis, allocation: int) -> Iterator[Action]:
    index = int(analysis.dump.allocations.index[allocation])
    if index != NONE:
        yield ShowPage(HistoryPage(index))
