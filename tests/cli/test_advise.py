"""`xla-lens advise`: the wording of actions and of budgets, and that all formats agree."""

import json
from typing import Any

import pytest

from commands import printed
from samples import SHARED_DUMPS, TPU, needs_shared_dumps


def _advice(*arguments: object) -> str:
    """What is printed below the answer and the head."""
    return printed("advise", *arguments).split("\n\n", 2)[2].rstrip("\n")


def _json(*arguments: object) -> Any:
    (one,) = json.loads(printed("advise", *arguments, "--output-format", "json"))
    return one["advice"]


@pytest.mark.parametrize(("budget", "peaks"), [("9MiB", [8389632]), ("6MiB", [8389632]), ("1GiB", [])])
def test_json_has_the_action_and_the_budget(budget: str, peaks: list[int]) -> None:
    found = _json(TPU, "--budget", budget)
    (action,) = found["actions"]
    assert (action["rule"], action["saved_bytes"], action["buffers"][0]["values"]) == ("donate", 4193280, [13])
    assert (found["budget"]["is_reached"], found["budget"]["peak_bytes"]) == (budget != "6MiB", peaks)


@needs_shared_dumps
def test_arguments_that_exceed_the_budget_come_first() -> None:
    folder = next(SHARED_DUMPS.glob("tpu-v5e-oom-*/*"))
    lines = _advice(folder, "--budget", "15.75GiB").split("\n")
    assert lines[1:7] == [
        "  The arguments alone take 18.70 GiB, 2.95 GiB more than 15.75 GiB. No change to the computation, such as "
        "rematerialization, can make this fit.",
        "    7.48 GiB  12 arrays  state[1]  optimizer state: nothing reads it before the backward pass",
        "    7.48 GiB  12 arrays  state[2]  optimizer state: nothing reads it before the backward pass",
        "    3.74 GiB  12 arrays  state[0]",
        "  Sharded over 2 times as many devices, they take 9.35 GiB. Without the optimizer state, 3.74 GiB remain.",
        "  Each is recomputed from the live ranges for that action alone; XLA will schedule the changed program anew.",
    ]
