"""The words of some lines of an HLO module, found without a tree: only what is asked for is looked at, and of a long
instruction only the first part.
"""

import re
from collections.abc import Iterator
from typing import Final, TypeAlias

from xla_lens.syntax.columns import Table
from xla_lens.syntax.excerpt import LOOKED_AT
from xla_lens.syntax.hlo.grammar import NAME
from xla_lens.syntax.hlo.instruction_scan import instruction_head
from xla_lens.syntax.hlo.module import HEADER, HloColumns
from xla_lens.text.document import Document

# A screen has thousands: a class of their own takes three times as long to make.
Word: TypeAlias = tuple[str, int, int]
"""What a word is, and its bytes in the file."""

_STRING: Final = rb'"(?:[^"\\]|\\.)*+"'
_WORD: Final = re.compile(
    # Those within the JSON of a backend's configuration are passed over.
    rb"(?<=[= ])(?P<string>" + _STRING + rb")|" + _STRING + rb"|(?P<comment>/\*[^*]*+\*/)"
    rb"|(?P<name>%" + NAME + rb")"
    rb"|(?P<shape>[a-z][a-z0-9]*+\[[0-9,<=?]*+\](?:\{[^{}]*+\})?)"
    rb"|(?P<key>[A-Za-z_][A-Za-z0-9_.-]*+)(?==)"
    rb"|(?P<bare_name>[A-Za-z_][^\s{}()\[\]\",=%:]*+)",
    re.DOTALL,
)
_ENTRY: Final = re.compile(rb"ENTRY(?=[ \t])")
_ROOT: Final = re.compile(rb"ROOT(?=[ \t]+%?" + NAME + rb"[ \t]*=)")
_NUMBER: Final = re.compile(rb"\d+")


def module_words(document: Document, columns: HloColumns, start: int, end: int) -> list[Word]:
    """The words of the lines of a module that bytes `start` to `end` are on, in the order of the text.

    The names that are defined are ``instruction`` and ``computation``, other names ``name``, with the ``%`` where there
    is one. A ``bare_name`` has none, and may be any word.
    """
    data, found = document.data, list[Word]()
    start, end = document.line_span(document.row(start))[0], document.line_span(document.row(end))[1]
    for first, last, name_start, name_end in _rows(columns.instructions, start, end, "name_start", "name_end"):
        found += _instruction(data, first, last, name_start, name_end)
    for first, last, name_start, name_end in _rows(columns.computations, start, end, "name_start", "name_end"):
        head_end = min(document.line_span(document.row(first))[1], last)
        if entry := _ENTRY.match(data, first):
            found.append(("keyword", *entry.span()))
        found.append(("computation", _with_sign(data, name_start), name_end))
        found += _words(data, name_end, head_end, first)
    for first, last, header_end in _rows(columns.tables, start, end, "header_end"):
        found.append(("table", first, header_end))
        for row in range(document.row(max(start, header_end)), document.row(min(end, last)) + 1):
            found += _table_row(data, *document.line_span(row))
    header = HEADER.search(data, 0, LOOKED_AT)
    if header and start <= header.start() < min([end, *columns.computations.start[:1].tolist()]):
        found += (("keyword", *header.span(1)), ("module", *header.span(2)))
        found += _words(data, header.end(), document.line_span(document.row(header.start()))[1], header.start())
    return sorted(found, key=lambda word: word[1])


def _rows(table: Table, start: int, end: int, *columns: str) -> Iterator[tuple[int, ...]]:
    """The rows of a table that touch some bytes: their starts, their ends, and some other columns."""
    first, last = table.start.searchsorted((start, end), "right").tolist()
    rows = slice(max(0, first - 1), last)
    cells = (getattr(table, column)[rows].tolist() for column in ("start", "end", *columns))
    return (row for row in zip(*cells, strict=True) if row[1] >= start)


def _instruction(data: bytes, start: int, end: int, name_start: int, name_end: int) -> list[Word]:
    found: list[Word] = [("instruction", _with_sign(data, name_start), name_end)]
    if root := _ROOT.match(data, start, end):
        found.append(("keyword", *root.span()))
    head = instruction_head(data, start, end)
    if head is None:
        return found + _words(data, name_end, end, start)
    opcode_end = head.operands_start - len(b"(")
    found.append(("shape", head.shape_start, head.shape_end))
    found.append(("opcode", opcode_end - len(head.opcode), opcode_end))
    return found + _words(data, head.operands_start, end, start)


def _table_row(data: bytes, start: int, end: int) -> list[Word]:
    number = _NUMBER.match(data, start, end)
    return [("number", *number.span()), *_words(data, number.end(), end, start)] if number else []


def _words(data: bytes, start: int, end: int, first: int) -> list[Word]:
    """The words from `start` to `end` of what begins at `first`."""
    found: list[Word] = []
    for match in _WORD.finditer(data, start, end):
        word_start, word_end = match.span()
        if word_start >= first + LOOKED_AT:
            break
        if match.lastgroup:
            found.append((match.lastgroup, word_start, word_end))
    return found


def _with_sign(data: bytes, name_start: int) -> int:
    return name_start - (data[name_start - 1 : name_start] == b"%")
