"""Checks of values against the instructions that the dump quotes: their operands and shapes."""

from collections.abc import Iterator
from typing import Final

import numpy as np

from tree_sitter_xla_dump import release_memory
from xla_lens.model.checks.allocations import decoded
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
    value = taken(dump.value_of_used_value, uses.value)
    is_quoted = first[uses.name] != NONE
    has_operand = is_quoted & (uses.operand >= 0) & (uses.operand < count[uses.name])
    operand = taken(operands, np.where(has_operand, first[uses.name] + uses.operand, NONE))
    read = np.where(operand != NONE, dump.values_at(operand, uses.index), NONE)
    wrong = is_quoted & (read != value) & (value != NONE)
    wrong &= ~is_marked(tainted.values, value) & ~is_marked(tainted.names, uses.name)
    wrong &= (read == NONE) | ~is_marked(tainted.values, read)
    wrong &= (operand == NONE) | ~is_marked(tainted.names, operand)
    lost: set[tuple[int, int, int]] = set()
    for row in np.flatnonzero(wrong).tolist():
        tainted.values[value[row]] = True
        # One missing position makes all uses of the value through that operand wrong.
        position = int(value[row]), int(operand[row]), int(uses.index[row])
        if position in lost:
            continue
        if operand[row] != NONE and read[row] == NONE:
            lost.add(position)
            tainted.names[operand[row]] = True
        use, name = row_place(file, uses, row), int(uses.name[row])
        label, user, text = dump.value_label(int(value[row])), dump.label(name, NONE), operand_label(dump, row)
        unknown = _unknown_operand(dump, file, name, int(uses.operand[row])) if operand[row] == NONE else None
        if unknown:
            quoted_name = decoded(file.document.data[unknown.start : unknown.end]).removeprefix("%")
            yield error(unknown, Problem.UNKNOWN_OPERAND(label, user, text, quoted_name), Related(use, Relation.USE))
            continue
        if operand[row] == NONE:
            problem = Problem.MISSING_OPERAND(label, user, text, operands=int(count[name]))
        else:
            problem = Problem.OPERAND_MISMATCH(label, user, text, dump.label(int(operand[row]), int(uses.index[row])))
        yield error(use, problem, *_quoted_instruction(dump, name))
    yield from _operands_are_one_value(dump, tainted, file, value)


