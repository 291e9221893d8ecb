"""`xla-lens advise`: the wording of actions and of budgets, and that all formats agree."""

import json
from typing import Any

import pytest

from commands import printed
from samples import SHARED_DUMPS, SPLIT, TPU, needs_shared_dumps


def _advice(*arguments: object) -> str:
    """What is printed below the answer and the head."""
    return printed("advise", *arguments).split("\n\n", 2)[2].rstrip("\n")


def _json(*arguments: object) -> Any:
    (one,) = json.loads(printed("advise", *arguments, "--output-format", "json"))
    return one["advice"]


def test_actions_have_buffers_peaks_and_a_certainty() -> None:
    assert (
        _advice(TPU)
        == """\
What would lower the HBM peak (now 12.00 MiB, needed 12.05 MiB)
   #     saves  needed then  peak then  at step  certainty  what to do
  1.  4.00 MiB     8.05 MiB   8.00 MiB        3  proven     Donate these arguments: the caller keeps them, so outputs \
of the same shape need other memory (donate)
                                                              4.00 MiB  1 × f32[1024,1024]  x  x.1
  Each row is recomputed from the live ranges for that action alone. What is needed but not live at the peak is taken \
to stay, except for outputs that donation saves. `xla-lens explain donate` explai…"""
    )
    (action,) = _json(TPU)["actions"]
    assert (action["rule"], action["saved_bytes"], action["buffers"][0]["values"]) == ("donate", 4193280, [13])


def test_nothing_to_do_is_said() -> None:
    now = "now 4.21 MiB, needed 4.21 MiB + 56 B"
    assert _advice(SPLIT) == f"What would lower the host memory peak ({now}): none of the rules finds anything"


@pytest.mark.parametrize(
    ("budget", "words"),
    [
        ("9MiB", "To fit into 9 MiB, do 1. Needed after each, recomputed: 8.05 MiB."),
        ("6MiB", "Needed after each of 1, recomputed: 8.05 MiB. That is still 2.05 MiB more than 6 MiB."),
        ("1GiB", "The program fits into 1 GiB already."),
    ],
)
def test_budget_that_is_reached_missed_or_not_needed(budget: str, words: str) -> None:
    assert _advice(TPU, "--budget", budget).split("\n")[1].strip() == words
    found = _json(TPU, "--budget", budget)["budget"]
    assert found["is_reached"] is (budget != "6MiB")
    assert found["peak_bytes"] == ([] if budget == "1GiB" else [8389632])


@needs_shared_dumps
def test_arguments_that_exceed_the_budget_come_first() -> None:
    folder = next(SHARED_DUMPS.glob("tpu-v5e-oom-*/*"))
    lines = _advice(folder, "--budget", "15.75GiB").split("\n")
    assert lines[1:7] == [
        "  The arguments alone take 18.70 GiB, 2.95 GiB more than 15.75 GiB.",
        "    7.48 GiB  12 arrays  state[1]  optimizer state: nothing reads it before the backward pass",
        "    7.48 GiB  12 arrays  state[2]  optimizer state: nothing reads it before the backward pass",
        "    3.74 GiB  12 arrays  state[0]",
        "  Sharded over 2 times as many devices, they take 9.35 GiB. Without the optimizer state, 3.74 GiB remain.",
        "  To fit into 15.75 GiB, do 1–2, 4. Needed after each, recomputed: 29.41 GiB, 15.84 GiB, 12.91 GiB.",
    ]
