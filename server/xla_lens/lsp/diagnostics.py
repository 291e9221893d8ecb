"""The findings of a set as diagnostics of its files."""

from typing import Final

from lsprotocol import types as lsp

from xla_lens.lsp.client import Client
from xla_lens.lsp.convert import Converter
from xla_lens.lsp.session import DumpSetState
from xla_lens.lsp.settings import Settings
from xla_lens.model.limits import over_limits

DIAGNOSTIC_LIMIT: Final = 1_000
"""Diagnostics of one file, at most: editors show no more."""


def diagnostics_of(state: DumpSetState, client: Client, settings: Settings) -> dict[str, list[lsp.Diagnostic]]:
    """The diagnostics by the addresses of the files: of all that are open, and of others that have some. None for a set
    without open documents.
    """
    convert = Converter(state.open, client)
    found: dict[str, list[lsp.Diagnostic]] = {opened.uri: [] for opened in state.open.values()}
    if state.analysis is None or not state.open:
        return found
    limits = over_limits(state.analysis, settings.max_peak, settings.max_reserved)
    for finding in (*state.analysis.findings, *limits):
        if finding.code in settings.ignored_codes:
            continue
        diagnostics = found.setdefault(convert.uri(finding.place.member), [])
        if len(diagnostics) < DIAGNOSTIC_LIMIT:
            diagnostics.append(convert.diagnostic(finding))
    return found
