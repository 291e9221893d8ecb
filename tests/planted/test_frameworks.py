"""Programs of frameworks on the CPU: equal numbers, lines of the user, what arguments are called, and advice that runs
when it is pasted.

`make test-all` installs JAX and TensorFlow. PyTorch/XLA takes 7 GB with the libraries for GPUs that torch brings: its
test runs only where somebody has made `.venv-torch/installed`.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from commands import run
from samples import ROOT

_PROGRAMS = Path(__file__).parent / "frameworks"

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("planted")]


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


def run_program(folder: Path, name: str, framework: str, *wrapper: object, **variables: str) -> str:
    """Run a program under `xla-lens run`, and return the errors. The program is the last argument of a `wrapper`."""
    python = ROOT / f".venv-{framework}" / "bin" / "python"
    if not python.is_file():
        pytest.skip(f"needs {framework}: run `make .venv-{framework}/installed`")
    done = subprocess.run(
        [sys.executable, "-m", "xla_lens", "run", "--out", "dumps", str(python), *map(str, wrapper)]
        + ([] if wrapper else [str(_PROGRAMS / f"{name}.py")]),
        cwd=folder,
        env={**os.environ, "JAX_PLATFORMS": "cpu", **variables},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    if "ModuleNotFoundError" in done.stderr:
        pytest.skip(f"{name} needs its framework: run `make .venv-{framework}/installed`")
    assert (done.returncode, done.stdout) == (0, "learns\n"), done.stderr
    return done.stderr


def reports_of(folder: Path) -> list[dict[str, Any]]:
    """The reports of a run, the worst first, each with all its parts."""
    found: list[dict[str, Any]] = json.loads(run("report", folder / "dumps", "--all", "--output-format", "json")[1])
    return found


def files_in(report: dict[str, Any]) -> set[str]:
    """The names of the files whose lines a report shows."""
    lines = report["memory_spaces"][0]["lines"]["lines"]
    return {Path(line["file"]).name for line in lines if line["file"]}


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_report_of_a_framework_is_in_the_words_of_its_user(tmp_path: Path, program: Program) -> None:
    stats = tmp_path / "stats.json"
    source = _PROGRAMS / f"{program.name}.py"
    errors = run_program(tmp_path, program.name, "jax", _PROGRAMS / "memory_stats.py", source, stats)
    assert "Traceback" not in errors
    assert "measured: the process used " in errors
    reports = reports_of(tmp_path)
    worst = reports[0]
    assert worst["module"].startswith(program.module)
    assert files_in(worst) == {source.name}
    lines = worst["memory_spaces"][0]["lines"]["lines"]
    assert any((line["argument"] or "").startswith(program.argument) for line in lines)
    assert program.note in " ".join(run("report", tmp_path / "dumps", "--part", "line")[1].split())
    # What JAX says about each program that it has loaded is in the report of a module.
    names = ("parameter", "output", "temporary", "aliased")
    ours = [[each["module"], *(each["memory_spaces"][0][f"{name}_bytes"] for name in names)] for each in reports]
    of_jax = json.loads(stats.read_text())
    assert worst["module"] in [name for name, *_ in of_jax]
    assert not [sizes for sizes in of_jax if sizes not in ours]


@pytest.mark.parametrize("name", ["nnx_step", "linen_step", "haiku_step"])
def test_advice_for_a_framework_runs_when_it_is_pasted(tmp_path: Path, name: str) -> None:
    run_program(tmp_path, name, "jax", PASTED="")
    before = reports_of(tmp_path)[0]
    donate = next(action for action in before["advice"]["actions"] if action["rule"] == "donate")
    again = tmp_path / "again"
    again.mkdir()
    run_program(again, name, "jax", PASTED=donate["snippet"])
    after = reports_of(again)[0]
    needed = [report["memory_spaces"][0]["needed_bytes"] for report in (before, after)]
    assert needed[1] < needed[0]


def assert_totals_are_those_of_the_dumps(folder: Path, reports: list[dict[str, Any]]) -> None:
    """The reserved bytes are those that XLA prints in the memory usage report."""
    assert reports
    for each in reports:
        text = (folder / each["files"]["memory-usage-report"]).read_text()
        assert re.findall(r"^Total bytes used: (\d+)", text, re.MULTILINE) == [str(each["reserved_bytes"])]


@pytest.mark.parametrize(
    ("name", "module", "layer"),
    [
        ("tensorflow_step", "a_inference_step_", "matmul_1"),
        ("keras_tensorflow", "a_inference_one_step_on_data_", "functional_1/conv2d_1"),
    ],
)
def test_report_of_tensorflow_is_about_layers_and_has_no_code_of_jax(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, module: str, layer: str
) -> None:
    errors = run_program(tmp_path, name, "tensorflow")
    monkeypatch.chdir(tmp_path)
    reports = reports_of(Path())
    assert_totals_are_those_of_the_dumps(tmp_path, reports)
    worst = reports[0]
    assert worst["module"].startswith(module)
    # TensorFlow gives no lines of the program, and a line of TensorFlow is no source.
    lines = worst["memory_spaces"][0]["lines"]
    assert (files_in(worst), lines["library"]) == (set(), "tensorflow")
    assert layer in [each["name"] for each in lines["layers"]]
    assert f"of the peak is of layer {lines['layers'][0]['name']}" in " ".join(errors.split())
    assert not [word for word in ("jax", "ops.py") if word in json.dumps(worst["advice"])]


def test_advice_for_keras_runs_when_it_is_pasted(tmp_path: Path) -> None:
    run_program(tmp_path, "keras_tensorflow", "tensorflow")
    before = reports_of(tmp_path)[0]
    (action,) = before["advice"]["actions"]
    found = re.search(r"batch_size=(\d+)\) +# with gradient_accumulation_steps=(\d+) in", action["snippet"])
    assert found
    again = tmp_path / "again"
    again.mkdir()
    run_program(again, "keras_tensorflow", "tensorflow", BATCH_SIZE=found[1], STEPS=found[2])
    space, measured = before["memory_spaces"][0], reports_of(again)[0]["memory_spaces"][0]
    assert 0 < action["saved_needed_bytes"] < space["needed_bytes"]
    assert 0.5 < measured["needed_bytes"] / action["needed_bytes"] < 2


@pytest.mark.parametrize("has_lines", [True, False])
def test_report_of_pytorch_has_the_lines_of_the_program_or_says_how_to_get_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_lines: bool
) -> None:
    variables = {"XLA_HLO_DEBUG": "1", "XLA_IR_DEBUG": "1"} if has_lines else {}
    errors = run_program(tmp_path, "torch_xla_step", "torch", **variables)
    monkeypatch.chdir(tmp_path)
    reports = reports_of(Path())
    assert_totals_are_those_of_the_dumps(tmp_path, reports)
    worst = reports[0]
    assert worst["module"].startswith("step.")
    assert files_in(worst) == ({"torch_xla_step.py"} if has_lines else set())
    assert ("`XLA_HLO_DEBUG=1`" in " ".join(errors.split())) != has_lines
    assert "jax" not in json.dumps(worst["advice"])
