"""The history of an allocation: which value holds which bytes when, which bytes are free at the peaks or never used,
and when an arena needs its full size.

The dump does not show when values without a live range (thread-local values, some constants) hold their bytes. Their
bytes count as used, but not as live at any step.
"""

from collections.abc import Iterator

import numpy as np
from msgspec import Struct

from xla_lens.model.memory.over_time import Memory
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.syntax.columns import NONE, Column, Kind, Mask


class Intervals(Struct, frozen=True, eq=False):
    """Disjoint ascending intervals, from `start` up to, not including, `end`."""

    start: Column
    end: Column

    @property
    def total(self) -> int:
        """The sum of the lengths."""
        return sum((self.end - self.start).tolist())

    def __len__(self) -> int:
        return len(self.start)


class AllocationHistory(Struct, frozen=True, eq=False):
    """The history of an allocation, a row of `DumpSet.allocations`.

    `value` to `end_step` are columns with a row for each value, sorted by offset, then by start step. A value without a
    live range has NONE as its steps and comes first. `peak_step` is the first step with the most live bytes,
    `peak_bytes`; `space_peak_step` is the peak of the memory space. They are None if nothing is ever live there.
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
    space_peak_step: int | None

    def free_at(self, step: int | None) -> Intervals | None:
        """Return the bytes that are not live at a step, None for None."""
        if step is None:
            return None
        is_here = (self.start_step <= step) & (step <= self.end_step)
        return _free(self.offset[is_here], self.end_offset[is_here], self.size_bytes)

    @property
    def never_used(self) -> Intervals:
        """The bytes that no value holds."""
        return _free(self.offset, self.end_offset, self.size_bytes)

    @property
    def idle_bytes(self) -> int | None:
        """The size minus `peak_bytes`. None if a value without a live range holds some bytes."""
        is_unknown = np.any((self.start_step == NONE) & (self.offset < self.end_offset))
        return None if is_unknown else max(self.size_bytes - self.peak_bytes, 0)

    @property
    def fragmentation(self) -> float | None:
        """The share of the size that is not live at the peak, None if the size is 0."""
        return 1 - self.peak_bytes / self.size_bytes if self.size_bytes > 0 else None

    @property
    def reaching(self) -> Column:
        """The values with a live range that end at the highest offset, by id: they set the size."""
        return np.sort(self.value[self._is_reaching])

    @property
    def full_size_steps(self) -> Intervals:
        """The steps at which one of `reaching` is live."""
        return union(self.start_step[self._is_reaching], self.end_step[self._is_reaching] + 1)

    @property
    def _is_reaching(self) -> Mask:
        is_placed = (self.start_step != NONE) & (self.offset < self.end_offset)
        is_reaching: Mask = is_placed & (self.end_offset == self.end_offset[is_placed].max(initial=0))
        return is_reaching


def allocation_history(dump: DumpSet, memory: Memory, allocation: int) -> AllocationHistory:
    """Return the history of an allocation, a row of `DumpSet.allocations`."""
    values = dump.values
    rows = np.flatnonzero(values.allocation == allocation)
    rows = rows[np.lexsort((rows, values.start_step[rows], values.offset[rows]))]
    live, space = memory.allocation(allocation), memory.space(dump.allocation_spaces.item(allocation))
    return AllocationHistory(
        allocation=allocation,
        size_bytes=dump.allocations.size_bytes.item(allocation),
        value=rows,
        offset=values.offset[rows],
        end_offset=values.offset[rows] + values.size_bytes[rows],
        start_step=values.start_step[rows],
        end_step=values.end_step[rows],
        peak_step=live.peak_step,
        peak_bytes=live.peak_bytes,
        space_peak_step=space.peak_step if space else None,
    )


def arenas(dump: DumpSet, memory: Memory) -> Iterator[AllocationHistory]:
    """Return the preallocated temps, whose bytes XLA gives to different values over time, in the order of the dump."""
    for allocation in np.flatnonzero(dump.allocations.kind & Kind.PREALLOCATED_TEMP).tolist():
        yield allocation_history(dump, memory, allocation)


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
