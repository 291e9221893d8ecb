"""Checks of the instructions, the order, the parameters and the result of a dump set against its HLO module. Each
tests a rule that all dumps of XLA follow, and is named after it.
"""

import re
from collections.abc import Iterator
from itertools import zip_longest
from typing import Final, SupportsIndex

import numpy as np

from xla_lens.model.checks.context import Context, Marks, marked
from xla_lens.model.checks.findings import MAXIMUM_RELATED, Finding, Related, Relation, error
from xla_lens.model.checks.instructions import shape_place, wrong_shapes
from xla_lens.model.checks.problems import KindConflict, ModuleDamage, Problem
from xla_lens.model.hlo.graph import ModuleGraph
from xla_lens.model.places.places import Place
from xla_lens.model.tables.dump_set import EMPTY_INDEX
from xla_lens.model.tables.lookup import distinct, taken
from xla_lens.syntax.columns import NONE, Kind
from xla_lens.syntax.hlo.instruction import Instruction, read_instruction
from xla_lens.syntax.hlo.quotes import Difference, differences
from xla_lens.syntax.numbers import integer


def related_in_module(graph: ModuleGraph, row: SupportsIndex) -> tuple[Related, ...]:
    """The instruction in the module, if there is one."""
    place = Place(graph.module.file, *graph.module.span(int(row)))
    return (Related(place, Relation.MODULE_INSTRUCTION),) if row != NONE else ()


def module_is_well_formed(graph: ModuleGraph, _context: Context) -> Iterator[Finding]:
    """A module defines each name once and before it is used, and each computation that it calls. One finding."""
    module, table = graph.module, graph.module.columns.instructions
    rows = np.arange(len(graph.name))
    again = rows[(graph.name != NONE) & (taken(graph.row, graph.name) != rows)]
    user = graph.users()
    operand = taken(graph.row, np.where(graph.quotes.operands < len(graph.row), graph.quotes.operands, NONE))
    is_late = (operand >= user) | (graph.computation[operand] != graph.computation[user])
    late = user[is_late & (operand != NONE)]
    roots = np.bincount(graph.computation[np.flatnonzero(table.is_root)], minlength=len(module.columns.computations))
    for computation in marked(roots != 1)[:1]:
        problem = Problem.DAMAGED_MODULE(module.computation_name(computation), ModuleDamage.ROOT)
        yield error(module.computation_place(computation), problem)
        return
    for rows, damage in ((again, ModuleDamage.TWICE), (late, ModuleDamage.ORDER)):
        for row in rows[:1].tolist():
            yield error(module.place(row), Problem.DAMAGED_MODULE(module.name(row), damage))
            return


def instructions_are_in_module(graph: ModuleGraph, context: Context) -> Iterator[Finding]:
    """Each instruction that the dump mentions is in the module. One finding for each name."""
    dump = graph.dump
    is_unknown = (graph.row == NONE) & ~_may_be_element(graph)
    for table in (dump.used_values, dump.positions, dump.uses, dump.schedule):
        for row in marked(is_unknown[table.name]):
            name = int(table.name[row])
            yield context.error(table, row, Problem.MISSING_FROM_MODULE(context.name(name)), names=name)


def _may_be_element(graph: ModuleGraph) -> Marks:
    """For each name whether it may be a `get-tuple-element` that the module leaves out: it reads one operand, the table
    of a tuple, and defines no value.
    """
    dump = graph.dump
    reads = np.zeros(len(dump.names), bool)
    if graph.has_elements:
        reads[dump.uses.name] = True
        reads[dump.uses.name[(dump.uses.operand != 0) | (dump.uses.index > EMPTY_INDEX)]] = False
        reads[dump.values.name] = False
    return reads


# ---------------------------------------------------------------- quotes


def quotes_match_module(graph: ModuleGraph, context: Context) -> Iterator[Finding]:
    """The dump quotes the instructions of the module. One finding, unless they differ in many."""
    dump, used, table = graph.dump, graph.dump.used_values, graph.module.columns.instructions
    names = np.flatnonzero((dump.first_quote != NONE) & (graph.row != NONE))
    quote, row = dump.first_quote[names], graph.row[names]
    if not len(names):
        return
    file, module = context.file(used), graph.module.data
    data = file.document.data
    spans = (used.instruction_start[quote], used.instruction_end[quote]), (table.start[row], table.end[row])
    difference = differences(data, spans[0], module, spans[1])
    rows = np.flatnonzero(difference)
    if np.all(difference[rows] == Difference.ATTRIBUTES) and len(rows) > MAXIMUM_RELATED:
        # They are printed in another form, which we do not know. Modules of other compilations also differ elsewhere.
        return
    for place in rows[:MAXIMUM_RELATED].tolist():
        quoted = read_instruction(data, int(spans[0][0][place]), int(spans[0][1][place]))
        other = read_instruction(module, int(spans[1][0][place]), int(spans[1][1][place]))
        if quoted and other and not _reads_missing(graph, quoted):
            (start, end), in_module = _differing_part(quoted, other, Difference(int(difference[place])))
            text = data[start:end].removeprefix(b"%")
            problem = Problem.QUOTE_MISMATCH(context.name(names[place]), text, in_module)
            related = related_in_module(graph, row[place])
            yield error(Place(file, start, end), problem, *related, names=names[place])


