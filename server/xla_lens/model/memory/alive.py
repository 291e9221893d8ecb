"""Why a live range ends where it does (HloLiveRange: GetLastUsageTime, NormalizeAliasedBuffers)."""

from collections.abc import Iterator
from enum import StrEnum, auto
from itertools import pairwise
from typing import Final

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.lookup import distinct, first_rows, ordered, row_ranges, taken
from xla_lens.syntax.columns import NONE, Column, Columns, Kind, Mask, Rows, cells


class Reason(StrEnum):
    """Why a live range ends where it does."""

    PARAMETER = auto()
    """A parameter that nothing overwrites. Its bytes belong to the caller, so it is live to the end."""
    LIVE_OUT = auto()
    """Part of the result (maybe-live-out), or live past the last instruction."""
    READ = auto()
    """The instruction at the last step reads the value."""
    CALLED = auto()
    """The last reader calls a computation, which runs first and in which the value has another name."""
    REPLACED = auto()
    """Another value of the same buffer takes over the bytes before the last use."""
    PASSED_ON = auto()
    """Nothing reads the value at its last step, but the instruction there is an alias of it."""
    UNUSED = auto()
    """Nothing reads the value after the step that defines it."""
    COMPUTATION_END = auto()
    """The end of its computation; no other reason applies."""
    UNKNOWN = auto()
    """The dump set lacks the uses of the value."""


class Ending(Struct, frozen=True):
    """The end of a value's live range.

    `uses` are the rows of `DumpSet.uses`, and `positions` the rows of `DumpSet.positions`, whose instructions run at
    the last step. `later_step` is the step of the first later instruction among the uses, the one that calls the
    computation in which the range ends; None if there is none. `successor` is the value that takes over exactly the
    same bytes at the last step or one step later, NONE if there is none.
    """

    value: int
    end_step: int
    reason: Reason
    uses: Rows
    positions: Rows
    later_step: int | None
    successor: int


def last_uses(dump: DumpSet, value: int) -> Ending | None:
    """Return why the live range of a value, a row of `DumpSet.values`, ends. None if it has no live range."""
    return next(endings(dump, np.array([value])))


def endings(dump: DumpSet, values: Column) -> Iterator[Ending | None]:
    """Yield what `last_uses` returns for each of some values."""
    ends, numbers = dump.values.end_step[values], np.arange(len(values))
    uses, positions = steps_of(dump, values)
    late = np.flatnonzero(uses.step > ends[uses.number])
    by_step = ordered(late, uses.step), ordered(late, -uses.step)
    earliest, latest = (first_rows(numbers, uses.number[rows], rows) for rows in by_step)
    is_cut = earliest != NONE
    is_cut[positions.number[positions.step > ends[positions.number]]] = True
    columns = (
        (values, ends, dump.values.live_range[values], taken(uses.step, earliest), _successors(dump, values)),
        (taken(dump.uses.name, taken(uses.row, latest)), is_cut),
    )
    at_end = (rows.of_each(rows.step == ends[rows.number], len(values)) for rows in (uses, positions))
    for (value, end, live_range, later, successor), (reader, cut), used, shown in zip(
        *(cells(*group) for group in columns), *at_end, strict=True
    ):
        if live_range == NONE:
            yield None
            continue
        later_step = later if reader != NONE else None
        ending = Ending(value, end, Reason.UNKNOWN, used, shown, later_step, successor)
        yield replace(ending, reason=_reason(dump, ending, reader, is_cut=bool(cut)))


class Steps(Columns, frozen=True):
    """Uses or positions of some values, which `number` numbers in ascending order: the row of each, and the step of its
    instruction, NONE if that is not scheduled.
    """

    number: Column
    row: Column
    step: Column

    def of_each(self, chosen: Mask, count: int) -> list[Rows]:
        """Return the chosen rows of each value."""
        rows: list[int] = self.row[chosen].tolist()
        bounds: list[int] = self.number[chosen].searchsorted(np.arange(count + 1)).tolist()
        return [tuple(rows[start:end]) for start, end in pairwise(bounds)]


def steps_of(dump: DumpSet, values: Column) -> tuple[Steps, Steps]:
    """Return the uses and the positions of some values."""
    row, used = dump.values.used_value[values], dump.used_values
    step = taken(dump.schedule.step, dump.schedule_row_of_name)

    def steps(first: Column, count: Column, name: Column) -> Steps:
        count = np.maximum(taken(count, row), 0)
        rows = row_ranges(taken(first, row), count)
        return Steps(np.repeat(np.arange(len(values)), count), rows, step[name[rows]])

    uses = steps(used.first_use, used.use_count, dump.uses.name)
    return uses, steps(used.first_position, used.position_count, dump.positions.name)


