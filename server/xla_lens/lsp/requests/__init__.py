"""Answers requests with the handlers of `xla_lens.lsp.handlers`."""

from collections.abc import Coroutine, Mapping
from typing import Any

from xla_lens.lsp.handlers import HANDLERS, function_of
from xla_lens.lsp.state import State
from xla_lens.lsp.tasks import in_thread


async def answer(state: State, method: str, params: Any) -> Any:
    """Return the result of a request."""
    handler = HANDLERS[method]
    if handler.state:
        return await function_of(handler.state)(state, params)
    snapshot = await state.snapshot(handler, method, _uri(params))
    name = getattr(handler, snapshot.kind) if snapshot else ""
    if not name:
        return None
    if not handler.is_inline:
        return await in_thread(function_of(name), snapshot, params)
    result = function_of(name)(snapshot, params)
    # A handler waits if only the disk has the answer.
    return await result if isinstance(result, Coroutine) else result


def _uri(params: Any) -> str:
    """The URI of the document that a request is about. Items from an earlier result have it in their `data`."""
    document = getattr(params, "text_document", None)
    if document is not None:
        return str(document.uri)
    data = getattr(getattr(params, "item", params), "data", None)
    return str(data.get("uri", "")) if isinstance(data, Mapping) else ""
