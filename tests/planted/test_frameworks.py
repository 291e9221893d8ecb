"""Programs of frameworks on the CPU: lines of the user, what arguments are called, and advice that runs when pasted."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from commands import run
from samples import ROOT

_PYTHON = ROOT / ".venv-jax" / "bin" / "python"
_PROGRAMS = Path(__file__).parent / "frameworks"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("planted"),
    pytest.mark.skipif(not _PYTHON.is_file(), reason="needs jax: run `make .venv-jax/installed`"),
]


class Program(NamedTuple):
    """A program, the module that matters, an argument that must be named, and what must be said about it."""

    name: str
    module: str
    argument: str
    note: str = ""


PROGRAMS = [
    Program("nnx_step", "jit_step", "opt.states", "`nnx.to_flat_state(nnx.state(opt))`"),
    Program("linen_step", "jit_step", "state.params"),
    Program("haiku_step", "jit_step", "params"),
    Program("keras_fit", "jit_train_step", "state[2]", "`state[2]` (of the optimizer)"),
    Program("numpyro_nuts", "jit__fori_collect_loop", "init_val[0]"),
    Program("diffrax_solve", "jit_", "dynamic_nodonate", "that it does not donate"),
]


def run_program(folder: Path, name: str, pasted: str = "") -> str:
    """Run a program under `xla-lens run`, with some code pasted into it."""
    program = str(_PROGRAMS / f"{name}.py")
    done = subprocess.run(
        [sys.executable, "-m", "xla_lens", "run", "--out", "dumps", str(_PYTHON), program],
        cwd=folder,
        env={**os.environ, "JAX_PLATFORMS": "cpu", "PASTED": pasted},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    if "ModuleNotFoundError" in done.stderr:
        pytest.skip(f"{name} needs its framework: run `make .venv-jax/installed`")
    assert (done.returncode, done.stdout) == (0, "learns\n"), done.stderr
    return done.stderr


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_report_of_a_framework_is_in_the_words_of_its_user(tmp_path: Path, program: Program) -> None:
    errors = run_program(tmp_path, program.name)
    assert "Traceback" not in errors
    assert "measured: the process used " in errors
    reports: list[dict[str, Any]] = json.loads(run("report", tmp_path / "dumps", "--output-format", "json")[1])
    worst = reports[0]
    assert worst["module"].startswith(program.module)
    lines = worst["memory_spaces"][0]["lines"]["lines"]
    assert {Path(line["file"]).name for line in lines if line["file"]} == {f"{program.name}.py"}
    assert any((line["argument"] or "").startswith(program.argument) for line in lines)
    assert program.note in " ".join(run("report", tmp_path / "dumps", "--part", "line")[1].split())


@pytest.mark.parametrize("name", ["nnx_step", "linen_step", "haiku_step"])
def test_advice_for_a_framework_runs_when_it_is_pasted(tmp_path: Path, name: str) -> None:
    run_program(tmp_path, name)
    reports: list[dict[str, Any]] = json.loads(run("report", tmp_path / "dumps", "--output-format", "json")[1])
    before = reports[0]
    donate = next(action for action in before["advice"]["actions"] if action["rule"] == "donate")
    again = tmp_path / "again"
    again.mkdir()
    run_program(again, name, donate["snippet"])
    after = json.loads(run("report", again / "dumps", "--output-format", "json")[1])[0]
    needed = [report["memory_spaces"][0]["needed_bytes"] for report in (before, after)]
    assert needed[1] < needed[0]
