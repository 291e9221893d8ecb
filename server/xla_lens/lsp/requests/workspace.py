"""`workspace/symbol`."""

import asyncio
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from lsprotocol import types as lsp

from xla_lens.features.workspace_symbols import WorkspaceSymbol, search
from xla_lens.lsp.index import IndexedSet
from xla_lens.lsp.state import State
from xla_lens.lsp.tasks import in_thread
from xla_lens.lsp.uris import uri_of
from xla_lens.model.summary import EntryKind
from xla_lens.render.workspace_symbols import container_text, parse_query

SYMBOL_LIMIT: Final = 500
"""Maximum number of symbols. Users look at the first few and continue to type."""

_PERIOD: Final = 0.3
"""Seconds between two partial results."""

_KINDS: Final = {
    EntryKind.MODULE: lsp.SymbolKind.Module,
    EntryKind.ALLOCATION: lsp.SymbolKind.Array,
    EntryKind.VALUE: lsp.SymbolKind.Variable,
}


async def workspace_symbol(state: State, params: lsp.WorkspaceSymbolParams) -> list[lsp.WorkspaceSymbol]:
    """Modules, allocations and values of the workspace by name, size and kind. While sets are being read, those read so
    far are searched and sent as partial results.
    """
    reading = asyncio.ensure_future(state.index.update())
    searched: set[Path] = set()
    left = SYMBOL_LIMIT
    try:
        while params.partial_result_token is not None and not reading.done():
            await asyncio.wait([reading], timeout=_PERIOD)
            found = {key: one for key, one in (await state.index.sets()).items() if key not in searched}
            if found and not reading.done():
                searched |= found.keys()
                # Leave room for later sets: the biggest ones come last.
                part = await _search(state, found.values(), params.query, left // 2)
                left -= len(part)
                if part:
                    state.client.send_partial_result(params.partial_result_token, part)
        await reading
    finally:
        # Cancels this wait only: other requests may wait for the same pass.
        reading.cancel()
    rest = (one for key, one in (await state.index.sets()).items() if key not in searched)
    return await _search(state, rest, params.query, left)


async def _search(state: State, sets: Iterable[IndexedSet], query: str, limit: int) -> list[lsp.WorkspaceSymbol]:
    summaries = [one.summary for one in sets]
    found = await in_thread(search, summaries, parse_query(query), limit)
    if found.is_truncated:
        state.report_truncated(lsp.WORKSPACE_SYMBOL, "", f"only the best {SYMBOL_LIMIT:,} matches are shown")
    uris = state.sets.uris
    return [_symbol(symbol, uris) for symbol in found.symbols]


def _symbol(symbol: WorkspaceSymbol, uris: Mapping[Path, str]) -> lsp.WorkspaceSymbol:
    path = Path(symbol.label)
    start, end = (lsp.Position(symbol.row, column) for column in (symbol.start_column, symbol.end_column))
    return lsp.WorkspaceSymbol(
        location=lsp.Location(uris.get(path) or uri_of(path), lsp.Range(start, end)),
        name=symbol.name,
        kind=_KINDS[symbol.kind],
        container_name=container_text(symbol),
    )
