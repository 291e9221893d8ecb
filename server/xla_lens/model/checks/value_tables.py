"""Checks of the values: both lists have the same ones, and they fit the instructions that the dump quotes."""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from tree_sitter_xla_dump import release_memory
from xla_lens.model.checks.codes import Severity
from xla_lens.model.checks.context import Context, Fact, Marks, Named, RelatedRows, marked
from xla_lens.model.checks.problems import Finding, Findings, Problem, Relation, error, of_another_compilation
from xla_lens.model.places.places import row_place
from xla_lens.model.tables.dump_set import EMPTY_INDEX, DumpSet
from xla_lens.model.tables.lookup import repeated, taken
from xla_lens.syntax.columns import NONE, Column, Pairs, pairs
from xla_lens.syntax.hlo.quotes import DifferingPart, QuoteParts, differences, read_quotes
from xla_lens.syntax.hlo.shapes import parse_shape, subshape_spans
from xla_lens.syntax.tables import DumpSection
from xla_lens.syntax.texts import number_texts
from xla_lens.text.document import Span


def rows_are_unique(dump: DumpSet, context: Context) -> Findings:
    """Each list has an id, a position (HloDataflowAnalysis in SSA form), a use or a live range once."""
    slices, used, positions, uses, ranges = dump.slices, dump.used_values, dump.positions, dump.uses, dump.live_ranges
    lists: tuple[tuple[Named, tuple[Column, ...], Problem], ...] = (
        (slices, (slices.id,), Problem.DUPLICATE_VALUE),
        (used, (used.id,), Problem.DUPLICATE_VALUE),
        (positions, (positions.index, positions.name), Problem.DUPLICATE_POSITION),
        (ranges, (ranges.index, ranges.name), Problem.DUPLICATE_LIVE_RANGE),
    )
    for table, keys, problem in lists:
        yield from context.repeats(table, keys, problem, context.labels(table))
    of_use = uses.index, uses.operand, uses.name, uses.value
    yield from context.repeats(uses, of_use, Problem.DUPLICATE_USE, *_use(context))


def values_ascend(dump: DumpSet, context: Context) -> Findings:
    """The used values, and the values in each allocation, ascend by id (HloValue::Id)."""
    slices, used = dump.slices, dump.used_values
    for table, group in ((slices, slices.allocation), (used, np.zeros(len(used)))):
        is_back = (np.diff(table.id, prepend=NONE) < 0) & (np.diff(group, prepend=NONE) == 0) & (table.id != NONE)
        yield from context.found(table, is_back, Problem.MISPLACED_VALUE, context.labels(table), table.id)


# ---------------------------------------------------------------- the lists


_MAXIMUM_EDITED: Final = 3
"""Maximum number of differing names that an edit of the same dump can explain. With more, and if most names differ, the
files belong to different dumps.
"""


def files_are_of_one_dump(dump: DumpSet, *, is_cut: bool) -> Findings:
    """Most used values and live ranges are those of the allocations. If not, no other check is meaningful. Where a list
    `is_cut` off, only values in both can tell.
    """
    values, slices, used, ranges = dump.values, dump.slices, dump.used_values, dump.live_ranges
    if dump.assignment and dump.used and dump.used is not dump.assignment:
        both = np.flatnonzero((values.slice != NONE) & (values.used_value != NONE))
        same = int((slices.name[values.slice[both]] == used.name[values.used_value[both]]).sum())
        fewer = len(both) if is_cut else min(len(slices), len(used))
        if fewer - same > _MAXIMUM_EDITED and 2 * same < fewer:
            problem = Problem.FOREIGN_FILE(len(used) - same, len(used), "used values", "in no allocation")
            yield error(row_place(dump.used, used, 0), problem)
    if dump.assignment and dump.used and dump.live not in (None, dump.assignment) and len(slices) > 1 and not is_cut:
        # Compare with both lists, as one of them may be cut off.
        unknown = int((~np.isin(ranges.name, np.append(slices.name, used.name))).sum())
        if dump.live and unknown > _MAXIMUM_EDITED and 2 * unknown > len(ranges):
            problem = Problem.FOREIGN_FILE(unknown, len(ranges), "live ranges", "of unknown values")
            yield error(row_place(dump.live, ranges, 0), problem)


