"""Semantic tokens of an HLO module.

The token of a name says whether the instruction has values in the dump, whether the name is defined there, and whether
any of the values is live at the peak of its memory space.
"""

import re
from collections.abc import Mapping
from typing import Final

import numpy as np

from xla_lens.model.analysis import Analysis
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.memory.over_time import live_at_peak
from xla_lens.model.places.tokens import Token, TokenType
from xla_lens.syntax.columns import NONE
from xla_lens.syntax.hlo.lexical import CALLING_ATTRIBUTES, operand_position
from xla_lens.syntax.hlo.words import module_words

_LINES: Final = 256
"""Lines tokenized at once, so that a limit ends the work early."""

_PIECE: Final = re.compile(rb"[^\r\n]+")


def tokens(analysis: Analysis, module: HloModule, start: int, end: int, limit: int) -> list[Token]:
    """Return the first `limit` tokens that touch bytes `start` to `end` of a module. No token spans lines. A long
    instruction has tokens in its first part only.
    """
    document, found = module.file.document, list[Token]()
    row, last = document.row(start), document.row(end)
    while row <= last and len(found) < limit:
        first, lines_end = document.line_span(row)[0], document.line_span(min(row + _LINES - 1, last))[1]
        words = _between(module, max(start, first), min(end, lines_end))[: limit - len(found)]
        _mark_values(analysis, module, words)
        found += words
        row += _LINES
    return found


def _between(module: HloModule, start: int, end: int) -> list[Token]:
    """The tokens that touch some bytes, before names of instructions are matched with values."""
    data, key, found = module.data, b"", list[Token]()
    for kind, word_start, word_end in module_words(module.file.document, module.columns, start, end):
        token_type = _TYPES.get(kind) or _type_of_name(module, data[word_start:word_end], key)
        if kind == "key":
            key = data[word_start:word_end]
        elif kind in _DEFINITIONS:
            key = b""
        if token_type is None:
            continue
        if kind in _OVER_LINES and _has_line_end(data, word_start, word_end):
            pieces = [piece.span() for piece in _PIECE.finditer(data, word_start, word_end)]
            found += [Token(piece_start, piece_end, token_type) for piece_start, piece_end in pieces]
        else:
            found.append(Token(word_start, word_end, token_type, kind in _DEFINITIONS))
    return [token for token in found if start < token.end and token.start < end]


def _has_line_end(data: bytes, start: int, end: int) -> bool:
    return data.find(b"\n", start, end) >= 0 or data.find(b"\r", start, end) >= 0


def _type_of_name(module: HloModule, name: bytes, key: bytes) -> TokenType | None:
    """The type of a name behind an attribute key, None for a word that is no name."""
    bare = name.removeprefix(b"%")
    is_computation = bare in module.computation_rows
    if is_computation and key in CALLING_ATTRIBUTES:
        return TokenType.COMPUTATION
    if bare is not name or module.operand(bare)[0] != NONE:
        return TokenType.INSTRUCTION
    return TokenType.COMPUTATION if is_computation else None


def _mark_values(analysis: Analysis, module: HloModule, found: list[Token]) -> None:
    """Mark the names of instructions that have values, and those live at the peak."""
    data = module.data
    rows = [row for row, token in enumerate(found) if token.type is TokenType.INSTRUCTION]
    names = [data[found[row].start : found[row].end] for row in rows]
    is_live = _live(analysis, list(dict.fromkeys(names)))
    for row, name in zip(rows, names, strict=True):
        if name in is_live:
            start, end, _, is_definition, _ = found[row]
            found[row] = Token(start, end, TokenType.VALUE, is_definition, is_live[name])


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
_OVER_LINES: Final = frozenset(("string", "shape", "comment"))
_TYPES: Final = {
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
