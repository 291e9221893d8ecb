"""Checks of a dump set against its HLO module. They run if the dump set itself has no errors."""

import re
from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

import numpy as np

from tree_sitter_xla_dump import release_memory
from xla_lens.model.checks.codes import Severity
from xla_lens.model.checks.context import Context, marked
from xla_lens.model.checks.findings import MAXIMUM_RELATED, Finding, error, of_another_compilation
from xla_lens.model.checks.module.data_flow import (
    instructions_have_their_positions,
    live_ranges_match_module,
    related_in_module,
    uses_match_module,
    values_list_their_uses,
)
from xla_lens.model.checks.problems import Problem
from xla_lens.model.checks.values import wrong_shapes
from xla_lens.model.hlo.graph import ModuleGraph
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.places.places import Place
from xla_lens.model.tables.dump_set import EMPTY_INDEX
from xla_lens.syntax.columns import NONE
from xla_lens.syntax.hlo.quotes import Difference, differences
from xla_lens.syntax.numbers import integer
from xla_lens.syntax.tree import Cancelled


def instructions_are_in_module(graph: ModuleGraph, context: Context) -> Iterator[Finding]:
    """Each instruction that the dump mentions is in the module. One finding for each name."""
    dump, uses, is_unknown = graph.dump, graph.dump.uses, graph.row == NONE
    if graph.has_elements:
        # The module leaves out a `get-tuple-element`: it reads one operand, the table of a tuple, and defines no value.
        is_element = np.zeros(len(dump.names), bool)
        is_element[uses.name] = True
        is_element[uses.name[(uses.operand != 0) | (uses.index > EMPTY_INDEX)]] = False
        is_element[dump.values.name] = False
        is_unknown &= ~is_element
    for table in (dump.used_values, dump.positions, uses, dump.schedule):
        rows, name = is_unknown[table.name], context.names_in(table.name)
        yield from context.found(table, rows, Problem.MISSING_FROM_MODULE, name, names=[table.name])


def quotes_match_module(graph: ModuleGraph, context: Context) -> Iterator[Finding]:
    """The dump quotes the instructions of the module. One finding, unless they differ in many."""
    dump, used, table = graph.dump, graph.dump.used_values, graph.module.columns.instructions
    quote = dump.first_quote[(dump.first_quote != NONE) & (graph.row != NONE)]
    row = graph.row[used.name[quote]]
    if not len(quote) or dump.used is None:
        return
    spans = (used.instruction_start[quote], used.instruction_end[quote]), (table.start[row], table.end[row])
    difference = np.zeros(len(used), np.int8)
    difference[quote] = differences(dump.used.document.data, spans[0], graph.module.data, spans[1])
    rows = marked(difference != Difference.NONE)
    if np.all(difference[rows] == Difference.ATTRIBUTES) and len(rows) > MAXIMUM_RELATED:
        # They are printed in another form, which we do not know. Modules of other compilations also differ elsewhere.
        return
    facts = lambda row: Difference(int(difference[row])).name.lower(), context.names_in(used.name)
    span, related = ("instruction_start", "instruction_end"), related_in_module(graph, used.name)
    rows = rows[:MAXIMUM_RELATED]
    yield from context.found(used, rows, Problem.QUOTE_MISMATCH, *facts, related=related, span=span)


def shapes_match_module(graph: ModuleGraph, context: Context) -> Iterator[Finding]:
    """A value has the shape of its instruction, with the layout and its memory space."""
    slices, row = graph.dump.slices, graph.row[graph.dump.slices.name]
    known = np.flatnonzero(row != NONE)
    rows, which = np.unique(row[known], return_inverse=True)
    whole = graph.module.data, graph.quotes.shape_start[rows], graph.quotes.shape_end[rows]
    related = related_in_module(graph, slices.name)
    yield from wrong_shapes(context, (known, which), whole, "the HLO module", related)


# ---------------------------------------------------------------- parameters and results


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
        problem = Problem.SHAPE_MISMATCH(*names, expected, "its instructions")
        yield error(place, problem)


def _result(graph: ModuleGraph) -> int:
    """The root of the entry computation, NONE without one."""
    return int(graph.module.roots[graph.entry]) if graph.entry != NONE else NONE


_ALIASES: Final = re.compile(rb"input_output_alias=\{((?: \{[\d, ]*\}: \([^()]*\),?)*) \}")
_ALIAS: Final = re.compile(rb"\{([\d, ]*)\}: \((\d{1,9}), \{([\d, ]*)\}")


def aliases_share_bytes(graph: ModuleGraph, _context: Context) -> Iterator[Finding]:
    """A parameter that an output aliases has the bytes of that output."""
    dump, values, module = graph.dump, graph.dump.values, graph.module
    root, header = _result(graph), _ALIASES.search(module.data, *module.header_line)
    for alias in _ALIAS.finditer(module.data, *header.span(1)) if header else ():
        parameter = graph.parameter(graph.entry, integer(alias[2]))
        names = graph.name[[root, parameter]]
        paths = (b"{%s}" % path.replace(b" ", b"") for path in (alias[1], alias[3]))
        indices = np.array([*map(dump.index_number, paths)])
        output, source = np.where(indices != NONE, dump.values_at(names, indices), NONE)
        is_known = NONE not in (root, parameter, *names, output, source)
        places = zip(values.allocation[[output, source]], values.offset[[output, source]], strict=True)
        if not is_known or len({*places}) > 1:
            problem = Problem.ALIAS_MISMATCH(alias[1], integer(alias[2]), alias[3])
            yield error(Place(module.file, *alias.span()), problem)


# ---------------------------------------------------------------- all checks


_ModuleCheck: TypeAlias = Callable[[ModuleGraph, Context], Iterator[Finding]]

_CHECKS: Final[tuple[tuple[_ModuleCheck, ...], ...]] = (
    (instructions_are_in_module,),
    (quotes_match_module,),
    (entry_layout_matches,),
    (shapes_match_module,),
    (instructions_have_their_positions,),
    (uses_match_module, values_list_their_uses),
    (aliases_share_bytes,),
    (live_ranges_match_module,),
)
"""Groups of checks. What a group finds explains what later ones would find."""

_MAXIMUM_DIFFERENCES: Final = 3
"""The most differences that an edit of the dump or of the module can cause. If there are more, they are of different
compilations.
"""


def differences_from_module(context: Context, module: HloModule, is_cancelled: Callable[[], bool]) -> list[Finding]:
    """Find where a dump set without errors contradicts its module, which is complete. Raises `Cancelled`."""
    if context.dump.used is None:
        return []
    graph = ModuleGraph(context.dump, module)
    for group in _CHECKS:
        found = [finding for one in group for finding in one(graph, context)]
        if is_cancelled():
            raise Cancelled
        if len(found) > _MAXIMUM_DIFFERENCES:
            return [of_another_compilation(found, Problem.FOREIGN_MODULE)]
        if found:
            return found
    release_memory()
    return list(_unknown_lines(module))


def _unknown_lines(module: HloModule) -> Iterator[Finding]:
    """A note for each run of lines that belong to no part of a module which agrees with its dump."""
    rows, document = module.unknown_rows, module.file.document
    for run in np.split(rows, np.flatnonzero(np.diff(rows) > 1) + 1) if len(rows) else ():
        place = Place(module.file, document.line_span(int(run[0]))[0], document.line_span(int(run[-1]))[1])
        yield Finding(Severity.INFORMATION, place, Problem.UNKNOWN_LINES(len(run), ()))
