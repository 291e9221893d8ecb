"""Measure time and memory on the biggest dumps: `python tests/benchmark.py`, or `make benchmark`.

Prints the tables of docs/performance.md. Most times are ratios to the bare tree-sitter parse of the same files in the
same run, which makes them comparable between machines. Nothing here fails because it is slow.
"""

import asyncio
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from tree_sitter import Parser

from bare_client import Client
from request_times import request_times
from samples import SHARED_DUMPS, big_dumps, dump_file, never
from xla_lens.features.memory_map import memory_map
from xla_lens.files import find_set, load_files, load_module
from xla_lens.lsp.dump_sets import DumpSets
from xla_lens.lsp.serve import SWITCH_SECONDS
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
        rows += _growth(dumps)
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

    rows = [
        ("nodes of the three files of the 70B set", f"{nodes / 1e6:.2f} million", "3.6 million"),
        ("bare parse of the three files, MB/s", f"{size / 1e6 / bare:.0f}", ""),
        (f"first answer / bare parse, median of {_STARTS}", f"{statistics.median(ready) / bare:.2f}", "2"),
        ("maximum resident memory, HLO module included / size of the files", f"{memory / size:.2f}", "2.2"),
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


async def _ping(client: Client) -> list[float]:
    """Send requests that take no work until cancelled; return the seconds that each answer took."""
    nothing = {"textDocument": {"uri": "file:///nothing"}, "position": {"line": 0, "character": 0}}
    times: list[float] = []
    try:
        while True:
            before = time.perf_counter()
            await client.request("textDocument/hover", nothing)
            times.append(time.perf_counter() - before)
            await asyncio.sleep(_PING_SECONDS)
    except asyncio.CancelledError:
        return times


async def _stall(path: Path) -> float:
    """The longest delay of the event loop in seconds while a worker thread loads a set."""
    sys.setswitchinterval(SWITCH_SECONDS)
    sets = DumpSets()
    sets.open_document("", path, 1, Document(path.read_bytes()))
    state, _ = sets.find("") or sys.exit("the document is not open")
    loading = asyncio.create_task(state.module_for(path))
    longest = 0.0
    while not loading.done():
        before = time.perf_counter()
        await asyncio.sleep(_TICK_SECONDS)
        longest = max(longest, time.perf_counter() - before - _TICK_SECONDS)
    assert await loading
    return longest


def _wait(pings: list[float]) -> float:
    """The longest time without the first three, which waited for the text of the document."""
    return max(pings[3:], default=0.0)


def _checks(dumps: Path) -> Iterator[tuple[str, str, str]]:
    """The checks and the memory map of the biggest set, and the overlaps of one arena, over the bare parse."""
    assignment = next(dumps.glob("*/llama3_70b*/module_0000*-buffer-assignment.txt"))
    files = [file.dump_file for file in load_files(find_set(assignment), {}, {}, never).values()]
    bare = sum(_timed(partial(Parser(XLA_DUMP).parse, file.document.data)) for file in files)
    dump = join(files)
    dump.prepare()
    memory = measure(dump, lambda value: may_overlap(dump, value))
    yield "all checks of the 70B set / its bare parse", f"{_timed(lambda: check(dump, memory)) / bare:.2f}", ""
    analysis, module = analyse(files), load_module(find_set(assignment), {}, None, never)
    drawn = _timed(lambda: json.dumps(memory_map_data(memory_map(analysis, module.module if module else None))))
    yield "memory map of the 70B set as JSON / its bare parse", f"{drawn / bare:.2f}", ""
    text = _arena(40_000).encode()
    bare = min(_timed(lambda: Parser(XLA_DUMP).parse(text)) for _ in range(3))
    arena = join([dump_file(text)])
    arena.prepare()
    sweep = min(_timed(lambda: measure(arena, lambda _: False)) for _ in range(3))
    yield "overlaps of 40,000 values in one arena / its bare parse", f"{sweep / bare:.2f}", "1"


def _module(dumps: Path) -> Iterator[tuple[str, str, str]]:
    """The HLO module of the biggest set, which loads after the first answer, over its bare parse."""
    assignment = next(dumps.glob("*/llama3_70b*/module_0000*-buffer-assignment.txt"))
    files = find_set(assignment)
    text = files.paths[FileKind.HLO].read_bytes()
    bare = min(_timed(lambda: Parser(HLO).parse(text)) for _ in range(3))
    seconds = min(_timed(lambda: load_module(files, {}, None, never)) for _ in range(3))
    yield "HLO module of the 70B set / its bare parse", f"{seconds / bare:.2f}", "2.5"


def _arena(count: int) -> str:
    """A dump with `count` values in one arena, of which 1,000 are live at each step."""
    places = [(number % 1000 * 256, number // 1000 * 1000 + number % 1000) for number in range(count)]
    slices = "".join(
        f" value: <{n} v.{n} @0> (size=256,offset={offset}): f32[64]{{0}}\n" for n, (offset, _) in enumerate(places)
    )
    used = "".join(f"<{n} v.{n} @0>\n positions:\n  v.{n}\n uses:\n" for n in range(count))
    steps = "".join(f"    {n}:v.{n}\n" for n in range(count))
    ranges = "".join(f"    v.{n}{{}}:{start}-{min(start + 1000, count)}\n" for n, (_, start) in enumerate(places))
    return (
        f"BufferAssignment:\nallocation 0: size 256000, preallocated-temp:\n{slices}\n"
        f"Total bytes used: 256000 (250.0KiB)\n\nUsed values:\n{used}\n\nHloLiveRange (max {count}):\n"
        f"  InstructionSequence:\n{steps}  BufferLiveRange:\n{ranges}"
    )


def _growth(dumps: Path) -> Iterator[tuple[str, str, str]]:
    """The cost per byte of files of growing size, relative to the smallest file."""
    files = [next(SHARED_DUMPS.glob("cpu-jaxlib0.8.3/mlp_train/*-buffer-assignment.txt"))]
    files += [next(SHARED_DUMPS.glob("cpu-jaxlib0.4.30/transformer_train/*-buffer-assignment.txt"))]
    files += sorted(dumps.glob("cpu-big*/*/*-buffer-assignment.txt"), key=lambda path: path.stat().st_size)
    with tempfile.TemporaryDirectory() as folder:
        doubled = Path(folder) / "doubled-buffer-assignment.txt"
        doubled.write_text(_doubled(files[-1].read_text()))
        first = 0.0
        for path in [*files, doubled]:
            size = path.stat().st_size
            seconds = min(_timed(partial(_load, path)) for _ in range(5 if size < 1e6 else 1))
            first = first or seconds / size
            bar = "linear" if path is doubled else ""
            yield (
                f"cost per byte of a file of {size / 1e6:.1f} MB / that of the smallest",
                f"{seconds / size / first:.2f}",
                bar,
            )


def _load(path: Path) -> None:
    analyse(file.dump_file for file in load_files(find_set(path), {}, {}, never).values())


def _doubled(text: str) -> str:
    """A dump of twice the program: every part twice, the second time with other names, ids and steps."""
    import re

    head, rest = text.split("\n\nTotal bytes used: ")
    used, live = rest.split("\n\nUsed values:\n")[1].split("\n\n\nHloLiveRange (max ")
    allocations, ids = head.count("\nallocation "), 1 + max(map(int, re.findall(r"^<(\d+) ", used, re.MULTILINE)))
    steps = int(live.split(")")[0])
    schedule, ranges = live.split("  InstructionSequence:\n")[1].split("  BufferLiveRange:\n")
    ranges = ranges.split("  Live ranges at")[0]
    name = r"([A-Za-z_][\w.-]*)"

    def more(text: str) -> str:
        text = re.sub(
            r"^allocation (\d+):", lambda match: f"allocation {int(match[1]) + allocations}:", text, flags=re.M
        )
        text = re.sub(rf"<(\d+) {name}", lambda match: f"<{int(match[1]) + ids} {match[2]}.x", text)
        text = re.sub(rf"^  {name}", r"  \1.x", text, flags=re.M)
        return re.sub(rf"%{name}", r"%\1.x", text)

    schedule_2 = re.sub(rf"(\d+):{name}", lambda match: f"{int(match[1]) + steps}:{match[2]}.x", schedule)
    ranges_2 = re.sub(
        rf"{name}(\{{.*\}}):(\d+)-(\d+)",
        lambda match: f"{match[1]}.x{match[2]}:{int(match[3]) + steps}-{int(match[4]) + steps}",
        ranges,
    )
    body = head.split("\n", 1)[1]
    total = 2 * int(rest.split(" ")[0])
    return (
        f"{head}\n{more(body)}\n\nTotal bytes used: {total} (0B)\n\nUsed values:\n{used}\n{more(used)}\n\n\n"
        f"HloLiveRange (max {2 * steps}):\n  InstructionSequence:\n{schedule}{schedule_2}"
        f"  BufferLiveRange:\n{ranges}{ranges_2}"
    )


def _timed(work: Callable[[], object]) -> float:
    before = time.perf_counter()
    work()
    return time.perf_counter() - before


if __name__ == "__main__":
    main()
