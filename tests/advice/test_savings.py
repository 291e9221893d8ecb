"""Advice that an experienced engineer gives first: each rule on a dump that has it, and on one that looks like it.

The dumps are those of programs of `make prove`, and `dumps/padded_dimension_v5e` is from a user. The numbers
beside each are what the changed program needs, compiled again.
"""

from functools import cache
from pathlib import Path

import pytest

from xla_lens.advice.actions import Action
from xla_lens.advice.advise import advise
from xla_lens.advice.codes import Rule
from xla_lens.api import load, load_module

MIB = 1 << 20
_DUMPS = Path(__file__).parent / "dumps"

SAVINGS = {Rule.LOOP_STATE, Rule.LOOP_OUTPUTS, Rule.PADDED_DIMENSION, Rule.UNROLLED_LOOP}


@cache
def _actions(name: str) -> dict[Rule, Action]:
    (path,) = (_DUMPS / name).glob("*-buffer-assignment.txt")
    advice = advise(load(path), load_module(path))
    assert advice
    return {action.rule: action for action in advice.actions}


@pytest.mark.parametrize(
    ("name", "rule", "needed_after"),
    [
        ("loop_state_cpu", Rule.LOOP_STATE, 256.03),
        ("loop_outputs_cpu", Rule.LOOP_OUTPUTS, 0.09),
        ("unrolled_loop_cpu", Rule.UNROLLED_LOOP, 128.28),
        ("padded_dimension_v5e", Rule.PADDED_DIMENSION, 280.03),
    ],
)
def test_a_rule_predicts_what_the_changed_program_needs(name: str, rule: Rule, needed_after: float) -> None:
    action = _actions(name)[rule]
    now = action.needed_bytes + action.saved_needed_bytes
    actual = now - needed_after * MIB
    assert actual / 1.1 <= action.saved_needed_bytes <= actual * 1.1


@pytest.mark.parametrize(
    "name",
    [
        "loop_state_trap_cpu",
        "loop_outputs_trap_cpu",
        "unrolled_loop_trap_cpu",
        "padded_dimension_trap_v5e",
        "padded_dimension_wide_trap_v5e",
        "padded_dimension_order_trap_v5e",
    ],
)
def test_what_looks_like_it_gets_no_advice(name: str) -> None:
    assert not _actions(name).keys() & SAVINGS
