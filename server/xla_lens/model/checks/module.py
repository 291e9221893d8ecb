"""Checks of a dump set against its HLO module. They run if the dump set itself has no errors."""

from collections.abc import Callable, Iterator
from itertools import count, takewhile
from typing import Final, TypeAlias

import numpy as np

from tree_sitter_xla_dump import release_memory
from xla_lens.model.checks.codes import Severity
from xla_lens.model.checks.context import Context, RelatedRows, marked
from xla_lens.model.checks.problems import (
    MAXIMUM_RELATED,
    Finding,
    Findings,
    Problem,
    Relation,
    error,
    of_another_compilation,
)
from xla_lens.model.checks.value_tables import operand_label, wrong_shapes, wrong_uses
from xla_lens.model.hlo.graph import ModuleGraph
from xla_lens.model.hlo.module import CALLED, CALLED_NAMES, HloModule
from xla_lens.model.places.places import Place
from xla_lens.model.tables.dump_set import EMPTY_INDEX, DumpSet
from xla_lens.model.tables.lookup import distinct, found, row_ranges, taken
from xla_lens.syntax.columns import NONE, Column, Kind, cells, pairs
from xla_lens.syntax.hlo.opcodes import OPCODES
from xla_lens.syntax.hlo.quotes import DifferingPart, differences
from xla_lens.syntax.hlo.shapes import is_entry_shape, is_tuple, subshape_spans, without_comments
from xla_lens.syntax.numbers import integer
from xla_lens.syntax.texts import number_texts
from xla_lens.syntax.tree import Cancelled
from xla_lens.text.document import IsCancelled, Span
from xla_lens.text.patterns import lazy_pattern


def _in_module(graph: ModuleGraph, names: Column) -> RelatedRows:
    """The instructions with some names in the module, as related rows."""
    return graph.module.columns.instructions, graph.row[names], Relation.MODULE_INSTRUCTION


def module_is_well_formed(graph: ModuleGraph, context: Context) -> Findings:
    """A module defines each name once, and the computations that it calls. A computation has one root."""
    module, columns, data = graph.module, graph.module.columns, graph.module.data
    names, first = number_texts(data, columns.instructions.name_start, columns.instructions.name_end)
    is_again = np.ones(len(names), bool)
    is_again[first] = False
    yield from context.found(columns.instructions, is_again, Problem.DEFINED_TWICE, module.name)
    roots = np.bincount(graph.computation[columns.instructions.is_root], minlength=len(columns.computations))
    yield from context.found(columns.computations, roots != 1, Problem.NOT_ONE_ROOT, module.computation_name, roots)
    spans = cells(columns.computations.name_start, columns.computations.name_end)
    known = {data[start:end] for start, end in spans}
    # Most attributes name one computation. Few have a text of their own: a list, or a name that is missing.
    others = {name.removeprefix(b"%") for name in CALLED_NAMES.findall(data)} - known
    if known.issuperset(name.strip().removeprefix(b"%") for text in others for name in text.strip(b"{}").split(b",")):
        return
    for match in CALLED.finditer(data):
        called = {text.strip().removeprefix(b"%") for text in (match[3] if match[2] is None else match[2]).split(b",")}
        start = data.rfind(b"\n", 0, match.start())
        # A string may contain anything.
        if not called <= known and b'"' not in data[start : match.start()]:
            problem = Problem.MISSING_COMPUTATION(b", ".join(sorted(called - known)))
            yield error(Place(module.file, match.start(1), match.end()), problem)


def instructions_are_in_module(graph: ModuleGraph, context: Context) -> Findings:
    """Each instruction that the dump mentions is in the module. One finding for each name."""
    dump, uses, is_unknown = graph.dump, graph.dump.uses, graph.row == NONE
    if graph.has_elements:
        # The module leaves out a `get-tuple-element`: it reads one operand, the table of a tuple, and defines no value.
        shapes, shape = dump.slice_shapes
        is_array = np.array([not is_tuple(text) for text in shapes], bool)[shape]
        reads_array = taken(is_array, taken(dump.values.slice, context.value_of(uses))) == 1
        is_element = np.zeros(len(dump.names), bool)
        is_element[uses.name] = True
        is_element[uses.name[(uses.operand != 0) | (uses.index > EMPTY_INDEX) | reads_array]] = False
        is_element[dump.values.name] = False
        is_unknown &= ~is_element
    for table in (dump.used_values, dump.positions, uses, dump.schedule):
        rows, name = is_unknown[table.name], context.names_in(table.name)
        yield from context.found(table, rows, Problem.MISSING_FROM_MODULE, name, names=[table.name])


