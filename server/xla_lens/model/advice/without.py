"""Live bytes of a memory space without some of its values: a value frees the bytes that only it covers."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from xla_lens.model.memory.over_time import LiveBytes, accumulated, placed_values, slots_of
from xla_lens.model.memory.sweep import Slots, coverage
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.syntax.columns import Column


@dataclass(frozen=True, slots=True, eq=False)
class SpaceSlots:
    """The slots of all values that ever cover bytes of a memory space, by allocation."""

    slots: Slots

    def __len__(self) -> int:
        return len(self.slots)

    def rows(self, values: Column) -> Column:
        """Return the rows of `values`, in the same order, without values that have no slot here."""
        order = np.argsort(self.slots.value, kind="stable")
        places = np.searchsorted(self.slots.value, values, sorter=order)
        rows = order[np.minimum(places, len(order) - 1)] if len(order) else order
        return rows[self.slots.value[rows] == values] if len(order) else rows

    def beside(self, row: int) -> Column:
        """Return the rows of the other slots that share bytes and steps with a slot."""
        slots = self.slots
        first = int(slots.allocation.searchsorted(slots.allocation[row]))
        last = int(slots.allocation.searchsorted(slots.allocation[row], "right"))
        is_beside = (
            (slots.offset[first:last] < slots.end_offset[row])
            & (slots.offset[row] < slots.end_offset[first:last])
            & (slots.start_step[first:last] <= slots.end_step[row])
            & (slots.start_step[row] <= slots.end_step[first:last])
        )
        is_beside[row - first] = False
        return np.flatnonzero(is_beside) + first

    def exclusive(self, rows: Column, beside: Sequence[Column]) -> "ExclusiveBytes":
        """Return the bytes that each of `rows` alone covers if, of all other slots, only those in `beside` exist."""
        # Each row gets an allocation of its own with the slots beside it, clipped to its bytes and steps.
        slots = self.slots
        item = np.repeat(np.arange(len(rows)), [len(others) for others in beside])
        others, to = np.concatenate([*beside, np.zeros(0, np.int64)]), rows[item]
        shared = coverage(
            Slots(
                value=others,
                allocation=item,
                offset=np.maximum(slots.offset[others], slots.offset[to]),
                end_offset=np.minimum(slots.end_offset[others], slots.end_offset[to]),
                start_step=np.maximum(slots.start_step[others], slots.start_step[to]),
                end_step=np.minimum(slots.end_step[others], slots.end_step[to]),
            )
        )
        sizes = (slots.end_offset - slots.offset)[rows]
        items = np.concatenate((np.tile(np.arange(len(rows)), 2), shared.allocation))
        steps = np.concatenate((slots.start_step[rows], slots.end_step[rows] + 1, shared.steps))
        order = np.lexsort((steps, items))
        items, steps = items[order], steps[order]
        # The changes of each item add up to 0, so one running sum serves all of them.
        live_bytes = np.concatenate((sizes, -sizes, -shared.deltas))[order].cumsum()
        is_last = np.append((np.diff(items) != 0) | (np.diff(steps) != 0), True)[: len(items)]
        return ExclusiveBytes(items[is_last], steps[is_last], live_bytes[is_last])


@dataclass(frozen=True, slots=True, eq=False)
class ExclusiveBytes:
    """Bytes that only one slot covers, over time: from each of `steps` up to the next one of the same item,
    `live_bytes`. `item` numbers the slots; rows are sorted by item, then by step, and end with 0 bytes for each item.
    """

    item: Column
    steps: Column
    live_bytes: Column


def space_slots(dump: DumpSet, color: int, without: Column | None = None) -> SpaceSlots:
    """Return the slots of a memory space, except those of the values `without`."""
    placed = placed_values(dump)
    placed = placed[dump.allocations.color[dump.values.allocation[placed]] == color]
    if without is not None:
        placed = placed[~np.isin(placed, without)]
    return SpaceSlots(slots_of(dump, placed))


def live_without(dump: DumpSet, color: int, values: Column) -> LiveBytes:
    """Return the live bytes of a memory space without some values, computed from scratch."""
    changes = coverage(space_slots(dump, color, values).slots)
    return accumulated(changes.steps, changes.deltas)
