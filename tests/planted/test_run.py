"""`xla-lens run` with programs that jax compiles for the CPU."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from samples import ROOT
from xla_lens.disk.sets import find_sets
from xla_lens.words.numbers import human

_PYTHON = ROOT / ".venv-jax" / "bin" / "python"
_PROGRAMS = Path(__file__).parent / "run_programs.py"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("planted"),
    pytest.mark.skipif(not _PYTHON.is_file(), reason="needs jax: run `make .venv-jax/installed`"),
]


def run(folder: Path, program: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "xla_lens", "run", "--out", "dumps", str(_PYTHON), str(_PROGRAMS), program],
        cwd=folder,
        env={**os.environ, "JAX_PLATFORMS": "cpu", **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def modules(folder: Path) -> list[str]:
    """The names of the modules that were dumped, as XLA numbers them."""
    names = (files.stem.name for files in find_sets(folder / "dumps"))
    return sorted(re.sub(r"^module_\d+\.|\.cpu_after.*", "", name) for name in names)


def is_stacked_activation_in(errors: str) -> bool:
    """Whether the report names what the loop keeps for the backward pass: for each layer f32[1024,64]."""
    return re.search(r"\d+ × f32\[1024,64\] .* in scan\.<locals>\.layer", errors) is not None


@pytest.mark.parametrize(("program", "status"), [("scan", 0), ("crash", 1), ("killed", 137)])
def test_report_follows_however_the_program_ends(tmp_path: Path, program: str, status: int) -> None:
    done = run(tmp_path, program)
    assert (done.returncode, done.stdout) == (status, "True\n"), done.stderr
    assert is_stacked_activation_in(done.stderr)
    assert "compilation cache" not in done.stderr
    assert ("RuntimeError: step 3 failed" in done.stderr) == (program == "crash")
    assert "jit_loss" in modules(tmp_path)
    # The programs that fill arrays with ones are small.
    assert re.search(r"and \d+ small programs?, [\d.]+ [KM]?i?B at most", done.stderr)


def test_program_that_assigns_the_flags_has_its_devices_and_its_dumps(tmp_path: Path) -> None:
    done = run(tmp_path, "sharded")
    assert (done.returncode, done.stdout) == (0, "8 (64, 64)\n"), done.stderr
    assert "jit_step" in modules(tmp_path)
    # f32[512,256] on 8 devices.
    (dump,) = (tmp_path / "dumps").rglob("*.jit_step.*-buffer-assignment.txt")
    assert "f32[64,256]" in dump.read_text()
    assert re.search(r"KiB +\d{4} +jit_step ", done.stderr)


def test_out_of_memory_is_explained_with_the_dump_that_was_written_before(tmp_path: Path) -> None:
    done = run(tmp_path, "too_big")
    assert done.returncode == 1
    assert "RESOURCE_EXHAUSTED" in done.stderr
    needed = re.search(r"Out of memory allocating (\d+) bytes", done.stderr)
    assert needed
    assert f"  requested  {human(int(needed[1]))}\n" in done.stderr
    assert "\nDump: dumps/process-" in done.stderr
    # The rest of the answer is the report of that dump.
    assert "\njit__lambda\n  It needs " in done.stderr
    assert (tmp_path / "dumps" / "stderr.log").exists()


def test_compilation_cache_is_switched_off_and_named_where_it_was_used(tmp_path: Path) -> None:
    cache = str(tmp_path / "cache")
    for number in range(2):
        warm = run(tmp_path, "cached", CACHE=cache)
        assert is_stacked_activation_in(warm.stderr)
        assert "JAX's compilation cache was off" in warm.stderr
        assert not (tmp_path / "cache").exists()
        (tmp_path / "dumps").rename(tmp_path / f"dumps{number}")
    for number in range(2):
        done = run(tmp_path, "cached", CACHE=cache, ON="1")
        assert (done.returncode, done.stdout) == (0, "True\n")
        assert is_stacked_activation_in(done.stderr) == (number == 0)
        assert "JAX's compilation cache was off" not in done.stderr
        (tmp_path / "dumps").rename(tmp_path / f"dumps-on{number}")
    assert re.search(r"no dumps: \d+ modules were loaded from the compilation cache", done.stderr)
    report = subprocess.run(
        [sys.executable, "-m", "xla_lens", "report", str(tmp_path / "dumps-on1")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "loaded from JAX's compilation cache" in report.stderr