def quotes_match_module(graph: ModuleGraph, context: Context) -> Findings:
    """The dump quotes the instructions of the module. One finding, unless they differ in many."""
    dump, used, table = graph.dump, graph.dump.used_values, graph.module.columns.instructions
    quote = dump.first_quote[(dump.first_quote != NONE) & (graph.row != NONE)]
    row = graph.row[used.name[quote]]
    if not len(quote) or dump.used is None:
        return
    spans = (used.instruction_start[quote], used.instruction_end[quote]), (table.start[row], table.end[row])
    difference = np.zeros(len(used), np.int8)
    difference[quote] = differences(dump.used.document.data, spans[0], graph.module.data, spans[1])
    # Modules print constants in full, and more metadata.
    rows = marked((difference != DifferingPart.NONE) & (difference != DifferingPart.REST))
    if np.all(difference[rows] == DifferingPart.ATTRIBUTES) and len(rows) > MAXIMUM_RELATED:
        # They are printed in another form, which we do not know. Modules of other compilations also differ elsewhere.
        return
    facts = lambda row: DifferingPart(difference.item(row)).name.lower(), context.names_in(used.name)
    span, related = ("instruction_start", "instruction_end"), _in_module(graph, used.name)
    rows = rows[:MAXIMUM_RELATED]
    yield from context.found(used, rows, Problem.QUOTE_MISMATCH, *facts, related=related, span=span)


def shapes_match_module(graph: ModuleGraph, context: Context) -> Findings:
    """A value has the shape of its instruction, with the layout and its memory space."""
    slices, row = graph.dump.slices, graph.row[graph.dump.slices.name]
    known = np.flatnonzero(row != NONE)
    rows, which = np.unique(row[known], return_inverse=True)
    whole = graph.module.data, graph.quotes.shape_start[rows], graph.quotes.shape_end[rows]
    related = _in_module(graph, slices.name)
    yield from wrong_shapes(context, (known, which), whole, "the HLO module", related)


# ---------------------------------------------------------------- parameters and results


_LAYOUT: Final = lazy_pattern(rb"entry_computation_layout=\{(\(.*)")


def entry_layout_matches(graph: ModuleGraph, context: Context) -> Findings:
    """The parameters and the result have the shapes of `entry_computation_layout`. Reports the first that differs."""
    module, root = graph.module, _result(graph)
    layout = _LAYOUT.search(module.data, *module.header_line)
    # The modules that libtpu extracts from another one keep its layout.
    if not layout or root == NONE or module.data.startswith(b"HloModule extracted,", module.header_line[0]):
        return
    layout_text = layout[1]
    rows = [*graph.entry_parameters.tolist(), root]
    shape_spans = pairs(graph.quotes.shape_start[rows], graph.quotes.shape_end[rows])
    shapes = [module.data[start:end] for start, end in shape_spans]
    whole = b"(%s)->%s" % (b", ".join(shapes[:-1]), shapes[-1])
    if without_comments(layout_text).startswith(without_comments(whole + b"}")):
        return
    # The parts are read only where the whole differs: there can be many thousands.
    spans = _entry_shapes(layout_text)
    if len(spans) != len(rows):
        place = Place(module.file, layout.start(1), layout.start(1) + spans[-1][1] if spans else layout.end(1))
        names = (
            module.computation_name(module.entry),
            module.data[place.start : place.end],
            "`entry_computation_layout`",
        )
        yield error(place, Problem.SHAPE_MISMATCH(*names, whole, "its instructions"))
        return
    for row, (start, end), shape in zip(rows, spans, shapes, strict=True):
        printed = layout_text[start:end]
        # A shape in a form that we do not know is empty.
        if shape and not is_entry_shape(printed, shape):
            facts = module.name(row), printed, "`entry_computation_layout`", shape, "its instruction"
            place = Place(module.file, layout.start(1) + start, layout.start(1) + end)
            related = context.related(module.columns.instructions, [row], Relation.MODULE_INSTRUCTION)
            yield Finding(Severity.ERROR, place, Problem.SHAPE_MISMATCH(*facts), related)
            return


