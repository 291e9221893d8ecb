"""What a hover tells: the facts about a value, an allocation, a step, an instruction or the printed peak."""

from dataclasses import dataclass
from enum import Enum, auto
from typing import Final, TypeAlias

import numpy as np

from xla_lens.model.analysis import Analysis
from xla_lens.model.dump_set import EMPTY_INDEX, DumpSet
from xla_lens.model.members import MemberKind
from xla_lens.model.memory import LiveBytes, MemorySpace, live_values
from xla_lens.model.mentions import Allocation, Instruction, Mention, Peak, Step, Value
from xla_lens.syntax.columns import NONE, Column, Kind
from xla_lens.syntax.hlo import TupleShape, parse_shape

NEIGHBOURS: Final = 4
"""How many of the values on the same bytes are told, on each side in time."""

FILL_PARTS: Final = 48
"""How many parts of the schedule the fill of an allocation is told for."""

LONGEST_LIST: Final = 8
"""How many values are told of what is born or dies at a step."""


class End(Enum):
    """Why a live range ends where it does."""

    CALLER = auto()
    """A parameter that nothing is written over: its bytes are the caller's to the end."""
    OUTPUT = auto()
    """It may be part of the result, so that it is kept to the end."""
    LAST_USE = auto()
    """It is read for the last time."""
    PASSED_ON = auto()
    """Another value takes over the same bytes: the same buffer, or one that is updated in place."""
    LAST_ALIAS = auto()
    """The last instruction that shows its bytes under another name."""
    COMPUTATION_END = auto()
    """None of these: the end of its computation."""


@dataclass(frozen=True, slots=True)
class ValueName:
    """A value to be named: its label, size and live range."""

    label: str
    size_bytes: int
    start_step: int
    end_step: int


@dataclass(frozen=True, slots=True)
class LiveRangeFacts:
    """When a value is live, and why no longer. `users` read it at the end; `heir` takes over its bytes."""

    start_step: int
    end_step: int
    start_instruction: str | None
    end_instruction: str | None
    end: End
    heir: str | None


@dataclass(frozen=True, slots=True)
class ValueFacts:
    """A value. What the set does not tell is None. `logical_bytes` are those of the shape without padding;
    `live_at_peak` tells whether it is part of the peak of its memory space, which has `peak_bytes`. `missing` are the
    files that would tell more.
    """

    id: int
    label: str
    color: int
    shape: str | None
    size_bytes: int | None
    logical_bytes: int | None
    offset: int | None
    allocation: "AllocationName | None"
    live_range: LiveRangeFacts | None
    live_at_peak: bool
    peak_bytes: int
    neighbours: tuple[ValueName, ...]
    neighbour_count: int
    opcode: str | None
    op_name: str | None
    source_file: str | None
    source_line: int | None
    missing: tuple[MemberKind, ...]


@dataclass(frozen=True, slots=True)
class AllocationName:
    """An allocation to be named."""

    index: int
    size_bytes: int
    kind: Kind


@dataclass(frozen=True, slots=True)
class AllocationFacts:
    """An allocation. `peak_bytes` of it are live at once at most, first at `peak_step`; `live_at_space_peak` of them
    when its memory space has its peak. `fill` cuts the schedule into parts of equal length and tells the most bytes
    of it that are live in each.
    """

    name: AllocationName
    color: int
    parameter: str | None
    shape: str | None
    values: int
    peak_bytes: int
    peak_step: int | None
    live_at_space_peak: int
    space_peak_step: int | None
    fill: tuple[int, ...]
    largest: tuple[ValueName, ...]


@dataclass(frozen=True, slots=True)
class StepFacts:
    """A step. For each memory space with live bytes: the colour, and the bytes live before, at and after the step."""

    step: int
    instruction: str | None
    live: tuple[tuple[int, int, int, int], ...]
    born: tuple[ValueName, ...]
    born_count: int
    dying: tuple[ValueName, ...]
    dying_count: int


