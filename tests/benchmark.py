"""Measure time and memory on the biggest dumps: `python tests/benchmark.py [--base COMMIT] [--write]`, or
`make benchmark [BASE=COMMIT]`.

Prints docs/performance.md; `--write` also writes it. Most times are ratios to the bare tree-sitter parse of the same
files in the same run, or to the build of another commit whose runs take turns with ours, which makes them comparable
between machines. Nothing here fails because it is slow.
"""

import argparse
import asyncio
import gc
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parent))

from tree_sitter import Language, Parser

from generated import write_update
from lsp.wire import Process
from samples import DUMPS, ROOT, SHARED_DUMPS, big_dumps, never
from xla_lens.disk.loading import load_module
from xla_lens.disk.sets import find_set
from xla_lens.syntax.file_names import FileKind
from xla_lens.syntax.tree import HLO, XLA_DUMP

_STARTS = 3
_SETS = 1_000
_DENSE_VALUES = 900_000
_DENSE_UPDATES = 64_000
_IDLE_SECONDS = 10
_NOWHERE = {"textDocument": {"uri": "file:///nothing"}, "position": {"line": 0, "character": 0}}

Row = tuple[str, ...]


def main() -> None:
    """Measure, then print the page, and write it if that is wanted."""
    parser = argparse.ArgumentParser(description="Measure XLA Lens on the biggest dumps.")
    parser.add_argument("--base", metavar="COMMIT", default="", help="compare with this commit; default: the last tag")
    parser.add_argument("--write", action="store_true", help="write docs/performance.md")
    options = parser.parse_args()
    if not SHARED_DUMPS.is_dir():
        print(f"No benchmark: {SHARED_DUMPS} is missing. Set XLA_LENS_DUMPS to the folder of the collection of dumps.")
        return
    with tempfile.TemporaryDirectory() as folder:
        dumps = big_dumps(Path(folder))
        big = find_set(next(dumps.glob("*/llama3_70b*/module_0000*-buffer-assignment.txt"))).paths
        single = max(dumps.glob("cpu-big*/*/*-buffer-assignment.txt"), key=lambda path: path.stat().st_size)
        kinds = (FileKind.BUFFER_ASSIGNMENT, FileKind.VALUES, FileKind.LIVE_RANGE)
        files, module = [big[kind] for kind in kinds], big[FileKind.HLO]
        base = options.base or _git("describe", "--tags", "--abbrev=0", "HEAD^")
        comparison = _comparison(base, files[0], single, Path(folder)) if base else []
        rows = [*asyncio.run(_server(files)), asyncio.run(_dense()), *_commands(single)]
        rows += [*asyncio.run(_workspace()), _module(files[0], module)]
        request_rows = asyncio.run(_requests([files, [single], [module]]))
    page = _page(rows, request_rows, base, comparison)
    print(page)
    if options.write:
        (ROOT / "docs" / "performance.md").write_text(page)


def _git(*arguments: str) -> str:
    """What a command of git prints, nothing if it fails."""
    done = subprocess.run(["git", "-C", ROOT, *arguments], capture_output=True, text=True, check=False)
    return done.stdout.strip()


# ---------------------------------------------------------------- the page

_PAGE = """# Performance

`make benchmark` measures XLA Lens on the biggest dumps of the collection and writes this page. These are the numbers of
commit {commit} on {cores} cores, which parsed {speed} MB/s in this run.

Most timings are ratios within one run, so that they mean the same on any machine: a *bare parse* is a tree-sitter parse
of the same files with the grammar of this repository, and nothing else. No test compares speeds, but
`tests/test_python_calls.py` limits how many functions a command may call for each megabyte. Tests of inputs that could
hang have deadlines far above the time that they take.

The big set is that of a Llama-3-70B training step for TPU v5p: 191 MB in three files, 291,526 lines, 40,262 values. It
is opened by its `-buffer-assignment.txt`. The big file is a CPU program of 192 layers, 48 MB, 4.8 million syntax nodes.
[The cold start of VS Code](performance-vscode.md) is measured apart.
{comparison}
## Loading and commands

{rows}

Commands are measured as whole processes, from start to exit. XProf's memory viewer reads the proto of the same module,
which the benchmark compiles on the spot, if `make crosscheck` has installed jax and XProf.{missed_rows}

## Requests

Median and 99th percentile of {count:,} requests of each kind as a client on the same machine sees them, at random
places or about any of the three files, in milliseconds.{missed_requests}

{requests}
"""

