"""The protocol as its specification has it, where pygls is more lenient or says nothing at all.

Each request gets exactly one answer, and what is wrong with a message is told with the code of the specification.

pygls still finds and runs the handlers. Documents are kept in the session instead of pygls's workspace, whose documents
are too slow for dumps.
"""

import asyncio
import logging
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, Final, TypeVar

from cattrs import Converter
from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException
from pygls.protocol import LanguageServerProtocol, lsp_method

from xla_lens.lsp.plain import Plain
from xla_lens.lsp.transport import Malformed

if TYPE_CHECKING:
    from xla_lens.lsp.server import XlaLensServer

logger = logging.getLogger(__name__)

_T = TypeVar("_T")

_NOT_INITIALIZED: Final = -32002
"""ServerNotInitialized, which lsprotocol has no place for among the codes that it takes."""

_UNANSWERED: Final = 10_000
"""Requests that wait for their answers, at most."""

_LAST_ANSWERS: Final = 1.0
"""Seconds in which a request that was given up has to end."""

_UNUSED: Final = (
    lsp.NOTEBOOK_DOCUMENT_DID_OPEN,
    lsp.NOTEBOOK_DOCUMENT_DID_CHANGE,
    lsp.NOTEBOOK_DOCUMENT_DID_CLOSE,
    lsp.SET_TRACE,
)
"""Notifications that pygls would keep something of."""


