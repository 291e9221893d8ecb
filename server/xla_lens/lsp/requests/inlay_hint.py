"""`textDocument/inlayHint`."""

from collections import Counter
from typing import Final

from lsprotocol import types as lsp

from xla_lens.features.hints import hints, module_hints
from xla_lens.lsp.converter import RawJson
from xla_lens.lsp.snapshot import HloSnapshot, Snapshot

HINT_LIMIT: Final = 100_000
"""Maximum number of hints of each kind in one answer. Some editors request the hints of a whole file."""


def inlay_hint(snapshot: Snapshot, params: lsp.InlayHintParams) -> RawJson | None:
    """The hints of a dump file, such as the live bytes of a step, or those of the instructions of an HLO module."""
    if not snapshot.settings.inlay_hints:
        return None
    start, end = snapshot.offset(params.range.start), snapshot.offset(params.range.end)
    if isinstance(snapshot, HloSnapshot):
        found = module_hints(snapshot.analysis, snapshot.module, start, end, HINT_LIMIT)
    else:
        found = hints(snapshot.analysis, snapshot.file, start, end, HINT_LIMIT)
    if any(count == HINT_LIMIT for count in Counter(type(hint.facts) for hint in found).values()):
        snapshot.on_truncated(f"only the first {HINT_LIMIT:,} hints of each kind are shown")
    return snapshot.convert.hints(snapshot.file, found, snapshot.analysis.warrants)
