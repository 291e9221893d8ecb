"""The smallest set of values without which a memory space stays within a budget.

In general that is a hard problem: at each step that is over the budget, enough of the values live there must go, and
each goes at all of its steps. Those that are bigger than the budget by themselves must go. Of the others goes the one
that covers most of all excess, over all steps, again and again; or, at the highest step, the one that alone covers the
most bytes, again and again; and what need not go comes back. At each step it takes at least as many as the biggest
there that make up for the excess. If the smaller of the two sets has more than that, a search follows that leaves
nothing out: it finds a smaller set or tells that there is none, as long as that does not take too many attempts. After
that, single values are tried in place of two.
"""

from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import Final

import numpy as np
from numpy.typing import NDArray

from xla_lens.model.advice.over_budget import Problem, State
from xla_lens.model.advice.without import live_without, space_slots
from xla_lens.model.memory.over_time import Memory
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.syntax.columns import Column

ATTEMPTS: Final = 2000
"""How many sets the search looks at."""

_PAIRS: Final = 300
"""How many pairs of values are tried for one that stands for both."""

_MANY: Final = 1000
"""For a set of more values than that only the first way is tried."""

_LOOKED_AT: Final = 8
"""How many values, the biggest, are looked at more closely in one place."""


@dataclass(frozen=True, slots=True, eq=False)
class BudgetPlan:
    """A set of values without which the live bytes of a memory space stay within a budget at all steps.

    `values` are in the order of their sizes, the biggest first; none if the peak is within the budget already, or if
    it cannot be reached, which `is_reached` tells: not even without all values that may go. Without `values` the peak
    is `peak_bytes`, first at `peak_step`, None if nothing is live any more. Fewer than `at_least` values are not
    enough.
    """

    color: int
    budget_bytes: int
    values: Column
    is_reached: bool
    peak_bytes: int
    peak_step: int | None
    at_least: int

    @property
    def is_proven_smallest(self) -> bool:
        """Whether no smaller set would do."""
        return self.is_reached and len(self.values) == self.at_least


def smallest_set(
    dump: DumpSet, memory: Memory, color: int, budget_bytes: int, candidates: Column | None = None
) -> BudgetPlan | None:
    """The fewest values that must go for a memory space to stay within a budget, as far as can be told; of
    `candidates`, or of all. None if there is no such memory space.
    """
    space = memory.space(color)
    if space is None:
        return None
    slots = space_slots(dump, color)
    is_too_big = slots.slots.end_offset - slots.slots.offset > budget_bytes
    too_big = slots.slots.value[is_too_big]
    if len(too_big):
        slots = space_slots(dump, color, too_big)
    live = live_without(dump, color, too_big) if len(too_big) else space.live
    may_go = slots.slots.value if candidates is None else candidates
    rows, at_least = _solved(Problem(slots, live, budget_bytes, may_go))
    may_all_go = candidates is None or bool(np.all(np.isin(too_big, candidates)))
    values = np.zeros(0, np.int64)
    if rows is not None and may_all_go and budget_bytes >= 0:
        values = np.append(too_big, slots.slots.value[rows])
    without = live_without(dump, color, values) if len(values) else space.live
    is_reached = without.peak_bytes <= budget_bytes
    return BudgetPlan(
        color=color,
        budget_bytes=budget_bytes,
        values=values[np.lexsort((values, -dump.values.size_bytes[values]))],
        is_reached=is_reached,
        peak_bytes=without.peak_bytes,
        peak_step=without.peak_step,
        at_least=len(too_big) + at_least if is_reached else 0,
    )


def _solved(problem: Problem) -> tuple[list[int] | None, int]:
    """The rows of a set and how few could be enough; no set if all that may go are not enough."""
    start = State.of(problem)
    if start.is_done:
        return [], 0
    at_least = problem.at_least()
    best = _by_excess(start)
    if at_least is None or best is None:
        return None, 0
    best = _thinned(best)
    if at_least < len(best.gone) <= _MANY:
        other = _by_highest_step(start)
        best = min(best, _thinned(other) if other else best, key=lambda state: len(state.gone))
    attempts = [ATTEMPTS]
    while at_least < len(best.gone) and attempts[0] > 0:
        smaller = _search(start, at_least, attempts, np.zeros(len(problem), bool))
        if smaller:
            best = smaller
        elif attempts[0] > 0:
            at_least += 1
    if at_least < len(best.gone):
        best = _thinned(_paired(best))
    return sorted(best.gone), at_least


