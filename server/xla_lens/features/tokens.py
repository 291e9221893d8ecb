"""Semantic tokens of dump files and HLO modules: names, numbers, shapes, and the words of the format itself.

A name also has modifiers: whether it refers to a value, defines it, and whether the value is live at the peak of its
memory space. In a module, the name of an instruction stands for all values that the instruction has in the dump.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import IntEnum, auto
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from xla_lens.model.analysis import Analysis
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.memory.over_time import live_at_peak
from xla_lens.model.places.mentions import position_of
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.lookup import taken
from xla_lens.syntax.columns import NONE, Column, Table
from xla_lens.syntax.excerpt import words
from xla_lens.syntax.hlo.lexical import CALLING_ATTRIBUTES, operand_position
from xla_lens.syntax.hlo.words import Word, module_words
from xla_lens.text.document import Document


class TokenType(IntEnum):
    """The type of a token."""

    SECTION = auto()
    """The header of a section."""
    KEYWORD = auto()
    """A word that introduces what follows: ``allocation``, ``uses:``."""
    PROPERTY = auto()
    """The name of an attribute: ``size``, ``op_name``."""
    ALLOCATION = auto()
    """The index of an allocation."""
    VALUE = auto()
    """A name that means a value, with its index."""
    INSTRUCTION = auto()
    """A name that means no value."""
    COMPUTATION = auto()
    STEP = auto()
    NUMBER = auto()
    """An id, a size, an offset, or an index without a name."""
    SHAPE = auto()
    OPCODE = auto()
    KIND = auto()
    """The kind of an allocation, or the mark of a phi value."""
    STRING = auto()
    """Other text: frames of the stack trace, strings in instructions, file names."""
    COMMENT = auto()
    """The column headers of a report."""


class Token(NamedTuple):
    """A token from byte `start` to `end`. `is_definition` is whether the token defines its value, allocation,
    instruction or computation. `is_live_at_peak` is whether the value is live at the peak of its memory space.
    """

    # A named tuple, because a screen has thousands of tokens and a dataclass takes more than twice as long to create.

    start: int
    end: int
    type: TokenType
    is_definition: bool = False
    is_live_at_peak: bool = False


def tokens(analysis: Analysis, file: DumpFile, start: int, end: int, limit: int) -> list[Token]:
    """Return the first `limit` tokens of a dump file that overlap bytes `start` to `end`.

    A token never spans lines. Only the first part of a long instruction has tokens.
    """
    if not file.columns.has_rows():
        return []
    return _by_chunks(file.document, start, end, limit, lambda first, last: _in_dump(analysis, file, first, last))


def module_tokens(analysis: Analysis, module: HloModule, start: int, end: int, limit: int) -> list[Token]:
    """Return the first `limit` tokens of an HLO module that overlap bytes `start` to `end`, like `tokens`."""
    document = module.file.document
    return _by_chunks(document, start, end, limit, lambda first, last: _in_module(analysis, module, first, last))


_LINES: Final = 256
"""Number of lines in a chunk: after the limit no further chunks are scanned."""

_LINE_END: Final = re.compile(rb"[\r\n]")
_PIECE: Final = re.compile(rb"[^\r\n]+")


def _by_chunks(
    document: Document, start: int, end: int, limit: int, find: Callable[[int, int], Iterable[Token]]
) -> list[Token]:
    """The tokens that `find` returns for each chunk of lines, in pieces of one line."""
    data, found = document.data, list[Token]()
    row, last = document.row(start), document.row(end)
    while row <= last and len(found) < limit:
        first, lines_end = document.line_span(row)[0], document.line_span(min(row + _LINES - 1, last))[1]
        first, lines_end = max(start, first), min(end, lines_end)
        for token in find(first, lines_end):
            pieces = [token]
            if _LINE_END.search(data, token.start, token.end):
                spans = (piece.span() for piece in _PIECE.finditer(data, token.start, token.end))
                pieces = [token._replace(start=piece_start, end=piece_end) for piece_start, piece_end in spans]
            found += [piece for piece in pieces if first < piece.end and piece.start < lines_end]
        row += _LINES
    return found[:limit]


# ---------------------------------------------------------------- dump files


def _in_dump(analysis: Analysis, file: DumpFile, start: int, end: int) -> Iterator[Token]:
    found = words(file.document.data, file.columns, start, end)
    meanings = _meanings(analysis, file, [word for word in found if word[0] in _NAMES])
    for kind, word_start, word_end in found:
        is_value, is_definition, is_live_at_peak = next(meanings) if kind in _NAMES else _NOTHING
        token_type = TokenType.VALUE if is_value else _DUMP_TYPES.get(kind)
        if token_type is not None:
            yield Token(word_start, word_end, token_type, is_definition, is_live_at_peak)


def _meanings(analysis: Analysis, file: DumpFile, names: list[Word]) -> Iterator[tuple[bool, bool, bool]]:
    """For each name whether it refers to a value, defines it, and is live at the peak."""
    starts, ends = np.array([word[1:] for word in names], np.int64).reshape(-1, 2).T
    value, is_definition = _named_values(analysis.dump, file, starts, ends)
    is_value = value != NONE
    is_live = np.zeros(len(names), np.bool_)
    is_live[is_value] = live_at_peak(analysis.dump, analysis.memory, value[is_value])
    return zip(is_value.tolist(), is_definition.tolist(), is_live.tolist(), strict=True)


_Meaning: TypeAlias = tuple[Column, NDArray[np.bool_] | bool]
"""For each of some names its value, and whether it is a definition."""


def _named_values(dump: DumpSet, file: DumpFile, starts: Column, ends: Column) -> tuple[Column, NDArray[np.bool_]]:
    """The value that each name or allocation index at bytes `starts` to `ends` of a file means, NONE if none, and
    whether it is a definition: `mention_at` for many names at once. Allocations are defined in their headers, values in
    their headers among the used values or else in their rows of the allocation, other instructions in the schedule.
    Names in an instruction start with `%`.
    """
    value, is_definition = np.full(len(starts), NONE), np.zeros(len(starts), np.bool_)
    for table, look_up in _tables(dump, file):
        rows = table.start.searchsorted(starts, "right") - 1
        inside = np.flatnonzero(ends <= taken(table.end, rows))
        if len(inside):
            value[inside], is_definition[inside] = look_up(dump, rows[inside])
    if file is dump.used:
        quoted = np.flatnonzero(np.frombuffer(file.document.data, np.uint8)[starts] == ord("%"))
        spans = zip((starts[quoted] + 1).tolist(), ends[quoted].tolist(), strict=True)
        names = [dump.name_number(file.document.data[start:end]) for start, end in spans]
        value[quoted] = _of_instruction(dump, np.array(names, np.int64))
    return value, is_definition


def _tables(dump: DumpSet, file: DumpFile) -> Iterator[tuple[Table, Callable[[DumpSet, Column], _Meaning]]]:
    """The tables of a file with one name in each row, and functions that look the names of rows up."""
    if file is dump.assignment:
        yield dump.allocations, lambda _dump, rows: (np.full(len(rows), NONE), True)
        yield dump.slices, _slices
    if file is dump.used:
        yield dump.used_values, lambda dump, rows: (dump.value_of_used_value[rows], True)
        yield dump.positions, _positions
        yield dump.uses, lambda dump, rows: (_of_instruction(dump, dump.uses.name[rows]), False)
    if file is dump.live:
        yield dump.schedule, _schedule
        yield dump.live_ranges, lambda dump, rows: (dump.value_of_live_range[rows], False)
        yield dump.peak_buffers, _peak_buffers
        yield dump.stack_traces, _stack_traces


def _of_instruction(dump: DumpSet, name: Column) -> Column:
    return dump.values_at(name, np.full(len(name), NONE))


def _slices(dump: DumpSet, rows: Column) -> _Meaning:
    value = dump.value_of_slice[rows]
    return value, taken(dump.values.used_value, value) == NONE


def _positions(dump: DumpSet, rows: Column) -> _Meaning:
    table = dump.positions
    value = taken(dump.value_of_used_value, table.value[rows])
    return np.where(value != NONE, value, dump.values_at(table.name[rows], table.index[rows])), False


def _schedule(dump: DumpSet, rows: Column) -> _Meaning:
    value = _of_instruction(dump, dump.schedule.name[rows])
    return value, value == NONE


def _peak_buffers(dump: DumpSet, rows: Column) -> _Meaning:
    value = dump.value_of_peak_buffer[rows]
    return np.where(value != NONE, value, _of_instruction(dump, dump.peak_buffers.name[rows])), False


def _stack_traces(dump: DumpSet, rows: Column) -> _Meaning:
    table, data = dump.stack_traces, dump.live.document.data if dump.live else b""
    spans = zip(table.name_start[rows].tolist(), table.name_end[rows].tolist(), strict=True)
    name, index = zip(*(position_of(dump, data[start:end]) for start, end in spans), strict=True)
    return dump.values_at(np.array(name, np.int64), np.array(index, np.int64)), False


_NOTHING: Final = (False, False, False)
_NAMES: Final = frozenset(("name", "frame_name", "allocation_index"))
"""The tokens that may be mentions in the dump."""

_WORDS: Final = {
    TokenType.SECTION: (
        "BufferAssignment",
        "Used values",
        "HloLiveRange",
        "InstructionSequence",
        "BufferLiveRange",
        "Live ranges at",
        "peak",
        "Stack trace breakdown for peak usage",
        "Total bytes used",
        "Total bytes",
        "Memory Space",
        "Allocations sorted by size",
        "Allocations sorted by size with their values",
        "*** Begin",
        "*** End",
        "***",
    ),
    TokenType.KEYWORD: (
        "allocation",
        "value",
        "positions",
        "uses",
        "none",
        "from instruction",
        "reused by buffers of a different color",
        "The rest",
    ),
    TokenType.PROPERTY: (
        *("max", "size", "offset", "color", "page", "parameter", "shape", "at ShapeIndex", "output shape is"),
        *("operand", "bytes", "cumulative", "total", "current", "remaining"),
    ),
}
_KINDS: Final = {
    TokenType.PROPERTY: ("key",),
    TokenType.ALLOCATION: ("allocation_index",),
    TokenType.INSTRUCTION: ("name",),
    TokenType.STEP: ("step",),
    TokenType.NUMBER: ("value_id", "integer", "grouped_integer", "human_size", "percent", "address", "index"),
    TokenType.SHAPE: ("shape", "shapes"),
    TokenType.OPCODE: ("opcode",),
    TokenType.KIND: ("kind", "phi"),
    TokenType.STRING: ("frame_name", "string", "space_name", "filename"),
    TokenType.COMMENT: ("columns", "rule", "unavailable"),
}
_DUMP_TYPES: Final = {
    **{f'"{word}"': token_type for token_type, words in _WORDS.items() for word in words},
    **{kind: token_type for token_type, kinds in _KINDS.items() for kind in kinds},
}
"""The token type of each kind of syntax node."""

# ---------------------------------------------------------------- HLO modules


def _in_module(analysis: Analysis, module: HloModule, start: int, end: int) -> Iterator[Token]:
    data, key, found = module.data, b"", list[Token]()
    for kind, word_start, word_end in module_words(module.file.document, module.columns, start, end):
        token_type = _MODULE_TYPES.get(kind) or _type_of_name(module, data[word_start:word_end], key)
        if kind == "key":
            key = data[word_start:word_end]
        elif kind in _DEFINITIONS:
            key = b""
        if token_type is not None:
            found.append(Token(word_start, word_end, token_type, kind in _DEFINITIONS))
    names = [data[token.start : token.end] if token.type is TokenType.INSTRUCTION else b"" for token in found]
    is_live = _live(analysis, list(dict.fromkeys(filter(None, names))))
    for token, name in zip(found, names, strict=True):
        if name in is_live:
            yield Token(token.start, token.end, TokenType.VALUE, token.is_definition, is_live[name])
        else:
            yield token


def _type_of_name(module: HloModule, name: bytes, key: bytes) -> TokenType | None:
    """The type of a name behind an attribute key, None for a word that is no name."""
    bare = name.removeprefix(b"%")
    is_computation = module.computation_rows.row(bare) != NONE
    if is_computation and key in CALLING_ATTRIBUTES:
        return TokenType.COMPUTATION
    if bare is not name or module.operand(bare)[0] != NONE:
        return TokenType.INSTRUCTION
    return TokenType.COMPUTATION if is_computation else None


def _live(analysis: Analysis, names: list[bytes]) -> Mapping[bytes, bool]:
    """For each name that has values whether any of them is live at the peak."""
    dump = analysis.dump
    positions = [operand_position(name.removeprefix(b"%")) for name in names]
    name = np.array([dump.name_number(name) for name, _ in positions], np.int64)
    index = np.array([dump.index_number(index) if index else _WHOLE for _, index in positions], np.int64)
    # The values of a name are side by side, in the order of their indices.
    keys, values = dump.position_map
    is_whole, width = index == _WHOLE, len(dump.indices)
    first = keys.searchsorted(name * width + np.where(is_whole, 0, index))
    last = keys.searchsorted(name * width + np.where(is_whole, width, index + 1))
    count = np.where((name != NONE) & (index != NONE), last - first, 0)
    of_name = np.repeat(np.arange(len(names)), count)
    shown = values[(first - count.cumsum() + count)[of_name] + np.arange(len(of_name))]
    is_live = np.bincount(of_name, live_at_peak(dump, analysis.memory, shown), len(names)) > 0
    return {names[number]: bool(is_live[number]) for number in np.flatnonzero(count).tolist()}


_WHOLE: Final = -2
"""In place of the number of an index: the name stands for all values of the instruction."""

_DEFINITIONS: Final = frozenset(("instruction", "computation"))
_MODULE_TYPES: Final = {
    "keyword": TokenType.KEYWORD,
    "module": TokenType.SECTION,
    "table": TokenType.SECTION,
    "computation": TokenType.COMPUTATION,
    "instruction": TokenType.INSTRUCTION,
    "shape": TokenType.SHAPE,
    "opcode": TokenType.OPCODE,
    "key": TokenType.PROPERTY,
    "string": TokenType.STRING,
    "number": TokenType.NUMBER,
    "comment": TokenType.COMMENT,
}
"""The token type by the kind of a word. A kind without an entry may be a name."""
