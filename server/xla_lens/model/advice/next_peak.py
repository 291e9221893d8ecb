"""The peak of a memory space if one value did not exist, for each value that is live at it.

A value takes away only the bytes that it alone covers. How many those are changes only where another value on its bytes
begins or ends, so that the live bytes without it are the live bytes less a few constants, each over some steps: the
greatest of them is found in a table of the greatest live bytes over all ranges of a power of two.
"""

from dataclasses import dataclass

import numpy as np

from xla_lens.model.advice.without import space_slots
from xla_lens.model.memory.over_time import LiveBytes, Memory, covering
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.syntax.columns import NONE, Column


@dataclass(frozen=True, slots=True, eq=False)
class NextPeaks:
    """A row for each of some values. Without it the peak of its memory space would be `next_peak_bytes`, first at
    `next_peak_step`, NONE if nothing were live any more. `freed_bytes` are those that it alone covers at the peak: so
    many fewer would be live there, which may well be more than the peak would be lower.
    """

    value: Column
    freed_bytes: Column
    next_peak_bytes: Column
    next_peak_step: Column

    def __len__(self) -> int:
        return len(self.value)


def next_peaks(dump: DumpSet, memory: Memory, color: int, values: Column | None = None) -> NextPeaks:
    """What the peak of a memory space would be without each of some values, in their order; without `values`, of those
    that cover bytes at the peak, by id. Values that never cover bytes of this memory space are left out.
    """
    space = memory.space(color)
    if space is None or space.peak_step is None:
        return NextPeaks(*(np.zeros(0, np.int64) for _ in range(4)))
    slots = space_slots(dump, color)
    rows = slots.rows(covering(dump, space.peak_step, color) if values is None else values)
    exclusive = [slots.exclusive(row, slots.beside(row)) for row in rows.tolist()]
    # The steps before it, of each of its parts, and after it: the last part has no bytes, and no end.
    counts = np.array([len(part.steps) + 1 for part in exclusive], np.int64)
    first = counts.cumsum() - counts
    starts = np.concatenate([np.append(_FIRST, part.steps) for part in exclusive] or [_NOTHING])
    less = np.concatenate([np.append(0, part.live_bytes) for part in exclusive] or [_NOTHING])
    ends = np.append(starts[1:], 0) - 1
    ends[first + counts - 1] = max(int(space.live.steps[-1]), int(starts.max(initial=0)))
    most, step = _most_between(space.live, starts, ends)
    most -= less
    owner = np.repeat(np.arange(len(rows)), counts)
    best = np.lexsort((step, -most, owner))[first]
    return NextPeaks(
        value=slots.slots.value[rows],
        freed_bytes=np.array([part.at(space.peak_step) for part in exclusive], np.int64),
        next_peak_bytes=most[best],
        next_peak_step=np.where(most[best] > 0, step[best], NONE),
    )


_FIRST = np.array([NONE])
_NOTHING = np.zeros(0, np.int64)


def _most_between(live: LiveBytes, first: Column, last: Column) -> tuple[Column, Column]:
    """The most live bytes between two steps, both included, and the first step there that has as many, for columns of
    steps. Where the last is before the first: -1, and any step.
    """
    steps, live_bytes = np.append(_FIRST, live.steps), np.append(0, live.live_bytes)
    # For each power of two, where the most are among as many places from each on: the first of them.
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
