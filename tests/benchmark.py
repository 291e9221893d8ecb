"""Measure time and memory on the biggest dumps: `python tests/benchmark.py`, or `make benchmark`.

Prints the tables of docs/performance.md. Most times are ratios to the bare tree-sitter parse of the same files in the
same run, which makes them comparable between machines. Nothing here fails because it is slow.
"""

import asyncio
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from tree_sitter import Parser

from bare_client import Client
from big_inputs import dense
from command_times import Row, command_times
from request_times import files_of, module_of, open_document, request_times
from samples import DUMPS, SHARED_DUMPS, big_dumps, never
from xla_lens.files import find_set, load_module
from xla_lens.syntax.tree import HLO, XLA_DUMP

_STARTS = 3
_SETS = 1_000
_DENSE_VALUES = 900_000
_IDLE_SECONDS = 10
_WORKSPACE_SECONDS = 0.5
_PING_SECONDS = 0.005
_NOWHERE = {"textDocument": {"uri": "file:///nothing"}, "position": {"line": 0, "character": 0}}


def main() -> None:
    """Measure, then print the tables."""
    if not SHARED_DUMPS.is_dir():
        print(f"No benchmark: {SHARED_DUMPS} is missing. Set XLA_LENS_DUMPS to the folder of the collection of dumps.")
        return
    with tempfile.TemporaryDirectory() as folder:
        dumps = big_dumps(Path(folder))
        assignment = next(dumps.glob("*/llama3_70b*/module_0000*-buffer-assignment.txt"))
        rows = [*asyncio.run(_server(assignment)), asyncio.run(_dense()), *command_times(dumps)]
        rows += [*asyncio.run(_workspace()), _module(assignment)]
        request_rows = asyncio.run(request_times(dumps))
    print("\n| measurement | result | target |\n|---|--:|--:|")
    for row in rows:
        print(f"| {' | '.join(row)} |")
    print("\n| request: median, p99 in ms | 70B set | one file of 48 MB | HLO of the 70B set | target |")
    print("|---|--:|--:|--:|--:|")
    for request_row in request_rows:
        print(f"| {' | '.join(request_row)} |")


async def _server(assignment: Path) -> list[Row]:
    """What editors wait for when they open the biggest set, and its memory."""
    texts = [path.read_bytes() for path in files_of(assignment)]
    size = sum(map(len, texts))
    bare = min(_timed(lambda: [Parser(XLA_DUMP).parse(text) for text in texts]) for _ in range(3))
    ready, waits, memory = [], [], []
    # Pings take time, so the runs without them measure the load.
    for has_pings in (False, True) * _STARTS:
        seconds, pings, resident_bytes = await _opened(assignment, has_pings=has_pings)
        memory.append(resident_bytes)
        if has_pings:
            # The first ones waited for the text of the document.
            waits.append(max(pings[3:], default=0.0))
        else:
            ready.append(seconds)
    return [
        ("bare parse of the three files, MB/s", f"{size / 1e6 / bare:.0f}", ""),
        (f"first answer / bare parse, median of {_STARTS}", f"{statistics.median(ready) / bare:.2f}", "0.6"),
        ("maximum resident memory, HLO module included / size of the files", f"{memory[-1] / size:.2f}", "1.7"),
        (f"longest wait for an answer during the load, median of {_STARTS}, ms", _median_ms(waits), "50"),
    ]


async def _opened(path: Path, *, has_pings: bool) -> tuple[float, list[float], int]:
    """Open a file in a new server. Returns the seconds to the first answer, those of each ping from the notification
    that the document is open to that answer, and the memory after the HLO module is loaded.
    """
    client = await Client.started()
    await client.request("textDocument/hover", _NOWHERE)
    times: list[float] = []

    async def ping() -> None:
        while True:
            before = time.perf_counter()
            await client.request("textDocument/hover", _NOWHERE)
            times.append(time.perf_counter() - before)
            await asyncio.sleep(_PING_SECONDS)

    pings = asyncio.create_task(ping()) if has_pings else None
    here = {"textDocument": {"uri": path.as_uri()}, "position": {"line": 2, "character": 10}}
    before = time.perf_counter()
    open_document(client, path)
    await client.request("textDocument/hover", here)
    seconds = time.perf_counter() - before
    if pings:
        pings.cancel()
    await client.request("textDocument/implementation", here)
    memory = client.resident_bytes("VmHWM")
    await client.stop()
    return seconds, times, memory


async def _dense() -> Row:
    """A file with little text and many values: what editors wait for while it is opened and loaded."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "dense-buffer-assignment.txt"
        path.write_text(dense(_DENSE_VALUES))
        waits = [max((await _opened(path, has_pings=True))[1], default=0.0) for _ in range(_STARTS)]
        title = f"one file of {path.stat().st_size / 1e6:.0f} MB with {_DENSE_VALUES:,} values"
    return f"{title}: longest wait for an answer, didOpen included, ms", _median_ms(waits), "150"


def _median_ms(seconds: list[float]) -> str:
    return f"{statistics.median(seconds) * 1000:.0f}"


async def _workspace() -> list[Row]:
    """A workspace with many sets: the time and memory to read all, and the cost of idling."""
    with tempfile.TemporaryDirectory() as folder:
        sets = sorted({path.parent for path in DUMPS.glob("*/*/*-buffer-assignment.txt")})
        for number in range(_SETS):
            shutil.copytree(sets[number % len(sets)], Path(folder) / f"{number // 50}" / f"{number}")
        client = await Client.start(stderr=None)
        started = time.perf_counter()
        await client.initialize({}, workspaceFolders=[{"uri": Path(folder).as_uri(), "name": "dumps"}])
        modules = {"command": "xla-lens.modules", "arguments": [{}]}
        while (found := await client.request("workspace/executeCommand", modules))["isReading"] or not found["modules"]:
            await asyncio.sleep(_WORKSPACE_SECONDS)
        done, memory = time.perf_counter() - started, client.resident_bytes("VmHWM")
        before = _cpu_seconds(client.process.pid)
        await asyncio.sleep(_IDLE_SECONDS)
        idle = (_cpu_seconds(client.process.pid) - before) / _IDLE_SECONDS
        await client.stop()
    title = f"workspace of {_SETS:,} folders with {len(found['modules']):,} dumps: start to all dumps read, s"
    return [
        (title, f"{done:.1f}", ""),
        ("the same: maximum resident memory, MB", f"{memory / 1e6:.0f}", ""),
        ("the same: CPU time while idle", f"{idle:.1%}", "1%"),
    ]


def _cpu_seconds(process_id: int) -> float:
    """The CPU time that a process has taken so far."""
    fields = Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _module(assignment: Path) -> Row:
    """The HLO module of the biggest set, which loads after the first answer, over its bare parse."""
    text = module_of(assignment).read_bytes()
    bare = min(_timed(lambda: Parser(HLO).parse(text)) for _ in range(3))
    seconds = min(_timed(lambda: load_module(find_set(assignment), {}, None, never)) for _ in range(3))
    return "HLO module of the 70B set / its bare parse", f"{seconds / bare:.2f}", "2.5"


def _timed(work: Callable[[], object]) -> float:
    before = time.perf_counter()
    work()
    return time.perf_counter() - before


if __name__ == "__main__":
    main()
