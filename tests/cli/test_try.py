"""`xla-lens try` and `run --try`: what they print, with a compiler of a few lines, and with that of jax."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from commands import run
from samples import DUMPS, ROOT, SPLIT
from xla_lens.trying.changes import Change
from xla_lens.trying.process import CannotTry, Limits, Measured, Program
from xla_lens.words.numbers import human

CPU = next(DUMPS.glob("cpu-jaxlib0.10.2/donate_lora/*-buffer-assignment.txt"))
_VALID = Draft202012Validator(json.loads((ROOT / "docs" / "try.schema.json").read_text(encoding="utf-8")))

Programs = list[tuple[Program, Change, Limits]]


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> Programs:
    """What was compiled, each donation with 1 KiB less than the program as it is."""
    found: Programs = []

    def measure(program: Program, change: Change, limits: Limits) -> Measured:
        found.append((program, change, limits))
        needed = (1 << 20) - 1024 * 100 * bool(change.donated)
        return Measured(needed, needed, 3, None, is_too_large=not change.donated)

    monkeypatch.setattr("xla_lens.trying.trials.measure", measure)
    return found


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    """A copy of `CPU`: what is tried is kept beside it."""
    shutil.copytree(CPU.parent, tmp_path / "dump")
    return tmp_path / "dump" / CPU.name


def _advice(dump: Path) -> Any:
    return json.loads(run("report", dump, "--output-format", "json")[1])[0]["advice"]


def test_text_has_the_table_and_the_plan(compiled: Programs, dump: Path) -> None:
    status, out, err = run("try", dump, "--python", "somewhere/python", "--seconds", 7, "--memory", "2GiB")
    assert status == 0
    assert "The program as it is needs 1.00 MiB (measured); in the dump, it needs " in out
    assert "924.0 KiB  100.0 KiB" in out
    assert "the compiler ran out of memory" in out
    assert "Change 1: the program needs 924.0 KiB (measured)." in out
    assert err.splitlines()[0] == "xla-lens: compiling the program as it is"
    program, change, limits = compiled[0]
    assert (program.python, program.platform, change) == ("somewhere/python", "cpu", Change())
    assert (limits.seconds, limits.memory_bytes) == (7, 2 << 30)


def test_flags_are_tried_and_json_matches_its_schema(compiled: Programs, dump: Path) -> None:
    flags = ("--flag", "xla_test=3", "--flag=--xla_other=true")
    status, out, _ = run("try", dump, *flags, "--budget", "1000KiB", "--output-format", "json")
    found = json.loads(out)
    assert [*_VALID.iter_errors(found)] == []
    assert (status, found["is_reached"], found["plan"]["changes"], found["budget_bytes"]) == (0, True, [0], 1024000)
    assert [row["certainty"] for row in found["changes"]] == ["measured"] * len(found["changes"])
    assert found["changes"][0]["saved_needed_bytes"] == 102400
    assert {"xla_test": "3"} in [change.options for _, change, _ in compiled]
    assert [row["change"] for row in found["changes"][-2:]] == [
        "Compile with xla_test=3",
        "Compile with xla_other=true",
    ]
    assert run("try", CPU, "--flag", "xla_test")[0] == 2


@pytest.mark.parametrize(
    ("raised", "status", "words"),
    [(CannotTry("its Python has no jax"), 1, "its Python has no jax"), (KeyboardInterrupt(), 130, "interrupted")],
)
def test_what_is_not_measured_changes_the_exit_status(
    monkeypatch: pytest.MonkeyPatch, dump: Path, raised: BaseException, status: int, words: str
) -> None:
    def measure(*_: object) -> Measured:
        raise raised

    monkeypatch.setattr("xla_lens.trying.trials.measure", measure)
    found, out, _ = run("try", dump)
    assert (found, f"Nothing is measured: {words}." in out) == (status, True)
    found, out, _ = run("try", dump, "--output-format", "json")
    assert [*_VALID.iter_errors(json.loads(out))] == []
    assert (json.loads(out)["measured_needed_bytes"], json.loads(out)["reason"]) == (None, words)
    assert not [*dump.parent.glob("*.json*")], "nothing is measured"


def test_what_is_measured_is_kept_beside_the_dump(monkeypatch: pytest.MonkeyPatch, dump: Path) -> None:
    before = _advice(dump)
    needed = before["needed_bytes"]

    def measure(_program: Program, change: Change, _limits: Limits) -> Measured:
        size = needed - 1000 * bool(change.donated) + 64 * ("xla_test" in change.options)
        return Measured(size, size - 1, 5, None, is_too_large=False)

    monkeypatch.setattr("xla_lens.trying.trials.measure", measure)
    _, _, err = run("try", dump, "--flag", "xla_test=3")
    (kept,) = dump.parent.glob("*-tried.json")
    assert kept.name == "module_0006.jit_lora.cpu_after_optimizations-tried.json"
    assert err.splitlines()[-1] == f"xla-lens: reports show what is measured: it is kept in {kept.as_posix()}"
    assert [*_VALID.iter_errors(json.loads(kept.read_text()))] == []
    assert json.loads(kept.read_text())["dump_digest"] == hashlib.sha256(dump.read_bytes()).hexdigest()

    found = _advice(dump)
    assert before["tried"] is None
    assert found["tried"] == {
        "file": str(kept),
        "is_stale": False,
        "measured_needed_bytes": needed,
        "taken": ["action 1"],
        "taken_needed_bytes": needed - 1000,
        "flags": {"xla_test=3": needed + 64},
    }
    ((old, new),) = zip(before["actions"], found["actions"], strict=True)
    changed = {"needed_bytes": needed - 1000, "saved_needed_bytes": 1000, "peak_bytes": needed - 1001, "peak_step": 5}
    saved = {"certainty": "measured", "saved_bytes": before["peak_bytes"] - needed + 1001}
    assert new == old | changed | saved
    out = run("advise", dump)[1]
    assert "  Donate adapters if nothing uses it after the call: saves 1000 B (measured).\n" in out
    assert f"With action 1, the program needs {human(needed - 1000)} (measured)." in out
    assert f"With xla_test=3, the program needs {human(needed + 64)} (measured)." in out
    assert "To measure it" not in out

    # Trying again compares with the estimates, not with what was measured before.
    again = json.loads(run("try", dump, "--output-format", "json")[1])
    assert again["changes"][0]["estimated_needed_bytes"] == old["needed_bytes"]

    # What was measured is about the dump as it was.
    text = dump.read_text()
    dump.write_text(f"{text}\n")
    assert _advice(dump)["actions"] == before["actions"]
    assert _advice(dump)["tried"]["is_stale"]
    words = "is of another compilation of this program: what it measured is left out."
    assert f"What was tried ({kept.name}) {words}" in run("advise", dump)[1]
    dump.write_text(text)
    for damaged in (b"", b"{}", b"\xff", b"[" * 10000, kept.read_bytes()[:-40]):
        kept.write_bytes(damaged)
        assert _advice(dump) == before

    # Another compiler says nothing about this dump.
    needed += 4096
    run("try", dump)
    assert _advice(dump)["actions"] == before["actions"]
    assert f"by another compiler, with which the program needs {human(needed)}: " in run("advise", dump)[1]


def test_a_folder_that_cannot_be_written_is_said_in_one_line(
    monkeypatch: pytest.MonkeyPatch, compiled: Programs, dump: Path
) -> None:
    def fail(_path: Path, _data: bytes) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "write_bytes", fail)
    status, out, err = run("try", dump)
    assert (status, bool(compiled)) == (0, True)
    assert "Donate adapters" in out
    words = "reports will not show what is measured: it cannot be kept there: Permission denied"
    assert err.splitlines()[-1].endswith(words)
    assert not [*dump.parent.glob("*.json*")]


def test_a_missing_file_is_named() -> None:
    status, out, _ = run("try", SPLIT)
    assert status == 1
    assert f"{SPLIT.name.partition('.cpu_')[0]}/module.mlir is missing" in out
    status, _, err = run("try", next(DUMPS.glob("tpu-7x-libtpu0.0.52/switch/*jit_sw.*-buffer-assignment.txt")))
    assert status == 2
    assert "cannot be compiled again" in err
    assert "target_arguments.txt does not name the generation of the TPU" in err
    status, _, err = run("run", "--try", "--output-format", "json", "python", "-V")
    assert (status, "--try prints text or markdown" in err) == (2, True)


# ---------------------------------------------------------------- the compiler of jax

_JAX = ROOT / ".venv-jax" / "bin" / "python"

_PROGRAM = """
import jax, jax.numpy as jnp

