"""The check of the live ranges against the HLO module."""

from collections import Counter
from collections.abc import Iterator

import numpy as np

from xla_lens.model.checks.context import Context, marked
from xla_lens.model.checks.findings import Finding, warning
from xla_lens.model.checks.module.instructions import related_in_module
from xla_lens.model.checks.problems import Problem
from xla_lens.model.hlo.graph import ModuleGraph
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.lookup import taken
from xla_lens.syntax.columns import NONE, Column, Kind


def live_ranges_match_module(graph: ModuleGraph, context: Context) -> Iterator[Finding]:
    """Live ranges start where a value is defined and end where it is read last (HloLiveRange)."""
    dump, values = graph.dump, graph.dump.values
    if not len(dump.schedule) or not len(dump.live_ranges):
        return
    step = taken(dump.schedule.step, dump.schedule_row_of_name)
    row = graph.row[values.name]
    known = (values.live_range != NONE) & (values.used_value != NONE) & (row != NONE) & (values.slice != NONE)
    known &= step[values.name] != NONE
    first_step, last_step = _spans(graph, step)
    is_parameter = graph.has_opcode(b"parameter")[row]
    is_late = np.isin(graph.computation[row], [call.computation for call in graph.calls if call.attribute == b"calls"])
    start = np.where(is_parameter, first_step[graph.computation[row]], step[values.name])
    is_wrong_start = known & (values.start_step != start) & ~(is_late & (values.start_step == start + 1))
    end = _ends(graph, context, step, last_step)
    by_call = _read_by_calls(graph, context)
    columns = values.allocation, values.offset, values.start_step
    starts = Counter(zip(*(column.tolist() for column in columns), strict=True))
    for value in marked(known & (is_wrong_start | (values.end_step != end))):
        label, ended, expected = context.value(value), int(values.end_step[value]), int(end[value])
        if is_wrong_start[value]:
            problem = Problem.WRONG_START(label, values.start_step[value], start[value])
        elif ended > expected:
            if _inherits_end(dump, value, end):
                continue
            problem = Problem.LATE_END(label, ended, expected)
        else:
            # A live range also ends where the next value of its buffer starts (HloLiveRange::NormalizeAliasedBuffers).
            allocation, offset, own = (int(column[value]) for column in columns)
            is_passed_on = any(starts[allocation, offset, at] > (at == own) for at in (ended, ended + 1))
            if is_passed_on or by_call[value]:
                continue
            problem = Problem.EARLY_END(label, ended, expected, dump.instruction_at(expected) or "")
        place = context.place(dump.live_ranges, values.live_range[value])
        yield warning(place, problem, *related_in_module(graph, row[value]), values=value)


def _spans(graph: ModuleGraph, step: Column) -> tuple[Column, Column]:
    """The first step of each computation and of those that it calls, and the step after its last one."""
    count = len(graph.module.columns.computations)
    own = np.where(graph.name != NONE, step[graph.name], NONE)
    rows = np.flatnonzero(own != NONE)
    first, last = np.full(count, np.iinfo(np.int64).max), np.full(count, NONE, np.int64)
    np.minimum.at(first, graph.computation[rows], own[rows])
    np.maximum.at(last, graph.computation[rows], own[rows] + 1)
    # XLA prints a computation behind those that it calls.
    for call in graph.calls:
        caller = graph.computation[call.caller]
        first[caller] = min(first[caller], first[call.computation])
    return first, last


def _read_by_calls(graph: ModuleGraph, context: Context) -> Column:
    """For each value whether a call reads it: it ends where those of the called computation start, which may have other
    offsets.
    """
    uses = graph.dump.uses
    value, user = context.value_of(uses), graph.row[uses.name]
    by_call = np.zeros(len(graph.dump.values), np.int64)
    by_call[value[(value != NONE) & (user != NONE) & graph.has_opcode(b"call")[user]]] = 1
    return by_call


def _ends(graph: ModuleGraph, context: Context, step: Column, last_step: Column) -> Column:
    """For each value the step at which its live range should end: the last at which it is defined, read or shown."""
    dump, values, uses, positions = graph.dump, graph.dump.values, graph.dump.uses, graph.dump.positions
    end = np.maximum(values.start_step, step[values.name]).astype(np.int64)

    def extend(rows: Column, steps: Column) -> None:
        np.maximum.at(end, rows[rows != NONE], steps[rows != NONE])

    read_step = step.copy()
    outlives = np.zeros(len(graph.name), bool)
    outlives[graph.module.roots[graph.module.roots != NONE]] = True
    for call in graph.calls:
        parameter = graph.parameter(call.computation, 0)
        if call.attribute == b"condition" and parameter != NONE:
            # The result of the body flows back into the condition.
            outlives[parameter] = True
        if call.attribute == b"body" and NONE not in (parameter, graph.name[call.caller], graph.name[parameter]):
            # A loop takes its operand over at the start of its body.
            read_step[graph.name[call.caller]] = step[graph.name[parameter]]
    extend(context.value_of(uses), read_step[uses.name])
    shown, row = context.value_of(positions), graph.row[positions.name]
    extend(shown, step[positions.name])
    extend(np.where((row != NONE) & outlives[row], shown, NONE), last_step[graph.computation[row]])
    own = graph.row[values.name]
    extend(np.where(own != NONE, np.arange(len(values)), NONE), _async_ends(graph, step)[graph.computation[own]])
    kind = taken(dump.allocations.kind, values.allocation)
    is_kept = (kind != NONE) & ((kind & int(Kind.MAYBE_LIVE_OUT)) == 0)
    is_entry = (graph.computation == graph.entry) & graph.has_opcode(b"parameter")
    kept = np.where((row != NONE) & is_entry[row] & (shown != NONE) & is_kept[shown], shown, NONE)
    extend(kept, np.full(len(kept), last_step[graph.entry]))
    return end


def _async_ends(graph: ModuleGraph, step: Column) -> Column:
    """For each computation the step of its `async-done`, until which all of its values are live, also those of
    computations that it calls. NONE for others.
    """
    ends = np.full(len(graph.module.columns.computations), NONE, np.int64)
    rows = graph.rows_of(b"async-update", b"async-done")
    next_row = dict(zip(graph.operand(rows, 0).tolist(), rows.tolist(), strict=True))
    # XLA prints a computation behind those that it calls.
    for call in reversed(graph.calls):
        if call.attribute != b"calls":
            ends[call.computation] = max(ends[call.computation], ends[graph.computation[call.caller]])
            continue
        row = call.caller
        while row != NONE and graph.name[row] != NONE:
            ends[call.computation] = step[graph.name[row]]
            row = next_row.pop(int(graph.name[row]), NONE)
    return ends


def _inherits_end(dump: DumpSet, value: int, end: Column) -> bool:
    """Whether an earlier value of the same buffer would end as late as the live range of `value` does.

    XLA ends a live range where the next value of its buffer starts, and extends that one to the end of the first
    (HloLiveRange::NormalizeAliasedBuffers).
    """
    values = dump.values
    rows = dump.values_of_allocation(int(values.allocation[value]))
    rows = rows[values.offset[rows] == values.offset[value]]
    start, ended = values.start_step[rows], values.end_step[value]
    is_shortened = np.any((start == ended) & (rows != value))
    inherited = end[rows[start <= values.start_step[value]]]
    return bool(np.any((inherited == ended) | (is_shortened & (inherited > ended))))
