"""Each request gets one response, errors have the codes of the specification, and invalid messages end nothing."""

import json
from pathlib import Path
from typing import Any

import pytest

from lsp.conftest import Loads
from lsp.reading import Reader
from lsp.wire import FULL, Process, RequestFailed, framed
from samples import SEED

_INVALID_REQUEST, _METHOD_NOT_FOUND, _INVALID_PARAMS = -32600, -32601, -32602
_NOT_INITIALIZED, _CANCELLED = -32002, -32800

_URI = SEED.as_uri()
_PLACE = {"textDocument": {"uri": _URI}, "position": {"line": 1, "character": 3}}
_INITIALIZE: dict[str, Any] = {"processId": None, "rootUri": None, "capabilities": {}}


def _open(server: Process, path: Path = SEED) -> dict[str, Any]:
    """Open a document and return it as parameters of requests."""
    document = {"uri": path.as_uri(), "languageId": "xla-dump", "version": 1, "text": path.read_text()}
    server.notify("textDocument/didOpen", {"textDocument": document})
    return {"textDocument": {"uri": path.as_uri()}}


async def _is_well(server: Process) -> None:
    """Check that the server still answers valid requests, and ends without having logged anything."""
    assert await _log(server) == ""


async def _log(server: Process) -> str:
    """Check that the server still answers valid requests, end it, and return what it has logged."""
    _open(server)
    assert await server.request("textDocument/hover", _PLACE)
    await server.request("shutdown")
    server.notify("exit")
    status, errors = await server.ended()
    assert status == 0
    assert "Traceback" not in errors
    server.finish()
    return errors


async def _code(server: Process, message: dict[str, Any]) -> int:
    """Send a request, which may be invalid, and return the code of the error."""
    server.send_unchecked({"jsonrpc": "2.0", **message})
    with pytest.raises(RequestFailed) as refused:
        await server.answer(message["id"])
    return refused.value.code


