"""`xla-lens advise`: the wording of actions and of budgets, and that all formats agree."""

import json
from typing import Any

import pytest

from samples import SHARED_DUMPS, SPLIT, TPU, needs_shared_dumps
from xla_lens.cli.main import main


def _run(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    assert main(["advise", *map(str, arguments)]) == 0
    captured = capsys.readouterr()
    assert not captured.err
    return captured.out


def _advice(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """What is printed below the answer and the head."""
    return _run(capsys, *arguments).split("\n\n", 2)[2].rstrip("\n")


def _json(capsys: pytest.CaptureFixture[str], *arguments: object) -> Any:
    (one,) = json.loads(_run(capsys, *arguments, "--output-format", "json"))
    return one["advice"]


def test_actions_have_buffers_peaks_and_a_certainty(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        _advice(capsys, TPU)
        == """\
What would lower the HBM peak (now 12.00 MiB)
   #     saves  peak then  at step  certainty  what to do
  1.  4.00 MiB   8.00 MiB        3  proven     Donate these arguments: the caller keeps them, so outputs of the same \
shape need other memory (donate)
                                                 4.00 MiB  1 × f32[1024,1024]  x  x.1
  Each peak is recomputed from the live ranges for that action alone. `xla-lens explain donate` explains the first."""
    )
    (action,) = _json(capsys, TPU)["actions"]
    assert (action["rule"], action["saved_bytes"], action["buffers"][0]["values"]) == ("donate", 4193280, [13])


def test_nothing_to_do_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    nothing = "What would lower the host memory peak (now 4.21 MiB): none of the rules finds anything"
    assert _advice(capsys, SPLIT) == nothing


@pytest.mark.parametrize(
    ("budget", "words"),
    [
        ("9MiB", "To fit into 9MiB, do 1. The peak, recomputed after each: 8.00 MiB."),
        ("6MiB", "All actions together leave 2.00 MiB too much for 6MiB. The peak, recomputed after each: 8.00 MiB."),
        ("1GiB", "The peak is within 1GiB already."),
    ],
)
def test_budget_that_is_reached_missed_or_not_needed(
    capsys: pytest.CaptureFixture[str], budget: str, words: str
) -> None:
    assert _advice(capsys, TPU, "--budget", budget).split("\n")[1].strip() == words
    found = _json(capsys, TPU, "--budget", budget)["budget"]
    assert found["is_reached"] is (budget != "6MiB")
    assert found["peak_bytes"] == ([] if budget == "1GiB" else [8389632])


@needs_shared_dumps
def test_arguments_that_exceed_the_budget_come_first(capsys: pytest.CaptureFixture[str]) -> None:
    folder = next(SHARED_DUMPS.glob("tpu-v5e-oom-*/*"))
    lines = _advice(capsys, folder, "--budget", "15.75GiB").split("\n")
    assert lines[1:7] == [
        "  The arguments alone take 18.70 GiB, 2.95 GiB more than 15.75GiB. No change to the computation, such as "
        "rematerialization, can make this fit.",
        "    7.48 GiB  12 arrays  state[1]  optimizer state: nothing reads it before the backward pass",
        "    7.48 GiB  12 arrays  state[2]  optimizer state: nothing reads it before the backward pass",
        "    3.74 GiB  12 arrays  state[0]",
        "  Sharded over 2 times as many devices, they take 9.35 GiB. Without the optimizer state, 3.74 GiB remain.",
        "  To fit into 15.75GiB, do 1–2, 4. The peak, recomputed after each: 29.40 GiB, 15.84 GiB, 12.90 GiB.",
    ]
