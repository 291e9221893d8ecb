"""What becomes of an allocation over time: who is where and when, what of it is free at its peaks and what always is,
and when an arena needs its full size.

Values without a live range (thread-local ones, some constants) hold their bytes at times that are not known: their
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
    """Disjoint intervals, ascending: from each of `start` up to, not including, the one of `end`."""

    start: Column
    end: Column

    @property
    def total(self) -> int:
        """Their lengths together."""
        return sum((self.end - self.start).tolist())

    def __len__(self) -> int:
        return len(self.start)


@dataclass(frozen=True, slots=True, eq=False)
class AllocationHistory:
    """An allocation, a row of `DumpSet.allocations`.

    `value` to `end_step` are columns, a row for each value, by offset and then in the order of time; a value without
    a live range has NONE as its steps and comes before those that have one.

    `peak_step` is the first step at which the most bytes of it are live, `peak_bytes`; None if that is never known of
    any. `free_at_peak` are its bytes that are not live then. `space_peak_step` and `free_at_space_peak` say the same
    of the peak of its memory space; None if nothing is ever live there. `never_used` are bytes that no value ever has.
    `idle_bytes` are never used at the same time as all others: its size less `peak_bytes`; None if a value without a
    live range has some of its bytes.
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
        """The bytes that no value ever has."""
        return self.never_used.total


@dataclass(frozen=True, slots=True, eq=False)
class Arena:
    """An allocation whose bytes XLA gives out over time, a preallocated-temp: `peak_bytes` of `size_bytes` are live at
    once at most, first at `peak_step`, None if nothing is ever live.

    No value with a live range ends above `top_bytes`. `reaching` are those that end there, by id, and
    `full_size_steps` the steps at which one of them is live (the end of an interval is the step after its last).
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
        """The part of it that is never used at the same time as all others, None if it has no bytes."""
        return 1 - self.peak_bytes / self.size_bytes if self.size_bytes > 0 else None


def allocation_history(dump: DumpSet, memory: Memory, allocation: int) -> AllocationHistory:
    """The allocation_history of a row of `DumpSet.allocations`."""
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
    """The preallocated-temp allocations, in the order of the dump."""
    for allocation in np.flatnonzero(dump.allocations.kind & Kind.PREALLOCATED_TEMP).tolist():
        yield arena(dump, memory, allocation)


def arena(dump: DumpSet, memory: Memory, allocation: int) -> Arena:
    """One preallocated-temp allocation, by its row."""
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
    """What some intervals cover together; those that touch become one."""
    is_there = start < end
    start, end = start[is_there], end[is_there]
    order = np.argsort(start, kind="stable")
    start, reached = start[order], np.maximum.accumulate(end[order])
    is_first = np.ones(len(start), bool)
    is_first[1:] = start[1:] > reached[:-1]
    return Intervals(start[is_first], reached[np.append(is_first[1:], np.ones(1, bool))[: len(start)]])


def _free(start: Column, end: Column, size: int) -> Intervals:
    """The bytes from 0 up to a size that no interval covers."""
    covered = union(np.clip(start, 0, max(size, 0)), np.clip(end, 0, max(size, 0)))
    free = np.concatenate(([0], covered.end)), np.append(covered.start, max(size, 0))
    is_there = free[0] < free[1]
    return Intervals(free[0][is_there], free[1][is_there])
