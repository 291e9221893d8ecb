"""What the server can do: the tables from the methods of the protocol and from the commands to their handlers.

Handlers are named, not imported: importing them and the engine takes longer than the answer to `initialize`, which
announces what these tables have.
"""

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import Any, Final, Literal, NamedTuple, TypeAlias

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

# ---------------------------------------------------------------- requests

Kind: TypeAlias = Literal["dump", "page", "source"]
"""The kind of a document: a file of a dump set, a page or a file of the program."""


class Handler(NamedTuple):
    """Answers a request about one document with the function for its kind, a function of a snapshot and the parameters
    of the request. Where a name is empty, the result for that kind is null. HLO modules are files of a dump set, too.
    A request that concerns no document, or more than one, is answered by a coroutine of the state (`state`).

    The function runs on the event loop if it takes less time than starting a thread (`is_inline`), else in a worker
    thread. It may need the HLO module of a dump (`needs_module`). `refresh` is the request that makes an editor repeat
    this one, and `options` is what the server announces about it.
    """

    dump: str = ""
    page: str = ""
    source: str = ""
    state: str = ""
    is_inline: bool = False
    needs_module: bool = False
    refresh: str = ""
    options: Any = None


@cache
def function_of(name: str) -> Callable[..., Any]:
    """Return a function of `xla_lens.lsp.requests` by its name there."""
    module, _, function = name.partition(".")
    found: Callable[..., Any] = getattr(import_module(f"xla_lens.lsp.requests.{module}"), function)
    return found


_JUMP: Final[Mapping[str, Any]] = {"page": "pages.definition", "is_inline": True}

HANDLERS: Final[Mapping[str, Handler]] = {
    lsp.TEXT_DOCUMENT_HOVER: Handler(
        "hover.hover", page="pages.hover", source="source_memory.source_hover", is_inline=True
    ),
    lsp.TEXT_DOCUMENT_DEFINITION: Handler("navigation.definition", **_JUMP),
    lsp.TEXT_DOCUMENT_DECLARATION: Handler("navigation.declaration", **_JUMP),
    lsp.TEXT_DOCUMENT_TYPE_DEFINITION: Handler("navigation.type_definition", **_JUMP),
    lsp.TEXT_DOCUMENT_IMPLEMENTATION: Handler("navigation.implementation", needs_module=True, **_JUMP),
    lsp.TEXT_DOCUMENT_REFERENCES: Handler("navigation.references", needs_module=True),
    lsp.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT: Handler("navigation.document_highlight", is_inline=True),
    lsp.TEXT_DOCUMENT_SELECTION_RANGE: Handler("structure.selection_range"),
    lsp.TEXT_DOCUMENT_PREPARE_CALL_HIERARCHY: Handler("navigation.prepare_call_hierarchy", is_inline=True),
    lsp.CALL_HIERARCHY_INCOMING_CALLS: Handler("navigation.incoming_calls"),
    lsp.CALL_HIERARCHY_OUTGOING_CALLS: Handler("navigation.outgoing_calls"),
    lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL: Handler("structure.document_symbol", page="pages.document_symbol"),
    lsp.TEXT_DOCUMENT_FOLDING_RANGE: Handler(
        "structure.folding_range", page="pages.folding_range", refresh=lsp.WORKSPACE_FOLDING_RANGE_REFRESH
    ),
    lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_RANGE: Handler(
        "structure.semantic_tokens_range", refresh=lsp.WORKSPACE_SEMANTIC_TOKENS_REFRESH, options=TOKENS
    ),
    lsp.TEXT_DOCUMENT_INLAY_HINT: Handler(
        "annotations.inlay_hint", source="source_memory.source_hints", refresh=lsp.WORKSPACE_INLAY_HINT_REFRESH
    ),
    lsp.TEXT_DOCUMENT_CODE_LENS: Handler("annotations.code_lens", refresh=lsp.WORKSPACE_CODE_LENS_REFRESH),
    lsp.TEXT_DOCUMENT_CODE_ACTION: Handler(
        "annotations.code_action",
        is_inline=True,
        options=lsp.CodeActionOptions([lsp.CodeActionKind.QuickFix, ACTION_KIND]),
    ),
    lsp.TEXT_DOCUMENT_DOCUMENT_LINK: Handler(
        "annotations.document_link", page="pages.document_link", needs_module=True
    ),
    lsp.DOCUMENT_LINK_RESOLVE: Handler(state="annotations.document_link_resolve"),
    lsp.TEXT_DOCUMENT_DIAGNOSTIC: Handler(
        state="workspace.document_diagnostic",
        refresh=lsp.WORKSPACE_DIAGNOSTIC_REFRESH,
        options=lsp.DiagnosticOptions(inter_file_dependencies=True, workspace_diagnostics=True),
    ),
    lsp.WORKSPACE_DIAGNOSTIC: Handler(state="workspace.workspace_diagnostic"),
    lsp.WORKSPACE_SYMBOL: Handler(state="workspace.workspace_symbol"),
    lsp.WORKSPACE_TEXT_DOCUMENT_CONTENT: Handler(state="pages.text_document_content"),
    lsp.WORKSPACE_EXECUTE_COMMAND: Handler(state="arguments.execute_command"),
}
"""The requests that the server answers."""

COMMANDS: Final[Mapping[str, str]] = {
    "xla-lens.report": "commands.report",
    "xla-lens.compare": "commands.compare",
    "xla-lens.comparedMaps": "views.compared_maps",
    "xla-lens.selectForCompare": "commands.select_for_compare",
    "xla-lens.endComparison": "commands.end_comparison",
    "xla-lens.check": "commands.check",
    "xla-lens.explain": "commands.explain",
    "xla-lens.showSummary": "commands.show_summary",
    "xla-lens.showLiveSet": "commands.show_live_set",
    "xla-lens.showAllocationHistory": "commands.show_allocation_history",
    "xla-lens.showReport": "commands.show_report",
    "xla-lens.showAdvice": "commands.show_advice",
    "xla-lens.showOutOfMemory": "commands.show_out_of_memory",
    "xla-lens.showReferences": "commands.show_references",
    "xla-lens.findValues": "workspace.find_values",
    "xla-lens.goTo": "commands.go_to",
    "xla-lens.memoryMap": "views.memory_map",
    "xla-lens.overview": "views.overview",
    "xla-lens.modules": "views.modules",
    "xla-lens.peak": "views.peak",
    "xla-lens.values": "views.values",
    "xla-lens.whatIsAt": "views.what_is_at",
    "xla-lens.describe": "views.describe",
    "xla-lens.heat": "views.heat",
    "xla-lens.sourceMemory": "source_memory.source_memory",
}
"""The commands of `workspace/executeCommand`, and the coroutine of an `Arguments` that runs each."""
