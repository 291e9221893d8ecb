"""Pages: generated documents about a dump set, and their names."""

import re
from dataclasses import dataclass
from typing import Final, TypeAlias

from xla_lens.syntax.file_names import FileKind


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


@dataclass(frozen=True, slots=True)
class ExcerptPage:
    """Lines of a file that is too large for the editor, around those with the numbers of a `block`."""

    kind: FileKind
    block: int

    @property
    def first_row(self) -> int:
        """The first row of the file that the page shows."""
        return max(0, self.block * _EXCERPT_ROWS - _EXCERPT_MARGIN)

    @property
    def end_row(self) -> int:
        """The first row of the file below the page."""
        return (self.block + 1) * _EXCERPT_ROWS + _EXCERPT_MARGIN


_EXCERPT_ROWS: Final = 200
_EXCERPT_MARGIN: Final = 50

EXCERPT_HEAD: Final = 2
"""The number of rows above the excerpt of a page."""


def excerpt_at(kind: FileKind, row: int) -> ExcerptPage:
    """Return the page with the excerpt around a row of a file."""
    return ExcerptPage(kind, row // _EXCERPT_ROWS)


Page: TypeAlias = SummaryPage | LiveSetPage | HistoryPage | ReportPage | AdvicePage | ExcerptPage


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
        case ExcerptPage(kind, block):
            return f"excerpt-of-{kind}-{block}.txt"


def page_of_name(name: str) -> Page | None:
    """Return the page with a name that `page_name` returns, None for other names."""
    for page in (SummaryPage(), ReportPage(), AdvicePage()):
        if name == _plain_name(page) or name.endswith(f"-{_plain_name(page)}"):
            return page
    if excerpt := _EXCERPT.fullmatch(name):
        return ExcerptPage(FileKind(excerpt[1]), int(excerpt[2]))
    match = _NUMBERED.fullmatch(name)
    if match is None:
        return None
    number = int(match[2])
    return LiveSetPage(number) if match[1] == "live-set-at" else HistoryPage(number)


_EXCERPT: Final = re.compile(rf"(?:.*-)?excerpt-of-({'|'.join(FileKind)})-(0|[1-9][0-9]{{0,8}})\.txt")
_NUMBERED: Final = re.compile(r"(?:.*-)?(live-set-at|history-of-allocation)-(0|[1-9][0-9]{0,17})\.txt")
