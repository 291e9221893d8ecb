"""Answers requests with the handlers of `xla_lens.lsp.handlers`."""

from collections.abc import Coroutine, Mapping
from typing import Any, Final

from lsprotocol import types as lsp

from xla_lens.lsp.converter import RawJson, to_json
from xla_lens.lsp.errors import DocumentClosed
from xla_lens.lsp.handlers import HANDLERS, DocumentHandler, StateHandler
from xla_lens.lsp.outputs import EditorDocument, joined, rows_of
from xla_lens.lsp.state import State
from xla_lens.lsp.tasks import in_thread


async def answer(state: State, method: str, params: Any) -> Any:
    """Return the result of a request."""
    handler = HANDLERS[method]
    if isinstance(handler, StateHandler):
        return await handler.function(state, params)
    uri = _uri(params)
    try:
        return await state.while_open(uri, _answer_open(state, handler, uri, method, params))
    except DocumentClosed:
        return _nothing(method, params)


async def _answer_open(state: State, handler: DocumentHandler, uri: str, method: str, params: Any) -> Any:
    while output := state.sets.output(uri):
        result = await _answer_output(state, handler, output, method, params)
        if state.sets.output(uri) is output:
            return result
        # An edit has moved the files in the output, so that their answers do not fit together.
    return await _answer_document(state, handler, uri, method, params)


def _nothing(method: str, params: Any) -> Any:
    """Return the result of a request that finds nothing. That of a resolve request must not be null: an item that can
    no longer be resolved stays as it is.
    """
    return params if method.endswith("/resolve") else None


async def _answer_output(
    state: State, handler: DocumentHandler, output: EditorDocument, method: str, params: Any
) -> Any:
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
    function = handler.function_for(snapshot.kind) if snapshot else None
    if function is None:
        result = None
    elif handler.is_inline:
        result = function(snapshot, params)
        # A handler waits if only the disk has the answer.
        result = await result if isinstance(result, Coroutine) else result
    else:
        result = await in_thread(function, snapshot, params)
    return _nothing(method, params) if result is None else result


def _uri(params: Any) -> str:
    """The URI of the document that a request is about. Items from an earlier result have it in their `data`."""
    document = getattr(params, "text_document", None)
    if document is not None:
        return str(document.uri)
    data = getattr(getattr(params, "item", params), "data", None)
    return str(data.get("uri", "")) if isinstance(data, Mapping) else ""
