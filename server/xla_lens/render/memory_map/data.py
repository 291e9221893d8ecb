"""The memory map as JSON."""

from collections.abc import Mapping, Sequence
from typing import Final, Literal

import numpy as np

from xla_lens.features.memory_map import MemoryMap
from xla_lens.model.capacity import Capacity, capacity_of
from xla_lens.model.hlo.stack_frames import StackFrame
from xla_lens.model.memory.over_time import MemorySpace
from xla_lens.model.summary import SpaceSummary
from xla_lens.model.tables.kinds import KIND_NAMES
from xla_lens.model.warrants import Bound
from xla_lens.render import contract
from xla_lens.render.capacity import capacity_data
from xla_lens.render.memory_spaces import space_name
from xla_lens.render.sources import argument_text, call_text
from xla_lens.render.warrants import reasons
from xla_lens.syntax.columns import NONE, Column


def memory_map_data(one: MemoryMap) -> contract.MemoryMap:
    """Return a memory map as columns of numbers; columns of texts hold indices into the list `strings`."""
    strings: list[str] = []

    def numbers(texts: Sequence[str], column: Column) -> list[int]:
        """Append texts to `strings` and shift a column of indices into them accordingly."""
        first = len(strings)
        strings.extend(texts)
        found: list[int] = np.where(column == NONE, NONE, column + first).tolist()
        return found

    allocations, values = one.allocations, one.values
    kinds = numbers(KIND_NAMES, np.append(allocations.kind, values.kind))
    return {
        "module": one.module,
        "incomplete": "; ".join(reasons(one.warrants.gaps)),
        "strings": strings,
        "steps": numbers(one.instructions, one.steps),
        "spaces": [_space(space, one.capacity) for space in one.spaces],
        "printedPeak": printed_peak_data(one.printed_peak),
        "allocations": {
            "index": allocations.index.tolist(),
            "color": allocations.color.tolist(),
            "sizeBytes": allocations.size_bytes.tolist(),
            "kind": kinds[: len(allocations.kind)],
        },
        "values": {
            "label": numbers(values.label, np.arange(len(values.label))),
            "allocation": values.allocation.tolist(),
            "offsetBytes": values.offset.tolist(),
            "sizeBytes": values.size_bytes.tolist(),
            "startStep": values.start_step.tolist(),
            "endStep": values.end_step.tolist(),
            "kind": kinds[len(allocations.kind) :],
            "shape": numbers(one.shapes, values.shape),
            "opName": numbers(one.op_names, values.op_name),
            "source": numbers(tuple(map(_source, one.sources)), values.source),
            "derivedFrom": numbers(one.writers, values.derived_from),
            "paddingBytes": values.padding_bytes.tolist(),
        },
    }


def _source(source: StackFrame | str) -> str:
    return argument_text(source) if isinstance(source, str) else call_text(source)


def _space(space: MemorySpace, capacity: Capacity | None) -> contract.MapSpace:
    curve = space.live
    return {**space_data(space, capacity), "curveStep": curve.steps.tolist(), "curveBytes": curve.live_bytes.tolist()}


_BOUNDS: Final[Mapping[Bound, Literal["exact", "at_least", "unknown"]]] = {
    Bound.EXACT: "exact",
    Bound.AT_LEAST: "at_least",
    Bound.UNKNOWN: "unknown",
}


def space_data(space: MemorySpace | SpaceSummary, *capacities: Capacity | None) -> contract.SpaceSummary:
    """Return the totals of a memory space. The first capacity that is known counts."""
    return {
        "color": space.color,
        "name": space_name(space.id),
        "reservedBytes": space.reserved_bytes,
        "neededBytes": space.needed_bytes,
        "reservedBound": _BOUNDS[space.reserved_bound],
        "peakLiveBytes": space.peak_live_bytes,
        "peakBound": _BOUNDS[space.live_bound],
        "peakStep": NONE if space.peak_step is None else space.peak_step,
        "capacity": capacity_data(space, capacity_of(space, *capacities)),
    }


def printed_peak_data(peak: tuple[int, int | None] | None) -> contract.PrintedPeak | None:
    """Return the peak that XLA printed, None if it printed none."""
    return {"step": peak[0], "bytes": peak[1]} if peak else None
