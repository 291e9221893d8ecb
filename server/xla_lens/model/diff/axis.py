"""The common time axis of two schedules, on which aligned steps are at the same place.

Between two aligned steps, the axis has as many places as the schedule with more steps there. The other schedule's last
step before the gap ends is stretched over the rest.
"""

from dataclasses import dataclass

import numpy as np

from xla_lens.syntax.columns import Column


@dataclass(frozen=True, slots=True, eq=False)
class Axis:
    """An axis with some `length`. `old` and `new` are the places of the steps of each schedule, and one more entry that
    equals the length.
    """

    length: int
    old: Column
    new: Column


def common_axis(old_steps: Column, new_steps: Column, old_count: int, new_count: int) -> Axis:
    """Return the axis of two schedules with some numbers of steps. The aligned steps are ascending."""
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
