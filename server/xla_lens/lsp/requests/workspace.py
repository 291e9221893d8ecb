"""Requests about all dump sets of the workspace."""

import asyncio
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from lsprotocol import types as lsp

from xla_lens.features.workspace_symbols import WorkspaceSymbol, search
from xla_lens.lsp.index import IndexedSet
from xla_lens.lsp.sync import uri_of
from xla_lens.lsp.threads import in_thread
from xla_lens.model.summary import EntryKind
from xla_lens.render.workspace_symbols import container_text, parse_query

if TYPE_CHECKING:
    from xla_lens.lsp.server import XlaLensServer

SYMBOL_LIMIT: Final = 500
"""What is found, at most: people look at the first few, and type on."""

_PERIOD: Final = 0.3
"""Seconds between parts of a result."""

_KINDS: Final = {
    EntryKind.MODULE: lsp.SymbolKind.Module,
    EntryKind.ALLOCATION: lsp.SymbolKind.Array,
    EntryKind.VALUE: lsp.SymbolKind.Variable,
}


async def find_symbols(server: "XlaLensServer", params: lsp.WorkspaceSymbolParams) -> list[lsp.WorkspaceSymbol]:
    """What is found by name, size and what it is."""
    reading = asyncio.ensure_future(server.index.read())
    told: set[Path] = set()
    left = SYMBOL_LIMIT
    try:
        while params.partial_result_token is not None and not reading.done():
            await asyncio.wait([reading], timeout=_PERIOD)
            found = {stem: one for stem, one in (await server.index.sets()).items() if stem not in told}
            if found and not reading.done():
                told |= found.keys()
                # The biggest sets come last: there has to be room for them.
                part = await _search(server, found.values(), params.query, left // 2)
                left -= len(part)
                if part:
                    server.send_part(params.partial_result_token, part)
        await reading
    finally:
        # Others may wait for the same.
        reading.cancel()
    rest = (one for stem, one in (await server.index.sets()).items() if stem not in told)
    return await _search(server, rest, params.query, left)


async def _search(
    server: "XlaLensServer", sets: Iterable[IndexedSet], query: str, limit: int
) -> list[lsp.WorkspaceSymbol]:
    summaries = [one.summary for one in sets]
    found = await in_thread(search, summaries, parse_query(query), limit)
    if found.is_cut:
        server.tell_cut(lsp.WORKSPACE_SYMBOL, "", f"the best {SYMBOL_LIMIT:,} of what is found are shown")
    uris = {opened.path: opened.uri for state in server.session.sets for opened in state.open.values()}
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
