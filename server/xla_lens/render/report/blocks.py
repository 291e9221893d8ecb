"""What a report says before it is text or Markdown: sections of lines and tables.

What comes from the dump is a `Name`, so that Markdown can quote it. What the dump has a place for carries its subject,
so that a page can lead there. All else is written here, and plain.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, TypeAlias

from xla_lens.model.places.subjects import Subject

WIDEST_NAME: Final = 40
WIDEST_SHAPE: Final = 44
LONGEST_NAME: Final = 1000
"""Of a name that may go on to the end of the line."""


@dataclass(frozen=True, slots=True)
class Name:
    """What the dump calls something, in `widest` characters at most; or a path, of which nothing is left out: None."""

    text: str
    subject: Subject | None = None
    widest: int | None = WIDEST_NAME


@dataclass(frozen=True, slots=True)
class Linked:
    """Words about something that the dump has a place for."""

    text: str
    subject: Subject


@dataclass(frozen=True, slots=True)
class Command:
    """What to type into a terminal."""

    text: str


Word: TypeAlias = str | Name | Linked | Command
Words: TypeAlias = Word | tuple[Word, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """Columns, aligned to the right but for those whose numbers are in `left`. A header that text can do without is
    there for formats that need one. In a tree, two blanks before what a cell says stand for each level.
    """

    header: tuple[str, ...]
    rows: tuple[tuple[Words, ...], ...]
    left: tuple[int, ...]
    has_plain_header: bool = True
    indent: int = 2


@dataclass(frozen=True, slots=True)
class Section:
    """A title, and the sentences and tables below it. A table whose first column has no header may stand in the line of
    the title. `level` is 1 for a part of the section before.
    """

    title: Words
    blocks: tuple[Words | Table, ...] = ()
    level: int = 0


Part: TypeAlias = tuple[Section, ...]
"""Sections that belong together."""


@dataclass(frozen=True, slots=True)
class Outline:
    """A whole report: its title, some facts by their labels, and its parts."""

    title: Words
    facts: tuple[tuple[str, Words], ...]
    parts: tuple[Part, ...]


def words_of(words: Words) -> tuple[Word, ...]:
    """The single words."""
    return words if isinstance(words, tuple) else (words,)


def joined(all_words: Iterable[Words], separator: str) -> tuple[Word, ...]:
    """Words with a separator between them."""
    found: list[Word] = []
    for words in all_words:
        found += [separator, *words_of(words)] if found else words_of(words)
    return tuple(found)
