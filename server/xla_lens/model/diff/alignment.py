"""Alignment of two sequences by keys, from strict keys to lenient ones.

The elements of both sequences get keys, which are equal for elements that may correspond. Anchors are pairs in the same
order in both sequences; they divide the sequences into gaps. Equal keys are paired within the gaps, first keys that are
unique in their gap (patience diff), then the others, in order. The longest chain of pairs in the same order becomes new
anchors. This takes O(n log n), whatever the keys are.
"""

from bisect import bisect_left
from collections.abc import Sequence
from enum import Enum

import numpy as np

from xla_lens.syntax.columns import NONE, Column, Pairs


class Often(Enum):
    """How often a key has to occur in both sequences, so that the n-th element with it belongs to the n-th one."""

    ONCE = "once"
    EQUALLY = "equally"
    ANY = "any"


class Alignment:
    """Pairs of elements while they are found. `partner` has the new element of each old one, and `old_partner` the
    reverse; `level` the level at which each old element was paired; NONE without a partner. `is_anchor` is whether an
    old element and its partner are in the order of the other anchors.
    """

    __slots__ = ("is_anchor", "level", "old_partner", "partner")

    def __init__(self, old_count: int, new_count: int) -> None:
        self.partner, self.level = np.full((2, old_count), NONE)
        self.old_partner = np.full(new_count, NONE)
        self.is_anchor = np.zeros(old_count, np.bool_)

    def align(self, old_keys: Column, new_keys: Column, level: int, often: Often = Often.ANY) -> None:
        """Pair equal keys between the anchors, as new anchors. Elements with the key NONE stay alone."""
        for in_gap in (Often.ONCE, often):
            old, new = self._equal(old_keys, new_keys, self.anchors(), in_gap)
            kept = longest_chain(new)
            self._add(old[kept], new[kept], level)
            self.is_anchor[old[kept]] = True

    def pair_anywhere(self, old_keys: Column, new_keys: Column, level: int, often: Often = Often.ANY) -> None:
        """Pair the remaining equal keys in order, wherever they are."""
        self._add(*self._equal(old_keys, new_keys, np.zeros((2, 0), np.int64), often), level)

    def anchors(self) -> Column:
        """Return the anchors as ascending elements of both sequences."""
        old = np.flatnonzero(self.is_anchor)
        return np.stack((old, self.partner[old]))

    def _equal(self, old_keys: Column, new_keys: Column, anchors: Column, often: Often) -> Pairs:
        """The elements that are free and have equal keys between the same anchors, in the order of the old ones."""
        sides = (self.partner, old_keys, anchors[0]), (self.old_partner, new_keys, anchors[1])
        free = [np.flatnonzero((partner == NONE) & (keys != NONE)) for partner, keys, _ in sides]
        parts = [(of.searchsorted(rows), keys[rows]) for (_, keys, of), rows in zip(sides, free, strict=True)]
        both = combined([np.concatenate(columns) for columns in zip(*parts, strict=True)])
        keys = np.split(both, [len(free[0])])
        counts = np.stack([np.bincount(of_side, minlength=len(both)) for of_side in keys])
        fewest, most = counts.min(axis=0), counts.max(axis=0)
        is_certain = {Often.ONCE: most <= 1, Often.EQUALLY: most == fewest, Often.ANY: True}[often]
        count = np.where(is_certain, fewest, 0)
        found = []
        for rows, of_side in zip(free, keys, strict=True):
            order = np.argsort(of_side, kind="stable")
            ordered = of_side[order]
            nth = np.arange(len(order)) - ordered.searchsorted(ordered)
            found.append(rows[order[nth < count[ordered]]])
        in_order = np.argsort(found[0])
        return found[0][in_order], found[1][in_order]

    def _add(self, old: Column, new: Column, level: int) -> None:
        self.partner[old], self.old_partner[new], self.level[old] = new, old, level


def longest_chain(numbers: Column) -> Column:
    """Return the places of a longest ascending subsequence of distinct numbers."""
    if len(numbers) < 2 or bool((np.diff(numbers) > 0).all()):
        return np.arange(len(numbers))
    ends: list[int] = []
    places: list[int] = []
    before: list[int] = []
    for place, number in enumerate(numbers.tolist()):
        length = bisect_left(ends, number)
        before.append(places[length - 1] if length else NONE)
        ends[length : length + 1], places[length : length + 1] = [number], [place]
    chain = []
    place = places[-1]
    while place != NONE:
        chain.append(place)
        place = before[place]
    return np.array(chain[::-1], np.int64)


def combined(columns: Sequence[Column]) -> Column:
    """Return one key for each row of some columns, equal where all columns are equal."""
    key, count = np.zeros(len(columns[0]), np.int64), 1
    for column in columns:
        numbers = column - column.min(initial=0)
        size = int(numbers.max(initial=0)) + 1
        if count * size > np.iinfo(np.int64).max:
            (key, count), (numbers, size) = _numbered(key), _numbered(numbers)
        key = key * size + numbers
        count *= size
    return _numbered(key)[0]


def _numbered(column: Column) -> tuple[Column, int]:
    """A number for each distinct number of a column, in ascending order, and how many there are."""
    distinct, numbers = np.unique(column, return_inverse=True)
    return numbers, len(distinct)


def common_axis(old_steps: Column, new_steps: Column, old_count: int, new_count: int) -> tuple[Column, Column]:
    """Return a common time axis of two schedules with some numbers of steps, on which aligned steps are at the same
    place: the places of the steps of each schedule, and as one more entry the length of the axis. The aligned steps are
    ascending.

    Between two aligned steps, the axis has as many places as the schedule with more steps there. The other schedule's
    last step before the gap ends is stretched over the rest.
    """
    counts, steps = np.array((old_count, new_count)), np.stack((old_steps, new_steps))
    # A broken line may have any step.
    steps = steps[:, ((steps >= 0) & (steps < counts[:, None])).all(axis=0)]
    anchors = np.concatenate((np.full((2, 1), -1), steps), axis=1)
    if (anchors[:, -1] < counts - 1).all():
        # The ends of both programs.
        anchors = np.column_stack((anchors, counts - 1))
    places = np.append(-1, np.cumsum(np.diff(anchors).max(axis=0)) - 1)
    found = []
    for of_side, count in zip(anchors, counts, strict=True):
        before = of_side.searchsorted(np.arange(count), "right") - 1
        found.append(places[before] + np.arange(count) - of_side[before])
    length = 1 + max(column.max(initial=-1) for column in found)
    old, new = (np.append(column, length) for column in found)
    return old, new
