"""Tables of text."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

WIDEST_NAME: Final = 40
WIDEST_SHAPE: Final = 44


def table(rows: Sequence[Sequence[str]], left: Sequence[int]) -> Iterator[str]:
    """Rows as columns of equal width, aligned to the right but for those in `left`."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        cells = (
            cell.ljust(width) if column in left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join(cells).rstrip()


def cut(lines: Iterable[str], width: int) -> Iterator[str]:
    """Lines of at most so many characters."""
    for line in lines:
        yield line if len(line) <= width else line[: width - 1] + "…"
