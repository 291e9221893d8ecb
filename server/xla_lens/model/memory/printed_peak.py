"""How XLA finds the step that it prints as the peak (HloLiveRange::ComputePeakMemoryMoment).

It adds up shapes, not places: each value counts as the whole shape of the instruction that defines it, so that an
element of a tuple counts as the tuple's table of pointers; a value still counts one step after its end; and all memory
spaces count together. The first step with the greatest sum is printed, whatever is live there.

The list that it prints below is another sum: only what is live at that step, each with its own shape, or until jaxlib
0.5.3 with the whole shape again.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from xla_lens.model.memory.over_time import Memory, MemorySpace, live_values
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.lookup import taken
from xla_lens.syntax.columns import NONE, Column

DEFAULT_COLOR: Final = 0


@dataclass(frozen=True, slots=True)
class CountedBytes:
    """A sum of XLA's against the live bytes of a memory space at the same step. Exactly,

    `total_bytes` = `live_bytes` + `died_bytes` + `tuple_bytes` + `other_space_bytes` + `shared_bytes`
    - `padding_bytes` + `unplaced_bytes`.

    - `died_bytes`: values that ended one step before, as XLA sizes them.
    - `tuple_bytes`: by how much the live values are more as the whole shapes of their instructions than as their own.
      Less than nothing where big elements count as the table of pointers.
    - `other_space_bytes`: the shapes of live values in other memory spaces.
    - `shared_bytes`: what live values were assigned of this space more than once, being on the same bytes.
    - `padding_bytes`: what the live values of this space were assigned more than their shapes take. Less than nothing
      where a shape is split between cores.
    - `unplaced_bytes`: the shapes of live values that are in no allocation.
    """

    step: int
    color: int
    total_bytes: int
    live_bytes: int
    died_bytes: int
    tuple_bytes: int
    other_space_bytes: int
    shared_bytes: int
    padding_bytes: int
    unplaced_bytes: int


@dataclass(frozen=True, slots=True)
class SpaceAtPrinted:
    """The true peak of a memory space, and what is live of it at the printed step. `peak_step` is None if nothing is
    ever live.
    """

    color: int
    peak_step: int | None
    peak_bytes: int
    live_bytes: int


@dataclass(frozen=True, slots=True)
class PrintedPeak:
    """What is printed as the peak against what is the peak.

    `listed` explains the sum of the printed list, `printed_bytes`; `counted_at_printed` and `counted_at_peak` explain
    the sums by which XLA chose the step, there and at the true peak of the default memory space. They are None if they
    cannot be known: a shape is unknown, the list is not that of the live values, or nothing is ever live.
    `is_understated` tells that less is live in the default memory space at the printed step than at its peak; None if
    there is no such memory space.
    """

    step: int
    printed_bytes: int
    spaces: tuple[SpaceAtPrinted, ...]
    listed: CountedBytes | None
    counted_at_printed: CountedBytes | None
    counted_at_peak: CountedBytes | None
    is_understated: bool | None


def first_printed_peak(dump: DumpSet) -> tuple[int, int | None] | None:
    """The step of the printed peak, and the bytes of what is listed there; None where a list, or a peak, is missing."""
    if not len(dump.peaks):
        return None
    sizes = dump.peak_buffers.size_bytes.tolist()
    return int(dump.peaks.step[0]), sum(sizes) if sizes else None


def counted_values(dump: DumpSet, step: int) -> Column:
    """The values that XLA counts at a step, by id: those live there, and those that ended one step before."""
    values = dump.values
    is_there = (values.start_step <= step) & (step <= values.end_step + 1)
    return np.flatnonzero((values.live_range != NONE) & is_there)


def counted_bytes(dump: DumpSet, step: int) -> int | None:
    """The bytes that XLA counts at a step when it looks for the peak. None if the shape of one of the values is not
    known, or the value of one of the live ranges.
    """
    sizes, ranges = dump.whole_bytes[counted_values(dump, step)], dump.live_ranges
    is_there = (ranges.start_step <= step) & (step <= ranges.end_step + 1)
    if np.any(sizes == NONE) or np.any(is_there & (dump.value_of_live_range == NONE)):
        return None
    return int(sizes.sum())


def xla_peak_step(dump: DumpSet) -> int | None:
    """The step that XLA prints as the peak: the first of those at which a value starts at which it counts the most
    bytes. None if nothing is live, or if not all is known that it counts.
    """
    values, live = dump.values, np.flatnonzero(dump.values.live_range != NONE)
    starts, ends, sizes = values.start_step[live], values.end_step[live], dump.whole_bytes[live]
    if not len(live) or np.any(sizes == NONE) or np.any(dump.value_of_live_range == NONE):
        return None
    steps, first = np.unique(starts, return_inverse=True)
    changes = np.zeros(len(steps) + 1, np.int64)
    np.add.at(changes, first, sizes)
    np.subtract.at(changes, np.maximum(steps.searchsorted(ends + 1, "right"), first), sizes)
    return int(steps[changes[:-1].cumsum().argmax()])


def explain_counted(dump: DumpSet, memory: Memory, step: int, color: int = DEFAULT_COLOR) -> CountedBytes | None:
    """What `counted_bytes` at a step is made of, against the live bytes of a memory space. None if it is not known."""
    live, counted = live_values(dump, step), counted_values(dump, step)
    died = np.setdiff1d(counted, live, assume_unique=True)
    if counted_bytes(dump, step) is None:
        return None
    died_bytes = sum(dump.whole_bytes[died].tolist())
    return _explained(dump, memory.space(color), live, dump.whole_bytes[live], step=step, color=color, died=died_bytes)


def explain_listed(dump: DumpSet, memory: Memory, row: int, color: int = DEFAULT_COLOR) -> CountedBytes | None:
    """What the printed list of a row of `DumpSet.peaks` adds up to, against the live bytes of a memory space. None if
    that is not known, or if the list is not that of the live values.
    """
    step, first, count = (int(cells[row]) for cells in (dump.peaks.step, *_buffers(dump)))
    listed, printed = (
        cells[first : first + count] for cells in (dump.value_of_peak_buffer, dump.peak_buffers.size_bytes)
    )
    if not np.array_equal(np.sort(listed), live_values(dump, step)):
        return None
    return _explained(dump, memory.space(color), listed, printed, step=step, color=color, died=0)


def explain_printed_peak(dump: DumpSet, memory: Memory, row: int = 0) -> PrintedPeak | None:
    """All about the printed peak, a row of `DumpSet.peaks`. None if there is no such row."""
    if row >= len(dump.peaks):
        return None
    step, first, count = (int(cells[row]) for cells in (dump.peaks.step, *_buffers(dump)))
    default = memory.space(DEFAULT_COLOR)
    peak = default.peak_step if default else None
    return PrintedPeak(
        step=step,
        printed_bytes=sum(dump.peak_buffers.size_bytes[first : first + count].tolist()),
        spaces=tuple(
            SpaceAtPrinted(space.color, space.peak_step, space.peak_live_bytes, space.live.at(step))
            for space in memory.spaces
        ),
        listed=explain_listed(dump, memory, row),
        counted_at_printed=explain_counted(dump, memory, step),
        counted_at_peak=explain_counted(dump, memory, peak) if peak is not None else None,
        is_understated=default.live.at(step) < default.peak_live_bytes if default else None,
    )


def _buffers(dump: DumpSet) -> tuple[Column, Column]:
    return dump.peaks.first_buffer, dump.peaks.buffer_count


def _explained(
    dump: DumpSet, space: MemorySpace | None, live: Column, sizes: Column, *, step: int, color: int, died: int
) -> CountedBytes | None:
    """Explains the sum of the sizes that all live values are given, and of the bytes of dead ones."""
    logical, assigned = dump.logical_bytes[live], dump.values.size_bytes[live]
    if np.any(logical == NONE):
        return None
    colors = taken(dump.allocations.color, dump.values.allocation[live])
    is_here, is_unplaced = colors == color, colors == NONE
    live_bytes, assigned_bytes = space.live.at(step) if space else 0, sum(assigned[is_here].tolist())
    return CountedBytes(
        step=step,
        color=color,
        total_bytes=sum(sizes.tolist()) + died,
        live_bytes=live_bytes,
        died_bytes=died,
        tuple_bytes=sum((sizes - logical).tolist()),
        other_space_bytes=sum(logical[~is_here & ~is_unplaced].tolist()),
        shared_bytes=assigned_bytes - live_bytes,
        padding_bytes=assigned_bytes - sum(logical[is_here].tolist()),
        unplaced_bytes=sum(logical[is_unplaced].tolist()),
    )
