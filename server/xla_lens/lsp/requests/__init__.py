"""The table of handlers: which function answers which request, for which kind of document.

A handler of a document request is a function of a snapshot and the request's parameters. It runs on the event loop
(`inline`) if it takes less time than starting a thread, else in a worker thread (`worker`). Requests that concern no
document, or more than one, are answered by coroutines of the state.
"""

from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Final, TypeAlias

from lsprotocol import types as lsp

from xla_lens.lsp.converter import to_json
from xla_lens.lsp.outputs import Output, joined, rows_of
from xla_lens.lsp.raw_json import RawJson
from xla_lens.lsp.requests import (
    call_hierarchy,
    code_action,
    code_lens,
    commands,
    content,
    diagnostics,
    hover,
    inlay_hint,
    links,
    navigation,
    source_memory,
    structure,
    workspace,
)
from xla_lens.lsp.snapshot import FileSnapshot, HloSnapshot, PageSnapshot, SourceSnapshot
from xla_lens.lsp.state import State
from xla_lens.lsp.tasks import in_thread
from xla_lens.records import dataclass

Answer: TypeAlias = Callable[[Any, Any], Any]
"""A function of a snapshot and the parameters of a request."""


@dataclass(frozen=True, slots=True)
class DocumentHandler:
    """Answers a request about one document: a dump file, an HLO module, a page or a file of the program. Where a
    function is None, the result for that kind of document is null.
    """

    dump: Answer | None
    hlo: Answer | None
    page: Answer | None
    is_inline: bool
    source: Answer | None = None

    def function_for(self, snapshot: FileSnapshot | PageSnapshot | SourceSnapshot) -> Answer | None:
        """Return the function for the kind of document of a snapshot."""
        match snapshot:
            case PageSnapshot():
                return self.page
            case SourceSnapshot():
                return self.source
            case HloSnapshot():
                return self.hlo
        return self.dump


@dataclass(frozen=True, slots=True)
class StateHandler:
    """Answers a request that concerns no document, or more than one: a coroutine of the state and the parameters."""

    function: Callable[[State, Any], Coroutine[Any, Any, Any]]


def _inline(
    dump: Answer, hlo: Answer | None = None, page: Answer | None = None, source: Answer | None = None
) -> DocumentHandler:
    return DocumentHandler(dump, hlo, page, is_inline=True, source=source)


def _worker(
    dump: Answer, hlo: Answer | None = None, page: Answer | None = None, source: Answer | None = None
) -> DocumentHandler:
    return DocumentHandler(dump, hlo, page, is_inline=False, source=source)


HANDLERS: Final[Mapping[str, DocumentHandler | StateHandler]] = {
    lsp.TEXT_DOCUMENT_HOVER: _inline(
        hover.hover, hlo=hover.hlo_hover, page=hover.page_hover, source=source_memory.source_hover
    ),
    lsp.TEXT_DOCUMENT_DEFINITION: _inline(
        navigation.definition, hlo=navigation.hlo_definition, page=navigation.page_definition
    ),
    lsp.TEXT_DOCUMENT_DECLARATION: _inline(
        navigation.declaration, hlo=navigation.hlo_declaration, page=navigation.page_definition
    ),
    lsp.TEXT_DOCUMENT_TYPE_DEFINITION: _inline(
        navigation.type_definition, hlo=navigation.hlo_type_definition, page=navigation.page_definition
    ),
    lsp.TEXT_DOCUMENT_IMPLEMENTATION: _inline(
        navigation.implementation, hlo=navigation.hlo_implementation, page=navigation.page_definition
    ),
    lsp.TEXT_DOCUMENT_REFERENCES: _worker(navigation.references, hlo=navigation.hlo_references),
    lsp.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT: _inline(navigation.document_highlight, hlo=navigation.hlo_document_highlight),
    lsp.TEXT_DOCUMENT_PREPARE_CALL_HIERARCHY: _inline(
        call_hierarchy.prepare_call_hierarchy, hlo=call_hierarchy.hlo_prepare_call_hierarchy
    ),
    lsp.CALL_HIERARCHY_INCOMING_CALLS: _worker(call_hierarchy.incoming_calls, hlo=call_hierarchy.hlo_incoming_calls),
    lsp.CALL_HIERARCHY_OUTGOING_CALLS: _worker(call_hierarchy.outgoing_calls, hlo=call_hierarchy.hlo_outgoing_calls),
    lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL: _worker(
        structure.document_symbol, hlo=structure.hlo_document_symbol, page=structure.page_document_symbol
    ),
    lsp.TEXT_DOCUMENT_FOLDING_RANGE: _worker(
        structure.folding_range, hlo=structure.hlo_folding_range, page=structure.page_folding_range
    ),
    lsp.TEXT_DOCUMENT_SELECTION_RANGE: _inline(structure.selection_range, hlo=structure.hlo_selection_range),
    lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_RANGE: _worker(
        structure.semantic_tokens_range, hlo=structure.hlo_semantic_tokens_range
    ),
    lsp.TEXT_DOCUMENT_INLAY_HINT: _worker(
        inlay_hint.inlay_hint, hlo=inlay_hint.hlo_inlay_hint, source=source_memory.source_hints
    ),
    lsp.TEXT_DOCUMENT_CODE_LENS: _worker(code_lens.code_lens),
    lsp.CODE_LENS_RESOLVE: _inline(code_lens.code_lens_resolve),
    lsp.TEXT_DOCUMENT_CODE_ACTION: _inline(code_action.code_action, hlo=code_action.hlo_code_action),
    lsp.TEXT_DOCUMENT_DOCUMENT_LINK: _worker(
        links.document_link, hlo=links.hlo_document_link, page=links.page_document_link
    ),
    lsp.DOCUMENT_LINK_RESOLVE: StateHandler(links.document_link_resolve),
    lsp.TEXT_DOCUMENT_DIAGNOSTIC: StateHandler(diagnostics.document_diagnostic),
    lsp.WORKSPACE_DIAGNOSTIC: StateHandler(diagnostics.workspace_diagnostic),
    lsp.WORKSPACE_SYMBOL: StateHandler(workspace.workspace_symbol),
    lsp.WORKSPACE_TEXT_DOCUMENT_CONTENT: StateHandler(content.text_document_content),
    lsp.WORKSPACE_EXECUTE_COMMAND: StateHandler(commands.execute_command),
}


