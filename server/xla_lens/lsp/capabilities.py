"""What the server announces in its answer to `initialize`.

`handlers.py` has the functions that answer. It imports the engine, which takes longer than the answer to `initialize`.
That is why the methods and commands are listed here, too. `tests/lsp/test_lifecycle.py` compares both lists.
"""

from collections.abc import Mapping
from typing import Any, Final

from lsprotocol import types as lsp

PAGE_SCHEME: Final = "xla-lens"
"""The scheme of the URIs of pages."""

DID_LOAD: Final = "xla-lens/didLoad"
"""A notification for editors that draw their own views: the server loaded, reloaded or closed a dump set. Its
parameters are `uris`, the files of the set, and `loaded`, false if the set was closed. Only editors that support it
receive it.
"""

ACTION_KIND: Final = "xla-lens"
"""The kind of the code actions that do not belong to a diagnostic."""

TOKENS: Final = lsp.SemanticTokensLegend(
    [
        *("namespace", "keyword", "property", "class", "variable", "function", "number", "type", "macro"),
        *("enumMember", "string", "comment"),
    ],
    ["definition", "liveAtPeak"],
)
"""The index of a type is its number in the protocol, that of a modifier its bit."""

REQUESTS: Final[Mapping[str, Any]] = {
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
    lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_RANGE: TOKENS,
    lsp.TEXT_DOCUMENT_INLAY_HINT: None,
    lsp.TEXT_DOCUMENT_CODE_LENS: None,
    lsp.TEXT_DOCUMENT_CODE_ACTION: lsp.CodeActionOptions([lsp.CodeActionKind.QuickFix, ACTION_KIND]),
    lsp.TEXT_DOCUMENT_DOCUMENT_LINK: None,
    lsp.DOCUMENT_LINK_RESOLVE: None,
    lsp.TEXT_DOCUMENT_DIAGNOSTIC: lsp.DiagnosticOptions(inter_file_dependencies=True, workspace_diagnostics=True),
    lsp.WORKSPACE_DIAGNOSTIC: None,
    lsp.WORKSPACE_SYMBOL: None,
    lsp.WORKSPACE_TEXT_DOCUMENT_CONTENT: None,
    lsp.WORKSPACE_EXECUTE_COMMAND: None,
}
"""The requests that the server answers, with their options, from which pygls makes the capabilities."""

REFRESHES: Final[Mapping[str, str]] = {
    lsp.TEXT_DOCUMENT_FOLDING_RANGE: lsp.WORKSPACE_FOLDING_RANGE_REFRESH,
    lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_RANGE: lsp.WORKSPACE_SEMANTIC_TOKENS_REFRESH,
    lsp.TEXT_DOCUMENT_INLAY_HINT: lsp.WORKSPACE_INLAY_HINT_REFRESH,
    lsp.TEXT_DOCUMENT_CODE_LENS: lsp.WORKSPACE_CODE_LENS_REFRESH,
    lsp.TEXT_DOCUMENT_DIAGNOSTIC: lsp.WORKSPACE_DIAGNOSTIC_REFRESH,
}
"""The request to the editor that makes it repeat a request."""

COMMANDS: Final = (
    "xla-lens.report",
    "xla-lens.compare",
    "xla-lens.comparedMaps",
    "xla-lens.selectForCompare",
    "xla-lens.endComparison",
    "xla-lens.check",
    "xla-lens.explain",
    "xla-lens.showSummary",
    "xla-lens.showLiveSet",
    "xla-lens.showAllocationHistory",
    "xla-lens.showReport",
    "xla-lens.showAnswer",
    "xla-lens.showAdvice",
    "xla-lens.showOutOfMemory",
    "xla-lens.brief",
    "xla-lens.showReferences",
    "xla-lens.findValues",
    "xla-lens.goTo",
    "xla-lens.memoryMap",
    "xla-lens.overview",
    "xla-lens.modules",
    "xla-lens.unpackDumps",
    "xla-lens.peak",
    "xla-lens.values",
    "xla-lens.whatIsAt",
    "xla-lens.describe",
    "xla-lens.heat",
    "xla-lens.sourceMemory",
)
"""The commands of `workspace/executeCommand`."""