_COMPARISON = """
## Compared with {base}

Both builds took turns. The seconds are the CPU time of the whole command, the least of {runs} runs.

{rows}
"""


def _page(rows: list[Row], request_rows: list[Row], base: str, comparison: list[Row]) -> str:
    columns = ("command", f"{base}, s", "now, s", "now / before", "now / bare parse", "Python calls before, now")
    table = _table(columns, comparison)
    return _PAGE.format(
        commit=_git("rev-parse", "--short=8", "HEAD"),
        cores=os.cpu_count(),
        speed=next(result for title, result, _ in rows if title.startswith("bare parse of")),
        comparison=_COMPARISON.format(base=base, runs=_RUNS, rows=table) if comparison else "",
        rows=_table(("measurement", "result", "target"), rows),
        missed_rows=_missed(rows),
        count=_COUNT,
        missed_requests=_missed(request_rows),
        requests=_table(
            ("request: median, p99 in ms", "70B set", "one file of 48 MB", "HLO of the 70B set", "target"), request_rows
        ),
    )


def _table(titles: Row, rows: list[Row]) -> str:
    lines = [titles, tuple("---" if title == titles[0] else "--:" for title in titles), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _missed(rows: list[Row]) -> str:
    """A paragraph that names the rows that miss their targets in any column; nothing if there are none."""
    missed = [title for title, *results, target in rows if target and any(_misses(one, target) for one in results)]
    return f" These miss their targets: {'; '.join(missed)}." if missed else ""


def _misses(result: str, target: str) -> bool:
    """Whether the last number of a result, the 99th percentile or the ratio, is greater than its target."""
    numbers = re.findall(r"\d+(?:\.\d+)?", result)
    return bool(numbers) and float(numbers[-1]) > float(target.rstrip("%"))


# ---------------------------------------------------------------- another build

_RUNS = 3


def _comparison(commit: str, big: Path, single: Path, folder: Path) -> list[Row]:
    """The CPU time and the calls of commands with the build of another commit and with ours, which take turns."""
    builds, found = (_build(commit, folder), None), list[Row]()
    as_json, parts, check = "report --output-format json", "report --part totals,peak", "check"
    write_update(folder / "dense", _DENSE_UPDATES)
    (dense,) = (folder / "dense").glob("*-buffer-assignment.txt")
    for path, name, commands in (
        (big, "70B set", (as_json, parts, check)),
        (single, "file of 48 MB with its report and module", (as_json, parts, check)),
        # Old builds take two minutes to write it as JSON.
        (dense, "generated set of 122 MB with 192,001 small values", (parts, check)),
    ):
        bare = sum(
            _bare_seconds([file], HLO if kind is FileKind.HLO else XLA_DUMP)
            for kind, file in find_set(path).paths.items()
        )
        for command in commands:
            arguments = (*command.split(), path)
            times: list[list[float]] = [[], []]
            for _ in range(_RUNS):
                for build, of_build in zip(builds, times, strict=True):
                    of_build.append(_used(1, *_XLA_LENS, *arguments, build=build).cpu_seconds)
            before, now = map(min, times)
            calls = (f"{_calls(*arguments, build=build):,}" for build in builds)
            ratios = f"{now / before:.2f}", f"{now / bare:.2f}"
            found.append((f"`{command}`, {name}", f"{before:.2f}", f"{now:.2f}", *ratios, " → ".join(calls)))
    return found


def _build(commit: str, folder: Path) -> Path:
    """Build a commit with the packages of this environment, and return the folder to import it from."""
    source, build = folder / "source", folder / "build"
    source.mkdir()
    archive = subprocess.run(["git", "-C", ROOT, "archive", commit], capture_output=True, check=True).stdout
    subprocess.run(["tar", "-x", "-C", source], input=archive, check=True)
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--no-build-isolation", "--no-deps", "--target", build)
    subprocess.run([*pip, source], check=True)
    return build


_COUNT_CALLS = """
import cProfile, os, sys
from xla_lens.cli.main import main
profile = cProfile.Profile()
profile.runcall(main, sys.argv[1:])
print(sum(entry.callcount for entry in profile.getstats()), file=sys.stderr)
"""


def _calls(*arguments: object, build: Path | None) -> int:
    """How many functions a command calls in its main thread, imports included."""
    command = [sys.executable, "-c", _COUNT_CALLS, *map(str, arguments)]
    done = subprocess.run(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=True, env=_environment(build)
    )
    return int(done.stderr.split()[-1])


def _environment(build: Path | None) -> dict[str, str]:
    """The environment of a command of this build, or of another one."""
    # Without its compiled modules, Python would compile all of them again.
    found = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return found | ({"PYTHONPATH": str(build)} if build else {})


def _timed(work: Callable[[], object]) -> float:
    before = time.perf_counter()
    work()
    return time.perf_counter() - before


def _bare_seconds(files: list[Path], language: Language = XLA_DUMP) -> float:
    """The time of a bare parse with tree-sitter, the least of several."""
    texts = [path.read_bytes() for path in files]
    return min(_timed(lambda: [Parser(language).parse(text) for text in texts]) for _ in range(3))


def _median_ms(seconds: list[float]) -> str:
    return f"{statistics.median(seconds) * 1000:.0f}"


# ---------------------------------------------------------------- the server


async def _started(**capabilities: Any) -> Process:
    """Start a server and initialize it. The client keeps no messages."""
    client, keep_nothing = await Process.start(stderr=None), deque[Any](maxlen=0)
    client.messages = keep_nothing  # type: ignore[assignment]
    await client.initialize(capabilities)
    return client


def _open(client: Process, path: Path) -> str:
    """Open a file in the server, and return its text."""
    text = path.read_text()
    document = {"uri": path.as_uri(), "languageId": "xla-dump", "version": 1, "text": text}
    client.notify("textDocument/didOpen", {"textDocument": document})
    return text


async def _server(files: list[Path]) -> list[Row]:
    """What editors wait for when they open the biggest set, and its memory."""
    size, bare = sum(path.stat().st_size for path in files), _bare_seconds(files)
    # Pings take time, so the runs without them measure the load.
    ready = [(await _opened(files[0], has_pings=False))[0] for _ in range(_STARTS)]
    loads = [await _opened(files[0], has_pings=True) for _ in range(_STARTS)]
    return [
        ("bare parse of the three files, MB/s", f"{size / 1e6 / bare:.0f}", ""),
        (f"first answer / bare parse, median of {_STARTS}", f"{statistics.median(ready) / bare:.2f}", "0.6"),
        ("maximum resident memory, HLO module included / size of the files", f"{loads[-1][2] / size:.2f}", "1.7"),
        (
            f"longest wait for an answer during the load, median of {_STARTS}, ms",
            # The first pings waited for the text of the document.
            _median_ms([max(pings[3:], default=0.0) for _, pings, _ in loads]),
            "50",
        ),
    ]


async def _opened(path: Path, *, has_pings: bool) -> tuple[float, list[float], int]:
    """Open a file in a new server. Returns the seconds to the first answer, those of each ping from the notification
    that the document is open to that answer, and the memory after the HLO module is loaded.
    """
    client, times = await _started(), list[float]()
    await client.request("textDocument/hover", _NOWHERE)
    is_loading = True

    async def ping() -> None:
        while has_pings and is_loading:
            before = time.perf_counter()
            await client.request("textDocument/hover", _NOWHERE)
            times.append(time.perf_counter() - before)
            await asyncio.sleep(0.005)

    pings = asyncio.create_task(ping())
    here = {"textDocument": {"uri": path.as_uri()}, "position": {"line": 2, "character": 10}}
    before = time.perf_counter()
    _open(client, path)
    await client.request("textDocument/hover", here)
    seconds = time.perf_counter() - before
    is_loading = False
    await pings
    await client.request("textDocument/implementation", here)
    memory = client.resident_bytes("VmHWM")
    await client.stop()
    return seconds, times, memory


async def _dense() -> Row:
    """A file with nothing but values in one allocation: what editors wait for while it is opened and loaded."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "dense-buffer-assignment.txt"
        with path.open("w") as file:
            file.write(f"BufferAssignment:\nallocation 0: size {_DENSE_VALUES * 256}, preallocated-temp:\n")
            for number in range(_DENSE_VALUES):
                file.write(f" value: <{number} v.{number} @0> (size=256,offset={number * 256}): f32[64]{{0}}\n")
        waits = [max((await _opened(path, has_pings=True))[1], default=0.0) for _ in range(_STARTS)]
        title = f"one file of {path.stat().st_size / 1e6:.0f} MB with {_DENSE_VALUES:,} values"
    return f"{title}: longest wait for an answer, didOpen included, ms", _median_ms(waits), "150"


async def _workspace() -> list[Row]:
    """A workspace with many sets: the time and memory to read all, and the cost of idling."""
    with tempfile.TemporaryDirectory() as folder:
        sets = sorted({path.parent for path in DUMPS.glob("*/*/*-buffer-assignment.txt")})
        for number in range(_SETS):
            shutil.copytree(sets[number % len(sets)], Path(folder) / f"{number // 50}" / f"{number}")
        client, started = await Process.start(stderr=None), time.perf_counter()
        await client.initialize({}, workspaceFolders=[{"uri": Path(folder).as_uri(), "name": "dumps"}])
        modules = {"command": "xla-lens.modules", "arguments": [{}]}
        while (found := await client.request("workspace/executeCommand", modules))["is_reading"] or not found[
            "modules"
        ]:
            await asyncio.sleep(0.5)
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


def _module(assignment: Path, module: Path) -> Row:
    """The HLO module of the biggest set, which loads after the first answer, over its bare parse."""
    seconds = min(_timed(lambda: load_module(find_set(assignment), {}, None, never)) for _ in range(3))
    return "HLO module of the 70B set / its bare parse", f"{seconds / _bare_seconds([module], HLO):.2f}", "2.5"


# ---------------------------------------------------------------- requests

_COUNT = int(os.environ.get("XLA_LENS_REQUESTS", "500"))
"""Number of requests of each method, at random positions or about random documents."""

_EDITS = 20
_LINES = 200
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


async def _requests(documents: list[list[Path]]) -> list[Row]:
    """The rows of a table: the request, its times on some sets of documents, and its target in ms."""
    # The collector of this process would scan all lines of the documents while it waits for an answer.
    gc.disable()
    columns = [await _times(paths) for paths in documents]
    starts = []
    for _ in range(10):
        before = time.perf_counter()
        client = await _started()
        starts.append(time.perf_counter() - before)
        await client.stop()
    rows = [(name, *(_median_and_p99(column[name]) for column in columns), target) for name, target in _TARGETS.items()]
    return [*rows, ("start to the answer to `initialize`", _median_and_p99(starts), "", "", "350")]


async def _times(paths: list[Path]) -> dict[str, list[float]]:
    """The times of each request in the table."""
    symbols = {"documentSymbol": {"hierarchicalDocumentSymbolSupport": True}}
    client, chance = await _started(textDocument=symbols), random.Random(1)
    documents = {path.as_uri(): _open(client, path).split("\n") for path in paths}

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
        changes = [{"range": {"start": end, "end": end}, "text": " "}]
        client.notify("textDocument/didChange", {"textDocument": {"uri": uri, "version": 2}, "contentChanges": changes})

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
        for _ in range(_EDITS if name == _EDITED else _COUNT):
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


# ---------------------------------------------------------------- commands

_XLA_LENS = (sys.executable, "-m", "xla_lens")
_PEERS = ROOT / ".venv-crosscheck" / "bin" / "python"

_LAUNCHER = """
import json, os, sys, time
nothing = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_WRONLY, 0) for stream in (1, 2)]
started = time.perf_counter()
process = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=nothing)
_, status, used = os.wait4(process, 0)
seconds = time.perf_counter() - started
print(json.dumps([os.waitstatus_to_exitcode(status), seconds, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024]))
"""
"""Runs a command and prints what it took. The memory of a process is at least that of the one that starts it, so that
must be small.
"""


class _Used(NamedTuple):
    """The least wall-clock and CPU time, and the most bytes of memory, that a command took."""

    seconds: float
    cpu_seconds: float
    memory: int


def _used(runs: int, *command: object, build: Path | None = None) -> _Used:
    """Run a command of this build, or of another one. It must not fail, but may have findings."""
    launcher, found = (sys.executable, "-I", "-S", "-c", _LAUNCHER, *map(str, command)), []
    for _ in range(runs):
        done = subprocess.run(launcher, capture_output=True, text=True, check=True, env=_environment(build))
        status, *used = json.loads(done.stdout)
        assert status in (0, 1), command
        found.append(_Used(*used))
    return _Used(
        min(one.seconds for one in found), min(one.cpu_seconds for one in found), max(one.memory for one in found)
    )


def _commands(single: Path) -> Iterator[Row]:
    """Whole processes, from start to exit."""
    _used(1, *_XLA_LENS, "--version")
    yield "`xla-lens --version`, seconds", f"{_used(10, *_XLA_LENS, '--version').seconds:.3f}", "0.08"
    yield _xprof()
    size, bare = single.stat().st_size, _bare_seconds([single])
    with tempfile.TemporaryDirectory() as name:
        alone = Path(shutil.copy(single, name))
        for command, times, memory in (("`check`", "0.6", "3"), ("`report`, all parts,", "1.0", "")):
            seconds, _, most = _used(3, *_XLA_LENS, command.split("`")[1], alone)
            title = f"{command} on one file of {size / 1e6:.0f} MB"
            yield f"{title}, whole command / bare parse", f"{seconds / bare:.2f}", times
            yield f"{title}, maximum resident memory / size", f"{most / size:.1f}", memory


def _xprof() -> Row:
    title = "`report --part totals,peak` as JSON / XProf's memory viewer, whole processes, a train step of 64 layers"
    if not _PEERS.exists():
        return title, "not measured: `make crosscheck` installs XProf", "0.9"
    crosscheck = ROOT / "tests" / "crosscheck"
    with tempfile.TemporaryDirectory() as folder:
        _used(1, _PEERS, crosscheck / "programs.py", folder, "transformer")
        (proto,) = Path(folder).glob("*transformer*after_optimizations.hlo.pb")
        (path,) = Path(folder).glob("*transformer*-buffer-assignment.txt")
        ours = _used(10, *_XLA_LENS, "report", path, "--part", "totals,peak", "--output-format", "json").seconds
        xprof = _used(10, _PEERS, crosscheck / "peers.py", proto).seconds
    return title, f"{ours:.2f} s / {xprof:.2f} s = {ours / xprof:.2f}", "0.9"


if __name__ == "__main__":
    main()
