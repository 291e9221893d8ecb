"""Diagnostics, the findings of dump sets by the URIs of their files: those that the editor pulls with
`textDocument/diagnostic` and `workspace/diagnostic` here, and those that `Publisher` publishes.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, TypeAlias

from lsprotocol import types as lsp

from xla_lens.files import CACHED
from xla_lens.lsp.convert import Converter
from xla_lens.lsp.documents import OpenDocument
from xla_lens.lsp.dump_set_state import DumpSetState
from xla_lens.lsp.errors import DocumentClosed
from xla_lens.lsp.index import IndexedSet
from xla_lens.lsp.settings import Settings
from xla_lens.lsp.state import State
from xla_lens.lsp.uris import uri_of
from xla_lens.model.analysis import Analysis
from xla_lens.model.checks.findings import Finding
from xla_lens.model.checks.limits import over_limits
from xla_lens.render.numbers import counted

DIAGNOSTIC_LIMIT: Final = 1_000
"""Maximum number of diagnostics of one file. Editors show no more."""

_Report: TypeAlias = lsp.RelatedFullDocumentDiagnosticReport | lsp.RelatedUnchangedDocumentDiagnosticReport
_WorkspaceReport: TypeAlias = lsp.WorkspaceFullDocumentDiagnosticReport | lsp.WorkspaceUnchangedDocumentDiagnosticReport


# ---------------------------------------------------------------- pulled


async def document_diagnostic(state: State, params: lsp.DocumentDiagnosticParams) -> _Report:
    """The diagnostics of an open document."""
    uri = params.text_document.uri
    try:
        await state.while_open(uri, _loaded(state, uri))
    except DocumentClosed:
        return lsp.RelatedFullDocumentDiagnosticReport([])
    # Taken again: an edit may have changed which files the output of XLA has.
    if not (pairs := state.sets.sets_of(uri)):
        return lsp.RelatedFullDocumentDiagnosticReport([])
    for dump_set, path in pairs:
        dump_set.record_answer(lsp.TEXT_DOCUMENT_DIAGNOSTIC, path)
    diagnostics = all_diagnostics(state, [dump_set for dump_set, _ in pairs]).get(uri, [])
    result_id = _result_id(diagnostics)
    if result_id == params.previous_result_id:
        return lsp.RelatedUnchangedDocumentDiagnosticReport(result_id)
    _record_pulled(state, uri, diagnostics)
    return lsp.RelatedFullDocumentDiagnosticReport(diagnostics, result_id=result_id)


async def _loaded(state: State, uri: str) -> None:
    """Wait until the diagnostics of a document are known."""
    for dump_set, path in state.sets.sets_of(uri):
        if lsp.WORKSPACE_DIAGNOSTIC_REFRESH in state.client.capabilities.refreshes:
            await dump_set.analysis_for(path)
        else:
            # The editor would never learn that the answer is stale.
            await dump_set.settled()


async def workspace_diagnostic(state: State, params: lsp.WorkspaceDiagnosticParams) -> lsp.WorkspaceDiagnosticReport:
    """The diagnostics of the sets with open documents; with `diagnostics.workspace` also those of all other sets."""
    previous = {result.uri: result.value for result in params.previous_result_ids}
    indexed_sets: Mapping[Path, IndexedSet] = {}
    if state.settings.checks_workspace:
        await state.index.update(is_polling=True)
        indexed_sets = await state.index.sets()
        state.index.record_answer()
    for dump_set in state.sets.open:
        await dump_set.analysis_for(dump_set.path)
    for dump_set in state.sets.open:
        # Recorded under the key, not a document: every edit makes the answer stale for the files that are not open.
        # Recorded only now, because sets that were opened in the meantime are in the answer, too.
        dump_set.record_answer(lsp.WORKSPACE_DIAGNOSTIC, dump_set.key)
    found, versions = all_diagnostics(state, state.sets.open, indexed_sets), state.sets.versions
    reports: list[_WorkspaceReport] = []
    for uri, diagnostics in found.items():
        result_id, version = _result_id(diagnostics), versions.get(uri)
        if previous.get(uri) == result_id:
            reports.append(lsp.WorkspaceUnchangedDocumentDiagnosticReport(uri, result_id, version))
        else:
            _record_pulled(state, uri, diagnostics)
            reports.append(lsp.WorkspaceFullDocumentDiagnosticReport(uri, diagnostics, version, result_id=result_id))
    # Withdraw the diagnostics of documents that were closed since. VS Code does not list their results here.
    gone = (previous.keys() | state.published.pulled) - found.keys()
    reports += (lsp.WorkspaceFullDocumentDiagnosticReport(uri, []) for uri in gone)
    return lsp.WorkspaceDiagnosticReport(reports)


def _record_pulled(state: State, uri: str, diagnostics: list[lsp.Diagnostic]) -> None:
    """Record whether the editor shows diagnostics of a file. Files that are closed stay recorded, because VS Code may
    ignore the first report after that.
    """
    if diagnostics:
        state.published.pulled.add(uri)
    else:
        state.published.pulled.discard(uri)


def _result_id(diagnostics: list[lsp.Diagnostic]) -> str:
    return f"{hash(repr(diagnostics)):x}"


# ---------------------------------------------------------------- all diagnostics


def all_diagnostics(
    state: State, sets: Iterable[DumpSetState], indexed: Mapping[Path, IndexedSet] | None = None
) -> dict[str, list[lsp.Diagnostic]]:
    """Return the diagnostics of some sets with open documents, by URI: an entry for each open document, and for each
    other file that has some. Those of `indexed` sets have an entry for each of their files.
    """
    found: dict[str, list[lsp.Diagnostic]] = {}
    open_keys = {dump_set.key for dump_set in state.sets.open}
    for key, one in (indexed or {}).items():
        if key not in open_keys:
            found |= _of_indexed(state, one)
    for dump_set in sets:
        for uri, diagnostics in _of_open(state, dump_set).items():
            # An output of XLA has several sets.
            found.setdefault(uri, []).extend(diagnostics)
    return found


def _of_open(state: State, dump_set: DumpSetState) -> dict[str, list[lsp.Diagnostic]]:
    by_uri = {opened.uri: opened for opened in dump_set.open.values()}
    if dump_set.analysis is None or not dump_set.open or dump_set.is_being_written:
        return {uri: [] for uri in by_uri}
    if dump_set.is_from_cache:
        return {uri: [_from_cache(opened)] for uri, opened in by_uri.items()}
    convert = Converter(dump_set.open, state.client.capabilities.encoding)
    is_output = any(opened.first_row for opened in by_uri.values())
    findings: dict[str, list[Finding]] = {uri: [] for uri in by_uri}
    for finding in findings_of(dump_set.analysis, state.settings):
        uri = convert.uri(finding.place.file)
        # The analysis of an output may have files that an edit has removed since.
        if uri in by_uri or not is_output:
            findings.setdefault(uri, []).append(finding)
    for uri, found in findings.items():
        _report_omitted(state, uri, len(found) - DIAGNOSTIC_LIMIT)
    return {uri: [*map(convert.diagnostic, found[:DIAGNOSTIC_LIMIT])] for uri, found in findings.items()}


def findings_of(analysis: Analysis, settings: Settings) -> list[Finding]:
    """Return the findings of a set that the user wants to see."""
    limits = over_limits(analysis.dump, analysis.memory, settings.max_memory, settings.max_peak)
    return [finding for finding in (*analysis.findings, *limits) if finding.code not in settings.ignored_codes]


def _of_indexed(state: State, indexed: IndexedSet) -> dict[str, list[lsp.Diagnostic]]:
    """Return the diagnostics of a set without open documents, an entry for each of its files. Findings that depend on
    the user's memory limits are not among them, because they require the whole set.
    """
    found = {}
    for label, findings in indexed.findings.items():
        uri, ignored = uri_of(Path(label)), state.settings.ignored_codes
        found[uri] = [diagnostic for diagnostic in findings.shown if diagnostic.code not in ignored]
        _report_omitted(state, uri, findings.count - len(findings.shown))
    return found


def _from_cache(opened: OpenDocument) -> lsp.Diagnostic:
    """Why an HLO module has no numbers, on its first line."""
    start, end = opened.document.line_span(0)
    line = lsp.Range(lsp.Position(opened.first_row, 0), lsp.Position(opened.first_row, end - start))
    return lsp.Diagnostic(line, f"This module was {CACHED}.", lsp.DiagnosticSeverity.Information, source="xla-lens")


def _report_omitted(state: State, uri: str, count: int) -> None:
    if count > 0:
        state.report_truncated(lsp.TEXT_DOCUMENT_DIAGNOSTIC, uri, f"{counted(count, 'finding')} left out")
