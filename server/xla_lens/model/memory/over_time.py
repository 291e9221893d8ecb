"""Live bytes over time and the peak of each memory space:

- A *memory space* has one color, XLA's number, or several: on a GPU, all colors but that of host memory are in the
  device's memory. One of the colors stands for it (`SpaceId.memory`).
- A value is *live* at the steps of its live range, both ends included.
- The *live bytes* of a memory space at a step are the bytes that the slices of live values cover in its allocations.
  Each byte counts once.
- The *peak* of a memory space is its greatest number of live bytes. The *peak step* is the first step that reaches it.
- The *reserved bytes* of a memory space are the sizes of its allocations.

Values without a live range count as reserved bytes only.
"""

from collections.abc import Callable, Iterator
from functools import cache, cached_property
from typing import Final

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from xla_lens.model.memory.reported import ReportedSpace, reported_spaces
from xla_lens.model.memory.sweep import Coverage, Slots, collisions, coverage
from xla_lens.model.tables.backend import SpaceId
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.kinds import is_thread_local
from xla_lens.model.tables.lookup import distinct, ordered
from xla_lens.model.warrants import Bound, Quantity, Warrants
from xla_lens.syntax.columns import NONE, Column, Mask


class LiveBytes(Struct, frozen=True, eq=False):
    """Live bytes over time. `steps` ascend; `live_bytes` holds from each step up to the next one."""

    steps: Column
    live_bytes: Column

    def at(self, step: int) -> int:
        """Return the bytes live at a step."""
        return self.at_each(np.array([step])).item(0)

    def at_each(self, steps: Column) -> Column:
        """Return the bytes live at each of `steps`."""
        return np.append(self.live_bytes, 0)[self.steps.searchsorted(steps, "right") - 1]

    def most_between(self, first: int, last: int) -> int:
        """Return the maximum of the live bytes from step `first` to `last`, both included."""
        places = self.steps.searchsorted((first, last), "right")
        return int(np.append(self.at(first), self.live_bytes[places[0] : places[1]]).max())

    @property
    def peak_step(self) -> int | None:
        """The first step with the most live bytes, None if nothing is ever live."""
        return self.steps.item(self.live_bytes.argmax()) if self.live_bytes.any() else None

    @property
    def peak_bytes(self) -> int:
        """The maximum of the live bytes."""
        return int(self.live_bytes.max(initial=0))


NEVER_LIVE: Final = LiveBytes(np.zeros(0, np.int64), np.zeros(0, np.int64))


class ColorPart(Struct, frozen=True, eq=False):
    """What one color takes of a memory space over time. The numbers mean the same as those of `MemorySpace`."""

    id: SpaceId
    reserved_bytes: int
    needed_bytes: int
    live: LiveBytes

    @property
    def color(self) -> int:
        """XLA's number."""
        return self.id.color


class MemorySpace(Struct, frozen=True, eq=False):
    """A memory space over time. `peak_step` is None if nothing is ever live.

    `id` has the color that stands for it, and `colors` are all of its colors that have allocations.
    `reserved_bound` says how `reserved_bytes` relates to the true number, `live_bound` the same for `peak_live_bytes`
    and `live`. Where `live_bound` is not exact, the true peak may also be at another step. `needed_bytes` are the
    reserved bytes without thread-local allocations (`model/memory/needed.py`); `reserved_bound` holds for them too.
    Where they are an upper bound, `surely_needed_bytes` is a lower one.
    """

    id: SpaceId
    reserved_bytes: int
    needed_bytes: int
    peak_step: int | None
    peak_live_bytes: int
    live: LiveBytes
    colors: tuple[ColorPart, ...] = ()
    reserved_bound: Bound = Bound.EXACT
    live_bound: Bound = Bound.EXACT
    surely_needed_bytes: int | None = None

    @property
    def color(self) -> int:
        """The color that stands for the memory space: XLA's number, 0 for the memory of the device."""
        return self.id.color

    @property
    def is_mixed(self) -> bool:
        """Whether there are bytes of other colors than the one that stands for the memory space."""
        return any(part.reserved_bytes for part in self.colors if part.color != self.color)


class Memory(Struct, frozen=True, eq=False, dict=True):
    """The memory spaces of a dump set, by color.

    `collisions` are pairs of values that share bytes and steps, the one that starts later first. `changes` are the
    changes of the live bytes of each allocation.
    """

    spaces: tuple[MemorySpace, ...]
    collisions: tuple[tuple[int, int], ...]
    changes: Coverage

    def space(self, color: int) -> MemorySpace | None:
        """Return the memory space that has a color, None if it has no allocations."""
        return self._by_color.get(color)

    @cached_property
    def _by_color(self) -> dict[int, MemorySpace]:
        # No color is in two memory spaces.
        colors = ((part.color, space) for space in self.spaces for part in space.colors)
        return {**{space.color: space for space in self.spaces}, **dict(colors)}

    def allocation(self, row: int) -> LiveBytes:
        """Return the live bytes of an allocation, by its row."""
        first, last = self.changes.allocation.searchsorted((row, row + 1))
        return accumulated(self.changes.steps[first:last], self.changes.deltas[first:last])


def live_values(dump: DumpSet, step: int) -> Column:
    """Return the values live at a step, also those in no allocation, by id."""
    starts, ends = dump.values.start_step, dump.values.end_step
    return np.flatnonzero((starts != NONE) & (starts <= step) & (step <= ends))


def placed_values(dump: DumpSet) -> Column:
    """Return the values that count as live bytes, by id: those with a live range and some bytes of an allocation."""
    values = dump.values
    return np.flatnonzero(
        (values.allocation != NONE)
        & (values.size_bytes > 0)
        & (values.start_step != NONE)
        & (values.start_step <= values.end_step)
    )