class Protocol(LanguageServerProtocol):
    """What is received and sent. `exit_status` is what the process has to end with, once `on_exit` was called."""

    _server: "XlaLensServer"

    def __init__(self, server: "XlaLensServer", converter: Converter) -> None:
        super().__init__(server, converter)
        self.exit_status = 1
        self.on_exit: Callable[[], None] = lambda: None
        self._is_initialized = False
        for method in _UNUSED:
            self.fm.builtin_features.pop(method)

    # ---------------------------------------------------------------- messages

    def receive(self, message: Any) -> None:
        """Handles a message of the client: any JSON."""
        if not isinstance(message, dict) or message.get("jsonrpc") != self.VERSION:
            number = message.get("id") if isinstance(message, dict) else None
            self._refuse(number, lsp.ErrorCodes.InvalidRequest, "not a message of JSON-RPC 2.0")
        elif "method" not in message:
            self._receive_response(message)
        elif not isinstance(message["method"], str):
            self._refuse(message.get("id"), lsp.ErrorCodes.InvalidRequest, "the method is no string")
        elif "id" not in message:
            self._receive_notification(message)
        elif not _is_id(message["id"]):
            self._refuse(None, lsp.ErrorCodes.InvalidRequest, "the id is neither a number nor a string")
        elif message["id"] in self._request_futures:
            self._refuse(message["id"], lsp.ErrorCodes.InvalidRequest, "another request with that id is under way")
        else:
            self._receive_request(message)

    def typed(self, value: Any, wanted: type[_T]) -> _T:
        """Some JSON as one of the protocol's types. Raises `ValueError`, `TypeError` or an `ExceptionGroup`."""
        return self._converter.structure(value, wanted)

    def plain(self, value: Any) -> Any:
        """A value of the protocol's types as JSON."""
        return value.json if isinstance(value, Plain) else self._converter.unstructure(value)

    def refuse(self, malformed: Malformed) -> None:
        """Answers to what is no message."""
        self._refuse(None, lsp.ErrorCodes.ParseError, str(malformed))

    def _receive_request(self, message: dict[str, Any]) -> None:
        number, method = message["id"], message["method"]
        if self._shutdown:
            self._refuse(number, lsp.ErrorCodes.InvalidRequest, "the server is shutting down")
        elif not self._is_initialized and method != lsp.INITIALIZE:
            self._refuse(number, _NOT_INITIALIZED, "the first request has to be `initialize`")
        elif self._is_initialized and method == lsp.INITIALIZE:
            self._refuse(number, lsp.ErrorCodes.InvalidRequest, "the server is initialized already")
        elif not self._handles(method) or not _has_answer(method):
            self._refuse(number, lsp.ErrorCodes.MethodNotFound, f"no such method: {method}")
        elif len(self._request_futures) >= _UNANSWERED:
            self._refuse(number, lsp.LSPErrorCodes.RequestFailed, f"more than {_UNANSWERED:,} requests are under way")
        else:
            try:
                request = self._structure(message)
            except Exception as error:
                self._refuse(number, lsp.ErrorCodes.InvalidParams, f"invalid parameters of {method}: {_first(error)}")
                return
            self._is_initialized = True
            self.handle_message(request)

    def _receive_notification(self, message: dict[str, Any]) -> None:
        method = message["method"]
        if method != lsp.EXIT and (not self._is_initialized or self._shutdown):
            return
        if _has_answer(method) or not (self._handles(method) or method == lsp.CANCEL_REQUEST):
            return
        try:
            notification = self._structure(message)
        except Exception as error:
            # A notification has no answer.
            logger.warning("ignored: invalid parameters of %s: %s", method, _first(error))
            return
        self.handle_message(notification)

    def _receive_response(self, message: dict[str, Any]) -> None:
        number, error = message.get("id"), message.get("error")
        if not _is_id(number) or number not in self._result_types:
            if message.keys() <= {"jsonrpc", "id"}:
                self._refuse(number, lsp.ErrorCodes.InvalidRequest, "neither a request nor an answer")
            return
        wanted, future = self._result_types.pop(number), self._request_futures.pop(number, None)
        if future is None or future.done():
            return
        try:
            if error is None:
                future.set_result(self._converter.structure(message, wanted).result)
            else:
                told = self._converter.structure(error, lsp.ResponseError)
                future.set_exception(JsonRpcException.from_error(told))
        except Exception as wrong:
            future.set_exception(wrong)

    def _handles(self, method: str) -> bool:
        return method in self.fm.builtin_features or method in self.fm.features

    def _structure(self, message: dict[str, Any]) -> Any:
        message_type = self.get_message_type(message["method"])
        if message_type is None:
            raise ValueError("no such method")
        return self._converter.structure(message, message_type)

    def _refuse(self, number: Any, code: int, reason: str) -> None:
        logger.info("refused: %s", reason)
        # As it stands in the specification, and not as an object of lsprotocol, which has no place for all codes.
        error = {"code": int(code), "message": reason}
        self._send_data({"jsonrpc": self.VERSION, "id": number if _is_id(number) else None, "error": error})

    def _send_response(
        self, msg_id: int | str, result: Any | None = None, error: lsp.ResponseError | None = None
    ) -> None:
        if error is not None:
            super()._send_response(msg_id, error=error)
        else:
            self._result_types.pop(msg_id, None)
            self._send_data({"jsonrpc": self.VERSION, "id": msg_id, "result": self.plain(result)})

    def _execute_handler(self, msg_id: int | str, *arguments: Any, **options: Any) -> None:
        """Nothing is kept of a notification either, once it is handled."""
        super()._execute_handler(msg_id, *arguments, **options)
        if future := self._request_futures.get(msg_id):
            future.add_done_callback(lambda _: self._request_futures.pop(msg_id, None))

    def _handle_cancel_notification(self, msg_id: int | str) -> None:
        """A request that is answered already may be cancelled as well: then the two have met on the way."""
        task = self._request_futures.get(msg_id)
        if isinstance(task, asyncio.Task):
            task.cancel()

    async def answer_all(self) -> None:
        """Gives up the requests that are under way; each has its answer then."""
        waiting: list[Any] = [task for task in self._request_futures.values() if isinstance(task, asyncio.Task)]
        for task in waiting:
            task.cancel()
        if waiting:
            await asyncio.wait(waiting, timeout=_LAST_ANSWERS)

    # ---------------------------------------------------------------- the life of a server

    @lsp_method(lsp.INITIALIZE)
    def lsp_initialize(self, params: lsp.InitializeParams) -> Generator[Any, Any, lsp.InitializeResult]:
        """Says what the server can."""
        result: lsp.InitializeResult = yield from super().lsp_initialize(params)
        self._server.initialize(params, result.capabilities)
        return result

    @lsp_method(lsp.INITIALIZED)
    def lsp_initialized(self, *_params: Any) -> None:
        """The client has read what the server can."""
        self._server.initialized()

    @lsp_method(lsp.EXIT)
    def lsp_exit(self, *_params: Any) -> None:  # type: ignore[override]  # pygls takes functions, too
        """Ends the server; without a `shutdown` before it that is an error."""
        self.exit_status = 0 if self._shutdown else 1
        self.on_exit()

    @lsp_method(lsp.WORKSPACE_EXECUTE_COMMAND)
    async def lsp_workspace__execute_command(  # type: ignore[override]  # pygls takes coroutines, too
        self, params: lsp.ExecuteCommandParams
    ) -> Any:
        """Runs a command."""
        return await self._server.answer(lsp.WORKSPACE_EXECUTE_COMMAND, params)

    # ---------------------------------------------------------------- documents

    @lsp_method(lsp.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: lsp.DidOpenTextDocumentParams) -> None:
        """The editor has opened a document."""
        from xla_lens.lsp.sync import did_open

        did_open(self._server.session, params)

    @lsp_method(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: lsp.DidChangeTextDocumentParams) -> None:
        """The editor has changed a document."""
        from xla_lens.lsp.sync import did_change

        did_change(self._server.session, params, self._server.client.encoding)

    @lsp_method(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: lsp.DidCloseTextDocumentParams) -> None:
        """The editor has closed a document."""
        from xla_lens.lsp.sync import did_close

        did_close(self._server.session, params)


def _has_answer(method: str) -> bool:
    """Whether a method is a request, and no notification."""
    return hasattr(lsp.METHOD_TO_TYPES.get(method, (None,))[0], "id")


def _is_id(number: Any) -> bool:
    return isinstance(number, (int, str)) and not isinstance(number, bool)


def _first(error: BaseException) -> str:
    """What is wrong, without the tree of errors around it."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"