def files_are_of_one_compilation(dump: DumpSet, findings: Sequence[Finding]) -> Findings:
    """The total and the shapes in the list of values are those of the allocations. If both differ, by the `findings` of
    the other checks, the two files are of different compilations of a program, of which one replaced some files of the
    other.
    """
    totals = [finding for finding in findings if finding.problem.kind is Problem.TOTAL_MISMATCH]
    shapes = [finding for finding in findings if finding.problem.kind is Problem.SHAPE_MISMATCH]
    if dump.used is not dump.assignment and totals and len(shapes) > _MAXIMUM_EDITED:
        yield of_another_compilation([*totals, *shapes], Problem.FOREIGN_VALUES)


def first_positions_define_values(dump: DumpSet, context: Context) -> Findings:
    """The first position of a used value is the instruction that defines it (HloValue::SetPositions)."""
    used, positions, value = dump.used_values, dump.positions, dump.value_of_used_value
    if context.is_whole(dump.used):
        first = np.where(used.position_count > 0, used.first_position, NONE)
        differs = (taken(positions.name, first) != used.name) | (taken(positions.index, first) != used.index)
        names = used.name, taken(dump.values.name, value)
        label = context.labels(used)
        yield from context.found(used, differs & (value != NONE), Problem.DEFINITION_MISMATCH, label, names=names)


def value_names_agree(dump: DumpSet, context: Context) -> Findings:
    """A value has the same name in its allocation and in the used values."""
    slices, used = dump.slices, dump.used_values
    other = dump.values.used_value[dump.value_of_slice]
    differs = (slices.name != taken(used.name, other)) | (slices.index != taken(used.index, other))
    facts = context.labels(slices), lambda row: context.labels(used)(other[row])
    names, related = (slices.name, taken(used.name, other)), (used, other, Relation.OTHER_LIST)
    rows = differs & (other != NONE)
    yield from context.found(slices, rows, Problem.LISTS_DIFFER, *facts, names=names, related=related)


def values_are_in_both_lists(dump: DumpSet, context: Context) -> Findings:
    """The values of the allocations are used values, and used values are in an allocation."""
    slices, table, values = dump.slices, dump.used_values, dump.values
    # A file may have the header of the used values without values.
    has_header = (file for file in dump.files if DumpSection.USED_VALUES in file.columns.sections.section)
    used = dump.used or next(has_header, None)
    if used and dump.assignment and context.is_whole(used):
        is_lost, label = values.used_value[dump.value_of_slice] == NONE, context.labels(slices)
        yield from context.found(slices, is_lost, Problem.UNDEFINED_VALUE, label, slices.id)
    if dump.used and context.is_whole(dump.assignment):
        value, label = dump.value_of_used_value, context.labels(table)
        is_lost, is_view = (value != NONE) & (taken(values.slice, value) == NONE), views_in_used_values(dump)
        yield from context.found(table, is_lost & is_view, Problem.VIEW, label, severity=Severity.HINT)
        yield from context.found(table, is_lost & ~is_view, Problem.UNASSIGNED_VALUE, label, table.id)


# XLA gives an address into another buffer, a view, a memory space of its own, which has no allocations
# (BufferAssigner::Options::dus_view_color). It prints a live range for a view, but no position of it.


def views_in_used_values(dump: DumpSet) -> Marks:
    """Return which used values are in a memory space without allocations, by design."""
    color = dump.used_values.color
    return (color > 0) & ~np.isin(color, dump.allocations.color) & ~np.isin(color, dump.slices.color)


def views_in_live_ranges(dump: DumpSet) -> Marks:
    """Return which live ranges are of scheduled instructions that are no tuples, and no position of a value."""
    ranges = dump.live_ranges
    is_scheduled = dump.schedule_row_of_name[ranges.name] != NONE
    is_view: Marks = is_scheduled & (ranges.index == 0) & ~np.isin(ranges.name, dump.positions.name)
    return is_view


def values_quote_their_instruction(dump: DumpSet, context: Context) -> Findings:
    """If any value quotes its instruction, each does. The text begins with the value's name."""
    used = dump.used_values
    is_missing, label = used.instruction_start == NONE, context.labels(used)
    if dump.used is None or not context.is_whole(dump.used) or np.all(is_missing):
        return
    yield from context.found(used, is_missing, Problem.MISSING_QUOTE, label)
    rows = np.flatnonzero(~is_missing & (used.name != NONE))
    spans = used.instruction_start[rows], used.instruction_end[rows]
    names = read_quotes(dump.used.document.data, *spans, QuoteParts.NAMES, dump.names).name
    others, span = rows[names != used.name[rows]].tolist(), ("instruction_start", "instruction_end")
    yield from context.found(used, others, Problem.FOREIGN_QUOTE, label, span=span, names=[used.name])


# ---------------------------------------------------------------- operands


