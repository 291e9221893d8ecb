"""Live bytes over time and their peaks, for each memory space. The definitions are those of the README:

- A value is *live* at a step that its live range contains, both ends included.
- The *live bytes* of a memory space at a step are the bytes that the slices of live values cover in its allocations,
  each byte counted once.
- The *peak* of a memory space is the greatest number of live bytes, at the earliest step that has as many.
- The *reserved bytes* of a memory space are the sizes of its allocations.

Values without a live range take part in reserved bytes only.
"""

from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from xla_lens.model.memory.sweep import Slots, sweep
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.lookup import found, taken
from xla_lens.syntax.columns import NONE, Column


@dataclass(frozen=True, slots=True, eq=False)
class LiveBytes:
    """Live bytes over time: from each of `steps`, ascending, up to the next one `live_bytes` are live."""

    steps: Column
    live_bytes: Column

    def at(self, step: int) -> int:
        """The bytes live at a step."""
        return int(self.at_each(np.array([step]))[0])

    def at_each(self, steps: Column) -> Column:
        """The bytes live at each of some steps."""
        return np.append(self.live_bytes, 0)[self.steps.searchsorted(steps, "right") - 1]

    def most_between(self, first: int, last: int) -> int:
        """The most bytes live at any step between two, both included."""
        places = self.steps.searchsorted((first, last), "right")
        return int(np.append(self.at(first), self.live_bytes[places[0] : places[1]]).max())

    @property
    def peak_step(self) -> int | None:
        """The first step with the most live bytes, None if nothing is ever live."""
        return int(self.steps[self.live_bytes.argmax()]) if len(self.steps) else None

    @property
    def peak_bytes(self) -> int:
        """The most live bytes of all steps."""
        return int(self.live_bytes.max(initial=0))


@dataclass(frozen=True, slots=True, eq=False)
class MemorySpace:
    """One memory space. `peak_step` is None if nothing is ever live."""

    color: int
    reserved_bytes: int
    live: LiveBytes
    peak_step: int | None
    peak_live_bytes: int


@dataclass(frozen=True, slots=True, eq=False)
class Memory:
    """All memory spaces by colour; and the values that share bytes and time, each with one that was there before.

    `allocations`, ascending, `steps` and `deltas` tell by how many bytes the live bytes of an allocation change at a
    step.
    """

    spaces: tuple[MemorySpace, ...]
    collisions: tuple[tuple[int, int], ...]
    allocations: Column
    steps: Column
    deltas: Column

    def space(self, color: int) -> MemorySpace | None:
        """The memory space of a colour, None if no allocation has it."""
        return next((space for space in self.spaces if space.color == color), None)

    def allocation(self, row: int) -> LiveBytes:
        """The live bytes of one allocation, by its row."""
        first, last = self.allocations.searchsorted((row, row + 1))
        return accumulated(self.steps[first:last], self.deltas[first:last])

    def most_live_bytes(self, allocation_count: int) -> Column:
        """For each allocation the most of its bytes that are live at once, NONE for one of whose values none ever
        is.
        """
        most = np.full(allocation_count, NONE)
        order = np.lexsort((self.steps, self.allocations))
        allocations, steps = self.allocations[order], self.steps[order]
        rows, first = np.unique(allocations, return_index=True)
        if len(rows):
            # All that comes to live in an allocation dies in it: the sum is 0 where the next one begins.
            live_bytes = self.deltas[order].cumsum()
            is_last = np.append((allocations[1:] != allocations[:-1]) | (steps[1:] != steps[:-1]), True)
            most[rows] = np.maximum.reduceat(np.where(is_last, live_bytes, 0), first)
        return most


def live_values(dump: DumpSet, step: int) -> Column:
    """The values live at a step, with or without a place in an allocation, by id."""
    starts, ends = dump.values.start_step, dump.values.end_step
    return np.flatnonzero((starts != NONE) & (starts <= step) & (step <= ends))