def covering(dump: DumpSet, step: int, color: int) -> Column:
    """Return the values that cover the live bytes of a memory space at a step, by id."""
    values, live = dump.values, live_values(dump, step)
    in_space: Column = live[(values.space[live] == color) & (values.allocation[live] != NONE)]
    return in_space[values.size_bytes[in_space] > 0]


def live_in_space(dump: DumpSet, step: int, color: int) -> Column:
    """Return the live values at a step that are in an allocation of a memory space, the biggest first."""
    values, live = dump.values, live_values(dump, step)
    live = live[(values.space[live] == color) & (values.allocation[live] != NONE)]
    return ordered(live, -values.size_bytes)


def live_at_peak(dump: DumpSet, memory: Memory, values: Column) -> Mask:
    """Return for each of `values` whether it is live at the peak of its memory space."""
    is_live = np.zeros(len(values), np.bool_)
    for space in memory.spaces:
        if space.peak_step is not None:
            live = live_values(dump, space.peak_step)
            is_live |= np.isin(values, live[dump.values.space[live] == space.color])
    return is_live


def is_live_at_peak(dump: DumpSet, memory: Memory, value: int) -> bool:
    """Return whether a value is live at the peak of its memory space."""
    values, space = dump.values, memory.space(dump.values.space.item(value))
    if space is None or space.peak_step is None or values.live_range[value] == NONE:
        return False
    return bool(values.start_step[value] <= space.peak_step <= values.end_step[value])


def measure(dump: DumpSet, may_overlap: Callable[[int], bool]) -> Memory:
    """Compute the live bytes of a dump set over all steps. Values for which `may_overlap` is true never collide."""
    slots = slots_of(dump, placed_values(dump))
    changes = coverage(slots)
    spaces = _spaces(dump, changes) if dump.assignment else _reported_spaces(dump)
    return Memory(tuple(spaces), tuple(collisions(slots, cache(may_overlap))), changes)


def with_bounds(memory: Memory, warrants: Warrants) -> Memory:
    """Return the memory of a dump set with the bounds of its numbers."""
    if warrants.is_complete:
        return memory
    reserved, live = warrants.of(Quantity.RESERVED).bound, warrants.live.bound
    # A memory usage report bounds each memory space by itself.
    bounds = [space.reserved_bound if reserved is Bound.AT_MOST else reserved for space in memory.spaces]
    both = zip(memory.spaces, bounds, strict=True)
    return replace(memory, spaces=tuple(replace(space, reserved_bound=bound, live_bound=live) for space, bound in both))


def slots_of(dump: DumpSet, values: Column) -> Slots:
    """The slots of placed values, by allocation and then in the given order."""
    table = dump.values
    values = ordered(values, table.allocation)
    offset = table.offset[values]
    return Slots(
        value=values,
        allocation=table.allocation[values],
        offset=offset,
        end_offset=offset + table.size_bytes[values],
        start_step=table.start_step[values],
        end_step=table.end_step[values],
    )


def _spaces(dump: DumpSet, changes: Coverage) -> Iterator[MemorySpace]:
    table, spaces = dump.allocations, dump.allocation_spaces
    is_needed = ~is_thread_local(dump)

    def part(color: int, is_here: Mask) -> ColorPart:
        sizes, here = table.size_bytes, is_here[changes.allocation]
        live = accumulated(changes.steps[here], changes.deltas[here])
        reserved_bytes, needed_bytes = (sum(sizes[rows].tolist()) for rows in (is_here, is_here & is_needed))
        return ColorPart(dump.space_id(color), reserved_bytes, needed_bytes, live)

    for space in distinct(spaces[spaces != NONE]).tolist():
        is_here = spaces == space
        whole, colors = part(space, is_here), distinct(table.color[is_here]).tolist()
        parts = (whole,) if colors == [space] else tuple(part(color, table.color == color) for color in colors)
        live = whole.live
        sizes = whole.reserved_bytes, whole.needed_bytes, live.peak_step, live.peak_bytes
        yield MemorySpace(whole.id, *sizes, live, parts)


def _reported_spaces(dump: DumpSet) -> Iterator[MemorySpace]:
    """The memory spaces by the memory usage report alone."""
    by_memory: dict[SpaceId, list[ReportedSpace]] = {}
    for space in reported_spaces(dump):
        by_memory.setdefault(dump.space_id(space.color).memory, []).append(space)
    for memory, parts in by_memory.items():
        is_exact = all(part.reserved.is_exact and part.needed.is_exact for part in parts)
        yield MemorySpace(
            id=memory,
            reserved_bytes=sum(part.reserved.most for part in parts),
            needed_bytes=sum(part.needed.most for part in parts),
            peak_step=None,
            peak_live_bytes=0,
            live=NEVER_LIVE,
            colors=tuple(
                ColorPart(dump.space_id(part.color), part.reserved.most, part.needed.most, NEVER_LIVE) for part in parts
            ),
            reserved_bound=Bound.EXACT if is_exact else Bound.AT_MOST,
            surely_needed_bytes=sum(part.needed.least for part in parts),
        )


def accumulated(steps: Column, deltas: Column) -> LiveBytes:
    """Return the live bytes that change by `deltas` at `steps`. Steps may be unsorted and repeat."""
    order = np.argsort(steps, kind="stable")
    steps, live_bytes = steps[order], deltas[order].cumsum()
    is_last = np.append(steps[1:] != steps[:-1], True)[: len(steps)]
    return LiveBytes(steps[is_last], live_bytes[is_last])
