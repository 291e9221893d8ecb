"""Measure the command line on big dumps: time, CPU time and memory of whole processes, from start to exit."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from big_inputs import bare_seconds, ladder
from samples import ROOT
from xla_lens.files import find_set
from xla_lens.syntax.file_names import FileKind

_RUNS = 5
_XLA_LENS = (sys.executable, "-m", "xla_lens")
_TWO_PARTS = ("--part", "totals,peak", "--output-format", "json")
_PEERS = ROOT / ".venv-crosscheck" / "bin" / "python"
_CROSSCHECK = ROOT / "tests" / "crosscheck"

Row = tuple[str, str, str]


@dataclass(frozen=True)
class Usage:
    """What a process took. `cpu_seconds` is the time of all its threads."""

    seconds: float
    cpu_seconds: float
    memory_bytes: int


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


def usage(*command: object) -> Usage:
    """Run a command and return what it took. It must not fail; findings are no failure."""
    # Without its compiled modules, Python would compile all of them again.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    launcher = (sys.executable, "-I", "-S", "-c", _LAUNCHER, *map(str, command))
    done = subprocess.run(launcher, capture_output=True, text=True, check=True, env=environment)
    status, seconds, cpu_seconds, memory_bytes = json.loads(done.stdout)
    assert status in (0, 1), command
    return Usage(seconds, cpu_seconds, memory_bytes)


def _least(commands: dict[str, tuple[Any, ...]], runs: int = _RUNS) -> dict[str, Usage]:
    """The fastest of several runs of each command. The commands take turns, so that a slow moment slows all of them."""
    found = [{name: usage(*command) for name, command in commands.items()} for _ in range(runs)]
    return {
        name: Usage(
            min(one[name].seconds for one in found),
            min(one[name].cpu_seconds for one in found),
            max(one[name].memory_bytes for one in found),
        )
        for name in commands
    }


def command_times(dumps: Path) -> Iterator[Row]:
    """The rows of the table about commands."""
    yield from _small_commands()
    yield from _xprof()
    yield from _big_file(dumps)


def _small_commands() -> Iterator[Row]:
    usage(*_XLA_LENS, "--version")
    seconds = _least({"version": (*_XLA_LENS, "--version")}, 10)["version"].seconds
    yield "`xla-lens --version`, seconds", f"{seconds:.3f}", "0.08"


def _xprof() -> Iterator[Row]:
    title = "`report --part totals,peak` as JSON / XProf's memory viewer, whole processes, a train step of 64 layers"
    if not _PEERS.exists():
        yield title, "not measured: `make crosscheck` installs XProf", "0.9"
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        usage(_PEERS, _CROSSCHECK / "programs.py", folder, "transformer")
        proto = next(folder.glob("*transformer*after_optimizations.hlo.pb"))
        files = find_set(next(folder.glob("*transformer*-buffer-assignment.txt")))
        path = files.paths[FileKind.BUFFER_ASSIGNMENT]
        commands: dict[str, tuple[Any, ...]] = {
            "ours": (*_XLA_LENS, "report", path, *_TWO_PARTS),
            "xprof": (_PEERS, _CROSSCHECK / "peers.py", proto),
        }
        _least(commands, 1)
        times = _least(commands, 10)
    ours, xprof = times["ours"], times["xprof"]
    yield title, f"{ours.seconds:.2f} s / {xprof.seconds:.2f} s = {ours.seconds / xprof.seconds:.2f}", "0.9"


def _big_file(dumps: Path) -> Iterator[Row]:
    path = ladder(dumps)
    data = path.read_bytes()
    with tempfile.TemporaryDirectory() as name:
        alone = Path(shutil.copy(path, name))
        commands: dict[str, tuple[Any, ...]] = {
            "alone": (*_XLA_LENS, "check", alone),
            "report": (*_XLA_LENS, "report", alone),
        }
        bare, used = bare_seconds(data), _least(commands, 3)
    title = f"`check` on one file of {len(data) / 1e6:.0f} MB"
    yield f"{title}, whole command / bare parse", f"{used['alone'].seconds / bare:.2f}", "0.6"
    yield f"{title}, maximum resident memory / size", f"{used['alone'].memory_bytes / len(data):.1f}", "3"
    title = f"`report`, all parts, on one file of {len(data) / 1e6:.0f} MB"
    yield f"{title} / bare parse", f"{used['report'].seconds / bare:.2f}", "1.0"
    yield f"{title}, maximum resident memory / size", f"{used['report'].memory_bytes / len(data):.1f}", ""
