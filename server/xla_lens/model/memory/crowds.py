"""What `xla_lens.model.memory.sweep` finds, for slots of which many share bytes: as fast whatever they are.

The bytes between neighbouring bounds of slots are the leaves of a binary tree. A slot fills at most two nodes of each
level of the tree, and crosses at most two: those that are above what it fills. All slots are looked at together, level
by level from the leaves on, which takes O(n log n) for each level at most.
"""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from xla_lens.syntax.columns import NONE, Column


def covered(offset: Column, end_offset: Column, slot: Column, is_start: NDArray[np.bool_]) -> Column:
    """How many more bytes are covered after each event: a slot comes, or goes again."""
    count = len(slot)
    event = np.zeros((2, len(offset)), np.int64)
    event[is_start.astype(int), slot] = np.arange(count)
    going, coming = event
    # What changes below a node is at keys that ascend, first by node, then by event.
    keys, changes = _NO_ROWS, _NO_ROWS
    for lengths, node, filling in _levels(offset, end_offset):
        own = node * count
        keys = keys // (2 * count) * count + keys % count
        all_keys = np.concatenate((keys, own + coming[filling], own + going[filling]))
        order = np.argsort(all_keys, kind="stable")
        below = np.concatenate((changes, np.zeros(2 * len(node), np.int64)))[order]
        fills = np.repeat((0, 1, -1), (len(keys), len(node), len(node)))[order]
        # An event changes both halves, and then has one change; all slots are gone at the end of each node.
        is_last = np.append(np.diff(all_keys[order]) != 0, True)[: len(order)]
        keys = all_keys[order][is_last]
        is_full, below = fills.cumsum()[is_last] > 0, below.cumsum()[is_last]
        changes = np.diff(np.where(is_full, lengths[keys // count], below), prepend=0)
        keys, changes = keys[changes != 0], changes[changes != 0]
    deltas = np.zeros(count, np.int64)
    deltas[keys] = changes
    return deltas


def meetings(slots: tuple[Column, Column, Column, Column], may_overlap: Callable[[int], bool]) -> list[tuple[int, int]]:
    """Pairs of slots that share bytes and more than a step, and of which none is exempt, each with the one that was
    there before: for each slot that is in such a pair at least one. There are at most twice as many as slots. `slots`
    are offsets, end offsets, start steps and end steps.
    """
    rows = np.flatnonzero(slots[2] < slots[3])
    # In the order in which they come.
    rows = rows[np.argsort(slots[2][rows], kind="stable")]
    before, after = _beside(*(column[rows] for column in slots))
    suspects = np.flatnonzero((before != NONE) | (after != NONE))
    exempt = [place for place in suspects.tolist() if may_overlap(int(rows[place]))]
    if exempt:
        rows = np.delete(rows, exempt)
        before, after = _beside(*(column[rows] for column in slots))
    place = np.arange(len(rows))
    pairs = np.concatenate((np.stack((place, before)), np.stack((after, place))), axis=1)
    later, earlier = rows[np.unique(pairs[:, pairs.min(axis=0) != NONE], axis=1)]
    return list(zip(later.tolist(), earlier.tolist(), strict=True))


def _beside(offset: Column, end_offset: Column, start: Column, end: Column) -> tuple[Column, Column]:
    """For each slot, in the order in which they come, one that comes before and one that comes after with which it
    shares bytes and more than a step. NONE if there is none.

    Two that share bytes meet at a node that one of them fills and the other fills or crosses. There it is enough to
    look at the one that stays longest of those before, and at the next one.
    """
    count = len(offset)
    by_end = np.argsort(end, kind="stable")
    rank = np.empty_like(by_end)
    rank[by_end] = np.arange(1, count + 1)
    before, after = np.full(count, NONE), np.full(count, NONE)
    crossing = _NO_ROWS
    for _, filled, filling in _levels(offset, end_offset):
        # By node, then as they come.
        keys = np.concatenate((crossing, filled * count + filling))
        order = np.argsort(keys, kind="stable")
        is_filling, keys = order >= len(crossing), keys[order]
        node, slot = keys // count, keys % count
        # Who fills the node meets all there, who crosses it those who fill it.
        base = node * (count + 1)
        longest, longest_filling = (
            np.maximum.accumulate(np.append(NONE, base + np.where(is_there, rank[slot], 0))[:-1]) - base
            for is_there in (np.True_, is_filling)
        )
        longest = np.where(is_filling, longest, longest_filling)
        other = by_end[np.maximum(longest, 1) - 1]
        meets = (longest > 0) & (end[other] > start[slot])
        before[slot[meets]] = other[meets]
        place = np.arange(len(keys))
        next_filling = np.minimum.accumulate(np.where(is_filling, place, len(keys))[::-1])[::-1]
        following = np.where(is_filling, place + 1, np.append(next_filling, len(keys))[1:])
        is_there = np.append(node, NONE)[following] == node
        other = np.append(slot, 0)[following]
        meets = is_there & (start[other] < end[slot])
        after[slot[meets]] = other[meets]
        crossing = np.unique(node // 2 * count + slot)
    return before, after


_NO_ROWS = np.zeros(0, np.int64)


def _levels(offset: Column, end_offset: Column) -> Iterator[tuple[Column, Column, Column]]:
    """The levels of the tree from the leaves up to its root: the bytes of each node, and pairs of a node and a slot
    that fills it, but not the node above.
    """
    bounds, place = np.unique(np.concatenate((offset, end_offset)), return_inverse=True)
    low, high = np.split(place, 2)
    lengths = np.diff(bounds)
    lengths = np.append(lengths, np.zeros((1 << max(len(lengths) - 1, 0).bit_length()) - len(lengths), np.int64))
    while True:
        left, right = (np.flatnonzero((low < high) & (odd % 2 == 1)) for odd in (low, high))
        yield lengths, np.concatenate((low[left], high[right] - 1)), np.concatenate((left, right))
        if len(lengths) == 1:
            return
        lengths = lengths[::2] + lengths[1::2]
        low, high = (low + 1) // 2, high // 2