# ---------------------------------------------------------------- ways to a set


def _by_highest_step(start: State) -> State | None:
    """Lets the value go that frees the most at the highest step, until all is within the budget."""
    state, problem = start.copy(), start.problem
    while not state.is_done:
        number, best = state.worst, (-1, -1)
        live = problem.live_at(number, problem.may_go & ~state.is_gone)[:_LOOKED_AT]
        for row, size in zip(live.tolist(), problem.sizes[live].tolist(), strict=True):
            if best[0] >= size:
                break
            # The first of several that free as much: the biggest.
            best = max(best, (state.freed_at(row, number), row), key=lambda pair: pair[0])
        if best[1] < 0:
            return None
        state.remove(best[1])
    return state


def _by_excess(start: State) -> State | None:
    """Lets the value go that covers the most excess of all steps, until all is within the budget."""
    state, problem = start.copy(), start.problem

    def gain(row: int) -> int:
        excess = state.excess[problem.first[row] : problem.last[row]]
        return int(np.clip(excess, 0, problem.sizes[row]).sum())

    waiting = [(-gain(row), row) for row in np.flatnonzero(problem.may_go).tolist()]
    heapify(waiting)
    while not state.is_done:
        if not waiting:
            return None
        row = heappop(waiting)[1]
        # Gains only fall: what still has the greatest when it is looked at again has it.
        current = -gain(row)
        if waiting and current > waiting[0][0]:
            if current:
                heappush(waiting, (current, row))
            continue
        state.remove(row)
    return state


# ---------------------------------------------------------------- making it smaller


def _thinned(state: State) -> State:
    """Takes values back that need not go, the smallest first."""
    for row in sorted(state.gone, key=lambda row: int(state.problem.sizes[row])):
        state.restore(row)
        if not state.is_done:
            state.remove(row)
    return state


def _paired(state: State) -> State:
    """Looks for one value to go in place of two."""
    tried, problem = 0, state.problem
    gone = sorted(state.gone, key=lambda row: int(problem.sizes[row]))
    for number, one in enumerate(gone):
        for other in gone[number + 1 :]:
            if tried >= _PAIRS or not (state.is_gone[one] and state.is_gone[other]):
                break
            tried += 1
            state.restore(one)
            state.restore(other)
            instead = _single(state)
            for row in [one, other] if instead is None else [instead]:
                state.remove(row)
    return state


def _single(state: State) -> int | None:
    """A value without which all is within the budget."""
    problem, over = state.problem, np.flatnonzero(state.excess > 0)
    if not len(over):
        return None
    fits = problem.may_go & ~state.is_gone & (problem.last > over[-1])
    for row in problem.live_at(int(over[0]), fits)[:_LOOKED_AT].tolist():
        state.remove(row)
        is_done = state.is_done
        state.restore(row)
        if is_done:
            return int(row)
    return None


def _search(state: State, most: int, attempts: list[int], excluded: NDArray[np.bool_]) -> State | None:
    """A set of not more than some values more, None if there is none or the attempts are used up.

    Among them must be one that is live at the highest step and has its share of the excess there. One that was tried
    is excluded from then on; and so is each that is live only when a bigger one is that shares its bytes with none,
    as that could stand for it.
    """
    if state.is_done:
        return state
    if not most or attempts[0] <= 0:
        return None
    problem, number = state.problem, state.worst
    share, excluded = -(-int(state.excess[number]) // most), excluded.copy()
    live = problem.live_at(number, problem.may_go & ~state.is_gone & ~excluded)
    if problem.sizes[live[:most]].sum() < state.excess[number]:
        return None
    tried: list[int] = []
    for row in live[problem.sizes[live] >= share].tolist():
        if any(problem.first[one] <= problem.first[row] and problem.last[row] <= problem.last[one] for one in tried):
            excluded[row] = True
            continue
        attempts[0] -= 1
        after = state.copy()
        after.remove(row)
        found = _search(after, most - 1, attempts, excluded)
        if found or attempts[0] <= 0:
            return found
        excluded[row] = True
        if problem.is_alone(row):
            tried.append(row)
    return None
