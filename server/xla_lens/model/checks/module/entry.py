"""Checks of the parameters and the result of a dump set against its HLO module. Each tests a rule that all dumps of
XLA follow, and is named after it.
"""

import re
from collections.abc import Iterator
from typing import Final

import numpy as np

from xla_lens.model.checks.context import Context, marked
from xla_lens.model.checks.findings import Finding, error
from xla_lens.model.checks.module.instructions import related_in_module
from xla_lens.model.checks.problems import KindConflict, Problem
from xla_lens.model.hlo.graph import ModuleGraph
from xla_lens.model.places.places import Place
from xla_lens.model.tables.dump_set import EMPTY_INDEX
from xla_lens.model.tables.lookup import distinct, taken
from xla_lens.syntax.columns import NONE, Kind
from xla_lens.syntax.numbers import integer


def entry_parameters_are_numbered(graph: ModuleGraph, _context: Context) -> Iterator[Finding]:
    """The parameters of the entry computation are numbered 0, 1, 2, …"""
    rows, module = graph.entry_parameters, graph.module
    numbers = graph.quotes.parameter[rows]
    if np.any(graph.row[graph.dump.used_values.name] == NONE):
        # One of them is missing.
        return
    for place in marked(numbers != np.arange(len(rows)))[-1:]:
        row = int(rows[place])
        problem = Problem.ENTRY_PARAMETER_NUMBER(module.name(row), numbers[place], len(rows))
        yield error(module.place(row), problem, names=graph.name[row])


_LAYOUT: Final = re.compile(rb"entry_computation_layout=\{(.*)")
_COMMENT: Final = re.compile(rb"/\*[^*]*\*/")


def entry_layout_matches(graph: ModuleGraph, _context: Context) -> Iterator[Finding]:
    """The parameters and the result have the shapes of `entry_computation_layout`."""
    module, root = graph.module, _result(graph)
    layout = _LAYOUT.search(module.data, *module.header_line)
    # The modules that libtpu extracts from another one keep its layout.
    if not layout or root == NONE or module.data.startswith(b"HloModule extracted,", module.header_line[0]):
        return
    start, end = graph.quotes.shape_start, graph.quotes.shape_end
    *parameters, result = (module.data[start[row] : end[row]] for row in (*graph.entry_parameters.tolist(), root))
    expected = _COMMENT.sub(b"", b"(%s)->%s" % (b", ".join(parameters), result))
    printed = _COMMENT.sub(b"", layout[1])[: len(expected)]
    if printed != expected:
        place = Place(module.file, *layout.span(1))
        names = module.computation_name(graph.entry), printed, "`entry_computation_layout`"
        yield error(place, Problem.SHAPE_MISMATCH(*names, "its instructions", expected))


def _result(graph: ModuleGraph) -> int:
    """The root of the entry computation, NONE without one."""
    return int(graph.module.roots[graph.entry]) if graph.entry != NONE else NONE


def results_live_out(graph: ModuleGraph, context: Context) -> Iterator[Finding]:
    """The allocations of the result are `maybe-live-out`."""
    dump, root = graph.dump, _result(graph)
    name = int(graph.name[root])
    if NONE in (root, name):
        return
    value = context.value_of(dump.positions)[dump.positions.name == name]
    allocation = dump.values.allocation[value[value != NONE]]
    stays = int(Kind.MAYBE_LIVE_OUT) | int(Kind.CONSTANT)
    for row in distinct(allocation[(taken(dump.allocations.kind, allocation) & stays) == 0]).tolist():
        problem = Problem.KIND_CONFLICT(dump.allocations.index[row], KindConflict.RESULT)
        yield context.error(dump.allocations, row, problem, *related_in_module(graph, root))


_ALIASES: Final = re.compile(rb"input_output_alias=\{((?: \{[\d, ]*\}: \([^()]*\),?)*) \}")
_ALIAS: Final = re.compile(rb"\{([\d, ]*)\}: \((\d{1,9}), \{([\d, ]*)\}")


def _aliases(graph: ModuleGraph) -> list[re.Match[bytes]]:
    """The aliases in the header: the index of the output, the number of the parameter and the index in it."""
    module = graph.module
    header = _ALIASES.search(module.data, *module.header_line)
    return [*_ALIAS.finditer(module.data, *header.span(1))] if header else []


def _path(index: bytes) -> bytes:
    return b"{%s}" % index.replace(b" ", b"")


def aliases_share_bytes(graph: ModuleGraph, _context: Context) -> Iterator[Finding]:
    """A parameter that an output aliases has the bytes of that output."""
    dump, values, root = graph.dump, graph.dump.values, _result(graph)
    for alias in _aliases(graph):
        parameter = graph.parameter(graph.entry, integer(alias[2]))
        names = graph.name[[root, parameter]]
        indices = np.array([dump.index_number(_path(path)) for path in (alias[1], alias[3])])
        output, source = np.where(indices != NONE, dump.values_at(names, indices), NONE)
        is_known = NONE not in (root, parameter, *names, output, source)
        places = zip(values.allocation[[output, source]], values.offset[[output, source]], strict=True)
        if not is_known or len({*places}) > 1:
            problem = Problem.ALIAS_MISMATCH(alias[1], integer(alias[2]), alias[3])
            yield error(Place(graph.module.file, *alias.span()), problem)


def aliased_parameters_live_out(graph: ModuleGraph, context: Context) -> Iterator[Finding]:
    """Parameters are `maybe-live-out` if an output aliases them, as they are copied to all other outputs."""
    dump, allocations = graph.dump, graph.dump.allocations
    aliased = {(integer(alias[2]), _path(alias[3])) for alias in _aliases(graph)}
    if _result(graph) == NONE:
        return
    for row in marked((allocations.kind & int(Kind.PARAMETER)) != 0):
        path = dump.indices[max(int(allocations.parameter_index[row]), EMPTY_INDEX)]
        lives_out = bool(allocations.kind[row] & int(Kind.MAYBE_LIVE_OUT))
        parameter = int(allocations.parameter[row])
        if lives_out != ((parameter, path) in aliased):
            problem = Problem.LIVE_OUT_PARAMETER(allocations.index[row], parameter, path[1:-1], lives_out)
            yield context.error(allocations, row, problem)
