"""`workspace/symbol`, the same search as a command, and diagnostics for editors that pull them."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, Literal

from lsprotocol import types as lsp

from xla_lens.editor.workspace_symbols import WorkspaceSymbol, container_text, parse_query, search
from xla_lens.lsp.converter import to_json
from xla_lens.lsp.documents import OpenDocuments, uri_in
from xla_lens.lsp.requests.arguments import Arguments
from xla_lens.lsp.state import State
from xla_lens.lsp.tasks import in_thread
from xla_lens.model.attribution.frames import Origins
from xla_lens.model.places.mentions import Mention, Value, mention_at
from xla_lens.model.summary import EntryKind
from xla_lens.model.warrants import Quantity
from xla_lens.syntax.columns import NONE
from xla_lens.text.positions import to_offset
from xla_lens.words import contract
from xla_lens.words.sources import call_text

SYMBOL_LIMIT: Final = 500
"""Maximum number of symbols. Users look at the first few and continue to type."""

_FIND_LIMIT: Final = 100
"""Maximum number of matches of the command, unless the client asks for another."""

_KINDS: Final[Mapping[EntryKind, tuple[lsp.SymbolKind, Literal["module", "allocation", "value"]]]] = {
    EntryKind.MODULE: (lsp.SymbolKind.Module, "module"),
    EntryKind.ALLOCATION: (lsp.SymbolKind.Array, "allocation"),
    EntryKind.VALUE: (lsp.SymbolKind.Variable, "value"),
}


async def workspace_symbol(state: State, params: lsp.WorkspaceSymbolParams) -> list[lsp.WorkspaceSymbol]:
    """Modules, allocations and values of the workspace by name and size."""
    await state.index.update()
    summaries = [indexed.summary for indexed in (await state.index.sets()).values()]
    found = await in_thread(search, summaries, parse_query(params.query), SYMBOL_LIMIT)
    if found.is_truncated:
        state.report_truncated(lsp.WORKSPACE_SYMBOL, "", f"only the best {SYMBOL_LIMIT:,} matches are shown")
    opened = state.sets.documents
    return [
        lsp.WorkspaceSymbol(
            _location(symbol, opened), symbol.name, _KINDS[symbol.kind][0], container_name=container_text(symbol)
        )
        for symbol in found.symbols
    ]


def _location(symbol: WorkspaceSymbol, opened: OpenDocuments) -> lsp.Location:
    start, end = (lsp.Position(symbol.row, column) for column in (symbol.start_column, symbol.end_column))
    return lsp.Location(uri_in(Path(symbol.label), opened), lsp.Range(start, end))


# ---------------------------------------------------------------- the command


async def find_values(arguments: Arguments) -> contract.FoundValues:
    """Return what a query finds in the sets that have been read so far, and start reading the others."""
    state, query, limit = arguments.state, parse_query(arguments.get("query", str, "")), arguments.number("limit")
    is_reading = state.index.start_reading()
    summaries = [indexed.summary for indexed in (await state.index.sets_now()).values()]
    found = await in_thread(search, summaries, query, _FIND_LIMIT if limit is None else limit)
    finders = [_source_of(state, symbol) for symbol in found.symbols]
    sources = await in_thread(lambda: [find() for find in finders])
    opened = state.sets.documents
    return {
        "is_reading": is_reading,
        "is_truncated": found.is_truncated,
        "found": [_found(symbol, source, opened) for symbol, source in zip(found.symbols, sources, strict=True)],
    }


def _source_of(state: State, symbol: WorkspaceSymbol) -> Callable[[], str]:
    """Return a function for a worker thread that returns the source line of a symbol, empty if it is unknown: that of a
    value of a set in memory.
    """
    path, encoding = Path(symbol.label), state.client.capabilities.encoding
    dump_set = state.sets.find_set(path) if symbol.kind is EntryKind.VALUE else None
    analysis, file = (dump_set.analysis, dump_set.file(path)) if dump_set else (None, None)
    if dump_set is None or analysis is None or file is None:
        return str
    dump, module = analysis.dump, analysis.module

    def source() -> str:
        match mention_at(dump, file, to_offset(file.document, symbol.row, symbol.start_column, encoding)):
            case Mention(Value(row)) if line := Origins(dump, module).of_value(row).line:
                return call_text(line)
        return ""

    return source


def _found(symbol: WorkspaceSymbol, source: str, opened: OpenDocuments) -> contract.FoundValue:
    is_exact = symbol.warrants.of(Quantity.LIVE).is_exact
    return {
        "kind": _KINDS[symbol.kind][1],
        "name": symbol.name,
        "module": symbol.module,
        "allocation_kind": symbol.allocation_kind,
        "space": symbol.space.name if symbol.space else "",
        "size_bytes": symbol.size_bytes if symbol.size_bytes != NONE else None,
        "peak_bytes": symbol.peak_bytes if is_exact and symbol.peak_bytes != NONE else None,
        "source": source,
        "location": to_json(_location(symbol, opened)),
    }


# ---------------------------------------------------------------- diagnostics


async def document_diagnostic(
    state: State, params: lsp.DocumentDiagnosticParams
) -> lsp.RelatedFullDocumentDiagnosticReport:
    """The diagnostics of an open document."""
    uri = params.text_document.uri
    if found := state.sets.find(uri):
        dump_set, path = found
        await dump_set.analysis_for(path)
        diagnostics, _ = state.published.get(dump_set.key, {}).get(uri, ([], None))
        return lsp.RelatedFullDocumentDiagnosticReport(diagnostics)
    return lsp.RelatedFullDocumentDiagnosticReport([])


async def workspace_diagnostic(state: State, _params: lsp.WorkspaceDiagnosticParams) -> lsp.WorkspaceDiagnosticReport:
    """The diagnostics of the sets with open documents; with `diagnostics.workspace` also those of all other sets."""
    for dump_set in state.sets.open:
        await dump_set.analysis_for(dump_set.path)
    found = [pair for by_uri in state.published.values() for pair in by_uri.items()]
    return lsp.WorkspaceDiagnosticReport(
        [lsp.WorkspaceFullDocumentDiagnosticReport(uri, shown, version) for uri, (shown, version) in found]
    )
