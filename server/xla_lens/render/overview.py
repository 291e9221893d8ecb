"""The overview of a dump set as JSON, for the trees of editors."""

from collections.abc import Callable
from typing import TypeAlias

from xla_lens.features.overview import AllocationEntry, LiveEntry, Overview, SpaceOverview
from xla_lens.model.capacity import Capacity
from xla_lens.model.places.places import Place
from xla_lens.render import contract
from xla_lens.render.memory_map.data import printed_peak_data, space_data
from xla_lens.render.peak_groups import source_line_data
from xla_lens.render.sources import call_text
from xla_lens.render.warrants import gap_word, reasons

LocatePlace: TypeAlias = Callable[[Place], contract.Location]
LocateValue: TypeAlias = Callable[[int], contract.Location | None]
"""Returns where an editor shows the value of a row, None if no file describes it."""


def overview_data(
    one: Overview, uri: str, files: list[contract.SetFile], locate: LocatePlace, locate_value: LocateValue
) -> contract.Overview:
    """Return an overview as JSON. `uri` is that of the file to open first."""
    peak, place = printed_peak_data(one.printed_peak), one.printed_place
    return {
        "uri": uri,
        "module": one.module,
        "incomplete": "; ".join(reasons(one.warrants.gaps)),
        "gap": gap_word(one.warrants),
        "files": files,
        "spaces": [_space(space, one.capacity, locate, locate_value) for space in one.spaces],
        "printedPeak": {**peak, "location": locate(place) if place else None} if peak else None,
        "allocations": [_allocation(entry, locate) for entry in one.allocations],
        "allocationCount": one.allocation_count,
    }


def _space(
    one: SpaceOverview, capacity: Capacity | None, locate: LocatePlace, locate_value: LocateValue
) -> contract.SpaceOverview:
    return {
        **space_data(one.space, capacity),
        "notLive": [{"kind": kind, "sizeBytes": size_bytes} for kind, size_bytes in one.not_live],
        "parts": [{"kind": kind, "sizeBytes": size_bytes} for kind, size_bytes in one.parts],
        "peakInstruction": one.peak_instruction,
        "peakLocation": locate(one.peak_place) if one.peak_place else None,
        "live": [value_data(entry, locate_value) for entry in one.live],
        "liveCount": one.live_count,
    }


def value_data(one: LiveEntry, locate_value: LocateValue) -> contract.ValueEntry:
    """Return a value as JSON."""
    return {
        "value": one.value,
        "label": one.label,
        "sizeBytes": one.size_bytes,
        "shape": one.shape,
        "opName": one.op_name,
        "source": call_text(one.frame) if one.frame else "",
        "sourceLine": source_line_data(one.frame),
        "location": locate_value(one.value),
    }


def _allocation(one: AllocationEntry, locate: LocatePlace) -> contract.AllocationEntry:
    return {
        "allocation": one.allocation,
        "index": one.index,
        "kind": one.kind,
        "color": one.color,
        "sizeBytes": one.size_bytes,
        "mostLiveBytes": one.most_live_bytes,
        "location": locate(one.place),
    }