def _successors(dump: DumpSet, values: Column) -> Column:
    """For each value the one that takes over exactly its bytes at its last step or one step later, NONE if there is
    none.
    """
    table, holders = dump.values, distinct(dump.values.allocation[values])
    holders = holders[holders != NONE]
    count = dump.allocations.slice_count[holders]
    others = dump.value_of_slice[row_ranges(dump.allocations.first_slice[holders], count)]
    allocation = np.repeat(holders, count)
    known = table.live_range[others] != NONE
    others, allocation = others[known], allocation[known]
    # Number the ranges of bytes, those of `others` first.
    bytes_of = tuple(np.append(column[others], column[values]) for column in (table.size_bytes, table.offset))
    keys = (*bytes_of, np.append(allocation, table.allocation[values]))
    order = np.lexsort(keys)
    is_new = np.logical_or.reduce([np.diff(key[order], prepend=key[order][:1]) != 0 for key in keys])
    number = np.empty(len(order), np.int64)
    number[order] = is_new.cumsum()
    # Then search for the first of the same bytes that starts at the end or later.
    steps = np.append(table.start_step[others], table.end_step[values])
    starts = number * (int(steps.max(initial=0)) - int(steps.min(initial=0)) + 3) + steps
    wanted, starts = starts[len(others) :], starts[: len(others)]
    order = np.argsort(starts, kind="stable")
    starts, candidates = np.append(starts[order], np.iinfo(np.int64).max), np.append(others[order], NONE)
    place = starts.searchsorted(wanted)
    while (is_itself := candidates[place] == values).any():
        place += is_itself
    has_bytes = (table.allocation[values] != NONE) & (table.size_bytes[values] > 0)
    return np.where(has_bytes & (starts[place] <= wanted + 1), candidates[place], NONE)


def _reason(dump: DumpSet, ending: Ending, last_reader: int, *, is_cut: bool) -> Reason:
    """Return the reason for an ending. `last_reader` is the name of the last instruction that reads the value after the
    end, or NONE. `is_cut` is whether a use or an alias comes after the end.
    """
    values, value, end = dump.values, ending.value, ending.end_step
    if ending.uses:
        return Reason.READ
    allocation = values.allocation.item(value)
    kind = Kind(dump.allocations.kind.item(allocation)) if allocation != NONE else Kind(0)
    if dump.last_step is not None and end >= dump.last_step:
        if Kind.MAYBE_LIVE_OUT in kind:
            return Reason.LIVE_OUT
        if Kind.PARAMETER in kind:
            return Reason.PARAMETER
    if values.used_value[value] == NONE:
        return Reason.UNKNOWN
    if last_reader != NONE:
        # An instruction that defines no value is not quoted and is judged by its name.
        opcode = (dump.opcode(last_reader) or b"").decode() or dump.label(last_reader, NONE).split(".")[0]
        if opcode in CALLING:
            return Reason.CALLED
    if is_cut and ending.successor != NONE:
        return Reason.REPLACED
    if ending.positions:
        is_own = ending.positions == (dump.used_values.first_position.item(values.used_value[value]),)
        return Reason.UNUSED if is_own and not is_cut else Reason.PASSED_ON
    if dump.last_step is not None and end > dump.last_step:
        return Reason.LIVE_OUT
    return Reason.COMPUTATION_END


def neighbours(dump: DumpSet, value: int) -> Column:
    """Return the other values with a live range that share bytes with a value, in the order of their starts."""
    values, allocation = dump.values, dump.values.allocation.item(value)
    if allocation == NONE or values.size_bytes[value] <= 0:
        return np.zeros(0, np.int64)
    others = dump.values_of_allocation(allocation)
    low, high = values.offset[value], values.offset[value] + values.size_bytes[value]
    shares = (values.offset[others] < high) & (low < values.offset[others] + values.size_bytes[others])
    others = others[shares & (others != value) & (values.live_range[others] != NONE)]
    return ordered(others, values.start_step)


def on_same_bytes(dump: DumpSet, value: int) -> Column:
    """Return the other values with a live range on exactly the bytes of a value, in the order of their starts."""
    values, others = dump.values, neighbours(dump, value)
    is_same = (values.offset[others] == values.offset[value]) & (values.size_bytes[others] == values.size_bytes[value])
    same: Column = others[is_same]
    return same


CALLING: Final = ("call", "conditional", "while")
"""Opcodes that run another computation of the schedule."""
