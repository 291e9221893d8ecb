"""Absurd parameters: the answer is an error of one line or finds nothing, and is never an internal error."""

import itertools
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

import pytest
from lsprotocol import types as lsp

from lsp.reading import NO_PAGE, Reader, read_page
from lsp.wire import FULL, RequestFailed
from samples import SEED, SPLIT
from xla_lens.lsp.handlers import Command
from xla_lens.lsp.requests.commands import _COMMANDS

_IDS = itertools.count(1_000_000)

_NUMBERS: list[Any] = [-1, 0.5, -0.0, 1e308, 2**31 - 1, 2**31, 2**32, 10**12, 2**53, 2**63, 10**400]
_TEXTS: list[Any] = ["", "x", "10", "\ud800", "a\nb\x1b[31m\u2028", "\0", "x" * 100_000]
_OTHERS: list[Any] = [True, [], [None], ["\ud800"], [10**12], [0.5], [-1], [[]], {}, {"x": 1}]
_PAGES = [
    *(f"xla-lens:{rest}" for rest in ("", "/", "//", "///", "/x", "//x", "x", "/.", "/..", "/../x.txt", "/x/y/z")),
    *(f"xla-lens:/x/report.txt{rest}" for rest in ("", "?", "#", "?x#y")),
    *(f"xla-lens:/{folder}/report.txt" for folder in (".", "..", "%00", "\0", "\ud800", "%ff%fe", "a" * 5_000)),
    *(f"xla-lens:/x/comparison.txt?{old}" for old in ("", ".", "..", "/", "%00", "\0", "\ud800", "%ff", "x", "/x")),
    "xla-lens://[/report.txt",
]
_URIS = [
    *_PAGES,
    *("file:", "file:///", "file://[", "file:///\0", "file:///\ud800", f"file:///{'a/' * 3_000}", "http://[x", "%"),
    *("file:///%ff%fe/x-buffer-assignment.txt", "untitled:\ud800", "file://host/x", "file:///a#L99999999999"),
]
_POSITIONS: list[Any] = [
    *({"line": line, "character": 0} for line in (*_NUMBERS, "0", None)),
    *({"line": 0, "character": column} for column in (*_NUMBERS, "0", None)),
    {"line": 2**31 - 1, "character": 2**31 - 1},
]
_RANGES = [{"start": position, "end": position} for position in _POSITIONS]
_ANY = [*_NUMBERS, *_TEXTS, *_OTHERS]

_PROPERTIES: Mapping[str, Mapping[str, list[Any]]] = {
    **{command: {"uri": _URIS} for command in _COMMANDS},
    Command.REPORT: {
        "uri": _URIS,
        "budget": ["1e400GiB", "-1GiB", "9" * 5_000],
        **{name: [] for name in ("format", "parts", "top", "atStep")},
    },
    Command.COMPARE: {"old": _URIS, "new": _URIS},
    Command.EXPLAIN: {"code": ["../syntax", "syntax\n"]},
    Command.SHOW_LIVE_SET: {"uri": _URIS, "step": [], "position": _POSITIONS},
    Command.SHOW_ALLOCATION_HISTORY: {"uri": _URIS, "allocation": []},
    Command.GO_TO: {"uri": _URIS, "range": _RANGES, "path": ["//x/y", "..", "~"], "line": [], "character": []},
    Command.SHOW_REFERENCES: {"uri": _URIS, "position": _POSITIONS},
    Command.FIND_VALUES: {"query": ["size:>1e400GiB", f"size:>{'9' * 5_000}"], "limit": []},
    Command.OVERVIEW: {"uri": _URIS, "top": []},
    Command.PEAK: {"uri": _URIS, "color": []},
    Command.VALUES: {"uri": _URIS, "values": [[value] for value in _NUMBERS]},
    Command.WHAT_IS_AT: {"uri": _URIS, "position": _POSITIONS},
    Command.DESCRIBE: {"uri": _URIS, "value": [], "allocation": [], "step": []},
    Command.SOURCE_MEMORY: {"uri": _URIS, "dump": _URIS, "search": []},
}
"""The properties of each command, each with absurd values besides those in `_ANY`."""


