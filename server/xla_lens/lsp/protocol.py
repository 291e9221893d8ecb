"""The base protocol of LSP: JSON-RPC messages, the lifecycle of the server, and cancellation.

Every request gets exactly one response, and every malformed message gets the error code of the specification.
The types of lsprotocol are imported with the first message after `initialize`: see `serve.py`.
"""

import asyncio
import itertools
import json
import logging
import traceback
from collections.abc import Awaitable, Callable, Collection, Mapping
from enum import Enum, auto
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol

from xla_lens.lsp.errors import ErrorCode, ResponseError
from xla_lens.lsp.raw_json import EncodedJson, Json, RawJson
from xla_lens.lsp.tasks import Activity
from xla_lens.lsp.transport import Malformed

if TYPE_CHECKING:
    from lsprotocol import types as lsp

logger = logging.getLogger(__name__)

_VERSION: Final = "2.0"

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

    `initialize` turns the parameters of the `initialize` request, which may be any JSON, into its result. `answer`
    handles the requests in `methods`, `notifications` the notifications; all others are rejected or ignored.
    `on_start` is called after the response to `initialize`. `exit_status` is the exit status of the process once
    `on_exit` has been called.
    """

    def __init__(
        self,
        initialize: Callable[[Any], Json],
        methods: Collection[str],
        answer: Callable[[str, Any], Awaitable[Any]],
        notifications: Mapping[str, Callable[[Any], None]],
    ) -> None:
        self.exit_status = 1
        self.on_start: Callable[[], None] = lambda: None
        self.on_exit: Callable[[], None] = lambda: None
        self.writer: Writer | None = None
        self.activity = Activity()
        """The requests that are being handled; the connection counts its messages here, too."""
        self._initialize = initialize
        self._methods = {*methods, "initialize", "shutdown"}
        self._answer = answer
        self._notifications: dict[str, Callable[[Any], None]] = {
            **notifications,
            "exit": self._exit,
            "$/cancelRequest": self._cancel,
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
        self._send({"method": method, "params": _to_json(params)})

    async def request(self, method: str, params: Any = None) -> Any:
        """Send a request and return its result. Raises `ResponseError` if the response is an error, and what
        `from_json` raises if it is malformed.
        """
        from lsprotocol import types as lsp

        call_id = f"xla-lens/{next(self._call_ids)}"
        response = asyncio.get_running_loop().create_future()
        self._calls[call_id] = lsp.METHOD_TO_TYPES[method][1], response
        self._send({"id": call_id, "method": method, **({} if params is None else {"params": _to_json(params)})})
        try:
            return await response
        finally:
            self._calls.pop(call_id, None)

    def _send(self, message: Mapping[str, Any]) -> None:
        if self.writer is not None:
            self._write(json.dumps({"jsonrpc": _VERSION, **message}).encode())

    def _write(self, body: bytes) -> None:
        if self.writer is not None:
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
            self._reject(request_id, ErrorCode.INVALID_REQUEST, "not a message of JSON-RPC 2.0")
        elif "method" not in message:
            self._receive_response(message)
        elif not isinstance(message["method"], str):
            self._reject(message.get("id"), ErrorCode.INVALID_REQUEST, "the method is not a string")
        elif "id" not in message:
            self._receive_notification(message, message["method"])
        elif not _is_id(message["id"]):
            self._reject(None, ErrorCode.INVALID_REQUEST, "the id is neither a number nor a string")
        elif message["id"] in self._requests:
            self._reject(message["id"], ErrorCode.INVALID_REQUEST, "another request with this id is in flight")
        else:
            self._receive_request(message, message["id"], message["method"])

    def receive_malformed(self, error: Malformed) -> None:
        """Respond to bytes that are not a message."""
        self._reject(None, ErrorCode.PARSE_ERROR, str(error))

    def _receive_request(self, message: dict[str, Any], request_id: int | str, method: str) -> None:
        if self._phase is _Phase.SHUT_DOWN:
            self._reject(request_id, ErrorCode.INVALID_REQUEST, "the server is shutting down")
        elif self._phase is _Phase.STARTING and method != "initialize":
            self._reject(request_id, ErrorCode.SERVER_NOT_INITIALIZED, "the first request must be `initialize`")
        elif self._phase is _Phase.RUNNING and method == "initialize":
            self._reject(request_id, ErrorCode.INVALID_REQUEST, "the server is already initialized")
        elif method not in self._methods:
            self._reject(request_id, ErrorCode.METHOD_NOT_FOUND, f"no such method: {method}")
        elif len(self._requests) >= _REQUEST_LIMIT:
            self._reject(request_id, ErrorCode.REQUEST_FAILED, f"more than {_REQUEST_LIMIT:,} requests in flight")
        elif method == "initialize":
            self._start(request_id, message.get("params"))
        else:
            try:
                params = _params(message, method)
            except Exception as error:
                reason = f"invalid parameters of {method}: {_first(error)}"
                self._reject(request_id, ErrorCode.INVALID_PARAMS, reason)
                return
            self._handle_request(request_id, method, params)

    def _start(self, request_id: int | str, params: Any) -> None:
        """Answer `initialize`."""
        try:
            result = self._initialize(params)
        except Exception as error:
            self._respond_error(request_id, error)
            return
        self._phase = _Phase.RUNNING
        self._respond(request_id, RawJson(result))
        self.on_start()

    def _handle_request(self, request_id: int | str, method: str, params: Any) -> None:
        if method == "shutdown":
            self._phase = _Phase.SHUT_DOWN
            self.cancel_all()
            self._respond(request_id, None)
        else:
            task = asyncio.ensure_future(self._answer(method, params))
            self._requests[request_id] = task
            self.activity.begin()
            task.add_done_callback(partial(self._finish, request_id))

    def _receive_notification(self, message: dict[str, Any], method: str) -> None:
        handler = self._notifications.get(method)
        if handler is None or (method != "exit" and self._phase is not _Phase.RUNNING):
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
                self._reject(call_id, ErrorCode.INVALID_REQUEST, "neither a request nor a response")
            return
        response_type, response = self._calls.pop(call_id)
        if response.done():
            return
        try:
            if error is None:
                from xla_lens.lsp.converter import from_json

                response.set_result(from_json(message, response_type).result)
            else:
                response.set_exception(_error_of(error))
        except Exception as wrong:
            response.set_exception(wrong)

    # ---------------------------------------------------------------- responses

    def _finish(self, request_id: int | str, task: "asyncio.Future[Any]") -> None:
        del self._requests[request_id]
        if task.cancelled():
            self._respond_error(request_id, ResponseError(ErrorCode.REQUEST_CANCELLED, "the request was cancelled"))
        elif error := task.exception():
            self._respond_error(request_id, error)
        else:
            self._respond(request_id, task.result())
        self.activity.end()

    def _respond(self, request_id: int | str, result: Any) -> None:
        try:
            if isinstance(result, EncodedJson):
                head = json.dumps({"jsonrpc": _VERSION, "id": request_id})[:-1].encode()
                self._write(head + b', "result": ' + result.text + b"}")
            else:
                self._send({"id": request_id, "result": _to_json(result)})
        except Exception as error:
            logger.exception("cannot send a result")
            self._respond_error(request_id, error)

    def _respond_error(self, request_id: int | str, error: BaseException) -> None:
        if isinstance(error, ResponseError):
            self._send_error(request_id, error.code, error.message, error.data)
        else:
            reason, where = f"{type(error).__name__}: {error}", traceback.format_tb(error.__traceback__)
            self._send_error(request_id, ErrorCode.INTERNAL_ERROR, reason, {"traceback": where})

    # ---------------------------------------------------------------- cancellation and exit

    def _cancel(self, params: "lsp.CancelParams") -> None:
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
    from lsprotocol import types as lsp

    from xla_lens.lsp.converter import from_json

    return from_json(message, lsp.METHOD_TO_TYPES[method][0]).params


def _to_json(value: Any) -> Any:
    """What `converter.to_json` returns. A value that is JSON already needs no types."""
    if value is None or isinstance(value, RawJson):
        return value and value.json
    from xla_lens.lsp.converter import to_json

    return to_json(value)


def _error_of(error: Any) -> Exception:
    """The error in a response, which may be any JSON."""
    code, message = (error.get("code"), error.get("message")) if isinstance(error, dict) else (None, None)
    if not isinstance(code, int) or not isinstance(message, str):
        return ValueError("the response is neither a result nor an error")
    return ResponseError(code, message, error.get("data"))


def _is_id(value: Any) -> bool:
    return isinstance(value, (int, str)) and not isinstance(value, bool)


def _first(error: BaseException) -> str:
    """Describe the first error in a tree of errors."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"
