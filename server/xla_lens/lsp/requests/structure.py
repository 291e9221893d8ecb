"""Requests about how a document is built: what can be folded, what surrounds a place, what its words are."""

from collections.abc import Callable
from typing import Final

import numpy as np
from lsprotocol import types as lsp

from xla_lens.features.folding import folds
from xla_lens.features.selection import selection
from xla_lens.features.tokens import tokens
from xla_lens.lsp.methods import TOKEN_TYPES
from xla_lens.lsp.plain import Json, Plain
from xla_lens.lsp.requests.context import Context
from xla_lens.model.places.tokens import Token, TokenType

FOLD_LIMIT: Final = 5_000
"""What can be folded, at most, where the editor does not set a limit."""

TOKEN_LIMIT: Final = 20_000
"""Words in one answer, at most."""

POSITION_LIMIT: Final = 1_000
"""Cursors of one request around which something is looked for, at most."""

NESTING_LIMIT: Final = 100
"""Selections in each other, at most: parentheses can be as deep as a text is long."""


def list_folds(context: Context, _params: lsp.FoldingRangeParams) -> Plain:
    """What can be folded, the biggest first if it is too much."""
    return shown_folds(context, [(fold.start, fold.end) for fold in folds(context.file, fold_limit(context))])


def fold_limit(context: Context) -> int:
    """What can be folded in one document, at most."""
    return min(context.client.folding_limit or FOLD_LIMIT, FOLD_LIMIT)


def shown_folds(context: Context, found: list[tuple[int, int]]) -> Plain:
    """What can be folded, from the line of one byte to that of another."""
    limit = fold_limit(context)
    if len(found) == limit:
        context.told_cut(f"the {limit:,} biggest folds are shown")
    starts, _ = context.convert.positions(context.file, [start for start, _ in found])
    ends, _ = context.convert.positions(context.file, [end for _, end in found])
    return Plain([{"startLine": start, "endLine": end} for start, end in zip(starts, ends, strict=True) if start < end])


def widen_selections(context: Context, params: lsp.SelectionRangeParams) -> Plain:
    """What surrounds each of some places, from the word to the whole file."""
    return shown_selections(context, params, lambda offset: selection(context.file, offset, NESTING_LIMIT))


def shown_selections(
    context: Context, params: lsp.SelectionRangeParams, find: Callable[[int], list[tuple[int, int]]]
) -> Plain:
    """For each of some places the spans that are found around it, from the smallest on."""
    found = [_widen(context, position, find) for position in params.positions[:POSITION_LIMIT]]
    # Each has to have an answer.
    return Plain([*found, *map(_nothing, params.positions[POSITION_LIMIT:])])


def _widen(context: Context, position: lsp.Position, find: Callable[[int], list[tuple[int, int]]]) -> Json:
    found: Json = {}
    spans = find(context.offset(position))
    for where in reversed(context.convert.ranges(context.file, spans)):
        found = {"range": where, "parent": found} if found else {"range": where}
    return found or _nothing(position)


def _nothing(position: lsp.Position) -> Json:
    place = {"line": position.line, "character": position.character}
    return {"range": {"start": place, "end": place}}


def colour_words(context: Context, params: lsp.SemanticTokensRangeParams) -> lsp.SemanticTokens:
    """The words of some lines with what they are."""
    start, end = context.offset(params.range.start), context.offset(params.range.end)
    return shown_words(context, tokens(context.analysis, context.file, start, end, TOKEN_LIMIT + 1))


def shown_words(context: Context, found: list[Token]) -> lsp.SemanticTokens:
    """The first of some words of the document, each told from the one before."""
    found = context.cut(found, TOKEN_LIMIT, "words with colours")
    offsets = [offset for token in found for offset in (token.start, token.end)]
    (row, end_row), (column, end_column) = (
        np.array(numbers, np.int64).reshape(-1, 2).T for numbers in context.convert.positions(context.file, offsets)
    )
    down = np.diff(row, prepend=0)
    right = np.where(down == 0, np.diff(column, prepend=0), column)
    # What an edit has torn apart is nothing for now.
    width = np.where(end_row == row, end_column - column, 0)
    types = [_TYPES[token.type] for token in found]
    modifiers = [_IS_DEFINITION * token.is_definition | _IS_LIVE_AT_PEAK * token.is_live_at_peak for token in found]
    return lsp.SemanticTokens(np.array((down, right, width, types, modifiers), np.int64).T.ravel().tolist())


_IS_DEFINITION: Final = 1
_IS_LIVE_AT_PEAK: Final = 2
_TYPES: Final = {
    kind: TOKEN_TYPES.index(shown)
    for kind, shown in {
        TokenType.SECTION: lsp.SemanticTokenTypes.Namespace,
        TokenType.KEYWORD: lsp.SemanticTokenTypes.Keyword,
        TokenType.PROPERTY: lsp.SemanticTokenTypes.Property,
        TokenType.ALLOCATION: lsp.SemanticTokenTypes.Class,
        TokenType.VALUE: lsp.SemanticTokenTypes.Variable,
        TokenType.INSTRUCTION: lsp.SemanticTokenTypes.Function,
        TokenType.COMPUTATION: lsp.SemanticTokenTypes.Class,
        TokenType.STEP: lsp.SemanticTokenTypes.Number,
        TokenType.NUMBER: lsp.SemanticTokenTypes.Number,
        TokenType.SHAPE: lsp.SemanticTokenTypes.Type,
        TokenType.OPCODE: lsp.SemanticTokenTypes.Macro,
        TokenType.KIND: lsp.SemanticTokenTypes.EnumMember,
        TokenType.STRING: lsp.SemanticTokenTypes.String,
        TokenType.COMMENT: lsp.SemanticTokenTypes.Comment,
    }.items()
}
