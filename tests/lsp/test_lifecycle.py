"""Each request gets one response, errors have the codes of the specification, and invalid messages end nothing."""

import json
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from lsp.conftest import Loads
from lsp.reading import Reader, copied, sibling
from lsp.wire import FULL, InProcess, Process, RequestFailed
from samples import SEED, SPLIT
from xla_lens.lsp import capabilities, handlers

_INVALID_REQUEST, _METHOD_NOT_FOUND, _INVALID_PARAMS = -32600, -32601, -32602
_CANCELLED = -32800

_URI = SEED.as_uri()
_HERE = {"textDocument": {"uri": _URI}}
_PLACE = {**_HERE, "position": {"line": 1, "character": 3}}
_INITIALIZE: dict[str, Any] = {"processId": None, "rootUri": None, "capabilities": {}}
_OPEN = {"textDocument": {"uri": _URI, "languageId": "xla-dump", "version": 1, "text": SEED.read_text()}}


@pytest_asyncio.fixture
async def editor() -> AsyncIterator[InProcess]:
    """An editor whose server is not yet initialized. At the end it must still answer valid requests."""
    found = InProcess()
    yield found
    found.notify("textDocument/didOpen", _OPEN)
    assert await found.request("textDocument/hover", _PLACE)
    await found.stop()


async def _code(editor: InProcess, method: str, params: Any) -> int:
    """Send a request, which may be invalid, and return the code of the error."""
    number = f"{len(editor.messages)}"
    message = {"jsonrpc": "2.0", "id": number, "method": method, **({} if params == "none" else {"params": params})}
    editor.send_unchecked(message)
    with pytest.raises(RequestFailed) as refused:
        await editor.answer(number)
    return refused.value.code


def test_each_announced_request_and_command_has_a_function() -> None:
    assert not handlers.HANDLERS.keys() & handlers.STATE_HANDLERS.keys()
    assert capabilities.REQUESTS.keys() == handlers.HANDLERS.keys() | handlers.STATE_HANDLERS.keys()
    assert tuple(handlers.COMMANDS) == capabilities.COMMANDS


async def test_invalid_parameters_of_initialize_are_rejected(editor: InProcess) -> None:
    assert await _code(editor, "initialize", {"processId": "x", "capabilities": 5}) == _INVALID_PARAMS
    await editor.initialize()


async def test_requests_after_shutdown_are_rejected() -> None:
    editor = InProcess()
    await editor.initialize()
    assert await editor.request("shutdown") is None
    for method in ("textDocument/hover", "shutdown", "initialize", "workspace/nothing"):
        assert await _code(editor, method, {}) == _INVALID_REQUEST
    editor.notify("textDocument/didClose", _HERE)
    editor.finish()


async def test_exit_without_shutdown_is_an_error() -> None:
    editor = InProcess()
    await editor.initialize()
    with suppress(SystemExit):
        editor.notify("exit")
    assert editor.server.exit_status == 1


async def test_editor_that_announces_nothing_gets_no_requests(reader: Reader, tmp_path: Path) -> None:
    """Neither for progress, settings and pages, nor to ask again for what has changed."""
    path = copied(SPLIT, tmp_path)
    await reader.start({}, tmp_path)
    uri, live = reader.open(path), reader.open(sibling(path, "live-range"))
    for method in ("codeLens", "foldingRange", "inlayHint", "semanticTokens/range"):
        await reader.ask(method, live, **({"range": reader.whole(live)} if method[0] in "is" else {}))
    await reader.run("showSummary", {"uri": uri})
    reader.replace(uri, "BufferAssignment:", "\nBufferAssignment:")
    reader.editor.notify("workspace/didChangeConfiguration", {"settings": {"codeLens": {"enable": False}}})
    await reader.checked(uri)
    await reader.editor.request("workspace/symbol", {"query": "dot"})
    sent = {
        message["method"] for sender, message in reader.editor.messages if sender == "server" and "method" in message
    }
    assert sent == {"textDocument/publishDiagnostics"}


