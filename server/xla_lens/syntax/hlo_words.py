"""The words of some lines of an HLO module, found without a tree: only what is asked for is looked at, and of a long
instruction only the first part.
"""

import re
from collections.abc import Iterator
from typing import Final

from xla_lens.syntax.columns import Table
from xla_lens.syntax.excerpt import LOOKED_AT, Part
from xla_lens.syntax.hlo_module import HEADER, HloColumns
from xla_lens.syntax.instruction_scan import instruction_head
from xla_lens.text.document import Document

_NAME: Final = rb"[^\s{}()\[\]\",=%]+"
_WORD: Final = re.compile(
    rb'(?P<string>"(?:[^"\\]|\\.)*+")'
    rb"|(?P<comment>/\*[^*]*+\*/)"
    rb"|(?P<name>%" + _NAME + rb")"
    rb"|(?P<shape>[a-z][a-z0-9]*+\[[0-9,<=?]*+\](?:\{[^{}]*+\})?)"
    rb"|(?P<key>[A-Za-z_][A-Za-z0-9_.-]*+)(?==)"
    rb"|(?P<parameter>[A-Za-z_][^\s{}()\[\]\",=%:]*+)(?=:[ ])"
    rb"|(?P<word>[A-Za-z_]" + _NAME[:-1] + rb"*+)",
    re.DOTALL,
)
_HEAD: Final = re.compile(rb"(?P<keyword>ENTRY[ \t]+)?%?" + _NAME)
_ROOT: Final = re.compile(rb"(ROOT)[ \t]+(?=%?" + _NAME + rb"[ \t]*=)")
_NUMBER: Final = re.compile(rb"\d+")


def module_words(document: Document, columns: HloColumns, start: int, end: int) -> list[Part]:
    """The words of the lines of a module that bytes `start` to `end` are on, in the order of the text.

    Those that are defined are ``definition`` and ``computation``. A ``name`` has its ``%``; a ``word`` or a
    ``parameter`` has none, and may be a name or not.
    """
    data = document.data
    start, end = document.line_span(document.row(start))[0], document.line_span(document.row(end))[1]
    found: list[Part] = []
    for first, last, name_start, name_end in _rows(columns.instructions, start, end, "name_start", "name_end"):
        found += _instruction(data, first, last, name_start, name_end)
    for first, last, name_start, name_end in _rows(columns.computations, start, end, "name_start", "name_end"):
        line_end = document.line_span(document.row(first))[1]
        found += _computation(data, first, min(line_end, last), name_start, name_end)
    for first, last, header_end in _rows(columns.tables, start, end, "header_end"):
        found.append(Part("table", first, header_end))
        for row in range(document.row(max(start, header_end)), document.row(min(end, last)) + 1):
            found += _table_row(data, max(header_end, document.line_span(row)[0]), document.line_span(row)[1])
    header = HEADER.search(data, start, min(end, LOOKED_AT))
    if header and header.start() < min(columns.computations.start[:1], default=len(data)):
        found += (Part("keyword", *header.span(1)), Part("module", *header.span(2)))
        found += _words(data, header.end(), document.line_span(document.row(header.start()))[1], header.start())
    return sorted(found, key=lambda part: part.start)


def _rows(table: Table, start: int, end: int, *columns: str) -> Iterator[tuple[int, ...]]:
    """The rows of a table that touch some bytes: their starts, their ends, and some other columns."""
    first, last = table.start.searchsorted((start, end), "right").tolist()
    rows = slice(max(0, first - 1), last)
    cells = (getattr(table, column)[rows].tolist() for column in ("start", "end", *columns))
    return (row for row in zip(*cells, strict=True) if row[1] >= start)


def _instruction(data: bytes, start: int, end: int, name_start: int, name_end: int) -> Iterator[Part]:
    if root := _ROOT.match(data, start, end):
        yield Part("keyword", *root.span(1))
    is_signed = data[name_start - 1 : name_start] == b"%"
    yield Part("definition", name_start - is_signed, name_end)
    head, place = instruction_head(data, start, end), name_end
    if head:
        opcode_end = head.operands_start - len(b"(")
        yield Part("shape", head.shape_start, head.shape_end)
        yield Part("opcode", opcode_end - len(head.opcode), opcode_end)
        place = head.operands_start
    yield from _words(data, place, end, start)


def _computation(data: bytes, start: int, end: int, name_start: int, name_end: int) -> Iterator[Part]:
    if (head := _HEAD.match(data, start, end)) and head["keyword"]:
        yield Part("keyword", start, start + len(b"ENTRY"))
    is_signed = data[name_start - 1 : name_start] == b"%"
    yield Part("computation", name_start - is_signed, name_end)
    yield from _words(data, name_end, end, start)


def _table_row(data: bytes, start: int, end: int) -> Iterator[Part]:
    if number := _NUMBER.match(data, start, end):
        yield Part("number", *number.span())
        yield from _words(data, number.end(), end, start)


def _words(data: bytes, start: int, end: int, first: int) -> Iterator[Part]:
    """The words from `start` to `end` of what begins at `first`."""
    for match in _WORD.finditer(data, start, end):
        if match.start() >= first + LOOKED_AT:
            break
        kind = match.lastgroup
        assert kind, "each alternative has a name"
        yield Part(kind, *match.span())