@dataclass(frozen=True, slots=True)
class InstructionFacts:
    """A scheduled instruction without a value of its own."""

    name: str
    step: int


@dataclass(frozen=True, slots=True)
class SpacePeak:
    """The peak of a memory space against the printed one."""

    color: int
    reserved_bytes: int
    peak_bytes: int
    peak_step: int | None
    peak_instruction: str | None
    live_at_printed: int


@dataclass(frozen=True, slots=True)
class PeakFacts:
    """The printed peak: `printed_bytes` are the sum of its list, of which `other_space_bytes` lie outside of the
    default memory space. `died_before_bytes` belong to values that ended one step earlier, which XLA still counts when
    it looks for the peak. `is_whole_tuples` tells that elements are printed with the size of their whole tuple.
    """

    step: int
    printed_bytes: int
    other_space_bytes: int
    assigned_bytes: int
    died_before_bytes: int
    is_whole_tuples: bool
    spaces: tuple[SpacePeak, ...]


Hover: TypeAlias = ValueFacts | AllocationFacts | StepFacts | InstructionFacts | PeakFacts


def hover(analysis: Analysis, mention: Mention) -> Hover:
    """The facts about what is mentioned."""
    match mention.target:
        case Value(row):
            return value_facts(analysis, row)
        case Allocation(row):
            return _allocation_facts(analysis, row)
        case Step(step):
            return _step_facts(analysis, step)
        case Instruction(name):
            dump = analysis.dump
            return InstructionFacts(dump.label(name, NONE), int(dump.schedule.step[dump.schedule_row_of_name[name]]))
        case Peak(row):
            return peak_facts(analysis, row)


# ---------------------------------------------------------------- values


def value_facts(analysis: Analysis, value: int) -> ValueFacts:
    """The facts about a row of `DumpSet.values`."""
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
        color=int(values.color[value]),
        shape=shape.decode("utf-8", "replace") if shape is not None else None,
        size_bytes=int(values.size_bytes[value]) if slice_row != NONE else None,
        logical_bytes=None if parsed is None or isinstance(parsed, TupleShape) else parsed.byte_size,
        offset=int(values.offset[value]) if slice_row != NONE else None,
        allocation=_allocation_name(dump, allocation) if allocation != NONE else None,
        live_range=_live_range(dump, value) if values.live_range[value] != NONE else None,
        live_at_peak=_is_live_at_peak(dump, space, value),
        peak_bytes=space.peak_live_bytes if space else 0,
        neighbours=tuple(_value_name(dump, other) for other in _nearest(dump, value, neighbours)),
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


def _live_range(dump: DumpSet, value: int) -> LiveRangeFacts:
    start, end = int(dump.values.start_step[value]), int(dump.values.end_step[value])
    reason, heir = _end(dump, value)
    return LiveRangeFacts(start, end, dump.instruction_at(start), dump.instruction_at(end), reason, heir)


def _end(dump: DumpSet, value: int) -> tuple[End, str | None]:
    values, end = dump.values, int(dump.values.end_step[value])
    allocation, used_value = int(values.allocation[value]), int(values.used_value[value])
    kind = Kind(int(dump.allocations.kind[allocation])) if allocation != NONE else Kind(0)
    if dump.last_step is not None and end >= dump.last_step:
        if Kind.MAYBE_LIVE_OUT in kind:
            return End.OUTPUT, None
        if Kind.PARAMETER in kind:
            return End.CALLER, None
    if used_value != NONE:
        if end in _steps(dump, dump.uses.name[dump.uses_of(used_value)]):
            return End.LAST_USE, None
        later = _neighbours(dump, value)
        heirs = later[(values.start_step[later] == end) | (values.start_step[later] == end + 1)]
        if len(heirs):
            return End.PASSED_ON, dump.value_label(int(heirs[0]))
        if end in _steps(dump, dump.positions.name[dump.positions_of(used_value)]):
            return End.LAST_ALIAS, None
    return End.COMPUTATION_END, None


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
    place = int(dump.values.start_step[neighbours].searchsorted(dump.values.start_step[value], "right"))
    return list(map(int, neighbours[max(0, place - NEIGHBOURS) : place + NEIGHBOURS]))


