"""The base protocol of LSP: JSON-RPC messages, the lifecycle of the server, and cancellation.

Every request gets exactly one response, and every malformed message gets the error code of the specification. pygls
differs in too many of these points, so nothing of its message loop is used.
"""

import asyncio
import itertools
import json
import logging
import traceback
from collections.abc import Awaitable, Callable, Collection, Mapping
from enum import Enum, auto
from functools import partial
from typing import Any, Final, Protocol

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException, JsonRpcInternalError, JsonRpcRequestCancelled

from xla_lens.lsp.converter import from_json, to_json
from xla_lens.lsp.transport import Malformed

logger = logging.getLogger(__name__)

_VERSION: Final = "2.0"

_SERVER_NOT_INITIALIZED: Final = -32002

_REQUEST_LIMIT: Final = 10_000
"""Maximum number of requests in flight."""

_CANCEL_SECONDS: Final = 1.0
"""How long cancelled requests may take to end when the server exits."""


class Writer(Protocol):
    """The connection to the client."""

    def write(self, data: bytes) -> None:
        """Send a message with its header. Does not block."""


class _Phase(Enum):
    STARTING = auto()
    RUNNING = auto()
    SHUT_DOWN = auto()


class LanguageServerProtocol:
    """One conversation with a client.

    `initialize` handles the `initialize` request. `answer` handles the requests in `methods`, `notifications` the
    notifications; all others are rejected or ignored. `exit_status` is the exit status of the process once `on_exit`
    has been called.
    """

    def __init__(
        self,
        initialize: Callable[[lsp.InitializeParams], lsp.InitializeResult],
        methods: Collection[str],
        answer: Callable[[str, Any], Awaitable[Any]],
        notifications: Mapping[str, Callable[[Any], None]],
    ) -> None:
        self.exit_status = 1
        self.on_exit: Callable[[], None] = lambda: None
        self.writer: Writer | None = None
        self._initialize = initialize
        self._methods = {*methods, lsp.INITIALIZE, lsp.SHUTDOWN}
        self._answer = answer
        self._notifications: dict[str, Callable[[Any], None]] = {
            **notifications,
            lsp.EXIT: self._exit,
            lsp.CANCEL_REQUEST: self._cancel,
        }
        self._phase = _Phase.STARTING
        self._requests: dict[int | str, asyncio.Future[Any]] = {}
        self._calls: dict[str, tuple[Any, asyncio.Future[Any]]] = {}
        self._call_ids = itertools.count(1)

    @property
    def in_flight(self) -> int:
        """The number of requests of either side that have no response yet."""
        return len(self._requests) + len(self._calls)

    # ---------------------------------------------------------------- messages to the client

    def notify(self, method: str, params: Any) -> None:
        """Send a notification."""
        self._send({"method": method, "params": to_json(params)})

    async def request(self, method: str, params: Any = None) -> Any:
        """Send a request and return its result. Raises `JsonRpcException` if the response is an error, and what
        `from_json` raises if it is malformed.
        """
        call_id = f"xla-lens/{next(self._call_ids)}"
        response = asyncio.get_running_loop().create_future()
        self._calls[call_id] = lsp.METHOD_TO_TYPES[method][1], response
        self._send({"id": call_id, "method": method, **({} if params is None else {"params": to_json(params)})})
        try:
            return await response
        finally:
            self._calls.pop(call_id, None)

    def _send(self, message: Mapping[str, Any]) -> None:
        if self.writer is not None:
            body = json.dumps({"jsonrpc": _VERSION, **message}).encode()
            self.writer.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)

    def _send_error(self, request_id: Any, code: int, message: str, data: Any = None) -> None:
        error = {"code": int(code), "message": message, **({} if data is None else {"data": data})}
        self._send({"id": request_id if _is_id(request_id) else None, "error": error})

    def _reject(self, request_id: Any, code: int, reason: str) -> None:
        logger.info("rejected: %s", reason)
        self._send_error(request_id, code, reason)

    # ---------------------------------------------------------------- messages from the client

    def receive(self, message: Any) -> None:
        """Handle a message from the client, which may be any JSON."""
        if not isinstance(message, dict) or message.get("jsonrpc") != _VERSION:
            request_id = message.get("id") if isinstance(message, dict) else None
            self._reject(request_id, lsp.ErrorCodes.InvalidRequest, "not a message of JSON-RPC 2.0")
        elif "method" not in message:
            self._receive_response(message)
        elif not isinstance(message["method"], str):
            self._reject(message.get("id"), lsp.ErrorCodes.InvalidRequest, "the method is not a string")
        elif "id" not in message:
            self._receive_notification(message, message["method"])
        elif not _is_id(message["id"]):
            self._reject(None, lsp.ErrorCodes.InvalidRequest, "the id is neither a number nor a string")
        elif message["id"] in self._requests:
            self._reject(message["id"], lsp.ErrorCodes.InvalidRequest, "another request with this id is in flight")
        else:
            self._receive_request(message, message["id"], message["method"])

    def receive_malformed(self, error: Malformed) -> None:
        """Respond to bytes that are not a message."""
        self._reject(None, lsp.ErrorCodes.ParseError, str(error))

    def _receive_request(self, message: dict[str, Any], request_id: int | str, method: str) -> None:
        if self._phase is _Phase.SHUT_DOWN:
            self._reject(request_id, lsp.ErrorCodes.InvalidRequest, "the server is shutting down")
        elif self._phase is _Phase.STARTING and method != lsp.INITIALIZE:
            self._reject(request_id, _SERVER_NOT_INITIALIZED, "the first request must be `initialize`")
        elif self._phase is _Phase.RUNNING and method == lsp.INITIALIZE:
            self._reject(request_id, lsp.ErrorCodes.InvalidRequest, "the server is already initialized")
        elif method not in self._methods:
            self._reject(request_id, lsp.ErrorCodes.MethodNotFound, f"no such method: {method}")
        elif len(self._requests) >= _REQUEST_LIMIT:
            self._reject(
                request_id, lsp.LSPErrorCodes.RequestFailed, f"more than {_REQUEST_LIMIT:,} requests in flight"
            )
        else:
            try:
                params = _params(message, method)
            except Exception as error:
                reason = f"invalid parameters of {method}: {_first(error)}"
                self._reject(request_id, lsp.ErrorCodes.InvalidParams, reason)
                return
            self._handle_request(request_id, method, params)

    def _handle_request(self, request_id: int | str, method: str, params: Any) -> None:
        if method == lsp.INITIALIZE:
            self._phase = _Phase.RUNNING
            try:
                self._respond(request_id, self._initialize(params))
            except Exception as error:
                self._respond_error(request_id, error)
        elif method == lsp.SHUTDOWN:
            self._phase = _Phase.SHUT_DOWN
            self.cancel_all()
            self._respond(request_id, None)
        else:
            task = asyncio.ensure_future(self._answer(method, params))
            self._requests[request_id] = task
            task.add_done_callback(partial(self._finish, request_id))

    def _receive_notification(self, message: dict[str, Any], method: str) -> None:
        handler = self._notifications.get(method)
        if handler is None or (method != lsp.EXIT and self._phase is not _Phase.RUNNING):
            return
        try:
            params = _params(message, method)
        except Exception as error:
            # A notification has no response.
            logger.warning("ignored: invalid parameters of %s: %s", method, _first(error))
            return
        try:
            handler(params)
        except Exception:
            logger.exception("%s failed", method)

    def _receive_response(self, message: dict[str, Any]) -> None:
        call_id, error = message.get("id"), message.get("error")
        if not isinstance(call_id, str) or call_id not in self._calls:
            if message.keys() <= {"jsonrpc", "id"}:
                self._reject(call_id, lsp.ErrorCodes.InvalidRequest, "neither a request nor a response")
            return
        response_type, response = self._calls.pop(call_id)
        if response.done():
            return
        try:
            if error is None:
                response.set_result(from_json(message, response_type).result)
            else:
                response.set_exception(JsonRpcException.from_error(from_json(error, lsp.ResponseError)))
        except Exception as wrong:
            response.set_exception(wrong)

    # ---------------------------------------------------------------- responses

    def _finish(self, request_id: int | str, task: "asyncio.Future[Any]") -> None:
        del self._requests[request_id]
        if task.cancelled():
            self._respond_error(request_id, JsonRpcRequestCancelled("the request was cancelled"))
        elif error := task.exception():
            self._respond_error(request_id, error)
        else:
            self._respond(request_id, task.result())

    def _respond(self, request_id: int | str, result: Any) -> None:
        try:
            self._send({"id": request_id, "result": to_json(result)})
        except Exception as error:
            logger.exception("cannot send a result")
            self._respond_error(request_id, error)

    def _respond_error(self, request_id: int | str, error: BaseException) -> None:
        if isinstance(error, JsonRpcException):
            self._send_error(request_id, error.code, error.message, error.data)
        else:
            reason, where = f"{type(error).__name__}: {error}", traceback.format_tb(error.__traceback__)
            self._send_error(request_id, JsonRpcInternalError.CODE, reason, {"traceback": where})

    # ---------------------------------------------------------------- cancellation and exit

    def _cancel(self, params: lsp.CancelParams) -> None:
        if task := self._requests.get(params.id):
            task.cancel()

    def cancel_all(self) -> None:
        """Cancel all requests of the client that are in flight."""
        for task in self._requests.values():
            task.cancel()

    async def finish_requests(self) -> None:
        """Cancel all requests and wait until their responses are sent."""
        self.cancel_all()
        if self._requests:
            await asyncio.wait(self._requests.values(), timeout=_CANCEL_SECONDS)

    def _exit(self, _params: None) -> None:
        """End the server. Without a `shutdown` request before it, that is an error."""
        self.exit_status = 0 if self._phase is _Phase.SHUT_DOWN else 1
        self.on_exit()


def _params(message: dict[str, Any], method: str) -> Any:
    """The parameters of a request or notification, None for a method without. Raises what `from_json` raises."""
    return from_json(message, lsp.METHOD_TO_TYPES[method][0]).params


def _is_id(value: Any) -> bool:
    return isinstance(value, (int, str)) and not isinstance(value, bool)


def _first(error: BaseException) -> str:
    """Describe the first error in a tree of errors."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"
