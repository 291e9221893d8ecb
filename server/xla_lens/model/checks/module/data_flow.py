"""Checks of the positions, uses and live ranges of values against the data flow in the HLO module. Each tests a rule
that all dumps of XLA follow, and is named after it.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

import numpy as np

from xla_lens.model.checks.codes import Severity
from xla_lens.model.checks.context import Context, RelatedRows, marked
from xla_lens.model.checks.findings import Finding, Relation
from xla_lens.model.checks.live_ranges import early_ends, without_successors
from xla_lens.model.checks.problems import Problem
from xla_lens.model.checks.values import operand_label, wrong_uses
from xla_lens.model.hlo.graph import ModuleGraph
from xla_lens.model.tables.dump_set import EMPTY_INDEX, DumpSet
from xla_lens.model.tables.lookup import distinct, found, taken
from xla_lens.syntax.columns import NONE, Column, Kind


def related_in_module(graph: ModuleGraph, names: Column) -> RelatedRows:
    """The instructions with some names in the module, as related rows."""
    return graph.module.columns.instructions, graph.row[names], Relation.MODULE_INSTRUCTION


def positions_follow_data_flow(graph: ModuleGraph, context: Context) -> Iterator[Finding]:
    """Instructions that pass a value on have a position of that value (HloDataflowAnalysis). One finding for an
    instruction, as a wrong one passes on other values at each index.
    """
    dump, positions = graph.dump, graph.dump.positions
    value = context.value_of(positions)
    is_first = np.arange(len(positions)) == taken(dump.used_values.first_position, positions.value)
    edges = graph.edges()
    source = np.where(edges.index != NONE, dump.values_at(edges.name, edges.index), NONE)
    is_wrong = (source != value[edges.position]) & ~is_first[edges.position]
    shown = np.full(len(positions), NONE)
    shown[edges.position[is_wrong]] = source[is_wrong]
    strange = np.flatnonzero((is_first & ~graph.may_define()) | ~graph.is_in_shape())
    rows = [*strange.tolist(), *distinct(edges.position[is_wrong]).tolist()]
    facts = context.labels(positions), context.values_in(value), context.values_in(shown)
    related, names = related_in_module(graph, positions.name), [positions.name]
    yield from context.found(
        positions, rows, Problem.POSITION_MISMATCH, *facts, related=related, names=names, values=[shown]
    )


def instructions_have_their_positions(graph: ModuleGraph, context: Context) -> Iterator[Finding]:
    """An instruction has a position for each index of its shape."""
    row = graph.row[graph.dump.positions.name]
    row = row[row != NONE]
    missing = graph.subshape_count - np.bincount(row, minlength=len(graph.name))
    is_covered = np.isin(graph.computation, distinct(graph.computation[row]))
    facts = missing, context.names_in(graph.name)
    instructions = graph.module.columns.instructions
    yield from context.found(instructions, is_covered & (missing > 0), Problem.MISSING_POSITION_OF, *facts)


def uses_match_module(graph: ModuleGraph, context: Context) -> Iterator[Finding]:
    """The uses of a value are the operands that show it (HloValue::ComputeUses)."""
    uses = graph.dump.uses
    row = graph.row[uses.name]
    operand = np.where(row != NONE, graph.operand(row, uses.operand), NONE)
    name, index = graph.source(operand, np.maximum(uses.index, EMPTY_INDEX))
    # A name that the dump does not have stands for an element whose tuple is unknown.
    known = (row != NONE) & ((operand == NONE) | (name != NONE))
    yield from wrong_uses(context, known, (name, index), related_in_module(graph, uses.name))


def values_list_their_uses(graph: ModuleGraph, context: Context) -> Iterator[Finding]:
    """Each value lists the instructions that read it."""
    dump, positions, uses = graph.dump, graph.dump.positions, graph.dump.uses
    most = 1 + max(int(graph.operand_count.max(initial=0)), int(uses.operand.max(initial=0)))

    def keys(value: Column, user: Column, number: Column, index: Column) -> Column:
        reads = (value.astype(np.int64) * len(dump.names) + user) * most + np.maximum(number, 0)
        return reads * len(dump.indices) + np.maximum(index, EMPTY_INDEX)

    present = np.unique(keys(uses.value, uses.name, uses.operand, uses.index))
    for user, number, at, index in _reads(graph):
        header, name = positions.value[at], graph.name[user]
        for place in marked(found(present, keys(header, name, number, index)) == NONE):
            operand = operand_label(dump, number[place], index[place] if index[place] > EMPTY_INDEX else NONE)
            facts = context.name(name[place]), context.labels(dump.used_values), operand
            related = graph.module.columns.instructions, int(user[place]), Relation.MODULE_INSTRUCTION
            rows = [int(header[place])]
            yield from context.found(dump.used_values, rows, Problem.MISSING_USE, *facts, related=related)


_CHUNK: Final = 1 << 15
"""Operands joined with their positions at once, for less memory."""


def _reads(graph: ModuleGraph) -> Iterator[tuple[Column, Column, Column, Column]]:
    """Yield what instructions read, in the order of the module: instructions, the numbers of their operands, rows of
    `DumpSet.positions`, and their indices in the operands.
    """
    positions, operands, names = graph.dump.positions, graph.quotes.operands, len(graph.dump.names)
    is_element = graph.has_opcode(b"get-tuple-element")
    # A `tuple` has uses only if it is a result. What a `get-tuple-element` reads as a result depends on its element.
    is_root = graph.module.columns.instructions.is_root
    reads = (graph.name != NONE) & np.where(is_root, ~is_element, ~graph.has_opcode(b"tuple"))
    # The positions of each name, first those of the table of a tuple, which may have thousands of elements.
    is_table = positions.index <= EMPTY_INDEX
    order = np.lexsort((~is_table, positions.name))
    of_name, tables = (np.bincount(of, minlength=names) for of in (positions.name, positions.name[is_table]))
    first_of_name = of_name.cumsum() - of_name
    users = graph.users()
    numbers = np.arange(len(users)) - np.repeat(graph.first_operand, graph.operand_count)
    for first, last in pairwise((*range(0, len(operands), _CHUNK), len(operands))):
        user, number, operand = users[first:last], numbers[first:last], operands[first:last]
        known = (operand != NONE) & (operand < names) & reads[user]
        user, number, operand = user[known], number[known], operand[known]
        # A `get-tuple-element` reads only the table of the tuple.
        count = np.where(is_element[user], tables[operand], of_name[operand])
        at = np.arange(int(count.sum())) + np.repeat(first_of_name[operand] - (count.cumsum() - count), count)
        at = order[at]
        yield np.repeat(user, count), np.repeat(number, count), at, positions.index[at]
    if graph.has_elements:
        known = (operands >= names) & reads[users]
        yield _element_reads(graph, users[known], numbers[known], operands[known])


def _element_reads(
    graph: ModuleGraph, user: Column, number: Column, operand: Column
) -> tuple[Column, Column, Column, Column]:
    """What instructions read that have elements of tuples as operands. Elements of those elements are left out."""
    dump, positions = graph.dump, graph.dump.positions
    name, index = graph.source(operand, np.full(len(operand), EMPTY_INDEX))
    width = np.int64(len(dump.indices))
    keys, first = np.unique(positions.name * width + np.maximum(positions.index, EMPTY_INDEX), return_index=True)
    at = found(keys, np.where(index != NONE, name * width + index, NONE))
    is_there = at != NONE
    return user[is_there], number[is_there], first[at[is_there]], np.full(int(is_there.sum()), EMPTY_INDEX)


# ---------------------------------------------------------------- live ranges


def live_ranges_match_module(graph: ModuleGraph, context: Context) -> Iterator[Finding]:
    """Live ranges start where a value is defined and end where it is read last (HloLiveRange)."""
    dump, values, ranges = graph.dump, graph.dump.values, graph.dump.live_ranges
    if not len(dump.schedule) or not len(ranges):
        return
    step = taken(dump.schedule.step, dump.schedule_row_of_name)
    row, related = graph.row[values.name], related_in_module(graph, ranges.name)
    known = (values.live_range != NONE) & (values.used_value != NONE) & (row != NONE) & (values.slice != NONE)
    known &= step[values.name] != NONE
    first_step, last_step = _spans(graph, step)
    is_late = np.isin(graph.computation[row], [call.computation for call in graph.calls if call.attribute == b"calls"])
    start = np.where(graph.has_opcode(b"parameter")[row], first_step[graph.computation[row]], step[values.name])
    is_wrong = known & (values.start_step != start) & ~(is_late & (values.start_step == start + 1))
    value, end = dump.value_of_live_range, _ends(graph, context, step, last_step)
    facts = context.values_in(value), ranges.start_step, taken(start, value)
    wrong = values.live_range[is_wrong].tolist()
    yield from context.found(ranges, wrong, Problem.WRONG_START, *facts, severity=Severity.WARNING, related=related)
    known &= ~is_wrong
    late = [one for one in marked(known & (values.end_step > end)) if not _inherits_end(dump, one, end)]
    facts = context.values_in(value), ranges.end_step, taken(end, value)
    rows = values.live_range[late].tolist()
    yield from context.found(ranges, rows, Problem.LATE_END, *facts, severity=Severity.WARNING, related=related)
    # What a call reads ends where values of the called computation start, which may have other offsets.
    read, user = context.value_of(dump.uses), graph.row[dump.uses.name]
    by_call = read[(user != NONE) & graph.has_opcode(b"call")[user]]
    known &= ~np.isin(np.arange(len(values)), by_call)
    early = without_successors(dump, marked(known & (values.end_step < end)))
    yield from early_ends(dump, context, values.live_range[early].tolist(), end)


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
