"""What the server announces: its requests, commands, and semantic tokens."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

from lsprotocol import types as lsp

PAGE_SCHEME: Final = "xla-lens"
"""The scheme of the URIs of pages."""

DID_LOAD: Final = "xla-lens/didLoad"
"""A notification for editors that draw their own views: the server loaded, reloaded or closed a dump set. Its
parameters are `uris`, the files of the set, and `loaded`, false if the set was closed. Only editors that support it
receive it.
"""


class Command(StrEnum):
    """The commands of `workspace/executeCommand`."""

    REPORT = "xla-lens.report"
    CHECK = "xla-lens.check"
    EXPLAIN = "xla-lens.explain"
    SHOW_SUMMARY = "xla-lens.showSummary"
    SHOW_LIVE_SET = "xla-lens.showLiveSet"
    SHOW_ALLOCATION_HISTORY = "xla-lens.showAllocationHistory"
    SHOW_REPORT = "xla-lens.showReport"
    SHOW_REFERENCES = "xla-lens.showReferences"
    GO_TO = "xla-lens.goTo"
    MEMORY_MAP = "xla-lens.memoryMap"
    OVERVIEW = "xla-lens.overview"
    MODULES = "xla-lens.modules"
    WHAT_IS_AT = "xla-lens.whatIsAt"
    DESCRIBE = "xla-lens.describe"


TOKEN_TYPES: Final = (
    lsp.SemanticTokenTypes.Namespace,
    lsp.SemanticTokenTypes.Keyword,
    lsp.SemanticTokenTypes.Property,
    lsp.SemanticTokenTypes.Class,
    lsp.SemanticTokenTypes.Variable,
    lsp.SemanticTokenTypes.Function,
    lsp.SemanticTokenTypes.Number,
    lsp.SemanticTokenTypes.Type,
    lsp.SemanticTokenTypes.Macro,
    lsp.SemanticTokenTypes.EnumMember,
    lsp.SemanticTokenTypes.String,
    lsp.SemanticTokenTypes.Comment,
)
"""The types of semantic tokens. The index of a type is its number in the protocol."""

TOKEN_MODIFIERS: Final = ("definition", "liveAtPeak")
"""The modifiers of semantic tokens. The index of a modifier is its bit in the protocol."""

ACTION_KIND: Final = "xla-lens"
"""The kind of the code actions that do not belong to a diagnostic."""

METHODS: Final[Mapping[str, Any]] = {
    lsp.TEXT_DOCUMENT_HOVER: None,
    lsp.TEXT_DOCUMENT_DEFINITION: None,
    lsp.TEXT_DOCUMENT_DECLARATION: None,
    lsp.TEXT_DOCUMENT_TYPE_DEFINITION: None,
    lsp.TEXT_DOCUMENT_IMPLEMENTATION: None,
    lsp.TEXT_DOCUMENT_REFERENCES: None,
    lsp.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT: None,
    lsp.TEXT_DOCUMENT_SELECTION_RANGE: None,
    lsp.TEXT_DOCUMENT_PREPARE_CALL_HIERARCHY: None,
    lsp.CALL_HIERARCHY_INCOMING_CALLS: None,
    lsp.CALL_HIERARCHY_OUTGOING_CALLS: None,
    lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL: None,
    lsp.TEXT_DOCUMENT_FOLDING_RANGE: None,
    lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_RANGE: lsp.SemanticTokensLegend(
        [kind.value for kind in TOKEN_TYPES], TOKEN_MODIFIERS
    ),
    lsp.TEXT_DOCUMENT_INLAY_HINT: None,
    lsp.TEXT_DOCUMENT_CODE_LENS: None,
    lsp.CODE_LENS_RESOLVE: None,
    lsp.TEXT_DOCUMENT_DOCUMENT_LINK: None,
    lsp.DOCUMENT_LINK_RESOLVE: None,
    lsp.TEXT_DOCUMENT_CODE_ACTION: lsp.CodeActionOptions([lsp.CodeActionKind.QuickFix, ACTION_KIND]),
    lsp.TEXT_DOCUMENT_DIAGNOSTIC: lsp.DiagnosticOptions(inter_file_dependencies=True, workspace_diagnostics=True),
    lsp.WORKSPACE_DIAGNOSTIC: None,
    lsp.WORKSPACE_SYMBOL: lsp.WorkspaceSymbolOptions(work_done_progress=True),
    lsp.WORKSPACE_TEXT_DOCUMENT_CONTENT: None,
}
"""The requests that the server answers, with their options; `xla_lens.lsp.requests` has the handlers."""

NEEDS_MODULE: Final = frozenset((lsp.TEXT_DOCUMENT_IMPLEMENTATION, lsp.TEXT_DOCUMENT_DOCUMENT_LINK))
"""The requests about a dump file whose handlers need the HLO module."""

REFRESHES: Final[Mapping[str, str]] = {
    lsp.TEXT_DOCUMENT_DIAGNOSTIC: lsp.WORKSPACE_DIAGNOSTIC_REFRESH,
    lsp.WORKSPACE_DIAGNOSTIC: lsp.WORKSPACE_DIAGNOSTIC_REFRESH,
    lsp.TEXT_DOCUMENT_INLAY_HINT: lsp.WORKSPACE_INLAY_HINT_REFRESH,
    lsp.TEXT_DOCUMENT_CODE_LENS: lsp.WORKSPACE_CODE_LENS_REFRESH,
    lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_RANGE: lsp.WORKSPACE_SEMANTIC_TOKENS_REFRESH,
    lsp.TEXT_DOCUMENT_FOLDING_RANGE: lsp.WORKSPACE_FOLDING_RANGE_REFRESH,
}
"""The request that makes an editor repeat a request."""

USER_INITIATED: Final = (
    lsp.TEXT_DOCUMENT_DEFINITION,
    lsp.TEXT_DOCUMENT_REFERENCES,
    lsp.CALL_HIERARCHY_INCOMING_CALLS,
    lsp.CALL_HIERARCHY_OUTGOING_CALLS,
)
"""Requests that editors send only for an action of the user, who may then see a message about the answer."""
