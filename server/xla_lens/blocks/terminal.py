"""Text for a terminal: colors, links, and lines that fit.

A text is a list of pieces. Words wrap at spaces. Names stay in one piece: a name that is wider than a line is shortened
where it says least, at its start if it is a path.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from functools import cache
from itertools import groupby
from operator import attrgetter
from typing import Any, Final, NamedTuple, TypeAlias

from xla_lens.text.printable import printable_line


class Style(Enum):
    """How a piece looks: the parameters of its escape sequence."""

    PLAIN = ""
    TITLE = "1"
    QUIET = "2"
    NAME = "36"
    SOURCE = "35"
    BAR = "32"
    COMMAND = "1;36"
    ERROR = "1;31"
    WARNING = "33"
    INFORMATION = "34"


class Shortening(Enum):
    """Where a piece may be shortened. Words are not shortened, but wrapped."""

    WORDS = 0
    START = 1
    MIDDLE = 2
    END = 3


class StyledText(NamedTuple):
    """A piece of text in one style. `url` is what it links to on a terminal, `target` what it names in a
    report.
    """

    text: str
    style: Style = Style.PLAIN
    cut: Shortening = Shortening.WORDS
    url: str | None = None
    target: Any = None


StyledTexts: TypeAlias = Sequence[StyledText]


class Terminal(NamedTuple):
    """What a terminal can show. `links` returns the link to a file and a line (from 1), None if there is
    none. A terminal without links has no `links`.
    """

    width: int
    has_colors: bool
    links: Callable[[str, int | None], str | None] | None = None

    def url_of(self, path: str, line: int | None) -> str | None:
        """Return the link to a file and a line, None if there is none."""
        return self.links(path, line) if self.links else None


NARROWEST: Final = 40
"""Narrower terminals get lines of this width."""


def columns(text: str) -> int:
    """Return how many columns a text takes on a terminal."""
    return len(text) if text.isascii() else sum(map(_columns, text))


@cache
def _columns(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def width_of(pieces: StyledTexts) -> int:
    """Return how many columns some pieces take in one line."""
    return sum([columns(piece.text) for piece in pieces])


def painted(pieces: StyledTexts, terminal: Terminal) -> str:
    """Return a line as the terminal gets it."""
    line = ""
    for (style, url), run in groupby(filter(attrgetter("text"), pieces), attrgetter("style", "url")):
        text = printable_line("".join(piece.text for piece in run))
        if terminal.has_colors and style is not Style.PLAIN:
            text = f"\x1b[{style.value}m{text}\x1b[0m"
        line += f"\x1b]8;;{url}\x1b\\{text}\x1b]8;;\x1b\\" if url else text
    return line


def shortened(piece: StyledText, width: int) -> StyledText:
    """Return a piece of at most `width` columns."""
    text = piece.text
    if columns(text) <= width:
        return piece
    room = max(0, width - 1)
    kept = {Shortening.START: 0, Shortening.MIDDLE: room // 3}.get(piece.cut, room)
    end = _head(text[::-1], room - kept)[::-1]
    if piece.cut is Shortening.START:
        # Whole folders look better than a part of one.
        end = end[max(end.find("/", 0, len(end) // 2), 0) :]
    return piece._replace(text=f"{_head(text, kept)}…{end}")


def _head(text: str, width: int) -> str:
    while columns(text) > width:
        text = text[: len(text) - max(1, (columns(text) - width) // 2)]
    return text


def clipped(pieces: StyledTexts, width: int) -> list[StyledText]:
    """Return pieces of at most `width` columns, of which the widest are shortened."""
    found = [*pieces]
    for number, piece in sorted(enumerate(pieces), key=lambda each: -len(each[1].text)):
        if (excess := width_of(found) - width) > 0:
            found[number] = shortened(piece, max(1, columns(piece.text) - excess))
    return found


def wrapped(pieces: StyledTexts, width: int, hanging: int = 0) -> list[list[StyledText]]:
    """Wrap pieces into lines of at most `width` columns. Lines after the first are indented by `hanging` more than the
    first.
    """
    if width_of(pieces) <= width:
        return [list(pieces)]
    lines: list[list[StyledText]] = [[]]
    used = indent = 0
    for number, (spaces, word) in enumerate(_words(pieces, width // 2)):
        gap = spaces
        if number == 0:
            indent, gap = min(spaces + hanging, width // 2), min(spaces, width // 2)
        elif used + spaces + width_of(word) > width:
            lines.append([])
            used, gap = 0, indent
        fitted = clipped(word, width - used - gap)
        style = fitted[0].style if lines[-1] and lines[-1][-1].style is fitted[0].style else Style.PLAIN
        lines[-1] += [StyledText(" " * gap, style), *fitted] if gap else fitted
        used += gap + width_of(fitted)
    return lines


def _words(pieces: StyledTexts, longest: int) -> Iterator[tuple[int, list[StyledText]]]:
    """Yield what must stay in one line, and the number of spaces before it. A name sticks to the words beside it unless
    there is a space. Words that are longer than `longest` are broken.
    """
    spaces, word = 0, list[StyledText]()
    for piece in pieces:
        is_words = piece.cut is Shortening.WORDS
        is_rest = False
        for part in re.findall(rf" +|[^ ]{{1,{longest}}}", piece.text) if is_words else [piece.text]:
            is_space = is_words and part.startswith(" ")
            if word and (is_space or is_rest or (is_words and len(part) == longest)):
                yield spaces, word
                spaces, word = 0, []
            is_rest = len(part) == longest
            if is_space:
                spaces += len(part)
            elif part:
                word.append(piece._replace(text=part))
    if word:
        yield spaces, word
