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
from heapq import heapify, heappop, heappush
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from xla_lens.model.memory.edits import EditableSpace, removal
from xla_lens.model.memory.over_time import Memory
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.lookup import distinct, ordered
from xla_lens.syntax.columns import Column


class BudgetPlan(Struct, frozen=True, eq=False):
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
    excess = _excess(edited, budget_bytes, edited.slots.value if candidates is None else candidates)
    values = np.array([*_few_values(edited, excess)], np.int64)
    after = edited.after(removal(values.tolist()))
    is_reached = after.peak_bytes <= budget_bytes
    return BudgetPlan(
        color=color,
        budget_bytes=budget_bytes,
        values=ordered(np.sort(values), -dump.values.size_bytes),
        is_reached=is_reached,
        peak_bytes=after.peak_bytes,
        peak_step=after.peak_step,
        at_least=excess.at_least if is_reached else 0,
    )


def fewest(dump: DumpSet, memory: Memory, color: int, budget_bytes: int) -> int:
    """Return a lower bound on the number of values to remove so that the live bytes stay within a budget."""
    space = memory.space(color)
    if space is None:
        return 0
    edited = EditableSpace(dump, space)
    return _excess(edited, budget_bytes, edited.slots.value).at_least


class _Excess(NamedTuple):
    """The steps at which a memory space exceeds a budget without the values that are `too_big` for it, and by how many
    bytes. Only steps at which a value starts are kept, because the most bytes are live there.

    `rows` are the slots of the other candidates, the biggest first, `sizes` the bytes of all slots. `first` and `last`
    are the places of their steps among `steps`, `last` that behind them. At least `at_least` values must go.
    """

    steps: Column
    excess: Column
    too_big: list[int]
    rows: Column
    sizes: Column
    first: Column
    last: Column
    at_least: int


def _excess(edited: EditableSpace, budget_bytes: int, candidates: Column) -> _Excess:
    slots = edited.slots
    sizes, may_go = slots.end_offset - slots.offset, np.isin(slots.value, candidates)
    is_too_big = sizes > budget_bytes
    too_big: list[int] = slots.value[is_too_big & may_go].tolist()
    steps = distinct(slots.start_step)
    excess = edited.after(removal(too_big)).at_each(steps) - budget_bytes
    steps, excess = steps[excess > 0], excess[excess > 0]
    first, last = steps.searchsorted(slots.start_step), steps.searchsorted(slots.end_step, "right")
    rows = np.flatnonzero(~is_too_big & may_go & (first < last))
    # Of the same size, the one with the most steps over the budget comes first.
    rows = rows[np.lexsort(((first - last)[rows], -sizes[rows]))]
    most = 0
    for number, over in enumerate(excess.tolist()):
        live = rows[(first[rows] <= number) & (number < last[rows])]
        most = max(most, int(sizes[live].cumsum().searchsorted(over)) + 1)
    return _Excess(steps, excess, too_big, rows, sizes, first, last, len(too_big) + most)


def _few_values(edited: EditableSpace, found: _Excess) -> Collection[int]:
    """Return few values to remove, none if removing all candidates is not enough."""
    steps, excess, too_big, rows, sizes, first, last, _ = found
    gone, taken = {*too_big}, list[int]()

    def covered(row: int) -> int:
        """How much of the excess over all steps a value covers."""
        return int(np.clip(excess[first[row] : last[row]], 0, sizes[row]).sum())

    def freed(value: int) -> Column:
        return edited.freed(removal([value]), gone).at_each(steps)

    waiting = [(-covered(row), row) for row in rows.tolist()]
    heapify(waiting)
    while waiting and excess.max(initial=0) > 0:
        row = heappop(waiting)[1]
        # What a value covers only falls, so one that still covers the most is the best one.
        current = -covered(row)
        if waiting and current > waiting[0][0]:
            heappush(waiting, (current, row))
        elif current:
            value = edited.slots.value.item(row)
            excess = excess - freed(value)
            gone.add(value)
            taken.append(row)
    if excess.max(initial=0) > 0:
        return ()
    for row in sorted(taken, key=sizes.item):
        value = edited.slots.value.item(row)
        gone.remove(value)
        with_value = excess + freed(value)
        if with_value.max(initial=0) <= 0:
            excess = with_value
        else:
            gone.add(value)
    return gone
