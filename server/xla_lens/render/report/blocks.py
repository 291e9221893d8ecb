"""The blocks that reports are built from, before they become text, Markdown or a page.

A report is an outline of sections; a section has a title and below it sentences and tables. Whatever comes from a dump
is a `Name`, so that Markdown can quote it. Whatever has a place in the dump carries its entity, so that a page can
link there. Everything else is our own wording and contains no markup.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeAlias

from xla_lens.model.advice.codes import Rule
from xla_lens.model.hlo.stack_frames import StackFrame
from xla_lens.model.places.entities import Entity
from xla_lens.render.numbers import counted

WIDEST_NAME: Final = 40
WIDEST_SHAPE: Final = 44
LONGEST_NAME: Final = 1000
"""Maximum characters of a name that may run to the end of its line."""


class Role(Enum):
    """What a name names, which says how a terminal shows and shortens it."""

    NAME = "name"
    SHAPE = "shape"
    PATH = "path"
    SOURCE = "source"


@dataclass(frozen=True, slots=True)
class Name:
    """A name from the dump, truncated to `widest` characters; None for a path, which is never truncated. `frame` is the
    place in the source that it names.
    """

    text: str
    entity: Entity | None = None
    widest: int | None = WIDEST_NAME
    role: Role = Role.NAME
    frame: StackFrame | None = None


@dataclass(frozen=True, slots=True)
class Linked:
    """Our own words about something that has a place in the dump."""

    text: str
    entity: Entity


@dataclass(frozen=True, slots=True)
class Command:
    """A command line for the reader to run, or code to paste. Markdown makes a block of one that stands alone."""

    text: str


@dataclass(frozen=True, slots=True)
class Jump:
    """Words that lead from a page to the explanation of a rule or to values, by their rows, in the memory map. Other
    texts have the command line `elsewhere` instead, or nothing.
    """

    text: str
    target: Rule | tuple[int, ...]
    elsewhere: str = ""


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar that shows a part of a whole, `width` characters for the whole."""

    part: int
    whole: int
    width: int = 20


Inline: TypeAlias = str | Name | Linked | Command | Jump | Bar
Text: TypeAlias = Inline | tuple[Inline, ...]


@dataclass(frozen=True, slots=True)
class Header:
    """The header of a column. Columns of text are aligned to the left, columns of numbers to the right."""

    title: str
    is_text: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """A table.

    Formats for people may omit a header that says nothing new (`has_text_header`); Markdown needs one. In a tree, each
    level is two spaces in front of the text of a cell. `indent` is the number of spaces in front of each row of text.
    """

    header: tuple[Header, ...]
    rows: tuple[tuple[Text, ...], ...]
    has_text_header: bool = True
    indent: int = 2


def table(titles: str, rows: Iterable[tuple[Text, ...]], *, has_text_header: bool = True, indent: int = 2) -> Table:
    """Return a table with the headers ``size | share | <value``; those of columns of text begin with ``<``."""
    header = tuple(Header(title.removeprefix("<"), title.startswith("<")) for title in titles.split(" | "))
    return Table(header, tuple(rows), has_text_header, indent)


@dataclass(frozen=True, slots=True)
class Section:
    """A title with sentences and tables below it.

    If the first block is a table with a header whose first column has no title, text puts the section's title there.
    `level` is 1 for a subsection of the section above. Markdown folds a section that `is_minor`.
    """

    title: Text
    blocks: tuple[Text | Table, ...] = ()
    level: int = 0
    is_minor: bool = False


Sections: TypeAlias = tuple[Section, ...]
"""Sections that belong together: text has no empty line between them."""


@dataclass(frozen=True, slots=True)
class Outline:
    """A whole report: its title, the answer in a few sentences, some labelled facts, and its sections."""

    title: Text
    facts: tuple[tuple[str, Text], ...]
    parts: tuple[Sections, ...]
    answer: tuple[Text, ...] = ()


_EIGHTHS: Final = " ▏▎▍▌▋▊▉"


def bar_text(bar: Bar) -> str:
    """Return a bar in block characters, exact to an eighth of a character."""
    eighths = round(8 * bar.width * min(bar.part, bar.whole) / bar.whole) if bar.whole > 0 else 0
    full, rest = divmod(max(eighths, int(bar.part > 0)), 8)
    return "█" * full + (_EIGHTHS[rest] if rest else "")


def inlines(text: Text) -> tuple[Inline, ...]:
    """Return the pieces of a text."""
    return text if isinstance(text, tuple) else (text,)


def joined(texts: Iterable[Text], separator: str) -> tuple[Inline, ...]:
    """Join texts with a separator."""
    found: list[Inline] = []
    for text in texts:
        found += [separator, *inlines(text)] if found else inlines(text)
    return tuple(found)


def more(count: int, noun: str) -> tuple[str, ...]:
    """Return a line that says how many things a list leaves out, nothing if that is none."""
    return (f"... and {counted(count, noun)}",) if count else ()


def plain_text(text: Text) -> str:
    """Return a text without its links, roles and bars."""
    pieces = (inline for inline in inlines(text) if not isinstance(inline, Bar | Jump))
    return "".join(piece if isinstance(piece, str) else piece.text for piece in pieces)