async def answer(state: State, method: str, params: Any) -> Any:
    """Return the result of a request."""
    handler = HANDLERS[method]
    if isinstance(handler, StateHandler):
        return await handler.function(state, params)
    uri = _uri(params)
    if output := state.sets.output(uri):
        return await _answer_output(state, handler, output, method, params)
    return await _answer_document(state, handler, uri, method, params)


async def _answer_output(state: State, handler: DocumentHandler, output: Output, method: str, params: Any) -> Any:
    """Return the result of a request about the output of XLA, from the results for the files in it."""
    if isinstance(params, lsp.SelectionRangeParams):
        ranges = []
        for position in params.positions:
            one = lsp.SelectionRangeParams(params.text_document, [position])
            uri = f"{output.uri}#L{position.line + 1}"
            ranges += to_json(await _answer_document(state, handler, uri, method, one))
        return RawJson(ranges)
    rows = rows_of(params)
    parts = output.around(*rows) if rows else output.parts
    uris = [f"{output.uri}#L{part.first_row + 1}" for part in parts]
    answers = [await _answer_document(state, handler, uri, method, params) for uri in uris]
    if method not in _JOINED:
        return answers[0] if answers else None
    is_tree = state.client.capabilities.has_nested_symbols
    return joined(method, parts, answers, is_tree=is_tree)


_JOINED: Final = (
    lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL,
    lsp.TEXT_DOCUMENT_FOLDING_RANGE,
    lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_RANGE,
    lsp.TEXT_DOCUMENT_INLAY_HINT,
    lsp.TEXT_DOCUMENT_CODE_LENS,
    lsp.TEXT_DOCUMENT_DOCUMENT_LINK,
)
"""The requests about more than one place of a document."""


async def _answer_document(state: State, handler: DocumentHandler, uri: str, method: str, params: Any) -> Any:
    snapshot = await state.snapshot(method, uri)
    function = handler.function_for(snapshot) if snapshot else None
    if function is None:
        result = None
    elif handler.is_inline:
        result = function(snapshot, params)
        # A handler waits if only the disk has the answer.
        result = await result if isinstance(result, Coroutine) else result
    else:
        result = await in_thread(function, snapshot, params)
    # The result of a resolve request must not be null: an item that can no longer be resolved stays as it is.
    return params if result is None and method.endswith("/resolve") else result


def _uri(params: Any) -> str:
    """The URI of the document that a request is about. Items from an earlier result have it in their `data`."""
    document = getattr(params, "text_document", None)
    if document is not None:
        return str(document.uri)
    data = getattr(getattr(params, "item", params), "data", None)
    return str(data.get("uri", "")) if isinstance(data, Mapping) else ""
