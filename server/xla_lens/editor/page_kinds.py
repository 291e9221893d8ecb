"""Pages: generated documents about a dump set, and their names."""

import re
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from msgspec import Struct
from msgspec.structs import astuple

from xla_lens.syntax.file_names import FileKind


class SummaryPage(Struct, frozen=True):
    """The totals, peaks and allocations of the set."""


class AnswerPage(Struct, frozen=True):
    """Whether the program fits, what takes the memory, and what to do first."""


class LiveSetPage(Struct, frozen=True):
    """The live values at a step, in each memory space."""

    step: int


class HistoryPage(Struct, frozen=True):
    """The history of an allocation, by its index in the dump."""

    allocation: int


class ReportPage(Struct, frozen=True):
    """The report of the set as Markdown."""


class AdvicePage(Struct, frozen=True):
    """What would lower the peak."""


class ExcerptPage(Struct, frozen=True):
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


Page: TypeAlias = SummaryPage | AnswerPage | LiveSetPage | HistoryPage | ReportPage | AdvicePage | ExcerptPage


_Field: TypeAlias = type[int] | type[FileKind]

_NAMES: Final[Mapping[Callable[..., Page], tuple[str, tuple[_Field, ...]]]] = {
    SummaryPage: ("summary.txt", ()),
    AnswerPage: ("answer.md", ()),
    ReportPage: ("report.md", ()),
    AdvicePage: ("advice.md", ()),
    LiveSetPage: ("live-set-at-{}.txt", (int,)),
    HistoryPage: ("history-of-allocation-{}.txt", (int,)),
    ExcerptPage: ("excerpt-of-{}-{}.txt", (FileKind, int)),
}
"""The name of each page, and the types of its fields."""

_FIELDS: Final[Mapping[_Field, str]] = {int: "(0|[1-9][0-9]{0,17})", FileKind: f"({'|'.join(FileKind)})"}


def page_name(page: Page, module: str | None = None) -> str:
    """Return the file name of a page: ``jit_step-live-set-at-120.txt``. Editors show it as the title."""
    name = _NAMES[type(page)][0].format(*astuple(page))
    return f"{module}-{name}" if module else name


def page_of_name(name: str) -> Page | None:
    """Return the page with a name that `page_name` returns, None for other names."""
    for page, (own, types) in _NAMES.items():
        pattern = re.escape(own).replace(r"\{\}", "{}").format(*(_FIELDS[field] for field in types))
        if match := re.fullmatch(f"(?:.*-)?{pattern}", name):
            return page(*(read(text) for read, text in zip(types, match.groups(), strict=True)))
    return None
