"""Checks of a dump set against its HLO module. Each tests a rule that all dumps of XLA follow, and is named after it.

They run after the checks of the dump itself and skip what those have found.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property
from itertools import pairwise, zip_longest
from typing import Final, TypeAlias

import numpy as np

from tree_sitter_xla_dump import release_memory
from xla_lens.model.checks.allocations import decoded
from xla_lens.model.checks.findings import MAXIMUM_RELATED, Finding, Related, Relation, error, warning
from xla_lens.model.checks.problems import (
    AliasMismatch,
    Cut,
    EarlyEnd,
    ElementShapeMismatch,
    EntryParameterNumber,
    EntryShapeMismatch,
    ForeignModule,
    LateEnd,
    LiveOutParameter,
    Malformation,
    MalformedModule,
    MissingFromModule,
    MissingFromSchedule,
    MissingOperand,
    MissingPositionOf,
    MissingUse,
    ModuleParameterMismatch,
    ModuleShapeMismatch,
    NotLiveOut,
    OperandMismatch,
    PositionMismatch,
    Problem,
    QuoteMismatch,
    QuotePart,
    ScheduleOrder,
    WrongStart,
)
from xla_lens.model.checks.structure import truncated
from xla_lens.model.checks.tainted import Marks, Tainted, is_marked, nothing_tainted
from xla_lens.model.hlo.graph import ModuleGraph
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.places.places import Place, row_place
from xla_lens.model.tables.dump_set import EMPTY_INDEX, DumpSet
from xla_lens.model.tables.lookup import distinct, first_rows, found, taken
from xla_lens.syntax.columns import NONE, Column, Kind, Positions, Texts, Uses
from xla_lens.syntax.hlo.instruction import Instruction, read_instruction
from xla_lens.syntax.hlo.quotes import Difference, differences, tuple_elements, unknown_computation
from xla_lens.syntax.hlo.shapes import subshape_spans
from xla_lens.syntax.numbers import integer
from xla_lens.syntax.texts import same_texts
from xla_lens.syntax.tree import Cancelled

_ModuleCheck: TypeAlias = Callable[[ModuleGraph, Tainted], Iterator[Finding]]

_MAXIMUM: Final = 3
"""The most differences that an edit of the dump or of the module can cause. If there are more, they are of different
compilations.
"""


def is_sound_against(dump: DumpSet, module: HloModule, is_cancelled: Callable[[], bool]) -> bool:
    """Whether a dump set without findings agrees with its module. Raises `Cancelled`."""
    tainted, checks = nothing_tainted(dump), ModuleChecks(dump, module)
    checks.run_early(tainted)
    return not checks.findings(tainted, is_cancelled)


class ModuleChecks:
    """The checks of a dump set against its module."""

    def __init__(self, dump: DumpSet, module: HloModule) -> None:
        self._dump, self._module = dump, module
        self._malformed: list[Finding] = []
        self._early: list[Finding] = []
        self._before: Tainted | None = None

    @cached_property
    def _graph(self) -> ModuleGraph:
        return ModuleGraph(self._dump, self._module)

    def _is_comparable(self, tainted: Tainted) -> bool:
        """Whether all of both is there. What is cut off or unreadable would seem to differ."""
        is_whole = len(self._module.columns.instructions) > 0 and not self._module.is_cut_off
        return is_whole and self._dump.used is not None and not tainted.broken_files

    def run_early(self, tainted: Tainted) -> None:
        """Run the checks of the module alone and of quotes. The checks of the dump skip what is wrong there."""
        if self._is_comparable(tainted):
            self._before = tainted.copy()
            self._malformed += module_is_well_formed(self._graph)
            for one in () if self._malformed else _EARLY_CHECKS:
                self._early += one(self._graph, tainted)

    def findings(self, tainted: Tainted, is_cancelled: Callable[[], bool] = lambda: False) -> list[Finding]:
        """Return all findings, causes before consequences. Raises `Cancelled`."""
        if self._module.is_cut_off or not len(self._module.columns.instructions):
            return [truncated(self._module.file, Cut.MODULE)]
        if self._dump.used is None:
            is_whole = tainted.is_whole(self._dump.assignment)
            return list(module_shows_cuts(self._dump, self._module)) if is_whole else []
        if not self._is_comparable(tainted):
            return []
        if self._malformed:
            return self._malformed
        before = self._before if self._early and self._before else tainted.copy()
        findings = list(self._early)
        for one in _CHECKS:
            findings += one(self._graph, tainted)
            if is_cancelled():
                raise Cancelled
        release_memory()
        if len(findings) <= _MAXIMUM:
            return findings
        tainted.assign(before)
        first, *others = findings
        related = tuple(Related(other.place, Relation.DIFFERENCE) for other in others[:MAXIMUM_RELATED])
        return [error(first.place, ForeignModule(len(findings)), *related)]


_PASSING_ENDS: Final = re.compile(
    rb".*-(?:done|update)|bitcast|opt-barrier|domain|add-dependency|get-tuple-element|while|call|conditional"
)
"""Opcodes of instructions that may define no value."""


def module_shows_cuts(dump: DumpSet, module: HloModule) -> Iterator[Finding]:
    """Without the list of all values, only the module shows that the allocations lack some of the entry computation."""
    if dump.assignment is None or dump.used or module.is_cut_off:
        return
    graph = ModuleGraph(dump, module)
    defines = ~graph.has_opcode_like(_PASSING_ENDS) & (graph.quotes.opcode_start != NONE)
    is_placed = np.isin(graph.name, dump.values.name) & (graph.name != NONE)
    is_missing = defines & (graph.computation == graph.entry) & ~is_placed
    if np.any(is_placed) and np.any(is_missing):
        yield truncated(dump.assignment, Cut.ALLOCATIONS)


def _in_module(graph: ModuleGraph, row: int) -> list[Related]:
    """The instruction in the module, if there is one."""
    if row == NONE:
        return []
    table = graph.module.columns.instructions
    return [Related(Place(graph.module.file, int(table.start[row]), int(table.end[row])), Relation.MODULE_INSTRUCTION)]


# ---------------------------------------------------------------- instructions


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
                yield error(row_place(file, table, row), MissingFromModule(dump.label(name, NONE)))


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
        problem = MalformedModule(Malformation.DUPLICATE, decoded(module.name(second)), "")
        yield error(module.place(second), problem, Related(module.place(first), Relation.OTHER_OCCURRENCE))
        return
    count = len(module.columns.computations)
    roots = np.bincount(graph.computation[np.flatnonzero(table.is_root)], minlength=count)
    for computation in np.flatnonzero(roots != 1)[:1].tolist():
        problem = MalformedModule(Malformation.ROOT, decoded(module.computation_name(computation)), "")
        yield error(module.computation_place(computation), problem)
        return
    user = np.repeat(np.arange(len(graph.name)), graph.operand_count)
    operand = taken(graph.row, np.where(graph.quotes.operands < len(graph.row), graph.quotes.operands, NONE))
    is_wrong = (operand >= user) | (graph.computation[operand] != graph.computation[user])
    for place in np.flatnonzero(is_wrong & (operand != NONE))[:1].tolist():
        row, other = int(user[place]), int(operand[place])
        problem = MalformedModule(Malformation.ORDER, *(decoded(module.name(one)) for one in (row, other)))
        yield error(module.place(row), problem, *_in_module(graph, other))
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
        label = decoded(module.name(int(rows[row])))
        problem = MalformedModule(Malformation.COMPUTATION, label, decoded(module.data[start:end]))
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
    if len(rows) > _MAXIMUM and np.all(difference[rows] == Difference.ATTRIBUTES):
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
            part, start, end, in_module = _differing_part(quoted, other, Difference(int(difference[place])))
            text = decoded(data[start:end]).removeprefix("%")
            problem = QuoteMismatch(dump.label(name, NONE), part, text, decoded(in_module))
            yield error(Place(file, start, end), problem, *_in_module(graph, int(row[place])))


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


def _differing_part(
    quoted: Instruction, other: Instruction, difference: Difference
) -> tuple[QuotePart, int, int, bytes]:
    """What differs, its place in the quote, and the text in the module."""
    if difference is Difference.SHAPE:
        return QuotePart.SHAPE, quoted.shape_start, quoted.shape_end, other.shape
    opcode_end = quoted.opcode_start + len(quoted.opcode)
    if difference is Difference.OPCODE:
        return QuotePart.OPCODE, quoted.opcode_start, opcode_end, other.opcode
    if quoted.parameter_number is not None and quoted.parameter_number != other.parameter_number:
        end = quoted.text.index(b")", quoted.operands_start)
        return QuotePart.PARAMETER, quoted.operands_start, end, b"%d" % (other.parameter_number or 0)
    if difference is Difference.OPERANDS:
        names, others = [*quoted.operand_names()], [*other.operand_names()]
        pairs = enumerate(zip(names, others, strict=False))
        # The module prints the element of a tuple where the dump prints the name of a `get-tuple-element`.
        number = next((n for n, (one, another) in pairs if one != another and b"#" not in another), None)
        number = min(len(names), len(others)) if number is None else number
        operand = quoted.operand(number)
        end = quoted.operands_end - 1
        span = (operand.start, operand.end) if operand else (end, end)
        return QuotePart.OPERAND, *span, others[number] if number < len(others) else b""
    attributes = [[*_ATTRIBUTE.finditer(one.text, one.operands_end, one.end)] for one in (quoted, other)]
    for one, another in zip_longest(*attributes):
        if one is None or another is None or one[0].replace(b"%", b"") != another[0].replace(b"%", b""):
            span = one.span(1) if one else (quoted.operands_end - 1, quoted.operands_end)
            return QuotePart.ATTRIBUTE, *span, another[1] if another else b""
    return QuotePart.ATTRIBUTE, quoted.start, quoted.end, other.text[other.start : other.end]


_ATTRIBUTE: Final = re.compile(rb", ([\w-]+=.*?)(?=, [\w-]+=|$)")


# ---------------------------------------------------------------- positions and uses


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
        problem = PositionMismatch(
            dump.value_label(int(value[row])), position, dump.value_label(other) if other != NONE else ""
        )
        yield error(row_place(file, positions, row), problem, *_in_module(graph, int(graph.row[name])))
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
    for instruction in few.tolist():
        name = graph.module.name(instruction).decode("utf-8", "replace")
        missing = int(graph.subshape_count[instruction] - count[instruction])
        # Where a value is uncertain, its positions are, too.
        if _shows_tainted(graph, tainted, uncertain, instruction):
            continue
        if graph.name[instruction] != NONE:
            tainted.names[graph.name[instruction]] = True
        graph.lacks_positions = True
        yield error(graph.module.place(instruction), MissingPositionOf(name, missing))


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
    value, row = taken(dump.value_of_used_value, uses.value), graph.row[uses.name]
    operand = np.where(row != NONE, graph.operand(row, uses.operand), NONE)
    name, index = graph.source(operand, np.maximum(uses.index, EMPTY_INDEX))
    read = np.where((operand != NONE) & (index != NONE), dump.values_at(name, index), NONE)
    wrong = (row != NONE) & (read != value) & (value != NONE)
    wrong &= ~is_marked(tainted.values, value) & ~is_marked(tainted.names, uses.name)
    wrong &= (read == NONE) | ~is_marked(tainted.values, read)
    # A name that the dump does not have stands for an element whose tuple is unknown.
    wrong &= (operand == NONE) | ((name != NONE) & ~is_marked(tainted.names, name))
    for use in np.flatnonzero(wrong).tolist():
        tainted.values[value[use]] = True
        if read[use] != NONE:
            tainted.values[read[use]] = True
        labels = dump.value_label(int(value[use])), dump.label(int(uses.name[use]), NONE), _operand(dump, use)
        problem: Problem
        if operand[use] == NONE:
            problem = MissingOperand(*labels, operands=int(graph.operand_count[row[use]]))
        else:
            problem = OperandMismatch(*labels, dump.label(int(name[use]), int(index[use]) or NONE))
        yield error(row_place(file, uses, use), problem, *_in_module(graph, int(row[use])))
    yield from _missing_uses(graph, tainted)


def _operand(dump: DumpSet, use: int) -> str:
    index = int(dump.uses.index[use])
    return f"{dump.uses.operand[use]} {dump.indices[index].decode()}" if index != NONE else f"{dump.uses.operand[use]}"


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
            problem = MissingUse(dump.value_label(int(of[place])), dump.label(int(name[place]), NONE), text)
            place_of = row_place(file, dump.used_values, int(value[place]))
            yield error(place_of, problem, *_in_module(graph, int(user[place])))


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
    user = np.repeat(np.arange(len(graph.name)), graph.operand_count)
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


# ---------------------------------------------------------------- shapes


def shapes_match_module(graph: ModuleGraph, tainted: Tainted) -> Iterator[Finding]:
    """A value has the shape of its instruction, with the layout and its memory space."""
    dump, file = graph.dump, graph.dump.assignment
    if file is None:
        return
    values, slices = dump.values, dump.slices
    row = graph.row[values.name]
    known = np.flatnonzero((values.slice != NONE) & (row != NONE) & ~tainted.values & ~tainted.names[values.name])
    row = row[known]
    quotes, text, data = graph.quotes, graph.module.data, file.document.data
    is_read = quotes.shape_start[row] != NONE
    known, row = known[is_read], row[is_read]
    own = values.slice[known]
    span = slices.shape_start[own], slices.end[own]
    index = np.maximum(values.index[known], EMPTY_INDEX)
    # Elements of one tuple side by side.
    order = np.argsort(row, kind="stable")
    start, end = quotes.shape_start[row].copy(), quotes.shape_end[row].copy()
    number = np.where(graph.rest[index] == EMPTY_INDEX, graph.first[index], NONE)
    part = [np.full(len(row), NONE), np.full(len(row), NONE)]
    part[0][order], part[1][order] = tuple_elements(text, start[order], end[order], number[order])
    is_element = index != EMPTY_INDEX
    start[is_element], end[is_element] = part[0][is_element], part[1][is_element]
    is_there = start != NONE
    same = same_texts(data, span, text, (np.maximum(start, 0), np.maximum(end, 0))) & is_there
    parts: dict[tuple[int, int], dict[bytes, tuple[int, int]]] = {}
    for place in np.flatnonzero(~same).tolist():
        value = int(known[place])
        shape = data[int(span[0][place]) : int(span[1][place])]
        whole = int(quotes.shape_start[row[place]]), int(quotes.shape_end[row[place]])
        if whole not in parts:
            parts = {whole: subshape_spans(text[slice(*whole)])}
        one, other = parts[whole].get(dump.indices[int(index[place])], (0, 0))
        expected = text[whole[0] + one : whole[0] + other]
        if shape == expected:
            continue
        tainted.taint_values(np.array([value]))
        problem = ModuleShapeMismatch(dump.value_label(value), decoded(shape), decoded(expected))
        place_of = Place(file, int(slices.shape_start[own[place]]), int(slices.end[own[place]]))
        yield error(place_of, problem, *_in_module(graph, int(row[place])))


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
        shapes = text[own[0][place] : own[1][place]], text[start[place] : end[place]]
        names = decoded(module.name(row)), decoded(module.name(int(source[place])))
        problem = ElementShapeMismatch(*names, *map(decoded, shapes))
        yield error(
            Place(module.file, int(own[0][place]), int(own[1][place])), problem, *_in_module(graph, int(source[place]))
        )


# ---------------------------------------------------------------- schedule and live ranges


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
        problem = ScheduleOrder(dump.label(names[1], NONE), dump.label(names[0], NONE))
        yield error(row_place(file, dump.schedule, step), problem, *_in_module(graph, row))
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
            yield error(graph.module.place(row), MissingFromSchedule(decoded(graph.module.name(row))))


def _is_scheduled(module: HloModule) -> bool:
    return b"is_scheduled=true" in module.data[: module.data.find(b"\n") + 1]


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
        problem = WrongStart(dump.value_label(value), int(values.start_step[value]), int(start[value]))
        place = row_place(file, dump.live_ranges, int(values.live_range[value]))
        yield warning(place, problem, *_in_module(graph, int(row[value])))
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
        problem = LateEnd(label, ended, expected) if ended > expected else EarlyEnd(label, ended, expected, instruction)
        yield warning(
            row_place(file, dump.live_ranges, int(values.live_range[one])),
            problem,
            *_in_module(graph, int(graph.row[values.name[one]])),
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


# ---------------------------------------------------------------- parameters and the result


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
    number, name = int(graph.quotes.parameter[row]), decoded(graph.module.name(row))
    related = (Related(graph.module.place(other), Relation.OTHER_OCCURRENCE) for other in others)
    yield error(graph.module.place(row), EntryParameterNumber(name, number, len(rows)), *related)


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
        path = dump.indices[int(index[place])].decode() if index[place] != EMPTY_INDEX else ""
        label = dump.label(int(name[place]), NONE) if name[place] != NONE else ""
        problem = ModuleParameterMismatch(int(allocations.index[row]), int(number[place]), path, label)
        yield error(row_place(file, allocations, row), problem, *_in_module(graph, int(instruction[place])))


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
        one = int(value[allocation == row][0])
        problem = NotLiveOut(int(allocations.index[row]), dump.value_label(one))
        yield error(row_place(file, allocations, row), problem, *_in_module(graph, root))
    yield from _aliases(graph, tainted, name)


_ALIASES: Final = re.compile(rb"input_output_alias=\{((?: \{[\d, ]*\}: \([^()]*\),?)*) \}")
_ALIAS: Final = re.compile(rb"\{([\d, ]*)\}: \((\d{1,9}), \{([\d, ]*)\}")


def _aliases(graph: ModuleGraph, tainted: Tainted, root: int) -> Iterator[Finding]:
    dump, module, values = graph.dump, graph.module, graph.dump.values
    if not graph.has_entry_parameters or np.any(tainted.names) or graph.lacks_positions:
        return
    header = _ALIASES.search(module.data, 0, module.data.find(b"\n") + 1)
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
        labels = ("" if value == NONE else dump.value_label(value) for value in shown[row].tolist())
        problem = AliasMismatch(decoded(alias[1]), integer(alias[2]), decoded(alias[3]), *labels)
        yield error(Place(module.file, alias.start(), alias.end()), problem)
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
            problem = LiveOutParameter(int(allocations.index[row]), parameter, decoded(path), lives_out)
            yield error(row_place(file, allocations, row), problem)


def entry_layout_matches(graph: ModuleGraph, tainted: Tainted) -> Iterator[Finding]:
    """The parameters and the result have the shapes of `entry_computation_layout`."""
    module, quotes = graph.module, graph.quotes
    data = module.data
    line = data.find(b"\n") + 1
    start = data.find(b"entry_computation_layout={", 0, line)
    # The modules that libtpu extracts from another one keep its layout.
    if np.any(tainted.names) or start < 0 or not graph.has_entry_parameters or data.startswith(b"HloModule extracted,"):
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
        name = decoded(module.name(row)) if row != NONE else ""
        place = Place(module.file, start + one, start + other)
        problem = EntryShapeMismatch(name, decoded(expected), decoded(shape))
        wrong.append(error(place, problem, *_in_module(graph, row)))
    # They are in one line: a parameter that is missing there shifts all others.
    for first in wrong[:1]:
        related = tuple(Related(finding.place, Relation.DIFFERENCE) for finding in wrong[1:MAXIMUM_RELATED])
        yield replace(first, related=(*first.related, *related))


_COMMENT: Final = re.compile(rb"/\*[^*]*\*/")


def _plain(shape: bytes) -> bytes:
    return _COMMENT.sub(b"", shape)


_EARLY_CHECKS: Final[tuple[_ModuleCheck, ...]] = (
    entry_parameters_are_numbered,
    quotes_match_module,
)

_CHECKS: Final[tuple[_ModuleCheck, ...]] = (
    instructions_are_in_module,
    entry_layout_matches,
    shapes_match_module,
    elements_have_shapes_of_tuples,
    positions_follow_data_flow,
    uses_match_module,
    schedule_is_order_of_module,
    parameters_are_those_of_module,
    results_live_out,
    live_ranges_match_module,
)
"""All checks, causes before consequences: each skips rows that an earlier one has tainted."""
