"""Editors for tests.

`InProcess` has the server in the same process, and checks what it receives against the types of the protocol and the
capabilities of the editor. `Process` runs the server as a process and sends it bytes, also those that no client would
send.

Both record every message. Failures are a second response, a response to nothing and an edit of a dump. They are raised
by whatever the test waits for next. `finish` raises if a request has no response.
"""

import asyncio
import json
import signal
import socket
import struct
import sys
from asyncio.subprocess import PIPE
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from lsprotocol import types as lsp
from pygls.protocol import default_converter
from pytest_lsp.checks import (
    check_params_against_client_capabilities,
    check_result_against_client_capabilities,
)

from xla_lens.lsp.converter import message_converter
from xla_lens.lsp.server import Server

JSONRPC = "2.0"

PATIENCE = 300.0
"""Seconds to wait for a message before the test fails."""

COMMAND = (sys.executable, "-m", "xla_lens", "server")

BARE: Mapping[str, Any] = {}
"""The capabilities of an editor that announces nothing."""

_LINKS = {"linkSupport": True}
_REFRESH = {"refreshSupport": True}

FULL: Mapping[str, Any] = {
    "general": {"positionEncodings": ["utf-8", "utf-16", "utf-32"]},
    "textDocument": {
        "codeAction": {"codeActionLiteralSupport": {"codeActionKind": {"valueSet": ["", "quickfix", "refactor"]}}},
        "declaration": _LINKS,
        "definition": _LINKS,
        "documentLink": {"tooltipSupport": True},
        "documentSymbol": {"hierarchicalDocumentSymbolSupport": True},
        "foldingRange": {"rangeLimit": 5000, "lineFoldingOnly": True},
        "hover": {"contentFormat": ["markdown", "plaintext"]},
        "implementation": _LINKS,
        "publishDiagnostics": {"relatedInformation": True, "codeDescriptionSupport": True, "versionSupport": True},
        "typeDefinition": _LINKS,
    },
    "window": {"workDoneProgress": True, "showDocument": {"support": True}},
    "experimental": {"xlaLens": {"didLoad": True}},
    "workspace": {
        "codeLens": _REFRESH,
        "configuration": True,
        "diagnostics": _REFRESH,
        "didChangeConfiguration": {"dynamicRegistration": True},
        "didChangeWatchedFiles": {"dynamicRegistration": True},
        "foldingRange": _REFRESH,
        "inlayHint": _REFRESH,
        "semanticTokens": _REFRESH,
        "textDocumentContent": {},
        "workspaceFolders": True,
    },
}
"""The capabilities of an editor that supports everything except pull diagnostics."""

PULLING: Mapping[str, Any] = {**FULL, "textDocument": {**FULL["textDocument"], "diagnostic": {}}}
"""The capabilities of an editor that pulls diagnostics."""


class Violation(AssertionError):
    """A message of the server is invalid. The text of the exception gives the reason."""


class RequestFailed(Exception):
    """The response to a request is an error."""

    def __init__(self, error: Mapping[str, Any]) -> None:
        super().__init__(f"{error['code']}: {error['message']}")
        self.code: int = error["code"]
        self.data = error.get("data")