def uses_match_operands(dump: DumpSet, context: Context) -> Findings:
    """An instruction reads the values that list a use by it (HloValue::ComputeUses)."""
    uses = dump.uses
    if not len(uses):
        return
    quotes = dump.quotes
    is_quoted, count = quotes.operand_count[uses.name] != NONE, np.maximum(quotes.operand_count, 0)
    first = count.cumsum() - count
    has_operand = is_quoted & (uses.operand >= 0) & (uses.operand < count[uses.name])
    operand = taken(quotes.operands, np.where(has_operand, first[uses.name] + uses.operand, NONE))
    related = dump.used_values, dump.first_quote[uses.name], Relation.QUOTED_INSTRUCTION
    source = operand, np.maximum(uses.index, EMPTY_INDEX)
    yield from wrong_uses(context, is_quoted, source, related)


def operands_are_one_value(dump: DumpSet, context: Context) -> Findings:
    """An operand of an instruction is one value. This also tells wrong uses by instructions that the dump does not
    quote, such as tuples.
    """
    uses = dump.uses
    is_known = context.free(values=context.value_of(uses), names=uses.name)
    rows = np.flatnonzero(is_known)
    first, again = (rows[of] for of in repeated(key[rows] for key in (uses.index, uses.operand, uses.name)))
    other = np.full(len(uses), NONE)
    other[again] = first
    facts, related = (
        (*_use(context), context.values_in(taken(uses.value, other))),
        (uses, other, Relation.OTHER_OCCURRENCE),
    )
    yield from context.found(uses, other != NONE, Problem.SHARED_OPERAND, *facts, related=related)


def operands_have_no_gaps(dump: DumpSet, context: Context) -> Findings:
    """The operands before an operand are values, too."""
    uses = dump.uses
    # A use that is missing because of another finding, or that of a view, leaves a gap.
    is_whole = context.is_whole(dump.used) and not np.any(context.values) and not np.any(context.names)
    if is_whole and not np.any(views_in_live_ranges(dump)):
        order = np.lexsort((uses.operand, uses.name))
        is_next = np.diff(uses.name[order], prepend=NONE) == 0
        before = np.where(is_next, np.append(NONE, uses.operand[order[:-1]]), NONE)
        missing = np.full(len(uses), NONE)
        missing[order] = np.where(uses.operand[order] > before + 1, before + 1, NONE)
        yield from context.found(uses, missing != NONE, Problem.OPERAND_GAP, *_use(context), missing, names=[uses.name])


def wrong_uses(context: Context, is_known: Marks, source: Pairs, related: RelatedRows) -> Findings:
    """Find uses whose operand shows another value. `source` are the names and the indices of the operands; NONE stands
    for those that are not there.
    """
    dump, uses, (operand, index) = context.dump, context.dump.uses, source
    value = context.value_of(uses)
    read = np.where((operand != NONE) & (index != NONE), dump.values_at(operand, index), NONE)
    wrong = is_known & (read != value) & (value != NONE)

    def label(row: int) -> str:
        return dump.label(operand.item(row), index.item(row) or NONE) if operand[row] != NONE else ""

    # One wrong operand makes all uses through it wrong, and so does a missing position.
    names, facts = [uses.name, np.where(read == NONE, operand, NONE)], (*_use(context), label)
    yield from context.found(uses, wrong, Problem.OPERAND_MISMATCH, *facts, related=related, values=[read], names=names)


def _use(context: Context) -> tuple[Fact, Fact, Fact]:
    """The value of each use, the operand that it is as the dump prints it, `0 {1}`, and the instruction that reads it,
    as facts of findings.
    """
    uses = context.dump.uses
    return (
        context.values_in(context.value_of(uses)),
        lambda row: operand_label(context.dump, uses.operand.item(row), uses.index.item(row)),
        context.names_in(uses.name),
    )


def operand_label(dump: DumpSet, operand: int, index: int) -> str:
    """An operand as the dump prints it: `0 {1}`."""
    return f"{operand} {dump.indices[index].decode()}" if index != NONE else f"{operand}"


def quotes_of_an_instruction_agree(dump: DumpSet, context: Context) -> Findings:
    """All values of a tuple quote its instruction with the same text. One finding for each instruction."""
    used, first = dump.used_values, taken(dump.first_quote, dump.used_values.name)
    if dump.used is None or not context.is_whole(dump.used):
        return
    rows = np.flatnonzero((used.instruction_start != NONE) & (first != NONE) & (first != np.arange(len(used))))
    spans = [(used.instruction_start[of], used.instruction_end[of]) for of in (rows, first[rows])]
    text = dump.used.document.data
    differs = rows[differences(text, spans[0], text, spans[1]) != DifferingPart.NONE].tolist()
    values, names = [taken(dump.value_of_used_value, first)], [used.name]
    span, related = ("instruction_start", "instruction_end"), (used, first, Relation.QUOTED_INSTRUCTION)
    problem, name = Problem.QUOTES_DIFFER, context.names_in(used.name)
    yield from context.found(used, differs, problem, name, related=related, span=span, values=values, names=names)


