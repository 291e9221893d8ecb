"""A report as aligned text, whose lines know what they speak of."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xla_lens.model.places.subjects import Subject
from xla_lens.render.numbers import shortened
from xla_lens.render.report.blocks import Command, Linked, Name, Outline, Section, Table, Words, words_of

Span: TypeAlias = tuple[int, int, Subject]
"""From which to which character of a line it speaks of what."""


@dataclass(frozen=True, slots=True)
class Room:
    """How wide a line may get, and how often a name may have its usual width."""

    width: int
    stretch: int


@dataclass(frozen=True, slots=True)
class Line:
    """A line of text."""

    text: str
    spans: tuple[Span, ...] = ()


def plain_lines(outline: Outline, room: Room) -> Iterator[Line]:
    """The lines of a report. Sentences, and tables that end with text, are cut to the width; numbers never are."""
    yield _line(0, outline.title, room)
    for label, words in outline.facts:
        yield _line(0, (f"  {label:<10} ", *words_of(words)), room)
    for part in outline.parts:
        yield Line("")
        for section in part:
            yield from _section(section, room)


def _section(section: Section, room: Room) -> Iterator[Line]:
    indent = 2 * section.level
    first = section.blocks[0] if section.blocks else None
    is_in_table = isinstance(first, Table) and first.header[0] == ""
    if not is_in_table:
        yield _cut(_line(indent, section.title, room), room.width)
    for block in section.blocks:
        if isinstance(block, Table):
            yield from _table(block, section.title if block is first and is_in_table else None, indent, room)
        else:
            yield _cut(_line(indent + 2, block, room), room.width)


def _table(table: Table, title: Words | None, indent: int, room: Room) -> Iterator[Line]:
    """A table. A title takes the place of the first header, and is not indented."""
    margin = " " * (indent + table.indent)
    rows = [[_line(0, cell, room) for cell in row] for row in table.rows]
    for row in rows:
        row[0] = _moved(row[0], margin)
    if table.has_plain_header:
        first = _line(indent, title, room) if title else Line(margin + table.header[0])
        rows.insert(0, [first, *map(Line, table.header[1:])])
    widths = [max(len(row[column].text) for row in rows) for column in range(len(table.header))] if rows else []
    ends_with_text = len(table.header) - 1 in table.left
    for row in rows:
        line = _aligned(row, widths, table.left)
        yield _cut(line, room.width) if ends_with_text else line


def _aligned(cells: Sequence[Line], widths: Sequence[int], left: Sequence[int]) -> Line:
    text = ""
    spans: list[Span] = []
    for column, (cell, width) in enumerate(zip(cells, widths, strict=True)):
        text += "  " * bool(column) + " " * (0 if column in left else width - len(cell.text))
        spans += ((len(text) + start, len(text) + end, subject) for start, end, subject in cell.spans)
        text += cell.text + " " * (width - len(cell.text) if column in left else 0)
    return Line(text.rstrip(), tuple(spans))


def _line(indent: int, words: Words, room: Room) -> Line:
    text = " " * indent
    if isinstance(words, str):
        return Line(text + words)
    spans: list[Span] = []
    for word in words_of(words):
        start = len(text)
        match word:
            case str():
                text += word
            case Name(name, subject, widest):
                text += shortened(name, widest * room.stretch if widest else len(name))
                if subject:
                    spans.append((start, len(text), subject))
            case Linked(name, subject):
                text += name
                spans.append((start, len(text), subject))
            case Command(command):
                text += f"`{shortened(command, len(command))}`"
    return Line(text, tuple(spans))


def _moved(line: Line, margin: str) -> Line:
    spans = ((len(margin) + start, len(margin) + end, subject) for start, end, subject in line.spans)
    return Line(margin + line.text, tuple(spans))


def _cut(line: Line, width: int) -> Line:
    if len(line.text) <= width:
        return line
    spans = ((start, min(end, width), subject) for start, end, subject in line.spans if start < width)
    return Line(line.text[: width - 1] + "…", tuple(spans))
