"""Alignment of two sequences by keys, from strict keys to lenient ones.

The elements of both sequences get keys, which are equal for elements that may correspond. Anchors are pairs in the same
order in both sequences; they divide the sequences into gaps. Each round pairs equal keys within the gaps and keeps the
longest chain of pairs in the same order as new anchors: first keys that are unique in their gap (patience diff), then
keys that occur equally often, then all others, in order. A round takes O(n log n), whatever the keys are.
"""

from bisect import bisect_left
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from xla_lens.syntax.columns import NONE, Column


class _Rule(IntEnum):
    """Which keys of a gap to pair."""

    UNIQUE = 0
    EQUALLY_OFTEN = 1
    ALL = 2


_MAX_ROUNDS = 12


class Alignment:
    """Pairs of elements while they are found. `partner` has the new element of each old one, and `old_partner` the
    reverse; `level` the level at which each old element was paired; NONE without a partner. `is_anchor` is whether an
    old element and its partner are in the order of the other anchors.
    """

    __slots__ = ("is_anchor", "level", "old_partner", "partner")

    def __init__(self, old_count: int, new_count: int) -> None:
        self.partner = np.full(old_count, NONE)
        self.old_partner = np.full(new_count, NONE)
        self.level = np.full(old_count, NONE)
        self.is_anchor = np.zeros(old_count, np.bool_)

    def align(self, old_keys: Column, new_keys: Column, level: int) -> None:
        """Pair equal keys between the anchors, as new anchors. Elements with the key NONE stay alone."""
        if not self.is_anchor.any():
            self._trim(old_keys, new_keys, level)
        for rule in _Rule:
            for _ in range(_MAX_ROUNDS):
                if not self._round(old_keys, new_keys, level, rule):
                    break

    def pair_anywhere(self, old_keys: Column, new_keys: Column, level: int, *, is_unique: bool = False) -> None:
        """Pair the remaining equal keys in order, wherever they are, or only those that occur equally often."""
        old, new = self._free(old_keys, new_keys)
        first, second = _pairs(old_keys[old], new_keys[new], _Rule.EQUALLY_OFTEN if is_unique else _Rule.ALL)
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

    def _trim(self, old_keys: Column, new_keys: Column, level: int) -> None:
        """Pair the equal beginnings and the equal ends, which is all there is to do for most pairs of dumps."""
        count = min(len(old_keys), len(new_keys))
        first = _equal_length(old_keys[:count], new_keys[:count])
        last = _equal_length(old_keys[::-1][: count - first], new_keys[::-1][: count - first])
        old = np.concatenate((np.arange(first), len(old_keys) - last + np.arange(last)))
        new = np.concatenate((np.arange(first), len(new_keys) - last + np.arange(last)))
        is_known = old_keys[old] != NONE
        is_known &= (self.partner[old] == NONE) & (self.old_partner[new] == NONE)
        self._add(old[is_known], new[is_known], level)
        self.is_anchor[old[is_known]] = True

    def _round(self, old_keys: Column, new_keys: Column, level: int, rule: _Rule) -> bool:
        old, new = self._free(old_keys, new_keys)
        if not len(old) or not len(new):
            return False
        old_anchors, new_anchors = self.anchors()
        count = max(int(old_keys.max()), int(new_keys.max())) + 1
        first, second = _pairs(
            old_anchors.searchsorted(old) * count + old_keys[old],
            new_anchors.searchsorted(new) * count + new_keys[new],
            rule,
        )
        kept = longest_chain(new[second])
        old, new = old[first[kept]], new[second[kept]]
        self._add(old, new, level)
        self.is_anchor[old] = True
        return len(old) > 0


def _equal_length(one: Column, other: Column) -> int:
    """The number of elements before the first difference."""
    different = np.flatnonzero(one != other)
    return int(different[0]) if len(different) else len(one)


def _pairs(old_keys: Column, new_keys: Column, rule: _Rule) -> tuple[Column, Column]:
    """The pairs of equal keys, the n-th with the n-th, in the order of the old keys."""
    keys = np.concatenate((old_keys, new_keys))
    order = _stable_order(keys)
    ordered = keys[order]
    is_first = np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]
    group = np.cumsum(is_first) - 1
    count = int(is_first.sum())
    # In each group of equal keys, the old ones come before the new ones.
    is_old = order < len(old_keys)
    old_counts = np.bincount(group[is_old], minlength=count)
    new_counts = np.bincount(group[~is_old], minlength=count)
    match rule:
        case _Rule.UNIQUE:
            pairs = (old_counts == 1) & (new_counts == 1)
        case _Rule.EQUALLY_OFTEN:
            pairs = np.where(old_counts == new_counts, old_counts, 0)
        case _:
            pairs = np.minimum(old_counts, new_counts)
    place = np.arange(len(order))
    rows = np.flatnonzero(is_old & (place - place[is_first][group] < pairs[group]))
    first, second = order[rows], order[rows + old_counts[group[rows]]] - len(old_keys)
    by_first = np.argsort(first)
    return first[by_first], second[by_first]


def _stable_order(keys: Column) -> Column:
    """The rows of keys that are not negative in the order of the keys; equal ones in their own order."""
    count = len(keys)
    if int(keys.max(initial=0)) >= np.iinfo(np.int64).max // (count + 1) - 1:
        return np.argsort(keys, kind="stable")
    # Numbers are sorted several times as fast as rows.
    ordered: Column = np.sort(keys * count + np.arange(count))
    ordered %= max(count, 1)
    return ordered


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
        if length == len(ends):
            ends.append(number)
            places.append(place)
        else:
            ends[length], places[length] = number, place
    chain = []
    place = places[-1]
    while place != NONE:
        chain.append(place)
        place = before[place]
    return np.array(chain[::-1], np.int64)


def combined(columns: list[NDArray[np.int64]], required: list[NDArray[np.int64]]) -> Column:
    """Return one key for each row of some columns, equal where all columns are equal; NONE where any of the columns
    `required` is NONE.
    """
    key = np.zeros(len(columns[0]), np.int64)
    limit = 1
    for column in columns:
        width = int(column.max(initial=0)) + 2
        if limit * width > np.iinfo(np.int64).max:
            _, key = np.unique(key, return_inverse=True)
            limit = len(key)
        key = key * width + column + 1
        limit *= width
    _, key = np.unique(key, return_inverse=True)
    for column in required:
        key = np.where(column == NONE, NONE, key)
    return key
