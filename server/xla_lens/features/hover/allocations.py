"""The facts in a hover over an allocation."""

from typing import Final

import numpy as np

from xla_lens.features.hover.facts import AllocationFacts
from xla_lens.features.hover.names import allocation_name, largest
from xla_lens.model.analysis import Analysis
from xla_lens.model.memory.allocation_history import arena
from xla_lens.model.memory.over_time import LiveBytes
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.syntax.columns import NONE, Kind

FILL_PARTS: Final = 48
"""Number of parts of the schedule in `AllocationFacts.fill`."""


def allocation_facts(analysis: Analysis, allocation: int) -> AllocationFacts:
    """Return the facts about a row of `DumpSet.allocations`."""
    dump, table = analysis.dump, analysis.dump.allocations
    live = analysis.memory.allocation(allocation)
    space = analysis.memory.space(int(table.color[allocation]))
    space_peak = space.peak_step if space else None
    values = dump.values_of_allocation(allocation)
    parameter = None
    if table.parameter[allocation] != NONE:
        index = dump.indices[table.parameter_index[allocation]].decode()
        parameter = f"{table.parameter[allocation]}{'' if index == '{}' else index}"
    return AllocationFacts(
        name=allocation_name(dump, allocation),
        space=dump.space_id(int(table.color[allocation])),
        parameter=parameter,
        shape=_header_shape(dump, allocation),
        values=len(values),
        peak_bytes=live.peak_bytes,
        peak_step=live.peak_step,
        live_at_space_peak=live.at(space_peak) if space_peak is not None else 0,
        space_peak_bytes=space.peak_live_bytes if space else 0,
        space_peak_step=space_peak,
        fill=_fill(dump, live),
        full_size_steps=_full_size_steps(analysis, allocation),
        largest=largest(dump, values),
    )


def _full_size_steps(analysis: Analysis, allocation: int) -> tuple[tuple[int, int], ...]:
    if not analysis.dump.allocations.kind[allocation] & int(Kind.PREALLOCATED_TEMP):
        return ()
    steps = arena(analysis.dump, analysis.memory, allocation).full_size_steps
    return tuple(zip(steps.start.tolist(), (steps.end - 1).tolist(), strict=True))


def _fill(dump: DumpSet, live: LiveBytes) -> tuple[int, ...]:
    last = dump.last_step
    if last is None or live.peak_step is None:
        return ()
    bounds = np.linspace(0, last + 1, min(FILL_PARTS, last + 1) + 1).astype(np.int64)
    parts = zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)
    return tuple(live.most_between(start, end - 1) for start, end in parts)


def _header_shape(dump: DumpSet, allocation: int) -> str | None:
    table = dump.allocations
    for start, end in (
        (table.output_shape_start[allocation], table.output_shape_end[allocation]),
        (table.parameter_shape_start[allocation], table.parameter_shape_end[allocation]),
    ):
        if dump.assignment and start != NONE:
            return dump.assignment.document.data[start:end].decode("utf-8", "replace")
    return None
