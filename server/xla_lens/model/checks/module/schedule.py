"""Checks of the schedule and the live ranges against the HLO module. Each tests a rule that all dumps of XLA follow,
and is named after it.
"""

from collections import Counter
from collections.abc import Iterator

import numpy as np

from xla_lens.model.checks.findings import Finding, error, warning
from xla_lens.model.checks.module.evidence import related_in_module
from xla_lens.model.checks.problems import Problem
from xla_lens.model.checks.tainted import Marks, Tainted, is_marked
from xla_lens.model.hlo.graph import ModuleGraph
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.places.places import row_place
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.lookup import taken
from xla_lens.syntax.columns import NONE, Column, Kind


def schedule_is_order_of_module(graph: ModuleGraph, tainted: Tainted) -> Iterator[Finding]:
    """The schedule has all instructions of its computations in the order of the module, if that is scheduled."""
    dump, file = graph.dump, graph.dump.live
    if file is None or not len(dump.schedule) or not _is_scheduled(graph.module):
        return
    # Of a live range that starts elsewhere and the schedule, either may be wrong.
    uncertain = np.flatnonzero(tainted.values & (dump.values.live_range != NONE))
    own_step = taken(dump.schedule.step, dump.schedule_row_of_name[dump.values.name[uncertain]])
    if np.any((own_step != NONE) & (own_step != dump.values.start_step[uncertain])):
        return
    row_of_step = graph.row[dump.schedule.name]
    table = graph.computation
    known = np.flatnonzero((row_of_step != NONE) & ~tainted.names[dump.schedule.name])
    steps = dump.schedule.step[known]
    rows = row_of_step[known][np.argsort(steps, kind="stable")]
    # Within each computation, in the order of the steps.
    order = np.argsort(table[rows], kind="stable")
    back = np.flatnonzero((np.diff(rows[order]) < 0) & (np.diff(table[rows[order]]) == 0))
    for place in back[:1].tolist():
        before, row = int(rows[order[place]]), int(rows[order[place + 1]])
        names = int(graph.name[before]), int(graph.name[row])
        tainted.names[[*names]] = True
        tainted.is_liveness_sound = False
        step = int(dump.schedule_row_of_name[names[1]])
        problem = Problem.SCHEDULE_ORDER(dump.label(names[1], NONE), dump.label(names[0], NONE))
        yield error(row_place(file, dump.schedule, step), problem, *related_in_module(graph, row))
    if back.size or not tainted.is_whole(file):
        return
    is_covered = np.zeros(len(graph.module.columns.computations), bool)
    is_covered[table[rows]] = True
    is_scheduled = np.zeros(len(graph.name), bool)
    is_scheduled[row_of_step[row_of_step != NONE]] = True
    for row in np.flatnonzero(is_covered[table] & ~is_scheduled).tolist():
        name = int(graph.name[row])
        # An instruction that the dump does not name may have another name there.
        is_excused = np.any(tainted.names) if name == NONE else tainted.names[name]
        if not is_excused:
            if name != NONE:
                tainted.names[name] = True
            tainted.is_liveness_sound = False
            yield error(graph.module.place(row), Problem.MISSING_FROM_SCHEDULE(graph.module.name(row)))


def _is_scheduled(module: HloModule) -> bool:
    return b"is_scheduled=true" in module.data[slice(*module.header_line)]


def live_ranges_match_module(graph: ModuleGraph, tainted: Tainted) -> Iterator[Finding]:
    """Live ranges start where a value is defined and end where it is read last (HloLiveRange)."""
    dump, file, values = graph.dump, graph.dump.live, graph.dump.values
    if file is None or not len(dump.schedule) or not tainted.is_liveness_sound or graph.lacks_positions:
        return
    step = taken(dump.schedule.step, dump.schedule_row_of_name)
    row = graph.row[values.name]
    known = (values.live_range != NONE) & (values.used_value != NONE) & (row != NONE) & (values.slice != NONE)
    known &= ~tainted.values & ~tainted.names[values.name] & (step[values.name] != NONE)
    known &= ~is_marked(tainted.allocations, values.allocation)
    first_step, last_step = _spans(graph, step)
    is_parameter = graph.has_opcode(b"parameter")[row] & (row != NONE)
    computation = graph.computation[row]
    is_late = np.isin(computation, [call.computation for call in graph.calls if call.attribute == b"calls"])
    start = np.where(is_parameter, first_step[computation], step[values.name])
    wrong = known & (values.start_step != start) & ~(is_late & (values.start_step == start + 1))
    for value in np.flatnonzero(wrong).tolist():
        tainted.taint_values(np.array([value]))
        problem = Problem.WRONG_START(dump.value_label(value), int(values.start_step[value]), int(start[value]))
        place = row_place(file, dump.live_ranges, int(values.live_range[value]))
        yield warning(place, problem, *related_in_module(graph, int(row[value])))
    if not tainted.is_liveness_sound:
        return
    yield from _ends(graph, tainted, known & ~wrong, step, last_step)


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


