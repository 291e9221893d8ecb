"""The peak of a memory space without one value, for each value that is live at the peak.

Removing a value frees the bytes that only it covers. Their number changes only where another value on these bytes
starts or ends. So the live bytes without the value are the live bytes minus a constant over each of a few ranges of
steps, and the peak is the maximum over these ranges, looked up in a sparse table of range maxima.
"""

from dataclasses import dataclass

import numpy as np

from xla_lens.model.advice.without import space_slots
from xla_lens.model.memory.over_time import LiveBytes, Memory, covering
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.syntax.columns import NONE, Column


@dataclass(frozen=True, slots=True, eq=False)
class NextPeaks:
    """One row for each value. Without the value the peak is `next_peak_bytes`, first at `next_peak_step`, NONE if
    nothing is live then. `freed_bytes` are the bytes at the peak step that only this value covers. The peak can drop by
    less, because another step becomes the peak.
    """

    value: Column
    freed_bytes: Column
    next_peak_bytes: Column
    next_peak_step: Column

    def __len__(self) -> int:
        return len(self.value)


def next_peaks(dump: DumpSet, memory: Memory, color: int, values: Column | None = None) -> NextPeaks:
    """Return the peak of a memory space without each of `values`, in their order. None stands for the values that cover
    bytes at the peak, by id. Values that never cover bytes of the memory space are left out.
    """
    space = memory.space(color)
    if space is None or space.peak_step is None:
        return NextPeaks(*(np.zeros(0, np.int64) for _ in range(4)))
    slots = space_slots(dump, color)
    rows = slots.rows(covering(dump, space.peak_step, color) if values is None else values)
    exclusive = slots.exclusive(rows, [slots.beside(row) for row in rows.tolist()])
    # Parts of time for each value: before it, each part with the same exclusive bytes, and after it.
    number = np.arange(len(rows))
    owner, starts = np.append(number, exclusive.item), np.append(np.full(len(rows), NONE), exclusive.steps)
    order = np.lexsort((starts, owner))
    owner, starts = owner[order], starts[order]
    less = np.append(np.zeros(len(rows), np.int64), exclusive.live_bytes)[order]
    first, after_last = owner.searchsorted(number), owner.searchsorted(number, "right")
    ends = np.append(starts[1:], 0)[: len(starts)] - 1
    ends[after_last - 1] = max(int(space.live.steps[-1]), int(starts.max(initial=0)))
    most, step = _most_between(space.live, starts, ends)
    most -= less
    best = np.lexsort((step, -most, owner))[first]
    is_at_peak = (starts <= space.peak_step) & (space.peak_step <= ends)
    return NextPeaks(
        value=slots.slots.value[rows],
        freed_bytes=less[is_at_peak],
        next_peak_bytes=most[best],
        next_peak_step=np.where(most[best] > 0, step[best], NONE),
    )


_FIRST = np.array([NONE])


def _most_between(live: LiveBytes, first: Column, last: Column) -> tuple[Column, Column]:
    """Return for each range of steps, both ends included, the maximum of the live bytes and the first step that reaches
    it. For an empty range: -1 and any step.
    """
    steps, live_bytes = np.append(_FIRST, live.steps), np.append(0, live.live_bytes)
    # table[k][i] is the first place of the maximum among the 2**k places from i on.
    table = [np.arange(len(steps))]
    while 2 << len(table) - 1 <= len(steps):
        before, width = table[-1], 1 << len(table) - 1
        table.append(_better(live_bytes, before[: len(before) - width], before[width:]))
    low = np.maximum(steps.searchsorted(first, "right") - 1, 0)
    high = np.maximum(steps.searchsorted(last, "right") - 1, low)
    power = np.frexp(high - low + 1)[1] - 1
    best = np.zeros(len(low), np.int64)
    for number in np.unique(power).tolist():
        here = np.flatnonzero(power == number)
        best[here] = _better(live_bytes, table[number][low[here]], table[number][high[here] - (1 << number) + 1])
    return np.where(first <= last, live_bytes[best], -1), np.maximum(steps[best], first)


def _better(live_bytes: Column, one: Column, other: Column) -> Column:
    return np.where(live_bytes[one] >= live_bytes[other], one, other)
