"""Semantic tokens: names, numbers, shapes, and the words of the format itself.

A name also has modifiers: whether it refers to a value, defines it, and whether the value is live at the peak of its
memory space.
"""

import re
from collections.abc import Iterator
from typing import Final

import numpy as np

from xla_lens.model.analysis import Analysis
from xla_lens.model.memory.over_time import live_at_peak
from xla_lens.model.places.named_values import named_values
from xla_lens.model.places.tokens import Token, TokenType
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.syntax.columns import NONE
from xla_lens.syntax.excerpt import words
from xla_lens.syntax.hlo.words import Word


def tokens(analysis: Analysis, file: DumpFile, start: int, end: int, limit: int) -> list[Token]:
    """Return the first `limit` tokens of a file that overlap bytes `start` to `end`.

    A token never spans lines. Only the first part of a long instruction has tokens.
    """
    found: list[Token] = []
    document = file.document
    if not file.columns.has_rows():
        return found
    row, last = document.row(start), document.row(end)
    while row <= last and len(found) < limit:
        lines_end = document.line_span(min(row + _LINES - 1, last))[1]
        found += _between(analysis, file, max(start, document.line_span(row)[0]), min(end, lines_end))
        row += _LINES
    return found[:limit]


_LINES: Final = 256
"""Number of lines in a chunk: after the limit no further chunks are scanned."""


def _between(analysis: Analysis, file: DumpFile, start: int, end: int) -> Iterator[Token]:
    data = file.document.data
    found = words(data, file.columns, start, end)
    meanings = _meanings(analysis, file, [word for word in found if word[0] in _NAMES])
    for kind, word_start, word_end in found:
        is_value, is_definition, is_live_at_peak = next(meanings) if kind in _NAMES else _NOTHING
        token_type = TokenType.VALUE if is_value else _TYPES.get(kind)
        if token_type is None:
            continue
        spans = [(word_start, word_end)]
        if kind in _OVER_LINES and any(data.find(line_end, word_start, word_end) >= 0 for line_end in (b"\n", b"\r")):
            spans = [piece.span() for piece in _PIECE.finditer(data, word_start, word_end)]
        for token_start, token_end in spans:
            if start < token_end and token_start < end:
                yield Token(token_start, token_end, token_type, is_definition, is_live_at_peak)


def _meanings(analysis: Analysis, file: DumpFile, names: list[Word]) -> Iterator[tuple[bool, bool, bool]]:
    """For each name whether it refers to a value, defines it, and is live at the peak."""
    starts, ends = np.array([word[1:] for word in names], np.int64).reshape(-1, 2).T
    named = named_values(analysis.dump, file, starts, ends)
    is_value = named.value != NONE
    is_live = np.zeros(len(names), np.bool_)
    is_live[is_value] = live_at_peak(analysis.dump, analysis.memory, named.value[is_value])
    return zip(is_value.tolist(), named.is_definition.tolist(), is_live.tolist(), strict=True)


_NOTHING: Final = (False, False, False)
_NAMES: Final = frozenset(("name", "frame_name", "allocation_index"))
"""The tokens that may be mentions in the dump."""

_OVER_LINES: Final = frozenset(("frame_name", "string", "shape"))
_PIECE: Final = re.compile(rb"[^\r\n]+")

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
_TYPES: Final = {
    **{f'"{word}"': token_type for token_type, words in _WORDS.items() for word in words},
    **{kind: token_type for token_type, kinds in _KINDS.items() for kind in kinds},
}
"""The token type of each kind of syntax node."""
