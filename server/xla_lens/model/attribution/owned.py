"""Assign each live byte at a step to exactly one value, its owner.

Values may share bytes: where one takes over the bytes of another, both are live at the step where they meet, and XLA
lets some values overlap. The owner is the value that started last, by start step and then by id. Owned bytes therefore
add up to the live bytes of the memory space.
"""

import numpy as np

from xla_lens.model.memory.over_time import covering
from xla_lens.model.memory.sweep import segments
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.syntax.columns import NONE, Column, Pairs, cells, pairs


def owned_bytes(dump: DumpSet, step: int, color: int) -> Pairs:
    """Return the values that are live in a memory space at a step, by id, and the number of bytes that each owns.

    A value owns 0 bytes if all of its bytes belong to others. The sum is `MemorySpace.live.at(step)`.
    """
    values, live = dump.values, covering(dump, step, color)
    offset = values.offset[live]
    starts, ends, lengths = segments(values.allocation[live], offset, offset + values.size_bytes[live])
    owners = np.full(len(lengths), NONE)
    by_start = np.argsort(values.start_step[live], kind="stable")
    for place, start, end in cells(by_start, starts[by_start], ends[by_start]):
        owners[start:end] = place
    owned = np.zeros(len(live), np.int64)
    is_owned = owners != NONE
    np.add.at(owned, owners[is_owned], lengths[is_owned])
    return live, owned


def owners(dump: DumpSet, step: int, color: int) -> list[tuple[int, int]]:
    """Return the values that own bytes of a memory space at a step, with these bytes, largest first."""
    return largest_owners(*owned_bytes(dump, step, color))


def largest_owners(values: Column, owned: Column) -> list[tuple[int, int]]:
    """Return those of some values that own bytes, with these bytes, largest first."""
    order = np.argsort(-owned, kind="stable")[: np.count_nonzero(owned)]
    return pairs(values[order], owned[order])
