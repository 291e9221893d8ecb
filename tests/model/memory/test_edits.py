"""Live bytes after edits, peaks without a value, and sets of values to remove for a budget, counted byte by byte."""

from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from byte_by_byte import live_after, peak_after
from samples import SPLIT, analysis_of, analysis_of_text, on_dumps, slots_text
from xla_lens.model.analysis import Analysis
from xla_lens.model.memory.budget import BudgetPlan, smallest_set
from xla_lens.model.memory.edits import EditableSpace, Piece, combined, next_peaks, removal
from xla_lens.model.memory.over_time import covering
from xla_lens.syntax.columns import NONE

MOST_COUNTED = 3000
"""Sets with more values take minutes to count."""

_Slot = tuple[int, int, int, int, int]
_SLOTS = st.lists(
    st.tuples(st.integers(0, 1), st.integers(0, 9), st.integers(1, 9), st.integers(0, 9), st.integers(0, 6)),
    min_size=1,
    max_size=9,
)
_PIECES = st.builds(Piece, st.integers(0, 16), st.integers(0, 16), st.integers(0, 10), st.booleans())
_EDITS = st.dictionaries(st.integers(0, 8), st.lists(_PIECES, max_size=2).map(tuple), max_size=5)


@given(_SLOTS, _EDITS, st.sets(st.integers(0, 8)))
def test_edits_change_the_live_bytes_as_counted(
    slots: list[_Slot], edit: dict[int, tuple[Piece, ...]], gone: set[int]
) -> None:
    analysis = analysis_of_text(slots_text(slots))
    edit = {value: pieces for value, pieces in edit.items() if value < len(slots)}
    gone = {value for value in gone - edit.keys() if value < len(slots)}
    edited = EditableSpace(analysis.dump, analysis.memory.spaces[0])
    live, freed = edited.after(edit), edited.freed(edit, gone)
    counted, before, after = (
        live_after(analysis.dump, 0, one) for one in (edit, removal(gone), dict(edit) | dict(removal(gone)))
    )
    assert {step: live.at(step) for step in counted} == counted
    for step in before.keys() & after.keys():
        assert freed.at(step) == before[step] - after[step]


def test_combined_edits_leave_the_steps_of_all_and_the_product_of_the_parts() -> None:
    """A saved value of 80 bytes that is computed again, in microbatches."""
    saved, parts = {0: (Piece(2, 4, 80), Piece(9, 12, 80))}, {0: (Piece(0, 20, 20),), NONE: (Piece(0, 20, 7),)}
    halves, gone = {0: (Piece(3, 10, 40),), 1: (Piece(5, 6, 8),), NONE: (Piece(1, 2, 5),)}, {1: ()}
    sizes = np.array([80, 16])
    left = combined([saved, parts, halves, gone], sizes)
    assert left == {
        0: (Piece(3, 4, 10), Piece(9, 10, 10)),
        1: (),
        NONE: (Piece(0, 20, 7), Piece(1, 2, 5)),
    }
    assert combined([saved], sizes) == {**saved, NONE: ()}


# ---------------------------------------------------------------- the peak without each value


def _check_next_peaks(analysis: Analysis, most: int) -> None:
    """Compare a limited number of values in each memory space."""
    dump, memory = analysis.dump, analysis.memory
    for space in memory.spaces:
        step = NONE if space.peak_step is None else space.peak_step
        peaks = next_peaks(dump, memory, space.color)
        assert peaks.value.tolist() == covering(dump, step, space.color).tolist()
        for row in range(0, len(peaks), max(1, len(peaks) // most)):
            edit = removal([int(peaks.value[row])])
            next_bytes, next_step = peak_after(dump, space.color, edit)
            assert peaks.next_peak_bytes[row] == next_bytes
            assert peaks.next_peak_step[row] == (NONE if next_step is None else next_step)
            # The peak step is no step of the others if nothing else starts or ends there.
            live = live_after(dump, space.color, edit)
            before = max((other for other in live if other <= step), default=NONE)
            assert peaks.freed_bytes[row] == space.peak_live_bytes - live.get(before, 0)
        assert not len(next_peaks(dump, memory, space.color, top=0).value)
        best = next_peaks(dump, memory, space.color, top=3)
        assert sorted(best.next_peak_bytes.tolist())[:3] == sorted(peaks.next_peak_bytes.tolist())[:3]


@given(_SLOTS)
def test_next_peaks_of_random_slots(slots: list[_Slot]) -> None:
    _check_next_peaks(analysis_of_text(slots_text(slots)), 99)


@on_dumps
def test_next_peaks_of_real_dumps(analysis: Analysis) -> None:
    if len(analysis.dump.values) < MOST_COUNTED:
        _check_next_peaks(analysis, 3)


# ---------------------------------------------------------------- budgets


def _check_plan(analysis: Analysis, plan: BudgetPlan, may_go: list[int]) -> None:
    """Compare a plan with the live bytes without its values."""
    values = plan.values.tolist()
    assert (plan.peak_bytes, plan.peak_step) == peak_after(analysis.dump, plan.color, removal(values))
    if plan.is_reached:
        assert plan.peak_bytes <= plan.budget_bytes
        assert plan.at_least <= len(values) == len({*values})
        assert {*values} <= {*may_go}
    else:
        assert not values
        assert peak_after(analysis.dump, plan.color, removal(may_go))[0] > plan.budget_bytes


@given(_SLOTS, st.integers(-1, 40), st.one_of(st.none(), st.sets(st.integers(0, 8))))
def test_bounds_enclose_the_smallest_of_all_sets(slots: list[_Slot], budget: int, wanted: set[int] | None) -> None:
    analysis = analysis_of_text(slots_text(slots))
    may_go = [row for row in range(len(slots)) if wanted is None or row in wanted]
    candidates = None if wanted is None else np.array(may_go, np.int64)
    plan = smallest_set(analysis.dump, analysis.memory, 0, budget, candidates)
    assert plan
    _check_plan(analysis, plan, may_go)
    sizes = (
        count
        for count in range(len(may_go) + 1)
        for chosen in combinations(may_go, count)
        if peak_after(analysis.dump, 0, removal(chosen))[0] <= budget
    )
    smallest = next(sizes, None)
    assert plan.is_reached == (smallest is not None)
    assert smallest is None or plan.at_least <= smallest <= len(plan.values)


@on_dumps
def test_plans_reach_the_budget(analysis: Analysis) -> None:
    for space in analysis.memory.spaces if len(analysis.dump.values) < MOST_COUNTED else ():
        for share in (0.9, 0.3):
            plan = smallest_set(analysis.dump, analysis.memory, space.color, int(space.peak_live_bytes * share))
            assert plan
            assert plan.is_reached
            _check_plan(analysis, plan, list(range(len(analysis.dump.values))))


def test_nothing_is_removed_if_the_peak_is_within_the_budget() -> None:
    analysis = analysis_of(SPLIT)
    (space,) = analysis.memory.spaces
    plan = smallest_set(analysis.dump, analysis.memory, 0, space.peak_live_bytes)
    assert plan
    assert (plan.is_reached, plan.is_proven_smallest, plan.at_least, len(plan.values)) == (True, True, 0, 0)
    assert (plan.peak_bytes, plan.peak_step) == (space.peak_live_bytes, space.peak_step)
    assert smallest_set(analysis.dump, analysis.memory, 1, 0) is None
