"""Reports as lines: aligned text, with spans that link characters to entities of the dump or to source lines, and lines
that fit a terminal, with colors and links.

Text truncates sentences, and tables whose last column is text, but never numbers. Nothing is lost in a narrow terminal:
sentences wrap, columns of text shrink first, and what does not fit beside the others then moves to lines of its own
below each row.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple, TypeAlias

from xla_lens.model.hlo.stack_frames import StackFrame
from xla_lens.model.places.entities import Entity, entity_place
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.render.numbers import shortened as shortened_text
from xla_lens.render.report.blocks import (
    Bar,
    Command,
    Jump,
    Linked,
    Name,
    Outline,
    Role,
    Section,
    Table,
    Text,
    bar_text,
    inlines,
)
from xla_lens.render.terminal import NARROWEST, Cut, Piece, Style, Terminal, painted, shortened, width_of, wrapped

_GAP: Final = 2
_LABEL: Final = 10
"""Width of the labels in the head."""

_LEAST_KEY: Final = 26
_LEAST_NAME: Final = 18
_LEAST_WORDS: Final = 24
_LEAST_BAR: Final = 8
"""Columns of text do not become narrower than these, as long as another column can move below the row."""

_WIDE: Final = 72
_DEEPEST: Final = 24
"""In terminals of this width, what stands below a row begins under its key, but not further to the right than this."""

_LOOKS: Final = {
    Role.NAME: (Style.NAME, Cut.MIDDLE),
    Role.SHAPE: (Style.QUIET, Cut.END),
    Role.PATH: (Style.QUIET, Cut.START),
    Role.SOURCE: (Style.SOURCE, Cut.START),
}


Span: TypeAlias = tuple[int, int, Entity | StackFrame]
"""The first character, the one after the last, and the entity or the source line that they name."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The maximum width of a line of text, how many times wider than usual a name may be, and the source files that are
    named without their folders.
    """

    width: int
    stretch: int
    short_files: frozenset[str] = frozenset()


class Line(NamedTuple):
    """A line of text."""

    text: str
    spans: tuple[Span, ...]


def text_lines(outline: Outline, layout: Layout) -> Iterator[Line]:
    """Yield the lines of a report as text."""
    return map(_line, _Drawing(layout).outline(outline))


def section_lines(section: Section, layout: Layout) -> Iterator[Line]:
    """Yield the lines of a section as text."""
    return map(_line, _Drawing(layout).section(section))


def terminal_lines(outline: Outline, dump: DumpSet | None, terminal: Terminal) -> Iterator[str]:
    """Yield the lines of a report for a terminal; entities of the dump become links."""
    terminal = replace(terminal, width=max(terminal.width, NARROWEST))
    drawing = _Drawing(Layout(terminal.width, 1), terminal, dump)
    return (painted(line, terminal).rstrip(" ") for line in drawing.outline(outline))


def _line(pieces: Sequence[Piece]) -> Line:
    text, spans = "", list[Span]()
    for piece in pieces:
        if piece.target and piece.text:
            spans.append((len(text), len(text) + len(piece.text), piece.target))
        text += piece.text
    return Line(text.rstrip(), tuple(spans))


def _truncated(pieces: Sequence[Piece], width: int) -> list[Piece]:
    if sum(len(piece.text) for piece in pieces) <= width:
        return [*pieces]
    found, room = list[Piece](), width - 1
    for piece in pieces:
        found.append(piece._replace(text=piece.text[:room]))
        room -= len(found[-1].text)
    return [*found, Piece("…")]


@dataclass(frozen=True, slots=True)
class _Column:
    """A column while its width is chosen. `least` is the width that it keeps as long as others can move."""

    number: int
    natural: int
    least: int


@dataclass(frozen=True, slots=True)
class _Drawing:
    """Draws a report: on a terminal, about a dump to which it links; without a terminal, as text."""

    layout: Layout
    terminal: Terminal | None = None
    dump: DumpSet | None = None

    def outline(self, outline: Outline) -> Iterator[list[Piece]]:
        yield from self._wrapped(self._pieces(outline.title, Style.TITLE), 0)
        for sentence in outline.answer:
            yield from self._paragraph(sentence, 2, 0)
        if outline.answer and outline.facts:
            yield []
        for label, text in outline.facts:
            style = Style.WARNING if label in _WARNINGS else Style.QUIET
            head = Piece(f"{label:<{_LABEL}} ", style, Cut.END)
            yield from self._wrapped([Piece("  "), head, *self._pieces(text)], _LABEL + 1)
        for part in outline.parts:
            yield []
            for section in part:
                yield from self.section(section)

    # ------------------------------------------------------------ sentences

    def _pieces(self, text: Text, style: Style | None = None) -> list[Piece]:
        pieces = [self._piece(inline) for inline in inlines(text)]
        return [piece._replace(style=style) for piece in pieces] if style else pieces

    def _piece(self, inline: object, bar_width: int | None = None) -> Piece:
        match inline:
            case Name(text, entity, widest, role, frame):
                style, cut = _LOOKS[role]
                if frame and frame.file in self.layout.short_files:
                    text = text.removeprefix(frame.file[: frame.file.rfind("/") + 1])
                widest = widest * self.layout.stretch if widest and not self.terminal else len(text)
                return Piece(shortened_text(text, widest), style, cut, self._url(entity or frame), entity or frame)
            case Linked(words, entity):
                return Piece(words, url=self._url(entity), target=entity)
            case Jump(_, _, command):
                return Piece(f"`{command}`" if command else "", Style.COMMAND)
            case Command(command):
                return Piece(f"`{' '.join(command.split())}`", Style.COMMAND)
            case Bar():
                bar = inline if bar_width is None else replace(inline, width=min(inline.width, bar_width))
                return Piece(bar_text(bar), Style.BAR, Cut.END)
            case _:
                return Piece(str(inline))

    def _url(self, target: Entity | StackFrame | None) -> str | None:
        if not self.terminal or target is None:
            return None
        if isinstance(target, StackFrame):
            return self.terminal.url_of(target.file, target.line)
        place = entity_place(self.dump, target) if self.dump else None
        return self.terminal.url_of(place.file.label, place.file.document.row(place.start) + 1) if place else None

    def _paragraph(self, text: Text, indent: int, hanging: int, style: Style | None = None) -> Iterator[list[Piece]]:
        pieces = [Piece(" " * indent), *self._pieces(text, style)]
        return self._wrapped(pieces if self.terminal else _truncated(pieces, self.layout.width), hanging)

    def _wrapped(self, pieces: Sequence[Piece], hanging: int) -> Iterator[list[Piece]]:
        yield from wrapped(pieces, self.layout.width, hanging) if self.terminal else [[*pieces]]

    def section(self, section: Section) -> Iterator[list[Piece]]:
        indent = 2 * section.level
        first = section.blocks[0] if section.blocks else None
        is_title_in_table = isinstance(first, Table) and first.has_text_header and first.header[0].title == ""
        if not is_title_in_table:
            yield from self._paragraph(section.title, indent, 2, Style.TITLE)
        for block in section.blocks:
            if isinstance(block, Table):
                title = section.title if block is first and is_title_in_table else None
                yield from self._table(block, title, indent)
            else:
                yield from self._paragraph(block, indent + 2, 0)

    # ------------------------------------------------------------ tables

    def _table(self, table: Table, title: Text | None, indent: int) -> Iterator[list[Piece]]:
        margin = indent + table.indent
        heads = [[Piece(column.title, Style.QUIET)] for column in table.header]
        if title:
            # The title stands to the left of its column, over the margin.
            heads[0] = self._pieces(title, Style.TITLE)
        rows = [[self._pieces(cell) for cell in row] for row in table.rows]
        naturals = _naturals(table, heads, rows)
        if not self.terminal:
            every = range(len(naturals))
            lines = [line for row in rows for line in self._row(table, row, every, naturals, margin)]
            if table.has_text_header:
                lines = [*self._row(table, heads, every, naturals, margin, is_header=True), *lines]
            for line in lines:
                yield _truncated(line, self.layout.width) if table.header[-1].is_text else line
        elif rows:
            yield from self._fitted(table, heads, rows, naturals, margin)

    def _fitted(
        self, table: Table, heads: list[list[Piece]], rows: list[list[list[Piece]]], naturals: list[int], margin: int
    ) -> Iterator[list[Piece]]:
        """The lines of a table for a terminal."""
        width = self.layout.width
        kept, folded, widths = _fit(table, heads, rows, naturals, width - margin)
        if any(isinstance(inline, Bar) for row in table.rows for inline in inlines(row[0])) and 0 in kept:
            for row, cells in zip(rows, table.rows, strict=True):
                row[0] = [self._piece(inline, widths[0]) for inline in inlines(cells[0])]
        if table.has_text_header:
            yield from self._row(table, heads, kept, widths, margin, is_header=True)
        key = kept.index(_key(table, rows))
        below = margin + 4
        if width >= _WIDE:
            below = min(margin + sum(widths[column] + _GAP for column in kept[:key]), _DEEPEST)
        # A row with one cell is a remark about the row above.
        remarks = [(row, column) for row in rows if (column := _only_cell(row)) is not None]
        are_remarks_wide = any(width_of(row[column]) > widths[column] for row, column in remarks)
        for row in rows:
            column = _only_cell(row)
            if are_remarks_wide and column is not None:
                yield from self._wrapped([Piece(" " * (margin + 4)), *row[column]], 2)
                continue
            yield from self._row(table, row, kept, widths, margin)
            labels = [f"{header.title} " if table.has_text_header else "" for header in table.header]
            yield from self._below([(labels[column], row[column]) for column in folded], below)

    def _below(self, cells: Sequence[tuple[str, Sequence[Piece]]], indent: int) -> Iterator[list[Piece]]:
        """The cells of a row that stand below it, each after its label, as many in a line as fit."""
        line: list[Piece] = []
        for label, cell in cells:
            if not width_of(cell):
                continue
            room = self.layout.width - indent - len(label)
            fitted = [shortened(piece, room) if piece.cut is not Cut.WORDS else piece for piece in cell]
            words = [Piece(label, Style.QUIET), *fitted]
            if line and width_of(line) + _GAP + width_of(words) > self.layout.width:
                yield from self._wrapped(line, 2)
                line = []
            line += [Piece(" " * (_GAP if line else indent)), *words]
        if line:
            yield from self._wrapped(line, 2)

    def _row(
        self,
        table: Table,
        cells: Sequence[Sequence[Piece]],
        kept: Sequence[int],
        widths: Sequence[int],
        margin: int,
        *,
        is_header: bool = False,
    ) -> Iterator[list[Piece]]:
        """A row, of as many lines as its highest cell. Headers stand on the ground."""
        # A title in the header begins at the left of the margin.
        outdent = table.indent * (is_header and _is_title(cells[0]))
        lines = {
            column: wrapped(cells[column], widths[column] + outdent * (column == 0), 2 * table.header[column].is_text)
            for column in kept
        }
        height = max(map(len, lines.values()))
        for number in range(height):
            line = [Piece(" " * (margin - outdent))]
            for column in kept:
                above = height - len(lines[column]) if is_header else 0
                inside = 0 <= number - above < len(lines[column])
                cell = lines[column][number - above] if inside else []
                blank = Piece(" " * (widths[column] + outdent * (column == 0) - width_of(cell)))
                line += [Piece(" " * _GAP * (column != kept[0]))]
                line += [*cell, blank] if table.header[column].is_text else [blank, *cell]
            yield _stripped(line)


_WARNINGS: Final = ("findings", "missing", "incomplete")


def _stripped(line: list[Piece]) -> list[Piece]:
    while line and not line[-1].text.strip(" "):
        line.pop()
    return line


def _key(table: Table, rows: Sequence[Sequence[Sequence[Piece]]]) -> int:
    """The column that says what a row is about, which never moves: the first with names, or else with words."""
    texts = [column for column, header in enumerate(table.header) if header.is_text]
    for column in texts:
        if any(piece.style in (Style.NAME, Style.SOURCE) for row in rows for piece in row[column]):
            return column
    return next((column for column in texts if not _is_bar(rows, column)), 0)


def _only_cell(row: Sequence[Sequence[Piece]]) -> int | None:
    """The column of the only cell of a row that is not empty, None if there are more."""
    filled = [column for column, cell in enumerate(row) if width_of(cell)]
    return filled[0] if len(filled) == 1 and len(row) > 1 else None


def _is_bar(rows: Sequence[Sequence[Sequence[Piece]]], column: int) -> bool:
    return any(piece.style is Style.BAR for row in rows for piece in row[column])


def _naturals(table: Table, heads: Sequence[Sequence[Piece]], rows: Sequence[Sequence[Sequence[Piece]]]) -> list[int]:
    """The width of each column if there is room for all."""
    found = [max((width_of(row[number]) for row in rows), default=0) for number in range(len(table.header))]
    if table.has_text_header:
        titles = [width_of(head) for head in heads]
        titles[0] -= table.indent * _is_title(heads[0])
        found = [*map(max, found, titles)]
    return found


def _is_title(head: Sequence[Piece]) -> bool:
    return bool(head) and head[0].style is Style.TITLE


def _fit(
    table: Table,
    heads: Sequence[Sequence[Piece]],
    rows: Sequence[Sequence[Sequence[Piece]]],
    naturals: Sequence[int],
    width: int,
) -> tuple[list[int], list[int], list[int]]:
    """Choose the columns that stand beside each other, those that move below, and the width of each column."""
    key = _key(table, rows)
    columns: list[_Column] = []
    for number, (header, natural) in enumerate(zip(table.header, naturals, strict=True)):
        head = [len(word) for piece in heads[number] for word in piece.text.split()] if table.has_text_header else []
        if not header.is_text:
            least = max([max(width_of(row[number]) for row in rows), *head])
        elif _is_bar(rows, number):
            least = min(natural, _LEAST_BAR)
        elif number == key:
            # The name of a source file stays whole.
            files = (piece.text for row in rows for piece in row[number] if piece.style is Style.SOURCE)
            least = min(natural, max([_LEAST_KEY, *head, *(len(file) - file.rfind("/") + 1 for file in files)]))
        else:
            is_name = any(piece.cut is not Cut.WORDS for row in rows for piece in row[number])
            least = min(natural, max([_LEAST_NAME if is_name else _LEAST_WORDS, *head]))
        columns.append(_Column(number, natural, least))
    kept = [column.number for column in columns if column.natural or column.number == key]
    moving = [
        *(number for number in kept if _is_bar(rows, number)),
        *(number for number in reversed(kept) if table.header[number].is_text and not _is_bar(rows, number)),
        *(number for number in reversed(kept) if not table.header[number].is_text),
    ]
    moving = [number for number in moving if number != key]

    def room() -> int:
        return width - _GAP * (len(kept) - 1)

    folded: list[int] = []
    while moving and sum(columns[number].least for number in kept) > room():
        number = moving.pop(0)
        kept.remove(number)
        if not _is_bar(rows, number):
            folded.insert(0, number)
    folded.sort()
    widths = [column.natural for column in columns]
    while (excess := sum(widths[number] for number in kept) - room()) > 0:
        # The widest column that can shrink gives way; if none can, the key does.
        able = [number for number in kept if widths[number] > columns[number].least]
        widest = max(able, key=lambda number: widths[number], default=key)
        others = [widths[number] for number in able if number != widest]
        floor = columns[widest].least if able else 1
        widths[widest] = max(floor, min(widths[widest] - 1, max([widths[widest] - excess, *others])))
        if not able:
            widths[widest] = max(1, widths[widest])
            break
    return kept, folded, widths
