"""Assign each live byte at a step to exactly one value, its owner.

Values may share bytes: where one takes over the bytes of another, both are live at the step where they meet, and XLA
lets some values overlap. The owner is the value that started last, by start step and then by id. Owned bytes therefore
add up to the live bytes of the memory space.
"""

import numpy as np

from xla_lens.model.memory.over_time import covering
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.syntax.columns import NONE, Column


def owned_bytes(dump: DumpSet, step: int, color: int) -> tuple[Column, Column]:
    """Return the values that are live in a memory space at a step, by id, and the number of bytes that each owns.

    A value owns 0 bytes if all of its bytes belong to others. The sum is `MemorySpace.live.at(step)`.
    """
    values, live = dump.values, covering(dump, step, color)
    starts, ends, lengths = byte_segments(
        values.allocation[live], values.offset[live], values.offset[live] + values.size_bytes[live]
    )
    owners = np.full(len(lengths), NONE)
    by_start = np.argsort(values.start_step[live], kind="stable")
    for place, start, end in zip(by_start.tolist(), starts[by_start].tolist(), ends[by_start].tolist(), strict=True):
        owners[start:end] = place
    owned = np.zeros(len(live), np.int64)
    is_owned = owners != NONE
    np.add.at(owned, owners[is_owned], lengths[is_owned])
    return live, owned


def byte_segments(allocation: Column, offset: Column, end_offset: Column) -> tuple[Column, Column, Column]:
    """Cut the bytes of all allocations into segments wherever a slot begins or ends.

    Returns for each slot its first segment and the one behind its last, and for each segment its length. Segments
    between two slots, and between two allocations, belong to no slot.
    """
    count = len(allocation)
    allocations, bounds = np.concatenate((allocation, allocation)), np.concatenate((offset, end_offset))
    order = np.lexsort((bounds, allocations))
    is_new = np.ones(2 * count, bool)
    is_new[1:] = (np.diff(allocations[order]) != 0) | (np.diff(bounds[order]) != 0)
    segment = np.empty(2 * count, np.int64)
    segment[order] = is_new.cumsum() - 1
    cuts = bounds[order][is_new]
    return segment[:count], segment[count:], np.diff(cuts, append=cuts[-1:])
