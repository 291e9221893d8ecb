"""A report for programs."""

from dataclasses import asdict
from typing import Any

from xla_lens.features.report.facts import LiveSet, Part, Report, SpaceReport


def report_data(one: Report) -> dict[str, Any]:
    """What a report says, for programs. The schema is in the README. Parts that were not asked for are left out."""
    printed: dict[str, Any] = {
        "total_bytes": one.total_bytes,
        "peak_step": one.printed_peak_step,
        "peak_bytes": one.printed_peak_bytes,
    }
    if Part.PEAK in one.parts:
        explained = one.explained
        printed["explained"] = explained and {
            "listed": explained.listed and asdict(explained.listed),
            "counted_at_printed": explained.counted_at_printed and asdict(explained.counted_at_printed),
            "counted_at_peak": explained.counted_at_peak and asdict(explained.counted_at_peak),
        }
    known: dict[str, Any] = {
        "module": one.module,
        "files": {kind.value: path for kind, path in one.files.items()},
        "instructions": one.instructions,
        "values": one.values,
        "allocations": one.allocations,
        "reserved_bytes": one.reserved_bytes,
        "printed": printed,
    }
    if Part.DONATION in one.parts:
        known["donation"] = one.donation and asdict(one.donation)
    return known | {"memory_spaces": [_space(space, one) for space in one.spaces]}


def _space(space: SpaceReport, one: Report) -> dict[str, Any]:
    peak = space.peak
    known: dict[str, Any] = {
        "color": space.color,
        "reserved_bytes": space.reserved_bytes,
        "peak_step": peak.step if peak else None,
        "peak_instruction": peak.instruction if peak else None,
        "peak_live_bytes": (peak.live_bytes if peak else 0) if one.has_live_ranges else None,
        "live_bytes_at_printed_peak": space.live_at_printed_peak,
    }
    if Part.LIVE in one.parts:
        known["live_at_peak"] = [asdict(value) for value in peak.values] if peak else []
    if one.asked_step is not None:
        known["at_step"] = space.at_step and _live_set(space.at_step)
    parts = {
        Part.CURVE: ("curve", space.curve),
        Part.LINE: ("lines", space.lines and asdict(space.lines)),
        Part.SOURCE: ("sources", space.sources and asdict(space.sources)),
        Part.ALIVE: ("alive_at_peak", [asdict(value) for value in space.alive or ()]),
        Part.PADDING: ("padding", space.padding and asdict(space.padding)),
        Part.ARENAS: ("arenas", [asdict(arena) for arena in space.arenas or ()]),
        Part.BIOGRAPHY: ("arenas", [asdict(arena) for arena in space.arenas or ()]),
        Part.BUDGET: ("budget", space.budget and asdict(space.budget)),
    }
    return known | {name: content for part, (name, content) in parts.items() if part in one.parts}


def _live_set(live: LiveSet) -> dict[str, Any]:
    return {
        "step": live.step,
        "instruction": live.instruction,
        "live_bytes": live.live_bytes,
        "live": [asdict(value) for value in live.values],
    }