def _ends(graph: ModuleGraph, tainted: Tainted, known: Marks, step: Column, last_step: Column) -> Iterator[Finding]:
    dump, file, values = graph.dump, graph.dump.live, graph.dump.values
    assert file is not None, "checked before"
    uses, positions = dump.uses, dump.positions
    end = np.where(known, np.maximum(values.start_step, step[values.name]), NONE).astype(np.int64)
    read_step = step.copy()
    bodies = [call for call in graph.calls if call.attribute == b"body"]
    for call in bodies:
        # A loop takes its operand over at the start of its body.
        parameter = graph.parameter(call.computation, 0)
        if graph.name[call.caller] != NONE and parameter != NONE and graph.name[parameter] != NONE:
            read_step[graph.name[call.caller]] = step[graph.name[parameter]]
    value = taken(dump.value_of_used_value, uses.value)
    is_read = (value != NONE) & (read_step[uses.name] != NONE)
    np.maximum.at(end, value[is_read], read_step[uses.name[is_read]])
    row = graph.row[positions.name]
    of = taken(dump.value_of_used_value, positions.value)
    is_root = np.zeros(len(graph.name), bool)
    is_root[graph.module.roots[graph.module.roots != NONE]] = True
    outlives = is_root.copy()
    for call in graph.calls:
        # The result of the body flows back into the condition.
        if call.attribute == b"condition" and (parameter := graph.parameter(call.computation, 0)) != NONE:
            outlives[parameter] = True
    lives_on = np.flatnonzero((row != NONE) & (of != NONE) & outlives[row])
    np.maximum.at(end, of[lives_on], last_step[graph.computation[row[lives_on]]])
    shown = np.flatnonzero((of != NONE) & (step[positions.name] != NONE))
    np.maximum.at(end, of[shown], step[positions.name[shown]])
    own = graph.row[values.name]
    asynchronous = np.flatnonzero(known & (own != NONE))
    np.maximum.at(end, asynchronous, _async_ends(graph, step)[graph.computation[own[asynchronous]]])
    kind = taken(dump.allocations.kind, values.allocation)
    is_kept = (kind != NONE) & ((kind & int(Kind.MAYBE_LIVE_OUT)) == 0)
    entry = (row != NONE) & (graph.computation[row] == graph.entry) & graph.has_opcode(b"parameter")[row]
    kept = np.flatnonzero(entry & (of != NONE))
    kept = kept[is_kept[of[kept]]]
    np.maximum.at(end, of[kept], last_step[graph.entry] if graph.entry != NONE else NONE)
    differs = np.flatnonzero(known & (values.end_step != end) & ~tainted.values)
    if not len(differs):
        return
    # The values of a call end where those of its computation start, which may have other offsets.
    by_call = np.zeros(len(values), bool)
    user = graph.row[uses.name]
    by_call[value[(value != NONE) & (user != NONE) & graph.has_opcode(b"call")[user]]] = True
    columns = values.allocation, values.offset, values.start_step
    starts = Counter(zip(*(column.tolist() for column in columns), strict=True))
    uncertain = np.flatnonzero(tainted.values)
    moved = set(zip(values.allocation[uncertain].tolist(), values.start_step[uncertain].tolist(), strict=True))
    for one in differs.tolist():
        ended, expected = int(values.end_step[one]), int(end[one])
        allocation, offset, start = (int(column[one]) for column in columns)
        # A live range also ends where the next value of its buffer starts (HloLiveRange::NormalizeAliasedBuffers).
        is_passed_on = by_call[one] or any(
            starts[allocation, offset, after] > (after == start) or (allocation, after) in moved
            for after in (ended, ended + 1)
        )
        if (
            _inherits_end(dump, one, end)
            if ended > expected
            else is_passed_on or _starts_on_another(dump, allocation, ended)
        ):
            continue
        tainted.taint_values(np.array([one]))
        label, instruction = dump.value_label(one), dump.instruction_at(expected) or ""
        problem = (
            Problem.LATE_END(label, ended, expected)
            if ended > expected
            else Problem.EARLY_END(label, ended, expected, instruction)
        )
        yield warning(
            row_place(file, dump.live_ranges, int(values.live_range[one])),
            problem,
            *related_in_module(graph, int(graph.row[values.name[one]])),
        )


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


def _starts_on_another(dump: DumpSet, allocation: int, step: int) -> bool:
    """Whether a value that starts at a step, or at the next one, lies on bytes of another one. It has a finding of its
    own, and may belong where the value is that ends there.
    """
    rows, values = dump.values_of_allocation(allocation), dump.values
    rows = rows[values.start_step[rows] != NONE]
    offset, end = values.offset[rows], values.offset[rows] + taken(dump.slices.size_bytes, values.slice[rows])
    first, last = values.start_step[rows], values.end_step[rows]
    return any(
        np.any(
            (np.arange(len(rows)) != row)
            & (offset < end[row])
            & (offset[row] < end)
            & (first <= last[row])
            & (first[row] <= last)
        )
        for row in np.flatnonzero((first == step) | (first == step + 1)).tolist()
    )