def _entry_shapes(layout: bytes) -> list[Span]:
    """The spans of the parameters and of the result in `(f32[2]{0}, s32[])->f32[2]{0}`."""
    parameters = subshape_spans(layout)
    _, end = parameters.get(b"{}", (0, 0))
    arrow = _ARROW.match(layout, end)
    result = subshape_spans(layout[arrow.end() :]).get(b"{}") if arrow else None
    if arrow is None or result is None:
        return []
    numbers = takewhile(parameters.__contains__, map(b"{%d}".__mod__, count()))
    return [*map(parameters.__getitem__, numbers), (result[0] + arrow.end(), result[1] + arrow.end())]


_ARROW: Final = lazy_pattern(rb"\s*+->\s*+")


def _result(graph: ModuleGraph) -> int:
    """The root of the entry computation, NONE without one."""
    return graph.module.roots.item(graph.module.entry) if graph.module.entry != NONE else NONE


_ALIASES: Final = lazy_pattern(rb"input_output_alias=\{((?: \{[\d, ]*\}: \([^()]*\),?)*) \}")
_ALIAS: Final = lazy_pattern(rb"\{([\d, ]*)\}: \((\d{1,9}), \{([\d, ]*)\}")


def aliases_share_bytes(graph: ModuleGraph, _context: Context) -> Findings:
    """A parameter that an output aliases has the bytes of that output."""
    dump, values, module = graph.dump, graph.dump.values, graph.module
    root, header = _result(graph), _ALIASES.search(module.data, *module.header_line)
    aliases = [*_ALIAS.finditer(module.data, *header.span(1))] if header else []
    if not aliases:
        return
    numbers = np.array([alias[2] for alias in aliases]).astype(np.int64)
    parameter = graph.parameters(graph.module.entry, numbers)
    rows = []
    for instruction, group in ((np.full(len(aliases), root), 1), (parameter, 3)):
        index = dump.index_numbers(b"{%s}" % alias[group].replace(b" ", b"") for alias in aliases)
        name = taken(graph.name, instruction)
        is_known = (name != NONE) & (index != NONE)
        rows.append(np.where(is_known, dump.values_at(name, index), NONE))
    output, source = rows
    is_wrong = (output == NONE) | (source == NONE)
    for column in (values.allocation, values.offset):
        is_wrong |= taken(column, output) != taken(column, source)
    for alias in (aliases[row] for row in marked(is_wrong)):
        problem = Problem.ALIAS_MISMATCH(alias[1], integer(alias[2]), alias[3])
        yield error(Place(module.file, *alias.span()), problem)


# ---------------------------------------------------------------- positions and uses


def positions_follow_data_flow(graph: ModuleGraph, context: Context) -> Findings:
    """A position is an element of its instruction. Instructions that take tuples apart or put them together show the
    values of their operands (HloDataflowAnalysis).
    """
    dump, positions = graph.dump, graph.dump.positions
    row, index = graph.row[positions.name], np.maximum(positions.index, EMPTY_INDEX)
    value, shown = context.value_of(positions), np.full(len(positions), NONE)
    is_wrong = ~graph.has_index(row, index)
    first, rest = graph.parts_of_indices()

    def rows_of(opcode: bytes) -> Column:
        return np.flatnonzero((row != NONE) & graph.has_opcode(opcode)[row])

    of_element, of_tuple = rows_of(b"get-tuple-element"), rows_of(b"tuple")
    parts = (
        (
            of_element,
            np.zeros(len(of_element), np.int64),
            graph.within(graph.elements(row[of_element]), index[of_element]),
        ),
        (of_tuple, first[index[of_tuple]], rest[index[of_tuple]]),
    )
    for rows, number, inner in parts:
        name, at = graph.source(graph.operand(row[rows], number), inner)
        is_known = (name != NONE) & (at != NONE)
        shown[rows[is_known]] = dump.values_at(name[is_known], at[is_known])
    is_wrong |= (shown != NONE) & (value != NONE) & (shown != value)
    facts = context.values_in(value), context.labels(positions), context.values_in(shown)
    related = _in_module(graph, positions.name)
    yield from context.found(
        positions,
        is_wrong,
        Problem.FOREIGN_POSITION,
        *facts,
        related=related,
        values=[shown],
        names=[positions.name],
    )


