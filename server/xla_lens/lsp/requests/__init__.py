"""The requests that an editor can make, and how each is answered.

Quick ones are answered on the event loop: they take less time than a thread takes to start. The others run in a worker
thread. Both are functions of a snapshot and the parameters of the request. What is about no document is a coroutine on
the event loop, which keeps its threads itself.
"""

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from lsprotocol import types as lsp

from xla_lens.lsp.requests import (
    commands,
    content,
    diagnostics,
    documents,
    hierarchy,
    module,
    module_sources,
    module_structure,
    positions,
    structure,
    suggestions,
    workspace,
)
from xla_lens.lsp.requests.context import Context, ModuleContext


@dataclass(frozen=True, slots=True)
class Quick:
    """Answered at once."""

    answer: Callable[[Any, Any], Any]


@dataclass(frozen=True, slots=True)
class Slow:
    """Answered from a worker thread."""

    answer: Callable[[Any, Any], Any]


@dataclass(frozen=True, slots=True)
class Wide:
    """About no document, or not about one only: a coroutine of the server and the parameters."""

    answer: Callable[[Any, Any], Coroutine[Any, Any, Any]]


Handler: TypeAlias = Quick | Slow | Wide

HANDLERS: Final[Mapping[str, Handler]] = {
    lsp.TEXT_DOCUMENT_HOVER: Quick(positions.show_hover),
    lsp.TEXT_DOCUMENT_DEFINITION: Quick(positions.go_to_definition),
    lsp.TEXT_DOCUMENT_DECLARATION: Quick(positions.go_to_declaration),
    lsp.TEXT_DOCUMENT_TYPE_DEFINITION: Quick(positions.go_to_type_definition),
    lsp.TEXT_DOCUMENT_IMPLEMENTATION: Quick(positions.go_to_implementation),
    lsp.TEXT_DOCUMENT_REFERENCES: Slow(positions.find_references),
    lsp.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT: Quick(positions.mark_highlights),
    lsp.TEXT_DOCUMENT_SELECTION_RANGE: Quick(structure.widen_selections),
    lsp.TEXT_DOCUMENT_PREPARE_CALL_HIERARCHY: Quick(hierarchy.prepare_hierarchy),
    lsp.CALL_HIERARCHY_INCOMING_CALLS: Slow(hierarchy.list_producers),
    lsp.CALL_HIERARCHY_OUTGOING_CALLS: Slow(hierarchy.list_consumers),
    lsp.TEXT_DOCUMENT_FOLDING_RANGE: Slow(structure.list_folds),
    lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_RANGE: Slow(structure.colour_words),
    lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL: Slow(documents.list_symbols),
    lsp.TEXT_DOCUMENT_INLAY_HINT: Slow(documents.show_hints),
    lsp.TEXT_DOCUMENT_CODE_LENS: Slow(suggestions.list_lenses),
    lsp.CODE_LENS_RESOLVE: Quick(suggestions.resolve_lens),
    lsp.TEXT_DOCUMENT_DOCUMENT_LINK: Slow(documents.list_links),
    lsp.DOCUMENT_LINK_RESOLVE: Wide(documents.resolve_link),
    lsp.TEXT_DOCUMENT_CODE_ACTION: Quick(suggestions.list_actions),
    lsp.TEXT_DOCUMENT_DIAGNOSTIC: Wide(diagnostics.of_document),
    lsp.WORKSPACE_DIAGNOSTIC: Wide(diagnostics.of_workspace),
    lsp.WORKSPACE_SYMBOL: Wide(workspace.find_symbols),
    lsp.WORKSPACE_TEXT_DOCUMENT_CONTENT: Wide(content.read_content),
    lsp.WORKSPACE_EXECUTE_COMMAND: Wide(commands.run_command),
}
"""By the method. About an HLO module the answers are others."""

MODULE_HANDLERS: Final[Mapping[str, Quick | Slow]] = {
    lsp.TEXT_DOCUMENT_HOVER: Quick(module.show_hover),
    lsp.TEXT_DOCUMENT_DEFINITION: Quick(module.go_to_definition),
    lsp.TEXT_DOCUMENT_DECLARATION: Quick(module.go_to_declaration),
    lsp.TEXT_DOCUMENT_TYPE_DEFINITION: Quick(module.go_to_type_definition),
    lsp.TEXT_DOCUMENT_IMPLEMENTATION: Quick(module.go_to_implementation),
    lsp.TEXT_DOCUMENT_REFERENCES: Slow(module.find_references),
    lsp.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT: Quick(module_structure.mark_highlights),
    lsp.TEXT_DOCUMENT_SELECTION_RANGE: Quick(module_structure.widen_selections),
    lsp.TEXT_DOCUMENT_PREPARE_CALL_HIERARCHY: Quick(module_structure.prepare_hierarchy),
    lsp.CALL_HIERARCHY_INCOMING_CALLS: Slow(module_structure.list_incoming),
    lsp.CALL_HIERARCHY_OUTGOING_CALLS: Slow(module_structure.list_outgoing),
    lsp.TEXT_DOCUMENT_FOLDING_RANGE: Slow(module_structure.list_folds),
    lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_RANGE: Slow(module_structure.colour_words),
    lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL: Slow(module_structure.list_symbols),
    lsp.TEXT_DOCUMENT_DOCUMENT_LINK: Slow(module_sources.list_links),
    lsp.TEXT_DOCUMENT_CODE_ACTION: Quick(module_sources.list_actions),
    lsp.TEXT_DOCUMENT_INLAY_HINT: Slow(module_sources.show_hints),
}
"""Those about an HLO module, and what is not among them has no answer there."""


def handler_for(context: Context, method: str) -> Quick | Slow:
    """Who answers a request about a document."""
    handlers = MODULE_HANDLERS if isinstance(context, ModuleContext) else HANDLERS
    handler = handlers.get(method)
    return handler if isinstance(handler, Quick | Slow) else Quick(lambda _context, _params: None)
