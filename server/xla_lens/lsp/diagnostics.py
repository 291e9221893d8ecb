"""Diagnostics: the findings of a dump set, by the URIs of its files."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from lsprotocol import types as lsp

from xla_lens.files import CACHED
from xla_lens.lsp.convert import Converter
from xla_lens.lsp.documents import OpenDocument
from xla_lens.lsp.dump_set_state import DumpSetState
from xla_lens.lsp.index import IndexedSet
from xla_lens.lsp.settings import Settings
from xla_lens.lsp.uris import uri_of
from xla_lens.model.checks.limits import over_limits
from xla_lens.render.numbers import counted
from xla_lens.text.encoding import Encoding

DIAGNOSTIC_LIMIT: Final = 1_000
"""Maximum number of diagnostics of one file. Editors show no more."""


def diagnostics_of(
    state: DumpSetState, settings: Settings, encoding: Encoding, on_truncated: Callable[[str, str], None]
) -> dict[str, list[lsp.Diagnostic]]:
    """Return the diagnostics of a set: an entry for each open document, and for each other file that has some. Empty if
    the set has no open documents.

    `on_truncated` is called with the URI of each file that has too many, and a text that says how many are left out.
    """
    by_uri = {opened.uri: opened for opened in state.open.values()}
    found: dict[str, list[lsp.Diagnostic]] = {uri: [] for uri in by_uri}
    if state.analysis is None or not state.open or state.is_being_written:
        return found
    if state.is_from_cache:
        return {uri: [_from_cache(opened)] for uri, opened in by_uri.items()}
    convert, omitted = Converter(state.open, encoding), dict.fromkeys(found, 0)
    limits = over_limits(state.analysis.dump, state.analysis.memory, settings.max_memory, settings.max_peak)
    for finding in (*state.analysis.findings, *limits):
        if finding.code in settings.ignored_codes:
            continue
        uri = convert.uri(finding.place.file)
        diagnostics = found.setdefault(uri, [])
        if len(diagnostics) < DIAGNOSTIC_LIMIT:
            diagnostics.append(convert.diagnostic(finding))
        else:
            omitted[uri] = omitted.get(uri, 0) + 1
    for uri, count in omitted.items():
        if count:
            on_truncated(uri, _omitted(count))
    return found


def diagnostics_of_indexed(
    indexed: IndexedSet, settings: Settings, on_truncated: Callable[[str, str], None]
) -> dict[str, list[lsp.Diagnostic]]:
    """Return the diagnostics of a set without open documents, an entry for each of its files. Findings that depend on
    the user's memory limits are not among them, because they require the whole set.
    """
    found = {}
    for label, findings in indexed.findings.items():
        uri = uri_of(Path(label))
        found[uri] = [diagnostic for diagnostic in findings.shown if diagnostic.code not in settings.ignored_codes]
        if omitted := findings.count - len(findings.shown):
            on_truncated(uri, _omitted(omitted))
    return found


def _from_cache(opened: OpenDocument) -> lsp.Diagnostic:
    """Why an HLO module has no numbers, on its first line."""
    start, end = opened.document.line_span(0)
    line = lsp.Range(lsp.Position(opened.first_row, 0), lsp.Position(opened.first_row, end - start))
    return lsp.Diagnostic(line, f"This module was {CACHED}.", lsp.DiagnosticSeverity.Information, source="xla-lens")


def _omitted(count: int) -> str:
    return f"{counted(count, 'finding')} left out"
