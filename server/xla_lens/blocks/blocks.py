"""The blocks that reports are built from, before they become text, Markdown or a page.

A report is an outline of sections; a section has a title and below it sentences and tables. Whatever comes from a dump
is a `Name`, so that Markdown can quote it. Whatever has a place carries it, so that pages and terminals can link there.
Everything else is our own wording and contains no markup.
"""

from collections.abc import Iterable
from enum import Enum
from typing import Final, NamedTuple, TypeAlias

from msgspec import Struct

from xla_lens.model.hlo.stack_frames import StackFrame
from xla_lens.model.places.entities import Entity
from xla_lens.syntax.columns import Rows
from xla_lens.words.numbers import counted, shortened

WIDEST_SHAPE: Final = 80
"""Maximum characters of a shape. Tuples have long ones."""

LONGEST: Final = 4096
"""Maximum characters of any other name."""


class Role(Enum):
    """What a piece of a text is, which says how each format shows it."""

    WORDS = "words"
    NAME = "name"
    SHAPE = "shape"
    PATH = "path"
    SOURCE = "source"
    COMMAND = "command"
    """A command line to run, or code to paste."""
    BAR = "bar"


class Explanation(Struct, frozen=True):
    """The page that explains a finding or an action, by its code."""

    code: str


class EditorCommand(Struct, frozen=True):
    """A command of the editor, without ``xla-lens.`` before its name. It is about the dump of the page, at a `step` if
    that is given, or about the file with a path.
    """

    name: str
    step: int | None = None
    path: str | None = None


class FileLine(Struct, frozen=True):
    """A line of a file, counted from 1. Editors need an absolute path."""

    path: str
    line: int = 1


class InMap(Struct, frozen=True):
    """Values that the memory map shows, by their rows, and what it calls them."""

    values: Rows
    name: str


LinkTarget: TypeAlias = Entity | StackFrame | Explanation | EditorCommand | FileLine | InMap | Rows | str
"""Where a piece leads: to a place in the dump, a line of the program, an explanation, what a command of the editor
shows, a line of another file, values in the memory map, by their rows, or a place of the same page of HTML.
"""


class Name(Struct, frozen=True):
    """A name from the dump, or words of our own that are more than text."""

    text: str
    target: LinkTarget | None = None
    role: Role = Role.NAME

    @property
    def shown(self) -> str:
        """The text in one line."""
        return shortened(self.text, WIDEST_SHAPE if self.role is Role.SHAPE else LONGEST)


Inline: TypeAlias = str | Name
Inlines: TypeAlias = tuple[Inline, ...]
Text: TypeAlias = Inline | Inlines
Cells: TypeAlias = tuple[Text, ...]
"""The cells of a row of a table."""


def linked(text: str, target: LinkTarget | None) -> Name:
    """Return our own words about something, with its place if that is known."""
    return Name(text, target, Role.WORDS)


def command(text: str, target: LinkTarget | None = None) -> Name:
    """Return a command line to run, or code to paste. Markdown makes a block of one that stands alone."""
    return Name(text, target, Role.COMMAND)


_EIGHTHS: Final = " ▏▎▍▌▋▊▉"


def bar_text(part: int, whole: int, width: int) -> str:
    """Return a bar that shows a part of a whole in block characters, exact to an eighth of a character. The whole has
    `width` characters.
    """
    eighths = round(8 * width * min(part, whole) / whole) if whole > 0 else 0
    full, rest = divmod(max(eighths, int(part > 0)), 8)
    return "█" * full + (_EIGHTHS[rest] if rest else "")


def bar(part: int, whole: int, width: int = 12) -> Name:
    """Return `bar_text` as a piece."""
    return Name(bar_text(part, whole, width), role=Role.BAR)


class Header(Struct, frozen=True):
    """The header of a column. Columns of text are aligned to the left, columns of numbers to the right."""

    title: str
    is_text: bool = False


class Table(Struct, frozen=True):
    """A table. Formats for people may omit a header that says nothing new (`has_text_header`); Markdown needs one. In a
    tree, each level is two spaces in front of the text of a cell.
    """

    header: tuple[Header, ...]
    rows: tuple[Cells, ...]
    has_text_header: bool = True


def table(titles: str, rows: Iterable[Cells], *, has_text_header: bool = True) -> Table:
    """Return a table with the headers ``size | share | <value``; those of columns of text begin with ``<``. Columns
    without content are left out, unless there are no rows.
    """
    header = [Header(title.removeprefix("<"), title.startswith("<")) for title in titles.split(" | ")]
    cells = tuple(rows)
    kept = [number for number in range(len(header)) if not cells or any(row[number] != "" for row in cells)]
    return Table(
        tuple(header[number] for number in kept),
        tuple(tuple(row[number] for number in kept) for row in cells),
        has_text_header,
    )


class Section(Struct, frozen=True):
    """A title with sentences and tables below it. `level` is 1 for a subsection of the section above."""

    title: Text
    blocks: tuple[Text | Table, ...] = ()
    level: int = 0


Sections: TypeAlias = tuple[Section, ...]
"""Sections that belong together: text has no empty line between them."""


def section(title: Text, *blocks: Text | Table) -> Sections:
    """Return one section that stands alone."""
    return (Section(title, blocks),)


class Outline(Struct, frozen=True):
    """A whole report: its title, the answer in a few sentences, some labelled facts, and its sections."""

    title: Text
    facts: tuple[tuple[str, Text], ...] = ()
    parts: tuple[Sections, ...] = ()
    answer: tuple[Text, ...] = ()


def inlines(text: Text) -> Inlines:
    """Return the pieces of a text."""
    return text if isinstance(text, tuple) else (text,)


def joined(texts: Iterable[Text], separator: str) -> Inlines:
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
    pieces = (
        inline if isinstance(inline, str) else inline.text * (inline.role is not Role.BAR) for inline in inlines(text)
    )
    return "".join(pieces)


class Line(NamedTuple):
    """A line of a report as text or Markdown. `spans` are the first character, the one after the last, and where they
    lead.
    """

    text: str
    spans: tuple[tuple[int, int, LinkTarget], ...]


def line_of(pieces: Iterable[tuple[str, LinkTarget | None]]) -> Line:
    """Return the line that consists of some pieces, each with where it leads."""
    text, spans = "", list[tuple[int, int, LinkTarget]]()
    for piece, target in pieces:
        if target is not None and piece:
            spans.append((len(text), len(text) + len(piece), target))
        text += piece
    return Line(text.rstrip(), tuple(spans))
