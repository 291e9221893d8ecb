"""The structure of a document: outline, folding ranges, selection ranges and semantic tokens."""

from typing import Final

from lsprotocol import types as lsp

from xla_lens.editor.structure import document_symbols, folds, selection
from xla_lens.editor.tokens import tokens
from xla_lens.lsp.capabilities import TOKENS
from xla_lens.lsp.converter import Json, RawJson
from xla_lens.lsp.snapshot import Snapshot

SYMBOL_LIMIT: Final = 1_000
"""Maximum number of children of one outline entry. Editors draw the whole outline at once."""

FOLD_LIMIT: Final = 5_000
"""Maximum number of folding ranges if the editor sets no limit."""

POSITION_LIMIT: Final = 1_000
"""Maximum number of positions of one request that get selection ranges."""

NESTING_LIMIT: Final = 100
"""Maximum depth of selection ranges. Parentheses can be nested as deeply as the text is long."""

TOKEN_LIMIT: Final = 5_000
"""Maximum number of semantic tokens in one answer."""


def document_symbol(snapshot: Snapshot, _params: lsp.DocumentSymbolParams) -> RawJson:
    """The outline of a dump file, or the computations of an HLO module and their instructions."""
    symbols = document_symbols(snapshot.dump, snapshot.module, snapshot.file, SYMBOL_LIMIT)
    # A truncated entry says so in its detail.
    return RawJson(snapshot.convert.symbols(snapshot.file, symbols))


def folding_range(snapshot: Snapshot, _params: lsp.FoldingRangeParams) -> RawJson:
    """The folding ranges of a dump file or an HLO module, the biggest ones if there are too many."""
    limit = min(snapshot.capabilities.get("text_document.folding_range.range_limit") or FOLD_LIMIT, FOLD_LIMIT)
    found = folds(snapshot.file, snapshot.module, limit)
    if len(found) == limit:
        snapshot.on_truncated(f"only the {limit:,} biggest folding ranges are shown")
    starts, _ = snapshot.convert.positions(snapshot.file, [start for start, _ in found])
    ends, _ = snapshot.convert.positions(snapshot.file, [end for _, end in found])
    return RawJson(
        [{"startLine": start, "endLine": end} for start, end in zip(starts, ends, strict=True) if start < end]
    )


def selection_range(snapshot: Snapshot, params: lsp.SelectionRangeParams) -> RawJson:
    """The selection ranges around each position of a dump file or an HLO module, from the word to the whole file."""
    found = [_selection_range(snapshot, position) for position in params.positions[:POSITION_LIMIT]]
    # The protocol requires a range for each position.
    return RawJson([*found, *map(_empty_range, params.positions[POSITION_LIMIT:])])


def _selection_range(snapshot: Snapshot, position: lsp.Position) -> Json:
    found: Json = {}
    spans = selection(snapshot.file, snapshot.module, snapshot.offset(position), NESTING_LIMIT)
    for where in reversed(snapshot.convert.ranges(snapshot.file, spans)):
        found = {"range": where, "parent": found} if found else {"range": where}
    return found or _empty_range(position)


def _empty_range(position: lsp.Position) -> Json:
    place = {"line": position.line, "character": position.character}
    return {"range": {"start": place, "end": place}}


def semantic_tokens_range(snapshot: Snapshot, params: lsp.SemanticTokensRangeParams) -> lsp.SemanticTokens:
    """The semantic tokens of some lines of a file: five numbers each, positions relative to the token before."""
    found = tokens(snapshot.analysis, snapshot.file, snapshot.span(params.range), TOKEN_LIMIT + 1)
    found = snapshot.truncate(found, TOKEN_LIMIT, "semantic tokens")
    (rows, columns), (end_rows, ends) = (
        snapshot.convert.positions(snapshot.file, offsets)
        for offsets in ([token.start for token in found], [token.end for token in found])
    )
    data: list[int] = []
    row_before = column_before = 0
    for token, row, column, end_row, end in zip(found, rows, columns, end_rows, ends, strict=True):
        # A token that an edit has deleted or split over several lines is not shown until the next analysis.
        if end_row == row and end > column:
            modifiers = _DEFINITION * token.is_definition | _LIVE_AT_PEAK * token.is_live_at_peak
            right = column - column_before if row == row_before else column
            data += (row - row_before, right, end - column, _TYPES[token.type], modifiers)
            row_before, column_before = row, column
    return lsp.SemanticTokens(data)


_DEFINITION: Final = 1 << TOKENS.token_modifiers.index("definition")
_LIVE_AT_PEAK: Final = 1 << TOKENS.token_modifiers.index("liveAtPeak")
_TYPES: Final = {name: number for number, name in enumerate(TOKENS.token_types)}