def instructions_follow_schedule(graph: ModuleGraph, context: Context) -> Findings:
    """The instructions of a computation are in the order of the schedule, if the module is scheduled."""
    dump, module = graph.dump, graph.module
    step = taken(dump.schedule.step, dump.schedule_row_of_name)
    rows = np.flatnonzero((graph.name != NONE) & (taken(step, graph.name) != NONE))
    if b"is_scheduled=true" in module.data[slice(*module.header_line)]:
        steps, computation = step[graph.name[rows]], graph.computation[rows]
        is_back = (np.diff(steps) < 0) & (np.diff(computation) == 0)
        later = np.full(len(graph.name), NONE)
        later[rows[:-1][is_back]] = rows[1:][is_back]
        facts = context.names_in(graph.name), context.names_in(taken(graph.name, later))
        related = dump.schedule, taken(dump.schedule_row_of_name, graph.name), Relation.STEP
        instructions = module.columns.instructions
        yield from context.found(instructions, later != NONE, Problem.OUT_OF_SCHEDULE, *facts, related=related)


def instructions_have_their_positions(graph: ModuleGraph, context: Context) -> Findings:
    """An instruction has a position for each index of its shape."""
    row = graph.row[graph.dump.positions.name]
    row = row[row != NONE]
    missing = graph.subshape_count() - np.bincount(row, minlength=len(graph.name))
    missing[~np.isin(graph.computation, distinct(graph.computation[row]))] = 0
    for one in marked(missing > 0):
        missing[one] -= _tokens_not_forwarded(graph, one)
    facts = missing, context.names_in(graph.name)
    instructions = graph.module.columns.instructions
    yield from context.found(instructions, missing > 0, Problem.MISSING_POSITION_OF, *facts)


_ASYNCHRONOUS: Final = lazy_pattern(rb"-(?:start|update|done)$")
"""The end of `async-start`, or of `slice-start`, as some releases print an asynchronous slice."""
_NO_ARRAY: Final = lazy_pattern(rb"(?:token|opaque)\[")


def _tokens_not_forwarded(graph: ModuleGraph, row: int) -> int:
    """The number of elements of an instruction's shape that are in no position by design: asynchronous instructions
    pass on the arrays of their operands and results, but no tokens (HloDataflowAnalysis::UpdateAsyncStartValueSet).
    """
    data, quotes = graph.module.data, graph.quotes
    opcode = data[max(quotes.opcode_start[row], 0) : max(quotes.opcode_end[row], 0)]
    if not _ASYNCHRONOUS.search(opcode) or (opcode in OPCODES and not opcode.startswith(b"async-")):
        return 0
    shape = data[quotes.shape_start[row] : quotes.shape_end[row]]
    return sum(_NO_ARRAY.match(shape, start) is not None for start, _ in subshape_spans(shape).values())


def uses_match_module(graph: ModuleGraph, context: Context) -> Findings:
    """The uses of a value are the operands that show it (HloValue::ComputeUses)."""
    uses = graph.dump.uses
    row = graph.row[uses.name]
    operand = np.where(row != NONE, graph.operand(row, uses.operand), NONE)
    name, index = graph.source(operand, np.maximum(uses.index, EMPTY_INDEX))
    # A name that the dump does not have stands for an element whose tuple is unknown.
    known = (row != NONE) & ((operand == NONE) | (name != NONE))
    yield from wrong_uses(context, known, (name, index), _in_module(graph, uses.name))