async def test_capabilities_of_later_protocol_versions_are_ignored(editor: InProcess) -> None:
    """Unknown values count as missing."""
    capabilities = {
        "general": {"positionEncodings": ["utf-64", "utf-8"], "later": {}},
        "later": [],
        "textDocument": {
            "hover": {"contentFormat": ["html", "plaintext"], "later": 1},
            "publishDiagnostics": {"tagSupport": {"valueSet": [1, 99]}},
            "rename": {"prepareSupportDefaultBehavior": 99},
        },
        "workspace": {"symbol": {"symbolKind": {"valueSet": [1, 99]}}, "workspaceEdit": {"failureHandling": "hope"}},
    }
    params = {**_INITIALIZE, "capabilities": capabilities, "trace": "compact", "later": None}
    editor.send_unchecked({"jsonrpc": "2.0", "id": "first", "method": "initialize", "params": params})
    assert (await editor.answer("first"))["capabilities"]["positionEncoding"] == "utf-8"
    editor.notify("textDocument/didOpen", _OPEN)
    assert (await editor.request("textDocument/hover", _PLACE))["contents"]["kind"] == "plaintext"


_NO_PARAMS: list[Any] = ["none", None, {}, [], 7, "x"]
_POSITIONS: list[Any] = [
    None,
    *({"line": line, "character": 0} for line in (-1, "x", 10**400)),
    {"line": 0, "character": 1 << 31},
]
_WRONG: list[tuple[str, Any, int]] = [
    *(("textDocument/hover", params, _INVALID_PARAMS) for params in _NO_PARAMS),
    ("textDocument/hover", {**_PLACE, "textDocument": _URI}, _INVALID_PARAMS),
    *(("textDocument/hover", {**_PLACE, "position": position}, _INVALID_PARAMS) for position in _POSITIONS),
    ("textDocument/references", _PLACE, _INVALID_PARAMS),
    ("textDocument/inlayHint", {**_HERE, "range": {"start": {"line": 0, "character": 0}}}, _INVALID_PARAMS),
    ("textDocument/inlayHint", {**_HERE, "range": [0, 1]}, _INVALID_PARAMS),
    ("textDocument/documentSymbol", {"textDocument": [_URI]}, _INVALID_PARAMS),
    *((method, _HERE, _METHOD_NOT_FOUND) for method in ("", "$/nothing", "textDocument/documentColor")),
]


async def test_invalid_requests_are_rejected(editor: InProcess, caplog: pytest.LogCaptureFixture) -> None:
    await editor.initialize()
    for method, params, code in _WRONG:
        assert await _code(editor, method, params) == code, (method, params)
    assert not caplog.records


_IGNORED: list[tuple[str, Any]] = [
    ("$/nothing", {}),
    ("nothing", None),
    ("workspace/didChangeWorkspaceFolders", {"event": {"added": [], "removed": [{"uri": "a:b", "name": "x"}]}}),
    ("window/workDoneProgress/cancel", {"token": "nothing"}),
    ("$/setTrace", {"value": "verbose"}),
    ("$/cancelRequest", {"id": "nothing"}),
    ("$/progress", {"token": 1, "value": 2}),
    ("textDocument/didSave", _HERE),
    ("textDocument/didClose", _HERE),
    ("textDocument/didChange", {"textDocument": {"uri": _URI, "version": 1}, "contentChanges": []}),
    ("workspace/didChangeConfiguration", {"settings": [1, {"xla-lens": 5}]}),
    ("workspace/didChangeWatchedFiles", {"changes": [{"uri": "nothing", "type": 1}]}),
]
_LOGGED: list[tuple[str, Any]] = [
    ("textDocument/didOpen", _HERE),
    ("textDocument/didOpen", None),
    ("textDocument/didChange", {"textDocument": {"uri": _URI, "version": 1}, "contentChanges": [5]}),
    ("textDocument/didClose", []),
    ("$/cancelRequest", {}),
    ("$/cancelRequest", {"id": [1]}),
]


async def test_invalid_notifications_are_logged(editor: InProcess, caplog: pytest.LogCaptureFixture) -> None:
    """No notification is answered."""
    await editor.initialize(FULL)
    for method, params in (*_IGNORED, *_LOGGED):
        editor.send_unchecked({"jsonrpc": "2.0", "method": method, "params": params})
    assert [record.getMessage().split(":")[0] for record in caplog.records] == ["ignored"] * len(_LOGGED)
    assert not editor.answers(None)


