"""Measure the time from each request to its answer on the biggest dumps, as an editor sees it."""

import gc
import os
import random
import statistics
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from bare_client import Client
from xla_lens.files import find_set
from xla_lens.syntax.file_names import FileKind

_REQUESTS = int(os.environ.get("XLA_LENS_REQUESTS", "2000"))
"""Number of requests of each method, at random positions or about random documents."""

_EDITS = 20
_STARTS = 10
_LINES = 200
_SET = (FileKind.BUFFER_ASSIGNMENT, FileKind.VALUES, FileKind.LIVE_RANGE)
_CAPABILITIES = {"textDocument": {"documentSymbol": {"hierarchicalDocumentSymbolSupport": True}}}
_QUERIES = ("fusion", "dot.1", ">1GiB", "copy >1MiB", "all-gather", "")

Times: TypeAlias = list[float]


@dataclass
class _Opened:
    """An open document: its URI and its lines."""

    uri: str
    lines: list[str]


async def request_times(dumps: Path) -> list[tuple[str, ...]]:
    """The rows of a table: the request, its times on the 70B set, on one file of 48 MB and on the HLO module of the 70B
    set, and its target in ms.
    """
    # The collector of this process would scan all lines of the documents while it waits for an answer.
    gc.disable()
    assignment = next(dumps.glob("*/llama3_70b*/module_0000*-buffer-assignment.txt"))
    of_set = [path for kind, path in find_set(assignment).paths.items() if kind in _SET]
    single = max(dumps.glob("cpu-big*/*/*-buffer-assignment.txt"), key=lambda path: path.stat().st_size)
    columns = [await _all(of_set), await _all([single]), await _all([find_set(assignment).paths[FileKind.HLO]])]
    rows = [(name, *(_median_and_p99(column[name]) for column in columns), target) for name, target in _TARGETS.items()]
    rows.append(("start to the answer to `initialize`", _median_and_p99(await _starts()), "", "", "350"))
    return rows


_TARGETS = {
    "none: the protocol and the pipes alone": "",
    "hover": "5",
    "definition": "5",
    "documentHighlight": "5",
    "selectionRange": "5",
    f"semanticTokens/range, {_LINES} lines": "10",
    "references": "50",
    "prepareCallHierarchy": "50",
    "callHierarchy/incomingCalls": "50",
    "callHierarchy/outgoingCalls": "50",
    "foldingRange": "50",
    "documentLink": "50",
    "documentSymbol": "150",
    "workspace/symbol": "150",
    f"inlayHint, {_LINES} lines": "",
    "codeLens": "",
    "codeLens/resolve": "",
    "codeAction": "",
    "hover after an edit of one character": "120",
}


async def _all(paths: list[Path]) -> dict[str, Times]:
    client, chance, opened = await Client.started(_CAPABILITIES), random.Random(1), []
    for path in paths:
        text, uri = path.read_text(), path.as_uri()
        document = {"uri": uri, "languageId": "xla-dump", "version": 1, "text": text}
        client.notify("textDocument/didOpen", {"textDocument": document})
        opened.append(_Opened(uri, text.split("\n")))
        del text, document
    await client.request("textDocument/hover", _place(opened[0], chance))
    measure = _Measure(client, opened, chance)
    times = await measure.requests()
    await client.stop()
    return times


class _Measure:
    """Requests to a server with open documents."""

    def __init__(self, client: Client, opened: list[_Opened], chance: random.Random) -> None:
        self._client, self._opened, self._chance = client, opened, chance
        self._items: dict[str, list[Any]] = {"callHierarchy/": [], "codeLens/resolve": []}

    async def requests(self) -> dict[str, Times]:
        """The times of each request in the table. The first one about symbols builds their index."""
        while len(items := self._items["callHierarchy/"]) < 500:
            items += await self._ask("textDocument/prepareCallHierarchy") or []
        for opened in self._opened:
            lenses = await self._client.request("textDocument/codeLens", {"textDocument": {"uri": opened.uri}})
            self._items["codeLens/resolve"] += lenses or []
        await self._ask("workspace/symbol")
        return {name: await self._times(name) for name in _TARGETS}

    async def _times(self, name: str) -> Times:
        word = name.partition(" ")[0].strip(",:")
        method = word if word.startswith(("callHierarchy/", "codeLens/", "workspace/")) else f"textDocument/{word}"
        count = _REQUESTS
        request: Callable[[], Awaitable[Any]] = partial(self._ask, method)
        if word == "none":
            nothing = _place(_Opened("file:///nothing", ["x"]), self._chance)
            request = partial(self._client.request, "textDocument/hover", nothing)
        elif name.endswith("an edit of one character"):
            count, request = _EDITS, self._edit
        elif word == "codeLens/resolve" and not self._items[word]:
            return []
        times = []
        for _ in range(count):
            before = time.perf_counter()
            await request()
            times.append(time.perf_counter() - before)
        return times

    async def _ask(self, method: str) -> Any:
        """Make a request at a random place, about lines from there on, or about a random item."""
        for start, items in self._items.items():
            if method.startswith(start):
                item = self._chance.choice(items)
                return await self._client.request(method, item if start == method else {"item": item})
        place = _place(self._chance.choice(self._opened), self._chance)
        position = place["position"]
        lines = _LINES if method.endswith(("range", "inlayHint")) else 0
        end = {**position, "line": position["line"] + lines}
        asked = {"positions": [position], "range": {"start": position, "end": end}, "context": _CONTEXT}
        query = {"query": self._chance.choice(_QUERIES)}
        return await self._client.request(method, {**place, **asked, **query})

    async def _edit(self) -> Any:
        """Append a space to a line, and request a hover elsewhere at once."""
        opened = max(
            self._opened, key=lambda opened: len(opened.lines) if len(self._opened) == 1 else -len(opened.lines)
        )
        row = self._chance.randrange(len(opened.lines))
        end = {"line": row, "character": len(opened.lines[row])}
        opened.lines[row] += " "
        change = {"range": {"start": end, "end": end}, "text": " "}
        document = {"uri": opened.uri, "version": 2}
        self._client.notify("textDocument/didChange", {"textDocument": document, "contentChanges": [change]})
        return await self._client.request("textDocument/hover", _place(opened, self._chance))


_CONTEXT = {"includeDeclaration": True, "diagnostics": []}


def _place(opened: _Opened, chance: random.Random) -> dict[str, Any]:
    row = chance.randrange(len(opened.lines))
    position = {"line": row, "character": chance.randrange(len(opened.lines[row]) + 1)}
    return {"textDocument": {"uri": opened.uri}, "position": position}


async def _starts() -> Times:
    times = []
    for _ in range(_STARTS):
        before = time.perf_counter()
        client = await Client.started()
        times.append(time.perf_counter() - before)
        await client.stop()
    return times


def _median_and_p99(times: Times) -> str:
    if not times:
        return ""
    return f"{statistics.median(times) * 1000:.1f}, {sorted(times)[len(times) * 99 // 100] * 1000:.1f}"
