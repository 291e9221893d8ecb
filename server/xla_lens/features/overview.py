"""The overview of a dump set: its memory spaces with the values live at their peaks, and its allocations."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from xla_lens.model.analysis import Analysis
from xla_lens.model.attribution.frames import origins
from xla_lens.model.capacity import Capacity
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.hlo.stack_frames import StackFrame
from xla_lens.model.memory.needed import not_live_parts, reserved_parts
from xla_lens.model.memory.over_time import Memory, MemorySpace, live_in_space
from xla_lens.model.memory.printed_peak import first_printed_peak
from xla_lens.model.places.places import Place, row_place, schedule_place
from xla_lens.model.summary import module_of
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.kinds import KIND_NAMES, allocation_kinds
from xla_lens.model.warrants import Warrants
from xla_lens.syntax.columns import Column


@dataclass(frozen=True, slots=True)
class LiveEntry:
    """A value, by its row of `DumpSet.values`. Unknown texts are empty."""

    value: int
    label: str
    size_bytes: int
    shape: str
    op_name: str
    frame: StackFrame | None


@dataclass(frozen=True, slots=True)
class SpaceOverview:
    """A memory space, the instruction at its peak with its place in the schedule, and the largest of the `live_count`
    values live there. `parts` are the reserved bytes by the kind of the allocation, `not_live` those that are needed,
    but not live at the peak.
    """

    space: MemorySpace
    parts: tuple[tuple[str, int], ...]
    not_live: tuple[tuple[str, int], ...]
    peak_instruction: str
    peak_place: Place | None
    live: tuple[LiveEntry, ...]
    live_count: int


@dataclass(frozen=True, slots=True)
class AllocationEntry:
    """An allocation, by its row. `most_live_bytes` is the maximum of its live bytes, NONE if none are ever live."""

    allocation: int
    index: int
    kind: str
    color: int
    size_bytes: int
    most_live_bytes: int
    place: Place


@dataclass(frozen=True, slots=True)
class Overview:
    """A dump set, with the largest of its `allocation_count` allocations.

    `printed_peak` is the step and the bytes, None for what XLA did not print; `printed_place` is its place.
    `capacity` is that of the device.
    """

    module: str
    spaces: tuple[SpaceOverview, ...]
    printed_peak: tuple[int, int | None] | None
    printed_place: Place | None
    allocations: tuple[AllocationEntry, ...]
    allocation_count: int
    warrants: Warrants
    capacity: Capacity | None


def overview(analysis: Analysis, module: HloModule | None, top: int) -> Overview:
    """Return the overview of a dump set, with lists of at most `top` entries."""
    dump = analysis.dump
    return Overview(
        module=module_of(dump.files),
        spaces=tuple(_space(dump, analysis.memory, module, space, top) for space in analysis.memory.spaces),
        printed_peak=first_printed_peak(dump),
        printed_place=row_place(dump.live, dump.peaks, 0) if dump.live and len(dump.peaks) else None,
        allocations=tuple(_allocations(analysis, top)),
        allocation_count=len(dump.allocations),
        warrants=analysis.warrants,
        capacity=analysis.capacity,
    )


def _space(dump: DumpSet, memory: Memory, module: HloModule | None, space: MemorySpace, top: int) -> SpaceOverview:
    step = space.peak_step
    live = live_in_space(dump, step, space.color) if step is not None else np.zeros(0, np.int64)
    return SpaceOverview(
        space=space,
        parts=reserved_parts(dump, space.color),
        not_live=not_live_parts(dump, memory, space),
        peak_instruction=(dump.instruction_at(step) or "") if step is not None else "",
        peak_place=schedule_place(dump, dump.schedule_row(step)) if step is not None else None,
        live=tuple(live_entries(dump, module, live[:top])),
        live_count=len(live),
    )


def live_entries(dump: DumpSet, module: HloModule | None, values: Column) -> Iterator[LiveEntry]:
    """Yield the entries of some values."""
    for value, origin in origins(dump, module, values.tolist()).items():
        yield LiveEntry(
            value=value,
            label=dump.value_label(value),
            size_bytes=int(dump.values.size_bytes[value]),
            shape=(dump.shape(value) or b"").decode("utf-8", "replace"),
            op_name=origin.op_name or "",
            frame=origin.line,
        )


def _allocations(analysis: Analysis, top: int) -> Iterator[AllocationEntry]:
    dump, table = analysis.dump, analysis.dump.allocations
    if dump.assignment is None:
        return
    kinds, most = allocation_kinds(dump), analysis.memory.most_live_bytes(len(table))
    for row in np.argsort(-table.size_bytes, kind="stable")[:top].tolist():
        yield AllocationEntry(
            allocation=row,
            index=int(table.index[row]),
            kind=KIND_NAMES[kinds[row]],
            color=int(table.color[row]),
            size_bytes=int(table.size_bytes[row]),
            most_live_bytes=int(most[row]),
            place=row_place(dump.assignment, table, row),
        )
