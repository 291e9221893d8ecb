"""The requests, commands, and semantic tokens of the server."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

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
    COMPARE = "xla-lens.compare"
    COMPARED_MAPS = "xla-lens.comparedMaps"
    SELECT_FOR_COMPARE = "xla-lens.selectForCompare"
    END_COMPARISON = "xla-lens.endComparison"
    CHECK = "xla-lens.check"
    EXPLAIN = "xla-lens.explain"
    SHOW_SUMMARY = "xla-lens.showSummary"
    SHOW_LIVE_SET = "xla-lens.showLiveSet"
    SHOW_ALLOCATION_HISTORY = "xla-lens.showAllocationHistory"
    SHOW_REPORT = "xla-lens.showReport"
    SHOW_ADVICE = "xla-lens.showAdvice"
    SHOW_REFERENCES = "xla-lens.showReferences"
    FIND_VALUES = "xla-lens.findValues"
    GO_TO = "xla-lens.goTo"
    MEMORY_MAP = "xla-lens.memoryMap"
    OVERVIEW = "xla-lens.overview"
    MODULES = "xla-lens.modules"
    PEAK = "xla-lens.peak"
    VALUES = "xla-lens.values"
    WHAT_IS_AT = "xla-lens.whatIsAt"
    DESCRIBE = "xla-lens.describe"
    SOURCE_MEMORY = "xla-lens.sourceMemory"


TOKEN_TYPES: Final = (
    "namespace",
    "keyword",
    "property",
    "class",
    "variable",
    "function",
    "number",
    "type",
    "macro",
    "enumMember",
    "string",
    "comment",
)
"""The types of semantic tokens. The index of a type is its number in the protocol."""

TOKEN_MODIFIERS: Final = ("definition", "liveAtPeak")
"""The modifiers of semantic tokens. The index of a modifier is its bit in the protocol."""

ACTION_KIND: Final = "xla-lens"
"""The kind of the code actions that do not belong to a diagnostic."""

METHODS: Final = (
    "textDocument/hover",
    "textDocument/definition",
    "textDocument/declaration",
    "textDocument/typeDefinition",
    "textDocument/implementation",
    "textDocument/references",
    "textDocument/documentHighlight",
    "textDocument/selectionRange",
    "textDocument/prepareCallHierarchy",
    "callHierarchy/incomingCalls",
    "callHierarchy/outgoingCalls",
    "textDocument/documentSymbol",
    "textDocument/foldingRange",
    "textDocument/semanticTokens/range",
    "textDocument/inlayHint",
    "textDocument/codeLens",
    "codeLens/resolve",
    "textDocument/documentLink",
    "documentLink/resolve",
    "textDocument/codeAction",
    "textDocument/diagnostic",
    "workspace/diagnostic",
    "workspace/symbol",
    "workspace/textDocumentContent",
)
"""The requests that the server answers; `xla_lens.lsp.requests` has the handlers."""

NEEDS_MODULE: Final = frozenset(("textDocument/implementation", "textDocument/documentLink"))
"""The requests about a dump file whose handlers need the HLO module."""

SOURCE_METHODS: Final = ("textDocument/hover", "textDocument/inlayHint")
"""The requests that the server answers about files of the program."""

REFRESHES: Final[Mapping[str, str]] = {
    "textDocument/diagnostic": "workspace/diagnostic/refresh",
    "workspace/diagnostic": "workspace/diagnostic/refresh",
    "textDocument/inlayHint": "workspace/inlayHint/refresh",
    "textDocument/codeLens": "workspace/codeLens/refresh",
    "textDocument/semanticTokens/range": "workspace/semanticTokens/refresh",
    "textDocument/foldingRange": "workspace/foldingRange/refresh",
}
"""The request that makes an editor repeat a request."""

USER_INITIATED: Final = (
    "textDocument/definition",
    "textDocument/references",
    "callHierarchy/incomingCalls",
    "callHierarchy/outgoingCalls",
)
"""Requests that editors send only for an action of the user, who may then see a message about the answer."""
