"""`xla-lens run`: the program stays as it was, and its dumps are found, told apart and reported.

Most programs here are scripts of a shell that copy sample dumps to where XLA_FLAGS say, so that no test waits for a
compiler. `tests/planted/test_run.py` runs programs that XLA compiles.
"""

import ast
import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from commands import run as run_in_process
from samples import DUMPS, TPU_LOG, analysis_of
from terminals import read_all
from xla_lens.cli.inside import sitecustomize
from xla_lens.cli.inside.sitecustomize import completed, own_folder, quoted, user_flags
from xla_lens.cli.run_folder import RunFolder
from xla_lens.disk.sets import find_sets
from xla_lens.model.process_memory import read_measured
from xla_lens.report.facts import report
from xla_lens.report.options import ReportOptions
from xla_lens.report.outline import measured
from xla_lens.syntax.file_names import FlagFile
from xla_lens.words.numbers import human

MLP = DUMPS / "cpu-jaxlib0.12.0.1" / "mlp_train"
HOST_OFFLOAD = DUMPS / "tpu-v5e2x2-libtpu0.0.51" / "host_offload"
SMALL = DUMPS / "cpu-jaxlib0.4.30" / "zero_size"
COMMAND = (sys.executable, "-I", "-m", "xla_lens", "run")

PATIENCE = 300.0
"""Seconds to wait for a program before the test fails."""

NOTHING = "xla-lens: no dumps: the program compiled nothing with XLA, or ended before XLA wrote a buffer assignment"

XLA = """
folder=$(printf '%s\\n' "$XLA_FLAGS" | tr ' ' '\\n' | sed -n 's/^--xla_dump_to=//p' | tail -n 1)
case "$XLA_FLAGS" in *--xla_dump_include_timestamp*) stamp=17953889818$$. ;; *) stamp= ;; esac
mkdir -p "$folder"
for file in $DUMPS/module_*; do cp -p "$file" "$folder/$stamp${file##*/}"; done
touch "$folder/${stamp}module_0000.jit_f.before_optimizations.txt" "$folder/module_0000.jit_f.ir-no-opt.ll"
mkdir -p "$folder/module_0000.jit_f"
"""
"""Does what XLA does when it compiles."""


