"""What the words of an HLO module are, for colours.

A name tells whether it means a value of the dump beside the module, whether it is defined there, and whether any value
that the instruction makes or shows is live at the peak of its memory space.
"""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

import numpy as np
from numpy.typing import NDArray

from xla_lens.model.analysis import Analysis
from xla_lens.model.dump_set import DumpSet
from xla_lens.model.hlo_mentions import CALLING
from xla_lens.model.hlo_module import HloModule, operand_position
from xla_lens.model.memory import live_at_peak
from xla_lens.model.tokens import Token, TokenType
from xla_lens.syntax.columns import NONE, Column
from xla_lens.syntax.excerpt import Part
from xla_lens.syntax.hlo_words import module_words

_LINES: Final = 256
"""How many lines are looked at in one go: a limit may make the rest needless."""

_PIECE: Final = re.compile(rb"[^\r\n]+")


def hlo_tokens(analysis: Analysis, module: HloModule, start: int, end: int, limit: int) -> list[Token]:
    """The words of a module that touch the bytes from `start` to `end`, the first `limit` of them. None goes over the
    end of a line. Of a long instruction only the first part is looked at.
    """
    document, found = module.member.document, list[Token]()
    row, last = document.row(start), document.row(end)
    while row <= last and len(found) < limit:
        first, lines_end = document.line_span(row)[0], document.line_span(min(row + _LINES - 1, last))[1]
        words = _between(module, max(start, first), min(end, lines_end))
        found += _with_values(analysis, module, list(islice(words, limit - len(found))))
        row += _LINES
    return found


def _between(module: HloModule, start: int, end: int) -> Iterator[Token]:
    """The words that touch some bytes, with an instruction for each name that means none of the computations."""
    data, key = module.data, b""
    for part in module_words(module.member.document, module.columns, start, end):
        if part.kind == "key":
            key = data[part.start : part.end]
        elif part.kind in _DEFINITIONS:
            key = b""
        token_type = _TYPES.get(part.kind) or _type_of_name(module, part, key)
        if token_type is None or part.end <= start or end <= part.start:
            continue
        is_definition = part.kind in _DEFINITIONS
        if part.kind not in _OVER_LINES or (data.find(b"\n", *part[1:]) < 0 and data.find(b"\r", *part[1:]) < 0):
            yield Token(part.start, part.end, token_type, is_definition)
            continue
        for piece in _PIECE.finditer(data, part.start, part.end):
            if start < piece.end() and piece.start() < end:
                yield Token(piece.start(), piece.end(), token_type)


def _type_of_name(module: HloModule, part: Part, key: bytes) -> TokenType | None:
    """What a name is that stands below some key, None for a word that is no name."""
    name = module.data[part.start : part.end]
    bare = name.removeprefix(b"%")
    is_computation = bare in module.computation_rows
    if is_computation and key in CALLING:
        return TokenType.COMPUTATION
    if name != bare or operand_position(bare)[0] in module.instruction_rows:
        return TokenType.INSTRUCTION
    return TokenType.COMPUTATION if is_computation else None


def _with_values(analysis: Analysis, module: HloModule, found: list[Token]) -> Iterator[Token]:
    """Words as they are, but that names of instructions are told by their values."""
    dump, data = analysis.dump, module.data
    names = [token for token in found if token.type is TokenType.INSTRUCTION]
    positions = [operand_position(data[name.start : name.end].removeprefix(b"%")) for name in names]
    numbers = np.array([dump.name_number(name) for name, _ in positions], np.int64)
    indices = np.array([dump.index_number(index) if index else NONE for _, index in positions], np.int64)
    numbers[(indices == NONE) & np.array([bool(index) for _, index in positions], np.bool_)] = NONE
    has_value, is_live = (iter(mask.tolist()) for mask in _values(analysis, dump, numbers, indices))
    for token in found:
        if token.type is not TokenType.INSTRUCTION:
            yield token
            continue
        token_type = TokenType.VALUE if next(has_value) else TokenType.INSTRUCTION
        yield Token(token.start, token.end, token_type, token.is_definition, next(is_live))


def _values(
    analysis: Analysis, dump: DumpSet, names: Column, indices: Column
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """For each name whether it has values, and whether any of them, or that at its index, is live at the peak."""
    keys, values = dump.position_map
    is_element, width = indices != NONE, len(dump.indices)
    first = keys.searchsorted(names * width + np.where(is_element, indices, 0))
    last = keys.searchsorted(np.where(is_element, names * width + indices + 1, (names + 1) * width))
    count = np.where(names != NONE, last - first, 0)
    rows = np.repeat(first - count.cumsum() + count, count) + np.arange(count.sum())
    is_live = live_at_peak(dump, analysis.memory, values[rows])
    live_counts = np.bincount(np.repeat(np.arange(len(names)), count), is_live, len(names))
    return count > 0, live_counts > 0


_DEFINITIONS: Final = frozenset(("definition", "computation"))
_OVER_LINES: Final = frozenset(("string", "shape", "comment"))
_TYPES: Final = {
    "keyword": TokenType.KEYWORD,
    "module": TokenType.SECTION,
    "table": TokenType.SECTION,
    "computation": TokenType.COMPUTATION,
    "definition": TokenType.INSTRUCTION,
    "shape": TokenType.SHAPE,
    "opcode": TokenType.OPCODE,
    "key": TokenType.PROPERTY,
    "string": TokenType.STRING,
    "number": TokenType.NUMBER,
    "comment": TokenType.COMMENT,
}
"""By the kind of a part what it is; what is missing may be a name."""
