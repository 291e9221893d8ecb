"""Checks of values against the instructions that the dump quotes: their operands and shapes."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

import numpy as np

from tree_sitter_xla_dump import release_memory
from xla_lens.model.checks.findings import Finding, Related, Relation, error
from xla_lens.model.checks.problems import Problem
from xla_lens.model.checks.tainted import Marks, Tainted, is_marked
from xla_lens.model.checks.views import views_in_live_ranges
from xla_lens.model.hlo.dataflow import quoted_operands
from xla_lens.model.places.places import Place, row_place
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.tables.dump_set import EMPTY_INDEX, DumpSet
from xla_lens.model.tables.lookup import distinct, repeated, taken
from xla_lens.syntax.columns import NONE, Column
from xla_lens.syntax.hlo.instruction import read_instruction
from xla_lens.syntax.hlo.quotes import QuoteParts, read_quotes, tuple_elements
from xla_lens.syntax.hlo.shapes import ArrayShape, parse_shape, subshape_spans
from xla_lens.syntax.texts import same_texts

# ---------------------------------------------------------------- operands


def uses_match_operands(dump: DumpSet, tainted: Tainted) -> Iterator[Finding]:
    """An instruction reads the values that list a use by it (HloValue::ComputeUses)."""
    uses, file = dump.uses, dump.used
    if file is None or not len(uses):
        return
    # What takes most memory comes first, while few other columns exist, and leaves as much for the columns below.
    _ = dump.position_map
    operands, first, count = quoted_operands(dump, distinct(uses.name))
    release_memory()
    is_quoted = first[uses.name] != NONE
    has_operand = is_quoted & (uses.operand >= 0) & (uses.operand < count[uses.name])
    operand = taken(operands, np.where(has_operand, first[uses.name] + uses.operand, NONE))
    seen: set[tuple[int, ...]] = set()
    for row, value, read in wrong_uses(dump, tainted, is_quoted, operand, np.maximum(uses.index, EMPTY_INDEX)):
        name, number, source = int(uses.name[row]), int(uses.operand[row]), int(operand[row])
        tainted.values[value] = True
        # One wrong operand or missing position makes all uses through that operand wrong.
        cause = (name, number) if source == NONE else (value, source, int(uses.index[row]))
        if read == NONE and cause in seen:
            continue
        if read == NONE:
            seen.add(cause)
            if source != NONE:
                tainted.names[source] = True
        instruction = dump.instruction(name)
        quoted = instruction.operand(number) if instruction and source == NONE else None
        label = dump.label(source, int(uses.index[row])) if source != NONE else ""
        if quoted:
            label = file.document.data[quoted.start : quoted.end].decode("utf-8", "replace").removeprefix("%")
        yield error(
            row_place(file, uses, row),
            Problem.OPERAND_MISMATCH(*use_labels(dump, row, value), label),
            *_quoted_instruction(dump, name),
        )
    yield from _operands_are_one_value(dump, tainted, file)


def wrong_uses(
    dump: DumpSet, tainted: Tainted, is_known: Marks, operand: Column, index: Column
) -> Iterator[tuple[int, int, int]]:
    """Yield uses whose operand shows another value: the row of the use, its value, and the value that the operand shows
    at an index, NONE if it shows none. `operand` are names; NONE stands for operands and indices that are not there.
    """
    uses = dump.uses
    value = taken(dump.value_of_used_value, uses.value)
    read = np.where((operand != NONE) & (index != NONE), dump.values_at(operand, index), NONE)
    wrong = is_known & (read != value) & (value != NONE)
    wrong &= ~is_marked(tainted.values, value) & ~is_marked(tainted.names, uses.name)
    wrong &= (read == NONE) | ~is_marked(tainted.values, read)
    wrong &= (operand == NONE) | ~is_marked(tainted.names, operand)
    rows = np.flatnonzero(wrong)
    yield from zip(rows.tolist(), value[rows].tolist(), read[rows].tolist(), strict=True)


def use_labels(dump: DumpSet, row: int, value: int) -> tuple[str, str, str]:
    """A value, an instruction that reads it, and the operand as the dump prints it: `0 {1}`."""
    uses = dump.uses
    index = int(uses.index[row])
    operand = f"{uses.operand[row]} {dump.indices[index].decode()}" if index != NONE else f"{uses.operand[row]}"
    return dump.value_label(value), dump.label(int(uses.name[row]), NONE), operand


def _operands_are_one_value(dump: DumpSet, tainted: Tainted, file: DumpFile) -> Iterator[Finding]:
    """Each operand is one value. This holds for instructions that are not quoted, too."""
    uses = dump.uses
    value = taken(dump.value_of_used_value, uses.value)
    known = np.flatnonzero(~is_marked(tainted.values, value) & ~is_marked(tainted.names, uses.name))
    firsts, again = (known[rows] for rows in repeated(key[known] for key in (uses.index, uses.operand, uses.name)))
    is_other = value[firsts] != value[again]
    for first, row in zip(firsts[is_other].tolist(), again[is_other].tolist(), strict=True):
        label, *use = use_labels(dump, row, int(value[row]))
        problem = Problem.SHARED_OPERAND(label, dump.value_label(int(value[first])), *use)
        yield error(
            row_place(file, uses, row), problem, Related(row_place(file, uses, first), Relation.OTHER_OCCURRENCE)
        )


def operands_have_no_gaps(dump: DumpSet, tainted: Tainted) -> Iterator[Finding]:
    """An instruction whose uses are listed has one for each of its operands. A view may have no list of uses."""
    uses, file = dump.uses, dump.used
    if file is None or not tainted.is_whole(file) or np.any(tainted.values) or np.any(tainted.names):
        return
    if np.any(views_in_live_ranges(dump)):
        return
    value = taken(dump.value_of_used_value, uses.value)
    last = np.full(len(dump.names), NONE)
    np.maximum.at(last, uses.name, uses.operand)
    row = np.lexsort((uses.operand, uses.name))
    is_new = np.append(True, (np.diff(uses.name[row]) != 0) | (np.diff(uses.operand[row]) != 0))[: len(row)]
    count = np.bincount(uses.name[row[is_new]], minlength=len(last))
    for name in np.flatnonzero(count != last + 1).tolist():
        own = np.flatnonzero(uses.name == name)
        use = int(own[uses.operand[own].argmax()])
        if value[use] == NONE or uses.operand[own].min() < 0:
            continue
        tainted.names[name] = tainted.values[value[use]] = True
        missing = min({*range(int(last[name]))} - {*uses.operand[own].tolist()})
        problem = Problem.OPERAND_GAP(*use_labels(dump, use, int(value[use])), missing)
        yield error(row_place(file, uses, use), problem, *_quoted_instruction(dump, name))


def _quoted_instruction(dump: DumpSet, name: int) -> list[Related]:
    instruction = dump.instruction(name)
    if dump.used is None or instruction is None:
        return []
    return [Related(Place(dump.used, instruction.start, instruction.end), Relation.QUOTED_INSTRUCTION)]


# ---------------------------------------------------------------- shapes


def shapes_match_instructions(dump: DumpSet, tainted: Tainted) -> Iterator[Finding]:
    """A value has the shape that its instruction has at its index."""
    values, used = dump.values, dump.used_values
    if dump.assignment is None or dump.used is None:
        return
    text, quote = dump.used.document.data, dump.first_quote[values.name]
    known = np.flatnonzero((values.slice != NONE) & (quote != NONE) & ~tainted.values & ~tainted.names[values.name])
    # The elements of a tuple share one quote.
    rows, which = np.unique(quote[known], return_inverse=True)
    quotes = read_quotes(text, used.instruction_start[rows], used.instruction_end[rows], QuoteParts.HEADS)
    start, end = quotes.shape_start.copy(), quotes.shape_end.copy()
    for row in np.flatnonzero(start == NONE).tolist():
        instruction = dump.instruction(int(used.name[rows[row]]))
        if instruction:
            start[row], end[row] = instruction.shape_start, instruction.shape_end
    is_read = start[which] != NONE
    spans = start[which][is_read], end[which][is_read]
    for value, shape, found, span in wrong_shapes(dump, known[is_read], text, spans):
        tainted.taint_values(np.array([value]))
        yield error(
            shape_place(dump, dump.assignment, value),
            Problem.SHAPE_MISMATCH(dump.value_label(value), shape, "its allocation", "its instruction", found),
            Related(Place(dump.used, *span), Relation.QUOTED_INSTRUCTION),
        )


def shape_place(dump: DumpSet, file: DumpFile, value: int) -> Place:
    """The shape of a value in its allocation."""
    row = dump.values.slice[value]
    return Place(file, int(dump.slices.shape_start[row]), int(dump.slices.end[row]))


def wrong_shapes(
    dump: DumpSet, values: Column, text: bytes, spans: tuple[Column, Column]
) -> Iterator[tuple[int, bytes, bytes, tuple[int, int]]]:
    """Yield values that have another shape in their allocation than their instruction has at their index: the value,
    both shapes, and the span of the instruction's whole shape. `spans` are those of all values, in `text`.
    """
    order = np.argsort(spans[0], kind="stable")  # elements of one tuple side by side
    values, whole = values[order], (spans[0][order], spans[1][order])
    data, rows = dump.assignment.document.data if dump.assignment else b"", dump.values.slice[values]
    own = dump.slices.shape_start[rows], dump.slices.end[rows]
    index = dump.values.index[values]
    is_element = index > EMPTY_INDEX
    elements = tuple_elements(text, *whole, np.where(is_element, _element_numbers(dump)[index], NONE))
    start, end = (np.where(is_element, part, span) for part, span in zip(elements, whole, strict=True))
    is_same = (start != NONE) & same_texts(data, own, text, (np.maximum(start, 0), np.maximum(end, 0)))
    read, parts = (NONE, NONE), dict[bytes, tuple[int, int]]()
    for at in np.flatnonzero(~is_same).tolist():
        span = int(whole[0][at]), int(whole[1][at])
        if span != read:
            read, parts = span, subshape_spans(text[slice(*span)])
        first, last = parts.get(dump.indices[max(int(index[at]), EMPTY_INDEX)], (0, 0))
        shape, found = data[own[0][at] : own[1][at]], text[span[0] + first : span[0] + last]
        if shape != found:
            yield int(values[at]), shape, found, span


def _element_numbers(dump: DumpSet) -> Column:
    """For each index the number of the element in a tuple that is not nested, NONE for other indices."""
    digits = [text[1:-1] if len(text) < _MAX_DIGITS else b"" for text in dump.indices]
    numbers = [int(text) if text.isdigit() and b"%d" % int(text) == text else NONE for text in digits]
    return np.array(numbers, np.int64)


_MAX_DIGITS: Final = 12


def quotes_of_an_instruction_agree(dump: DumpSet, tainted: Tainted) -> Iterator[Finding]:
    """All values of a tuple quote its instruction with the same text."""
    used, file = dump.used_values, dump.used
    if file is None:
        return
    data, start, end = file.document.data, used.instruction_start, used.instruction_end
    rows = np.flatnonzero((used.id != NONE) & (start != NONE) & ~tainted.used_values & ~tainted.names[used.name])
    rows = rows[~is_marked(tainted.values, dump.value_of_used_value[rows])]
    first = dump.first_quote[used.name[rows]]
    is_same = same_texts(data, (start[rows], end[rows]), data, (start[first], end[first]))
    for name in distinct(used.name[rows[~is_same]]).tolist():
        tainted.names[name] = True
        places = [Place(file, int(start[row]), int(end[row])) for row in dump.quoting(name)]
        texts = [data[place.start : place.end] for place in places]
        # The text that most values quote is right, or else one that reads only names of the dump.
        count = Counter(texts)
        right = max(texts, key=lambda text: (count[text], _has_known_operands(dump, text)))
        odd = next(at for at, text in enumerate(texts) if text != right)
        instructions = read_instruction(texts[odd]), read_instruction(right)
        shapes = {instruction.shape if instruction else b"" for instruction in instructions}
        problem = Problem.QUOTED_SHAPES_MISMATCH if len(shapes) > 1 else Problem.QUOTED_OPERANDS_MISMATCH
        related = Related(places[texts.index(right)], Relation.QUOTED_INSTRUCTION)
        yield error(places[odd], problem(dump.label(name, NONE)), related)


def _has_known_operands(dump: DumpSet, text: bytes) -> bool:
    instruction = read_instruction(text)
    return instruction is None or all(dump.name_number(name) != NONE for name in instruction.operand_names())


def sizes_hold_shapes(dump: DumpSet, tainted: Tainted) -> Iterator[Finding]:
    """An array has at least the bytes that its shape needs, and a tuple those of its table of pointers.

    Skips layouts that are split between cores, where a value holds only a part of the array.
    """
    values, logical = dump.values, dump.logical_bytes
    if dump.assignment is None:
        return
    for value in np.flatnonzero((logical > values.size_bytes) & (values.slice != NONE) & ~tainted.values).tolist():
        text = dump.shape(value) or b""
        is_table = text.startswith(b"(")
        shape = None if is_table else parse_shape(text)
        is_small = is_table and not _holds_table(int(values.size_bytes[value]), int(logical[value]))
        if is_small or (isinstance(shape, ArrayShape) and not shape.is_split):
            tainted.taint_values(np.array([value]))
            place = row_place(dump.assignment, dump.slices, int(values.slice[value]))
            sizes = (int(values.size_bytes[value]), int(logical[value]))
            yield error(place, Problem.SIZE_BELOW_SHAPE(dump.value_label(value), text, *sizes))


def _holds_table(size_bytes: int, table_bytes: int) -> bool:
    """Whether a tuple fits into some bytes less than its pointers of 8 bytes. On TPU they have 4 bytes, and tables are
    padded; a tuple that is not in memory has none.
    """
    return (
        2 * size_bytes == table_bytes
        or (size_bytes % _TABLE_PADDING == 0 and 2 * size_bytes >= table_bytes)
        or not size_bytes
    )


_TABLE_PADDING: Final = 32
"""The alignment of tables of pointers on TPU."""