def loss(params, x):
    return (jax.lax.scan(lambda x, w: (jnp.tanh(x @ w), None), x, params)[0] ** 2).mean()

@jax.jit
def step(params, mean, x):
    mean = 0.9 * mean + jax.grad(loss)(params, x)
    return params - 0.1 * mean, mean

step(jnp.zeros((8, 256, 256)), jnp.zeros((8, 256, 256)), jnp.zeros((16, 256)))
"""


@pytest.mark.slow
@pytest.mark.xdist_group("capturing")
@pytest.mark.skipif(not _JAX.is_file(), reason="needs jax: run `make .venv-jax/installed`")
def test_a_program_is_run_and_then_compiled_again(tmp_path: Path) -> None:
    (tmp_path / "prog.py").write_text(_PROGRAM)
    environment = {name: text for name, text in os.environ.items() if name != "XLA_FLAGS"} | {"JAX_PLATFORMS": "cpu"}

    def xla_lens(*arguments: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "xla_lens", *map(str, arguments)]
        return subprocess.run(
            command, cwd=tmp_path, env=environment, check=False, capture_output=True, text=True, timeout=300
        )

    done = xla_lens("run", "--try", "--out", "dumps", _JAX, "prog.py")
    assert done.returncode == 0
    assert "Donate params" in done.stderr
    assert "(measured" in done.stderr
    assert "(measured)" in xla_lens("advise", "dumps").stdout
    # The function itself is not there, but its dump is enough.
    found = json.loads(xla_lens("try", "dumps", "--python", _JAX, "--output-format", "json").stdout)
    assert [*_VALID.iter_errors(found)] == []
    assert found["measured_needed_bytes"] == found["needed_bytes"]
    donation = next(row for row in found["changes"] if row["change"].startswith("Donate"))
    assert donation["saved_needed_bytes"] > 0
    assert found["plan"]["needed_bytes"][-1] <= donation["needed_bytes"]
