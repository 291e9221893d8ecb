"""`workspace/symbol`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from lsprotocol import types as lsp

from xla_lens.features.workspace_symbols import WorkspaceSymbol, container_text, parse_query, search
from xla_lens.lsp.documents import OpenDocument
from xla_lens.lsp.state import State
from xla_lens.lsp.tasks import in_thread
from xla_lens.lsp.uris import uri_of
from xla_lens.model.summary import EntryKind

SYMBOL_LIMIT: Final = 500
"""Maximum number of symbols. Users look at the first few and continue to type."""

_KINDS: Final[Mapping[EntryKind, lsp.SymbolKind]] = {
    EntryKind.MODULE: lsp.SymbolKind.Module,
    EntryKind.ALLOCATION: lsp.SymbolKind.Array,
    EntryKind.VALUE: lsp.SymbolKind.Variable,
}


async def workspace_symbol(state: State, params: lsp.WorkspaceSymbolParams) -> list[lsp.WorkspaceSymbol]:
    """Modules, allocations and values of the workspace by name and size."""
    await state.index.update()
    summaries = [one.summary for one in (await state.index.sets()).values()]
    found = await in_thread(search, summaries, parse_query(params.query), SYMBOL_LIMIT)
    if found.is_truncated:
        state.report_truncated(lsp.WORKSPACE_SYMBOL, "", f"only the best {SYMBOL_LIMIT:,} matches are shown")
    opened = state.sets.documents
    return [
        lsp.WorkspaceSymbol(_location(one, opened), one.name, _KINDS[one.kind], container_name=container_text(one))
        for one in found.symbols
    ]


def _location(symbol: WorkspaceSymbol, opened: Mapping[Path, OpenDocument]) -> lsp.Location:
    path = Path(symbol.label)
    document = opened.get(path)
    start, end = (lsp.Position(symbol.row, column) for column in (symbol.start_column, symbol.end_column))
    return lsp.Location(document.uri if document else uri_of(path), lsp.Range(start, end))
