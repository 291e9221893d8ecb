"""The memory map of a dump set as JSON: columns with a number for each value, allocation and step."""

from collections.abc import Iterable
from typing import Final

import numpy as np

from xla_lens.model.analysis import Analysis
from xla_lens.model.attribution.frames import Origin, Origins
from xla_lens.model.capacity import Capacity, capacity_of
from xla_lens.model.hlo.stack_frames import Frames
from xla_lens.model.memory.over_time import MemorySpace
from xla_lens.model.memory.padding import explain_padding
from xla_lens.model.memory.printed_peak import DEFAULT_COLOR, first_printed_peak
from xla_lens.model.summary import module_of
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.kinds import KIND_NAMES, allocation_kinds
from xla_lens.report.outline import BIG_BYTES
from xla_lens.syntax.columns import NONE
from xla_lens.words import contract
from xla_lens.words.capacity import capacity_data
from xla_lens.words.numbers import human
from xla_lens.words.sources import PARAMETERS, call_text
from xla_lens.words.warrants import bounded_size, peak_size, reasons

STEP_LIMIT: Final = 1_000_000
"""Maximum number of steps: the longest schedules have a tenth of it, but a broken line can have any step."""


def memory_map_data(analysis: Analysis) -> contract.MemoryMap:
    """Return the map of a dump set; columns of texts hold indices into the list `strings`. Without the HLO module fewer
    values have a source line.
    """
    dump, strings = analysis.dump, dict[str, int]()
    values, allocations, rows = dump.values, dump.allocations, range(len(dump.values))

    def indices(texts: Iterable[str | None]) -> list[int]:
        """Add a column of texts to `strings`, and return the index of each; NONE for None."""
        return [NONE if text is None else strings.setdefault(text, len(strings)) for text in texts]

    kinds = [KIND_NAMES[kind] for kind in allocation_kinds(dump).tolist()]
    allocation_of = values.allocation.tolist()
    is_live = (values.live_range != NONE) & (values.start_step >= 0) & (values.start_step <= values.end_step)
    steps = _instructions(dump, int(values.end_step[is_live].max(initial=NONE)))
    both_steps = (values.start_step, values.end_step)
    start_step, end_step = (np.where(is_live, column.clip(max=len(steps) - 1), NONE).tolist() for column in both_steps)
    shapes = [dump.shape(value) for value in rows]
    origins = Origins(dump, analysis.module)
    found = [origins.of_value(value) for value in rows]
    arguments = {value: f"{PARAMETERS} {name}" for value, name in origins.arguments_of(rows).items()}
    call_of, calls = _calls(found)
    data: contract.MemoryMap = {
        "module": module_of(analysis),
        "incomplete": reasons(analysis.warrants.gaps),
        "strings": [],
        "steps": indices(steps),
        "spaces": [
            {
                **space_data(space, analysis.capacity),
                "curve_step": space.live.steps.tolist(),
                "curve_bytes": space.live.live_bytes.tolist(),
            }
            for space in analysis.memory.spaces
        ],
        "printed_peak": printed_peak_data(first_printed_peak(dump)),
        "allocations": {
            "index": allocations.index.tolist(),
            "color": dump.allocation_spaces.tolist(),
            "size_bytes": allocations.size_bytes.tolist(),
            "kind": indices(kinds),
        },
        "values": {
            "label": indices(map(dump.value_label, rows)),
            "allocation": allocation_of,
            "offset_bytes": values.offset.tolist(),
            "size_bytes": values.size_bytes.tolist(),
            "start_step": start_step,
            "end_step": end_step,
            "kind": indices(kinds[allocation] if allocation != NONE else None for allocation in allocation_of),
            "shape": indices(None if text is None else text.decode("utf-8", "replace") for text in shapes),
            "op_name": indices(origin.op_name for origin in found),
            "source": indices(
                call_text(origin.line) if origin.line else arguments.get(value) for value, origin in enumerate(found)
            ),
            "call": call_of,
            "derived_from": indices(origin.derived.name if origin.derived else None for origin in found),
            "padding_bytes": [
                NONE if size is None else size
                for text, size_bytes in zip(shapes, values.size_bytes.tolist(), strict=True)
                for size in [explain_padding(text, size_bytes).size_bytes]
            ],
        },
        "calls": {"frame": indices(text for _, text in calls), "caller": [caller for caller, _ in calls]},
    }
    data["strings"] = [*strings]
    return data


def _instructions(dump: DumpSet, last_live_step: int) -> list[str | None]:
    """The instruction of each step, None where it is unknown. The last step is the end of the program."""
    schedule = dump.schedule
    last = max(last_live_step, dump.last_step + 1 if dump.last_step is not None else NONE)
    steps = np.full(min(last + 1, STEP_LIMIT), NONE)
    # If two instructions have the same step, the first counts.
    row = np.flatnonzero((schedule.step >= 0) & (schedule.step < len(steps)))[::-1]
    steps[schedule.step[row]] = schedule.name[row]
    return [dump.label(name, NONE) if name != NONE else None for name in steps.tolist()]


def _calls(origins: Iterable[Origin]) -> tuple[list[int], list[tuple[int, str]]]:
    """Return the number of the innermost call of each origin, NONE if unknown, and the calls: the number of the caller
    and the text. A loop such as `lax.scan` repeats calls, which count once, as in hovers.
    """
    rows = dict[tuple[int, str], int]()
    # Most values share their frames with others.
    known = dict[Frames, int]()
    innermost = []
    for origin in origins:
        if origin.frames not in known:
            row = NONE
            for text in reversed(dict.fromkeys(map(call_text, origin.frames))):
                row = rows.setdefault((row, text), len(rows))
            known[origin.frames] = row
        innermost.append(known[origin.frames])
    return innermost, [*rows]


def space_data(space: MemorySpace, *capacities: Capacity | None) -> contract.SpaceSummary:
    """Return the totals of a memory space. The first capacity that is known counts."""
    capacity, name = capacity_data(space, capacity_of(space, *capacities)), space.id.name
    over = (capacity["over_bytes"] or 0) if capacity else 0
    needed, reserved = (
        bounded_size(size_bytes, space.reserved_bound) for size_bytes in (space.needed_bytes, space.reserved_bytes)
    )
    peak = peak_size(space)
    limit = f"of {human(capacity['size_bytes'])} {name}" if capacity else ""
    return {
        "color": space.color,
        "name": name,
        "reserved_bytes": space.reserved_bytes,
        "needed_bytes": space.needed_bytes,
        "reserved_bound": space.reserved_bound,
        "peak_live_bytes": space.peak_live_bytes,
        "peak_bound": space.live_bound,
        "peak_step": space.peak_step,
        "capacity": capacity,
        "needed": needed,
        "reserved": reserved,
        "peak": peak,
        "limit": f"{limit}, over by {human(over)}" if over else limit,
        "headline": f"{name}: needs {needed}" + (f", peak {peak}" if space.peak_step is not None else ""),
        "is_over": over > 0,
        "is_small": space.color != DEFAULT_COLOR and max(space.peak_live_bytes, space.reserved_bytes) < BIG_BYTES,
    }


def printed_peak_data(peak: tuple[int, int | None] | None) -> contract.PrintedPeak | None:
    """Return the peak that XLA printed, None if it printed none."""
    return {"step": peak[0], "bytes": peak[1]} if peak else None