def placed_values(dump: DumpSet) -> Column:
    """The values that take part in live bytes, by id: those that have a live range and some bytes of an allocation."""
    values = dump.values
    return np.flatnonzero(
        (values.allocation != NONE)
        & (values.size_bytes > 0)
        & (values.start_step != NONE)
        & (values.start_step <= values.end_step)
    )


def covering(dump: DumpSet, step: int, color: int) -> Column:
    """The values whose bytes are the live bytes of a memory space at a step, by id."""
    values, placed = dump.values, placed_values(dump)
    is_live = (values.start_step[placed] <= step) & (step <= values.end_step[placed])
    live: Column = placed[is_live & (dump.allocations.color[values.allocation[placed]] == color)]
    return live


def live_in_space(dump: DumpSet, step: int, color: int) -> Column:
    """The values of a memory space that are in an allocation and live at a step, the biggest first."""
    values, live = dump.values, live_values(dump, step)
    live = live[(values.color[live] == color) & (values.allocation[live] != NONE)]
    biggest_first: Column = live[np.lexsort((live, -values.size_bytes[live]))]
    return biggest_first


def live_at_peak(dump: DumpSet, memory: Memory, values: Column) -> NDArray[np.bool_]:
    """For each of some values whether it is live at the peak of its memory space."""
    table = dump.values
    spaces = [space for space in memory.spaces if space.peak_step is not None]
    space = found(np.array([space.color for space in spaces], np.int64), table.color[values])
    peak_step = taken(np.array([space.peak_step for space in spaces], np.int64), space)
    is_live = (table.start_step[values] <= peak_step) & (peak_step <= table.end_step[values])
    result: NDArray[np.bool_] = is_live & (space != NONE) & (table.live_range[values] != NONE)
    return result


def measure(dump: DumpSet, may_overlap: Callable[[int], bool]) -> Memory:
    """Follows the live bytes of a dump set over all steps. `may_overlap` tells values whose live ranges are known to
    say too much, see `sweep`.
    """
    values, placed, is_known_exempt = dump.values, placed_values(dump), cache(may_overlap)
    placed = placed[np.argsort(values.allocation[placed], kind="stable")]
    allocations, steps, deltas = array("q"), array("q"), array("q")
    collisions: dict[tuple[int, int], None] = {}
    for group in np.split(placed, np.flatnonzero(np.diff(values.allocation[placed])) + 1):
        coverage = sweep(
            Slots(
                group,
                values.offset[group],
                values.offset[group] + values.size_bytes[group],
                values.start_step[group],
                values.end_step[group],
            ),
            is_known_exempt,
        )
        allocations.extend(int(values.allocation[group[0]]) for _ in coverage.steps)
        steps.extend(coverage.steps)
        deltas.extend(coverage.deltas)
        collisions.update(dict.fromkeys(coverage.collisions))
    table = [np.frombuffer(cells, np.int64) for cells in (allocations, steps, deltas)]
    return Memory(tuple(_spaces(dump, *table)), tuple(collisions), *table)


def _spaces(dump: DumpSet, allocations: Column, steps: Column, deltas: Column) -> Iterator[MemorySpace]:
    colors, sizes = dump.allocations.color, dump.allocations.size_bytes
    for color in np.unique(colors[colors != NONE]).tolist():
        here = colors[allocations] == color
        live = accumulated(steps[here], deltas[here])
        yield MemorySpace(color, sum(sizes[colors == color].tolist()), live, live.peak_step, live.peak_bytes)


def accumulated(steps: Column, deltas: Column) -> LiveBytes:
    """The live bytes that change by each of some deltas at a step; a step may be there several times."""
    order = np.argsort(steps, kind="stable")
    steps, live_bytes = steps[order], deltas[order].cumsum()
    is_last = np.append(steps[1:] != steps[:-1], True)[: len(steps)]
    return LiveBytes(steps[is_last], live_bytes[is_last])