def values_list_their_uses(graph: ModuleGraph, context: Context) -> Findings:
    """Each value lists the instructions that read it."""
    dump, positions, uses = graph.dump, graph.dump.positions, graph.dump.uses
    most = 1 + max(int(graph.operand_count.max(initial=0)), int(uses.operand.max(initial=0)))

    def keys(value: Column, user: Column, number: Column, index: Column) -> Column:
        reads = (value.astype(np.int64) * len(dump.names) + user) * most + np.maximum(number, 0)
        return reads * len(dump.indices) + np.maximum(index, EMPTY_INDEX)

    present = distinct(keys(uses.value, uses.name, uses.operand, uses.index))
    for user, number, at, index in _reads(graph):
        header, name = positions.value[at], graph.name[user]
        for place in marked(found(present, keys(header, name, number, index)) == NONE):
            operand = operand_label(dump, number[place], index[place] if index[place] > EMPTY_INDEX else NONE)
            facts = dump.label(name.item(place), NONE), context.labels(dump.used_values), operand
            related = graph.module.columns.instructions, user.item(place), Relation.MODULE_INSTRUCTION
            rows = [header.item(place)]
            yield from context.found(dump.used_values, rows, Problem.MISSING_USE, *facts, related=related)


_CHUNK: Final = 1 << 15
"""Operands joined with their positions at once, for less memory."""


