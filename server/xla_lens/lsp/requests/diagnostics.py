"""`textDocument/diagnostic` and `workspace/diagnostic`, for editors that pull what `Publisher` would send to others."""

from lsprotocol import types as lsp

from xla_lens.lsp.state import State


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
