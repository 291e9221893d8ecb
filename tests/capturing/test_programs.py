"""Real programs are captured: their sizes are those that jax itself reports, and nothing else changes."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from samples import ROOT

_PYTHON = ROOT / ".venv-jax" / "bin" / "python"
_ENVIRONMENT = {
    **{name: text for name, text in os.environ.items() if name not in ("XLA_FLAGS", "PYTHONDONTWRITEBYTECODE")},
    "PYTHONPATH": f"{ROOT / 'server'}:{ROOT / 'grammar' / 'python'}",
}

pytestmark = [
    pytest.mark.slow,
    # One worker compiles all programs once.
    pytest.mark.xdist_group("capturing"),
    pytest.mark.skipif(not _PYTHON.is_file(), reason="needs jax: run `make .venv-jax/installed`"),
]


def _run(*arguments: object) -> str:
    done = subprocess.run(
        [str(_PYTHON), *map(str, arguments)], env=_ENVIRONMENT, check=False, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    return json.loads(_run(Path(__file__).parent / "programs.py"))


_SQUARE = 4 * 256 * 256

_EXPECTED = {
    "plain": ("jit_product", 2 * _SQUARE),
    "arrays": ("jit_product", 2 * _SQUARE),
    "jit": ("jit_product", 2 * _SQUARE),
    # The gradient of a jitted function needs more than the function.
    "grad of jit": ("jit_product", 4 * _SQUARE),
    "decorated grad": ("jit_product", 4 * _SQUARE),
    "donating": ("jit_step", 4 * _SQUARE),
    "donated before": ("jit_step", 4 * _SQUARE),
    "not donating": ("jit_step", 4 * _SQUARE),
    "outputs": ("jit_outputs", 5 * _SQUARE),
    "aliased outputs": ("jit_outputs", 4 * _SQUARE),
    "decorated": ("jit_step", 4 * _SQUARE),
    "partial": ("jit_step", 4 * _SQUARE),
    "method": ("jit_run", 2 * _SQUARE),
    "key": ("jit_drawn", 5 * _SQUARE),
    "scan": ("jit_nested", 3 * _SQUARE),
    "shard_map": ("jit__lambda", _SQUARE // 4),
    "sharded": ("jit_product", _SQUARE + _SQUARE // 4),
    "pmap": ("jit__fun", 2 * 4 * 64 * 64),
    "lowered": ("jit_product", 2 * _SQUARE),
    "traced": ("jit_product", 2 * _SQUARE),
    "equinox": ("jit_gradient", 838_920),
}
"""The module, and its peak without a few scalars and vectors."""


@pytest.mark.parametrize("name", _EXPECTED)
def test_every_kind_of_function_is_captured(found: dict[str, Any], name: str) -> None:
    module, peak = _EXPECTED[name]
    program = found["programs"][name]
    assert program["name"] == module
    assert 0 <= program["peak"] - peak < 2000
    # The lines are those of the program itself.
    text = (Path(__file__).parent / "programs.py").read_text(encoding="utf-8").splitlines()
    assert program["lines"]
    assert all(set("@*(") & set(text[line - 1]) for line in program["lines"])


def test_sizes_are_those_of_jax(found: dict[str, Any]) -> None:
    programs = {name: program for name, program in found["programs"].items() if program["jax"]}
    assert len(programs) == len(_EXPECTED) - 1, "all but the program of equinox, which hides them"
    ours = {"argument": "parameter", "output": "output", "temp": "temporary", "alias": "aliased"}
    for name, program in programs.items():
        space, jax = program["space"], program["jax"]
        assert {kind: space[f"{word}_bytes"] for kind, word in ours.items()} == jax, name
        # XLA counts no constants, although they take memory, too. Here, they are a few scalars.
        needed = jax["argument"] + jax["output"] + jax["temp"] - jax["alias"] + program["parts"].get("constant", 0)
        assert program["needed"] == space["needed_bytes"] == needed, name
        assert program["parts"].get("constant", 0) < 100


def test_what_the_process_has_used_is_measured(found: dict[str, Any]) -> None:
    for program in found["programs"].values():
        measured = program["measured"]
        # The module that was captured is loaded.
        assert measured["programs"]["count"] > 0
        assert measured["words"].startswith("the process used ")
        assert f" at most until now; {program['name']} needs " in measured["words"]


def test_donation_is_kept(found: dict[str, Any]) -> None:
    programs = found["programs"]
    donating = ("donating", "donated before", "decorated", "partial")
    assert {programs[name]["jax"]["alias"] for name in donating} == {_SQUARE}
    assert programs["not donating"]["jax"]["alias"] == 0


def test_donation_is_tried(found: dict[str, Any]) -> None:
    for tried in found["donated"]:
        promised, measured = tried["promised"], tried["measured"]
        assert (promised["rule"], promised["certainty"], measured["certainty"]) == ("donate", "estimated", "measured")
        old, new = tried["needed"]
        assert measured["saved_needed_bytes"] == old - new > 0.9 * promised["saved_needed_bytes"] > 0
        assert "newly donated" in tried["text"]
        # The function itself keeps its arguments.
        assert tried["aliased later"] == 0


def test_each_change_needs_what_the_function_changed_by_hand_needs(found: dict[str, Any]) -> None:
    tried = found["tried"]
    assert tried["needed"][0] == tried["needed"][1], "the function stays as it is"
    measured = {row["change"].split()[0]: row for row in tried["rows"]}
    measured["Keep of few"] = next(row for row in tried["few"] if row["change"].startswith("Keep"))
    assert {name: measured[name]["needed_bytes"] for name in tried["by hand"]} == tried["by hand"]
    assert {row["certainty"] for row in tried["rows"]} == {"measured"}
    # Of four products in each of the layers, the first two are computed again, in which the second is not needed.
    assert measured["Wrap"]["flops_factor"] == pytest.approx(7 / 6)
    assert {measured[name]["flops_factor"] for name in ("Split", "Donate", "Keep", "Compile")} == {1.0}
    # Advice of another capture is estimated.
    assert {row["certainty"] for row in tried["advice"]} == {"estimated"}


@pytest.mark.parametrize(
    ("program", "change"),
    [
        ("time first", "Split the batch (dimension 1 of xs and ys) into 4 microbatches"),
        # Each part has examples of each device.
        ("on devices", "Split the batch (x and y) into 4 microbatches"),
    ],
)
def test_microbatches_are_tried(found: dict[str, Any], program: str, change: str) -> None:
    row = found["tried"][program]
    assert row["change"].startswith(change)
    saved = row["saved_needed_bytes"]
    estimated = row["needed_bytes"] + saved - row["estimated_needed_bytes"]
    assert saved / 1.5 <= estimated <= saved * 1.5


def test_a_method_with_other_arguments_than_arrays_is_wrapped(found: dict[str, Any]) -> None:
    tried = found["tried"]["method"]
    assert tried["row"]["needed_bytes"] == tried["by hand"]
    assert tried["row"]["change"].startswith("Wrap Block ")
    assert tried["row"]["flops_factor"] > 1.2


def test_a_plan_is_compiled_as_a_whole(found: dict[str, Any]) -> None:
    tried = found["tried"]
    rows, planned, is_reached = tried["plan"]
    assert is_reached is (planned <= 40 << 20) is True
    assert planned < min(tried["rows"][row]["needed_bytes"] for row in rows)
    assert "Changes " in tried["text"]
    others, needed = tried["without"]
    assert not any(tried["rows"][row]["change"].startswith("Wrap") for row in others)
    assert needed < tried["needed"][0]


def test_what_cannot_be_tried_says_why(found: dict[str, Any]) -> None:
    tried = found["tried"]
    reasons = {row["change"].split()[0]: reason for row, reason in zip(tried["rows"], tried["lowered"], strict=True)}
    assert "a lowered function cannot be traced again" in reasons["Wrap"]
    assert reasons["Donate"] is None
    assert "Nothing is measured: stopped at 1 MiB, the limit of memory for the compiler" in tried["low memory"]


def test_the_persistent_cache_is_neither_read_nor_written_and_works_again(found: dict[str, Any]) -> None:
    before, after, more = found["cached"]["counts"]
    assert 0 < before == after < more
    assert found["cached"]["peaks"] == [2 * _SQUARE] * 2
    assert found["cached"]["is on"]


def test_the_compiled_function_runs(found: dict[str, Any]) -> None:
    assert found["called"] == [True, True]


_DUMPING = """
import os, sys, xla_lens
with xla_lens.dumping({folder!r}) as folder:
    assert "jax" not in sys.modules
    import jax, jax.numpy as jnp
    jax.jit(lambda a: (a @ a).sum())(jnp.ones((128, 128)))
assert "XLA_FLAGS" not in os.environ
assert jax.config.jax_enable_compilation_cache
print(xla_lens.read_captures(folder)[0].peak())
try:
    with xla_lens.dumping():
        pass
except RuntimeError as error:
    print(error)
"""


def test_dumping_works_before_the_first_computation_only(tmp_path: Path) -> None:
    folder = tmp_path / "all dumps"
    first, second = _run("-c", _DUMPING.format(folder=str(folder))).splitlines()
    assert first.startswith("host memory peak: 64.0 KiB at step ")
    assert second.startswith("dumping: jax has opened its device and read XLA_FLAGS")