class Editor:
    """One side of a conversation. `post` sends a message to the server; messages from the server go to `receive`.

    `messages` are all messages with their senders, `diagnostics` the last published ones by document, and `settings`
    the response to `workspace/configuration`.
    """

    def __init__(self, post: Callable[[Any], None]) -> None:
        self.messages: list[tuple[str, Any]] = []
        self.diagnostics: dict[str, list[Any]] = {}
        self.settings: Any = None
        self.capabilities: Mapping[str, Any] = BARE
        self._post = post
        self._number = 0
        self._methods: dict[int | str, list[str]] = {}
        self._waiting: dict[int | str, asyncio.Future[Any]] = {}
        self._failure: BaseException | None = None
        self._changed = asyncio.Event()
        self._has_ended = False

    # ---------------------------------------------------------------- what the editor sends

    async def initialize(self, capabilities: Mapping[str, Any] = BARE, **params: Any) -> Any:
        """Send `initialize` and `initialized`. Return the result of `initialize`."""
        self.capabilities = capabilities
        result = await self.request(
            "initialize", {"processId": None, "rootUri": None, "capabilities": capabilities, **params}
        )
        self.notify("initialized", {})
        return result

    async def request(self, method: str, params: Any = None) -> Any:
        """Send a request and return its result. Raises `RequestFailed` if the response is an error."""
        return await self.answer(self.ask(method, params))

    def ask(self, method: str, params: Any = None) -> int:
        """Send a request and return its id."""
        self._number += 1
        self.send({"id": self._number, "method": method, **({} if params is None else {"params": params})})
        return self._number

    def notify(self, method: str, params: Any = None) -> None:
        """Send a notification."""
        self.send({"method": method, **({} if params is None else {"params": params})})

    def cancel(self, number: int | str) -> None:
        """Cancel a request, which still gets a response."""
        self.notify("$/cancelRequest", {"id": number})

    def send(self, message: dict[str, Any]) -> None:
        """Send a valid message."""
        self.send_unchecked({"jsonrpc": JSONRPC, **message})

    def send_unchecked(self, message: Any) -> None:
        """Send a message that may be invalid. With an id and a method it is a request that must get a response."""
        self._record(message)
        self._post(message)

    def _record(self, message: Any) -> None:
        self.messages.append(("client", message))
        if isinstance(message, dict) and "method" in message and _is_id(message.get("id")):
            self._methods.setdefault(message["id"], []).append(message["method"])
            self._waiting.setdefault(message["id"], asyncio.get_running_loop().create_future())

    # ---------------------------------------------------------------- what the editor waits for

    async def answer(self, number: int | str) -> Any:
        """Wait for the result of a request. Raises `RequestFailed` if the response is an error."""
        message = await asyncio.wait_for(self._waiting[number], PATIENCE)
        del self._waiting[number]
        if "error" in message:
            raise RequestFailed(message["error"])
        return message["result"]

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until a condition holds. It is checked after each message."""
        while not holds():
            self.raise_failure()
            if self._has_ended:
                raise EOFError("the server has ended")
            self._changed.clear()
            await asyncio.wait_for(self._changed.wait(), PATIENCE)
        self.raise_failure()

    def received(self, method: str) -> list[Any]:
        """Return the messages of a method from the server."""
        return [message for sender, message in self.messages if sender == "server" and message.get("method") == method]

    def answers(self, number: int | str | None) -> list[Any]:
        """Return all responses with an id. None stands for responses to invalid messages."""
        sent = [message for sender, message in self.messages if sender == "server" and "method" not in message]
        return [message for message in sent if message["id"] == number]

    def finish(self) -> None:
        """Raise the first failure, or a violation if requests have no response."""
        self.raise_failure()
        if self._methods:
            raise Violation(f"requests without a response: {self._methods}")

    def raise_failure(self) -> None:
        """Raise the first failure of the server."""
        if self._failure:
            raise self._failure

    # ---------------------------------------------------------------- what the server sends

    def receive(self, message: Any) -> None:
        """Handle a message from the server."""
        self.messages.append(("server", message))
        try:
            if "method" in message:
                self._handle_call(message)
            else:
                self._handle_response(message)
        except BaseException as failure:
            self.fail(failure)
        self._changed.set()

    def fail(self, failure: BaseException) -> None:
        """Record a failure and end all waiting."""
        self._failure = self._failure or failure
        self.end(failure)

    def end(self, reason: BaseException) -> None:
        """End all waiting, because the server sends nothing more."""
        self._has_ended = True
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(reason)
                # Marks the exception as retrieved: a test that does not wait for it should not warn.
                waiting.exception()
        self._changed.set()

    def _handle_call(self, message: Mapping[str, Any]) -> None:
        method: str = message["method"]
        params: Any = message.get("params")
        if method == "textDocument/publishDiagnostics":
            self.diagnostics[params["uri"]] = params["diagnostics"]
        elif "id" in message:
            self._respond(message["id"], method, params)

    def _respond(self, number: int | str, method: str, params: Any) -> None:
        result: Any = None
        match method:
            case "workspace/configuration":
                result = [self.settings for _ in params["items"]]
            case "window/showDocument":
                result = {"success": True}
            case "workspace/applyEdit":
                raise Violation("the server must not edit dumps")
        self.send_unchecked({"jsonrpc": JSONRPC, "id": number, "result": result})

    def _handle_response(self, message: Mapping[str, Any]) -> None:
        number = message.get("id")
        if number is None and "error" in message:
            # A response without an id answers a message that was not a request.
            return
        if number not in self._methods:
            raise Violation(f"a response to no pending request: {str(message)[:200]}")
        self._methods[number].pop(0)
        if not self._methods[number]:
            del self._methods[number]
        if not self._waiting[number].done():
            self._waiting[number].set_result(message)


def _restore_signals() -> None:
    """Restore the default handling of SIGINT, which shells disable for background jobs, and of SIGHUP, for `nohup`."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


