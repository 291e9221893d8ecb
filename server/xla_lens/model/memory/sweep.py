"""One pass over an allocation in time: how many of its bytes are covered at each step, and which values collide.

The slices of an allocation are rectangles, bytes by steps. A live range holds both of its ends, so that a value and its
successor on the same bytes are both live at the step where they meet; each byte counts once all the same. Two values
collide if they share bytes and more than that one step, which is how XLA's heap simulator reads live ranges.
"""

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from xla_lens.model.memory.crowds import covered, meetings
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

_VISITS: Final = 3
"""So many segments for each slot and doubling of their number are looked at, at most. In whole dumps it is one."""

_ALWAYS_VISITED: Final = 10_000
"""Of a few slots so many segments may be looked at."""

_FEW: Final = 8
"""So many segments are not counted."""

_MOVED: Final = 512
"""About as many entries of a list are moved as fast as one segment is looked at."""

_TOLD: Final = 16
"""Of so many others each slot is told with at most, but for those that are not told with another."""


def sweep(slots: Slots, may_overlap: Callable[[int], bool]) -> Coverage:
    """Sweeps over the slots of one allocation. `may_overlap` is asked about the two values of a collision; where it
    is true of one, the collision does not count. Each value that collides is in at least one of the collisions that
    are told.

    Takes O(n log n) and tells O(n) collisions. Where few slots share bytes it is fastest to look at each segment of
    bytes that a slot is on; where there are too many, all slots are looked at together.
    """
    # A slot is there from its start up to, not including, the step after its end.
    steps = np.concatenate((slots.end_step + 1, slots.start_step))
    order = steps.argsort(kind="stable")
    steps = steps[order]
    found = _walk(slots, order.tolist(), steps.tolist(), may_overlap)
    return found if found is not None else _together(slots, order, steps, may_overlap)


def _together(slots: Slots, order: Column, steps: Column, may_overlap: Callable[[int], bool]) -> Coverage:
    """What is found by looking at all slots together. `order` are events as `_walk` has them."""
    values, count = slots.value.tolist(), len(slots.value)
    deltas = covered(slots.offset, slots.end_offset, order % max(count, 1), order >= count)
    met = meetings(
        (slots.offset, slots.end_offset, slots.start_step, slots.end_step), lambda slot: may_overlap(values[slot])
    )
    collisions = [(values[slot], values[other]) for slot, other in met]
    return Coverage(steps[deltas != 0].tolist(), deltas[deltas != 0].tolist(), collisions)


_Line: TypeAlias = tuple[list[int], list[tuple[int, int]], Callable[[int], int], Callable[[int], None]]


def _line(start: int) -> _Line:
    """Bytes that are cut into segments, each from one of the bounds up to the next: the bounds, the segments, and what
    cuts and joins them.
    """
    bounds, segments = [start], [_FREE]

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

    return bounds, segments, cut, join


def _walk(slots: Slots, events: list[int], steps: list[int], may_overlap: Callable[[int], bool]) -> Coverage | None:
    """What is found by looking at each segment that a slot is on, None if that takes too long. An event is the number
    of a slot that goes, or, counted on from there, of one that comes; each has its step.

    The bytes are kept cut into segments, each with the number of slots that are on it and one of these: the one that
    stays longest, which is enough to tell a collision.
    """
    values, starts, ends = slots.value.tolist(), slots.start_step.tolist(), slots.end_step.tolist()
    lows, highs = slots.offset.tolist(), slots.end_offset.tolist()
    bounds, segments, cut, join = _line(min(lows, default=0))
    coverage = Coverage([], [], [])
    told: dict[int, set[int]] = {}

    def tell(slot: int, other: int) -> None:
        """Tells a collision if it is worth it."""
        others = told.setdefault(slot, set())
        if other not in others and (len(others) < _TOLD or other not in told):
            others.add(other)
            told.setdefault(other, set())
            coverage.collisions.append((values[slot], values[other]))

    def add(slot: int, first: int, last: int) -> int:
        """Puts a slot down on segments; gives the bytes that were free until now."""
        new = 0
        for place in range(first, last):
            count, longest = segments[place]
            if not count:
                new += bounds[place + 1] - bounds[place]
                longest = slot
            elif ends[longest] <= starts[slot]:
                longest = slot if ends[slot] > ends[longest] else longest
            elif may_overlap(values[longest]):
                longest = slot
            elif ends[slot] > starts[slot] and not may_overlap(values[slot]):
                tell(slot, longest)
                longest = slot if ends[slot] > ends[longest] else longest
            segments[place] = (count + 1, longest)
        return new

    def remove(first: int, last: int) -> int:
        """Takes a slot away from segments; gives the bytes that are free from now on."""
        freed = 0
        for place in range(first, last):
            count, longest = segments[place]
            if count == 1:
                freed += bounds[place + 1] - bounds[place]
            segments[place] = (count - 1, longest) if count > 1 else _FREE
        join(last)
        join(first)
        return freed

    count = len(values)
    left = max(_VISITS * count * count.bit_length(), _ALWAYS_VISITED)
    for event, step in zip(events, steps, strict=True):
        slot = event % count
        first = cut(lows[slot])
        last = cut(highs[slot])
        delta = -remove(first, last) if event < count else add(slot, first, last)
        if delta:
            coverage.steps.append(step)
            coverage.deltas.append(delta)
        # To insert into a list moves what is behind, though fast.
        if last - first > _FEW or len(bounds) > _MOVED:
            left -= last - first + len(bounds) // _MOVED
            if left < 0:
                return None
    return coverage
