"""The facts about a value."""

from typing import Final

import numpy as np

from xla_lens.features.hover.facts import End, LiveRangeFacts, ValueFacts
from xla_lens.features.hover.names import allocation_name, value_name
from xla_lens.model.analysis import Analysis
from xla_lens.model.dump_set import DumpSet
from xla_lens.model.memory import MemorySpace
from xla_lens.syntax.columns import NONE, Column, Kind
from xla_lens.syntax.hlo import TupleShape, parse_shape

NEIGHBOURS: Final = 8
"""How many of the values on the same bytes are told."""


def value_facts(analysis: Analysis, value: int, name: int) -> ValueFacts:
    """The facts about a row of `DumpSet.values`, which is mentioned by the number of a name, or by NONE."""
    dump, values = analysis.dump, analysis.dump.values
    slice_row, allocation = int(values.slice[value]), int(values.allocation[value])
    shape = dump.shape(value)
    parsed = parse_shape(shape) if shape is not None else None
    space = analysis.memory.space(int(values.color[value]))
    neighbours = _neighbours(dump, value)
    instruction = dump.instruction(int(values.name[value]))
    return ValueFacts(
        id=int(values.id[value]),
        label=dump.value_label(value),
        alias=dump.label(name, NONE) if name not in (NONE, values.name[value]) else None,
        color=int(values.color[value]),
        shape=shape.decode("utf-8", "replace") if shape is not None else None,
        size_bytes=int(values.size_bytes[value]) if slice_row != NONE else None,
        logical_bytes=None if parsed is None or isinstance(parsed, TupleShape) else parsed.byte_size,
        offset=int(values.offset[value]) if slice_row != NONE else None,
        allocation=allocation_name(dump, allocation) if allocation != NONE else None,
        live_range=_live_range(dump, value, neighbours) if values.live_range[value] != NONE else None,
        live_at_peak=_is_live_at_peak(dump, space, value),
        peak_bytes=space.peak_live_bytes if space else 0,
        neighbours=tuple(value_name(dump, other) for other in _nearest(dump, value, neighbours)),
        neighbour_count=len(neighbours),
        opcode=instruction.opcode if instruction else None,
        op_name=instruction.op_name if instruction else None,
        source_file=instruction.source_file if instruction else None,
        source_line=instruction.source_line if instruction else None,
        missing=dump.missing,
    )


def _is_live_at_peak(dump: DumpSet, space: MemorySpace | None, value: int) -> bool:
    if space is None or space.peak_step is None or dump.values.live_range[value] == NONE:
        return False
    return bool(dump.values.start_step[value] <= space.peak_step <= dump.values.end_step[value])


def _live_range(dump: DumpSet, value: int, neighbours: Column) -> LiveRangeFacts:
    start, end = int(dump.values.start_step[value]), int(dump.values.end_step[value])
    reason, by = _end(dump, value, neighbours)
    return LiveRangeFacts(start, end, dump.instruction_at(start), dump.instruction_at(end), reason, by)


def _end(dump: DumpSet, value: int, neighbours: Column) -> tuple[End, str | None]:
    """Why a live range ends, and by what (NormalizeAliasedBuffers and GetLastUsageTime in XLA's HloLiveRange)."""
    values, end = dump.values, int(dump.values.end_step[value])
    allocation, used_value = int(values.allocation[value]), int(values.used_value[value])
    kind = allocation_name(dump, allocation).kind if allocation != NONE else Kind(0)
    if dump.last_step is not None and end >= dump.last_step:
        if Kind.MAYBE_LIVE_OUT in kind:
            return End.OUTPUT, None
        if Kind.PARAMETER in kind:
            return End.CALLER, None
    if used_value == NONE:
        return End.UNKNOWN, None
    uses = _steps(dump, dump.uses.name[dump.uses_of(used_value)])
    positions = _steps(dump, dump.positions.name[dump.positions_of(used_value)])
    if end in uses:
        around = min((step for step in uses if step > end), default=None)
        return End.LAST_USE, dump.instruction_at(around) if around is not None else None
    if max(uses | positions, default=end) > end:
        # Cut short, where the next value of the same buffer begins.
        is_heir = (
            (values.offset[neighbours] == values.offset[value])
            & (values.size_bytes[neighbours] == values.size_bytes[value])
            & np.isin(values.start_step[neighbours], (end, end + 1))
        )
        heirs = neighbours[is_heir]
        if len(heirs):
            return End.PASSED_ON, dump.value_label(int(heirs[0]))
    return (End.LAST_ALIAS if end in positions else End.COMPUTATION_END), None


def _steps(dump: DumpSet, names: Column) -> set[int]:
    rows = dump.schedule_row_of_name[names]
    return set(dump.schedule.step[rows[rows != NONE]].tolist())


def _neighbours(dump: DumpSet, value: int) -> Column:
    """The other values on any of its bytes that have a live range, in the order of time."""
    values, allocation = dump.values, int(dump.values.allocation[value])
    if allocation == NONE or values.size_bytes[value] <= 0:
        return np.zeros(0, np.int64)
    others = dump.values_of_allocation(allocation)
    low, high = values.offset[value], values.offset[value] + values.size_bytes[value]
    shares = (values.offset[others] < high) & (low < values.offset[others] + values.size_bytes[others])
    others = others[shares & (others != value) & (values.live_range[others] != NONE)]
    by_start: Column = others[np.argsort(values.start_step[others], kind="stable")]
    return by_start


def _nearest(dump: DumpSet, value: int, neighbours: Column) -> list[int]:
    """Those with the fewest steps between, the bigger first, in the order of time."""
    values = dump.values
    gaps = np.maximum(
        values.start_step[neighbours] - values.end_step[value], values.start_step[value] - values.end_step[neighbours]
    )
    nearest = np.lexsort((-values.size_bytes[neighbours], np.maximum(gaps, 0)))[:NEIGHBOURS]
    return list(map(int, neighbours[np.sort(nearest)]))
