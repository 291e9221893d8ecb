"""Checks of the instructions and shapes of a dump set against its HLO module. Each tests a rule that all dumps of XLA
follow, and is named after it.
"""

import re
from collections.abc import Iterator
from itertools import zip_longest
from typing import Final

import numpy as np

from xla_lens.model.checks.findings import MAXIMUM_RELATED, Finding, Related, Relation, error
from xla_lens.model.checks.instructions import shape_place, wrong_shapes
from xla_lens.model.checks.module.evidence import MAXIMUM_DIFFERENCES, related_in_module
from xla_lens.model.checks.problems import ModuleDamage, Problem
from xla_lens.model.checks.tainted import Marks, Tainted, is_marked
from xla_lens.model.hlo.graph import ModuleGraph
from xla_lens.model.places.places import Place, row_place
from xla_lens.model.tables.dump_set import EMPTY_INDEX, DumpSet
from xla_lens.model.tables.lookup import distinct, first_rows, taken
from xla_lens.syntax.columns import NONE, Positions, Texts, Uses
from xla_lens.syntax.hlo.instruction import Instruction, read_instruction
from xla_lens.syntax.hlo.quotes import Difference, differences, tuple_elements, unknown_computation
from xla_lens.syntax.texts import same_texts


def instructions_are_in_module(graph: ModuleGraph, tainted: Tainted) -> Iterator[Finding]:
    """Each instruction that the dump mentions is in the module. One finding for each name."""
    dump = graph.dump
    is_excused = tainted.names.copy()
    if graph.has_elements:
        is_excused |= _may_be_element(dump, tainted)
    tables = (dump.used_values, dump.positions, dump.uses, dump.schedule)
    for table in tables:
        file = dump.live if table is dump.schedule else dump.used
        is_unknown = (graph.row[table.name] == NONE) & ~is_excused[table.name]
        if isinstance(table, Positions | Uses):
            # A value that has a line with a wrong name lacks the line with the right one.
            value = taken(dump.value_of_used_value, table.value)
            is_unknown &= ~is_marked(tainted.values, value)
            lacking = value[is_unknown]
            tainted.values[lacking] = True
        unknown = np.flatnonzero(is_unknown)
        # Without counts, `np.unique` imports `numpy.ma`, as in `distinct_pairs`.
        names = distinct(table.name[unknown])
        first = first_rows(names, table.name[unknown], unknown)
        is_excused[names] = tainted.names[names] = True
        tainted.is_liveness_sound &= not len(names)
        for name, row in zip(names.tolist(), first.tolist(), strict=True):
            if file:
                yield error(row_place(file, table, row), Problem.MISSING_FROM_MODULE(dump.label(name, NONE)))


def _may_be_element(dump: DumpSet, tainted: Tainted) -> Marks:
    """For each name whether it may be a `get-tuple-element` that the module leaves out: it reads one operand, the table
    of a tuple, and defines no value.
    """
    # The uses of an uncertain value may be those of other names.
    reads = np.full(len(dump.names), bool(np.any(tainted.values)))
    reads[dump.uses.name] = True
    reads[dump.uses.name[(dump.uses.operand != 0) | (dump.uses.index > EMPTY_INDEX)]] = False
    reads[dump.values.name] = False
    return reads


def module_is_well_formed(graph: ModuleGraph) -> Iterator[Finding]:
    """A module defines each name once and before it is used, and each computation that it calls. One finding."""
    module, table = graph.module, graph.module.columns.instructions
    names = graph.name[graph.name != NONE]
    repeated = np.flatnonzero(np.bincount(names, minlength=len(graph.dump.names)) > 1)
    for name in repeated[:1].tolist():
        first, second, *_ = np.flatnonzero(graph.name == name).tolist()
        problem = Problem.DAMAGED_MODULE(module.name(second), ModuleDamage.TWICE)
        yield error(module.place(second), problem, Related(module.place(first), Relation.OTHER_OCCURRENCE))
        return
    count = len(module.columns.computations)
    roots = np.bincount(graph.computation[np.flatnonzero(table.is_root)], minlength=count)
    for computation in np.flatnonzero(roots != 1)[:1].tolist():
        problem = Problem.DAMAGED_MODULE(module.computation_name(computation), ModuleDamage.ROOT)
        yield error(module.computation_place(computation), problem)
        return
    user = graph.users()
    operand = taken(graph.row, np.where(graph.quotes.operands < len(graph.row), graph.quotes.operands, NONE))
    is_wrong = (operand >= user) | (graph.computation[operand] != graph.computation[user])
    for place in np.flatnonzero(is_wrong & (operand != NONE))[:1].tolist():
        row, other = int(user[place]), int(operand[place])
        problem = Problem.DAMAGED_MODULE(module.name(row), ModuleDamage.ORDER)
        yield error(module.place(row), problem, *related_in_module(graph, other))
        return
    yield from _missing_computations(graph)