def _value_name(dump: DumpSet, value: int) -> ValueName:
    values = dump.values
    return ValueName(
        dump.value_label(value),
        int(values.size_bytes[value]),
        int(values.start_step[value]),
        int(values.end_step[value]),
    )


def _largest(dump: DumpSet, values: Column, limit: int) -> tuple[ValueName, ...]:
    order = np.argsort(-dump.values.size_bytes[values], kind="stable")
    return tuple(_value_name(dump, value) for value in values[order[:limit]].tolist())


# ---------------------------------------------------------------- allocations


def _allocation_name(dump: DumpSet, allocation: int) -> AllocationName:
    table = dump.allocations
    return AllocationName(
        int(table.index[allocation]), int(table.size_bytes[allocation]), Kind(max(0, int(table.kind[allocation])))
    )


def _allocation_facts(analysis: Analysis, allocation: int) -> AllocationFacts:
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
        name=_allocation_name(dump, allocation),
        color=int(table.color[allocation]),
        parameter=parameter,
        shape=_header_shape(dump, allocation),
        values=len(values),
        peak_bytes=live.peak_bytes,
        peak_step=live.peak_step,
        live_at_space_peak=live.at(space_peak) if space_peak is not None else 0,
        space_peak_step=space_peak,
        fill=_fill(dump, live),
        largest=_largest(dump, values, LONGEST_LIST),
    )


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


# ---------------------------------------------------------------- steps and the peak


def _step_facts(analysis: Analysis, step: int) -> StepFacts:
    dump, values = analysis.dump, analysis.dump.values
    placed = values.slice != NONE
    born = np.flatnonzero(placed & (values.start_step == step) & (values.live_range != NONE))
    dying = np.flatnonzero(placed & (values.end_step == step) & (values.live_range != NONE))
    return StepFacts(
        step=step,
        instruction=dump.instruction_at(step),
        live=tuple(
            (space.color, space.live.at(step - 1), space.live.at(step), space.live.at(step + 1))
            for space in analysis.memory.spaces
            if space.peak_live_bytes
        ),
        born=_largest(dump, born, LONGEST_LIST),
        born_count=len(born),
        dying=_largest(dump, dying, LONGEST_LIST),
        dying_count=len(dying),
    )


def peak_facts(analysis: Analysis, row: int) -> PeakFacts:
    """The facts about a row of `DumpSet.peaks`."""
    dump, values = analysis.dump, analysis.dump.values
    step = int(dump.peaks.step[row])
    first, count = int(dump.peaks.first_buffer[row]), int(dump.peaks.buffer_count[row])
    printed = dump.peak_buffers.size_bytes[first : first + count]
    listed = dump.value_of_peak_buffer[first : first + count]
    color = np.where(listed != NONE, values.color[listed], 0) if len(values) else np.zeros(count, np.int64)
    is_element = (listed != NONE) & (np.append(values.index, NONE)[listed] > EMPTY_INDEX)
    live = live_values(dump, step)
    ended = np.flatnonzero((values.end_step == step - 1) & (values.slice != NONE) & (values.live_range != NONE))
    return PeakFacts(
        step=step,
        printed_bytes=sum(printed.tolist()),
        other_space_bytes=sum(printed[color != 0].tolist()),
        assigned_bytes=sum(values.size_bytes[live[values.slice[live] != NONE]].tolist()),
        died_before_bytes=sum(values.size_bytes[ended].tolist()),
        is_whole_tuples=bool(np.any(is_element & (dump.peak_buffers.index[first : first + count] == NONE))),
        spaces=tuple(
            SpacePeak(
                space.color,
                space.reserved_bytes,
                space.peak_live_bytes,
                space.peak_step,
                dump.instruction_at(space.peak_step) if space.peak_step is not None else None,
                space.live.at(step),
            )
            for space in analysis.memory.spaces
        ),
    )
