"""How XLA finds the step that it prints as the peak (HloLiveRange::ComputePeakMemoryMoment).

It adds up shapes, not places: each value counts as the whole shape of the instruction that defines it, so that an
element of a tuple counts as the tuple's table of pointers; a value still counts one step after its end; and all memory
spaces count together. The first step with the greatest sum is printed, whatever is live there.
"""

import numpy as np

from xla_lens.model.dump_set import DumpSet
from xla_lens.syntax.columns import NONE, Column


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
