"""Semantic tokens of dump files and HLO modules: names, numbers, shapes, and the words of the format itself.

Their types are those of the protocol. A name of a value is a variable, that of an instruction without a value a
function, and that of an allocation or a computation a class. Shapes are types, opcodes macros, and headers namespaces.
A name also has modifiers: whether it declares what it means, and whether that is a value that is live at the peak of
its memory space. In a module, the name of an instruction stands for all values that the instruction has in the dump.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from xla_lens.model.analysis import Analysis
from xla_lens.model.hlo.mentions import HloInstruction, HloTarget, hlo_mention_at, meaning_of, values_of
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.memory.over_time import is_live_at_peak
from xla_lens.model.places.mentions import Value, is_declaration, mention_at
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.syntax.columns import NONE
from xla_lens.syntax.excerpt import words
from xla_lens.syntax.hlo.words import module_words
from xla_lens.syntax.tables import TOKEN_TYPES
from xla_lens.text.document import Document, Span
from xla_lens.text.patterns import lazy_pattern


class Token(Struct, frozen=True):
    """A token from byte `start` to `end`. `type` is that of the protocol. `is_definition` is whether the token declares
    its value, allocation, instruction or computation. `is_live_at_peak` is whether the value is live at the peak of its
    memory space.
    """

    start: int
    end: int
    type: str
    is_definition: bool = False
    is_live_at_peak: bool = False


def tokens(analysis: Analysis, file: DumpFile, span: Span, limit: int) -> list[Token]:
    """Return the first `limit` tokens of a file that overlap some bytes.

    A token never spans lines. Only the first part of a long instruction has tokens.
    """
    if module := analysis.module_in(file):
        return _by_chunks(file.document, span, limit, lambda first, last: _in_module(analysis, module, first, last))
    if not file.columns.has_rows():
        return []
    return _by_chunks(file.document, span, limit, lambda first, last: _in_dump(analysis, file, first, last))


_LINES: Final = 256
"""Number of lines in a chunk: after the limit no further chunks are scanned."""

_LINE_END: Final = lazy_pattern(rb"[\r\n]")
_PIECE: Final = lazy_pattern(rb"[^\r\n]+")


def _by_chunks(document: Document, span: Span, limit: int, find: Callable[[int, int], Iterable[Token]]) -> list[Token]:
    """The tokens that `find` returns for each chunk of lines, in pieces of one line."""
    data, found, (start, end) = document.data, list[Token](), span
    row, last = document.row(start), document.row(end)
    while row <= last and len(found) < limit:
        first, lines_end = document.line_span(row)[0], document.line_span(min(row + _LINES - 1, last))[1]
        first, lines_end = max(start, first), min(end, lines_end)
        for token in find(first, lines_end):
            pieces = [token]
            if _LINE_END.search(data, token.start, token.end):
                spans = (piece.span() for piece in _PIECE.finditer(data, token.start, token.end))
                pieces = [replace(token, start=piece_start, end=piece_end) for piece_start, piece_end in spans]
            found += [piece for piece in pieces if first < piece.end and piece.start < lines_end]
        row += _LINES
    return found[:limit]


# ---------------------------------------------------------------- dump files


def _in_dump(analysis: Analysis, file: DumpFile, start: int, end: int) -> Iterator[Token]:
    dump, memory = analysis.dump, analysis.memory
    for kind, first, last in words(file.document, file.columns, start, end):
        mention = mention_at(dump, file, first) if kind in _NAMES else None
        value = mention.target.row if mention and isinstance(mention.target, Value) else NONE
        token_type = "variable" if value != NONE else _TYPES.get(kind)
        if token_type is not None:
            is_definition = mention is not None and is_declaration(mention.target, mention.role)
            yield Token(first, last, token_type, is_definition, value != NONE and is_live_at_peak(dump, memory, value))


_NAMES: Final = frozenset(("name", "instruction", "frame_name", "allocation_index"))
"""The tokens that may be mentions in the dump."""

_TYPES: Final = {
    **TOKEN_TYPES,
    "module": "namespace",
    "table": "namespace",
    "keyword": "keyword",
    "key": "property",
    "computation": "class",
    "instruction": "function",
    "number": "number",
    "opcode": "macro",
    "string": "string",
    "comment": "comment",
}
"""The token type by the kind of a word of a dump, or of one in HLO text. In a module, other kinds may be names."""

# ---------------------------------------------------------------- HLO modules


def _in_module(analysis: Analysis, module: HloModule, start: int, end: int) -> Iterator[Token]:
    is_live: dict[HloTarget, bool | None] = {}
    for kind, first, last in module_words(module.file.document, module.columns, start, end):
        token_type, is_marked = _TYPES.get(kind, "function"), False
        if token_type == "function":
            mention = hlo_mention_at(module, first)
            if mention is None or not mention.start <= first < mention.end:
                continue
            token_type = "class"
            if isinstance(mention.target, HloInstruction):
                if mention.target not in is_live:
                    is_live[mention.target] = _is_live(analysis, module, mention.target)
                token_type = "function" if is_live[mention.target] is None else "variable"
                is_marked = is_live[mention.target] is True
        yield Token(first, last, token_type, kind in ("instruction", "computation"), is_marked)


def _is_live(analysis: Analysis, module: HloModule, target: HloInstruction) -> bool | None:
    """Whether any value of an instruction, or of an element of it, is live at the peak. None if there is no value."""
    dump, name = analysis.dump, module.name(target.row)
    meaning = meaning_of(dump, name, target.index)
    values = [meaning.row] if isinstance(meaning, Value) else []
    values = values if target.index else values_of(dump, name)
    return any(is_live_at_peak(dump, analysis.memory, value) for value in values) if values else None
