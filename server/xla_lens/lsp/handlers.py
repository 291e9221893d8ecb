"""What the server can do: the one table from the methods of the protocol to their handlers, and the commands.

Handlers are named, not imported: importing them and the engine takes longer than the answer to `initialize`, which
announces the methods of this table.
"""

from collections.abc import Callable, Mapping
from enum import StrEnum
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

TOKEN_TYPES: Final = {
    "SECTION": "namespace",
    "KEYWORD": "keyword",
    "PROPERTY": "property",
    "ALLOCATION": "class",
    "VALUE": "variable",
    "INSTRUCTION": "function",
    "COMPUTATION": "class",
    "STEP": "number",
    "NUMBER": "number",
    "SHAPE": "type",
    "OPCODE": "macro",
    "KIND": "enumMember",
    "STRING": "string",
    "COMMENT": "comment",
}
"""The semantic tokens that editors get, by the names of `TokenType`."""

TOKENS: Final = lsp.SemanticTokensLegend([*dict.fromkeys(TOKEN_TYPES.values())], ["definition", "liveAtPeak"])
"""The index of a type is its number in the protocol, that of a modifier its bit."""


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
    SHOW_OUT_OF_MEMORY = "xla-lens.showOutOfMemory"
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
    HEAT = "xla-lens.heat"
    SOURCE_MEMORY = "xla-lens.sourceMemory"


# ---------------------------------------------------------------- requests

Answer: TypeAlias = Callable[[Any, Any], Any]
"""A function of a snapshot, or of the state, and the parameters of a request."""

Kind: TypeAlias = Literal["dump", "page", "source"]
"""The kind of a document: a file of a dump set, a page or a file of the program."""


class DocumentHandler(NamedTuple):
    """Answers a request about one document with the function for its kind, a function of a snapshot and the parameters
    of the request. Where a name is empty, the result for that kind is null. HLO modules are files of a dump set, too.

    The function runs on the event loop if it takes less time than starting a thread (`is_inline`), else in a worker
    thread. It may need the HLO module of a dump (`needs_module`). `refresh` is the request that makes an editor repeat
    this one, and `options` is what the server announces about it.
    """

    dump: str
    page: str = ""
    source: str = ""
    is_inline: bool = False
    needs_module: bool = False
    refresh: str = ""
    options: Any = None


class StateHandler(NamedTuple):
    """Answers a request that concerns no document, or more than one, with a coroutine of the state and the parameters
    of the request.
    """

    name: str
    options: Any = None
    refresh: str = ""


@cache
def function_of(name: str) -> Answer:
    """Return a function of `xla_lens.lsp.requests` by its name there."""
    module, _, function = name.partition(".")
    found: Answer = getattr(import_module(f"xla_lens.lsp.requests.{module}"), function)
    return found


_JUMP: Final[Mapping[str, Any]] = {"page": "pages.definition", "is_inline": True}

HANDLERS: Final[Mapping[str, DocumentHandler | StateHandler]] = {
    lsp.TEXT_DOCUMENT_HOVER: DocumentHandler(
        "hover.hover", page="pages.hover", source="source_memory.source_hover", is_inline=True
    ),
    lsp.TEXT_DOCUMENT_DEFINITION: DocumentHandler("navigation.definition", **_JUMP),
    lsp.TEXT_DOCUMENT_DECLARATION: DocumentHandler("navigation.declaration", **_JUMP),
    lsp.TEXT_DOCUMENT_TYPE_DEFINITION: DocumentHandler("navigation.type_definition", **_JUMP),
    lsp.TEXT_DOCUMENT_IMPLEMENTATION: DocumentHandler("navigation.implementation", needs_module=True, **_JUMP),
    lsp.TEXT_DOCUMENT_REFERENCES: DocumentHandler("navigation.references", needs_module=True),
    lsp.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT: DocumentHandler("navigation.document_highlight", is_inline=True),
    lsp.TEXT_DOCUMENT_SELECTION_RANGE: DocumentHandler("structure.selection_range"),
    lsp.TEXT_DOCUMENT_PREPARE_CALL_HIERARCHY: DocumentHandler("call_hierarchy.prepare_call_hierarchy", is_inline=True),
    lsp.CALL_HIERARCHY_INCOMING_CALLS: DocumentHandler("call_hierarchy.incoming_calls"),
    lsp.CALL_HIERARCHY_OUTGOING_CALLS: DocumentHandler("call_hierarchy.outgoing_calls"),
    lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL: DocumentHandler("structure.document_symbol", page="pages.document_symbol"),
    lsp.TEXT_DOCUMENT_FOLDING_RANGE: DocumentHandler(
        "structure.folding_range", page="pages.folding_range", refresh=lsp.WORKSPACE_FOLDING_RANGE_REFRESH
    ),
    lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_RANGE: DocumentHandler(
        "structure.semantic_tokens_range", refresh=lsp.WORKSPACE_SEMANTIC_TOKENS_REFRESH, options=TOKENS
    ),
    lsp.TEXT_DOCUMENT_INLAY_HINT: DocumentHandler(
        "annotations.inlay_hint", source="source_memory.source_hints", refresh=lsp.WORKSPACE_INLAY_HINT_REFRESH
    ),
    lsp.TEXT_DOCUMENT_CODE_LENS: DocumentHandler("annotations.code_lens", refresh=lsp.WORKSPACE_CODE_LENS_REFRESH),
    lsp.TEXT_DOCUMENT_CODE_ACTION: DocumentHandler(
        "annotations.code_action",
        is_inline=True,
        options=lsp.CodeActionOptions([lsp.CodeActionKind.QuickFix, ACTION_KIND]),
    ),
    lsp.TEXT_DOCUMENT_DOCUMENT_LINK: DocumentHandler(
        "annotations.document_link", page="pages.document_link", needs_module=True
    ),
    lsp.DOCUMENT_LINK_RESOLVE: StateHandler("annotations.document_link_resolve"),
    lsp.TEXT_DOCUMENT_DIAGNOSTIC: StateHandler(
        "diagnostics.document_diagnostic",
        lsp.DiagnosticOptions(inter_file_dependencies=True, workspace_diagnostics=True),
        lsp.WORKSPACE_DIAGNOSTIC_REFRESH,
    ),
    lsp.WORKSPACE_DIAGNOSTIC: StateHandler("diagnostics.workspace_diagnostic"),
    lsp.WORKSPACE_SYMBOL: StateHandler("workspace.workspace_symbol"),
    lsp.WORKSPACE_TEXT_DOCUMENT_CONTENT: StateHandler("pages.text_document_content"),
    lsp.WORKSPACE_EXECUTE_COMMAND: StateHandler("commands.execute_command"),
}
"""The requests that the server answers."""
