"""Diagnostics for editors that ask for them: of a document, and of the workspace."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from lsprotocol import types as lsp

from xla_lens.lsp.diagnostics import diagnostics_of
from xla_lens.lsp.index import IndexedSet
from xla_lens.lsp.session import DumpSetState

if TYPE_CHECKING:
    from xla_lens.lsp.server import XlaLensServer

_PART: Final = 100
"""Files in one part of a result."""

_Report: TypeAlias = lsp.RelatedFullDocumentDiagnosticReport | lsp.RelatedUnchangedDocumentDiagnosticReport
_WorkspaceReport: TypeAlias = lsp.WorkspaceFullDocumentDiagnosticReport | lsp.WorkspaceUnchangedDocumentDiagnosticReport


async def of_document(server: "XlaLensServer", params: lsp.DocumentDiagnosticParams) -> _Report:
    """The diagnostics of an open document."""
    uri = params.text_document.uri
    found = server.session.find(uri)
    if found is None:
        return lsp.RelatedFullDocumentDiagnosticReport([])
    state, path = found
    if lsp.WORKSPACE_DIAGNOSTIC_REFRESH in server.client.refreshes:
        await state.analysis_for(path)
    else:
        # It cannot be told that there is something new.
        await state.settled()
    state.note_answer(lsp.TEXT_DOCUMENT_DIAGNOSTIC, path)
    result = _result_id(server, state, uri)
    if result == params.previous_result_id:
        return lsp.RelatedUnchangedDocumentDiagnosticReport(result)
    diagnostics = diagnostics_of(server, state)
    return lsp.RelatedFullDocumentDiagnosticReport(diagnostics.get(uri, []), result_id=result)


async def of_workspace(server: "XlaLensServer", params: lsp.WorkspaceDiagnosticParams) -> lsp.WorkspaceDiagnosticReport:
    """The diagnostics of all files of the sets that are open; of the others in the workspace, too, if the user wants
    that.
    """
    before = {previous.uri: previous.value for previous in params.previous_result_ids}
    reports: dict[str, _WorkspaceReport] = {}
    closed: Mapping[Path, IndexedSet] = {}
    if server.settings.checks_workspace:
        await server.index.read()
        closed = await server.index.sets()
        server.index.note_answer()
    for state in server.session.sets:
        await state.analysis_for(state.path)
        # What is not open tells of edits of what is.
        state.note_answer(lsp.WORKSPACE_DIAGNOSTIC, state.key)
    is_open = {state.key for state in server.session.sets}
    for key, indexed in closed.items():
        if key not in is_open:
            reports.update((report.uri, report) for report in _of_indexed(server, indexed, before))
    for state in server.session.sets:
        reports.update((report.uri, report) for report in _of_set(server, state, before))
    # Of what was closed since nothing is told any more.
    for uri in before.keys() - reports.keys():
        reports[uri] = lsp.WorkspaceFullDocumentDiagnosticReport(uri, [])
    found = list(reports.values())
    if params.partial_result_token is None or len(found) <= _PART:
        return lsp.WorkspaceDiagnosticReport(found)
    for first in range(0, len(found), _PART):
        part = lsp.WorkspaceDiagnosticReportPartialResult(found[first : first + _PART])
        server.send_part(params.partial_result_token, part)
    return lsp.WorkspaceDiagnosticReport([])


def _of_set(server: "XlaLensServer", state: DumpSetState, before: dict[str, str]) -> Iterator[_WorkspaceReport]:
    versions = {opened.uri: opened.version for opened in state.open.values()}
    for uri, diagnostics in diagnostics_of(server, state).items():
        result, version = _result_id(server, state, uri), versions.get(uri)
        if before.get(uri) == result:
            yield lsp.WorkspaceUnchangedDocumentDiagnosticReport(uri, result, version)
        else:
            yield lsp.WorkspaceFullDocumentDiagnosticReport(uri, diagnostics, version, result_id=result)


def _of_indexed(server: "XlaLensServer", indexed: IndexedSet, before: dict[str, str]) -> Iterator[_WorkspaceReport]:
    result = f"{hash((*sorted(indexed.stamps.values()), server.settings)):x}"
    for uri, diagnostics in server.index.diagnostics(indexed).items():
        if before.get(uri) == result:
            yield lsp.WorkspaceUnchangedDocumentDiagnosticReport(uri, result)
        else:
            yield lsp.WorkspaceFullDocumentDiagnosticReport(uri, diagnostics, result_id=result)


def _result_id(server: "XlaLensServer", state: DumpSetState, uri: str) -> str:
    """What tells that the diagnostics of a document are still the same."""
    version = next((opened.version for opened in state.open.values() if opened.uri == uri), 0)
    return f"{state.generation}.{version}.{hash(server.settings):x}"
