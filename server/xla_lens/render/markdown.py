"""Markdown that nothing from a dump can break out of."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from xla_lens.render.numbers import shortened

LONGEST_NAME: Final = 200


def code(text: str, longest: int = LONGEST_NAME) -> str:
    """A text as inline code, whatever is in it. Markdown has no empty code; that of nothing is nothing."""
    text = shortened(text, longest)
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", text)), default=0))
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text}{pad}{fence}" if text else ""


def table(header: Sequence[str], rows: Iterable[Sequence[str]], left: Sequence[int]) -> Iterator[str]:
    """A table of cells that are Markdown, aligned to the right but for the columns in `left`."""
    yield _row(header)
    yield f"|{'|'.join('---' if column in left else '--:' for column in range(len(header)))}|"
    yield from map(_row, rows)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(_cell, cells))} |"


_PIPE: Final = re.compile(r"(\\*)\|")


def _cell(text: str) -> str:
    # A table is cut into cells before code is looked for, and readers differ in whether a pipe after two backslashes is
    # escaped. After an odd number all say so.
    return _PIPE.sub(r"\1\1\\|", text)


_MARKS: Final = re.compile(r"(`+)( ?)(.+?)\2\1|\*\*")
"""What is inline code, and what makes text bold."""


def without_marks(markdown: str) -> str:
    """Markdown as made here, for editors that show text as it is."""
    lines = (line for line in markdown.split("\n") if not line.startswith("|--"))
    return "\n".join(_MARKS.sub(r"\3", _cells(line)) for line in lines)


def _cells(line: str) -> str:
    """A line, without the marks of a table if it is of one."""
    return line.strip("| ").replace(" | ", "  ") if line.startswith("|") else line