async def _answers(reader: Reader, method: str, params: Any) -> Any:
    """Return the answer to a request, None for an error of one line. Fails for any other error."""
    editor = reader.editor
    # Bypasses the client, which could not encode lone surrogates and would check the parameters.
    number = next(_IDS)
    editor.expect(number, method)
    editor.server.protocol.handle_message({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
    with suppress(RequestFailed):
        return await editor.answer(number)
    (answer,) = editor.answers(number)
    assert answer["error"]["code"] in (lsp.ErrorCodes.InvalidParams, lsp.LSPErrorCodes.RequestFailed), (params, answer)
    assert answer["error"]["message"].isprintable(), params
    return None


def _arguments(command: str, uri: str, other: str) -> Iterator[Mapping[str, Any]]:
    """Yield arguments with one absurd property."""
    valid = {"uri": uri, "old": uri, "new": other, "code": "syntax", "position": {"line": 3, "character": 9}}
    for name, values in _PROPERTIES[command].items():
        for value in (*_ANY, *values):
            yield {**valid, name: value}
            yield {name: value}


@pytest.mark.parametrize("command", _PROPERTIES)
async def test_commands_with_absurd_arguments(reader: Reader, command: str) -> None:
    await reader.start(FULL)
    uri, other = reader.open(SPLIT), reader.open(SEED)
    method = lsp.WORKSPACE_EXECUTE_COMMAND
    for arguments in _arguments(command, uri, other):
        await _answers(reader, method, {"command": command, "arguments": [arguments]})
    others: list[list[Any]] = [[], [None], [5], ["x"], [[]], [{}, {}], [{}] * 1_000]
    for every in others:
        await _answers(reader, method, {"command": command, "arguments": every})
    assert await _answers(reader, method, {"command": f"{command}\n", "arguments": [{}]}) is None


async def test_pages_with_absurd_uris(reader: Reader) -> None:
    await reader.start(FULL)
    uri = reader.open(SPLIT)
    page = (await reader.run("showLiveSet", {"uri": uri, "step": 5}))["uri"]
    folder = page.rpartition("/")[0]
    for one in (*_URIS, *map(str, _TEXTS), folder, f"{folder}/", f"{folder}/comparison.txt?."):
        text = await _answers(reader, "workspace/textDocumentContent", {"uri": one})
        assert text == {"text": NO_PAGE}, one
    for number in (10**12, 2**31, 2**32, 10**17):
        assert "no " in await read_page(reader, f"{folder}/live-set-at-{number}.txt")
        assert "no " in await read_page(reader, f"{folder}/history-of-allocation-{number}.txt")


async def test_requests_with_absurd_positions(reader: Reader) -> None:
    await reader.start(FULL)
    uri, module = reader.open(SPLIT), reader.open(SPLIT.with_name(SPLIT.name.replace("-buffer-assignment", "")))
    page = (await reader.run("showLiveSet", {"uri": uri, "step": 5}))["uri"]
    for where in (uri, module, page, *_URIS):
        here = {"textDocument": {"uri": where}}
        for position in _POSITIONS[-4:] if where in _URIS else _POSITIONS:
            for method in ("hover", "definition", "documentHighlight", "prepareCallHierarchy"):
                await _answers(reader, f"textDocument/{method}", {**here, "position": position})
            await _answers(reader, "textDocument/selectionRange", {**here, "positions": [position]})
            absurd = {**here, "range": {"start": position, "end": position}, "context": {"diagnostics": []}}
            for method in ("inlayHint", "codeAction", "semanticTokens/range"):
                await _answers(reader, f"textDocument/{method}", absurd)
