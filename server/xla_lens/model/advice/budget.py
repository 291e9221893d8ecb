"""A small set of values to remove so that a memory space stays within a budget at all steps.

The smallest such set is hard to find in general: each step over the budget needs enough of the values live there to
go, and a value goes from all of its steps at once. So the set is found greedily, and a lower bound shows how far it can
be from the smallest one:

- Values that are bigger than the budget must go.
- Of the others, the value that covers the most excess over all steps goes first. Values that turn out not to be needed
  come back.
- At each step, at least as many values must go as it takes of the biggest ones there to make up for the excess.
"""

from collections.abc import Collection
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

import numpy as np

from xla_lens.model.advice.edits import EditableSpace, removal
from xla_lens.model.memory.over_time import Memory
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.syntax.columns import Column


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
    edited = EditableSpace(dump, space)
    excess = _Excess(edited, budget_bytes, edited.slots.value if candidates is None else candidates)
    at_least = excess.lower_bound()
    values = np.array([*_few_values(excess)], np.int64)
    after = edited.after(removal(values.tolist()))
    is_reached = after.peak_bytes <= budget_bytes
    return BudgetPlan(
        color=color,
        budget_bytes=budget_bytes,
        values=values[np.lexsort((values, -dump.values.size_bytes[values]))],
        is_reached=is_reached,
        peak_bytes=after.peak_bytes,
        peak_step=after.peak_step,
        at_least=at_least if is_reached else 0,
    )


def fewest(dump: DumpSet, memory: Memory, color: int, budget_bytes: int) -> int:
    """Return a lower bound on the number of values to remove so that the live bytes stay within a budget."""
    space = memory.space(color)
    if space is None:
        return 0
    edited = EditableSpace(dump, space)
    return _Excess(edited, budget_bytes, edited.slots.value).lower_bound()


class _Excess:
    """The bytes over the budget at each step, while values are removed and restored. Values are rows of slots.

    Steps are numbered; only those are kept at which a value starts, because the most bytes are live there.
    """

    def __init__(self, edited: EditableSpace, budget_bytes: int, candidates: Column) -> None:
        self.edited, slots = edited, edited.slots
        self.sizes, may_go = slots.end_offset - slots.offset, np.isin(slots.value, candidates)
        is_too_big = self.sizes > budget_bytes
        self.too_big: list[int] = slots.value[is_too_big & may_go].tolist()
        self.gone = set(self.too_big)
        steps = np.unique(slots.start_step)
        excess = edited.after(removal(self.too_big)).at_each(steps) - budget_bytes
        self.steps, self.excess = steps[excess > 0], excess[excess > 0]
        self.first = self.steps.searchsorted(slots.start_step)
        self.last = self.steps.searchsorted(slots.end_step, "right")
        rows = np.flatnonzero(~is_too_big & may_go & (self.first < self.last))
        # The biggest first; of the same size, the one with the most steps over the budget.
        self.candidates = rows[np.lexsort(((self.first - self.last)[rows], -self.sizes[rows]))]

    @property
    def is_within_budget(self) -> bool:
        """Whether no step is over the budget."""
        return int(self.excess.max(initial=0)) <= 0

    def lower_bound(self) -> int:
        """Return how many values must go: the ones that are too big, and as many as the step needs that needs most."""
        most, rows = 0, self.candidates
        for number, over in enumerate(self.excess.tolist()):
            live = rows[(self.first[rows] <= number) & (number < self.last[rows])]
            most = max(most, int(self.sizes[live].cumsum().searchsorted(over)) + 1)
        return len(self.too_big) + most

    def value(self, row: int) -> int:
        """Return the value of a row."""
        return self.edited.slots.value.item(row)

    def remove(self, row: int) -> None:
        """Remove a value."""
        self.excess -= self.edited.freed(removal([self.value(row)]), self.gone).at_each(self.steps)
        self.gone.add(self.value(row))

    def restore(self, row: int) -> None:
        """Bring a value back if the live bytes stay within the budget."""
        self.gone.discard(self.value(row))
        excess = self.excess + self.edited.freed(removal([self.value(row)]), self.gone).at_each(self.steps)
        if excess.max(initial=0) <= 0:
            self.excess = excess
        else:
            self.gone.add(self.value(row))

    def covered(self, row: int) -> int:
        """Return how much of the excess over all steps a value covers."""
        excess = self.excess[self.first[row] : self.last[row]]
        return int(np.minimum(np.maximum(excess, 0), self.sizes[row]).sum())


def _few_values(excess: _Excess) -> Collection[int]:
    """Return few values to remove, none if removing all candidates is not enough."""
    taken: list[int] = []
    waiting = [(-excess.covered(row), row) for row in excess.candidates.tolist()]
    heapify(waiting)
    while waiting and not excess.is_within_budget:
        row = heappop(waiting)[1]
        # What a value covers only falls, so one that still covers the most is the best one.
        current = -excess.covered(row)
        if waiting and current > waiting[0][0]:
            heappush(waiting, (current, row))
        elif current:
            excess.remove(row)
            taken.append(row)
    if not excess.is_within_budget:
        return ()
    for row in sorted(taken, key=excess.sizes.item):
        excess.restore(row)
    return excess.gone
