"""The history of an allocation: which value holds which bytes when, which bytes are free at the peaks or never used,
and when an arena needs its full size.

The dump does not show when values without a live range (thread-local values, some constants) hold their bytes. Their
bytes count as used, but not as live at any step.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from xla_lens.model.memory.over_time import Memory, placed_values
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.syntax.columns import NONE, Column, Kind


@dataclass(frozen=True, slots=True, eq=False)
class Intervals:
    """Disjoint ascending intervals, from `start` up to, not including, `end`."""

    start: Column
    end: Column

    @property
    def total(self) -> int:
        """The sum of the lengths."""
        return sum((self.end - self.start).tolist())

    def __len__(self) -> int:
        return len(self.start)


@dataclass(frozen=True, slots=True, eq=False)
class AllocationHistory:
    """The history of an allocation, a row of `DumpSet.allocations`.

    `value` to `end_step` are columns with a row for each value, sorted by offset, then by start step. A value without a
    live range has NONE as its steps and comes first.

    - `peak_step`: the first step with the most live bytes, `peak_bytes`. None if no value has a live range.
    - `free_at_peak`: the bytes that are not live at `peak_step`.
    - `space_peak_step`, `free_at_space_peak`: the same for the peak of the memory space. None if nothing is live there.
    - `never_used`: the bytes that no value holds.
    - `idle_bytes`: the size minus `peak_bytes`. None if a value without a live range holds some bytes.
    """

    allocation: int
    size_bytes: int
    value: Column
    offset: Column
    end_offset: Column
    start_step: Column
    end_step: Column
    peak_step: int | None
    peak_bytes: int
    free_at_peak: Intervals | None
    space_peak_step: int | None
    free_at_space_peak: Intervals | None
    never_used: Intervals
    idle_bytes: int | None

    @property
    def never_used_bytes(self) -> int:
        """The number of bytes that no value holds."""
        return self.never_used.total


@dataclass(frozen=True, slots=True, eq=False)
class Arena:
    """A preallocated temp, whose bytes XLA gives to different values over time. At most `peak_bytes` of `size_bytes`
    are live at once, first at `peak_step`, None if nothing is ever live.

    `top_bytes` is the highest end offset of a value with a live range. `reaching` are the values that end there, by id,
    and `full_size_steps` the steps at which one of them is live.
    """

    allocation: int
    color: int
    size_bytes: int
    peak_step: int | None
    peak_bytes: int
    top_bytes: int
    reaching: Column
    full_size_steps: Intervals

    @property
    def fragmentation(self) -> float | None:
        """The share of the size that is not live at the peak, None if the size is 0."""
        return 1 - self.peak_bytes / self.size_bytes if self.size_bytes > 0 else None


def allocation_history(dump: DumpSet, memory: Memory, allocation: int) -> AllocationHistory:
    """Return the history of an allocation, a row of `DumpSet.allocations`."""
    values = dump.values
    rows = np.flatnonzero(values.allocation == allocation)
    rows = rows[np.lexsort((rows, values.start_step[rows], values.offset[rows]))]
    size = int(dump.allocations.size_bytes[allocation])
    offset, end_offset = values.offset[rows], values.offset[rows] + values.size_bytes[rows]
    start_step, end_step = values.start_step[rows], values.end_step[rows]
    live, space = memory.allocation(allocation), memory.space(int(dump.allocations.color[allocation]))
    is_timed = (start_step != NONE) & (start_step <= end_step)
    is_known = not np.any(~is_timed & (offset < end_offset))

    def free_at(step: int | None) -> Intervals | None:
        is_live = is_timed & (start_step <= (step or 0)) & ((step or 0) <= end_step)
        return _free(offset[is_live], end_offset[is_live], size) if step is not None else None

    space_peak_step = space.peak_step if space else None
    return AllocationHistory(
        allocation=allocation,
        size_bytes=size,
        value=rows,
        offset=offset,
        end_offset=end_offset,
        start_step=start_step,
        end_step=end_step,
        peak_step=live.peak_step,
        peak_bytes=live.peak_bytes,
        free_at_peak=free_at(live.peak_step),
        space_peak_step=space_peak_step,
        free_at_space_peak=free_at(space_peak_step),
        never_used=_free(offset, end_offset, size),
        idle_bytes=max(size - live.peak_bytes, 0) if is_known else None,
    )


def arenas(dump: DumpSet, memory: Memory) -> Iterator[Arena]:
    """Return the preallocated temps, in the order of the dump."""
    for allocation in np.flatnonzero(dump.allocations.kind & Kind.PREALLOCATED_TEMP).tolist():
        yield arena(dump, memory, allocation)


def arena(dump: DumpSet, memory: Memory, allocation: int) -> Arena:
    """Return a preallocated temp, by its row."""
    table, values, live = dump.allocations, dump.values, memory.allocation(allocation)
    rows = placed_values(dump)
    rows = rows[values.allocation[rows] == allocation]
    ends = values.offset[rows] + values.size_bytes[rows]
    top = int(ends.max(initial=0))
    reaching = rows[ends == top]
    return Arena(
        allocation=allocation,
        color=int(table.color[allocation]),
        size_bytes=int(table.size_bytes[allocation]),
        peak_step=live.peak_step,
        peak_bytes=live.peak_bytes,
        top_bytes=top,
        reaching=reaching,
        full_size_steps=union(values.start_step[reaching], values.end_step[reaching] + 1),
    )


def union(start: Column, end: Column) -> Intervals:
    """Return the union of some intervals. Intervals that touch are joined."""
    is_there = start < end
    start, end = start[is_there], end[is_there]
    order = np.argsort(start, kind="stable")
    start, reached = start[order], np.maximum.accumulate(end[order])
    is_first = np.ones(len(start), bool)
    is_first[1:] = start[1:] > reached[:-1]
    return Intervals(start[is_first], reached[np.append(is_first[1:], np.ones(1, bool))[: len(start)]])


def _free(start: Column, end: Column, size: int) -> Intervals:
    """The bytes from 0 up to `size` that no interval covers."""
    covered = union(np.clip(start, 0, max(size, 0)), np.clip(end, 0, max(size, 0)))
    free = np.concatenate(([0], covered.end)), np.append(covered.start, max(size, 0))
    is_there = free[0] < free[1]
    return Intervals(free[0][is_there], free[1][is_there])