def _reads_missing(graph: ModuleGraph, quoted: Instruction) -> bool:
    """Whether a quoted instruction reads one that the module lacks, which has its own finding."""
    is_missing = (graph.row == NONE) & ~_may_be_element(graph)
    return any(is_missing[graph.dump.name_number(name)] for name in quoted.operand_names())


def _differing_part(quoted: Instruction, other: Instruction, difference: Difference) -> tuple[tuple[int, int], bytes]:
    """The span of what differs in the quote, and the text in the module."""
    if difference is Difference.SHAPE:
        return (quoted.shape_start, quoted.shape_end), other.shape
    if difference is Difference.OPCODE:
        return (quoted.opcode_start, quoted.operands_start - 1), other.opcode
    close = quoted.operands_end - 1
    for one, another in zip_longest(_parts(quoted), _parts(other)):
        text = other.text[slice(*another)].removeprefix(b"%") if another else b""
        # The module prints the element of a tuple where the dump prints the name of a `get-tuple-element`.
        if not one or (quoted.text[slice(*one)].removeprefix(b"%") != text and b"#" not in text):
            return one or (close, close), text
    return (quoted.start, quoted.end), other.text[other.start : other.end]


def _parts(instruction: Instruction) -> list[tuple[int, int]]:
    """The spans of the operands and attributes of an instruction."""
    close = instruction.operands_end
    operands = [(operand.start, operand.end) for operand in instruction.operands()]
    number = [(instruction.operands_start, close - 1)] if instruction.parameter_number is not None else []
    return (
        operands + number + [match.span(1) for match in _ATTRIBUTE.finditer(instruction.text, close, instruction.end)]
    )


_ATTRIBUTE: Final = re.compile(rb", ([\w-]+=.*?)(?=, [\w-]+=|$)")


# ---------------------------------------------------------------- shapes and order


def shapes_match_module(graph: ModuleGraph, context: Context) -> Iterator[Finding]:
    """A value has the shape of its instruction, with the layout and its memory space."""
    dump = graph.dump
    row = graph.row[dump.values.name]
    values = np.flatnonzero((dump.values.slice != NONE) & (row != NONE))
    rows, which = np.unique(row[values], return_inverse=True)
    spans = graph.quotes.shape_start[rows], graph.quotes.shape_end[rows]
    for value, shape, found, _ in wrong_shapes(dump, values, which, graph.module.data, spans):
        problem = Problem.SHAPE_MISMATCH(context.value(value), shape, "its allocation", found, "the HLO module")
        yield error(shape_place(context, value), problem, *related_in_module(graph, row[value]))


def schedule_is_order_of_module(graph: ModuleGraph, context: Context) -> Iterator[Finding]:
    """The schedule has all instructions of its computations in the order of the module, if that is scheduled."""
    dump, schedule, module = graph.dump, graph.dump.schedule, graph.module
    if not len(schedule) or b"is_scheduled=true" not in module.data[slice(*module.header_line)]:
        return
    rows = graph.row[schedule.name[np.argsort(schedule.step, kind="stable")]]
    rows = rows[rows != NONE]
    # Within each computation, in the order of the steps.
    rows = rows[np.argsort(graph.computation[rows], kind="stable")]
    back = np.flatnonzero((np.diff(rows) < 0) & (np.diff(graph.computation[rows]) == 0))
    for place in back[:1].tolist():
        before, row = rows[place : place + 2].tolist()
        problem = Problem.SCHEDULE_ORDER(context.name(graph.name[row]), context.name(graph.name[before]))
        step = int(dump.schedule_row_of_name[graph.name[row]])
        yield context.error(schedule, step, problem, *related_in_module(graph, row))
    is_missing = np.isin(graph.computation, distinct(graph.computation[rows]))
    is_missing[rows] = False
    for row in marked(is_missing):
        yield error(module.place(row), Problem.MISSING_FROM_SCHEDULE(module.name(row)))


# ---------------------------------------------------------------- parameters and results


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
        yield error(place, Problem.SHAPE_MISMATCH(*names, expected, "its instructions"))


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
