"""The findings of a set as diagnostics of its files."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from lsprotocol import types as lsp

from xla_lens.lsp.convert import Converter
from xla_lens.lsp.session import DumpSetState
from xla_lens.model.checks.limits import over_limits
from xla_lens.render.numbers import counted

if TYPE_CHECKING:
    from xla_lens.lsp.server import XlaLensServer

DIAGNOSTIC_LIMIT: Final = 1_000
"""Diagnostics of one file, at most: editors show no more."""


def diagnostics_of(server: "XlaLensServer", state: DumpSetState) -> dict[str, list[lsp.Diagnostic]]:
    """The diagnostics by the addresses of the files: of all that are open, and of others that have some. None for a set
    without open documents.
    """
    found: dict[str, list[lsp.Diagnostic]] = {opened.uri: [] for opened in state.open.values()}
    if state.analysis is None or not state.open:
        return found
    convert, left_out = Converter(state.open, server.client), dict.fromkeys(found, 0)
    dump, memory, settings = state.analysis.dump, state.analysis.memory, server.settings
    limits = over_limits(dump, memory, settings.max_peak, settings.max_reserved)
    for finding in (*state.analysis.findings, *limits):
        if finding.code in server.settings.ignored_codes:
            continue
        uri = convert.uri(finding.place.file)
        diagnostics = found.setdefault(uri, [])
        if len(diagnostics) < DIAGNOSTIC_LIMIT:
            diagnostics.append(convert.diagnostic(finding))
        else:
            left_out[uri] = left_out.get(uri, 0) + 1
    tell_left_out(server, left_out)
    return found


def tell_left_out(server: "XlaLensServer", left_out: Mapping[str, int]) -> None:
    """Logs how many diagnostics of each file are left out."""
    for uri, count in left_out.items():
        if count:
            server.tell_cut(lsp.TEXT_DOCUMENT_DIAGNOSTIC, uri, f"{counted(count, 'finding')} left out")
