"""Pages: what can be shown of a dump set beside its files, and under which names."""

import re
from dataclasses import dataclass
from typing import Final, TypeAlias


@dataclass(frozen=True, slots=True)
class SummaryPage:
    """Where the memory of the set goes."""


@dataclass(frozen=True, slots=True)
class LiveSetPage:
    """What is live at a step, in each memory space."""

    step: int


@dataclass(frozen=True, slots=True)
class HistoryPage:
    """Who holds which bytes of an allocation when. The allocation is told by its index in the dump."""

    allocation: int


@dataclass(frozen=True, slots=True)
class ReportPage:
    """The report of the set as Markdown, to be pasted elsewhere."""


Page: TypeAlias = SummaryPage | LiveSetPage | HistoryPage | ReportPage


def page_name(page: Page) -> str:
    """The name of a page as a file: ``live-set-at-120.txt``."""
    match page:
        case SummaryPage():
            return "summary.txt"
        case LiveSetPage(step):
            return f"live-set-at-{step}.txt"
        case HistoryPage(allocation):
            return f"history-of-allocation-{allocation}.txt"
        case ReportPage():
            return "report.md"


def page_of_name(name: str) -> Page | None:
    """The page of a name that `page_name` gives, None for any other."""
    for page in (SummaryPage(), ReportPage()):
        if name == page_name(page):
            return page
    match = _NUMBERED.fullmatch(name)
    if match is None:
        return None
    number = int(match[2])
    return LiveSetPage(number) if match[1] == "live-set-at" else HistoryPage(number)


_NUMBERED: Final = re.compile(r"(live-set-at|history-of-allocation)-(0|[1-9][0-9]{0,17})\.txt")
