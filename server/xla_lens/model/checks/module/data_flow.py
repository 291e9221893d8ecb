"""Checks of the positions and uses of values against the data flow in the HLO module. Each tests a rule that all
dumps of XLA follow, and is named after it.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

import numpy as np

from xla_lens.model.checks.findings import Finding, error
from xla_lens.model.checks.instructions import use_labels, wrong_uses
from xla_lens.model.checks.module.evidence import related_in_module
from xla_lens.model.checks.problems import Problem
from xla_lens.model.checks.tainted import Marks, Tainted, is_marked
from xla_lens.model.hlo.graph import ModuleGraph
from xla_lens.model.places.places import row_place
from xla_lens.model.tables.dump_set import EMPTY_INDEX
from xla_lens.model.tables.lookup import distinct, found, taken
from xla_lens.syntax.columns import NONE, Column


def positions_follow_data_flow(graph: ModuleGraph, tainted: Tainted) -> Iterator[Finding]:
    """Instructions that pass a value on have a position of that value (HloDataflowAnalysis)."""
    dump, file, positions = graph.dump, graph.dump.used, graph.dump.positions
    assert file is not None, "checked before"
    value = taken(dump.value_of_used_value, positions.value)
    used = dump.used_values
    is_first = np.arange(len(positions)) == taken(used.first_position, positions.value)
    edges = graph.edges()
    source = np.where(edges.index != NONE, dump.values_at(edges.name, edges.index), NONE)
    is_wrong = (source != value[edges.position]) & ~is_first[edges.position]
    is_wrong &= ~is_marked(tainted.names, edges.name)
    wrong = distinct(edges.position[is_wrong & ((source == NONE) | ~is_marked(tainted.values, source))])
    strange = np.flatnonzero((is_first & ~graph.may_define()) | ~graph.is_in_shape())
    shown = dict(zip(edges.position[is_wrong][::-1].tolist(), source[is_wrong][::-1].tolist(), strict=True))
    for row in (*strange.tolist(), *wrong.tolist()):
        name = int(positions.name[row])
        if tainted.names[name] or value[row] == NONE or tainted.values[value[row]]:
            continue
        # One wrong instruction passes on other values at each index.
        tainted.values[value[row]] = tainted.names[name] = True
        other = shown.get(row, NONE)
        if other != NONE:
            tainted.values[other] = True
        position = dump.label(name, int(positions.index[row]))
        problem = Problem.POSITION_MISMATCH(
            dump.value_label(int(value[row])), position, dump.value_label(other) if other != NONE else ""
        )
        yield error(row_place(file, positions, row), problem, *related_in_module(graph, int(graph.row[name])))
    yield from _missing_positions(graph, tainted)


def _missing_positions(graph: ModuleGraph, tainted: Tainted) -> Iterator[Finding]:
    """An instruction has a position for each index of its shape."""
    dump, positions = graph.dump, graph.dump.positions
    if not tainted.is_whole(dump.used):
        return
    # The positions of a value that is not in the list of all values are missing with it.
    if np.any(tainted.values & (dump.values.used_value == NONE)):
        graph.lacks_positions = True
        return
    row = graph.row[positions.name]
    count = np.bincount(row[row != NONE], minlength=len(graph.name))
    is_covered = np.zeros(len(graph.module.columns.computations), bool)
    is_covered[graph.computation[row[row != NONE]]] = True
    few = np.flatnonzero(is_covered[graph.computation] & (count < graph.subshape_count))
    tainted_rows = graph.row[tainted.names.nonzero()[0]]
    few = few[~np.isin(few, tainted_rows) & ((graph.name[few] != NONE) | ~np.any(tainted.names))]
    # A wrong name among the positions of a value may stand for the one that seems to be missing.
    uncertain = tainted.values.copy()
    renamed = taken(dump.value_of_used_value, positions.value[tainted.names[positions.name]])
    uncertain[renamed[renamed != NONE]] = True
    uncertain |= (dump.values.allocation != NONE) & is_marked(tainted.allocations, dump.values.allocation)
    unknown = int((tainted.names[positions.name] & (row == NONE)).sum())
    for instruction in few.tolist():
        name = graph.module.name(instruction).decode("utf-8", "replace")
        missing = int(graph.subshape_count[instruction] - count[instruction])
        # Where a value is uncertain, its positions are, too.
        if missing <= unknown or _shows_tainted(graph, tainted, uncertain, instruction):
            continue
        if graph.name[instruction] != NONE:
            tainted.names[graph.name[instruction]] = True
        graph.lacks_positions = True
        yield error(graph.module.place(instruction), Problem.MISSING_POSITION_OF(name, missing))


def _shows_tainted(graph: ModuleGraph, tainted: Tainted, uncertain: Marks, instruction: int) -> bool:
    """Whether an instruction may show an uncertain value, or one of a tainted name."""
    first = graph.first_operand[instruction]
    operands = graph.quotes.operands[first : first + graph.operand_count[instruction]]
    names, _ = graph.source(operands, np.full(len(operands), EMPTY_INDEX))
    passed_on, called = graph.passed_on, [call.computation for call in graph.calls if call.caller == instruction]
    names = np.concatenate(
        (
            names,
            passed_on[passed_on[:, 0] == instruction, 1],
            taken(graph.name, graph.module.roots[called]),
            graph.name[instruction : instruction + 1],
        )
    )
    names = names[names != NONE]
    dump = graph.dump
    shown = taken(dump.value_of_used_value, dump.positions.value[np.isin(dump.positions.name, names)])
    is_lost = np.isin(dump.values.name, names) & tainted.values
    return bool(np.any(tainted.names[names]) or np.any(is_lost) or np.any(is_marked(uncertain, shown)))


def uses_match_module(graph: ModuleGraph, tainted: Tainted) -> Iterator[Finding]:
    """The uses of a value are the operands that show it (HloValue::ComputeUses)."""
    dump, file, uses = graph.dump, graph.dump.used, graph.dump.uses
    assert file is not None, "checked before"
    row = graph.row[uses.name]
    operand = np.where(row != NONE, graph.operand(row, uses.operand), NONE)
    name, index = graph.source(operand, np.maximum(uses.index, EMPTY_INDEX))
    # A name that the dump does not have stands for an element whose tuple is unknown.
    known = (row != NONE) & ((operand == NONE) | (name != NONE))
    for use, value, read in wrong_uses(dump, tainted, known, name, index):
        tainted.values[[value, read] if read != NONE else value] = True
        label = dump.label(int(name[use]), int(index[use]) or NONE) if name[use] != NONE else ""
        problem = Problem.OPERAND_MISMATCH(*use_labels(dump, use, value), label)
        yield error(row_place(file, uses, use), problem, *related_in_module(graph, int(row[use])))
    yield from _missing_uses(graph, tainted)


def _missing_uses(graph: ModuleGraph, tainted: Tainted) -> Iterator[Finding]:
    """Each value lists the instructions that read it."""
    dump, file, positions, uses = graph.dump, graph.dump.used, graph.dump.positions, graph.dump.uses
    if file is None or not tainted.is_whole(file):
        return
    most = 1 + max(int(graph.operand_count.max(initial=0)), int(uses.operand.max(initial=0)))

    def keys(value: Column, user: Column, number: Column, index: Column) -> Column:
        reads = (value.astype(np.int64) * len(dump.names) + user) * most + np.maximum(number, 0)
        return reads * len(dump.indices) + np.maximum(index, EMPTY_INDEX)

    present = np.unique(keys(uses.value, uses.name, uses.operand, uses.index))
    for user, number, at, index in _reads(graph):
        value, name = positions.value[at], graph.name[user]
        of = taken(dump.value_of_used_value, value)
        missing = found(present, keys(value, name, number, index)) == NONE
        missing &= ~is_marked(tainted.values, of) & ~tainted.names[name]
        for place in np.flatnonzero(missing).tolist():
            if tainted.values[of[place]]:
                continue
            tainted.values[of[place]] = True
            path = dump.indices[int(index[place])].decode() if index[place] > EMPTY_INDEX else ""
            text = f"{number[place]} {path}".rstrip()
            problem = Problem.MISSING_USE(dump.value_label(int(of[place])), dump.label(int(name[place]), NONE), text)
            place_of = row_place(file, dump.used_values, int(value[place]))
            yield error(place_of, problem, *related_in_module(graph, int(user[place])))


_READS_NOTHING: Final = b"tuple"
"""A `tuple` has uses only if it is a result."""

_CHUNK: Final = 1 << 15
"""Operands joined with their positions at once, for less memory."""


def _reads(graph: ModuleGraph) -> Iterator[tuple[Column, Column, Column, Column]]:
    """Yield what instructions read, in the order of the module: instructions, the numbers of their operands, rows of
    `DumpSet.positions`, and their indices in the operands.
    """
    positions, operands, names = graph.dump.positions, graph.quotes.operands, len(graph.dump.names)
    is_root, is_element = graph.module.columns.instructions.is_root, graph.has_opcode(b"get-tuple-element")
    reads = (~graph.has_opcode(_READS_NOTHING) | is_root) & (graph.name != NONE)
    # The positions of each name, first those of the table of a tuple, which may have thousands of elements.
    is_table = positions.index <= EMPTY_INDEX
    order = np.lexsort((~is_table, positions.name))
    of_name, tables = (np.bincount(of, minlength=names) for of in (positions.name, positions.name[is_table]))
    first_of_name = of_name.cumsum() - of_name
    shows = np.unique(positions.value.astype(np.int64) * names + positions.name)
    end = graph.first_operand + graph.operand_count
    cuts = end.searchsorted(np.arange(_CHUNK, len(operands), _CHUNK))
    for first, last in pairwise((0, *cuts.tolist(), len(end))):
        if first == last:
            continue
        counts = graph.operand_count[first:last]
        user = np.repeat(np.arange(first, last), counts)
        number = np.arange(len(user)) - np.repeat(counts.cumsum() - counts, counts)
        operand = operands[int(graph.first_operand[first]) :][: len(user)]
        known = (operand != NONE) & (operand < names) & reads[user]
        user, number, operand = user[known], number[known], operand[known]
        # A `get-tuple-element` that is no result reads only the table of the tuple.
        count = np.where(is_element[user] & ~is_root[user], tables[operand], of_name[operand])
        at = np.arange(int(count.sum())) + np.repeat(first_of_name[operand] - (count.cumsum() - count), count)
        user, number, at = np.repeat(user, count), np.repeat(number, count), order[at]
        # One that is a result reads also the element, which it passes on.
        is_read = ~is_element[user] | is_table[at]
        passed = np.flatnonzero(~is_read)
        shown = positions.value[at[passed]].astype(np.int64) * names + graph.name[user[passed]]
        is_read[passed] = found(shows, shown) != NONE
        yield user[is_read], number[is_read], at[is_read], positions.index[at[is_read]]
    if graph.has_elements:
        yield _element_reads(graph, reads)


def _element_reads(graph: ModuleGraph, reads: Marks) -> tuple[Column, Column, Column, Column]:
    """What instructions read that have elements of tuples as operands. Elements of those elements are left out."""
    positions, operands = graph.dump.positions, graph.quotes.operands
    user = graph.users()
    number = np.arange(len(user)) - np.repeat(graph.first_operand, graph.operand_count)
    known = (operands >= len(graph.dump.names)) & reads[user]
    name, index = graph.source(operands[known], np.full(int(known.sum()), EMPTY_INDEX))
    width = len(graph.dump.indices)
    shown = positions.name.astype(np.int64) * width + np.maximum(positions.index, EMPTY_INDEX)
    keys, first = np.unique(shown, return_index=True)
    at = found(keys, np.where(index != NONE, name * np.int64(width) + index, NONE))
    is_there = at != NONE
    at = first[at[is_there]]
    return user[known][is_there], number[known][is_there], at, np.full(len(at), EMPTY_INDEX)
