"""The editor in these tests finds violations of the protocol that the types of lsprotocol allow."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from lsp.wire import BARE, FULL, Editor, RequestFailed, Violation, read_body, replay

_HOVER = {"textDocument": {"uri": "file:///a"}, "position": {"line": 0, "character": 0}}


async def _editor(capabilities: Mapping[str, Any] = FULL) -> Editor:
    editor = Editor(lambda _: None)
    editor.capabilities = capabilities
    editor.ask("initialize", {"processId": None, "rootUri": None, "capabilities": capabilities})
    editor.receive({"jsonrpc": "2.0", "id": 1, "result": {"capabilities": {}}})
    await editor.answer(1)
    return editor


def _call(method: str, params: Any = None, number: Any = None) -> dict[str, Any]:
    given = {"params": params, "id": number}
    return {"jsonrpc": "2.0", "method": method, **{name: value for name, value in given.items() if value is not None}}


def _progress(kind: str, **value: Any) -> dict[str, Any]:
    return _call("$/progress", {"token": "t", "value": {"kind": kind, **value}})


async def test_results_and_errors_are_delivered() -> None:
    editor = await _editor()
    numbers = [editor.ask("textDocument/hover", _HOVER) for _ in range(2)]
    editor.receive({"jsonrpc": "2.0", "id": numbers[1], "error": {"code": -32800, "message": "m"}})
    editor.receive({"jsonrpc": "2.0", "id": numbers[0], "result": None})
    assert await editor.answer(numbers[0]) is None
    with pytest.raises(RequestFailed, match="-32800"):
        await editor.answer(numbers[1])
    editor.finish()


async def test_missing_response_is_found() -> None:
    editor = await _editor()
    editor.ask("textDocument/hover", _HOVER)
    with pytest.raises(Violation, match="requests without a response"):
        editor.finish()


_CREATE = _call("window/workDoneProgress/create", {"token": "t"}, "x")


@pytest.mark.parametrize(
    ("messages", "reason"),
    [
        ([{"jsonrpc": "2.0", "id": 2, "result": None}] * 2, "no pending request"),
        ([{"jsonrpc": "2.0", "id": 99, "result": None}], "no pending request"),
        ([{"jsonrpc": "2.0", "id": None, "result": None}], "no pending request"),
        ([_call("workspace/applyEdit", {"edit": {}}, "x")], "must not edit dumps"),
        ([_progress("begin", title="t")], "'begin' after None for 't'"),
        ([_CREATE, _progress("report")], "'report' after 'created' for 't'"),
        ([_CREATE, _progress("begin", title="t"), _progress("end"), _progress("end")], "'end' after 'end' for 't'"),
        ([_CREATE, {**_CREATE, "id": "y"}], "created twice"),
    ],
)
async def test_violations_of_the_server_are_found(messages: list[Any], reason: str) -> None:
    editor = await _editor()
    editor.ask("textDocument/hover", _HOVER)
    for message in messages:
        editor.receive(message)
    with pytest.raises(Violation, match=reason):
        editor.finish()


async def test_unsupported_requests_of_the_server_are_found() -> None:
    editor = await _editor(BARE)
    editor.receive(_call("workspace/configuration", {"items": []}, "x"))
    with pytest.raises(Violation, match="which the editor does not support"):
        editor.raise_failure()


async def test_notification_before_initialize_is_found() -> None:
    editor = Editor(lambda _: None)
    editor.receive(_call("textDocument/publishDiagnostics", {"uri": "a:b", "diagnostics": []}))
    with pytest.raises(Violation, match="before the response to initialize"):
        editor.raise_failure()


async def test_violation_is_raised_at_the_next_wait() -> None:
    editor = await _editor()
    number = editor.ask("textDocument/hover", _HOVER)
    editor.receive(_progress("report"))
    with pytest.raises(Violation):
        await editor.answer(number)
    with pytest.raises(Violation):
        await editor.until(lambda: False)


async def test_editor_responds_to_requests() -> None:
    sent: list[Any] = []
    editor = Editor(sent.append)
    editor.capabilities, editor.settings = FULL, {"a": 1}
    editor._is_initialized = True
    editor.receive(_call("workspace/configuration", {"items": [{}, {}]}, "x"))
    editor.receive(_call("window/showDocument", {"uri": "a:b"}, "y"))
    editor.receive(_CREATE)
    assert [message["result"] for message in sent] == [[{"a": 1}, {"a": 1}], {"success": True}, None]


async def test_recorded_session_is_checked() -> None:
    initialize = _call("initialize", {"processId": None, "rootUri": None, "capabilities": FULL}, 1)
    answer = {"jsonrpc": "2.0", "id": 1, "result": {"capabilities": {}}}
    await replay([initialize], [answer, _CREATE])
    with pytest.raises(Violation):
        await replay([initialize], [_CREATE, answer])


async def test_headers_are_read_strictly() -> None:
    async def read(data: bytes) -> bytes | None:
        source = asyncio.StreamReader()
        source.feed_data(data)
        source.feed_eof()
        return await read_body(source)

    assert await read(b"") is None
    assert await read(b"Content-Length: 2\r\n\r\n{}") == b"{}"
    for wrong in (b"Content-Length: 2\n\n{}", b"content-length: 2\r\n\r\n{}", b"\r\n{}", b"Content-Length: 2\r\n"):
        with pytest.raises((AssertionError, ValueError, KeyError)):
            await read(wrong)
