"""The facts of pages: documents about a dump set that an editor shows beside its files."""

from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from xla_lens.features.report.facts import Report, report
from xla_lens.features.report.options import DEFAULT_TOP, Part, ReportOptions
from xla_lens.model.analysis import Analysis
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.memory.allocation_history import AllocationHistory, allocation_history
from xla_lens.model.places.pages import AdvicePage, HistoryPage, LiveSetPage, Page, ReportPage, SummaryPage
from xla_lens.syntax.columns import NONE, Column

PAGE_LIMIT: Final = 1000
"""Maximum number of rows in a list of a page."""


@dataclass(frozen=True, slots=True, eq=False)
class SummaryFacts:
    """Where the memory goes, as text with links."""

    report: Report


@dataclass(frozen=True, slots=True, eq=False)
class ReportFacts:
    """Where the memory goes, as Markdown to paste elsewhere."""

    report: Report


@dataclass(frozen=True, slots=True, eq=False)
class AdviceFacts:
    """What would lower the peak: `Report.advice`."""

    report: Report


@dataclass(frozen=True, slots=True, eq=False)
class LiveSetFacts:
    """What is live at `step` in each memory space: `SpaceReport.at_step`, None if the dump has no such step."""

    report: Report
    step: int


@dataclass(frozen=True, slots=True, eq=False)
class HistoryFacts:
    """Which values occupy which bytes of an allocation over time. `rows` are the rows of the history to show."""

    analysis: Analysis
    history: AllocationHistory
    rows: Column


@dataclass(frozen=True, slots=True)
class UnknownAllocation:
    """The dump has no allocation with this index."""

    index: int


PageFacts: TypeAlias = SummaryFacts | ReportFacts | AdviceFacts | LiveSetFacts | HistoryFacts | UnknownAllocation


def page_facts(analysis: Analysis, page: Page, limit: int = PAGE_LIMIT, module: HloModule | None = None) -> PageFacts:
    """Return what a page shows.

    Lists have at most `limit` rows; those of the summary and the report, which have many lists, have at most
    `DEFAULT_TOP`. The history of an allocation does not use the HLO module.
    """
    match page:
        case SummaryPage():
            return SummaryFacts(_report(analysis, module, ReportOptions(top=DEFAULT_TOP, has_source_lines=True)))
        case ReportPage():
            return ReportFacts(_report(analysis, module, ReportOptions(top=DEFAULT_TOP)))
        case AdvicePage():
            options = ReportOptions(top=DEFAULT_TOP, parts=frozenset({Part.ADVICE}))
            return AdviceFacts(_report(analysis, module, options))
        case LiveSetPage(step):
            options = ReportOptions(limit, step, frozenset(), has_source_lines=True)
            return LiveSetFacts(_report(analysis, module, options), step)
        case HistoryPage(index):
            row = analysis.dump.allocation_row(index)
            if row == NONE:
                return UnknownAllocation(index)
            history = allocation_history(analysis.dump, analysis.memory, row)
            biggest = np.argsort(history.offset - history.end_offset, kind="stable")[:limit]
            return HistoryFacts(analysis, history, np.sort(biggest))


def _report(analysis: Analysis, module: HloModule | None, options: ReportOptions) -> Report:
    files = {file.kind: file.label for file in analysis.dump.files}
    if module:
        files[module.file.kind] = module.file.label
    return report(analysis, files, options, module)
