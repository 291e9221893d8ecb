"""The steps at which a memory space is over a budget, and by how much when some of its values are gone."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from xla_lens.model.advice.without import SpaceSlots
from xla_lens.model.memory.over_time import LiveBytes
from xla_lens.syntax.columns import Column


class Problem:
    """The steps that are over the budget, and the values that may go. Steps are numbered; of those at which the same
    values are live, or fewer than at another one, only one is there.
    """

    def __init__(self, space: SpaceSlots, live: LiveBytes, budget_bytes: int, candidates: Column | None) -> None:
        self.space, self.slots = space, space.slots
        births, deaths = np.unique(self.slots.start_step), np.unique(self.slots.end_step + 1)
        # A step counts only if something is born at it, and something dies before anything else is born.
        after = np.append(births[1:], np.iinfo(np.int64).max)
        is_last = deaths.searchsorted(births, "right") < deaths.searchsorted(after, "right")
        steps = births[is_last]
        excess = live.at_each(steps) - budget_bytes
        self.steps, self.excess = steps[excess > 0], excess[excess > 0]
        self.first = self.steps.searchsorted(self.slots.start_step)
        self.last = self.steps.searchsorted(self.slots.end_step, "right")
        self.sizes = self.slots.end_offset - self.slots.offset
        may_go = np.ones(len(self), bool) if candidates is None else np.isin(self.slots.value, candidates)
        self.may_go = may_go & (self.first < self.last)
        self._beside: dict[int, Column] = {}

    def __len__(self) -> int:
        return len(self.slots.value)

    def live_at(self, number: int, of: NDArray[np.bool_]) -> Column:
        """The rows of the values live at a step, by its number: the biggest first, and of those that are as big the
        ones with the most steps over the budget.
        """
        rows = np.flatnonzero(of & (self.first <= number) & (number < self.last))
        by_size: Column = rows[np.lexsort((self.first[rows] - self.last[rows], -self.sizes[rows]))]
        return by_size

    def is_alone(self, row: int) -> bool:
        """Whether a value shares its bytes with no other at any time."""
        return not len(self.beside(row))

    def beside(self, row: int) -> Column:
        """The rows of the values that share bytes with another at some step."""
        if row not in self._beside:
            self._beside[row] = self.space.beside(row)
        return self._beside[row]

    def at_least(self) -> int | None:
        """How many of the biggest values live there it takes at the step that takes the most. None if all of them are
        not enough.
        """
        rows = np.flatnonzero(self.may_go)
        rows = rows[np.argsort(-self.sizes[rows], kind="stable")]
        numbers = np.concatenate((self.first[rows], self.last[rows]))
        changes = np.argsort(numbers, kind="stable").tolist()
        biggest, sizes, at_least, done = _Biggest(len(rows)), self.sizes[rows].tolist(), 0, 0
        ordered = np.sort(numbers)
        for number, excess in enumerate(self.excess.tolist()):
            until = int(ordered.searchsorted(number, "right"))
            for change in changes[done:until]:
                place, sign = change % len(rows), 1 if change < len(rows) else -1
                biggest.add(place, sign * sizes[place], sign)
            done = until
            count = biggest.needed(excess)
            if count is None:
                return None
            at_least = max(at_least, count)
        return at_least


class _Biggest:
    """Numbers by their ranks, in a Fenwick tree: how many of the first make up a sum."""

    def __init__(self, count: int) -> None:
        self.sums, self.counts, self.top = [0] * (count + 1), [0] * (count + 1), 1 << count.bit_length()

    def add(self, rank: int, size: int, count: int) -> None:
        """Adds a number of a rank, or takes it away."""
        place = rank + 1
        while place < len(self.sums):
            self.sums[place] += size
            self.counts[place] += count
            place += place & -place

    def needed(self, total: int) -> int | None:
        """How many of the first make up a sum, None if all do not."""
        place, count, step = 0, 0, self.top
        while step:
            after = place + step
            if after < len(self.sums) and self.sums[after] < total:
                place, count, total = after, count + self.counts[after], total - self.sums[after]
            step >>= 1
        return count + 1 if place + 1 < len(self.sums) else None


@dataclass(slots=True, eq=False)
class State:
    """Some values gone, and what is still in excess at each step."""

    problem: Problem
    gone: list[int]
    is_gone: NDArray[np.bool_]
    excess: Column

    @classmethod
    def of(cls, problem: Problem) -> "State":
        """Nothing is gone yet."""
        return cls(problem, [], np.zeros(len(problem), bool), problem.excess.copy())

    def copy(self) -> "State":
        """The same, to go on from."""
        return State(self.problem, self.gone.copy(), self.is_gone.copy(), self.excess.copy())

    @property
    def is_done(self) -> bool:
        """Whether all steps are within the budget."""
        return not len(self.excess) or int(self.excess.max()) <= 0

    @property
    def worst(self) -> int:
        """The number of the highest step."""
        return int(self.excess.argmax())

    def remove(self, row: int) -> None:
        """Lets a value go."""
        self._change(row, -1)
        self.is_gone[row] = True
        self.gone.append(row)

    def restore(self, row: int) -> None:
        """Takes it back."""
        self.is_gone[row] = False
        self.gone.remove(row)
        self._change(row, 1)

    def _change(self, row: int, sign: int) -> None:
        part = self.exclusive(row)
        places = self.problem.steps.searchsorted(part.steps).tolist()
        for first, last, size in zip(places, places[1:], part.live_bytes.tolist(), strict=False):
            self.excess[first:last] += sign * size

    def freed_at(self, row: int, number: int) -> int:
        """What would be freed at a step, by its number, if a value went."""
        return self.exclusive(row).at(int(self.problem.steps[number]))

    def exclusive(self, row: int) -> LiveBytes:
        """The bytes that would be live no more without a value, over time."""
        beside = self.problem.beside(row)
        found = self.problem.space.exclusive(np.array([row]), [beside[~self.is_gone[beside]]])
        return LiveBytes(found.steps, found.live_bytes)
