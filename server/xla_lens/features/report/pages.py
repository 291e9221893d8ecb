"""The facts of pages: parts of a report that are shown on their own."""

from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from xla_lens.features.report import report
from xla_lens.features.report.facts import LiveSet, Report, ReportOptions, Slot
from xla_lens.features.report.parts import slots_of
from xla_lens.features.report.values import end_step, live_set
from xla_lens.model.analysis import Analysis
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.memory.allocation_history import biography
from xla_lens.model.memory.over_time import MemorySpace
from xla_lens.model.places.pages import BiographyPage, LiveSetPage, Page, ReportPage, SummaryPage
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.syntax.columns import NONE, Kind
from xla_lens.syntax.file_names import module_name

PAGE_LIMIT: Final = 1000
"""Rows of one list of a page, at most."""

SUMMARY_LIMIT: Final = 20
"""Rows of one list of the summary, at most: it has many lists."""


@dataclass(frozen=True, slots=True)
class SummaryFacts:
    """Where the memory goes, in lists of at most `limit` rows."""

    report: Report
    limit: int


@dataclass(frozen=True, slots=True)
class SpaceAtStep:
    """What is live in a memory space at a step, and its peak; `peak_step` is None if nothing is ever live."""

    color: int
    live: LiveSet
    peak_step: int | None
    peak_bytes: int
    reserved_bytes: int


@dataclass(frozen=True, slots=True)
class LiveSetFacts:
    """What is live at a step, in each memory space. The steps are 0 to `last_step`, None without a schedule; of a step
    that is none of them nothing is told.
    """

    module: str | None
    step: int
    instruction: str | None
    last_step: int | None
    printed_peak_step: int | None
    spaces: tuple[SpaceAtStep, ...]


@dataclass(frozen=True, slots=True)
class BiographyFacts:
    """Who holds which bytes of an allocation when: of its `count` values the biggest, in the order of their offsets and
    then in that of time. `idle_bytes` are never used at the same time as all others, None if that is not known.
    """

    module: str | None
    allocation: int
    kind: Kind
    color: int
    size_bytes: int
    peak_step: int | None
    peak_bytes: int
    never_used_bytes: int
    idle_bytes: int | None
    count: int
    slots: tuple[Slot, ...]


@dataclass(frozen=True, slots=True)
class UnknownAllocation:
    """The set has no allocation of this index."""

    allocation: int


@dataclass(frozen=True, slots=True)
class ReportFacts:
    """Where the memory goes, to be pasted elsewhere."""

    report: Report


PageFacts: TypeAlias = SummaryFacts | LiveSetFacts | BiographyFacts | UnknownAllocation | ReportFacts


def page_facts(
    analysis: Analysis,
    page: Page,
    limit: int = PAGE_LIMIT,
    summary_limit: int = SUMMARY_LIMIT,
    module: HloModule | None = None,
) -> PageFacts:
    """What a page tells, in lists of at most `limit` rows, the summary in such of `summary_limit`. Only the
    pages of reports have to do with the HLO module.
    """
    match page:
        case SummaryPage():
            return SummaryFacts(_report(analysis, module, summary_limit), summary_limit)
        case ReportPage():
            return ReportFacts(_report(analysis, module, summary_limit))
        case LiveSetPage(step):
            return _live_set_facts(analysis, step, limit)
        case BiographyPage(allocation):
            return _biography_facts(analysis, allocation, limit)


def _report(analysis: Analysis, module: HloModule | None, limit: int) -> Report:
    files = {file.kind: file.label for file in analysis.dump.files}
    if module:
        files[module.file.kind] = module.file.label
    return report(analysis, files, ReportOptions(top=limit), module)


def _live_set_facts(analysis: Analysis, step: int, limit: int) -> LiveSetFacts:
    dump = analysis.dump
    last_step = end_step(dump)
    is_there = last_step is not None and 0 <= step <= last_step
    return LiveSetFacts(
        module=_module(dump),
        step=step,
        instruction=dump.instruction_at(step),
        last_step=last_step,
        printed_peak_step=int(dump.peaks.step[0]) if len(dump.peaks) else None,
        spaces=tuple(_space(analysis, space, step, limit) for space in analysis.memory.spaces) if is_there else (),
    )


def _space(analysis: Analysis, space: MemorySpace, step: int, limit: int) -> SpaceAtStep:
    live = live_set(analysis.dump, space, step, limit)
    return SpaceAtStep(space.color, live, space.peak_step, space.peak_live_bytes, space.reserved_bytes)


def _biography_facts(analysis: Analysis, allocation: int, limit: int) -> BiographyFacts | UnknownAllocation:
    dump = analysis.dump
    row = dump.allocation_row(allocation)
    if row == NONE:
        return UnknownAllocation(allocation)
    life = biography(dump, analysis.memory, row)
    biggest = np.argsort(life.offset - life.end_offset, kind="stable")[:limit]
    return BiographyFacts(
        module=_module(dump),
        allocation=allocation,
        kind=Kind(max(0, int(dump.allocations.kind[row]))),
        color=int(dump.allocations.color[row]),
        size_bytes=life.size_bytes,
        peak_step=life.peak_step,
        peak_bytes=life.peak_bytes,
        never_used_bytes=life.never_used_bytes,
        idle_bytes=life.idle_bytes,
        count=len(life.value),
        slots=tuple(slots_of(dump, life, np.sort(biggest))),
    )


def _module(dump: DumpSet) -> str | None:
    return next((name for file in dump.files if (name := module_name(file.label))), None)
