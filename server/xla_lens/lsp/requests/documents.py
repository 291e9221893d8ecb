"""Requests about a document as a whole, or about some lines of it."""

from collections.abc import Sequence
from typing import Final

from lsprotocol import types as lsp

from xla_lens.features.hints import hints
from xla_lens.features.symbols import document_symbols
from xla_lens.lsp.requests.context import Context

SYMBOL_LIMIT: Final = 1_000
"""Entries below one part of an outline, at most: editors draw all of it at once."""

HINT_LIMIT: Final = 10_000
"""Hints of each kind in one answer, at most."""


def list_symbols(
    context: Context, _params: lsp.DocumentSymbolParams
) -> Sequence[lsp.DocumentSymbol] | Sequence[lsp.SymbolInformation]:
    """The outline."""
    symbols = document_symbols(context.analysis.dump, context.member, SYMBOL_LIMIT)
    if context.client.has_nested_symbols:
        return [context.convert.symbol(context.member, symbol) for symbol in symbols]
    return [flat for symbol in symbols for flat in context.convert.flat_symbols(context.member, symbol, None)]


def show_hints(context: Context, params: lsp.InlayHintParams) -> list[lsp.InlayHint] | None:
    """What the dump leaves unsaid, beside its lines."""
    if not context.settings.inlay_hints:
        return None
    start, end = context.offset(params.range.start), context.offset(params.range.end)
    found = hints(context.analysis, context.member, start, end, HINT_LIMIT)
    return [context.convert.hint(context.member, hint) for hint in found]
