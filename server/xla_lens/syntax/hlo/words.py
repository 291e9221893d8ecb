"""The words of HLO text for editors, found without a syntax tree: those of a module's lines, and those of an
instruction that a dump quotes.

Only the lines in question are read, and of a long instruction only its first `MAX_WORDS_BYTES`.
"""

import re
from collections.abc import Iterator
from operator import itemgetter
from typing import Final, TypeAlias

from xla_lens.syntax.columns import Table, cells, place_in
from xla_lens.syntax.hlo.instruction import Instruction, read_instruction
from xla_lens.syntax.hlo.lexical import ARRAY_SHAPE, KEY, NAME, STRING, UNCLOSED
from xla_lens.syntax.hlo.module import HEADER, ModuleColumns
from xla_lens.text.document import Document

MAX_WORDS_BYTES: Final = 4096
"""The bytes from the start of an instruction in which words are found. The longest instructions have 120,000."""


Word: TypeAlias = tuple[str, int, int]
"""The kind of a word and its bytes in the file. The kind is the name of the word's node in the grammar if it has one.

A plain tuple, because a screen has thousands: named tuples take longer to make and stay tracked by the garbage
collector, which doubles the 98th percentile of semantic tokens.
"""


# ---------------------------------------------------------------- quoted instructions


def quoted_words(data: bytes, start: int, end: int) -> Iterator[Word]:
    """The words of the instruction that a dump quotes at bytes `start` to `end`, with the kinds of `module_words`."""
    instruction, first = read_instruction(data, start, end), start
    if instruction:
        yield ("name", _with_sign(data, instruction.name_start), instruction.name_end)
        yield from _shape_and_opcode(instruction)
        first = instruction.operands_start
    yield from (word for word in _words(data, first, end, start) if word[0] != "bare_name")


def _shape_and_opcode(instruction: Instruction) -> Iterator[Word]:
    opcode_start = instruction.opcode_start
    yield ("shape", instruction.shape_start, instruction.shape_end)
    yield ("opcode", opcode_start, opcode_start + len(instruction.opcode))


# ---------------------------------------------------------------- modules

_WORD: Final = re.compile(
    # Strings within the JSON of a backend configuration match without a group.
    rb"(?<=[= ])(?P<string>" + STRING + rb")|" + STRING + rb"|" + UNCLOSED + rb"|(?P<comment>/\*[^*]*+\*/)"
    rb"|(?P<name>%" + NAME + rb")"
    rb"|(?P<shape>" + ARRAY_SHAPE + rb")"
    rb"|(?P<key>" + KEY + rb")(?==)"
    rb"|(?P<bare_name>[A-Za-z_][^\s{}()\[\]\",=%:]*+)",
    re.DOTALL,
)
_ENTRY: Final = re.compile(rb"ENTRY(?=[ \t])")
_NUMBER: Final = re.compile(rb"\d+")


def module_words(document: Document, columns: ModuleColumns, start: int, end: int) -> list[Word]:
    """Return the words of the lines of a module that bytes `start` to `end` are on, in the order of the text.

    A name has the kind ``instruction`` or ``computation`` where it is defined and ``name`` elsewhere, and spans its
    ``%`` if it has one. A ``bare_name`` has none and may be any word.
    """
    data, found = document.data, list[Word]()
    start, end = document.line_span(document.row(start))[0], document.line_span(document.row(end))[1]
    columns_read = ("name_start", "name_end", "is_root")
    for first, last, name_start, name_end, is_root in _rows(columns.instructions, start, end, *columns_read):
        if is_root:
            found.append(("keyword", first, first + len(b"ROOT")))
        found.append(("instruction", _with_sign(data, name_start), name_end))
        instruction = read_instruction(data, first, last)
        if instruction:
            found += _shape_and_opcode(instruction)
        found += _words(data, instruction.operands_start if instruction else name_end, last, first)
    for first, last, name_start, name_end in _rows(columns.computations, start, end, "name_start", "name_end"):
        head_end = min(document.line_span(document.row(first))[1], last)
        if entry := _ENTRY.match(data, first):
            found.append(("keyword", *entry.span()))
        found.append(("computation", _with_sign(data, name_start), name_end))
        found += _words(data, name_end, head_end, first)
    for first, last, header_end in _rows(columns.stack_tables, start, end, "header_end"):
        found.append(("table", first, header_end))
        for row in range(document.row(max(start, header_end)), document.row(min(end, last)) + 1):
            found += _table_row(data, *document.line_span(row))
    header = HEADER.search(data, 0, MAX_WORDS_BYTES)
    if header and start <= header.start() < min([end, *columns.computations.start[:1].tolist()]):
        found += (("keyword", *header.span(1)), ("module", *header.span(2)))
        found += _words(data, header.end(), document.line_span(document.row(header.start()))[1], header.start())
    return sorted(found, key=itemgetter(1))


def _rows(table: Table, start: int, end: int, *columns: str) -> Iterator[tuple[int, ...]]:
    """The rows of a table that touch some bytes: `start`, `end` and some other columns."""
    first, last = (place_in(table.start, place, "right") for place in (start, end))
    rows = slice(max(0, first - 1), last)
    found = cells(*(getattr(table, column)[rows] for column in ("start", "end", *columns)))
    return (row for row in found if row[1] >= start)


def _table_row(data: bytes, start: int, end: int) -> list[Word]:
    number = _NUMBER.match(data, start, end)
    return [("number", *number.span()), *_words(data, number.end(), end, start)] if number else []


def _words(data: bytes, start: int, end: int, first: int) -> list[Word]:
    """The words at bytes `start` to `end` of a line or instruction that begins at `first`."""
    found: list[Word] = []
    for match in _WORD.finditer(data, start, end):
        word_start, word_end = match.span()
        if word_start >= first + MAX_WORDS_BYTES:
            break
        if match.lastgroup:
            found.append((match.lastgroup, word_start, word_end))
    return found


def _with_sign(data: bytes, name_start: int) -> int:
    return name_start - (data[name_start - 1 : name_start] == b"%")
