"""Big folders are read by several processes, with the answers of one."""

import multiprocessing
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from commands import on_terminal, run
from samples import DUMPS
from xla_lens.cli import processes, sets
from xla_lens.cli.processes import results_of_processes
from xla_lens.cli.sets import LoadedSet, find_dumps

COUNT = 12


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with many modules of different peaks, one of them without a readable file, and one that is cut off."""
    kinds = [file.parent for file in sorted(DUMPS.glob("cpu-jaxlib0.12.0.1/*/*-buffer-assignment.txt"))]
    for number in range(COUNT):
        for file in kinds[number % len(kinds)].glob("module_*"):
            shutil.copy(file, tmp_path / re.sub(r"_\d{4}\.jit_", f"_{number:04}.jit_p{number}_", file.name))
    (cut_off,) = tmp_path.glob("module_0003.*-buffer-assignment.txt")
    cut_off.write_bytes(cut_off.read_bytes()[:700])
    for file in tmp_path.glob("module_0004.*"):
        file.unlink()
    (tmp_path / "module_0004.jit_damaged.cpu_after_optimizations-buffer-assignment.txt.gz").write_bytes(b"no gzip")
    for file in tmp_path.iterdir():
        # Nothing waits for the rest of a file that was written long ago.
        os.utime(file, (0, 0))
    return tmp_path


@pytest.fixture
def two_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pretend that two cores are there and that a few modules are worth a process."""
    monkeypatch.setattr(sets, "core_count", lambda: 2)
    monkeypatch.setattr(sets, "_COST_OF_PROCESS", 1 << 20)


@pytest.mark.usefixtures("two_processes")
@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--all", "--output-format", "json"),
        ("--output-format", "json"),
        ("--output-format", "html"),
        ("--module", "jit_p", "--output-format", "markdown"),
    ],
    ids=str,
)
def test_answers_are_those_of_one_process(
    folder: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    shared = run("report", folder, *options)
    assert not multiprocessing.active_children()
    monkeypatch.setattr(sets, "core_count", lambda: 1)
    assert shared == run("report", folder, *options)
    assert "jit_p" in shared[1]


@pytest.mark.usefixtures("two_processes")
def test_reports_from_other_processes_have_the_links_of_the_terminal(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = on_terminal(100, "report", folder, "--all", TERM="xterm-kitty")
    monkeypatch.setattr(sets, "core_count", lambda: 1)
    assert shared == on_terminal(100, "report", folder, "--all", TERM="xterm-kitty")
    assert "file://" in shared[1]


@pytest.mark.usefixtures("two_processes")
def test_sets_come_in_order_and_those_of_other_processes_stay_there(folder: Path) -> None:
    found = find_dumps([folder])
    results = list(found.map(_process))
    assert [stem for _, (_, stem) in results] == [files.stem for files in found.files]
    assert not any(loaded for loaded, _ in results)
    assert os.getpid() not in {process for _, (process, _) in results}


@pytest.mark.usefixtures("two_processes")
@pytest.mark.parametrize(
    ("constant", "value"), [("_COST_OF_PROCESS", 32 << 20), ("_GREATEST_COST_ELSEWHERE", 0)], ids=["few", "big"]
)
def test_few_sets_and_big_sets_stay_in_this_process(
    folder: Path, monkeypatch: pytest.MonkeyPatch, constant: str, value: int
) -> None:
    monkeypatch.setattr(sets, constant, value)
    results = list(find_dumps([folder]).map(_process))
    assert all(loaded for loaded, _ in results)
    assert {process for _, (process, _) in results} == {os.getpid()}


@pytest.mark.usefixtures("two_processes")
def test_what_fails_in_another_process_is_done_again_here(folder: Path) -> None:
    found = find_dumps([folder])
    stems = [files.stem for files in found.files]
    assert [result for _, result in found.map(_failing_elsewhere)] == stems
    assert [result for _, result in found.map(_killed_elsewhere)] == stems
    assert not multiprocessing.active_children()


def test_only_a_few_results_wait_in_memory() -> None:
    """However slowly they are used, a process is at most a few tasks ahead."""
    sent: list[int] = []

    def tasks() -> Iterator[int]:
        for task in range(100):
            sent.append(task)
            yield task

    results = results_of_processes(_doubled, tasks(), 1)
    for number, received in enumerate(islice(results, 10)):
        assert received == (2 * number,)
        assert len(sent) == number + processes._AHEAD
    results.close()
    assert not multiprocessing.active_children()


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGKILL])
def test_processes_end_with_the_command_without_a_word(ending: signal.Signals) -> None:
    """A terminal sends an interrupt to all processes. The pipe that all hold is closed when the last has ended."""
    program = (
        "import os, signal, sys, test_processes\n"
        "from xla_lens.cli.processes import results_of_processes\n"
        # Shells start background jobs, and so these tests, with interrupts ignored.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        # `signal.pause` would not see an interrupt that comes just before it.
        "interrupted, waking = os.pipe()\n"
        "os.set_blocking(waking, False)\n"
        "signal.set_wakeup_fd(waking)\n"
        "results = results_of_processes(test_processes._doubled, range(30), 2)\n"
        "next(results)\n"
        "print('ready', flush=True)\n"
        "try:\n"
        "    os.read(interrupted, 1)\n"
        "finally:\n"
        "    results.close()\n"
    )
    paths = [str(Path(__file__).parent), str(Path(__file__).parents[1])]
    command = [sys.executable, "-c", f"import sys; sys.path[:0] = {paths!r}\n{program}"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdout
        assert process.stderr
        assert process.stdout.readline() == "ready\n"
        if ending == signal.SIGINT:
            os.killpg(process.pid, ending)
        else:
            process.send_signal(ending)
        errors = process.stderr.read()
        assert process.stdout.read() == ""
    assert errors.count("Traceback") == (ending == signal.SIGINT), errors


def _process(loaded: LoadedSet) -> tuple[int, Path]:
    return os.getpid(), loaded.files.stem


def _failing_elsewhere(loaded: LoadedSet) -> Path:
    if multiprocessing.parent_process() and "0007" in loaded.files.stem.name:
        raise MemoryError
    return loaded.files.stem


def _killed_elsewhere(loaded: LoadedSet) -> Path:
    if multiprocessing.parent_process() and "0010" in loaded.files.stem.name:
        os._exit(1)
    return loaded.files.stem


def _doubled(task: int) -> int:
    return 2 * task
