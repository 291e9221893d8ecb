"""One pass over an allocation in time: how many of its bytes are covered at each step, and which values collide.

The slices of an allocation are rectangles, bytes by steps. A live range holds both of its ends, so that a value and its
successor on the same bytes are both live at the step where they meet; each byte counts once all the same. Two values
collide if they share bytes and more than that one step, which is how XLA's heap simulator reads live ranges.
"""

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from xla_lens.syntax.columns import NONE, Column


@dataclass(frozen=True, slots=True, eq=False)
class Slots:
    """Some values of one allocation: bytes `offset` to `end_offset`, from `start_step` to `end_step`, both included.
    No slot is empty in either direction.
    """

    value: Column
    offset: Column
    end_offset: Column
    start_step: Column
    end_step: Column


@dataclass(frozen=True, slots=True, eq=False)
class Coverage:
    """From each of `steps` on, which may repeat, `deltas` more bytes are covered. Each collision is a value and one
    that was there before.
    """

    steps: list[int]
    deltas: list[int]
    collisions: list[tuple[int, int]]


_FREE: Final = (0, NONE)


def sweep(slots: Slots, is_exempt: Callable[[int], bool]) -> Coverage:
    """Sweeps over the slots of one allocation. `is_exempt` is asked about the two values of a collision; where it
    is true of one, the collision does not count.

    The bytes are kept cut into segments, each with the number of slots that are on it and one of these: the one that
    stays longest, which is enough to tell a collision. Takes O(n log n) where few slots share bytes.
    """
    values, starts, ends = slots.value.tolist(), slots.start_step.tolist(), slots.end_step.tolist()
    lows, highs = slots.offset.tolist(), slots.end_offset.tolist()
    bounds, segments = [min(lows, default=0)], [_FREE]
    coverage = Coverage([], [], [])

    def cut(at: int) -> int:
        """Makes a segment start at a byte; gives its number."""
        place = bisect_left(bounds, at)
        if place == len(bounds) or bounds[place] != at:
            bounds.insert(place, at)
            segments.insert(place, segments[place - 1])
        return place

    def join(place: int) -> None:
        """Joins a segment with the one before if they are alike."""
        if place and segments[place] == segments[place - 1]:
            del bounds[place], segments[place]

    def add(slot: int) -> int:
        """Puts a slot down; gives the bytes that were free until now."""
        covered = 0
        first = cut(lows[slot])
        last = cut(highs[slot])
        for place in range(first, last):
            count, longest = segments[place]
            if not count:
                covered += bounds[place + 1] - bounds[place]
                longest = slot
            elif ends[longest] <= starts[slot]:
                longest = slot if ends[slot] > ends[longest] else longest
            elif is_exempt(values[longest]):
                longest = slot
            elif ends[slot] > starts[slot] and not is_exempt(values[slot]):
                coverage.collisions.append((values[slot], values[longest]))
                longest = slot if ends[slot] > ends[longest] else longest
            segments[place] = (count + 1, longest)
        return covered

    def remove(slot: int) -> int:
        """Takes a slot away; gives the bytes that are free from now on."""
        freed = 0
        first = cut(lows[slot])
        last = cut(highs[slot])
        for place in range(first, last):
            count, longest = segments[place]
            if count == 1:
                freed += bounds[place + 1] - bounds[place]
            segments[place] = (count - 1, longest) if count > 1 else _FREE
        join(last)
        join(first)
        return freed

    # A slot is there from its start up to, not including, the step after its end.
    count = len(values)
    steps = np.concatenate((slots.start_step, slots.end_step + 1))
    is_start = np.arange(2 * count) < count
    for event, step in zip(*_listed(np.lexsort((is_start, steps)), steps), strict=True):
        delta = add(event) if event < count else -remove(event - count)
        if delta:
            coverage.steps.append(step)
            coverage.deltas.append(delta)
    return coverage


def _listed(order: Column, steps: Column) -> tuple[list[int], list[int]]:
    return order.tolist(), steps[order].tolist()