class Process(Editor):
    """An editor that runs the server as a process."""

    def __init__(self, process: asyncio.subprocess.Process, reader: asyncio.StreamReader, writer: Any) -> None:
        super().__init__(lambda message: self.write(framed(message)))
        self.process = process
        self._source, self._sink = reader, writer
        self._is_reading = asyncio.Event()
        self._is_reading.set()
        self._reader = asyncio.create_task(self._read())

    @classmethod
    async def start(cls, *arguments: str, command: Iterable[str] = COMMAND, **options: Any) -> "Process":
        """Start the server."""
        options = {"stdin": PIPE, "stdout": PIPE, "stderr": PIPE, "preexec_fn": _restore_signals, **options}
        process = await asyncio.create_subprocess_exec(*command, *arguments, **options)
        return cls(process, process.stdout or asyncio.StreamReader(), process.stdin)

    @classmethod
    async def connect(cls, host: str = "127.0.0.1", *options: str) -> "Process":
        """Start the server on a TCP port and connect to it."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        process = await asyncio.create_subprocess_exec(*COMMAND, "--tcp", f"{host}:{port}", *options, stderr=PIPE)
        async with asyncio.timeout(PATIENCE):
            while True:
                try:
                    return cls(process, *await asyncio.open_connection("127.0.0.1", port))
                except ConnectionRefusedError:
                    await asyncio.sleep(0.05)

    @property
    def address(self) -> tuple[str, int]:
        """The address of the server, which was started with `connect`."""
        host, port = self._sink.get_extra_info("peername")
        return host, port

    def write(self, data: bytes) -> None:
        """Send some bytes."""
        self._sink.write(data)

    def hang_up(self) -> None:
        """Close the server's input."""
        self._sink.close()

    def pause_reading(self) -> None:
        """Stop reading: the server's messages fill the pipe."""
        self._is_reading.clear()

    def resume_reading(self) -> None:
        """Continue to read."""
        self._is_reading.set()

    def reset(self) -> None:
        """Reset the TCP connection."""
        self._sink.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._sink.transport.abort()
        self._reader.cancel()
        self.end(EOFError("the connection is broken"))

    def resident_bytes(self, name: str = "VmRSS") -> int:
        """Return the resident memory of the server, with `VmHWM` its maximum so far."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith(name))

    async def stop(self) -> None:
        """Send `shutdown` and `exit`, and check the exit status and that standard error is empty."""
        await self.request("shutdown")
        self.notify("exit")
        assert await self.ended() == (0, "")

    async def ended(self) -> tuple[int | None, str]:
        """Wait for the end of the process. Return its exit status and its standard error."""
        errors = await asyncio.wait_for(self.process.stderr.read(), PATIENCE) if self.process.stderr else b""
        await asyncio.wait_for(self.process.wait(), PATIENCE)
        await asyncio.wait((self._reader,), timeout=PATIENCE)
        self._sink.close()
        self.raise_failure()
        return self.process.returncode, errors.decode()

    async def kill(self) -> None:
        """Kill the process if it still runs."""
        if self.process.returncode is None:
            self.process.kill()
        # asyncio also waits for the end of the pipes, which it does not see while reading is paused.
        self.resume_reading()
        await asyncio.wait_for(self.process.wait(), PATIENCE)
        self._reader.cancel()

    async def _read(self) -> None:
        try:
            while (body := await read_body(self._source)) is not None:
                await self._is_reading.wait()
                self.receive(json.loads(body.decode()))
        except Exception as failure:
            self.fail(failure)
        else:
            self.end(EOFError("the server has ended"))


class InProcess(Editor):
    """An editor in the process of the server, which is fast. It checks what it receives as pytest-lsp does:
    against the types of the protocol and the capabilities of the editor.
    """

    def __init__(self) -> None:
        super().__init__(lambda message: self._deliver(framed(message)))
        self.server = Server()
        self.server.protocol.set_writer(_Writer(self._receive_bytes))
        # A converter generates code for each type that it meets, which takes longer than most tests.
        self.server.protocol._converter = _SERVER_CONVERTER
        self._loop = asyncio.get_running_loop()

    async def stop(self) -> None:
        """Send `shutdown` and `exit`, and check the exit status."""
        await self.request("shutdown")
        with suppress(SystemExit):
            self.notify("exit")
        self.finish()
        assert self.server.exit_status == 0

    def _deliver(self, data: bytes) -> None:
        """Give a message to the server, as pygls does with what it reads."""
        protocol, body = self.server.protocol, data.partition(b"\r\n\r\n")[2]
        protocol.handle_message(json.loads(body, object_hook=protocol.structure_message))

    def _receive_bytes(self, data: bytes) -> None:
        self._loop.call_soon(self._receive_now, json.loads(data.partition(b"\r\n\r\n")[2]))

    def _receive_now(self, message: Any) -> None:
        try:
            self._check(message)
        except Exception as failure:
            self.fail(failure)
        self.receive(message)

    def _check(self, message: Any) -> None:
        capabilities = _CONVERTER.structure(self.capabilities, lsp.ClientCapabilities)
        if (method := message.get("method")) in lsp.METHOD_TO_TYPES:
            params = _CONVERTER.structure(message, lsp.METHOD_TO_TYPES[method][0]).params
            check_params_against_client_capabilities(capabilities, method, params)
        elif (method := self._methods.get(message.get("id"), [""])[0]) in lsp.METHOD_TO_TYPES and "result" in message:
            result = _CONVERTER.structure(message, lsp.METHOD_TO_TYPES[method][1]).result
            check_result_against_client_capabilities(capabilities, method, result)


class _Writer:
    """A connection within the process."""

    def __init__(self, write: Callable[[bytes], None]) -> None:
        self.write = write

    def close(self) -> None:
        """Do nothing: there is no connection."""


_CONVERTER = default_converter()
_SERVER_CONVERTER = message_converter()


async def eventually(holds: Callable[[], bool]) -> None:
    """Wait until a condition holds that no message announces."""
    async with asyncio.timeout(PATIENCE):
        while not holds():
            await asyncio.sleep(0.01)


def framed(message: Any) -> bytes:
    """Return a message with its header."""
    body = json.dumps(message).encode()
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


async def read_body(source: asyncio.StreamReader) -> bytes | None:
    """Return the body of the next message, None at the end."""
    header = b""
    while line := await source.readline():
        header += line
        if line == b"\r\n":
            return await source.readexactly(int(header.partition(b"Content-Length: ")[2].split()[0]))
    assert not header, "the output of the server ends within a header"
    return None


def _is_id(value: Any) -> bool:
    return isinstance(value, int | str) and not isinstance(value, bool)