_NO_JSON = [
    b"{",
    b'{"jsonrpc": "2.0", "id": 1, "method": "shutdown"',
    b"\xff\xfe\xfa",
    b'{"jsonrpc": "2.0", "id": 1, "method": "\xff"}',
    b"\0" * 100,
    b"[" * 100_000,
    b'{"a":' * 50_000,
    b"1" * 10_000,
]

_NO_MESSAGES: list[Any] = [
    *(
        [],
        [{"jsonrpc": "2.0", "id": 1, "method": "shutdown"}],
        5,
        None,
        "shutdown",
        {},
        {"id": 1, "method": "shutdown"},
    ),
    {"jsonrpc": "1.0", "method": "initialized", "params": {}},
    *({"jsonrpc": "2.0", "id": number, "method": "shutdown"} for number in (None, 1.5, [1])),
    {"jsonrpc": "2.0", "method": 5},
    {"jsonrpc": "2.0", "method": []},
    {"jsonrpc": "2.0"},
    {"jsonrpc": "2.0", "id": "nothing", "result": None},
    {"jsonrpc": "2.0", "id": 4711, "error": {"code": 1, "message": "m"}},
    {"jsonrpc": "2.0", "id": None, "error": {"code": 1, "message": "m"}},
    {"jsonrpc": "2.0", "id": [1], "result": 5},
    {"jsonrpc": "2.0", "result": 5},
]


async def test_messages_that_break_the_protocol_do_not_affect_later_requests(server: Process) -> None:
    """Not each of them gets a response."""
    await server.initialize()
    server.notify("textDocument/didOpen", _OPEN)
    number = server.ask("textDocument/documentSymbol", _HERE)
    answers = ({"jsonrpc": "2.0", "id": number, **answer} for answer in ({"result": [1]}, {"error": 5}))
    for body in (*_NO_JSON, *(json.dumps(message).encode() for message in (*_NO_MESSAGES, *answers))):
        server.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    assert await server.answer(number)
    for _ in range(3):
        server.send({"id": "same", "method": "textDocument/documentSymbol", "params": _HERE})
    await server.until(lambda: len(server.answers("same")) == 3)
    nested: Any = {}
    for _ in range(900):
        nested = {"xla-lens": nested}
    server.notify("workspace/didChangeConfiguration", {"settings": nested})
    assert await server.request("textDocument/hover", {**_PLACE, "x": nested})
    await server.request("shutdown")
    server.notify("exit")
    status, errors = await server.ended()
    assert (status, "Traceback" in errors) == (0, False)


async def test_shutdown_and_exit_answer_all_requests(server: Process) -> None:
    await server.initialize()
    server.notify("textDocument/didOpen", _OPEN)
    numbers = [server.ask("textDocument/documentSymbol", _HERE) for _ in range(20)]
    last = server.ask("shutdown")
    server.notify("exit")
    assert await server.ended() == (0, "")
    server.finish()
    assert await server.answer(last) is None
    codes = {server.answers(number)[0].get("error", {}).get("code") for number in numbers}
    assert codes <= {_CANCELLED, None}


async def test_cancelled_requests_get_one_response(reader: Reader, loads: Loads) -> None:
    await reader.start(FULL)
    editor = reader.editor
    loads.hold()
    place = {"textDocument": {"uri": reader.open(SEED)}, "position": {"line": 1, "character": 3}}
    numbers = [editor.ask("textDocument/hover", place) for _ in range(5)]
    for number in (*numbers[:4], numbers[0]):
        editor.cancel(number)
    for number in numbers[:4]:
        with pytest.raises(RequestFailed, match=str(_CANCELLED)):
            await editor.answer(number)
    # The other request is answered, and cancelling answered requests has no effect.
    loads.resume()
    assert await editor.answer(numbers[4])
    for number in numbers:
        editor.cancel(number)
    assert await editor.request("textDocument/hover", place)
    assert [len(editor.answers(number)) for number in numbers] == [1] * len(numbers)
