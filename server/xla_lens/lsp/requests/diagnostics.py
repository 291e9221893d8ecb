"""Pull diagnostics: `textDocument/diagnostic` and `workspace/diagnostic`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final, TypeAlias

from lsprotocol import types as lsp

from xla_lens.lsp.dump_set_state import DumpSetState
from xla_lens.lsp.errors import DocumentClosed
from xla_lens.lsp.index import IndexedSet
from xla_lens.lsp.state import State

_PART: Final = 100
"""Number of files in one partial result."""

_Report: TypeAlias = lsp.RelatedFullDocumentDiagnosticReport | lsp.RelatedUnchangedDocumentDiagnosticReport
_WorkspaceReport: TypeAlias = lsp.WorkspaceFullDocumentDiagnosticReport | lsp.WorkspaceUnchangedDocumentDiagnosticReport


async def document_diagnostic(state: State, params: lsp.DocumentDiagnosticParams) -> _Report:
    """The diagnostics of an open document."""
    uri = params.text_document.uri
    try:
        await state.while_open(uri, _loaded(state, uri))
    except DocumentClosed:
        return lsp.RelatedFullDocumentDiagnosticReport([])
    # Taken again: an edit may have changed which files the output of XLA has.
    pairs = _sets_of(state, uri)
    if not pairs:
        return lsp.RelatedFullDocumentDiagnosticReport([])
    for dump_set, path in pairs:
        dump_set.record_answer(lsp.TEXT_DOCUMENT_DIAGNOSTIC, path)
    dump_set, _ = pairs[0]
    result_id = _result_id(state, dump_set, uri)
    if result_id == params.previous_result_id:
        return lsp.RelatedUnchangedDocumentDiagnosticReport(result_id)
    diagnostics = state.diagnostics(dump_set).get(uri, [])
    _record_pulled(state, uri, diagnostics)
    return lsp.RelatedFullDocumentDiagnosticReport(diagnostics, result_id=result_id)


def _sets_of(state: State, uri: str) -> list[tuple[DumpSetState, Path]]:
    """Return the sets of an open document, each with a file in the document."""
    output, found = state.sets.output(uri), state.sets.find(uri)
    return [(one, one.path) for one in state.sets.sets_of_output(output)] if output else [found] if found else []


async def _loaded(state: State, uri: str) -> None:
    """Wait until the diagnostics of a document are known."""
    for dump_set, path in _sets_of(state, uri):
        if lsp.WORKSPACE_DIAGNOSTIC_REFRESH in state.client.capabilities.refreshes:
            await dump_set.analysis_for(path)
        else:
            # The editor would never learn that the answer is stale.
            await dump_set.settled()


async def workspace_diagnostic(state: State, params: lsp.WorkspaceDiagnosticParams) -> lsp.WorkspaceDiagnosticReport:
    """The diagnostics of the sets with open documents; with `diagnostics.workspace` also those of all other sets."""
    previous = {result.uri: result.value for result in params.previous_result_ids}
    reports: dict[str, _WorkspaceReport] = {}
    indexed_sets: Mapping[Path, IndexedSet] = {}
    if state.settings.checks_workspace:
        await state.index.update(is_polling=True)
        indexed_sets = await state.index.sets()
        state.index.record_answer()
    for dump_set in state.sets.open:
        await dump_set.analysis_for(dump_set.path)
    open_keys = {dump_set.key for dump_set in state.sets.open}
    for key, indexed in indexed_sets.items():
        if key not in open_keys:
            result_id = f"{hash((*sorted(indexed.stamps.values()), state.settings)):x}"
            for uri, found in state.indexed_diagnostics(indexed).items():
                reports[uri] = _report(state, uri, found, result_id, previous)
    for dump_set in state.sets.open:
        # Recorded under the key, not a document: every edit makes the answer stale for the files that are not open.
        # Recorded only now, because sets that were opened in the meantime are in the answer, too.
        dump_set.record_answer(lsp.WORKSPACE_DIAGNOSTIC, dump_set.key)
        versions = {opened.uri: opened.version for opened in dump_set.open.values()}
        for uri, found in state.diagnostics(dump_set).items():
            result_id = _result_id(state, dump_set, uri)
            reports[uri] = _report(state, uri, found, result_id, previous, version=versions.get(uri))
    # Withdraw the diagnostics of documents that were closed since. VS Code does not list their results here.
    for uri in (previous.keys() | state.published.pulled) - reports.keys():
        reports[uri] = lsp.WorkspaceFullDocumentDiagnosticReport(uri, [])
    items = list(reports.values())
    if params.partial_result_token is None or len(items) <= _PART:
        return lsp.WorkspaceDiagnosticReport(items)
    for first in range(0, len(items), _PART):
        part = lsp.WorkspaceDiagnosticReportPartialResult(items[first : first + _PART])
        state.client.send_partial_result(params.partial_result_token, part)
    return lsp.WorkspaceDiagnosticReport([])


def _report(
    state: State,
    uri: str,
    diagnostics: list[lsp.Diagnostic],
    result_id: str,
    previous: Mapping[str, str],
    *,
    version: int | None = None,
) -> _WorkspaceReport:
    if previous.get(uri) == result_id:
        return lsp.WorkspaceUnchangedDocumentDiagnosticReport(uri, result_id, version)
    _record_pulled(state, uri, diagnostics)
    return lsp.WorkspaceFullDocumentDiagnosticReport(uri, diagnostics, version, result_id=result_id)


def _record_pulled(state: State, uri: str, diagnostics: list[lsp.Diagnostic]) -> None:
    """Record whether the editor shows diagnostics of a file. Files that are closed stay recorded, because VS Code may
    ignore the first report after that.
    """
    if diagnostics:
        state.published.pulled.add(uri)
    else:
        state.published.pulled.discard(uri)


def _result_id(state: State, dump_set: DumpSetState, uri: str) -> str:
    """An identifier that changes whenever the diagnostics of a document may change."""
    version = next((opened.version for opened in dump_set.open.values() if opened.uri == uri), 0)
    generations = ".".join(str(one.generation) for one in state.sets.together(dump_set))
    return f"{generations}.{version}.{hash(state.settings):x}"
