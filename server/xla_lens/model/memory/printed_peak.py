"""How XLA finds the step that it prints as the peak (HloLiveRange::ComputePeakMemoryMoment).

XLA adds up shapes, not slices. Each value counts as the whole shape of its instruction, so an element of a tuple counts
as the tuple's table of pointers. A value still counts one step after its end. All memory spaces count together. XLA
prints the first step with the greatest sum.

The list of buffers below it is another sum: the values live at that step, each with its own shape, or until jaxlib
0.5.3 with the whole shape of its instruction.
"""

from typing import Final

import numpy as np
from msgspec import Struct

from xla_lens.model.memory.over_time import Memory, live_values
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.lookup import taken
from xla_lens.syntax.columns import NONE, Column

DEFAULT_COLOR: Final = 0
"""The color that stands for the memory of the device (`SpaceId.memory`)."""


class CountedBytes(Struct, frozen=True):
    """A sum of XLA's compared with the live bytes of a memory space at the same step. The terms add up exactly:

    `total_bytes` = `live_bytes` + `died_bytes` + `tuple_bytes` + `other_space_bytes` + `shared_bytes`
    - `padding_bytes` + `unplaced_bytes`.

    - `died_bytes`: values that ended one step before, as XLA sizes them.
    - `tuple_bytes`: the shapes of the instructions of live values minus the shapes of the values. Negative if big
      elements count as the table of pointers.
    - `other_space_bytes`: the shapes of live values in other memory spaces.
    - `shared_bytes`: bytes of this memory space that are assigned to several live values, counted again each time.
    - `padding_bytes`: the slices of live values in this memory space minus their shapes. Negative if a shape is split
      between cores.
    - `unplaced_bytes`: the shapes of live values in no allocation.
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


class PrintedPeak(Struct, frozen=True):
    """The printed peak compared with the recomputed one.

    `listed` explains the sum of the printed list. `counted_at_printed` and `counted_at_peak` explain the sums by which
    XLA chose the step, at that step and at the recomputed peak of the device's memory. They are None if a shape is
    unknown, the list differs from the live values, or nothing is ever live. `is_understated` is whether fewer bytes
    of the device's memory are live at the printed step than at its peak; None if the program needs none.
    """

    step: int
    listed: CountedBytes | None
    counted_at_printed: CountedBytes | None
    counted_at_peak: CountedBytes | None
    is_understated: bool | None


def first_printed_peak(dump: DumpSet) -> tuple[int, int | None] | None:
    """Return the step and the bytes of the printed peak. None if it is missing, bytes of None if its list is. What is
    negative counts as missing.
    """
    if not len(dump.peaks) or dump.peaks.step[0] < 0:
        return None
    sizes = dump.peak_buffers.size_bytes.tolist()
    return dump.peaks.step.item(0), sum(sizes) if sizes and min(sizes) >= 0 else None


def xla_peak_step(dump: DumpSet) -> int | None:
    """Return the step that XLA prints as the peak: of the steps at which a value starts, the first with the most
    counted bytes. None if nothing is live or a counted shape is unknown.
    """
    values, live = dump.values, np.flatnonzero(dump.values.live_range != NONE)
    starts, ends, sizes = values.start_step[live], values.end_step[live], dump.whole_bytes[live]
    if not len(live) or np.any(sizes == NONE) or np.any(dump.value_of_live_range == NONE):
        return None
    steps, first = np.unique(starts, return_inverse=True)
    changes = np.zeros(len(steps) + 1, np.int64)
    np.add.at(changes, first, sizes)
    np.subtract.at(changes, np.maximum(steps.searchsorted(ends + 1, "right"), first), sizes)
    return steps.item(changes[:-1].cumsum().argmax())


def explain_counted(dump: DumpSet, memory: Memory, step: int) -> CountedBytes | None:
    """Compare what XLA counts at a step, the values live there or one step earlier, with the live bytes of the
    device's memory. None if the shape of a counted value, or the value of a live range, is unknown.
    """
    live = live_values(dump, step)
    counted, ranges = (
        np.flatnonzero((table.start_step <= step) & (step <= table.end_step + 1))
        for table in (dump.values, dump.live_ranges)
    )
    counted = counted[dump.values.live_range[counted] != NONE]
    if np.any(dump.whole_bytes[counted] == NONE) or np.any(dump.value_of_live_range[ranges] == NONE):
        return None
    died = np.setdiff1d(counted, live, assume_unique=True)
    return _explained(dump, memory, step, live, dump.whole_bytes[live], died=sum(dump.whole_bytes[died].tolist()))


def explain_printed_peak(dump: DumpSet, memory: Memory, row: int = 0) -> PrintedPeak | None:
    """Explain a printed peak, a row of `DumpSet.peaks`. None if there is no such row, or at a negative step."""
    peaks, default = dump.peaks, memory.space(DEFAULT_COLOR)
    if row >= len(peaks) or peaks.step[row] < 0:
        return None
    step, rows = peaks.step.item(row), dump.buffers_of(row)
    values, sizes = dump.value_of_peak_buffer[rows], dump.peak_buffers.size_bytes[rows]
    is_live = np.array_equal(np.sort(values), live_values(dump, step))
    peak_step = default.peak_step if default else None
    return PrintedPeak(
        step=step,
        listed=_explained(dump, memory, step, values, sizes, died=0) if is_live else None,
        counted_at_printed=explain_counted(dump, memory, step),
        counted_at_peak=explain_counted(dump, memory, peak_step) if peak_step is not None else None,
        is_understated=default.live.at(step) < default.peak_live_bytes if default else None,
    )


def _explained(
    dump: DumpSet, memory: Memory, step: int, live: Column, sizes: Column, *, died: int
) -> CountedBytes | None:
    """Explain the sum of `sizes`, one for each live value, and of the bytes `died` of values that just ended."""
    space, logical, assigned = memory.space(DEFAULT_COLOR), dump.logical_bytes[live], dump.values.size_bytes[live]
    if np.any(logical == NONE):
        return None
    spaces = taken(dump.allocation_spaces, dump.values.allocation[live])
    is_here, is_unplaced = spaces == DEFAULT_COLOR, spaces == NONE
    live_bytes, assigned_bytes = space.live.at(step) if space else 0, sum(assigned[is_here].tolist())
    return CountedBytes(
        step=step,
        color=DEFAULT_COLOR,
        total_bytes=sum(sizes.tolist()) + died,
        live_bytes=live_bytes,
        died_bytes=died,
        tuple_bytes=sum((sizes - logical).tolist()),
        other_space_bytes=sum(logical[~is_here & ~is_unplaced].tolist()),
        shared_bytes=assigned_bytes - live_bytes,
        padding_bytes=assigned_bytes - sum(logical[is_here].tolist()),
        unplaced_bytes=sum(logical[is_unplaced].tolist()),
    )
