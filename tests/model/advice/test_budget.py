"""Sets of values to remove for a budget: compared with all sets of small dumps, and on real dumps."""

from collections.abc import Mapping
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from samples import SPLIT, analysis_of, analysis_of_text, on_all_dumps, on_each_dump, slots_text
from xla_lens.model.advice.budget import BudgetPlan, smallest_set
from xla_lens.model.advice.without import live_without, space_slots
from xla_lens.model.analysis import Analysis

_Slot = tuple[int, int, int, int, int]
_SLOTS = st.lists(
    st.tuples(st.integers(0, 1), st.integers(0, 9), st.integers(1, 9), st.integers(0, 9), st.integers(0, 6)),
    min_size=1,
    max_size=9,
)


def _check(analysis: Analysis, plan: BudgetPlan, may_go: list[int] | None = None) -> None:
    """Compare a plan with the live bytes without its values."""
    without = live_without(analysis.dump, plan.color, plan.values)
    assert (plan.peak_bytes, plan.peak_step) == (without.peak_bytes, without.peak_step)
    if plan.is_reached:
        assert without.peak_bytes <= plan.budget_bytes
        assert plan.at_least <= len(plan.values)
        assert len(set(plan.values.tolist())) == len(plan.values)
        assert may_go is None or set(plan.values.tolist()) <= set(may_go)
    else:
        assert not len(plan.values)
        everything = (
            space_slots(analysis.dump, plan.color).slots.value if may_go is None else np.array(may_go, np.int64)
        )
        assert live_without(analysis.dump, plan.color, everything).peak_bytes > plan.budget_bytes


@given(_SLOTS, st.integers(-1, 40), st.one_of(st.none(), st.sets(st.integers(0, 8))))
def test_bounds_enclose_the_smallest_of_all_sets(slots: list[_Slot], budget: int, wanted: set[int] | None) -> None:
    analysis = analysis_of_text(slots_text(slots))
    may_go = [row for row in range(len(slots)) if wanted is None or row in wanted]
    plan = smallest_set(
        analysis.dump, analysis.memory, 0, budget, None if wanted is None else np.array(may_go, np.int64)
    )
    assert plan
    _check(analysis, plan, may_go)
    smallest = next(
        (
            count
            for count in range(len(may_go) + 1)
            for chosen in combinations(may_go, count)
            if live_without(analysis.dump, 0, np.array(chosen, np.int64)).peak_bytes <= budget
        ),
        None,
    )
    assert plan.is_reached == (smallest is not None)
    if smallest is not None:
        assert plan.at_least <= smallest <= len(plan.values)


@on_each_dump
@pytest.mark.parametrize("share", [0.95, 0.7, 0.3, 0.0])
def test_plans_reach_the_budget(path: Path, share: float) -> None:
    analysis = analysis_of(path)
    for space in analysis.memory.spaces:
        plan = smallest_set(analysis.dump, analysis.memory, space.color, int(space.peak_live_bytes * share))
        assert plan
        assert plan.is_reached
        _check(analysis, plan)


def _check_plans(analysis: Analysis) -> None:
    for space in analysis.memory.spaces:
        plan = smallest_set(analysis.dump, analysis.memory, space.color, space.peak_live_bytes * 9 // 10)
        assert plan
        assert plan.is_reached
        _check(analysis, plan)


@on_all_dumps(_check_plans)
def test_plans_reach_the_budget_on_all_dumps(of_all_dumps: Mapping[str, None]) -> None:
    assert len(of_all_dumps) == 286


def test_nothing_is_removed_if_the_peak_is_within_the_budget() -> None:
    analysis = analysis_of(SPLIT)
    (space,) = analysis.memory.spaces
    plan = smallest_set(analysis.dump, analysis.memory, 0, space.peak_live_bytes)
    assert plan
    assert (plan.is_reached, plan.is_proven_smallest, plan.at_least, len(plan.values)) == (True, True, 0, 0)
    assert (plan.peak_bytes, plan.peak_step) == (space.peak_live_bytes, space.peak_step)
    assert smallest_set(analysis.dump, analysis.memory, 1, 0) is None
