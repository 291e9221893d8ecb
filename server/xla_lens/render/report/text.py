"""Reports as aligned text. Each line has spans, which link characters to entities of the dump or to source lines."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xla_lens.model.hlo.stack_frames import StackFrame
from xla_lens.model.places.entities import Entity
from xla_lens.render.numbers import shortened
from xla_lens.render.report.blocks import (
    Bar,
    Command,
    Header,
    Linked,
    Name,
    Outline,
    Section,
    Table,
    Text,
    bar_text,
    inlines,
)

Span: TypeAlias = tuple[int, int, Entity | StackFrame]
"""The first character, the one after the last, and the entity or the source line that they name."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The maximum width of a line, how many times wider than usual a name may be, and the source files that are named
    without their folders.
    """

    width: int
    stretch: int
    short_files: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Line:
    """A line of text."""

    text: str
    spans: tuple[Span, ...] = ()


def text_lines(outline: Outline, layout: Layout) -> Iterator[Line]:
    """Yield the lines of a report. Truncates sentences, and tables whose last column is text, but never numbers."""
    yield _line(0, outline.title, layout)
    for sentence in outline.answer:
        yield _truncated(_line(2, sentence, layout), layout.width)
    if outline.answer and outline.facts:
        yield Line("")
    for label, text in outline.facts:
        yield _line(0, (f"  {label:<10} ", *inlines(text)), layout)
    for part in outline.parts:
        yield Line("")
        for section in part:
            yield from section_lines(section, layout)


def section_lines(section: Section, layout: Layout) -> Iterator[Line]:
    """Yield the lines of a section."""
    indent = 2 * section.level
    first = section.blocks[0] if section.blocks else None
    is_title_in_table = isinstance(first, Table) and first.has_text_header and first.header[0].title == ""
    if not is_title_in_table:
        yield _truncated(_line(indent, section.title, layout), layout.width)
    for block in section.blocks:
        if isinstance(block, Table):
            yield from _table(block, section.title if block is first and is_title_in_table else None, indent, layout)
        else:
            yield _truncated(_line(indent + 2, block, layout), layout.width)


def _table(table: Table, title: Text | None, indent: int, layout: Layout) -> Iterator[Line]:
    """A table. A title replaces the first header and is not indented."""
    margin = " " * (indent + table.indent)
    rows = [[_line(0, cell, layout) for cell in row] for row in table.rows]
    for row in rows:
        row[0] = _shifted(row[0], margin)
    if table.has_text_header:
        first = _line(indent, title, layout) if title else Line(margin + table.header[0].title)
        rows.insert(0, [first, *(Line(column.title) for column in table.header[1:])])
    widths = [max(len(row[column].text) for row in rows) for column in range(len(table.header))] if rows else []
    for row in rows:
        line = _aligned(row, widths, table.header)
        yield _truncated(line, layout.width) if table.header[-1].is_text else line


def _aligned(cells: Sequence[Line], widths: Sequence[int], header: Sequence[Header]) -> Line:
    text = ""
    spans: list[Span] = []
    for column, (cell, width) in enumerate(zip(cells, widths, strict=True)):
        is_text, blank = header[column].is_text, " " * (width - len(cell.text))
        text += "  " * bool(column) + blank * (not is_text)
        spans += ((len(text) + start, len(text) + end, entity) for start, end, entity in cell.spans)
        text += cell.text + blank * is_text
    return Line(text.rstrip(), tuple(spans))


def _line(indent: int, content: Text, layout: Layout) -> Line:
    text = " " * indent
    spans: list[Span] = []
    for inline in inlines(content):
        start = len(text)
        match inline:
            case str():
                text += inline
            case Name(name, entity, widest, frame=frame):
                if frame and frame.file in layout.short_files:
                    name = name.removeprefix(frame.file[: frame.file.rfind("/") + 1])
                text += shortened(name, widest * layout.stretch if widest else len(name))
                if target := entity or frame:
                    spans.append((start, len(text), target))
            case Linked(name, entity):
                text += name
                spans.append((start, len(text), entity))
            case Command(command):
                text += f"`{shortened(command, len(command))}`"
            case Bar():
                text += bar_text(inline)
    return Line(text, tuple(spans))


def _shifted(line: Line, margin: str) -> Line:
    spans = ((len(margin) + start, len(margin) + end, entity) for start, end, entity in line.spans)
    return Line(margin + line.text, tuple(spans))


def _truncated(line: Line, width: int) -> Line:
    if len(line.text) <= width:
        return line
    spans = ((start, min(end, width), entity) for start, end, entity in line.spans if start < width)
    return Line(line.text[: width - 1] + "…", tuple(spans))