def run(
    folder: Path, *command: object, options: tuple[object, ...] = (), environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder."""
    line = [*COMMAND, *map(str, options), "--", *map(str, command)]
    return completed_process(folder, line, environment or {})


def completed_process(
    folder: Path, line: list[str], environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        line,
        cwd=folder,
        env={**os.environ, "DUMPS": str(MLP), "XLA": XLA, **environment},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def python(script: str) -> tuple[str, ...]:
    """A program in Python, in which `xla` compiles."""
    return (sys.executable, "-c", f"import os, subprocess, sys\nxla = os.environ['XLA']\n{script}")


def slowly(parameter: object) -> object:
    """A parameter of slow tests."""
    return pytest.param(parameter, marks=pytest.mark.slow)


def dump_names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*-buffer-assignment.txt"))


# ---------------------------------------------------------------- measured beside planned

JAX = """
import atexit, types, warnings
class Device:
    def memory_stats(self):
        warnings.warn('memory_stats will go')
        return {'peak_bytes_in_use': 3 << 30, 'bytes_limit': 16 << 30, 'num_allocs': 5}
    def __str__(self):
        return 'TPU_0'
    @property
    def client(self):
        return types.SimpleNamespace(live_executables=lambda: [Program(0), Program(3 << 20), Program(8 << 20)])
class Program:
    def __init__(self, size):
        self.size = size
    def get_compiled_memory_stats(self):
        return types.SimpleNamespace(temp_size_in_bytes=self.size, generated_code_size_in_bytes=1 << 20)
class Array:
    def __init__(self, *shape):
        self.dtype, self.shape, self.nbytes = 'float32', shape, 1 << 30
jax, bridge = types.ModuleType('jax'), types.ModuleType('jax._src.xla_bridge')
jax.local_devices = lambda: [Device()]
jax.live_arrays = lambda: [Array(2, 3), Array(2, 3), Array()]
is_open = [True]
bridge.backends_are_initialized = lambda: is_open[0]
sys.modules.update({'jax': jax, 'jax._src.xla_bridge': bridge})
@atexit.register
def clean_up():
    is_open[0] = False
clean_up.__module__ = 'jax._src.api'
atexit.register(clean_up)
"""
"""Does what JAX does, which closes its devices at exit."""


def test_what_a_process_used_is_measured_beside_what_its_module_needs(tmp_path: Path) -> None:
    script = f"{JAX}\nsubprocess.run(['sh', '-c', xla])\nprint('done')\nsys.exit(3)"
    done = run(tmp_path, *python(script), options=("--out", "dumps"), environment={"DUMPS": str(HOST_OFFLOAD)})
    assert (done.returncode, done.stdout) == (3, "done\n")
    assert "memory_stats will go" not in done.stderr
    *_, line, headline, _ = done.stderr.splitlines()
    assert line == (
        f"xla-lens: measured: the process used 3.00 GiB of 16.00 GiB on TPU_0 at most; {headline.split()[1]} needs "
        "12.05 MiB. The rest can be other modules (3 loaded at the end: 11.00 MiB of temporaries if all run at once, "
        "8.00 MiB one after another, and 3.00 MiB of code) and arrays that the program keeps (3.00 GiB at the end, "
        "2.00 GiB of it in 2 × float32[2,3])"
    )
    # The reports of the run have it, too.
    dumps = tmp_path / "dumps"
    assert line.removeprefix("xla-lens: measured: ") in " ".join(run_in_process("report", dumps)[1].split())
    (found_report,) = json.loads(run_in_process("report", dumps, "--output-format", "json", "--part", "totals")[1])
    found = found_report["measured"]
    assert line == f"xla-lens: measured: {found.pop('words')}"
    assert found.pop("resident_bytes") > 0
    assert found == {
        "devices": [{"name": "TPU_0", "peak_bytes": 3 << 30, "limit_bytes": 16 << 30, "largest_free_bytes": None}],
        "arrays": [
            {"shape": "float32[2,3]", "count": 2, "size_bytes": 2 << 30},
            {"shape": "float32[]", "count": 1, "size_bytes": 1 << 30},
        ],
        "programs": {
            "count": 3,
            "temporary_bytes": 11 << 20,
            "largest_temporary_bytes": 8 << 20,
            "code_bytes": 3 << 20,
        },
        "is_running": False,
    }
    # A dump that is copied without what was measured has no numbers of a process.
    (dumps / "measured.txt").unlink()
    assert "measured" not in run_in_process("report", dumps)[1]


def test_programs_for_the_cpu_are_measured_by_their_resident_memory(tmp_path: Path) -> None:
    script = "subprocess.run(['sh', '-c', xla])"
    done = run(tmp_path, *python(script), options=("--out", "dumps"))
    assert re.search(
        r"^xla-lens: measured: the process used [\d.]+ MiB of the host at most; jit_train_step needs [\d.]+ \wiB\. The "
        r"rest can be Python and its libraries, other modules and arrays that the program keeps$",
        done.stderr,
        re.MULTILINE,
    )


@pytest.mark.parametrize("change", ["mkfifo", "mkdir", "printf '1\\tresident\\t9\\n\\t\\033\\t\\n' >"])
def test_a_program_may_make_anything_of_what_is_measured(tmp_path: Path, change: str) -> None:
    script = f"{JAX}\nsubprocess.run(['sh', '-c', xla + {f'{change} dumps/measured.txt'!r}])"
    done = run(tmp_path, *python(script), options=("--out", "dumps"))
    assert done.returncode == 0
    assert "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1].startswith("xla-lens: jit_train_step needs ")


def test_less_than_a_module_needs_is_said_to_be_less() -> None:
    noted = read_measured("7\tresident\t1024\n8\tresident\tnone\n9\tarrays\t\x1b[2J\t1\t1")
    assert [*noted] == [7]
    mlp, offload = (next(folder.glob("*-buffer-assignment.txt")) for folder in (MLP, HOST_OFFLOAD))
    (words,) = measured(report(replace(analysis_of(mlp), measured=noted[7]), {}, ReportOptions()))
    needed = human(analysis_of(mlp).memory.spaces[0].needed_bytes)
    assert words == (
        f"the process used 1.0 KiB of the host at most; the module needs {needed}, which is more: it did not run, or "
        "did not use all of that"
    )
    # What the runtime of a device used is unknown.
    of_tpu = replace(analysis_of(offload), measured=noted[7])
    assert not [*measured(report(of_tpu, {}, ReportOptions()))]


# ---------------------------------------------------------------- the program


def test_output_and_exit_status_are_those_of_the_program_and_the_report_follows(tmp_path: Path) -> None:
    done = run(tmp_path, "sh", "-c", f"{XLA}\necho out; echo err >&2; exit 42", options=("--out", "dumps"))
    assert done.returncode == 42
    assert done.stdout == "out\n"
    first, report = done.stderr.split("\n", 1)
    assert first == "err"
    peak = analysis_of(next(MLP.glob("*_0000*-buffer-assignment.txt"))).memory.spaces[0].peak_live_bytes
    assert f"It needs {human(peak)} of host memory." in report
    # Short enough for a terminal.
    assert len(report.splitlines()) < 60
    assert "Live at the host memory peak" not in report
    *_, where, headline, failure = report.splitlines()
    assert where == "xla-lens: the dumps are in dumps. `xla-lens report dumps` shows the whole report."
    assert headline == f"xla-lens: jit_train_step needs {human(peak)} of host memory."
    assert failure == "xla-lens: the program failed: exit status 42"


def test_the_last_line_names_the_module_that_was_being_compiled(tmp_path: Path) -> None:
    begun = 'touch "$folder/module_0003.jit_loss.before_optimizations.txt"'
    done = run(tmp_path, "sh", "-c", f"{XLA}\n{begun}\nkill -KILL $$", options=("--out", "dumps"))
    assert done.returncode == 137
    last = done.stderr.splitlines()[-1]
    assert last == "xla-lens: the program failed: exit status 137 (SIGKILL), while XLA compiled jit_loss"


def test_a_program_that_succeeds_ends_with_what_it_needs(tmp_path: Path) -> None:
    done = run(tmp_path, "sh", "-c", XLA, options=("--out", "dumps"))
    assert done.stderr.splitlines()[-1].startswith("xla-lens: jit_train_step needs ")


def test_a_long_name_is_shortened_in_the_last_line(tmp_path: Path) -> None:
    long = f"a_inference_step_{'config_' * 20}"
    move = f'mv "$file" "$(echo "$file" | sed s/jit_train_step/{long}/)"'
    rename = f'for file in "$folder"/*jit_train_step*; do {move}; done'
    done = run(tmp_path, "sh", "-c", f"{XLA}\n{rename}", options=("--out", "dumps"))
    assert len(done.stderr.splitlines()[-1]) < 100
    assert done.stderr.splitlines()[-1].startswith(f"xla-lens: {long[:47]}… needs ")


def test_the_last_run_of_the_same_program_is_compared(tmp_path: Path) -> None:
    def last_lines(out: str, dumps: Path = MLP) -> list[str]:
        done = run(tmp_path, "sh", "-c", XLA, options=("--out", out), environment={"DUMPS": str(dumps)})
        return done.stderr.splitlines()[-2:]

    before = "train-20260101-120000"
    for out in (before, "other-20260101-120000", "train-other-20260101-120000"):
        assert " in the run at " not in last_lines(out)[0]
    change, _ = last_lines("train-20260102-090000")
    same = "xla-lens: jit_train_step needs as much as in the run at 12:00; `xla-lens diff"
    assert change == f"{same} {before} train-20260102-090000` shows what changed"
    tpu = DUMPS / "tpu-v5e2x2-libtpu0.0.51" / "mlp_train"
    change, _ = last_lines("train-20260102-090001", tpu)
    needed = [
        analysis_of(next(folder.glob("*-buffer-assignment.txt"))).memory.spaces[0].needed_bytes for folder in (tpu, MLP)
    ]
    assert f" needs {human(needed[1] - needed[0])} less than in the run at 09:00; " in change
    # Newest first where all else is equal.
    rows = run(tmp_path, sys.executable, "-m", "xla_lens", "report", ".").stdout
    times = re.findall(r" jit_train_step .* train-(\d+-\d+)/\S+$", rows, re.MULTILINE)
    assert times == ["20260102-090000", "20260101-120000", "20260102-090001"]


def test_the_folder_is_named_for_the_program_and_the_time(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(f"import os\nos.system({XLA!r})\n")
    for command in (("train.py",), ("-m", "train"), ("-m", "timeit", "-n1", "-r1", "import train")):
        run(tmp_path, sys.executable, *command)
    names = [re.sub(r"-\d{8}-\d{6}(-\d)?$", "", path.name) for path in (tmp_path / "xla-dumps").iterdir()]
    assert sorted(names) == ["timeit", "train", "train"]


def test_nothing_is_compiled(tmp_path: Path) -> None:
    done = run(tmp_path, "echo", "hello")
    assert (done.returncode, done.stdout) == (0, "hello\n")
    assert done.stderr == f"{NOTHING}\n"
    assert [*tmp_path.iterdir()] == []
    # A folder that was there before stays.
    (tmp_path / "empty").mkdir()
    run(tmp_path / "empty", "true", options=("--out", tmp_path / "empty"))
    assert [*tmp_path.rglob("*")] == [tmp_path / "empty"]


@pytest.mark.parametrize(
    ("command", "status", "error"),
    [
        ("nosuchcommand", 127, "xla-lens: nosuchcommand: command not found\n"),
        ("./text", 126, "xla-lens: ./text: not an executable program\n"),
        (
            "train.py",
            127,
            "xla-lens: train.py: not an executable program; did you mean `xla-lens run python train.py`?\n",
        ),
    ],
)
def test_command_that_cannot_be_started_is_one_line(tmp_path: Path, command: str, status: int, error: str) -> None:
    for name in ("text", "train.py"):
        (tmp_path / name).write_text("print()")
    done = run(tmp_path, command)
    assert (done.returncode, done.stdout, done.stderr) == (status, "", error)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["text", "train.py"]


@pytest.mark.slow
def test_wrong_options_are_one_line_before_the_program_starts(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "file").touch()
    for options, error in [
        (("--out", "old"), "old: not empty. Choose a new folder, so that the dumps of two runs are not mixed"),
        (
            ("--out", "old/file/new"),
            "old/file/new: cannot be created: Not a directory. Choose another folder with --out",
        ),
        (("--only", "("), "--only: '(' is not a regular expression: missing ), unterminated subpattern"),
        (("--output-file", "x/y"), "x/y: cannot be written: No such file or directory. Choose another file"),
    ]:
        done = run(tmp_path, "echo", "started", options=options)
        assert (done.returncode, done.stdout) == (2, ""), options
        assert error in done.stderr
        assert done.stderr.count("\n") == 1


@pytest.mark.slow
def test_arguments_after_the_command_are_its_own(tmp_path: Path) -> None:
    line = [*COMMAND, "--out", "d", "echo", "--top", "x", "--", "--help"]
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout == "--top x -- --help\n"


# ---------------------------------------------------------------- the environment


def test_program_sees_its_environment_as_the_user_set_it(tmp_path: Path) -> None:
    script = "print(os.environ.get('XLA_FLAGS'), sys.path[1:], os.environ.get('OPENBLAS_NUM_THREADS'))"
    plain = {name: text for name, text in os.environ.items() if name != "XLA_FLAGS"}
    for flags in ({}, {"XLA_FLAGS": "--xla_a=1  --xla_b"}):
        expected = subprocess.run(python(script), env={**plain, **flags, "XLA": ""}, capture_output=True, check=True)
        done = run(tmp_path, *python(script), environment=flags)
        assert done.stdout == expected.stdout.decode()


SET = "os.environ['XLA_FLAGS'] = '--mine'"


@pytest.mark.parametrize(
    "change",
    [
        slowly(""),
        SET,
        slowly("os.environ.setdefault('XLA_FLAGS', '--mine')"),
        slowly("os.environ['XLA_FLAGS'] = os.environ.get('XLA_FLAGS', '') + ' --mine'"),
        slowly("os.environb[b'XLA_FLAGS'] = b'--mine'"),
        slowly("os.environ.update(XLA_FLAGS='--mine')"),
        slowly("os.putenv('XLA_FLAGS', '--mine')"),
        slowly(f"{SET}; del os.environ['XLA_FLAGS']"),
        slowly(f"{SET}; os.environ.pop('XLA_FLAGS')"),
        slowly("os.unsetenv('XLA_FLAGS')"),
        slowly(f"{SET}\nif os.fork(): sys.exit(os.waitpid(-1, 0)[1])"),
    ],
)
def test_dumps_are_not_lost_whatever_the_program_assigns(tmp_path: Path, change: str) -> None:
    script = f"{change}\nos.system('echo \"$XLA_FLAGS\"; ' + xla)"
    done = run(tmp_path, *python(script), options=("--out", "dumps"))
    assert done.returncode == 0, done.stderr
    is_mine = "--mine" in change and "del" not in change and "pop" not in change
    assert re.match(r"(--mine )?--xla_dump_hlo_as_text=true .*--xla_dump_to=\S+/dumps/process-\d+\n", done.stdout)
    assert ("--mine" in done.stdout) == is_mine
    assert dump_names(tmp_path / "dumps") == dump_names(MLP)


@pytest.mark.slow
def test_the_users_own_sitecustomize_still_runs(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("print('own', __name__, __file__)")
    own = {"PYTHONPATH": str(tmp_path)}
    done = run(tmp_path, *python("import sitecustomize; print(sitecustomize.__file__)"), environment=own)
    assert done.stdout == f"own sitecustomize {tmp_path}/sitecustomize.py\n{tmp_path}/sitecustomize.py\n"


@pytest.mark.parametrize("how", ["spawn", *(slowly(how) for how in ("fork", "forkserver", "subprocess"))])
def test_each_process_has_a_folder_of_its_own(tmp_path: Path, how: str) -> None:
    (tmp_path / "program.py").write_text(f"""
import multiprocessing, os, subprocess, sys
os.environ["XLA_FLAGS"] = "--mine"
def work():
    os.system(os.environ["XLA"])
if __name__ == "__main__":
    if sys.argv[1:] == ["work"]:
        work()
    elif {how!r} == "subprocess":
        for _ in range(3):
            subprocess.run([sys.executable, __file__, "work"], check=True)
    else:
        context = multiprocessing.get_context({how!r})
        processes = [context.Process(target=work) for _ in range(3)]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
""")
    done = run(tmp_path, sys.executable, "program.py", options=("--out", "dumps"))
    assert done.returncode == 0, done.stderr
    folders = sorted(path for path in (tmp_path / "dumps").iterdir() if path.is_dir())
    assert [re.sub(r"\d+", "N", folder.name) for folder in folders] == ["process-N"] * 3
    assert [dump_names(folder) for folder in folders] == [dump_names(MLP)] * 3
    for folder in folders:
        assert f"  {folder.name}\n" in done.stderr


@pytest.mark.slow
def test_processes_without_our_flags_in_python_share_a_folder_and_keep_their_dumps_apart(tmp_path: Path) -> None:
    child = "[sys.executable, '-I', '-c', 'import os; os.system(os.environ[\"XLA\"])']"
    script = f"for _ in range(2): os.system(xla); subprocess.run({child})"
    done = run(tmp_path, sys.executable, "-I", *python(script)[1:], options=("--out", "dumps"))
    assert done.returncode == 0, done.stderr
    assert [folder.name for folder in (tmp_path / "dumps").iterdir()] == ["other-processes"]
    # Timestamps stay where they tell two modules of one name apart.
    names = dump_names(tmp_path / "dumps")
    assert len(names) == 4 * len(dump_names(MLP))
    assert all(re.match(r"\d+\.module_", name) for name in names)
    assert len(find_sets(tmp_path / "dumps")) == len(names)


@pytest.mark.parametrize("is_set_by_program", [slowly(False), True])
def test_the_users_own_dump_folder_is_used_and_left_as_it_is(tmp_path: Path, is_set_by_program: bool) -> None:
    flags = "--xla_dump_to=mine"
    old = tmp_path / "mine" / next(SMALL.glob("module_0000*-buffer-assignment.txt")).name
    old.parent.mkdir()
    shutil.copy(next(SMALL.glob("module_0000*-buffer-assignment.txt")), old)
    os.utime(old, (1, 1))
    change = f"os.environ['XLA_FLAGS'] = {flags!r}\n" if is_set_by_program else ""
    environment = {"XLA": XLA.replace("cp -p", "cp")} | ({} if is_set_by_program else {"XLA_FLAGS": flags})
    done = run(tmp_path, *python(f"{change}os.system('echo $XLA_FLAGS;' + xla)"), environment=environment)
    assert done.stdout == f"{flags} --xla_dump_hlo_as_text\n"
    # The dump of an earlier run is not reported, and nothing is removed.
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine"]
    assert len(dump_names(tmp_path / "mine")) == len(dump_names(MLP)) + 1
    assert (tmp_path / "mine" / "module_0000.jit_f.ir-no-opt.ll").exists()
    assert "modules in" not in done.stderr
    assert "xla-lens: the dumps are in mine. " in done.stderr


def test_flags_are_read_as_xla_reads_them(tmp_path: Path) -> None:
    for flags, folder in {
        "": "",
        "--xla_a": "",
        "--xla_dump_to=": "",
        "--xla_dump_to=a --xla_b": "a",
        "--xla_dump_to=a --xla_dump_to=b": "b",
        "--xla_dump_to='a b' --xla_c": "a b",
        r'--xla_dump_to="a \"b\" \\" --xla_c': 'a "b" \\',
    }.items():
        assert own_folder(flags) == folder
    for name in ("a", "a b", 'a"b', "a\\b", "a'b"):
        assert own_folder(f"--xla_dump_to={quoted(name)} --xla_c") == name
    (tmp_path / "flags").write_text("--xla_a\n--xla_b\n")
    assert completed(user_flags(str(tmp_path / "flags"), "--o"), "--o", "d") == "--xla_a\n--xla_b --o --xla_dump_to=d"
    assert user_flags("--xla_a --o --xla_dump_to=d", "--o") == "--xla_a "


# ---------------------------------------------------------------- signals


def _heed_signals() -> None:
    """Undo what a shell and `nohup` do for background jobs: they start them, and so their programs, with signals
    ignored.
    """
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def started(folder: Path, script: str) -> subprocess.Popen[str]:
    """A run whose program has compiled and waits; it is the leader of a process group."""
    process = subprocess.Popen(
        [*COMMAND, "--out", "dumps", "--", *python(script)],
        cwd=folder,
        env={**os.environ, "DUMPS": str(MLP), "XLA": XLA},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=_heed_signals,  # noqa: PLW1509
    )
    assert process.stdout
    assert process.stdout.readline() == "compiled\n"
    return process


WAIT = "import time\nos.system(xla)\nprint('compiled', flush=True)\nfor _ in range(600): time.sleep(0.1)"
"""Sleeps for short times, because Python handles a signal that arrives just before a sleep only after the sleep."""


@pytest.mark.parametrize("name", ["SIGTERM", *(slowly(name) for name in ("SIGHUP", "SIGUSR1"))])
def test_signals_are_forwarded_and_the_report_follows(tmp_path: Path, name: str) -> None:
    process = started(tmp_path, WAIT)
    number = getattr(signal, name)
    process.send_signal(number)
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 128 + number
    assert " of host memory." in errors


SAVE = f"""
try:
    exec({WAIT!r})
except KeyboardInterrupt:
    # A second interrupt would end this.
    time.sleep(1)
    print("saved", flush=True)
    sys.exit(5)
"""


@pytest.mark.parametrize("send", [slowly(os.killpg), os.kill], ids=["to the group", "to the wrapper"])
def test_an_interrupt_reaches_the_program_once(tmp_path: Path, send: Callable[[int, int], None]) -> None:
    process = started(tmp_path, SAVE)
    send(process.pid, signal.SIGINT)
    output, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, output) == (5, "saved\n"), errors
    assert " of host memory." in errors


@pytest.mark.slow
def test_further_interrupts_of_the_wrapper_end_the_program(tmp_path: Path) -> None:
    for script, status in (
        ("signal.SIGINT: signal.SIG_IGN", signal.SIGTERM),
        ("signal.SIGINT: signal.SIG_IGN, signal.SIGTERM: signal.SIG_IGN", signal.SIGKILL),
    ):
        ignored = f"import signal\nfor one in {{{script}}}: signal.signal(one, signal.SIG_IGN)\n"
        process = started(tmp_path, ignored + WAIT)
        while process.poll() is None:
            process.send_signal(signal.SIGINT)
            time.sleep(0.5)
        _, errors = process.communicate(timeout=PATIENCE)
        assert process.returncode == 128 + status, errors
        shutil.rmtree(tmp_path / "dumps")


# ---------------------------------------------------------------- terminals


@pytest.mark.slow
def test_the_keyboard_and_the_size_of_the_terminal_reach_the_program(tmp_path: Path) -> None:
    script = """
import time
try:
    print("started", flush=True)
    while os.get_terminal_size(2).columns != 123: time.sleep(0.01)
    print("resized", flush=True)
    time.sleep(60)
except KeyboardInterrupt:
    # A second interrupt would end this.
    time.sleep(1)
    print("interrupted once", flush=True)
    sys.exit(5)
"""
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(tmp_path)
        # The tests may run in a background job, where interrupts are ignored.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        line = [*COMMAND, "--", *python(script)]
        os.execve(sys.executable, line, {**os.environ, "XLA": XLA})
    output = b""
    for event, act in (
        (b"started", lambda: termios.tcsetwinsize(terminal, (50, 123))),
        (b"resized", lambda: os.write(terminal, b"\3")),
        (b"interrupted once", lambda: None),
    ):
        while event not in output:
            assert select.select([terminal], [], [], PATIENCE)[0], output
            output += os.read(terminal, 1 << 16)
        act()
    output += read_all(terminal)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 5, output


# ---------------------------------------------------------------- failures of the wrapper, its log and its output


LINES = "import sys\nfor number in range({}): print(f'line {{number}}', file=sys.stderr)\nsys.exit(7)"


def lines(count: int) -> str:
    return "".join(f"line {number}\n" for number in range(count))


def shell(folder: Path, *command: str, options: str = "") -> subprocess.CompletedProcess[str]:
    """Run a command in a folder from a shell, with redirections."""
    line = f'exec "$0" -I -m xla_lens run --out dumps -- "$@" {options}'
    return completed_process(folder, ["bash", "-c", line, sys.executable, *command], {})


@pytest.mark.parametrize("is_removed", [False, True])
def test_a_log_that_cannot_be_written_changes_nothing(tmp_path: Path, is_removed: bool) -> None:
    change = "shutil.rmtree('dumps')" if is_removed else "os.remove('dumps/stderr.log'); os.mkdir('dumps/stderr.log')"
    done = run(tmp_path, *python(f"import shutil\n{change}\n{LINES.format(9999)}"), options=("--out", "dumps"))
    assert done.returncode == 7
    assert done.stderr.startswith(lines(9999))
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("redirect", ["2> /dev/full", "> /dev/full 2>&1", "> /dev/full", "2>&-", ">&-", ">&- 2>&-"])
def test_output_that_is_full_or_closed_does_not_end_the_program(tmp_path: Path, redirect: str) -> None:
    script = "import os\nfor _ in range(9): os.system('echo lost >&2')\nopen('done', 'w').close()\nprint('lost')"
    plain = subprocess.run(
        ["bash", "-c", f'"$0" -c "$1" {redirect}', sys.executable, script], cwd=tmp_path, check=False
    )
    (tmp_path / "done").unlink()
    done = shell(tmp_path, sys.executable, "-c", script, options=redirect)
    # The program does not notice a full disk behind standard error. Everything else is as without `xla-lens run`.
    assert done.returncode == (0 if "2>&1" in redirect else plain.returncode)
    assert (tmp_path / "done").exists()


def test_a_program_whose_reader_is_gone_ends_as_without_the_wrapper(tmp_path: Path) -> None:
    done = shell(tmp_path, "sh", "-c", "yes >&2; echo $? > status", options="2>&1 >/dev/null | head -n 2")
    assert done.stdout == "y\ny\n"
    # The last process of the pipe ends first.
    assert wait_for(tmp_path / "status") in ("141\n", "1\n")


def wait_for(path: Path) -> str:
    """The text of a file, once it is complete."""
    given_up = time.monotonic() + PATIENCE
    while not (path.exists() and (text := path.read_text()).endswith("\n")):
        assert time.monotonic() < given_up, f"{path} is missing"
        time.sleep(0.02)
    return text


@pytest.mark.parametrize("is_terminal", [False, True])
def test_the_program_goes_on_when_the_wrapper_is_killed(tmp_path: Path, is_terminal: bool) -> None:
    script = """
print(os.isatty(2), file=sys.stderr)
while not os.path.exists("killed"): time.sleep(0.01)
for number in range(9999): print(f"line {number}", file=sys.stderr)
open("status", "w").write("survived\\n")
"""
    ours, theirs = pty.openpty() if is_terminal else os.pipe()
    process = subprocess.Popen(
        [*COMMAND, "--out", "dumps", "--", *python(f"import time{script}")],
        cwd=tmp_path,
        env={**os.environ, "XLA": XLA},
        stdout=subprocess.DEVNULL,
        stderr=theirs,
    )
    os.close(theirs)
    with os.fdopen(ours, "rb", buffering=0) as stream:
        assert stream.read(5).split() == [str(is_terminal).encode()]
        process.kill()
        process.wait(timeout=PATIENCE)
        (tmp_path / "killed").touch()
        output = read_all(ours)
    assert output.decode().replace("\r\n", "\n").strip() == lines(9999).strip()
    assert wait_for(tmp_path / "status") == "survived\n"
    # The copy goes on as well.
    assert (tmp_path / "dumps" / "stderr.log").read_text().endswith("line 9998\n")


def test_a_standard_error_that_another_process_made_non_blocking_loses_nothing(tmp_path: Path) -> None:
    ours, theirs = os.pipe()
    os.set_blocking(theirs, False)
    process = subprocess.Popen(
        [*COMMAND, "--", sys.executable, "-c", LINES.format(50_000)],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=theirs,
    )
    # The pipe becomes full before the test reads.
    while select.select([], [theirs], [], 0)[1] and process.poll() is None:
        time.sleep(0.01)
    os.close(theirs)
    with os.fdopen(ours) as stream:
        assert stream.read().startswith(lines(50_000))
    assert process.wait(timeout=PATIENCE) == 7


# ---------------------------------------------------------------- the report


@pytest.mark.slow
def test_files_that_are_not_needed_are_removed_unless_all_are_kept(tmp_path: Path) -> None:
    for options, is_kept in (((), False), (("--keep-all",), True)):
        folder = tmp_path / str(is_kept)
        run(tmp_path, "sh", "-c", XLA, options=(*options, "--out", folder))
        names = {path.name for path in folder.rglob("module_*")}
        needed = {name for name in names if "after_optimizations" in name}
        assert needed == {path.name for path in MLP.glob("module_*after_optimizations*")}
        added = {"module_0000.jit_f.before_optimizations.txt", "module_0000.jit_f.ir-no-opt.ll", "module_0000.jit_f"}
        assert names >= added if is_kept else names == needed


@pytest.mark.parametrize("file", FlagFile)
def test_files_with_flags_are_kept(tmp_path: Path, file: FlagFile) -> None:
    folder = tmp_path / "module_0000.jit_f"
    folder.mkdir()
    path = folder / file if file is FlagFile.COMPILE_OPTIONS else tmp_path / f"module_0000.jit_f.{file}"
    for one in (path, folder / "module.bc", tmp_path / "module_0000.jit_f.flagfile"):
        one.touch()
    RunFolder(tmp_path, (), 0.0, None).tidy(is_everything_kept=False)
    assert [one for one in tmp_path.rglob("*") if one.is_file()] == [path]
    assert folder.exists() is (file is FlagFile.COMPILE_OPTIONS)


def test_the_program_is_kept_to_be_compiled_again(tmp_path: Path) -> None:
    program = tmp_path / "module_0000.jit_f" / "module.mlir"
    program.parent.mkdir()
    program.touch()
    RunFolder(tmp_path, (), 0.0, None).tidy(is_everything_kept=False)
    assert program.is_file()


@pytest.mark.slow
def test_only_selects_modules(tmp_path: Path) -> None:
    command = ("sh", "-c", f"echo $XLA_FLAGS; {XLA}")
    done = run(tmp_path, *command, options=("--only", "no such|x", "--out", "dumps"))
    assert '--xla_dump_hlo_module_re="no such|x" ' in done.stdout
    assert done.stderr == "xla-lens: no dumps: the program compiled no module with a match of --only no such|x\n"


def test_an_out_of_memory_message_is_explained(tmp_path: Path) -> None:
    done = run(
        tmp_path, "sh", "-c", f"{XLA}\ncat {TPU_LOG} >&2; exit 1", options=("--out", "dumps", "--budget", "1MiB")
    )
    assert done.returncode == 1
    log = tmp_path / "dumps" / "stderr.log"
    assert log.read_bytes() == TPU_LOG.read_bytes()
    explained = subprocess.run(
        [sys.executable, "-m", "xla_lens", "oom", "dumps/stderr.log", "dumps"],
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    title = explained.stdout.decode().splitlines()[0]
    assert "ran out" in title
    assert f"\n{title}\n" in done.stderr


@pytest.mark.slow
def test_json_and_html_go_to_a_file(tmp_path: Path) -> None:
    done = run(tmp_path, "sh", "-c", XLA, options=("--output-format", "json", "--output-file", "r.json"))
    reports: Any = json.loads((tmp_path / "r.json").read_text())
    assert [one["module"] for one in reports] == ["jit_train_step"]
    assert re.match(r"xla-lens: the dumps are in xla-dumps/sh-\S+\.\nxla-lens: jit_train_step needs ", done.stderr)
    run(tmp_path, "sh", "-c", XLA, options=("--output-format", "html", "--output-file", "map.html", "--out", "d"))
    assert "jit_train_step: memory map" in (tmp_path / "map.html").read_text()


@pytest.mark.slow
def test_open_shows_the_memory_map_in_a_browser(tmp_path: Path) -> None:
    browser = tmp_path / "browser"
    browser.write_text('#!/bin/sh\necho "$1" > opened\n')
    browser.chmod(0o755)
    run(tmp_path, "sh", "-c", XLA, options=("--open", "--out", "dumps"), environment={"BROWSER": str(browser)})
    page = tmp_path / "dumps" / "memory-map.html"
    assert (tmp_path / "opened").read_text() == f"{page.as_uri()}\n"
    assert "jit_train_step: memory map" in page.read_text()


# ---------------------------------------------------------------- a program that changes the folder of the run


@pytest.mark.parametrize(
    "change",
    [
        "rm dumps/stderr.log; mkfifo dumps/stderr.log",
        "rm dumps/stderr.log; mkdir dumps/stderr.log; touch dumps/stderr.log/file",
        "rm dumps/stderr.log; ln -s stderr.log dumps/stderr.log",
        slowly("rm dumps/stderr.log; ln -s /dev/zero dumps/stderr.log"),
        "truncate --size 1T dumps/stderr.log",
        slowly("printf '\\037\\213' > dumps/stderr.log"),
        r"printf '\0\n\n/\377\n' >> dumps/folders.txt",
        "mkfifo dumps/folders.txt",
        slowly("mkdir dumps/folders.txt"),
        slowly("ln -s folders.txt dumps/folders.txt"),
        "truncate --size 1T dumps/folders.txt",
        "mkdir dumps/cache-off; touch dumps/cache-off/file",
        slowly("mkfifo dumps/cache-off"),
        "mkfifo dumps/module_0009.jit_g.cpu_after_optimizations-buffer-assignment.txt",
        "mkdir -p dumps/module_0009.x/$(printf 'd/%.0s' $(seq 1500)); ln -s / dumps/module_0009.x/link",
    ],
)
def test_whatever_a_program_makes_of_the_folder_the_report_follows(tmp_path: Path, change: str) -> None:
    done = run(tmp_path, "sh", "-c", f"{XLA}\n({change})\nexit 7", options=("--out", "dumps"))
    assert done.returncode == 7
    assert "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-2].startswith("xla-lens: jit_train_step needs ")
    assert not (tmp_path / "dumps" / "module_0009.x").exists()


def test_a_log_that_is_no_file_any_more_is_not_read(tmp_path: Path) -> None:
    done = run(tmp_path, "sh", "-c", "rm a/stderr.log; mkfifo a/stderr.log; exit 5", options=("--out", "a"))
    assert done.returncode == 5
    assert done.stderr.splitlines()[0] == (
        "xla-lens: a/stderr.log: no out-of-memory messages are explained, because it cannot be read: not a regular file"
    )


def test_a_map_is_not_written_into_what_the_program_made_in_its_place(tmp_path: Path) -> None:
    change = f"{XLA}\nmkfifo a/memory-map.html; exit 5"
    done = run(tmp_path, "sh", "-c", change, options=("--open", "--out", "a"), environment={"BROWSER": "false"})
    assert done.returncode == 5
    assert done.stderr.splitlines()[-2] == "xla-lens: a/memory-map.html: cannot be replaced: not a regular file"


def test_a_program_does_not_wait_where_it_made_a_fifo_of_a_note(tmp_path: Path) -> None:
    script = "os.mkfifo('a/folders.txt'); os.environ['XLA_FLAGS'] = '--xla_dump_to=own'; print('done')"
    done = run(tmp_path, *python(script), options=("--out", "a"))
    assert (done.returncode, done.stdout) == (0, "done\n")


def test_a_program_may_remove_the_folder_in_which_it_runs(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    done = run(tmp_path / "here", "sh", "-c", "cd ..; rm -r here; exit 5", options=("--out", "a"))
    assert done.returncode == 5
    assert "Traceback" not in done.stderr


def test_nothing_changes_in_python_2(tmp_path: Path) -> None:
    # The shims of pyenv are on the PATH, but do not run without a version.
    in_pyenv = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser().glob("versions/2.7*/bin/python")
    pythons = [*map(str, in_pyenv), *filter(shutil.which, ("python2.7", "python2"))]
    tries = ((one, subprocess.run([one, "-c", "pass"], capture_output=True, check=False)) for one in pythons)
    python_2 = next((one for one, done in tries if done.returncode == 0), None)
    if not python_2:
        pytest.skip("needs Python 2.7 on the PATH, or in pyenv")
    (tmp_path / "sitecustomize.py").write_text("import sys; sys.stdout.write('own\\n')")
    done = run(tmp_path, python_2, "-c", "print('out')", environment={"PYTHONPATH": str(tmp_path)})
    assert done.stdout == "own\nout\n"
    assert done.stderr == f"{NOTHING}\n"


def test_what_runs_inside_programs_compiles_in_any_python() -> None:
    tree = ast.parse(Path(sitecustomize.__file__).read_text(encoding="ascii"))
    newer = ast.AnnAssign, ast.JoinedStr, ast.NamedExpr, ast.Nonlocal, ast.AsyncFunctionDef, ast.YieldFrom
    found = [node for node in ast.walk(tree) if isinstance(node, newer)]
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    assert len(functions) > 10
    assert [node.lineno for node in found] == []
    assert [node.name for node in functions if node.returns or node.args.kwonlyargs or node.args.posonlyargs] == []
    assert [one.arg for node in functions for one in node.args.args if one.annotation] == []
