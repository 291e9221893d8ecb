"""What of a memory space would not be live without some of its values: at each step the bytes that only those cover."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from xla_lens.model.dump_set import DumpSet
from xla_lens.model.memory import LiveBytes, accumulated, placed_values
from xla_lens.model.sweep import Slots, sweep
from xla_lens.syntax.columns import Column


@dataclass(frozen=True, slots=True, eq=False)
class SpaceSlots:
    """The slots of all values that ever cover bytes of a memory space, in the order of their allocations. `group` are
    the first row of the allocation of each and the one after its last.
    """

    slots: Slots
    group: tuple[Column, Column]

    def __len__(self) -> int:
        return len(self.slots.value)

    def rows(self, values: Column) -> Column:
        """The rows of some values, in their order; those that are not here are left out."""
        order = np.argsort(self.slots.value)
        places = np.searchsorted(self.slots.value, values, sorter=order)
        rows = order[np.minimum(places, len(order) - 1)] if len(order) else order
        return rows[self.slots.value[rows] == values] if len(order) else rows

    def exclusive(self, row: int, is_gone: NDArray[np.bool_] | None = None) -> LiveBytes:
        """The bytes that only the slot of a row covers, over time; slots that are gone do not count."""
        slots, first, last = self.slots, int(self.group[0][row]), int(self.group[1][row])
        low, high = slots.offset[row], slots.end_offset[row]
        start, end = slots.start_step[row], slots.end_step[row]
        is_beside = (
            (slots.offset[first:last] < high)
            & (low < slots.end_offset[first:last])
            & (slots.start_step[first:last] <= end)
            & (start <= slots.end_step[first:last])
        )
        is_beside[row - first] = False
        if is_gone is not None:
            is_beside &= ~is_gone[first:last]
        beside = first + np.flatnonzero(is_beside)
        steps, changes = [int(start), int(end) + 1], [int(high - low), int(low - high)]
        if len(beside):
            shared = Slots(
                beside,
                np.maximum(slots.offset[beside], low),
                np.minimum(slots.end_offset[beside], high),
                np.maximum(slots.start_step[beside], start),
                np.minimum(slots.end_step[beside], end),
            )
            coverage = sweep(shared, lambda _: True)
            steps += coverage.steps
            changes += [-delta for delta in coverage.deltas]
        return accumulated(np.array(steps), np.array(changes))


def space_slots(dump: DumpSet, color: int) -> SpaceSlots:
    """The slots of a memory space."""
    values, placed = dump.values, placed_values(dump)
    placed = placed[dump.allocations.color[values.allocation[placed]] == color]
    placed = placed[np.argsort(values.allocation[placed], kind="stable")]
    allocation, offset = values.allocation[placed], values.offset[placed]
    slots = Slots(
        placed, offset, offset + values.size_bytes[placed], values.start_step[placed], values.end_step[placed]
    )
    return SpaceSlots(slots, (allocation.searchsorted(allocation), allocation.searchsorted(allocation, "right")))


def live_without(dump: DumpSet, color: int, values: Column) -> LiveBytes:
    """The live bytes of a memory space without some values, measured again from the start."""
    space = space_slots(dump, color)
    rows = np.flatnonzero(~np.isin(space.slots.value, values))
    steps: list[int] = []
    deltas: list[int] = []
    for group in np.split(rows, np.flatnonzero(np.diff(space.group[0][rows])) + 1) if len(rows) else ():
        slots = space.slots
        coverage = sweep(
            Slots(
                slots.value[group],
                slots.offset[group],
                slots.end_offset[group],
                slots.start_step[group],
                slots.end_step[group],
            ),
            lambda _: True,
        )
        steps += coverage.steps
        deltas += coverage.deltas
    return accumulated(np.array(steps, np.int64), np.array(deltas, np.int64))
