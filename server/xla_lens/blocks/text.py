"""Reports as lines that fit a width: for terminals, with colors and links, for files and for pages.

Nothing is lost where it is narrow: sentences wrap, the last column of text shrinks and wraps, and columns that do not
fit beside the others move to lines of their own below each row.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, TypeAlias

from xla_lens.blocks.blocks import Inline, Line, Outline, Role, Section, Table, Text, inlines, line_of
from xla_lens.blocks.terminal import (
    NARROWEST,
    Shortening,
    Style,
    StyledText,
    Terminal,
    clipped,
    painted,
    width_of,
    wrapped,
)
from xla_lens.model.hlo.stack_frames import StackFrame
from xla_lens.model.places.entities import Entity, entity_place
from xla_lens.model.tables.dump_set import DumpSet

_GAP: Final = 2
_LABEL: Final = 10
"""Width of the labels in the head."""

_LEAST_KEY: Final = 26
_LEAST_WORDS: Final = 24
"""The key of a table and its last column of text keep these widths as long as another column can move below the row."""

_LOOKS: Final = {
    Role.WORDS: (Style.PLAIN, Shortening.WORDS),
    Role.NAME: (Style.NAME, Shortening.MIDDLE),
    Role.SHAPE: (Style.QUIET, Shortening.END),
    Role.PATH: (Style.QUIET, Shortening.START),
    Role.SOURCE: (Style.SOURCE, Shortening.START),
    Role.COMMAND: (Style.COMMAND, Shortening.WORDS),
    Role.BAR: (Style.BAR, Shortening.END),
}


_Line: TypeAlias = list[StyledText]
_Cells: TypeAlias = Sequence[Sequence[StyledText]]


def text_lines(outline: Outline, width: int) -> Iterator[Line]:
    """Yield the lines of a report as text."""
    return map(_text, _outline(outline, width))


def section_lines(section: Section, width: int) -> Iterator[str]:
    """Yield the lines of a section as text."""
    return (_text(line).text for line in _section(section, width))


def terminal_lines(outline: Outline, dump: DumpSet | None, terminal: Terminal) -> Iterator[str]:
    """Yield the lines of a report for a terminal; entities of the dump become links."""
    for line in _outline(outline, max(terminal.width, NARROWEST)):
        linked = (piece._replace(url=_url(piece.target, dump, terminal)) for piece in line)
        yield painted([*linked], terminal).rstrip(" ")


def _text(line: _Line) -> Line:
    return line_of((piece.text, piece.target) for piece in line)


def _url(target: Any, dump: DumpSet | None, terminal: Terminal) -> str | None:
    if isinstance(target, StackFrame):
        return terminal.url_of(target.file, target.line)
    place = entity_place(dump, target) if isinstance(target, Entity) and terminal.links and dump else None
    return terminal.url_of(place.file.label, place.file.document.row(place.start) + 1) if place else None


# ---------------------------------------------------------------- sections


def _outline(outline: Outline, width: int) -> Iterator[_Line]:
    yield from wrapped(_titled(outline.title), width)
    for sentence in outline.answer:
        yield from _paragraph(sentence, width, 2)
    yield from [[]] if outline.answer and outline.facts else []
    for label, text in outline.facts:
        style = Style.WARNING if label in _WARNINGS else Style.QUIET
        head = StyledText(f"{label:<{_LABEL}} ", style, Shortening.END)
        yield from wrapped([StyledText("  "), head, *_pieces(text)], width, _LABEL + 1)
    for part in outline.parts:
        yield []
        for section in part:
            yield from _section(section, width)


_WARNINGS: Final = ("findings", "incomplete")


def _section(section: Section, width: int) -> Iterator[_Line]:
    indent = 2 * section.level
    yield from _indented(wrapped(_titled(section.title), width - indent, 2), indent)
    for block in section.blocks:
        if isinstance(block, Table):
            yield from _indented(_table(block, width - indent - 2), indent + 2)
        else:
            yield from _paragraph(block, width, indent + 2)


def _paragraph(text: Text, width: int, indent: int) -> Iterator[_Line]:
    return _indented(wrapped(_pieces(text), width - indent, 2), indent)


def _indented(lines: Iterable[_Line], indent: int) -> Iterator[_Line]:
    return ([StyledText(" " * indent), *line] for line in lines)


def _titled(text: Text) -> _Line:
    return [piece._replace(style=Style.TITLE) for piece in _pieces(text)]


def _pieces(text: Text) -> _Line:
    return [*map(_piece, inlines(text))]


def _piece(inline: Inline) -> StyledText:
    if isinstance(inline, str):
        return StyledText(inline)
    text = f"`{inline.shown}`" if inline.role is Role.COMMAND else inline.shown
    return StyledText(text, *_LOOKS[inline.role], target=inline.target)


# ---------------------------------------------------------------- tables


def _table(table: Table, width: int) -> Iterator[_Line]:
    if not table.header:
        # No column has content.
        return
    rows = [[_pieces(cell) for cell in row] for row in table.rows]
    heads = [[StyledText(column.title * table.has_text_header, Style.QUIET)] for column in table.header]
    widths = [max(map(width_of, column)) for column in zip(heads, *rows, strict=True)]
    whole_widths = [*widths]
    kept, below = _fit(table, rows, widths, width)
    if table.has_text_header:
        yield from _row(table, heads, kept, widths, width)
    shortened = [column for column in kept[:-1] if widths[column] < whole_widths[column]]
    alike = {column: _alike([row[column] for row in rows], widths[column]) for column in shortened}
    for number, row in enumerate(rows):
        yield from _row(table, row, kept, widths, width)
        moved = [*(column for column in alike if number in alike[column]), *below]
        cells = [
            [*heads[column], StyledText(" " * table.has_text_header), *row[column]]
            for column in moved
            if width_of(row[column])
        ]
        yield from _indented(_below(cells, width - 4), 4)


def _alike(cells: _Cells, width: int) -> set[int]:
    """The numbers of the cells of a column that differ and look the same once they are shortened."""
    texts = [["".join(piece.text for piece in pieces) for pieces in (cell, clipped(cell, width))] for cell in cells]
    wholes: dict[str, set[str]] = {}
    for whole, shown in texts:
        wholes.setdefault(shown, set()).add(whole)
    return {number for number, (_, shown) in enumerate(texts) if len(wholes[shown]) > 1}


def _below(cells: _Cells, width: int) -> Iterator[_Line]:
    """The cells of a row that stand below it, as many in a line as fit."""
    line: _Line = []
    for cell in cells:
        if line and width_of(line) + _GAP + width_of(cell) > width:
            yield from wrapped(line, width, 2)
            line = []
        line += [StyledText(" " * _GAP * bool(line)), *cell]
    yield from wrapped(line, width, 2) if line else ()


def _row(table: Table, cells: _Cells, kept: Sequence[int], widths: Sequence[int], width: int) -> Iterator[_Line]:
    """A row, whose last cell wraps if it is text."""
    line: _Line = []
    *others, last = kept
    for column in others:
        cell = clipped(cells[column], widths[column])
        blank = StyledText(" " * (widths[column] - width_of(cell)))
        line += [*cell, blank] if table.header[column].is_text else [blank, *cell]
        line.append(StyledText(" " * _GAP))
    used, end = width_of(line), cells[last]
    if not table.header[last].is_text:
        yield [*line, StyledText(" " * (widths[last] - width_of(end))), *end]
        return
    first, *more = wrapped(end, width - used, 2)
    yield [*line, *first]
    yield from _indented(more, used)


def _fit(table: Table, rows: Sequence[_Cells], widths: list[int], width: int) -> tuple[list[int], list[int]]:
    """Choose the columns of a table that stand beside each other, and those that move below the rows. Bars are dropped
    first, then text moves, then numbers, each from the right. The last text and the key, which says what a row is
    about and never moves, shrink in `widths`.
    """
    kept, is_text = [*range(len(widths))], [header.is_text for header in table.header]
    styles = [{piece.style for row in rows for piece in row[column] if piece.text} for column in kept]
    is_bar = [Style.BAR in style for style in styles]
    words = [column for column in kept if is_text[column] and not is_bar[column]]
    named = [column for column in words if {Style.NAME, Style.SOURCE} & styles[column]]
    key = next(iter([*named, *words]), 0)
    # The name of a source file stays whole.
    files = [piece.text for row in rows for piece in row[key] if piece.style is Style.SOURCE]
    least_key = max([_LEAST_KEY, *(len(file) - file.rfind("/") + 1 for file in files)]) if named else widths[key]
    moving = sorted({*kept} - {key}, key=lambda column: (is_bar[column], is_text[column], column))
    below: list[int] = []
    while True:
        last = max([column for column in words if column in kept], default=key)
        least = {last: min(widths[last], _LEAST_WORDS), key: min(widths[key], least_key)}
        excess = sum(widths[column] for column in kept) + _GAP * (len(kept) - 1) - width
        if excess <= sum(widths[column] - least[column] for column in least) or not moving:
            break
        column = moving.pop()
        kept.remove(column)
        below += [] if is_bar[column] else [column]
    for column, smallest in least.items():
        shrunk = min(max(excess, 0), widths[column] - smallest)
        widths[column] -= shrunk
        excess -= shrunk
    widths[key] = max(1, widths[key] - max(excess, 0))
    return kept, sorted(below)
