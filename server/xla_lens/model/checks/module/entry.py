"""Checks of the parameters and the result of a dump set against its HLO module. Each tests a rule that all dumps of
XLA follow, and is named after it.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import numpy as np

from xla_lens.model.checks.findings import MAXIMUM_RELATED, Finding, Related, Relation, error
from xla_lens.model.checks.module.evidence import related_in_module
from xla_lens.model.checks.problems import KindConflict, Problem
from xla_lens.model.checks.tainted import Tainted, is_marked
from xla_lens.model.hlo.graph import ModuleGraph
from xla_lens.model.places.places import Place, row_place
from xla_lens.model.tables.dump_set import EMPTY_INDEX, DumpSet
from xla_lens.model.tables.lookup import distinct, taken
from xla_lens.syntax.columns import NONE, Kind
from xla_lens.syntax.hlo.shapes import subshape_spans
from xla_lens.syntax.numbers import integer


def entry_parameters_are_numbered(graph: ModuleGraph, tainted: Tainted) -> Iterator[Finding]:
    """The parameters of the entry computation are numbered 0, 1, 2, …"""
    # A parameter that is missing from the module has a finding of its own.
    is_missing = np.any(graph.row[graph.dump.used_values.name] == NONE)
    if graph.entry == NONE or graph.has_entry_parameters or is_missing or np.any(tainted.names):
        return
    rows = graph.entry_parameters
    numbers = graph.quotes.parameter[rows]
    # Either of two parameters with one number may be wrong.
    wrong = (numbers >= len(rows)) | (np.bincount(np.minimum(numbers, len(rows)))[np.minimum(numbers, len(rows))] > 1)
    tainted.names[graph.name[rows[wrong]][graph.name[rows[wrong]] != NONE]] = True
    *others, row = rows[wrong].tolist()
    problem = Problem.ENTRY_PARAMETER_NUMBER(graph.module.name(row), numbers[wrong][-1], len(rows))
    related = (Related(graph.module.place(other), Relation.OTHER_OCCURRENCE) for other in others)
    yield error(graph.module.place(row), problem, *related)


def parameters_are_those_of_module(graph: ModuleGraph, tainted: Tainted) -> Iterator[Finding]:
    """The allocation of a parameter holds that parameter of the entry computation, and has its shape."""
    dump, file, allocations = graph.dump, graph.dump.assignment, graph.dump.allocations
    if file is None or not graph.has_entry_parameters or np.any(tainted.names):
        return
    rows = np.flatnonzero(
        ((allocations.kind & int(Kind.PARAMETER)) != 0) & (allocations.kind != NONE) & ~tainted.allocations
    )
    number, index = allocations.parameter[rows], np.maximum(allocations.parameter_index[rows], EMPTY_INDEX)
    is_known = (number >= 0) & (number < len(graph.entry_parameters))
    instruction = taken(graph.entry_parameters, np.where(is_known, number, NONE))
    name = taken(graph.name, instruction)
    value = np.where(name != NONE, dump.values_at(name, index), NONE)
    is_elsewhere = (value == NONE) | (taken(dump.values.allocation, value) != rows)
    is_excused = is_marked(tainted.names, name) | is_marked(tainted.values, value)
    for place in np.flatnonzero(is_elsewhere & ~is_excused).tolist():
        row = int(rows[place])
        if np.any(tainted.values[dump.values_of_allocation(row)]):
            continue
        tainted.allocations[row] = True
        path = dump.indices[int(index[place])].decode() if index[place] != EMPTY_INDEX else "{}"
        label = dump.label(int(name[place]), NONE) if name[place] != NONE else ""
        problem = Problem.PARAMETER_MISMATCH(allocations.index[row], number[place], path, label)
        yield error(row_place(file, allocations, row), problem, *related_in_module(graph, int(instruction[place])))


def results_live_out(graph: ModuleGraph, tainted: Tainted) -> Iterator[Finding]:
    """The allocations of the result are `maybe-live-out`, and a parameter that the result aliases shares its bytes."""
    dump, file, allocations, values = graph.dump, graph.dump.assignment, graph.dump.allocations, graph.dump.values
    root = int(graph.module.roots[graph.entry]) if graph.entry != NONE else NONE
    if file is None or root == NONE or graph.name[root] == NONE or tainted.names[graph.name[root]]:
        return
    name = int(graph.name[root])
    rows = np.flatnonzero(dump.positions.name == name)
    value = taken(dump.value_of_used_value, dump.positions.value[rows])
    value = value[(value != NONE) & ~is_marked(tainted.values, value)]
    allocation = values.allocation[value]
    kind = taken(allocations.kind, allocation)
    stays = int(Kind.MAYBE_LIVE_OUT) | int(Kind.CONSTANT)
    is_wrong = (kind != NONE) & ((kind & stays) == 0) & ~is_marked(tainted.allocations, allocation)
    for row in distinct(allocation[is_wrong]).tolist():
        tainted.allocations[row] = True
        problem = Problem.KIND_CONFLICT(allocations.index[row], KindConflict.RESULT)
        yield error(row_place(file, allocations, row), problem, *related_in_module(graph, root))
    yield from _aliases(graph, tainted, name)


_ALIASES: Final = re.compile(rb"input_output_alias=\{((?: \{[\d, ]*\}: \([^()]*\),?)*) \}")
_ALIAS: Final = re.compile(rb"\{([\d, ]*)\}: \((\d{1,9}), \{([\d, ]*)\}")


def _aliases(graph: ModuleGraph, tainted: Tainted, root: int) -> Iterator[Finding]:
    dump, module, values = graph.dump, graph.module, graph.dump.values
    if not graph.has_entry_parameters or np.any(tainted.names) or graph.lacks_positions:
        return
    header = _ALIASES.search(module.data, *module.header_line)
    aliases = [*_ALIAS.finditer(module.data, *header.span(1))] if header else []
    parameters = [graph.parameter(graph.entry, integer(alias[2])) for alias in aliases]
    paths = [(alias[1].replace(b" ", b""), alias[3].replace(b" ", b"")) for alias in aliases]
    # One row for each alias: the result and the parameter.
    shape = len(aliases), 2
    names = np.array([(root, NONE if row == NONE else graph.name[row]) for row in parameters], np.int64).reshape(shape)
    numbers = [[dump.index_number(b"{%s}" % path) for path in pair] for pair in paths]
    indices = np.array(numbers, np.int64).reshape(shape)
    shown = dump.values_at(names.ravel(), indices.ravel()).reshape(shape)
    shown = np.where((names != NONE) & (indices != NONE), shown, NONE)
    is_missing = (shown == NONE) & ~np.any(tainted.values)
    allocation, offset = values.allocation[shown], values.offset[shown]
    is_wrong = (allocation[:, 0] != allocation[:, 1]) | (offset[:, 0] != offset[:, 1])
    # A missing position has a finding of its own.
    for marks, rows in ((tainted.values, shown), (tainted.names, names), (tainted.allocations, allocation)):
        is_wrong &= ~is_marked(marks, rows).any(axis=1)
    is_wrong |= is_missing.any(axis=1)
    for row in np.flatnonzero(is_wrong).tolist():
        alias = aliases[row]
        place = Place(module.file, alias.start(), alias.end())
        yield error(place, Problem.ALIAS_MISMATCH(alias[1], integer(alias[2]), alias[3]))
    if not np.any(is_wrong):
        aliased = {(integer(alias[2]), path) for alias, (_, path) in zip(aliases, paths, strict=True)}
        yield from _live_out_parameters(dump, tainted, aliased)


def _live_out_parameters(dump: DumpSet, tainted: Tainted, aliased: set[tuple[int, bytes]]) -> Iterator[Finding]:
    """Parameters are `maybe-live-out` if an output aliases them, as they are copied to all other outputs."""
    allocations, file = dump.allocations, dump.assignment
    is_parameter = (allocations.kind != NONE) & ((allocations.kind & int(Kind.PARAMETER)) != 0)
    for row in np.flatnonzero(is_parameter & ~tainted.allocations).tolist():
        path = dump.indices[max(int(allocations.parameter_index[row]), EMPTY_INDEX)][1:-1]
        lives_out = bool(int(allocations.kind[row]) & int(Kind.MAYBE_LIVE_OUT))
        parameter = int(allocations.parameter[row])
        if file and lives_out != ((parameter, path) in aliased):
            tainted.allocations[row] = True
            problem = Problem.LIVE_OUT_PARAMETER(allocations.index[row], parameter, path, lives_out)
            yield error(row_place(file, allocations, row), problem)


_EXTRACTED: Final = b"HloModule extracted,"


def entry_layout_matches(graph: ModuleGraph, tainted: Tainted) -> Iterator[Finding]:
    """The parameters and the result have the shapes of `entry_computation_layout`."""
    module, quotes = graph.module, graph.quotes
    data = module.data
    header, line = module.header_line
    start = data.find(b"entry_computation_layout={", header, line)
    # The modules that libtpu extracts from another one keep its layout.
    if np.any(tainted.names) or start < 0 or not graph.has_entry_parameters or data.startswith(_EXTRACTED, header):
        return
    start += len(b"entry_computation_layout={")
    spans = subshape_spans(data[start:line])
    arrow = spans.get(b"{}", (0, 0))[1]
    shapes = [(row, spans.get(b"{%d}" % number, (0, 0))) for number, row in enumerate(graph.entry_parameters.tolist())]
    if data.startswith(b"->", start + arrow):
        begin = arrow + 2
        result = subshape_spans(data[start + begin : line]).get(b"{}", (0, 0))
        shapes.append((int(graph.module.roots[graph.entry]), (begin + result[0], begin + result[1])))
    wrong: list[Finding] = []
    for row, (one, other) in shapes:
        expected = data[start + one : start + other]
        shape = data[quotes.shape_start[row] : quotes.shape_end[row]] if row != NONE else b""
        if shape and _plain(shape) == _plain(expected):
            continue
        if row != NONE and graph.name[row] != NONE and tainted.names[graph.name[row]]:
            continue
        name = module.name(row) if row != NONE else "ROOT"
        place = Place(module.file, start + one, start + other)
        problem = Problem.SHAPE_MISMATCH(name, expected, "`entry_computation_layout`", "the entry computation", shape)
        wrong.append(error(place, problem, *related_in_module(graph, row)))
    # They are in one line: a parameter that is missing there shifts all others.
    for first in wrong[:1]:
        related = tuple(Related(finding.place, Relation.DIFFERENCE) for finding in wrong[1:MAXIMUM_RELATED])
        yield replace(first, related=(*first.related, *related))


_COMMENT: Final = re.compile(rb"/\*[^*]*\*/")


def _plain(shape: bytes) -> bytes:
    return _COMMENT.sub(b"", shape)
