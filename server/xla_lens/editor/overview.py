"""The overview of a dump set as JSON, for the trees of editors: its memory spaces and its allocations."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from xla_lens.blocks.blocks import plain_text
from xla_lens.blocks.entities import shape_text
from xla_lens.editor.peak_groups import source_line_data
from xla_lens.memory_map.map_data import printed_peak_data, space_data
from xla_lens.model.analysis import Analysis
from xla_lens.model.attribution.frames import Origins
from xla_lens.model.attribution.owned import owned_bytes
from xla_lens.model.attribution.parameters import parameter_path
from xla_lens.model.capacity import capacity_of
from xla_lens.model.memory.needed import not_live_parts
from xla_lens.model.memory.over_time import MemorySpace
from xla_lens.model.memory.padding import padding_at
from xla_lens.model.memory.printed_peak import DEFAULT_COLOR, first_printed_peak
from xla_lens.model.memory.unseen import unseen_memory
from xla_lens.model.places.places import Place, row_place, schedule_place
from xla_lens.model.summary import module_of
from xla_lens.model.tables.kinds import KIND_NAMES, allocation_kinds
from xla_lens.model.warrants import Bound
from xla_lens.report.answer import NOT_LIVE
from xla_lens.report.notes import space_notes
from xla_lens.syntax.columns import NONE, Column
from xla_lens.words import contract
from xla_lens.words.capacity import device_text
from xla_lens.words.numbers import human
from xla_lens.words.sources import call_text
from xla_lens.words.warrants import gap_word, reasons


class Locate(NamedTuple):
    """Where an editor shows a place, and the value of a row; None if no file describes the value."""

    place: Callable[[Place], contract.Location]
    value: Callable[[int], contract.Location | None]


def overview_data(analysis: Analysis, top: int, locate: Locate) -> contract.Overview:
    """Return the overview of a dump set, with lists of at most `top` entries. The caller adds the files."""
    dump = analysis.dump
    peak = printed_peak_data(first_printed_peak(dump))
    place = row_place(dump.live, dump.peaks, 0) if dump.live and len(dump.peaks) else None
    return {
        "uri": "",
        "module": module_of(analysis),
        "incomplete": reasons(analysis.warrants.gaps),
        "gap": gap_word(analysis.warrants),
        "files": [],
        "spaces": [_space(analysis, space, locate) for space in analysis.memory.spaces],
        "printed_peak": {**peak, "location": locate.place(place) if place else None} if peak else None,
        "allocations": [*_allocations(analysis, top, locate)],
        "allocation_count": len(dump.allocations),
    }


def _space(analysis: Analysis, space: MemorySpace, locate: Locate) -> contract.SpaceOverview:
    dump, step = analysis.dump, space.peak_step
    place = schedule_place(dump, dump.schedule_row(step)) if step is not None else None
    capacity = capacity_of(space, analysis.capacity)
    unseen = unseen_memory(dump, analysis.module) if space.color == DEFAULT_COLOR else ()
    is_exact = space.reserved_bound is Bound.EXACT and space.live_bound is Bound.EXACT
    not_live = not_live_parts(dump, analysis.memory, space) if is_exact else ()
    padding = padding_at(dump, *owned_bytes(dump, step, space.color)) if step is not None else None
    return {
        **space_data(space, analysis.capacity),
        "not_live": [
            f"{human(size_bytes)} of {NOT_LIVE[kind if kind in NOT_LIVE else 'other']}"
            for kind, size_bytes in not_live
            if size_bytes > 0
        ],
        "notes": [*map(plain_text, space_notes(Origins(dump, analysis.module), space, unseen, padding))],
        "device": device_text(dump, space, capacity) if capacity else "",
        "peak_instruction": (dump.instruction_at(step) or "") if step is not None else "",
        "peak_location": locate.place(place) if place else None,
    }


def value_entries(analysis: Analysis, values: Column, locate: Locate) -> list[contract.ValueEntry]:
    """Return the entries of some values."""
    dump, origins = analysis.dump, Origins(analysis.dump, analysis.module)
    return [
        {
            "value": value,
            "label": dump.value_label(value),
            "path": (parameter_path(dump, allocation) or "") if allocation != NONE else "",
            "size_bytes": dump.values.size_bytes.item(value),
            "shape": shape_text(dump, value),
            "op_name": origin.op_name or "",
            "source": call_text(origin.line) if origin.line else "",
            "source_line": source_line_data(origin.line),
            "location": locate.value(value),
        }
        for value, allocation, origin in zip(
            values.tolist(),
            dump.values.allocation[values].tolist(),
            map(origins.of_value, values.tolist()),
            strict=True,
        )
    ]


def _allocations(analysis: Analysis, top: int, locate: Locate) -> Iterator[contract.AllocationEntry]:
    dump, table = analysis.dump, analysis.dump.allocations
    if dump.assignment is None:
        return
    kinds = allocation_kinds(dump)
    for row in np.argsort(-table.size_bytes, kind="stable")[:top].tolist():
        live = analysis.memory.allocation(row)
        yield {
            "allocation": row,
            "index": table.index.item(row),
            "kind": KIND_NAMES[kinds[row]],
            "color": dump.allocation_spaces.item(row),
            "size_bytes": table.size_bytes.item(row),
            "most_live_bytes": None if live.peak_step is None else live.peak_bytes,
            "location": locate.place(row_place(dump.assignment, table, row)),
        }
