"""Checks of the positions and uses of values against the data flow in the HLO module. Each tests a rule that all
dumps of XLA follow, and is named after it.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

import numpy as np

from xla_lens.model.checks.context import Context, marked
from xla_lens.model.checks.findings import Finding, error
from xla_lens.model.checks.instructions import wrong_uses
from xla_lens.model.checks.module.instructions import related_in_module
from xla_lens.model.checks.problems import Problem
from xla_lens.model.checks.values import use_labels
from xla_lens.model.hlo.graph import ModuleGraph
from xla_lens.model.tables.dump_set import EMPTY_INDEX
from xla_lens.model.tables.lookup import distinct, found, taken
from xla_lens.syntax.columns import NONE, Column


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
    for row in (*strange.tolist(), *distinct(edges.position[is_wrong]).tolist()):
        name, other = int(positions.name[row]), int(shown[row])
        labels = context.value(value[row]), context.label(positions, row), context.value(other) if other != NONE else ""
        related = related_in_module(graph, graph.row[name])
        problem = Problem.POSITION_MISMATCH(*labels)
        yield context.error(positions, row, problem, *related, names=name, values=(value[row], other))


def instructions_have_their_positions(graph: ModuleGraph, _context: Context) -> Iterator[Finding]:
    """An instruction has a position for each index of its shape."""
    row = graph.row[graph.dump.positions.name]
    row = row[row != NONE]
    count = np.bincount(row, minlength=len(graph.name))
    is_covered = np.isin(graph.computation, distinct(graph.computation[row]))
    for few in marked(is_covered & (count < graph.subshape_count)):
        problem = Problem.MISSING_POSITION_OF(graph.module.name(few), graph.subshape_count[few] - count[few])
        yield error(graph.module.place(few), problem)


def uses_match_module(graph: ModuleGraph, context: Context) -> Iterator[Finding]:
    """The uses of a value are the operands that show it (HloValue::ComputeUses)."""
    dump, uses = graph.dump, graph.dump.uses
    row = graph.row[uses.name]
    operand = np.where(row != NONE, graph.operand(row, uses.operand), NONE)
    name, index = graph.source(operand, np.maximum(uses.index, EMPTY_INDEX))
    # A name that the dump does not have stands for an element whose tuple is unknown.
    known = (row != NONE) & ((operand == NONE) | (name != NONE))
    for use, value, read in wrong_uses(context, known, name, index):
        label = dump.label(int(name[use]), int(index[use]) or NONE) if name[use] != NONE else ""
        problem = Problem.OPERAND_MISMATCH(*use_labels(context, use, value), label)
        related = related_in_module(graph, row[use])
        yield context.error(uses, use, problem, *related, values=(value, read))


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
            value = int(dump.value_of_used_value[header[place]])
            path = dump.indices[int(index[place])].decode() if index[place] > EMPTY_INDEX else ""
            operand = f"{number[place]} {path}".rstrip()
            problem = Problem.MISSING_USE(context.value(value), context.name(name[place]), operand)
            related = related_in_module(graph, user[place])
            yield context.error(dump.used_values, header[place], problem, *related, values=value)


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
