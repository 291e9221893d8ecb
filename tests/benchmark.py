"""Measure time and memory on the biggest dumps: `python tests/benchmark.py`, or `make benchmark`.

Prints the tables of docs/performance.md. Most times are ratios to the bare tree-sitter parse of the same files in the
same run, which makes them comparable between machines. Nothing here fails because it is slow.
"""

import asyncio
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from tree_sitter import Parser

from bare_client import Client
from big_inputs import dense
from command_times import command_times
from request_times import request_times
from samples import DUMPS, SHARED_DUMPS, big_dumps, never
from xla_lens.files import find_set, load_files, load_module
from xla_lens.lsp.dump_sets import DumpSets
from xla_lens.model.analysis import analyse
from xla_lens.model.checks.check import check
from xla_lens.model.checks.overlaps import may_overlap
from xla_lens.model.memory.over_time import measure
from xla_lens.model.tables.joining import join
from xla_lens.render.memory_map.data import memory_map_data
from xla_lens.syntax.file_names import FileKind
from xla_lens.syntax.tree import HLO, XLA_DUMP
from xla_lens.text.document import Document

_STARTS = 3
_SETS = 1_000
_DENSE_VALUES = 900_000
_IDLE_SECONDS = 10
_CHECK_SECONDS = 5
_WORKSPACE_SECONDS = 0.5
_PING_SECONDS = 0.005
_TICK_SECONDS = 0.002


def main() -> None:
    """Measure, then print the tables."""
    if not SHARED_DUMPS.is_dir():
        print(f"No benchmark: {SHARED_DUMPS} is missing. Set XLA_LENS_DUMPS to the folder of the collection of dumps.")
        return
    with tempfile.TemporaryDirectory() as folder:
        dumps = big_dumps(Path(folder))
        rows = list(asyncio.run(_server(dumps)))
        rows += asyncio.run(_rows(_dense()))
        rows += command_times(dumps)
        rows += asyncio.run(_rows(_workspace()))
        rows += _checks(dumps)
        rows += _module(dumps)
        request_rows = asyncio.run(request_times(dumps))
    print("\n| measurement | result | target |\n|---|--:|--:|")
    for row in rows:
        print(f"| {' | '.join(row)} |")
    print("\n| request: median, p99 in ms | 70B set | one file of 48 MB | HLO of the 70B set | target |")
    print("|---|--:|--:|--:|--:|")
    for request_row in request_rows:
        print(f"| {' | '.join(request_row)} |")


