"""The tables from the methods of the protocol and from the commands to the functions that answer them.

Importing this module imports the engine. What `initialize` announces is in `capabilities.py`.
"""

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from functools import partial
from typing import Any, Final, NamedTuple

from lsprotocol import types as lsp

from xla_lens.lsp.errors import InvalidParams
from xla_lens.lsp.requests import (
    annotations,
    commands,
    hover,
    navigation,
    out_of_memory,
    pages,
    source_memory,
    structure,
    views,
    workspace,
)
from xla_lens.lsp.requests.arguments import Arguments
from xla_lens.lsp.snapshot import PageSnapshot, Snapshot, SourceSnapshot
from xla_lens.lsp.state import State
from xla_lens.lsp.tasks import in_thread


class Handler(NamedTuple):
    """Answers a request about one document with the function for its kind: a file of a dump set or its HLO module
    (`dump`), a page, or a file of the program (`source`). A kind without a function has the result null.

    The function runs on the event loop if it takes less time than starting a thread (`is_inline`), else in a worker
    thread. It may need the HLO module of a dump (`needs_module`).
    """

    dump: Callable[[Snapshot, Any], Any] | None = None
    page: Callable[[PageSnapshot, Any], Any] | None = None
    source: Callable[[SourceSnapshot, Any], Any] | None = None
    is_inline: bool = False
    needs_module: bool = False

    def of(self, snapshot: Snapshot | PageSnapshot | SourceSnapshot | None) -> Callable[[Any], Any] | None:
        """Return the function that answers from a snapshot, which takes the parameters of the request."""
        match snapshot:
            case Snapshot() if self.dump:
                return partial(self.dump, snapshot)
            case PageSnapshot() if self.page:
                return partial(self.page, snapshot)
            case SourceSnapshot() if self.source:
                return partial(self.source, snapshot)
        return None


async def _brief(arguments: Arguments) -> str:
    """Answer a question of a language model, which imports reports and comparisons."""
    from xla_lens.lsp.requests import briefs

    return await briefs.answer(arguments)


HANDLERS: Final[Mapping[str, Handler]] = {
    lsp.TEXT_DOCUMENT_HOVER: Handler(hover.hover, pages.hover, source_memory.source_hover, is_inline=True),
    lsp.TEXT_DOCUMENT_DEFINITION: Handler(navigation.definition, pages.definition, is_inline=True),
    lsp.TEXT_DOCUMENT_DECLARATION: Handler(navigation.declaration, pages.definition, is_inline=True),
    lsp.TEXT_DOCUMENT_TYPE_DEFINITION: Handler(navigation.type_definition, pages.definition, is_inline=True),
    lsp.TEXT_DOCUMENT_IMPLEMENTATION: Handler(
        navigation.implementation, pages.definition, is_inline=True, needs_module=True
    ),
    lsp.TEXT_DOCUMENT_REFERENCES: Handler(navigation.references, needs_module=True),
    lsp.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT: Handler(navigation.document_highlight, is_inline=True),
    lsp.TEXT_DOCUMENT_SELECTION_RANGE: Handler(structure.selection_range),
    lsp.TEXT_DOCUMENT_PREPARE_CALL_HIERARCHY: Handler(navigation.prepare_call_hierarchy, is_inline=True),
    lsp.CALL_HIERARCHY_INCOMING_CALLS: Handler(navigation.incoming_calls),
    lsp.CALL_HIERARCHY_OUTGOING_CALLS: Handler(navigation.outgoing_calls),
    lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL: Handler(structure.document_symbol, pages.document_symbol),
    lsp.TEXT_DOCUMENT_FOLDING_RANGE: Handler(structure.folding_range, pages.folding_range),
    lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_RANGE: Handler(structure.semantic_tokens_range),
    lsp.TEXT_DOCUMENT_INLAY_HINT: Handler(annotations.inlay_hint, source=source_memory.source_hints),
    lsp.TEXT_DOCUMENT_CODE_LENS: Handler(annotations.code_lens),
    lsp.TEXT_DOCUMENT_CODE_ACTION: Handler(annotations.code_action, is_inline=True),
    lsp.TEXT_DOCUMENT_DOCUMENT_LINK: Handler(annotations.document_link, pages.document_link, needs_module=True),
}
"""The requests about one document."""

