"""Reports as lines: aligned text, with spans that link characters to entities of the dump or to source lines, and lines
that fit a terminal, with colors and links.

Text truncates sentences, and tables whose last column is text, but never numbers. Nothing is lost in a narrow terminal:
sentences wrap, the last column of text shrinks and wraps, and columns that do not fit beside the others move to lines
of their own below each row.
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
from xla_lens.render.terminal import NARROWEST, Cut, Piece, Style, Terminal, clipped, painted, width_of
from xla_lens.render.terminal import wrapped as wrapped_lines

_GAP: Final = 2
_LABEL: Final = 10
"""Width of the labels in the head."""

_LEAST_KEY: Final = 26
_LEAST_WORDS: Final = 24
"""The key of a table and its last column of text keep these widths as long as another column can move below the row."""

_WIDE: Final = 120
"""In narrower terminals, bars are shorter."""

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
    stretch: int = 1
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
    drawing = _Drawing(Layout(terminal.width), terminal, dump)
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


_Cells: TypeAlias = Sequence[Sequence[Piece]]


@dataclass(frozen=True, slots=True)
class _Drawing:
    """Draws a report: on a terminal, about a dump to which it links; without a terminal, as text."""

    layout: Layout
    terminal: Terminal | None = None
    dump: DumpSet | None = None

    def outline(self, outline: Outline) -> Iterator[list[Piece]]:
        yield from self._wrapped(self._pieces(outline.title, Style.TITLE))
        for sentence in outline.answer:
            yield from self._paragraph(sentence, 2)
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

    def section(self, section: Section) -> Iterator[list[Piece]]:
        indent = 2 * section.level
        first = section.blocks[0] if section.blocks else None
        is_title_in_table = isinstance(first, Table) and first.has_text_header and first.header[0].title == ""
        if not is_title_in_table:
            yield from self._paragraph(section.title, indent, 2, Style.TITLE)
        for block in section.blocks:
            if isinstance(block, Table):
                title = section.title if block is first and is_title_in_table else None
                yield from self._table(block, title, indent + block.indent)
            else:
                yield from self._paragraph(block, indent + 2)

    # ------------------------------------------------------------ sentences

    def _pieces(self, text: Text, style: Style | None = None) -> list[Piece]:
        pieces = [self._piece(inline) for inline in inlines(text)]
        return [piece._replace(style=style) for piece in pieces] if style else pieces

    def _piece(self, inline: object) -> Piece:
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
            case Bar(width=width):
                room = min(width, width * self.layout.width // _WIDE)
                return Piece(bar_text(replace(inline, width=room)), Style.BAR, Cut.END)
            case _:
                return Piece(str(inline))

    def _url(self, target: Entity | StackFrame | None) -> str | None:
        if not self.terminal or target is None:
            return None
        if isinstance(target, StackFrame):
            return self.terminal.url_of(target.file, target.line)
        place = entity_place(self.dump, target) if self.dump else None
        return self.terminal.url_of(place.file.label, place.file.document.row(place.start) + 1) if place else None

    def _paragraph(
        self, text: Text, indent: int, hanging: int = 0, style: Style | None = None
    ) -> Iterator[list[Piece]]:
        pieces = [Piece(" " * indent), *self._pieces(text, style)]
        return self._wrapped(pieces if self.terminal else _truncated(pieces, self.layout.width), hanging)

    def _wrapped(self, pieces: Sequence[Piece], hanging: int = 0) -> Iterator[list[Piece]]:
        yield from wrapped_lines(pieces, self.layout.width, hanging) if self.terminal else [[*pieces]]

    # ------------------------------------------------------------ tables

    def _table(self, table: Table, title: Text | None, margin: int) -> Iterator[list[Piece]]:
        rows = [[self._pieces(cell) for cell in row] for row in table.rows]
        heads = [[Piece(column.title, Style.QUIET)] for column in table.header]
        # A title stands to the left of its column, over the margin.
        outdent = table.indent if title else 0
        if title:
            heads[0] = self._pieces(title, Style.TITLE)
        widths = [max((width_of(row[column]) for row in rows), default=0) for column in range(len(heads))]
        if table.has_text_header:
            widths = [max(width, width_of(head)) for width, head in zip(widths, heads, strict=True)]
            widths[0] = max([width_of(heads[0]) - outdent, *(width_of(row[0]) for row in rows)])
        kept, below = [*range(len(heads))], list[int]()
        if self.terminal:
            kept, below = _fit(table, rows, widths, self.layout.width - margin)
        if table.has_text_header:
            wider = [widths[0] + outdent, *widths[1:]]
            yield from self._row(table, heads, kept, wider, margin - outdent)
        for row in rows:
            yield from self._row(table, row, kept, widths, margin)
            labels = [f"{header.title} " if table.has_text_header else "" for header in table.header]
            yield from self._below(
                [[Piece(labels[one], Style.QUIET), *row[one]] for one in below if width_of(row[one])], margin
            )

    def _below(self, cells: _Cells, margin: int) -> Iterator[list[Piece]]:
        """The cells of a row that stand below it, as many in a line as fit."""
        line: list[Piece] = []
        for cell in cells:
            if line and width_of(line) + _GAP + width_of(cell) > self.layout.width:
                yield from self._wrapped(line, 2)
                line = []
            line += [Piece(" " * (_GAP if line else margin + 4)), *cell]
        yield from self._wrapped(line, 2) if line else ()

    def _row(
        self, table: Table, cells: _Cells, kept: Sequence[int], widths: Sequence[int], margin: int
    ) -> Iterator[list[Piece]]:
        """A row, whose last cell wraps on a terminal if it is text."""
        line = [Piece(" " * margin)]
        for column in kept[:-1]:
            cell = clipped(cells[column], widths[column])
            blank = Piece(" " * (widths[column] - width_of(cell)))
            line += [*cell, blank] if table.header[column].is_text else [blank, *cell]
            line.append(Piece(" " * _GAP))
        last = kept[-1]
        used, end = width_of(line), cells[last]
        if not table.header[last].is_text:
            line += [Piece(" " * (widths[last] - width_of(end))), *end]
        elif self.terminal:
            first, *more = wrapped_lines(end, self.layout.width - used, 2)
            yield _stripped([*line, *first])
            yield from ([Piece(" " * used), *part] for part in more)
            return
        else:
            line += end
        yield _stripped(line if not table.header[-1].is_text else _truncated(line, self.layout.width))


_WARNINGS: Final = ("findings", "missing", "incomplete")


def _stripped(line: list[Piece]) -> list[Piece]:
    while line and not line[-1].text.strip(" "):
        line.pop()
    return line


def _fit(table: Table, rows: Sequence[_Cells], widths: list[int], width: int) -> tuple[list[int], list[int]]:
    """Choose the columns of a table that stand beside each other, and those that move below the rows. Bars are dropped
    first, then text moves, then numbers, each from the right. The last text and the key, which says what a row is
    about and never moves, shrink in `widths`.
    """
    texts = [column for column, header in enumerate(table.header) if header.is_text]
    styles = [{piece.style for row in rows for piece in row[column] if piece.text} for column in range(len(widths))]
    words = [column for column in texts if Style.BAR not in styles[column]]
    named = [column for column in words if {Style.NAME, Style.SOURCE} & styles[column]]
    key = next(iter([*named, *words]), 0)
    # The name of a source file stays whole.
    files = [piece.text for row in rows for piece in row[key] if piece.style is Style.SOURCE]
    least_key = max([_LEAST_KEY, *(len(file) - file.rfind("/") + 1 for file in files)]) if named else widths[key]
    kept = [column for column, natural in enumerate(widths) if natural or column == key]
    moving = sorted(
        (column for column in kept if column != key),
        key=lambda column: (Style.BAR not in styles[column], column not in texts, -column),
    )
    below: list[int] = []
    while True:
        last = max([column for column in words if column in kept], default=key)
        least = {last: min(widths[last], _LEAST_WORDS), key: min(widths[key], least_key)}
        excess = sum(widths[column] for column in kept) + _GAP * (len(kept) - 1) - width
        if excess <= sum(widths[column] - least[column] for column in least) or not moving:
            break
        kept.remove(moving[0])
        below += [column for column in moving[:1] if Style.BAR not in styles[column]]
        del moving[0]
    for column, smallest in least.items():
        shrunk = min(max(excess, 0), widths[column] - smallest)
        widths[column] -= shrunk
        excess -= shrunk
    widths[key] = max(1, widths[key] - max(excess, 0))
    return kept, sorted(below)