_CALLERS: Final = re.compile(
    rb"fusion|call|while|conditional|map|sort|scatter|select-and-scatter|async-start|reduce.*|all-reduce.*"
)
"""Opcodes of instructions that call computations."""


def _missing_computations(graph: ModuleGraph) -> Iterator[Finding]:
    module, table = graph.module, graph.module.columns.computations
    spans = zip(table.name_start.tolist(), table.name_end.tolist(), strict=True)
    names = [*{module.data[start:end] for start, end in spans}]
    texts = Texts(b"".join(names), np.cumsum([0, *map(len, names)], dtype=np.int64))
    rows = np.flatnonzero(graph.has_opcode_like(_CALLERS) & (graph.quotes.opcode_end != NONE))
    ends = module.columns.instructions.end[rows]
    missing = unknown_computation(module.data, graph.quotes.opcode_end[rows], ends, texts)
    if missing:
        row, start, end = missing
        problem = Problem.DAMAGED_MODULE(module.name(int(rows[row])), ModuleDamage.CALL)
        yield error(Place(module.file, start, end), problem)


def quotes_match_module(graph: ModuleGraph, tainted: Tainted) -> Iterator[Finding]:
    """The dump quotes the instructions of the module."""
    dump, file = graph.dump, graph.dump.used
    assert file is not None, "checked before"
    used, table = dump.used_values, graph.module.columns.instructions
    is_wrong = tainted.used_values | is_marked(tainted.values, dump.value_of_used_value)
    is_quoted = (dump.first_quote != NONE) & (graph.row != NONE) & ~tainted.names
    names = np.flatnonzero(is_quoted & ~is_marked(is_wrong, dump.first_quote))
    quote, row = dump.first_quote[names], graph.row[names]
    spans = (used.instruction_start[quote], used.instruction_end[quote]), (table.start[row], table.end[row])
    data, module = file.document.data, graph.module.data
    difference = differences(data, spans[0], module, spans[1])
    rows = np.flatnonzero(difference)
    if len(rows) > MAXIMUM_DIFFERENCES and np.all(difference[rows] == Difference.ATTRIBUTES):
        # They are printed in another form, which we do not know. Modules of other compilations also differ elsewhere.
        return
    # So many prove that the module is of another compilation.
    for place in rows[:MAXIMUM_RELATED].tolist():
        quoted = read_instruction(data, int(spans[0][0][place]), int(spans[0][1][place]))
        other = read_instruction(module, int(spans[1][0][place]), int(spans[1][1][place]))
        if quoted and other:
            name = int(names[place])
            tainted.names[name] = True
            _taint_called(graph, tainted, int(row[place]))
            if difference[place] == Difference.OPERANDS and _reads_missing(graph, tainted, quoted):
                continue
            start, end, in_module = _differing_part(quoted, other, Difference(int(difference[place])))
            problem = Problem.QUOTE_MISMATCH(dump.label(name, NONE), data[start:end].removeprefix(b"%"), in_module)
            yield error(Place(file, start, end), problem, *related_in_module(graph, int(row[place])))


def _taint_called(graph: ModuleGraph, tainted: Tainted, row: int) -> None:
    """Mark what depends on the operands and computations of an instruction."""
    called = [call.computation for call in graph.calls if call.caller == row]
    tainted.is_liveness_sound &= not called
    parameters = graph.name[(graph.quotes.parameter != NONE) & np.isin(graph.computation, called)]
    tainted.names[parameters[parameters != NONE]] = True


def _reads_missing(graph: ModuleGraph, tainted: Tainted, quoted: Instruction) -> bool:
    """Whether a quoted instruction reads one that the dump names and the module lacks, which has its own finding."""
    is_missing = graph.row == NONE
    if graph.has_elements:
        is_missing &= ~_may_be_element(graph.dump, tainted)
    numbers = [graph.dump.name_number(name) for name in quoted.operand_names()]
    return any(number != NONE and is_missing[number] for number in numbers)