# ---------------------------------------------------------------- shapes


def shapes_match_instructions(dump: DumpSet, context: Context) -> Findings:
    """A value has the shape that its instruction has at its index."""
    # What takes most memory comes first, while few other columns exist, and leaves as much for the columns below.
    first_quote = dump.first_quote
    release_memory()
    quotes = dump.quotes
    release_memory()
    slices, used, quote = dump.slices, dump.used_values, first_quote[dump.slices.name]
    known = np.flatnonzero((quote != NONE) & context.free(values=dump.value_of_slice, names=slices.name))
    if not len(known) or dump.used is None:
        return
    shapes = dump.used.document.data, quotes.shape_start, quotes.shape_end
    related = used, quote, Relation.QUOTED_INSTRUCTION
    yield from wrong_shapes(context, (known, slices.name[known]), shapes, "its instruction", related)


def wrong_shapes(
    context: Context,
    rows_and_instructions: Pairs,
    shapes_of_instructions: tuple[bytes, Column, Column],
    where: str,
    related: RelatedRows,
) -> Findings:
    """Find rows of `DumpSet.slices` with another shape than their instruction has at their index. The instruction of
    each row is one of those with whole shapes at some spans of a text, NONE if they are unknown.
    """
    dump, slices, (shapes, shape) = context.dump, context.dump.slices, context.dump.slice_shapes
    (rows, which), (text, *spans) = rows_and_instructions, shapes_of_instructions
    is_known = spans[0][which] != NONE
    rows, which = rows[is_known], which[is_known]
    whole, first = number_texts(text, *(np.maximum(span, 0) for span in spans))
    # Many values have the same shape at the same index of the same shape.
    keys = whole[which] * np.int64(len(dump.indices)) + np.maximum(slices.index[rows], EMPTY_INDEX)
    keys, same = np.unique(keys * len(shapes) + shape[rows], return_inverse=True)
    last, instruction_shape, found = NONE, b"", list[bytes]()
    parts: Mapping[bytes, Span] = {}
    for key in keys.tolist():
        at, index = divmod(key // len(shapes), len(dump.indices))
        if at != last:
            last, instruction_shape = at, text[spans[0][first[at]] : spans[1][first[at]]]
            parts = subshape_spans(instruction_shape)
        found.append(instruction_shape[slice(*parts.get(dump.indices[index], (0, 0)))])
    wrong_keys = [part != shapes[key % len(shapes)] for key, part in zip(keys.tolist(), found, strict=True)]
    is_wrong = np.array(wrong_keys, bool)
    wrong = dict(pairs(rows[is_wrong[same]], same[is_wrong[same]]))
    facts = (
        context.labels(slices),
        lambda row: shapes[shape[row]],
        "its allocation",
        lambda row: found[wrong[row]],
        where,
    )
    span = "shape_start", "end"
    yield from context.found(slices, [*wrong], Problem.SHAPE_MISMATCH, *facts, related=related, span=span)


def sizes_hold_shapes(dump: DumpSet, context: Context) -> Findings:
    """An array has at least the bytes that its shape needs, and a tuple those of its table of pointers.

    Skips layouts that are split between cores, where a value holds only a part of the array.
    """
    slices, (shapes, shape) = dump.slices, dump.slice_shapes
    size, logical = slices.size_bytes, dump.logical_bytes[dump.value_of_slice]

    def is_too_small(row: int) -> bool:
        text = shapes[shape[row]]
        if text.startswith(b"("):
            # On TPU the pointers have 4 bytes instead of 8, and their table is padded. It may also not be in memory.
            own, needed = size.item(row), logical.item(row)
            return own != 0 and 2 * own != needed and (own % _TABLE_PADDING > 0 or 2 * own < needed)
        parsed = parse_shape(text)
        return parsed is not None and not parsed.is_split

    small = [row for row in marked(logical > size) if is_too_small(row)]
    facts = context.labels(slices), size, lambda row: shapes[shape[row]], logical
    yield from context.found(slices, small, Problem.SIZE_BELOW_SHAPE, *facts)


_TABLE_PADDING: Final = 32
"""The alignment of tables of pointers on TPU."""
