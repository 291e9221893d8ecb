"""`xla-lens advise`: the wording of actions and of budgets, and that all formats agree."""

import json
from typing import Any

import pytest

from commands import printed
from samples import TPU


def _json(*arguments: object) -> Any:
    (one,) = json.loads(printed("advise", *arguments, "--output-format", "json"))
    return one["advice"]


@pytest.mark.parametrize(("budget", "peaks"), [("9MiB", [8389632]), ("6MiB", [8389632]), ("1GiB", [])])
def test_json_has_the_action_and_the_budget(budget: str, peaks: list[int]) -> None:
    found = _json(TPU, "--budget", budget)
    (action,) = found["actions"]
    assert (action["rule"], action["saved_bytes"], action["buffers"][0]["values"]) == ("donate", 4193280, [13])
    assert (found["budget"]["is_reached"], found["budget"]["peak_bytes"]) == (budget != "6MiB", peaks)
