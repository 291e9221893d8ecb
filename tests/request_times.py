"""Measure the time from each request to its answer on the biggest dumps, as an editor sees it."""

import gc
import os
import random
import statistics
import time
from pathlib import Path
from typing import Any

from bare_client import Client
from xla_lens.files import find_set
from xla_lens.syntax.file_names import FileKind

_REQUESTS = int(os.environ.get("XLA_LENS_REQUESTS", "2000"))
"""Number of requests of each method, at random positions or about random documents."""

_EDITS = 20
_STARTS = 10
_LINES = 200
_CAPABILITIES = {"textDocument": {"documentSymbol": {"hierarchicalDocumentSymbolSupport": True}}}
_QUERIES = ("fusion", "dot.1", ">1GiB", "copy >1MiB", "all-gather", "")

_EDITED = "hover after an edit of one character"
_TARGETS = {
    **dict.fromkeys(("hover", "definition", "documentHighlight", "selectionRange"), "5"),
    f"semanticTokens/range, {_LINES} lines": "10",
    **dict.fromkeys(("references", "prepareCallHierarchy", "callHierarchy/incomingCalls"), "50"),
    **dict.fromkeys(("callHierarchy/outgoingCalls", "foldingRange", "documentLink"), "50"),
    **dict.fromkeys(("documentSymbol", "workspace/symbol"), "150"),
    _EDITED: "120",
}
"""The targets of the requests in ms."""


async def request_times(dumps: Path) -> list[tuple[str, ...]]:
    """The rows of a table: the request, its times on the 70B set, on one file of 48 MB and on the HLO module of the 70B
    set, and its target in ms.
    """
    # The collector of this process would scan all lines of the documents while it waits for an answer.
    gc.disable()
    assignment = next(dumps.glob("*/llama3_70b*/module_0000*-buffer-assignment.txt"))
    single = max(dumps.glob("cpu-big*/*/*-buffer-assignment.txt"), key=lambda path: path.stat().st_size)
    columns = [await _times(paths) for paths in (files_of(assignment), [single], [module_of(assignment)])]
    rows = [(name, *(_median_and_p99(column[name]) for column in columns), target) for name, target in _TARGETS.items()]
    starts = []
    for _ in range(_STARTS):
        before = time.perf_counter()
        client = await Client.started()
        starts.append(time.perf_counter() - before)
        await client.stop()
    return [*rows, ("start to the answer to `initialize`", _median_and_p99(starts), "", "", "350")]


def files_of(assignment: Path) -> list[Path]:
    """The files of a set that the server reads for the first answer."""
    kinds = (FileKind.BUFFER_ASSIGNMENT, FileKind.VALUES, FileKind.LIVE_RANGE)
    return [path for kind, path in find_set(assignment).paths.items() if kind in kinds]


def module_of(assignment: Path) -> Path:
    """The HLO module of a set."""
    return find_set(assignment).paths[FileKind.HLO]


def open_document(client: Client, path: Path) -> str:
    """Open a file in the server, and return its text."""
    text = path.read_text()
    document = {"uri": path.as_uri(), "languageId": "xla-dump", "version": 1, "text": text}
    client.notify("textDocument/didOpen", {"textDocument": document})
    return text


async def _times(paths: list[Path]) -> dict[str, list[float]]:
    """The times of each request in the table."""
    client, chance = await Client.started(_CAPABILITIES), random.Random(1)
    documents = {path.as_uri(): open_document(client, path).split("\n") for path in paths}

    def asked() -> dict[str, Any]:
        """What any request may ask: about a random place, the lines from there on, or a name."""
        uri = chance.choice([*documents])
        row = chance.randrange(len(documents[uri]))
        position = {"line": row, "character": chance.randrange(len(documents[uri][row]) + 1)}
        asked = {"textDocument": {"uri": uri}, "position": position, "positions": [position]}
        end = {**position, "line": row + _LINES}
        context = {"includeDeclaration": True}
        return {**asked, "range": {"start": position, "end": end}, "context": context, "query": chance.choice(_QUERIES)}

    def edit() -> None:
        """Append a space to a line of the shortest document."""
        uri = min(documents, key=lambda uri: len(documents[uri]))
        row = chance.randrange(len(documents[uri]))
        end = {"line": row, "character": len(documents[uri][row])}
        documents[uri][row] += " "
        change = {"range": {"start": end, "end": end}, "text": " "}
        client.notify(
            "textDocument/didChange", {"textDocument": {"uri": uri, "version": 2}, "contentChanges": [change]}
        )

    # The first request waits for the load, and the first one about symbols builds their index.
    for method in ("textDocument/hover", "workspace/symbol"):
        await client.request(method, asked())
    items: list[Any] = []
    while len(items) < 500:
        items += await client.request("textDocument/prepareCallHierarchy", asked()) or []
    times: dict[str, list[float]] = {}
    for name in _TARGETS:
        word = name.partition(" ")[0].strip(",")
        method = word if word.startswith(("callHierarchy/", "workspace/")) else f"textDocument/{word}"
        times[name] = []
        for _ in range(_EDITS if name == _EDITED else _REQUESTS):
            parameters = {"item": chance.choice(items)} if method.startswith("callHierarchy/") else asked()
            before = time.perf_counter()
            if name == _EDITED:
                edit()
            await client.request(method, parameters)
            times[name].append(time.perf_counter() - before)
    await client.stop()
    return times


def _median_and_p99(times: list[float]) -> str:
    return f"{statistics.median(times) * 1000:.1f}, {sorted(times)[len(times) * 99 // 100] * 1000:.1f}"