def _differing_part(quoted: Instruction, other: Instruction, difference: Difference) -> tuple[int, int, bytes]:
    """The place of what differs in the quote, and the text in the module."""
    close = quoted.operands_end - 1
    if difference is Difference.SHAPE:
        return quoted.shape_start, quoted.shape_end, other.shape
    if difference is Difference.OPCODE:
        return quoted.opcode_start, quoted.opcode_start + len(quoted.opcode), other.opcode
    if difference is Difference.OPERANDS and quoted.parameter_number is None:
        names, others = [*quoted.operand_names()], [*other.operand_names()]
        pairs = enumerate(zip(names, others, strict=False))
        # The module prints the element of a tuple where the dump prints the name of a `get-tuple-element`.
        number = next((n for n, (one, another) in pairs if one != another and b"#" not in another), None)
        number = min(len(names), len(others)) if number is None else number
        operand = quoted.operand(number)
        span = (operand.start, operand.end) if operand else (close, close)
        return *span, others[number] if number < len(others) else b""
    if quoted.parameter_number != other.parameter_number:
        return quoted.operands_start, close, b"%d" % (other.parameter_number or 0)
    attributes = [[*_ATTRIBUTE.finditer(one.text, one.operands_end, one.end)] for one in (quoted, other)]
    for one, another in zip_longest(*attributes):
        if one is None or another is None or one[0].replace(b"%", b"") != another[0].replace(b"%", b""):
            span = one.span(1) if one else (close, close)
            return *span, another[1] if another else b""
    return quoted.start, quoted.end, other.text[other.start : other.end]


_ATTRIBUTE: Final = re.compile(rb", ([\w-]+=.*?)(?=, [\w-]+=|$)")


# ---------------------------------------------------------------- shapes


def shapes_match_module(graph: ModuleGraph, tainted: Tainted) -> Iterator[Finding]:
    """A value has the shape of its instruction, with the layout and its memory space."""
    dump, file = graph.dump, graph.dump.assignment
    if file is None:
        return
    row = graph.row[dump.values.name]
    known = (dump.values.slice != NONE) & (row != NONE) & ~tainted.values & ~tainted.names[dump.values.name]
    values = np.flatnonzero(known & (taken(graph.quotes.shape_start, row) != NONE))
    spans = graph.quotes.shape_start[row[values]], graph.quotes.shape_end[row[values]]
    for value, shape, found, _ in wrong_shapes(dump, values, graph.module.data, spans):
        tainted.taint_values(np.array([value]))
        problem = Problem.SHAPE_MISMATCH(dump.value_label(value), shape, "its allocation", "the HLO module", found)
        yield error(shape_place(dump, file, value), problem, *related_in_module(graph, int(row[value])))


def elements_have_shapes_of_tuples(graph: ModuleGraph, tainted: Tainted) -> Iterator[Finding]:
    """A `get-tuple-element` has the shape of the element in its operand."""
    quotes, module, text = graph.quotes, graph.module, graph.module.data
    rows = graph.rows_of(b"get-tuple-element")
    operand = graph.operand(rows, 0)
    source = taken(graph.row, np.where(operand < len(graph.row), operand, NONE))
    known = (source != NONE) & (quotes.shape_start[source] != NONE) & (quotes.shape_start[rows] != NONE)
    known &= (graph.name[rows] != NONE) & ~is_marked(tainted.names, graph.name[rows])
    known &= ~is_marked(tainted.names, graph.name[source])
    rows, source = rows[known], source[known]
    # Elements of one tuple side by side.
    order = np.argsort(source, kind="stable")
    rows, source = rows[order], source[order]
    start, end = tuple_elements(text, quotes.shape_start[source], quotes.shape_end[source], graph.elements[rows])
    own, span = (quotes.shape_start[rows], quotes.shape_end[rows]), (np.maximum(start, 0), np.maximum(end, 0))
    differs = (start != NONE) & ~same_texts(text, own, text, span)
    for place in np.flatnonzero(differs).tolist():
        row = int(rows[place])
        tainted.names[graph.name[row]] = True
        found, shape = text[start[place] : end[place]], text[own[0][place] : own[1][place]]
        problem = Problem.SHAPE_MISMATCH(module.name(row), shape, "the HLO module", "the tuple that it reads", found)
        at = Place(module.file, int(own[0][place]), int(own[1][place]))
        yield error(at, problem, *related_in_module(graph, int(source[place])))
