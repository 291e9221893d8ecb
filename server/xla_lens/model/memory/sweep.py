"""Covered bytes over time, and values that collide, for all allocations at once.

A slot is a rectangle of bytes by steps. A live range includes both of its ends, so a value and its successor on the
same bytes are both live at the step where they meet; each byte counts once all the same. Two values collide if they
share bytes and more than that one step, which is how XLA's heap simulator reads live ranges.

The byte ranges between neighboring bounds of slots are the leaves of a binary tree. A slot fills at most two nodes on
each level of the tree and crosses at most two: the ancestors of those that it fills. All slots of all allocations are
processed together. Covered bytes are updated event by event in C, which takes O(log n) for each. Collisions are found
level by level from the leaves to the root, which takes O(n log n) for each level, whatever the slots look like, with
all loops in numpy.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tree_sitter_xla_dump import covered_changes
from xla_lens.model.tables.lookup import as_rows, distinct, distinct_pairs
from xla_lens.syntax.columns import NONE, Column


@dataclass(frozen=True, slots=True, eq=False)
class Slots:
    """Values in allocations: bytes `offset` up to, not including, `end_offset`, and steps `start_step` to `end_step`,
    both included. No slot is empty in either direction. `allocation` is any number; slots share bytes only if theirs
    are equal.
    """

    value: Column
    allocation: Column
    offset: Column
    end_offset: Column
    start_step: Column
    end_step: Column

    def __len__(self) -> int:
        return len(self.value)

    def take(self, rows: Column) -> "Slots":
        """The slots of some rows."""
        return Slots(
            self.value[rows],
            self.allocation[rows],
            self.offset[rows],
            self.end_offset[rows],
            self.start_step[rows],
            self.end_step[rows],
        )


@dataclass(frozen=True, slots=True, eq=False)
class Coverage:
    """Changes of covered bytes: from each of `steps` on, `deltas` more bytes of `allocation` are covered. Sorted by
    allocation, then by step; a step may repeat.
    """

    allocation: Column
    steps: Column
    deltas: Column


def coverage(slots: Slots) -> Coverage:
    """The covered bytes of each allocation over time."""
    event = _events(slots, slots.end_step + 1)
    deltas = _covered(slots, event)
    changing = np.flatnonzero(deltas)
    allocation = slots.allocation[event.slot[changing]]
    order = np.argsort(allocation, kind="stable")
    return Coverage(allocation[order], event.step[changing[order]], deltas[changing[order]])


def collisions(slots: Slots, may_overlap: Callable[[int], bool]) -> list[tuple[int, int]]:
    """Pairs of values that collide, the one that starts later first. Every value that collides is in at least one
    pair; there are at most twice as many pairs as slots. `may_overlap` is called with values that share bytes with
    another; those for which it is true collide with none.
    """
    # A slot without its last step shares no step with its successor.
    slots = slots.take(np.flatnonzero(slots.start_step < slots.end_step))
    event = _events(slots, slots.end_step)
    sizes = slots.end_offset - slots.offset
    is_shared = _covered(slots, event) != np.where(event.is_start, sizes[event.slot], -sizes[event.slot])
    # Dumps that are in order have no collisions, so the search for pairs is limited to allocations that have some.
    rows = np.flatnonzero(np.isin(slots.allocation, slots.allocation[event.slot[is_shared]]))
    slots = slots.take(rows[np.lexsort((slots.start_step[rows], slots.allocation[rows]))])
    before, after = _partners(slots)
    suspects = np.flatnonzero((before != NONE) | (after != NONE))
    exempt = [row for row in suspects.tolist() if may_overlap(int(slots.value[row]))]
    if exempt:
        slots = slots.take(np.delete(np.arange(len(slots)), exempt))
        before, after = _partners(slots)
    row = np.arange(len(slots))
    pairs = np.concatenate((np.stack((row, before)), np.stack((after, row))), axis=1)
    later, earlier = slots.value[distinct_pairs(pairs[:, pairs.min(axis=0) != NONE])]
    return list(zip(later.tolist(), earlier.tolist(), strict=True))


@dataclass(frozen=True, slots=True, eq=False)
class _Events:
    """The starts and ends of slots in the order of time; at the same step, ends come first."""

    step: Column
    slot: Column
    is_start: NDArray[np.bool_]


def _events(slots: Slots, end: Column) -> _Events:
    steps = np.concatenate((end, slots.start_step))
    order = as_rows(steps.argsort(kind="stable"))
    return _Events(steps[order], order % max(len(slots), 1), order >= len(slots))


def _covered(slots: Slots, event: _Events) -> Column:
    """How many more bytes are covered after each event."""
    lengths, low, high = _leaves(slots)
    counts = np.where(event.is_start, 1, -1)
    events = np.stack((low[event.slot], high[event.slot], counts), axis=1, dtype=np.int64)
    return np.frombuffer(covered_changes(np.append(0, lengths.cumsum()), events), np.int64)


def _partners(slots: Slots) -> tuple[Column, Column]:
    """For each slot one that collides with it and starts before it, and one that starts after it; NONE if there is
    none. The slots are in the order of their starts within each allocation.

    Two slots that share bytes meet at a node that one of them fills and the other fills or crosses. There it is enough
    to compare a slot with the one before it that ends last, and with the next one.
    """
    count, start, end = len(slots), slots.start_step, slots.end_step
    by_end = np.argsort(end, kind="stable")
    rank = np.empty_like(by_end)
    rank[by_end] = np.arange(1, count + 1)
    before, after = np.full(count, NONE), np.full(count, NONE)
    crossing = _NO_ROWS
    for _, filled, filling in _levels(slots):
        # By node, then by start.
        keys = np.concatenate((crossing, filled * count + filling))
        order = np.argsort(keys, kind="stable")
        is_filling, keys = order >= len(crossing), keys[order]
        node, slot = keys // count, keys % count
        # A slot that fills the node meets all others there; a slot that crosses it meets those that fill it.
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
        crossing = distinct(node // 2 * count + slot)
    return before, after


_NO_ROWS = np.zeros(0, np.int64)


def _leaves(slots: Slots) -> tuple[Column, Column, Column]:
    """The bytes of each leaf, and for each slot its first leaf and the one behind its last. The leaf between two
    allocations has no bytes.
    """
    if not len(slots):
        return _NO_ROWS, _NO_ROWS, _NO_ROWS
    allocation, bounds = np.tile(slots.allocation, 2), np.concatenate((slots.offset, slots.end_offset))
    order = np.lexsort((bounds, allocation))
    steps = np.diff(bounds[order])
    is_same = np.diff(allocation[order]) == 0
    is_new = ~is_same | (steps != 0)
    leaf = np.zeros(len(order), np.int64)
    leaf[order[1:]] = is_new.cumsum()
    low, high = np.split(leaf, 2)
    lengths = np.where(is_same, steps, 0)[is_new]
    return lengths, low, high


def _levels(slots: Slots) -> Iterator[tuple[Column, Column, Column]]:
    """The levels of the tree from the leaves to the root: the bytes of each node, and pairs of a node and a slot that
    fills it but not its parent.
    """
    if not len(slots):
        return
    lengths, low, high = _leaves(slots)
    lengths = np.append(lengths, np.zeros((1 << (len(lengths) - 1).bit_length()) - len(lengths), np.int64))
    while True:
        left, right = (np.flatnonzero((low < high) & (odd % 2 == 1)) for odd in (low, high))
        yield lengths, np.concatenate((low[left], high[right] - 1)), np.concatenate((left, right))
        if len(lengths) == 1:
            return
        lengths = lengths[::2] + lengths[1::2]
        low, high = (low + 1) // 2, high // 2
