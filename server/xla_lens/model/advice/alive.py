"""Why a live range ends where it does (HloLiveRange: GetLastUsageTime, NormalizeAliasedBuffers)."""

from dataclasses import dataclass, replace
from enum import Enum, auto
from itertools import compress
from typing import Final

import numpy as np

from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.lookup import ordered, taken
from xla_lens.syntax.columns import NONE, Column, Kind, Rows


class Reason(Enum):
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


@dataclass(frozen=True, slots=True)
class Ending:
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
    if dump.values.live_range[value] == NONE:
        return None
    end, (uses, use_steps, positions, position_steps) = dump.values.end_step.item(value), steps_of(dump, value)
    later, others = use_steps[use_steps > end], on_same_bytes(dump, value)
    late = dump.values.start_step[others] - end
    ending = Ending(
        value=value,
        end_step=end,
        reason=Reason.UNKNOWN,
        uses=tuple(compress(uses, use_steps == end)),
        positions=tuple(compress(positions, position_steps == end)),
        later_step=int(later.min()) if len(later) else None,
        successor=int(next(iter(others[(late >= 0) & (late <= 1)]), NONE)),
    )
    last_reader = dump.uses.name.item(uses[int(use_steps.argmax())]) if len(later) else NONE
    is_cut = len(later) > 0 or bool(np.any(position_steps > end))
    return replace(ending, reason=_reason(dump, ending, last_reader, is_cut=is_cut))


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


def steps_of(dump: DumpSet, value: int) -> tuple[range, Column, range, Column]:
    """Return the uses of a value and the steps of the instructions there, then the same of its positions. The steps are
    NONE for instructions that are not scheduled.
    """
    row = dump.values.used_value.item(value)
    uses, positions = (dump.uses_of(row), dump.positions_of(row)) if row != NONE else (range(0), range(0))
    use_steps, position_steps = (
        taken(dump.schedule.step, dump.schedule_row_of_name[names])
        for names in (dump.uses.name[uses], dump.positions.name[positions])
    )
    return uses, use_steps, positions, position_steps


CALLING: Final = ("call", "conditional", "while")
"""Opcodes that run another computation of the schedule."""
