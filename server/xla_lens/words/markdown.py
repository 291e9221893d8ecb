"""Markdown that text from a dump cannot break out of."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from xla_lens.text.patterns import lazy_pattern
from xla_lens.words.numbers import shortened

LONGEST_NAME: Final = 200


def code(text: str, longest: int = LONGEST_NAME) -> str:
    """Return any text as inline code. Markdown has no empty code: an empty text stays empty."""
    text = shortened(text, longest)
    fence = _fence(text, 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text}{pad}{fence}" if text else ""


def code_block(text: str) -> tuple[str, ...]:
    """Return the lines of any text as a block of code."""
    return _fence(text, 3), text, _fence(text, 3)


def _fence(text: str, shortest: int) -> str:
    return "`" * max(shortest, 1 + max(map(len, re.findall("`+", text)), default=0))


def escaped(text: str) -> str:
    """Return any text on one line as Markdown that shows it, without markup, links and HTML."""
    return _PUNCTUATION.sub(r"\\\g<0>", text)


_PUNCTUATION: Final = lazy_pattern(r"[][!#$&*<>@\\`|~]|(?<!\w)_|_(?!\w)|:(?=//)|(?<=\bwww)\.")
"""What begins markup or a link. An underscore within a word does not."""


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table whose cells are Markdown without pipes. All columns but the first have numbers."""
    yield f"| {' | '.join(header)} |"
    yield f"|---{'|--:' * (len(header) - 1)}|"
    yield from (f"| {' | '.join(row)} |" for row in rows)


_PIPE: Final = lazy_pattern(r"(?<!\\)(\\*)\|")


def in_cell(text: str) -> str:
    """Return Markdown for the cell of a table."""
    # Markdown splits a table into cells before it looks for code, and parsers differ on whether a pipe after two
    # backslashes is escaped. After an odd number of backslashes all parsers agree that it is.
    return _PIPE.sub(r"\1\1\\|", text)


_MARKS: Final = lazy_pattern(r"(`+)( ?)(.+?)\2\1|\*\*")
"""Inline code, and the marks of bold text."""


def without_marks(markdown: str) -> str:
    """Return Markdown of this module as plain text, for clients that do not render Markdown."""
    lines = (line for line in markdown.split("\n") if not line.startswith("|--"))
    # Those of tables have marks of their own.
    cells = (line.strip("| ").replace(" | ", "  ") if line.startswith("|") else line for line in lines)
    return "\n".join(_MARKS.sub(r"\3", line) for line in cells)
