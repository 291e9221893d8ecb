"""The editor in these tests finds violations of the protocol that the types of lsprotocol allow."""

from collections.abc import Mapping
from typing import Any

import pytest

from lsp.wire import BARE, FULL, Editor, Violation

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
