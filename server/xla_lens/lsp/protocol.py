"""Where the server departs from the protocol of pygls, and why.

- Documents are kept as UTF-8 with a table of lines (`State`): the documents of pygls split the text at each access.
- Parameters of the wrong type and requests after `shutdown` get an error.
- Commands can be cancelled like all requests.
"""

import asyncio
import logging
from collections.abc import Generator
from typing import Any

from cattrs import Converter
from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException, JsonRpcInvalidRequest
from pygls.lsp.server import LanguageServer
from pygls.protocol import JsonRPCRequestMessage, LanguageServerProtocol, lsp_method

from xla_lens.lsp.capabilities import COMMANDS, PAGE_SCHEME
from xla_lens.lsp.client import ClientCapabilities
from xla_lens.lsp.errors import InvalidParams

logger = logging.getLogger(__name__)

_REFUSED = "xla-lens/refused"
"""A request with this method stands for one that is refused. Its parameter is the error."""

_NOT_BUILT_IN = (
    lsp.TEXT_DOCUMENT_DID_OPEN,
    lsp.TEXT_DOCUMENT_DID_CHANGE,
    lsp.TEXT_DOCUMENT_DID_CLOSE,
    lsp.WORKSPACE_EXECUTE_COMMAND,
)
"""The methods that only the server handles. pygls would keep each document and the result of each command."""


class Protocol(LanguageServerProtocol):
    """The protocol of pygls with the differences above."""

    def __init__(self, server: LanguageServer, converter: Converter) -> None:
        # pygls reads all attributes when it is initialized.
        self.is_shut_down = False
        self.running: set[asyncio.Task[Any]] = set()
        """The requests that are being handled."""
        super().__init__(server, converter)
        self.fm.feature(_REFUSED)(_refuse)
        for method in _NOT_BUILT_IN:
            del self.fm.builtin_features[method]

    # ---------------------------------------------------------------- messages

    def structure_message(self, data: dict[str, Any]) -> Any:
        """Return an object as it is. pygls calls this for all objects in a message; `handle_message` structures it."""
        return data

    def handle_message(self, message: Any) -> None:
        """Handle a message, which may be any JSON. Every request gets one response."""
        if not isinstance(message, dict):
            logger.warning("ignored: not a message")
            return
        if message.get("method") == lsp.SHUTDOWN and "id" not in message:
            # Kate sends a notification, and `exit` behind it.
            return
        is_request = "method" in message and isinstance(message.get("id"), int | str)
        error: JsonRpcException | None = None
        if is_request and self.is_shut_down:
            error = JsonRpcInvalidRequest("the server is shutting down")
        else:
            try:
                message = super().structure_message(message)
            except JsonRpcException as wrong:
                reason = _first(wrong.__cause__ or wrong)
                error = InvalidParams(f"invalid parameters of {message.get('method')}: {reason}")
        if error is None:
            super().handle_message(message)
        elif is_request:
            refused = JsonRPCRequestMessage(id=message["id"], method=_REFUSED, jsonrpc=self.VERSION, params=error)
            super().handle_message(refused)
        else:
            logger.warning("ignored: %s", error)

    # ---------------------------------------------------------------- lifecycle

    @lsp_method(lsp.INITIALIZE)
    def lsp_initialize(self, params: lsp.InitializeParams) -> Generator[Any, Any, lsp.InitializeResult]:
        """Answer `initialize`, with the capabilities that pygls does not know."""
        result = yield from super().lsp_initialize(params)
        capabilities, client = result.capabilities, ClientCapabilities(params.capabilities)
        if capabilities.workspace:
            capabilities.workspace.text_document_content = lsp.TextDocumentContentOptions([PAGE_SCHEME])
        capabilities.execute_command_provider = lsp.ExecuteCommandOptions([*COMMANDS])
        if not client.pulls_diagnostics:
            # The editor would show the published diagnostics and the pulled ones.
            capabilities.diagnostic_provider = None
        return result

    @lsp_method(lsp.SHUTDOWN)
    def lsp_shutdown(self, *_: Any) -> None:  # type: ignore[override]
        """Cancel all requests and refuse those that follow, which pygls would not answer."""
        self.is_shut_down = True
        for task in self.running:
            task.cancel()


def _refuse(error: JsonRpcException) -> None:
    raise error


def _first(error: BaseException) -> str:
    """Describe the first error in a tree of errors."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"
