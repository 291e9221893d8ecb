"""Checks of values against the instructions that the dump quotes: their operands and shapes."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

import numpy as np

from tree_sitter_xla_dump import release_memory
from xla_lens.model.checks.context import Context, Marks, marked
from xla_lens.model.checks.findings import Finding, Related, Relation, error
from xla_lens.model.checks.problems import Problem
from xla_lens.model.checks.values import use_labels
from xla_lens.model.hlo.dataflow import quoted_operands
from xla_lens.model.places.places import Place
from xla_lens.model.tables.dump_set import EMPTY_INDEX, DumpSet
from xla_lens.model.tables.lookup import distinct, taken
from xla_lens.syntax.columns import NONE, Column
from xla_lens.syntax.hlo.quotes import QuoteParts, read_quotes
from xla_lens.syntax.hlo.shapes import ArrayShape, parse_shape, subshape_spans
from xla_lens.syntax.texts import number_texts, same_texts

# ---------------------------------------------------------------- operands


def uses_match_operands(context: Context) -> Iterator[Finding]:
    """An instruction reads the values that list a use by it (HloValue::ComputeUses)."""
    dump, uses = context.dump, context.dump.uses
    if not len(uses):
        return
    # What takes most memory comes first, while few other columns exist, and leaves as much for the columns below.
    _ = dump.position_map
    operands, first, count = quoted_operands(dump, distinct(uses.name))
    release_memory()
    is_quoted = first[uses.name] != NONE
    has_operand = is_quoted & (uses.operand >= 0) & (uses.operand < count[uses.name])
    operand = taken(operands, np.where(has_operand, first[uses.name] + uses.operand, NONE))
    unknown: set[tuple[int, int]] = set()
    for row, value, read in wrong_uses(context, is_quoted, operand, np.maximum(uses.index, EMPTY_INDEX)):
        name, number, source = int(uses.name[row]), int(uses.operand[row]), int(operand[row])
        label = dump.label(source, int(uses.index[row])) if source != NONE else ""
        instruction = dump.instruction(name)
        if instruction and source == NONE:
            # One wrong operand makes all uses through it wrong.
            if (name, number) in unknown:
                context.cover(values=(value,))
                continue
            unknown.add((name, number))
            quoted = instruction.operand(number)
            text = instruction.text[quoted.start : quoted.end] if quoted else b""
            label = text.decode("utf-8", "replace").removeprefix("%")
        problem = Problem.OPERAND_MISMATCH(*use_labels(context, row, value), label)
        # So does a missing position.
        names = source if read == NONE else ()
        yield context.error(uses, row, problem, *_quoted(context, name), values=value, names=names)


def wrong_uses(context: Context, is_known: Marks, operand: Column, index: Column) -> Iterator[tuple[int, int, int]]:
    """Yield uses whose operand shows another value: the row of the use, its value, and the value that the operand shows
    at an index, NONE if it shows none. `operand` are names; NONE stands for operands and indices that are not there.
    """
    uses, value = context.dump.uses, context.value_of(context.dump.uses)
    read = np.where((operand != NONE) & (index != NONE), context.dump.values_at(operand, index), NONE)
    wrong = is_known & (read != value) & context.free(values=value, names=uses.name)
    wrong &= (read == NONE) | context.free(values=read)
    rows = np.flatnonzero(wrong)
    yield from zip(rows.tolist(), value[rows].tolist(), read[rows].tolist(), strict=True)


def _quoted(context: Context, name: int) -> list[Related]:
    """The text that the dump quotes for an instruction, if it does."""
    instruction = context.dump.instruction(name)
    if context.dump.used is None or instruction is None:
        return []
    return [Related(Place(context.dump.used, instruction.start, instruction.end), Relation.QUOTED_INSTRUCTION)]


# ---------------------------------------------------------------- shapes


def shapes_match_instructions(context: Context) -> Iterator[Finding]:
    """A value has the shape that its instruction has at its index."""
    dump, values, used = context.dump, context.dump.values, context.dump.used_values
    if dump.used is None:
        return
    text, quote = dump.used.document.data, dump.first_quote[values.name]
    known = np.flatnonzero((values.slice != NONE) & (quote != NONE) & ~context.values & ~context.names[values.name])
    # The elements of a tuple share one quote.
    rows, which = np.unique(quote[known], return_inverse=True)
    quotes = read_quotes(text, used.instruction_start[rows], used.instruction_end[rows], QuoteParts.HEADS)
    start, end = quotes.shape_start.copy(), quotes.shape_end.copy()
    for row in marked(start == NONE):
        instruction = dump.instruction(int(used.name[rows[row]]))
        if instruction:
            start[row], end[row] = instruction.shape_start, instruction.shape_end
    for value, shape, found, span in wrong_shapes(dump, known, which, text, (start, end)):
        problem = Problem.SHAPE_MISMATCH(context.value(value), shape, "its allocation", found, "its instruction")
        related = Related(Place(dump.used, *span), Relation.QUOTED_INSTRUCTION)
        yield error(shape_place(context, value), problem, related, values=value)


def shape_place(context: Context, value: int) -> Place:
    """The shape of a value in its allocation."""
    slices, row = context.dump.slices, context.dump.values.slice[value]
    return Place(context.file(slices), int(slices.shape_start[row]), int(slices.end[row]))


def wrong_shapes(
    dump: DumpSet, values: Column, which: Column, text: bytes, spans: tuple[Column, Column]
) -> Iterator[tuple[int, bytes, bytes, tuple[int, int]]]:
    """Yield values that have another shape in their allocation than their instruction has at their index: the value,
    both shapes, and the span of the instruction's whole shape. `spans` are those of some instructions in `text`, NONE
    if they are unknown, and `which` is the instruction of each value.
    """
    shapes, shape = dump.slice_shapes
    whole, first = number_texts(text, *(np.maximum(span, 0) for span in spans))
    # Many values have the same shape at the same index of the same shape.
    pairs = whole[which] * np.int64(len(dump.indices)) + np.maximum(dump.values.index[values], EMPTY_INDEX)
    keys, same = np.unique(pairs * len(shapes) + shape[dump.values.slice[values]], return_inverse=True)
    wrong, parts, read = np.zeros(len(keys), bool), dict[bytes, tuple[int, int]](), NONE
    found: dict[int, bytes] = {}
    for key, number in enumerate(keys.tolist()):
        pair, own = divmod(number, len(shapes))
        at, index = divmod(pair, len(dump.indices))
        whole_shape = text[max(spans[0][first[at]], 0) : spans[1][first[at]]]
        if at != read:
            read, parts = at, subshape_spans(whole_shape)
        start, end = parts.get(dump.indices[index], (0, 0))
        found[key] = whole_shape[start:end]
        wrong[key] = spans[0][first[at]] != NONE and found[key] != shapes[own]
    for place in marked(wrong[same]):
        value, at = int(values[place]), which[place]
        span = int(spans[0][at]), int(spans[1][at])
        yield value, dump.shape(value) or b"", found[int(same[place])], span


def quotes_of_an_instruction_agree(context: Context) -> Iterator[Finding]:
    """All values of a tuple quote its instruction with the same text."""
    dump, used = context.dump, context.dump.used_values
    if dump.used is None:
        return
    data, start, end = dump.used.document.data, used.instruction_start, used.instruction_end
    rows = np.flatnonzero((start != NONE) & context.free(values=dump.value_of_used_value, names=used.name))
    first = dump.first_quote[used.name[rows]]
    is_same = same_texts(data, (start[rows], end[rows]), data, (start[first], end[first]))
    for name in distinct(used.name[rows[~is_same]]).tolist():
        places = [Place(dump.used, int(start[row]), int(end[row])) for row in dump.quoting(name)]
        texts = [data[place.start : place.end] for place in places]
        # The text that most values quote is right.
        right = max(texts, key=Counter(texts).__getitem__)
        odd = next(at for at, text in enumerate(texts) if text != right)
        related = Related(places[texts.index(right)], Relation.QUOTED_INSTRUCTION)
        yield error(places[odd], Problem.QUOTES_DIFFER(context.name(name)), related, names=name)


def sizes_hold_shapes(context: Context) -> Iterator[Finding]:
    """An array has at least the bytes that its shape needs, and a tuple those of its table of pointers.

    Skips layouts that are split between cores, where a value holds only a part of the array.
    """
    dump, values, logical = context.dump, context.dump.values, context.dump.logical_bytes
    for value in marked((logical > values.size_bytes) & (values.slice != NONE)):
        text, sizes = dump.shape(value) or b"", (int(values.size_bytes[value]), int(logical[value]))
        shape = None if text.startswith(b"(") else parse_shape(text)
        is_whole = isinstance(shape, ArrayShape) and not shape.is_split
        if is_whole or (text.startswith(b"(") and not _holds_table(*sizes)):
            place = context.place(dump.slices, values.slice[value])
            yield error(place, Problem.SIZE_BELOW_SHAPE(context.value(value), sizes[0], text, sizes[1]), values=value)


def _holds_table(size_bytes: int, table_bytes: int) -> bool:
    """Whether a tuple fits into some bytes less than its pointers of 8 bytes. On TPU they have 4 bytes, and tables are
    padded; a tuple that is not in memory has none.
    """
    is_padded = size_bytes % _TABLE_PADDING == 0 and 2 * size_bytes >= table_bytes
    return 2 * size_bytes == table_bytes or is_padded or not size_bytes


_TABLE_PADDING: Final = 32
"""The alignment of tables of pointers on TPU."""