def _operands_are_one_value(dump: DumpSet, tainted: Tainted, file: DumpFile, value: Column) -> Iterator[Finding]:
    """Each operand is one value. This holds for instructions that are not quoted, too."""
    uses = dump.uses
    known = np.flatnonzero(~is_marked(tainted.values, value) & ~is_marked(tainted.names, uses.name))
    firsts, again = (known[rows] for rows in repeated(key[known] for key in (uses.index, uses.operand, uses.name)))
    is_other = value[firsts] != value[again]
    for first, row in zip(firsts[is_other].tolist(), again[is_other].tolist(), strict=True):
        labels = (dump.value_label(int(value[row])), dump.value_label(int(value[first])))
        yield error(
            row_place(file, uses, row),
            Problem.SHARED_OPERAND(*labels, dump.label(int(uses.name[row]), NONE), operand_label(dump, row)),
            Related(row_place(file, uses, first), Relation.OTHER_OCCURRENCE),
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
        labels = dump.value_label(int(value[use])), dump.label(name, NONE), operand_label(dump, use)
        yield error(row_place(file, uses, use), Problem.OPERAND_GAP(*labels, missing), *_quoted_instruction(dump, name))


def operand_label(dump: DumpSet, use: int) -> str:
    """The operand of a use as the dump prints it: `0 {1}`."""
    index = int(dump.uses.index[use])
    return f"{dump.uses.operand[use]} {dump.indices[index].decode()}" if index != NONE else f"{dump.uses.operand[use]}"


def _quoted_instruction(dump: DumpSet, name: int) -> list[Related]:
    instruction = dump.instruction(name)
    if dump.used is None or instruction is None:
        return []
    return [Related(Place(dump.used, instruction.start, instruction.end), Relation.QUOTED_INSTRUCTION)]


def _unknown_operand(dump: DumpSet, file: DumpFile, name: int, operand: int) -> Place | None:
    """The place of an operand in the text of its instruction, None if the instruction has fewer operands."""
    instruction = dump.instruction(name)
    found = instruction.operand(operand) if instruction else None
    return Place(file, found.start, found.end) if found else None


# ---------------------------------------------------------------- shapes


def shapes_match_instructions(dump: DumpSet, tainted: Tainted) -> Iterator[Finding]:
    """A value has the shape that its instruction has at its index."""
    values, slices = dump.values, dump.slices
    if dump.assignment is None or dump.used is None:
        return
    data, text = dump.assignment.document.data, dump.used.document.data
    start, end = dump.quote_spans
    known = np.flatnonzero((values.slice != NONE) & (start != NONE) & (end > start) & ~tainted.values)
    known = known[~is_marked(tainted.names, values.name[known])]
    known = known[~_has_shape_of_own_quote(dump, data, text, known)]
    known = known[~_has_shape_of_element(dump, data, text, known)]
    rows = values.slice[known]
    columns = (known, slices.shape_start[rows], slices.end[rows], start[known], end[known])
    # The elements of a tuple follow each other, so one tuple is cached at a time.
    name, whole, parts = NONE, b"", dict[bytes, tuple[int, int]]()
    for value, shape_start, shape_end, first, last in zip(*(column.tolist() for column in columns), strict=True):
        shape, index = data[shape_start:shape_end], int(values.index[value])
        if index > EMPTY_INDEX:
            if name != values.name[value]:
                name = int(values.name[value])
                instruction = dump.instruction(name)
                whole = instruction.shape if instruction else b""
                parts = subshape_spans(whole)
            found = whole[slice(*parts.get(dump.indices[index], (0, 0)))]
        else:
            place = text.find(b" = ", first, last) + 3
            if text.startswith((shape + b" ", shape + b"\n"), place):
                continue
            instruction = read_instruction(text, first, last)
            if instruction is None:
                continue
            found = instruction.shape
        if shape != found:
            yield _shape_finding(dump, tainted, value, Place(dump.used, first, last), (shape, found))


def _has_shape_of_own_quote(dump: DumpSet, data: bytes, text: bytes, values: Column) -> Marks:
    """For each of `values` whether it is a whole value and its quote has its shape; false also if that is not sure."""
    start, end = dump.quote_spans
    whole = np.flatnonzero(dump.values.index[values] <= EMPTY_INDEX)
    quotes = read_quotes(text, start[values[whole]], end[values[whole]], QuoteParts.HEADS)
    is_read = quotes.shape_start != NONE
    whole, quoted = whole[is_read], (quotes.shape_start[is_read], quotes.shape_end[is_read])
    rows = dump.values.slice[values[whole]]
    has_shape = np.zeros(len(values), bool)
    has_shape[whole] = same_texts(data, (dump.slices.shape_start[rows], dump.slices.end[rows]), text, quoted)
    return has_shape


def _has_shape_of_element(dump: DumpSet, data: bytes, text: bytes, values: Column) -> Marks:
    """For each of `values` whether it is an element of a tuple of arrays that has its shape; false also if that is not
    sure.
    """
    used, slices = dump.used_values, dump.slices
    number = _element_numbers(dump)[dump.values.index[values]]
    quote = dump.first_quote[dump.values.name[values]]
    # Elements of one tuple side by side.
    rows = np.flatnonzero((dump.values.index[values] > EMPTY_INDEX) & (number != NONE) & (quote != NONE))
    rows = rows[np.argsort(quote[rows], kind="stable")]
    quoted, which = np.unique(quote[rows], return_inverse=True)
    quotes = read_quotes(text, used.instruction_start[quoted], used.instruction_end[quoted], QuoteParts.HEADS)
    is_read = quotes.shape_start[which] != NONE
    rows, which = rows[is_read], which[is_read]
    start, end = tuple_elements(text, quotes.shape_start[which], quotes.shape_end[which], number[rows])
    is_there = start != NONE
    rows, element = rows[is_there], (start[is_there], end[is_there])
    own = dump.values.slice[values[rows]]
    has_shape = np.zeros(len(values), bool)
    has_shape[rows] = same_texts(data, (slices.shape_start[own], slices.end[own]), text, element)
    return has_shape


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
    data, first = file.document.data, dump.first_quote
    rows = np.flatnonzero((used.id != NONE) & (used.instruction_start != NONE) & ~tainted.used_values)
    rows = rows[(first[used.name[rows]] != rows) & ~tainted.names[used.name[rows]]]
    rows = rows[np.argsort(used.name[rows], kind="stable")]
    name, text = NONE, b""
    columns = (rows, used.name[rows], used.instruction_start[rows], used.instruction_end[rows])
    for row, number, start, end in zip(*(column.tolist() for column in columns), strict=True):
        if number != name:
            name, before = number, int(first[number])
            text = data[used.instruction_start[before] : used.instruction_end[before]]
        if (end - start == len(text) and data.startswith(text, start)) or tainted.values[dump.value_of_used_value[row]]:
            continue
        tainted.names[number] = True
        others = dump.quoting(number)
        is_first_odd = len(others) > 2 and all(dump.instruction_text(one) == data[start:end] for one in others[1:])
        # A quote that reads an unknown name is wrong.
        quote = read_instruction(text)
        is_first_odd |= any(dump.name_number(operand) == NONE for operand in (quote.operand_names() if quote else ()))
        odd, right = (int(first[number]), row) if is_first_odd else (row, int(first[number]))
        spans = [(int(used.instruction_start[one]), int(used.instruction_end[one])) for one in (odd, right)]
        places = [Place(file, *span) for span in spans]
        instructions = [read_instruction(data, place.start, place.end) for place in places]
        shapes = [instruction.shape if instruction else b"" for instruction in instructions]
        problem = Problem.QUOTED_SHAPES_MISMATCH if shapes[0] != shapes[1] else Problem.QUOTED_OPERANDS_MISMATCH
        yield error(places[0], problem(dump.label(number, NONE)), Related(places[1], Relation.QUOTED_INSTRUCTION))
        if is_first_odd:
            # Report the first quote once, not once for each that differs from it.
            text = data[start:end]


def _shape_finding(dump: DumpSet, tainted: Tainted, value: int, quoted: Place, shapes: tuple[bytes, bytes]) -> Finding:
    """A value whose shape differs from that in the quoted instruction; `shapes` are both, in this order."""
    assert dump.assignment is not None, "the shape is in it"
    tainted.taint_values(np.array([value]))
    row = int(dump.values.slice[value])
    shape, found = shapes
    slice_place = Place(dump.assignment, int(dump.slices.shape_start[row]), int(dump.slices.end[row]))
    instruction = read_instruction(quoted.file.document.data, quoted.start, quoted.end)
    quote = Place(quoted.file, instruction.shape_start, instruction.shape_end) if instruction else quoted
    # The shape that fits the size of the value is right. Tiled shapes are rounded up, so their sizes do not count.
    sizes = [_byte_size(text) for text in (shape, found)]
    is_quote_wrong = dump.values.size_bytes[value] == sizes[0] != sizes[1] and b":T(" not in shape + found
    label = dump.value_label(value)
    return error(
        quote if is_quote_wrong else slice_place,
        Problem.SHAPE_MISMATCH(label, decoded(shape), decoded(found))
        if found
        else Problem.MISSING_ELEMENT(label, decoded(shape)),
        Related(slice_place, Relation.SLICE) if is_quote_wrong else Related(quote, Relation.QUOTED_INSTRUCTION),
    )


def _byte_size(shape: bytes) -> int | None:
    parsed = parse_shape(shape)
    return parsed.byte_size if parsed else None


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
            yield error(place, Problem.SIZE_BELOW_SHAPE(dump.value_label(value), decoded(text), *sizes))


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