async def _rows(rows: AsyncIterator[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    return [row async for row in rows]


async def _server(dumps: Path) -> list[tuple[str, str, str]]:
    assignment = next(dumps.glob("*/llama3_70b*/module_0000*-buffer-assignment.txt"))
    files = [path for kind, path in find_set(assignment).paths.items() if kind in _THREE_FILES]
    texts = [path.read_bytes() for path in files]
    size = sum(map(len, texts))
    bare = min(_timed(lambda: [Parser(XLA_DUMP).parse(text) for text in texts]) for _ in range(3))
    nodes = sum(Parser(XLA_DUMP).parse(text).root_node.descendant_count for text in texts)

    uri = assignment.as_uri()
    document = {"uri": uri, "languageId": "xla-dump", "version": 1, "text": assignment.read_text()}
    here = {"textDocument": {"uri": uri}, "position": {"line": 2, "character": 10}}
    ready, waits = [], []
    for run in range(2 * _STARTS):
        client = await Client.started()
        # Every other run sends requests all the while. These take time, so the runs without them measure the load.
        pings = asyncio.create_task(_ping(client)) if run % 2 else None
        started = time.perf_counter()
        client.notify("textDocument/didOpen", {"textDocument": document})
        assert await client.request("textDocument/hover", here)
        if pings:
            pings.cancel()
            waits.append(_wait(await pings))
        else:
            ready.append(time.perf_counter() - started)
        assert await client.request("textDocument/implementation", here)
        memory = client.resident_bytes("VmHWM")
        if run < 2 * _STARTS - 1:
            await client.stop()
    # No request waits for the check against the module.
    await asyncio.sleep(_CHECK_SECONDS)

    rows = [
        ("nodes of the three files of the 70B set", f"{nodes / 1e6:.2f} million", ""),
        ("bare parse of the three files, MB/s", f"{size / 1e6 / bare:.0f}", ""),
        (f"first answer / bare parse, median of {_STARTS}", f"{statistics.median(ready) / bare:.2f}", "0.6"),
        ("maximum resident memory, HLO module included / size of the files", f"{memory / size:.2f}", "1.7"),
        ("the same after the check against the module", f"{client.resident_bytes('VmHWM') / size:.2f}", ""),
        (
            f"longest stall of the event loop during the load, median of {_STARTS}, ms",
            f"{statistics.median([await _stall(assignment) for _ in range(_STARTS)]) * 1000:.0f}",
            "50",
        ),
        (
            f"longest wait for an answer during the load, median of {_STARTS}, ms",
            f"{statistics.median(waits) * 1000:.0f}",
            "",
        ),
    ]
    await client.stop()
    return rows


_THREE_FILES = (FileKind.BUFFER_ASSIGNMENT, FileKind.VALUES, FileKind.LIVE_RANGE)


async def _dense() -> AsyncIterator[tuple[str, str, str]]:
    """A file with little text and many values: what editors wait for while it is opened and loaded."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "dense-buffer-assignment.txt"
        path.write_text(dense(_DENSE_VALUES))
        stalls = [await _stall(path) for _ in range(_STARTS)]
        waits = [await _waits_while_opened(path) for _ in range(_STARTS)]
        size = path.stat().st_size
    title = f"one file of {size / 1e6:.0f} MB with {_DENSE_VALUES:,} values"
    yield f"{title}: longest stall of the event loop, median of {_STARTS}, ms", f"{_median_ms(stalls)}", "50"
    yield f"{title}: longest wait for an answer, didOpen included, ms", f"{_median_ms(waits)}", "150"


def _median_ms(seconds: list[float]) -> str:
    return f"{statistics.median(seconds) * 1000:.0f}"


async def _waits_while_opened(path: Path) -> float:
    """The longest wait for an answer from the notification that a document is open to the end of its load."""
    client, uri = await Client.started(), path.as_uri()
    await client.request("textDocument/hover", _NOWHERE)
    document = {"uri": uri, "languageId": "xla-dump", "version": 1, "text": path.read_text()}
    client.notify("textDocument/didOpen", {"textDocument": document})
    await client.drain()
    pings = asyncio.create_task(_ping(client))
    await client.request("textDocument/hover", {**_NOWHERE, "textDocument": {"uri": uri}})
    pings.cancel()
    longest = max(await pings, default=0.0)
    await client.stop()
    return longest


async def _workspace() -> AsyncIterator[tuple[str, str, str]]:
    """A workspace with many sets: the first answers, the time and memory to read all, and the cost of idling."""
    with tempfile.TemporaryDirectory() as folder:
        sets = [path.parent for path in sorted(DUMPS.glob("*/*/*-buffer-assignment.txt"))]
        sets = list(dict.fromkeys(sets))
        for number in range(_SETS):
            shutil.copytree(sets[number % len(sets)], Path(folder) / f"{number // 50}" / f"{number}")
        client = await Client.start(stderr=None)
        started = time.perf_counter()
        folders = [{"uri": Path(folder).as_uri(), "name": "dumps"}]
        await client.initialize({}, workspaceFolders=folders)
        modules = {"command": "xla-lens.modules", "arguments": [{}]}
        while not (found := await client.request("workspace/executeCommand", modules))["modules"]:
            await asyncio.sleep(_PING_SECONDS)
        first, longest = time.perf_counter() - started, 0.0
        while found["isReading"]:
            before = time.perf_counter()
            found = await client.request("workspace/executeCommand", modules)
            longest = max(longest, time.perf_counter() - before)
            await asyncio.sleep(_WORKSPACE_SECONDS)
        before = time.perf_counter()
        await client.request("workspace/symbol", {"query": "fusion"})
        symbols = time.perf_counter() - before
        done, memory = time.perf_counter() - started, client.resident_bytes("VmHWM")
        before = _cpu_seconds(client.process.pid)
        await asyncio.sleep(_IDLE_SECONDS)
        idle = (_cpu_seconds(client.process.pid) - before) / _IDLE_SECONDS
        await client.stop()
    count = len(found["modules"])
    yield (
        f"workspace of {_SETS:,} folders with {count:,} dumps: start to the first modules in the list, s",
        f"{first:.2f}",
        "",
    )
    yield "the same: longest wait for the list while dumps are read, ms", f"{longest * 1000:.0f}", ""
    yield "the same: start to all dumps read, s", f"{done:.1f}", ""
    yield "the same: symbols with `fusion` in all of them, ms", f"{symbols * 1000:.0f}", ""
    yield "the same: maximum resident memory, MB", f"{memory / 1e6:.0f}", ""
    yield "the same: CPU time while idle", f"{idle:.1%}", "1%"


def _cpu_seconds(process_id: int) -> float:
    """The CPU time that a process has taken so far."""
    fields = Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


_NOWHERE = {"textDocument": {"uri": "file:///nothing"}, "position": {"line": 0, "character": 0}}


async def _ping(client: Client) -> list[float]:
    """Send requests that take no work until cancelled; return the seconds that each answer took."""
    times: list[float] = []
    try:
        while True:
            before = time.perf_counter()
            await client.request("textDocument/hover", _NOWHERE)
            times.append(time.perf_counter() - before)
            await asyncio.sleep(_PING_SECONDS)
    except asyncio.CancelledError:
        return times


async def _stall(path: Path) -> float:
    """The longest delay of the event loop in seconds while a worker thread loads a set."""
    sets = DumpSets()
    sets.open_document("", path, 1, Document(path.read_bytes()))
    state, _ = sets.find("") or sys.exit("the document is not open")
    loading = asyncio.create_task(state.module_for(path))
    longest = 0.0
    while not loading.done():
        before = time.perf_counter()
        await asyncio.sleep(_TICK_SECONDS)
        longest = max(longest, time.perf_counter() - before - _TICK_SECONDS)
    assert await loading or FileKind.HLO not in find_set(path).paths
    return longest


def _wait(pings: list[float]) -> float:
    """The longest time without the first three, which waited for the text of the document."""
    return max(pings[3:], default=0.0)


def _checks(dumps: Path) -> Iterator[tuple[str, str, str]]:
    """The checks and the memory map of the biggest set over the bare parse."""
    assignment = next(dumps.glob("*/llama3_70b*/module_0000*-buffer-assignment.txt"))
    files = [file.dump_file for file in load_files(find_set(assignment), {}, {}, never).values()]
    bare = sum(_timed(partial(Parser(XLA_DUMP).parse, file.document.data)) for file in files)
    dump = join(files)
    dump.prepare()
    memory = measure(dump, lambda value: may_overlap(dump, value))
    yield "all checks of the 70B set / its bare parse", f"{_timed(lambda: check(dump, memory)) / bare:.2f}", ""
    analysis, module = analyse(files), load_module(find_set(assignment), {}, None, never)
    drawn = _timed(lambda: json.dumps(memory_map_data(analysis, module.module if module else None)))
    yield "memory map of the 70B set as JSON / its bare parse", f"{drawn / bare:.2f}", ""


def _module(dumps: Path) -> Iterator[tuple[str, str, str]]:
    """The HLO module of the biggest set, which loads after the first answer, over its bare parse."""
    assignment = next(dumps.glob("*/llama3_70b*/module_0000*-buffer-assignment.txt"))
    files = find_set(assignment)
    text = files.paths[FileKind.HLO].read_bytes()
    bare = min(_timed(lambda: Parser(HLO).parse(text)) for _ in range(3))
    seconds = min(_timed(lambda: load_module(files, {}, None, never)) for _ in range(3))
    yield "HLO module of the 70B set / its bare parse", f"{seconds / bare:.2f}", "2.5"


def _timed(work: Callable[[], object]) -> float:
    before = time.perf_counter()
    work()
    return time.perf_counter() - before


if __name__ == "__main__":
    main()
