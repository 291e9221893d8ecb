"""A small set of values to remove so that a memory space stays within a budget at all steps.

The smallest such set is hard to find in general: each step over the budget needs enough of the values live there to
go, and a value goes from all of its steps at once. So the set is found greedily, and a lower bound shows how far it can
be from the smallest one:

- Values that are bigger than the budget must go.
- Of the others, the value that covers the most excess over all steps goes first; or, in a second attempt, the value
  that frees the most bytes at the highest step. Values that turn out not to be needed come back. The smaller of the two
  sets is the answer.
- At each step, at least as many values must go as it takes of the biggest ones there to make up for the excess.
"""

from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import Final

import numpy as np

from xla_lens.model.advice.without import SpaceSlots, live_without, space_slots
from xla_lens.model.memory.over_time import LiveBytes, Memory, MemorySpace
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.syntax.columns import Column

_CANDIDATES_PER_STEP: Final = 8
"""Number of values, the biggest, that the second attempt compares at a step."""


_SECOND_ATTEMPT_LIMIT: Final = 200
"""Maximum size of the first set for which there is a second attempt, which is slower."""


@dataclass(frozen=True, slots=True, eq=False)
class BudgetPlan:
    """Values to remove so that the live bytes of a memory space stay within a budget at all steps.

    `values` are sorted by size, the biggest first. They are empty if the peak is within the budget already, and if the
    budget cannot be reached even without all candidates (`is_reached` is false). Without `values` the peak is
    `peak_bytes`, first at `peak_step`, None if nothing is live then. Fewer than `at_least` values cannot suffice.
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
        """Whether no smaller set suffices."""
        return self.is_reached and len(self.values) == self.at_least


def smallest_set(
    dump: DumpSet, memory: Memory, color: int, budget_bytes: int, candidates: Column | None = None
) -> BudgetPlan | None:
    """Find few values, out of `candidates` or of all, whose removal brings a memory space within a budget. None if
    there is no such memory space.
    """
    space = memory.space(color)
    if space is None:
        return None
    too_big, excess = _start(dump, space, budget_bytes, candidates)
    at_least, rows = excess.lower_bound(), _few_rows(excess)
    may_all_go = candidates is None or bool(np.all(np.isin(too_big, candidates)))
    values = np.zeros(0, np.int64)
    if rows is not None and may_all_go and budget_bytes >= 0:
        values = np.append(too_big, excess.slots.slots.value[rows])
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


def fewest(dump: DumpSet, memory: Memory, color: int, budget_bytes: int) -> int:
    """Return a lower bound on the number of values to remove so that the live bytes stay within a budget."""
    space = memory.space(color)
    if space is None:
        return 0
    too_big, excess = _start(dump, space, budget_bytes, None)
    return len(too_big) + excess.lower_bound()


def _start(dump: DumpSet, space: MemorySpace, budget_bytes: int, candidates: Column | None) -> tuple[Column, "_Excess"]:
    """The values that are bigger than the budget, and the excess without them."""
    slots, live = space_slots(dump, space.color), space.live
    too_big = slots.slots.value[slots.slots.end_offset - slots.slots.offset > budget_bytes]
    if len(too_big):
        slots, live = space_slots(dump, space.color, too_big), live_without(dump, space.color, too_big)
    return too_big, _Excess(slots, live, budget_bytes, slots.slots.value if candidates is None else candidates)


class _Excess:
    """The bytes over the budget at each step, while values, rows of `slots`, are removed and restored.

    Steps are numbered. Only those are kept at which a value starts, and another one ends before the next value starts:
    the live values of any other step are a subset of those of a kept one.
    """

    def __init__(self, slots: SpaceSlots, live: LiveBytes, budget_bytes: int, candidates: Column) -> None:
        self.slots, table = slots, slots.slots
        starts, ends = np.unique(table.start_step), np.unique(table.end_step + 1)
        following = np.append(starts[1:], np.iinfo(np.int64).max)
        steps = starts[ends.searchsorted(starts, "right") < ends.searchsorted(following, "right")]
        excess = live.at_each(steps) - budget_bytes
        self.steps, self.excess = steps[excess > 0], excess[excess > 0]
        self.first = self.steps.searchsorted(table.start_step)
        self.last = self.steps.searchsorted(table.end_step, "right")
        self.sizes = table.end_offset - table.offset
        may_go = np.flatnonzero(np.isin(table.value, candidates) & (self.first < self.last))
        # The biggest first; of the same size, the one with the most steps over the budget.
        self.candidates = may_go[np.lexsort(((self.first - self.last)[may_go], -self.sizes[may_go]))]
        self.is_gone = np.zeros(len(slots), bool)
        self._beside: dict[int, Column] = {}

    @property
    def is_within_budget(self) -> bool:
        """Whether no step is over the budget."""
        return not len(self.excess) or int(self.excess.max()) <= 0

    def live_candidates(self, number: int) -> Column:
        """The candidates that are live at a step and not removed, the biggest first."""
        rows = self.candidates
        live: Column = rows[(self.first[rows] <= number) & (number < self.last[rows]) & ~self.is_gone[rows]]
        return live

    def lower_bound(self) -> int:
        """Return how many candidates must go at the step that needs the most."""
        sums = (self.sizes[self.live_candidates(number)].cumsum() for number in range(len(self.steps)))
        return max((int(sum_.searchsorted(over)) + 1 for sum_, over in zip(sums, self.excess, strict=True)), default=0)

    def change(self, row: int, sign: int) -> None:
        """Remove a value (-1) or restore it (1)."""
        self.is_gone[row] = False
        steps, live_bytes = self.exclusive(row)
        numbers = self.steps.searchsorted(steps).tolist()
        for first, last, size in zip(numbers, numbers[1:], live_bytes.tolist(), strict=False):
            self.excess[first:last] += sign * size
        self.is_gone[row] = sign < 0

    def exclusive(self, row: int) -> tuple[Column, Column]:
        """Return the bytes that only this value covers: steps, and from each of them the number of bytes."""
        if row not in self._beside:
            self._beside[row] = self.slots.beside(row)
        beside = self._beside[row]
        found = self.slots.exclusive(np.array([row]), [beside[~self.is_gone[beside]]])
        return found.steps, found.live_bytes

    def freed_at(self, row: int, number: int) -> int:
        """Return the bytes that removing a value frees at a step."""
        return LiveBytes(*self.exclusive(row)).at(int(self.steps[number]))


def _few_rows(excess: _Excess) -> list[int] | None:
    """Return the rows of few values to remove, None if removing all candidates is not enough."""
    before = excess.excess.copy()
    found: list[list[int]] = []
    for choose in (_by_all_steps, _by_highest_step):
        if found and len(found[0]) > _SECOND_ATTEMPT_LIMIT:
            break
        gone = choose(excess)
        if excess.is_within_budget:
            found.append(_needed(excess, gone))
        excess.excess[:], excess.is_gone[:] = before, False
    return min(found, key=len, default=None)


def _by_all_steps(excess: _Excess) -> list[int]:
    """Remove the value that covers the most excess of all steps, until all steps are within the budget."""

    def gain(row: int) -> int:
        covered = excess.excess[excess.first[row] : excess.last[row]]
        return int(np.minimum(np.maximum(covered, 0), excess.sizes[row]).sum())

    gone: list[int] = []
    waiting = [(-gain(row), row) for row in excess.candidates.tolist()]
    heapify(waiting)
    while waiting and not excess.is_within_budget:
        row = heappop(waiting)[1]
        # Gains only fall, so a value that still has the greatest gain is the best one.
        current = -gain(row)
        if waiting and current > waiting[0][0]:
            if current:
                heappush(waiting, (current, row))
            continue
        excess.change(row, -1)
        gone.append(row)
    return gone


def _by_highest_step(excess: _Excess) -> list[int]:
    """Remove the value that frees the most bytes at the highest step, until all steps are within the budget."""
    gone: list[int] = []
    while not excess.is_within_budget:
        number = int(excess.excess.argmax())
        live = excess.live_candidates(number)[:_CANDIDATES_PER_STEP].tolist()
        if not live:
            break
        gone.append(max(live, key=lambda row: excess.freed_at(row, number)))
        excess.change(gone[-1], -1)
    return gone


def _needed(excess: _Excess, gone: list[int]) -> list[int]:
    """Restore values that need not go, the smallest first. Return the others."""
    needed = []
    for row in sorted(gone, key=lambda row: int(excess.sizes[row])):
        excess.change(row, 1)
        if not excess.is_within_budget:
            excess.change(row, -1)
            needed.append(row)
    return needed
