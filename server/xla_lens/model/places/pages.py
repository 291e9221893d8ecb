"""Pages: generated documents about a dump set, and their names."""

import re
from dataclasses import dataclass
from typing import Final, TypeAlias


@dataclass(frozen=True, slots=True)
class SummaryPage:
    """The totals, peaks and allocations of the set."""


@dataclass(frozen=True, slots=True)
class LiveSetPage:
    """The live values at a step, in each memory space."""

    step: int


@dataclass(frozen=True, slots=True)
class HistoryPage:
    """The history of an allocation, by its index in the dump."""

    allocation: int


@dataclass(frozen=True, slots=True)
class ReportPage:
    """The report of the set as Markdown."""


@dataclass(frozen=True, slots=True)
class AdvicePage:
    """What would lower the peak."""


Page: TypeAlias = SummaryPage | LiveSetPage | HistoryPage | ReportPage | AdvicePage


def page_name(page: Page, module: str | None = None) -> str:
    """Return the file name of a page: ``jit_step-live-set-at-120.txt``. Editors show it as the title."""
    return f"{module}-{_plain_name(page)}" if module else _plain_name(page)


def _plain_name(page: Page) -> str:
    match page:
        case SummaryPage():
            return "summary.txt"
        case LiveSetPage(step):
            return f"live-set-at-{step}.txt"
        case HistoryPage(allocation):
            return f"history-of-allocation-{allocation}.txt"
        case ReportPage():
            return "report.md"
        case AdvicePage():
            return "advice.md"


def page_of_name(name: str) -> Page | None:
    """Return the page with a name that `page_name` returns, None for other names."""
    for page in (SummaryPage(), ReportPage(), AdvicePage()):
        if name == _plain_name(page) or name.endswith(f"-{_plain_name(page)}"):
            return page
    match = _NUMBERED.fullmatch(name)
    if match is None:
        return None
    number = int(match[2])
    return LiveSetPage(number) if match[1] == "live-set-at" else HistoryPage(number)


_NUMBERED: Final = re.compile(r"(?:.*-)?(live-set-at|history-of-allocation)-(0|[1-9][0-9]{0,17})\.txt")
