"""Alignment of two sequences by keys, from strict keys to lenient ones.

The elements of both sequences get keys, which are equal for elements that may correspond. Anchors are pairs in the same
order in both sequences; they divide the sequences into gaps. Equal keys are paired within the gaps, first keys that are
unique in their gap (patience diff), then all others, in order. The longest chain of pairs in the same order becomes new
anchors. This takes O(n log n), whatever the keys are.
"""

from bisect import bisect_left
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from xla_lens.syntax.columns import NONE, Column


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

    def align(self, old_keys: Column, new_keys: Column, level: int) -> None:
        """Pair equal keys between the anchors, as new anchors. Elements with the key NONE stay alone."""
        for is_unique in (True, False):
            old, new = self._free(old_keys, new_keys)
            anchors = self.anchors()
            gaps = [of.searchsorted(free) for of, free in zip(anchors, (old, new), strict=True)]
            keys = combined([np.concatenate(gaps), np.concatenate((old_keys[old], new_keys[new]))])
            first, second = _pairs(keys[: len(old)], keys[len(old) :], is_unique=is_unique)
            kept = longest_chain(new[second])
            self._add(old[first[kept]], new[second[kept]], level)
            self.is_anchor[old[first[kept]]] = True

    def pair_anywhere(self, old_keys: Column, new_keys: Column, level: int) -> None:
        """Pair the remaining equal keys in order, wherever they are."""
        old, new = self._free(old_keys, new_keys)
        first, second = _pairs(old_keys[old], new_keys[new], is_unique=False)
        self._add(old[first], new[second], level)

    def anchors(self) -> tuple[Column, Column]:
        """Return the anchors as ascending elements of both sequences."""
        old = np.flatnonzero(self.is_anchor)
        return old, self.partner[old]

    def _free(self, old_keys: Column, new_keys: Column) -> tuple[Column, Column]:
        return (
            np.flatnonzero((self.partner == NONE) & (old_keys != NONE)),
            np.flatnonzero((self.old_partner == NONE) & (new_keys != NONE)),
        )

    def _add(self, old: Column, new: Column, level: int) -> None:
        self.partner[old], self.old_partner[new], self.level[old] = new, old, level


def _pairs(old_keys: Column, new_keys: Column, *, is_unique: bool) -> tuple[Column, Column]:
    """The pairs of equal keys, the n-th with the n-th, in the order of the old keys; or only of those that each
    side has once.
    """
    old, new = np.arange(len(old_keys)), np.arange(len(new_keys))
    if is_unique:
        old, new = old[_is_unique(old_keys)], new[_is_unique(new_keys)]
    nth = np.concatenate((_equal_before(old_keys[old]), _equal_before(new_keys[new])))
    keys = combined([np.concatenate((old_keys[old], new_keys[new])), nth])
    _, first, second = np.intersect1d(keys[: len(old)], keys[len(old) :], assume_unique=True, return_indices=True)
    in_order = np.argsort(first)
    return old[first[in_order]], new[second[in_order]]


def _is_unique(keys: Column) -> NDArray[np.bool_]:
    _, numbers, counts = np.unique(keys, return_inverse=True, return_counts=True)
    found: NDArray[np.bool_] = counts[numbers] == 1
    return found


def _equal_before(keys: Column) -> Column:
    """How many equal keys come before each key."""
    order = np.argsort(keys, kind="stable")
    found = np.empty_like(order)
    found[order] = np.arange(len(keys)) - keys[order].searchsorted(keys[order])
    return found


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


def combined(columns: list[NDArray[np.int64]]) -> Column:
    """Return one key for each row of some columns, equal where all columns are equal."""
    key = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        _, numbers = np.unique(column, return_inverse=True)
        _, key = np.unique(key * (len(column) + 1) + numbers, return_inverse=True)
    return key


# ---------------------------------------------------------------- a common axis


@dataclass(frozen=True, slots=True, eq=False)
class Axis:
    """A common time axis of two schedules, with some `length`, on which aligned steps are at the same place. `old` and
    `new` are the places of the steps of each schedule, and one more entry that equals the length.
    """

    length: int
    old: Column
    new: Column


def common_axis(old_steps: Column, new_steps: Column, old_count: int, new_count: int) -> Axis:
    """Return the axis of two schedules with some numbers of steps. The aligned steps are ascending.

    Between two aligned steps, the axis has as many places as the schedule with more steps there. The other schedule's
    last step before the gap ends is stretched over the rest.
    """
    is_known = (old_steps < old_count) & (new_steps < new_count) & (old_steps >= 0) & (new_steps >= 0)
    old_anchors = np.append(-1, old_steps[is_known])
    new_anchors = np.append(-1, new_steps[is_known])
    if old_anchors[-1] < old_count - 1 and new_anchors[-1] < new_count - 1:
        # The ends of both programs.
        old_anchors, new_anchors = np.append(old_anchors, old_count - 1), np.append(new_anchors, new_count - 1)
    gaps = np.maximum(np.diff(old_anchors), np.diff(new_anchors))
    places = np.append(-1, np.cumsum(gaps) - 1)
    old, new = (_places(places, *side) for side in ((old_anchors, old_count), (new_anchors, new_count)))
    length = int(max(old.max(initial=-1), new.max(initial=-1))) + 1
    return Axis(length, np.append(old, length), np.append(new, length))


def _places(places: Column, anchors: Column, count: int) -> Column:
    steps = np.arange(count)
    before = anchors.searchsorted(steps, "right") - 1
    found: Column = places[before] + steps - anchors[before]
    return found