COMMANDS: Final[Mapping[str, Callable[[Arguments], Awaitable[Any]]]] = {
    "xla-lens.report": commands.report,
    "xla-lens.compare": commands.compare,
    "xla-lens.comparedMaps": views.compared_maps,
    "xla-lens.selectForCompare": commands.select_for_compare,
    "xla-lens.endComparison": commands.end_comparison,
    "xla-lens.check": commands.check,
    "xla-lens.explain": commands.explain,
    "xla-lens.showSummary": commands.show_summary,
    "xla-lens.showLiveSet": commands.show_live_set,
    "xla-lens.showAllocationHistory": commands.show_allocation_history,
    "xla-lens.showReport": commands.show_report,
    "xla-lens.showAnswer": commands.show_answer,
    "xla-lens.showAdvice": commands.show_advice,
    "xla-lens.showOutOfMemory": out_of_memory.show_out_of_memory,
    "xla-lens.brief": _brief,
    "xla-lens.showReferences": commands.show_references,
    "xla-lens.findValues": workspace.find_values,
    "xla-lens.goTo": commands.go_to,
    "xla-lens.memoryMap": views.memory_map,
    "xla-lens.overview": views.overview,
    "xla-lens.modules": views.modules,
    "xla-lens.unpackDumps": views.unpack_dumps,
    "xla-lens.peak": views.peak,
    "xla-lens.values": views.values,
    "xla-lens.whatIsAt": views.what_is_at,
    "xla-lens.describe": views.describe,
    "xla-lens.heat": views.heat,
    "xla-lens.sourceMemory": source_memory.source_memory,
}
"""The commands of `workspace/executeCommand`."""


async def execute_command(state: State, params: lsp.ExecuteCommandParams) -> Any:
    """Run a command and return its result."""
    if params.command not in COMMANDS:
        raise InvalidParams(f"no such command: {params.command}")
    given = params.arguments or [{}]
    if len(given) != 1 or not isinstance(given[0], Mapping):
        raise InvalidParams(f"{params.command} takes one object")
    return await COMMANDS[params.command](Arguments(state, given[0]))


STATE_HANDLERS: Final[Mapping[str, Callable[[State, Any], Awaitable[Any]]]] = {
    lsp.DOCUMENT_LINK_RESOLVE: annotations.document_link_resolve,
    lsp.TEXT_DOCUMENT_DIAGNOSTIC: workspace.document_diagnostic,
    lsp.WORKSPACE_DIAGNOSTIC: workspace.workspace_diagnostic,
    lsp.WORKSPACE_SYMBOL: workspace.workspace_symbol,
    lsp.WORKSPACE_TEXT_DOCUMENT_CONTENT: pages.text_document_content,
    lsp.WORKSPACE_EXECUTE_COMMAND: execute_command,
}
"""The requests that concern no document, more than one, or the state of the server."""


async def answer(state: State, method: str, params: Any) -> Any:
    """Return the result of a request."""
    if method in STATE_HANDLERS:
        return await STATE_HANDLERS[method](state, params)
    handler = HANDLERS[method]
    snapshot = await state.snapshot(
        method, _uri(params), is_for_sources=handler.source is not None, needs_module=handler.needs_module
    )
    function = handler.of(snapshot)
    if function is None:
        return None
    if not handler.is_inline:
        return await in_thread(function, params)
    result = function(params)
    # A handler waits if only the disk has the answer.
    return await result if isinstance(result, Coroutine) else result


def _uri(params: Any) -> str:
    """The URI of the document that a request is about. Items from an earlier result have it in their `data`."""
    document = getattr(params, "text_document", None)
    if document is not None:
        return str(document.uri)
    data = getattr(getattr(params, "item", params), "data", None)
    return str(data.get("uri", "")) if isinstance(data, Mapping) else ""
