"""What of a memory space would not be live without some of its values: at each step the bytes that only those cover."""

from array import array
from dataclasses import dataclass

import numpy as np

from xla_lens.model.memory.over_time import LiveBytes, accumulated, placed_values
from xla_lens.model.memory.sweep import Slots, sweep
from xla_lens.model.tables.dump_set import DumpSet
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

    def beside(self, row: int) -> Column:
        """The rows of the other slots that are on some of the bytes of a slot while it is there."""
        slots, first, last = self.slots, int(self.group[0][row]), int(self.group[1][row])
        is_beside = (
            (slots.offset[first:last] < slots.end_offset[row])
            & (slots.offset[row] < slots.end_offset[first:last])
            & (slots.start_step[first:last] <= slots.end_step[row])
            & (slots.start_step[row] <= slots.end_step[first:last])
        )
        is_beside[row - first] = False
        return np.flatnonzero(is_beside) + first

    def exclusive(self, row: int, beside: Column) -> LiveBytes:
        """The bytes that only the slot of a row covers, over time, where some of the slots beside it are there."""
        slots = self.slots
        low, high = slots.offset[row], slots.end_offset[row]
        start, end = slots.start_step[row], slots.end_step[row]
        steps, changes = np.array((start, end + 1)), np.array((high - low, low - high))
        if not len(beside):
            return LiveBytes(steps, np.array((high - low, 0)))
        shared = Slots(
            beside,
            np.maximum(slots.offset[beside], low),
            np.minimum(slots.end_offset[beside], high),
            np.maximum(slots.start_step[beside], start),
            np.minimum(slots.end_step[beside], end),
        )
        coverage = sweep(shared, lambda _: True)
        return accumulated(np.append(steps, coverage.steps), np.append(changes, np.negative(coverage.deltas)))


def space_slots(dump: DumpSet, color: int, without: Column | None = None) -> SpaceSlots:
    """The slots of a memory space, but for those of some values."""
    values, placed = dump.values, placed_values(dump)
    placed = placed[dump.allocations.color[values.allocation[placed]] == color]
    if without is not None:
        placed = placed[~np.isin(placed, without)]
    placed = placed[np.argsort(values.allocation[placed], kind="stable")]
    allocation, offset = values.allocation[placed], values.offset[placed]
    slots = Slots(
        placed, offset, offset + values.size_bytes[placed], values.start_step[placed], values.end_step[placed]
    )
    return SpaceSlots(slots, (allocation.searchsorted(allocation), allocation.searchsorted(allocation, "right")))


def live_without(dump: DumpSet, color: int, values: Column) -> LiveBytes:
    """The live bytes of a memory space without some values, measured again from the start."""
    space = space_slots(dump, color, values)
    slots, steps, deltas = space.slots, array("q"), array("q")
    for first, last in zip(*(np.unique(bounds).tolist() for bounds in space.group), strict=True):
        group = slice(first, last)
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
        steps.extend(coverage.steps)
        deltas.extend(coverage.deltas)
    return accumulated(np.frombuffer(steps, np.int64), np.frombuffer(deltas, np.int64))
