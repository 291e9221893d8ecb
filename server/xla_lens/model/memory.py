"""Live bytes over time and their peaks, for each memory space. The definitions are those of the README:

- A value is *live* at a step that its live range contains, both ends included.
- The *live bytes* of a memory space at a step are the bytes that the slices of live values cover in its allocations,
  each byte counted once.
- The *peak* of a memory space is the greatest number of live bytes, at the earliest step that has as many.
- The *reserved bytes* of a memory space are the sizes of its allocations.

Values without a live range take part in reserved bytes only.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from xla_lens.model.dump_set import DumpSet
from xla_lens.model.sweep import Slots, sweep
from xla_lens.syntax.columns import NONE, Column


@dataclass(frozen=True, slots=True, eq=False)
class MemorySpace:
    """One memory space. From each of `steps`, ascending, up to the next one `live_bytes` are live. `peak_step` is None
    if nothing is ever live."""

    color: int
    reserved_bytes: int
    steps: Column
    live_bytes: Column
    peak_step: int | None
    peak_live_bytes: int

    def live_bytes_at(self, step: int) -> int:
        """The bytes live at a step."""
        place = int(self.steps.searchsorted(step, "right")) - 1
        return int(self.live_bytes[place]) if place >= 0 else 0


@dataclass(frozen=True, slots=True, eq=False)
class Memory:
    """All memory spaces by colour, and the values that share bytes and time: each with one that was there before."""

    spaces: tuple[MemorySpace, ...]
    collisions: tuple[tuple[int, int], ...]

    def space(self, color: int) -> MemorySpace | None:
        """The memory space of a colour, None if no allocation has it."""
        return next((space for space in self.spaces if space.color == color), None)


def is_live(dump: DumpSet, step: int) -> Column:
    """The values live at a step, with or without a place in an allocation, by id."""
    return np.flatnonzero((dump.values.start_step <= step) & (step <= dump.values.end_step))


def measure(dump: DumpSet, is_exempt: Callable[[int], bool]) -> Memory:
    """Follows the live bytes of a dump set over all steps. `is_exempt` tells values whose live ranges are known to
    say too much, see `sweep`."""
    values = dump.values
    placed = np.flatnonzero(
        (values.allocation != NONE)
        & (values.size_bytes > 0)
        & (values.start_step != NONE)
        & (values.start_step <= values.end_step)
    )
    by_allocation = placed[np.argsort(values.allocation[placed], kind="stable")]
    changes: dict[int, tuple[list[int], list[int]]] = {}
    collisions: list[tuple[int, int]] = []
    cuts = np.flatnonzero(np.diff(values.allocation[by_allocation])) + 1
    for group in np.split(by_allocation, cuts):
        if not len(group):
            continue
        steps, deltas = changes.setdefault(int(values.color[group[0]]), ([], []))
        coverage = sweep(
            Slots(
                group,
                values.offset[group],
                values.offset[group] + values.size_bytes[group],
                values.start_step[group],
                values.end_step[group],
            ),
            is_exempt,
        )
        steps += coverage.steps
        deltas += coverage.deltas
        collisions += coverage.collisions
    readable = dump.allocations.index != NONE
    colors = np.unique(dump.allocations.color[readable]).tolist()
    spaces = (
        _memory_space(
            color,
            sum(dump.allocations.size_bytes[readable & (dump.allocations.color == color)].tolist()),
            *changes.get(color, ([], [])),
        )
        for color in colors
    )
    return Memory(tuple(spaces), tuple(dict.fromkeys(collisions)))


def _memory_space(color: int, reserved_bytes: int, steps: list[int], deltas: list[int]) -> MemorySpace:
    order = np.argsort(np.array(steps, np.int64), kind="stable")
    sorted_steps = np.array(steps, np.int64)[order]
    live_bytes = np.array(deltas, np.int64)[order].cumsum()
    is_last = np.append(np.diff(sorted_steps) != 0, True)[: len(sorted_steps)]
    sorted_steps, live_bytes = sorted_steps[is_last], live_bytes[is_last]
    peak = int(live_bytes.argmax()) if len(live_bytes) else NONE
    return MemorySpace(
        color=color,
        reserved_bytes=reserved_bytes,
        steps=sorted_steps,
        live_bytes=live_bytes,
        peak_step=int(sorted_steps[peak]) if peak != NONE else None,
        peak_live_bytes=int(live_bytes[peak]) if peak != NONE else 0,
    )