def _reads(graph: ModuleGraph) -> Iterator[tuple[Column, Column, Column, Column]]:
    """Yield what instructions read, in the order of the module: instructions, the numbers of their operands, rows of
    `DumpSet.positions`, and their indices in the operands. Elements of operands that are elements are left out.
    """
    positions, width = graph.dump.positions, np.int64(len(graph.dump.indices))
    users, is_element = (
        np.repeat(np.arange(len(graph.name)), graph.operand_count),
        graph.has_opcode(b"get-tuple-element"),
    )
    numbers = row_ranges(np.zeros(len(graph.name), np.int64), graph.operand_count)
    # A `tuple` has uses only if it is a result. What a `get-tuple-element` reads as a result depends on its element.
    is_root = graph.module.columns.instructions.is_root
    reads = (graph.name != NONE) & np.where(is_root, ~is_element, ~graph.has_opcode(b"tuple"))
    keys = positions.name * width + np.maximum(positions.index, EMPTY_INDEX)
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    known = np.flatnonzero(reads[users] & (graph.quotes.operands != NONE))
    for part in np.array_split(known, 1 + len(known) // _CHUNK):
        user, operand = users[part], graph.quotes.operands[part]
        name, index = graph.source(operand, np.full(len(part), EMPTY_INDEX))
        first, is_whole = name * width + index, name == operand
        # A `get-tuple-element` reads only the table of the tuple.
        begin, end = (
            keys.searchsorted(key) for key in (first, first + np.where(is_whole & ~is_element[user], width, 1))
        )
        count = np.where((name != NONE) & (index != NONE), end - begin, 0)
        at = order[row_ranges(begin, count)]
        inner = np.where(np.repeat(is_whole, count), positions.index[at], EMPTY_INDEX)
        yield np.repeat(user, count), np.repeat(numbers[part], count), at, inner


# ---------------------------------------------------------------- live ranges


def live_ranges_match_module(graph: ModuleGraph, context: Context) -> Findings:
    """Live ranges end no later than their value is read or shown last (HloLiveRange)."""
    dump, values, ranges = graph.dump, graph.dump.values, graph.dump.live_ranges
    if not len(dump.schedule) or not len(ranges):
        return
    step = taken(dump.schedule.step, dump.schedule_row_of_name)
    known = (values.live_range != NONE) & (values.used_value != NONE) & (values.slice != NONE)
    known &= (graph.row[values.name] != NONE) & (step[values.name] != NONE)
    value, end = dump.value_of_live_range, _ends(graph, context, step)
    late = [
        late_value for late_value in marked(known & (values.end_step > end)) if not _inherits_end(dump, late_value, end)
    ]
    facts = context.values_in(value), ranges.end_step, taken(end, value)
    rows, related = values.live_range[late].tolist(), _in_module(graph, ranges.name)
    yield from context.found(ranges, rows, Problem.LATE_END, *facts, severity=Severity.WARNING, related=related)


def _ends(graph: ModuleGraph, context: Context, step: Column) -> Column:
    """For each value the step at which its live range should end: the last at which it is defined, read or shown."""
    dump, values, uses, positions = graph.dump, graph.dump.values, graph.dump.uses, graph.dump.positions
    # The step after the last one of each computation.
    last_step = np.full(len(graph.module.columns.computations), NONE, np.int64)
    is_scheduled = (graph.name != NONE) & (step[graph.name] != NONE)
    np.maximum.at(last_step, graph.computation[is_scheduled], step[graph.name[is_scheduled]] + 1)
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
    is_entry = (graph.computation == graph.module.entry) & graph.has_opcode(b"parameter")
    kept = np.where((row != NONE) & is_entry[row] & (shown != NONE) & is_kept[shown], shown, NONE)
    extend(kept, np.full(len(kept), last_step[graph.module.entry]))
    return end


def _async_ends(graph: ModuleGraph, step: Column) -> Column:
    """For each computation the step of its `async-done`, until which all of its values are live, also those of
    computations that it calls. NONE for others.
    """
    ends = np.full(len(graph.module.columns.computations), NONE, np.int64)
    rows = graph.rows_of(b"async-update", b"async-done")
    next_row = dict(pairs(graph.operand(rows, 0), rows))
    # XLA prints a computation behind those that it calls.
    for call in reversed(graph.calls):
        if call.attribute != b"calls":
            ends[call.computation] = max(ends[call.computation], ends[graph.computation[call.caller]])
            continue
        row = call.caller
        while row != NONE and graph.name[row] != NONE:
            ends[call.computation] = step[graph.name[row]]
            row = next_row.pop(graph.name.item(row), NONE)
    return ends


def _inherits_end(dump: DumpSet, value: int, end: Column) -> bool:
    """Whether an earlier value of the same buffer would end as late as the live range of `value` does.

    XLA ends a live range where the next value of its buffer starts, and extends that one to the end of the first
    (HloLiveRange::NormalizeAliasedBuffers).
    """
    values = dump.values
    rows = dump.values_of_allocation(values.allocation.item(value))
    rows = rows[values.offset[rows] == values.offset[value]]
    start, ended = values.start_step[rows], values.end_step[value]
    is_shortened = np.any((start == ended) & (rows != value))
    inherited = end[rows[start <= values.start_step[value]]]
    return bool(np.any((inherited == ended) | (is_shortened & (inherited > ended))))


# ---------------------------------------------------------------- all checks


_ModuleCheck: TypeAlias = Callable[[ModuleGraph, Context], Findings]

_CHECKS: Final[tuple[tuple[_ModuleCheck, ...], ...]] = (
    (instructions_are_in_module,),
    (quotes_match_module,),
    (module_is_well_formed,),
    (entry_layout_matches,),
    (shapes_match_module,),
    (positions_follow_data_flow, instructions_follow_schedule),
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


def differences_from_module(context: Context, module: HloModule, is_cancelled: IsCancelled) -> list[Finding]:
    """Find where a dump set without errors contradicts its module, which is complete. Raises `Cancelled`."""
    if context.dump.used is None:
        return []
    graph = ModuleGraph(context.dump, module)
    for group in _CHECKS:
        found = [finding for check in group for finding in check(graph, context)]
        if is_cancelled():
            raise Cancelled
        if len(found) > _MAXIMUM_DIFFERENCES:
            return [of_another_compilation(found, Problem.FOREIGN_MODULE)]
        if found:
            return found
    release_memory()
    return list(_unknown_lines(module))


def _unknown_lines(module: HloModule) -> Findings:
    """A note for each run of lines that belong to no part of a module which agrees with its dump."""
    rows, document = module.unknown_rows, module.file.document
    for run in np.split(rows, np.flatnonzero(np.diff(rows) > 1) + 1) if len(rows) else ():
        place = Place(module.file, document.line_span(run.item(0))[0], document.line_span(run.item(-1))[1])
        yield Finding(Severity.INFORMATION, place, Problem.UNKNOWN_LINES(len(run), ()))