async def test_requests_before_initialize_are_rejected(server: Process) -> None:
    for number, method in enumerate(["textDocument/hover", "shutdown", "workspace/nothing", "$/nothing", "exit"]):
        assert await _code(server, {"id": f"a{number}", "method": method, "params": {}}) == _NOT_INITIALIZED
    server.send_unchecked({"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {}})
    server.send_unchecked({"jsonrpc": "2.0", "method": "initialized", "params": {}})
    server.send_unchecked({"jsonrpc": "2.0", "method": "shutdown"})
    wrong = {"id": "wrong", "method": "initialize", "params": {"processId": "x", "capabilities": 5}}
    assert await _code(server, wrong) == _INVALID_PARAMS
    await server.initialize()
    assert await _code(server, {"id": "again", "method": "initialize", "params": _INITIALIZE}) == _INVALID_REQUEST
    await _is_well(server)


async def test_requests_after_shutdown_are_rejected(server: Process) -> None:
    await server.initialize()
    assert await server.request("shutdown") is None
    for number, method in enumerate(["textDocument/hover", "shutdown", "initialize", "workspace/nothing"]):
        assert await _code(server, {"id": f"a{number}", "method": method, "params": {}}) == _INVALID_REQUEST
    server.notify("textDocument/didClose", {"textDocument": {"uri": _URI}})
    server.send_unchecked({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": 99}})
    server.notify("exit")
    assert await server.ended() == (0, "")
    server.finish()


async def test_capabilities_of_later_protocol_versions_are_ignored(server: Process) -> None:
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
    server.send_unchecked({"jsonrpc": "2.0", "id": "first", "method": "initialize", "params": params})
    result = await server.answer("first")
    assert result["capabilities"]["positionEncoding"] == "utf-8"
    _open(server)
    assert (await server.request("textDocument/hover", _PLACE))["contents"]["kind"] == "plaintext"
    await server.stop()


@pytest.mark.parametrize("is_initialized", [True, False])
async def test_exit_without_shutdown_is_an_error(server: Process, is_initialized: bool) -> None:
    if is_initialized:
        await server.initialize()
    server.notify("exit")
    assert await server.ended() == (1, "")


async def test_shutdown_and_exit_answer_all_requests(server: Process) -> None:
    await server.initialize()
    here = _open(server)
    numbers = [server.ask("textDocument/documentSymbol", here) for _ in range(20)]
    last = server.ask("shutdown")
    server.notify("exit")
    assert await server.ended() == (0, "")
    server.finish()
    assert await server.answer(last) is None
    codes = {server.answers(number)[0].get("error", {}).get("code") for number in numbers}
    assert codes <= {_CANCELLED, None}


_WRONG_PARAMS: list[tuple[str, Any]] = [
    ("textDocument/hover", None),
    ("textDocument/hover", {}),
    ("textDocument/hover", []),
    ("textDocument/hover", 7),
    ("textDocument/hover", "x"),
    ("textDocument/hover", {**_PLACE, "textDocument": _URI}),
    ("textDocument/hover", {**_PLACE, "textDocument": {"uri": 5}}),
    ("textDocument/hover", {**_PLACE, "textDocument": {"uri": None}}),
    ("textDocument/hover", {**_PLACE, "position": None}),
    ("textDocument/hover", {**_PLACE, "position": {"line": -1, "character": 0}}),
    ("textDocument/hover", {**_PLACE, "position": {"line": 0, "character": 1 << 31}}),
    ("textDocument/hover", {**_PLACE, "position": {"line": 0.5, "character": 0}}),
    ("textDocument/hover", {**_PLACE, "position": {"line": "0", "character": 0}}),
    ("textDocument/hover", {**_PLACE, "position": {"line": True, "character": 0}}),
    ("textDocument/hover", {**_PLACE, "position": {"line": 10**400, "character": 0}}),
    ("textDocument/references", _PLACE),
    ("textDocument/references", {**_PLACE, "context": {"includeDeclaration": 1}}),
    ("textDocument/inlayHint", {"textDocument": {"uri": _URI}, "range": {"start": {"line": 0, "character": 0}}}),
    ("textDocument/inlayHint", {"textDocument": {"uri": _URI}, "range": [0, 1]}),
    ("textDocument/documentSymbol", {"textDocument": [_URI]}),
]


async def test_invalid_params_are_rejected(server: Process) -> None:
    await server.initialize()
    for number, (method, params) in enumerate(_WRONG_PARAMS):
        message = {"id": f"a{number}", "method": method, "params": params}
        assert await _code(server, message) == _INVALID_PARAMS, (method, params)
    assert await _code(server, {"id": "none", "method": "textDocument/hover"}) == _INVALID_PARAMS
    await _is_well(server)


async def test_unknown_methods_are_rejected(server: Process) -> None:
    await server.initialize()
    for number, method in enumerate(
        # Some are notifications: with an id they are unknown requests.
        ["", "$/nothing", "textDocument/rename", "notebookDocument/didOpen", "initialized", "textDocument/didOpen"]
    ):
        message = {"id": f"a{number}", "method": method, "params": {"textDocument": {"uri": _URI}}}
        assert await _code(server, message) == _METHOD_NOT_FOUND, method
    assert await _code(server, {"id": "exit", "method": "exit"}) == _METHOD_NOT_FOUND
    await _is_well(server)


async def test_notifications_are_never_answered(server: Process) -> None:
    await server.initialize(FULL)
    for method, params in (
        ("$/nothing", {}),
        ("nothing", None),
        ("textDocument/hover", _PLACE),
        ("shutdown", None),
        ("initialize", _INITIALIZE),
        ("workspace/didChangeWorkspaceFolders", {"event": {"added": [], "removed": [{"uri": "a:b", "name": "x"}]}}),
        ("window/workDoneProgress/cancel", {"token": "nothing"}),
        ("$/setTrace", {"value": "verbose"}),
        ("$/cancelRequest", {"id": 4711}),
        ("$/cancelRequest", {"id": "nothing"}),
        ("$/progress", {"token": 1, "value": 2}),
        ("textDocument/didSave", {"textDocument": {"uri": _URI}}),
        ("textDocument/didClose", {"textDocument": {"uri": _URI}}),
        ("textDocument/didChange", {"textDocument": {"uri": _URI, "version": 1}, "contentChanges": []}),
        ("workspace/didChangeConfiguration", {"settings": [1, {"xla-lens": 5}]}),
        ("workspace/didChangeWatchedFiles", {"changes": [{"uri": "nothing", "type": 1}]}),
    ):
        server.send_unchecked({"jsonrpc": "2.0", "method": method, "params": params})
    await _is_well(server)
    assert not server.answers(None)


async def test_invalid_notifications_are_logged(server: Process) -> None:
    await server.initialize()
    for method, params in (
        ("textDocument/didOpen", {"textDocument": {"uri": _URI}}),
        ("textDocument/didOpen", None),
        ("textDocument/didChange", {"textDocument": {"uri": _URI, "version": 1}, "contentChanges": [5]}),
        ("textDocument/didClose", []),
        ("$/cancelRequest", {}),
        ("$/cancelRequest", {"id": [1]}),
    ):
        server.send_unchecked({"jsonrpc": "2.0", "method": method, "params": params})
    assert [line.split(":")[1].strip() for line in (await _log(server)).splitlines()] == ["ignored"] * 6


# ---------------------------------------------------------------- messages that break the protocol


_NO_JSON = [
    b"{",
    b"{'a': 1}",
    b'{"jsonrpc": "2.0", "id": 1, "method": "shutdown"',
    b"\xff\xfe\xfa",
    b'{"jsonrpc": "2.0", "id": 1, "method": "\xff"}',
    b"\0" * 100,
    b"[" * 100_000,
    b'{"a":' * 50_000,
    b"1" * 10_000,
]

_NO_MESSAGES: list[Any] = [
    [],
    [{"jsonrpc": "2.0", "id": 1, "method": "shutdown"}],
    5,
    None,
    "shutdown",
    {},
    {"id": 1, "method": "shutdown"},
    {"jsonrpc": "1.0", "method": "initialized", "params": {}},
    {"jsonrpc": "2.0", "id": None, "method": "shutdown"},
    {"jsonrpc": "2.0", "id": 1.5, "method": "shutdown"},
    {"jsonrpc": "2.0", "id": [1], "method": "shutdown"},
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
    here = _open(server)
    number = server.ask("textDocument/documentSymbol", here)
    bodies = [*_NO_JSON, *(json.dumps(message).encode() for message in _NO_MESSAGES)]
    bodies += [
        json.dumps({"jsonrpc": "2.0", "id": number, **answer}).encode() for answer in ({"result": [1]}, {"error": 5})
    ]
    for body in bodies:
        server.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    assert await server.answer(number)
    for _ in range(3):
        server.send({"id": "same", "method": "textDocument/documentSymbol", "params": here})
    await server.until(lambda: len(server.answers("same")) == 3)
    await _log(server)


async def test_deeply_nested_json_is_accepted(server: Process) -> None:
    await server.initialize()
    _open(server)
    for depth in (100, 900):
        nested: Any = []
        for _ in range(depth):
            nested = [nested] if depth % 2 else {"xla-lens": nested}
        server.notify("workspace/didChangeConfiguration", {"settings": nested})
        server.send_unchecked(
            {"jsonrpc": "2.0", "id": depth, "method": "textDocument/hover", "params": {**_PLACE, "x": nested}}
        )
        assert await server.answer(depth)
    await _is_well(server)


_HOVER = {"jsonrpc": "2.0", "id": "hover", "method": "textDocument/hover", "params": _PLACE}


async def test_many_messages_may_arrive_at_once(server: Process) -> None:
    await server.initialize()
    _open(server)
    data = b""
    for number in range(500):
        server.expect(number, "textDocument/hover")
        data += framed({**_HOVER, "id": number})
    server.write(data)
    for number in range(500):
        assert await server.answer(number)
    await _is_well(server)


# ---------------------------------------------------------------- cancelled requests


async def test_cancelled_requests_get_one_response(reader: Reader, loads: Loads) -> None:
    await reader.start(FULL)
    editor = reader.editor
    loads.hold()
    place = {"textDocument": {"uri": reader.open(SEED)}, "position": {"line": 1, "character": 3}}
    numbers = [editor.ask("textDocument/hover", place) for _ in range(5)]
    for number in numbers[:4]:
        editor.cancel(number)
    editor.cancel(numbers[0])
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
