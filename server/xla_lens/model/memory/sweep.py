"""Covered bytes over time, and values that collide, for all allocations at once.

A slot is a rectangle of bytes by steps. A live range includes both of its ends, so a value and its successor on the
same bytes are both live at the step where they meet; each byte counts once all the same. Two values collide if they
share bytes and more than that one step, which is how XLA's heap simulator reads live ranges.

The bytes between neighboring bounds of slots are segments, and each slot covers a run of them. Covered bytes are
updated event by event in C, which takes O(log n) for each.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tree_sitter_xla_dump import covered_changes, next_peaks
from xla_lens.model.tables.lookup import as_rows, distinct_pairs
from xla_lens.syntax.columns import NONE, Column, Columns, Mask, cells, pairs


class Slots(Columns, frozen=True):
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

    def take(self, rows: Column) -> "Slots":
        """The slots of some rows."""
        return Slots(*(getattr(self, name)[rows] for name in self.__struct_fields__))


class Coverage(NamedTuple):
    """Changes of covered bytes: from each of `steps` on, `deltas` more bytes of `allocation` are covered. Sorted by
    allocation, then by step; a step may repeat.
    """

    allocation: Column
    steps: Column
    deltas: Column


def coverage(slots: Slots) -> Coverage:
    """The covered bytes of each allocation over time."""
    steps, slot, _, deltas = _events(slots, slots.end_step + 1)
    changing = np.flatnonzero(deltas)
    allocation = slots.allocation[slot[changing]]
    order = np.argsort(allocation, kind="stable")
    return Coverage(allocation[order], steps[changing[order]], deltas[changing[order]])


def collisions(slots: Slots, may_overlap: Callable[[int], bool]) -> list[tuple[int, int]]:
    """Pairs of values that collide, the one that starts later first. Every value that collides is in at least one
    pair; there are at most twice as many pairs as slots. `may_overlap` is called with values that share bytes with
    another; those for which it is true collide with none.
    """
    # A slot without its last step shares no step with its successor.
    slots = slots.take(np.flatnonzero(slots.start_step < slots.end_step))
    _, slot, is_start, deltas = _events(slots, slots.end_step)
    sizes = slots.end_offset - slots.offset
    is_shared = deltas != np.where(is_start, sizes[slot], -sizes[slot])
    # Dumps that are in order have no collisions, so the search for pairs is limited to allocations that have some.
    rows = np.flatnonzero(np.isin(slots.allocation, slots.allocation[slot[is_shared]]))
    slots = slots.take(rows[np.lexsort((slots.start_step[rows], slots.allocation[rows]))])
    before, after = _partners(slots)
    suspects = np.flatnonzero((before != NONE) | (after != NONE))
    exempt = [row for row in suspects.tolist() if may_overlap(slots.value.item(row))]
    if exempt:
        slots = slots.take(np.delete(np.arange(len(slots)), exempt))
        before, after = _partners(slots)
    row = np.arange(len(slots))
    colliding = np.concatenate((np.stack((row, before)), np.stack((after, row))), axis=1)
    return pairs(*slots.value[distinct_pairs(colliding[:, colliding.min(axis=0) != NONE])])


def peaks_without(
    slots: Slots, rows: Column, steps: Column, live_bytes: Column, peak_step: int
) -> tuple[Column, Column, Column]:
    """For each of some rows of `slots`: the bytes that only it covers at `peak_step`, the peak of the live bytes if it
    covered none, and the first step of that peak, NONE if nothing is live then. `slots` are all that share bytes with
    one of these rows. `live_bytes` holds from each of `steps`, which ascend, up to the next one.
    """
    # What is in other allocations does not matter.
    near = np.flatnonzero(np.isin(slots.allocation, slots.allocation[rows]))
    is_wanted = np.zeros(len(slots), np.bool_)
    is_wanted[rows] = True
    near_slots = slots.take(near)
    border_steps, slot, is_start = _borders(near_slots, near_slots.end_step + 1)
    first, behind, lengths = segments(near_slots.allocation, near_slots.offset, near_slots.end_offset)
    borders = np.stack((border_steps, first[slot], behind[slot], slot, is_start), axis=1, dtype=np.int64)
    steps, live_bytes = (np.ascontiguousarray(column, np.int64) for column in (steps, live_bytes))
    found = next_peaks(np.append(0, lengths.cumsum()), borders, is_wanted[near], steps, live_bytes, peak_step)
    freed, peak, step = np.frombuffer(found, np.int64).reshape(-1, 3)[near.searchsorted(rows)].T
    return freed, peak, step


def _borders(slots: Slots, end: Column) -> tuple[Column, Column, Mask]:
    """The starts and ends of slots in the order of time; at the same step, ends come first. Returns for each the step,
    the slot, and whether it is a start.
    """
    steps = np.concatenate((end, slots.start_step))
    order = as_rows(steps.argsort(kind="stable"))
    return steps[order], order % max(len(slots), 1), order >= len(slots)


def _events(slots: Slots, end: Column) -> tuple[Column, Column, Mask, Column]:
    """The starts and ends of slots in the order of time; at the same step, ends come first. Returns for each the step,
    the slot, whether it is a start, and how many more bytes are covered after it.
    """
    steps, slot, is_start = _borders(slots, end)
    first, behind, lengths = segments(slots.allocation, slots.offset, slots.end_offset)
    events = np.stack((first[slot], behind[slot], np.where(is_start, 1, -1)), axis=1, dtype=np.int64)
    deltas = np.frombuffer(covered_changes(np.append(0, lengths.cumsum()), events), np.int64)
    return steps, slot, is_start, deltas


def _partners(slots: Slots) -> tuple[Column, Column]:
    """For each slot the one that ends last of those that start before it and collide with it, and the next one that
    starts after it and does; NONE if there is none. The slots are in the order of their starts within each allocation.
    """
    count, start, end = len(slots), slots.start_step, slots.end_step
    first, behind, lengths = segments(slots.allocation, slots.offset, slots.end_offset)
    spans = [slice(*span) for span in cells(first, behind)]
    by_end = np.argsort(end, kind="stable")
    rank = np.empty_like(by_end)
    rank[by_end] = np.arange(count)
    before, after = np.full((2, count), NONE)
    longest, following = np.full(len(lengths), NONE), np.full(len(lengths), count)
    for row, span in enumerate(spans):
        other = by_end[longest[span].max()]
        if longest[span].max() != NONE and end[other] > start[row]:
            before[row] = other
        longest[span] = np.maximum(longest[span], rank[row])
    for row in reversed(range(count)):
        other = following[spans[row]].min()
        if other < count and start[other] < end[row]:
            after[row] = other
        following[spans[row]] = row
    return before, after


def segments(allocation: Column, offset: Column, end_offset: Column) -> tuple[Column, Column, Column]:
    """Cut the bytes of all allocations into segments wherever a slot begins or ends.

    Returns for each slot its first segment and the one behind its last, and for each segment its length. A segment
    between two allocations has no bytes and belongs to no slot.
    """
    count = len(allocation)
    allocations, bounds = np.tile(allocation, 2), np.concatenate((offset, end_offset))
    order = np.lexsort((bounds, allocations))
    lengths, is_same = np.diff(bounds[order]), np.diff(allocations[order]) == 0
    is_new = ~is_same | (lengths != 0)
    segment = np.zeros(2 * count, np.int64)
    segment[order[1:]] = is_new.cumsum()
    return segment[:count], segment[count:], np.where(is_same, lengths, 0)[is_new]
