"""Checks of values against the instructions that the dump quotes: what these read, and of which shape they are."""

from collections.abc import Iterator

import numpy as np

from xla_lens.model.checks.doubts import Doubts, in_doubt
from xla_lens.model.checks.findings import Code, Finding, Related, error
from xla_lens.model.hlo.dataflow import quoted_operands
from xla_lens.model.places.places import Place, row_place
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.tables.dump_set import EMPTY_INDEX, DumpSet
from xla_lens.model.tables.lookup import taken
from xla_lens.syntax.columns import NONE, Column
from xla_lens.syntax.hlo.instruction import read_instruction
from xla_lens.syntax.hlo.shapes import ArrayShape, parse_shape, subshape_spans

# ---------------------------------------------------------------- operands


def operand_mismatch(dump: DumpSet, doubts: Doubts) -> Iterator[Finding]:
    """Uses of which the instruction that is said to read says otherwise (HloValue::ComputeUses)."""
    uses, file = dump.uses, dump.used
    if file is None or not len(uses):
        return
    value = taken(dump.value_of_used_value, uses.value)
    operands, first, count = quoted_operands(dump, np.unique(uses.name))
    is_quoted = first[uses.name] != NONE
    has_operand = is_quoted & (uses.operand >= 0) & (uses.operand < count[uses.name])
    operand = taken(operands, np.where(has_operand, first[uses.name] + uses.operand, NONE))
    read = np.where(operand != NONE, dump.values_at(operand, uses.index), NONE)
    wrong = is_quoted & (read != value) & (value != NONE)
    wrong &= ~in_doubt(doubts.values, value) & ~in_doubt(doubts.names, uses.name)
    wrong &= (read == NONE) | ~in_doubt(doubts.values, read)
    wrong &= (operand == NONE) | ~in_doubt(doubts.names, operand)
    for row in np.flatnonzero(wrong).tolist():
        doubts.values[value[row]] = True
        text = (
            _unknown_operand(dump, file, int(uses.name[row]), int(uses.operand[row])) if operand[row] == NONE else None
        )
        yield error(
            Code.OPERAND_MISMATCH,
            text or row_place(file, uses, row),
            *([Related(row_place(file, uses, row), "use")] if text else _quoted(dump, int(uses.name[row]))),
            what="unknown" if text else "other" if operand[row] != NONE else "none",
            value=dump.value_label(int(value[row])),
            user=dump.label(int(uses.name[row]), NONE),
            operand=_operand(dump, row),
            operands=int(count[uses.name[row]]),
            read=dump.label(int(operand[row]), int(uses.index[row])) if operand[row] != NONE else "",
        )
    yield from _read_twice(dump, doubts, file, value)


def _read_twice(dump: DumpSet, doubts: Doubts, file: DumpFile, value: Column) -> Iterator[Finding]:
    """One operand is one value, also of instructions that are not quoted."""
    uses = dump.uses
    known = np.flatnonzero(~in_doubt(doubts.values, value) & ~in_doubt(doubts.names, uses.name))
    keys = np.stack((uses.index, uses.operand, uses.name))[:, known]
    order = np.lexsort(keys)
    again = np.flatnonzero(np.all(np.diff(keys[:, order]) == 0, axis=0))
    for first, row in zip(known[order[again]].tolist(), known[order[again + 1]].tolist(), strict=True):
        if value[first] != value[row]:
            yield error(
                Code.OPERAND_MISMATCH,
                row_place(file, uses, row),
                Related(row_place(file, uses, first), "first"),
                what="twice",
                value=dump.value_label(int(value[row])),
                other=dump.value_label(int(value[first])),
                user=dump.label(int(uses.name[row]), NONE),
                operand=_operand(dump, row),
            )


def _operand(dump: DumpSet, use: int) -> str:
    """The operand that a use is of, as the dump prints it: `0 {1}`."""
    index = int(dump.uses.index[use])
    return f"{dump.uses.operand[use]} {dump.indices[index].decode()}" if index != NONE else f"{dump.uses.operand[use]}"


def _quoted(dump: DumpSet, name: int) -> list[Related]:
    instruction = dump.instruction(name)
    if dump.used is None or instruction is None:
        return []
    return [Related(Place(dump.used, instruction.start, instruction.end), "instruction")]


def _unknown_operand(dump: DumpSet, file: DumpFile, name: int, operand: int) -> Place | None:
    """Where an instruction's text has an operand that is nowhere else, None if it has not that many."""
    instruction = dump.instruction(name)
    found = instruction.operand(operand) if instruction else None
    return Place(file, found.start, found.end) if found else None


# ---------------------------------------------------------------- shapes


def shape_mismatch(dump: DumpSet, doubts: Doubts) -> Iterator[Finding]:
    """Values of another shape than their instruction has at their index."""
    values, slices = dump.values, dump.slices
    if dump.assignment is None or dump.used is None:
        return
    data, text = dump.assignment.document.data, dump.used.document.data
    start, end = dump.quote_spans
    known = np.flatnonzero((values.slice != NONE) & (start != NONE) & (end > start) & ~doubts.values)
    known = known[~in_doubt(doubts.names, values.name[known])]
    rows = values.slice[known]
    columns = (known, slices.shape_start[rows], slices.end[rows], start[known], end[known])
    # The elements of a tuple stand one after another, so that one tuple at a time is enough.
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
            if text.startswith(shape + b" ", place) or text.startswith(shape + b"\n", place):
                continue
            instruction = read_instruction(text, first, last)
            if instruction is None:
                continue
            found = instruction.shape
        if shape != found:
            yield _shape_finding(dump, doubts, value, Place(dump.used, first, last), (shape, found))


def quote_mismatch(dump: DumpSet, doubts: Doubts) -> Iterator[Finding]:
    """Quotes of one instruction that differ: the values of a tuple all have the same."""
    used, file = dump.used_values, dump.used
    if file is None:
        return
    data, first = file.document.data, dump.first_quote
    rows = np.flatnonzero((used.id != NONE) & (used.instruction_start != NONE) & ~doubts.used_values)
    rows = rows[first[used.name[rows]] != rows]
    rows = rows[np.argsort(used.name[rows], kind="stable")]
    name, text = NONE, b""
    columns = (rows, used.name[rows], used.instruction_start[rows], used.instruction_end[rows])
    for row, number, start, end in zip(*(column.tolist() for column in columns), strict=True):
        if number != name:
            name, before = number, int(first[number])
            text = data[used.instruction_start[before] : used.instruction_end[before]]
        if (end - start == len(text) and data.startswith(text, start)) or doubts.values[dump.value_of_used_value[row]]:
            continue
        doubts.names[number] = True
        others = dump.quoting(number)
        is_first_odd = len(others) > 2 and all(dump.instruction_text(one) == data[start:end] for one in others[1:])
        # One that reads what is nowhere is wrong.
        quote = read_instruction(text)
        is_first_odd |= any(dump.name_number(operand) == NONE for operand in (quote.operand_names() if quote else ()))
        odd, right = (int(first[number]), row) if is_first_odd else (row, int(first[number]))
        spans = [(int(used.instruction_start[one]), int(used.instruction_end[one])) for one in (odd, right)]
        places = [Place(file, *span) for span in spans]
        instructions = [read_instruction(data, place.start, place.end) for place in places]
        shapes = [instruction.shape if instruction else b"" for instruction in instructions]
        yield error(
            Code.SHAPE_MISMATCH if shapes[0] != shapes[1] else Code.OPERAND_MISMATCH,
            places[0],
            Related(places[1], "instruction"),
            what="quote",
            value=dump.label(number, NONE),
        )
        if is_first_odd:
            # All others differ from it; once is enough.
            text = data[start:end]


def _shape_finding(dump: DumpSet, doubts: Doubts, value: int, quoted: Place, shapes: tuple[bytes, bytes]) -> Finding:
    """A value's shape against the one in the quote of its instruction."""
    assert dump.assignment is not None, "its shape is there"
    doubts.doubt_values(np.array([value]))
    row = int(dump.values.slice[value])
    shape, found = shapes
    slice_place = Place(dump.assignment, int(dump.slices.shape_start[row]), int(dump.slices.end[row]))
    instruction = read_instruction(quoted.file.document.data, quoted.start, quoted.end)
    quote = Place(quoted.file, instruction.shape_start, instruction.shape_end) if instruction else quoted
    # The size was not changed with the shape: which of them does it fit? Tiles are rounded up.
    sizes = [_byte_size(text) for text in (shape, found)]
    is_quote_wrong = dump.values.size_bytes[value] == sizes[0] != sizes[1] and b":T(" not in shape + found
    return error(
        Code.SHAPE_MISMATCH,
        quote if is_quote_wrong else slice_place,
        Related(slice_place, "slice") if is_quote_wrong else Related(quote, "instruction"),
        what="value" if found else "index",
        value=dump.value_label(value),
        shape=shape.decode("utf-8", "replace"),
        expected=found.decode("utf-8", "replace"),
    )


def _byte_size(shape: bytes) -> int | None:
    parsed = parse_shape(shape)
    return parsed.byte_size if parsed else None


def size_below_shape(dump: DumpSet, doubts: Doubts) -> Iterator[Finding]:
    """Arrays that have fewer bytes than their shape needs. Tuples are tables of pointers, whose width differs, and of a
    layout that is split between cores each has a part.
    """
    values, logical = dump.values, dump.logical_bytes
    if dump.assignment is None:
        return
    for value in np.flatnonzero((logical > values.size_bytes) & (values.slice != NONE) & ~doubts.values).tolist():
        text = dump.shape(value) or b""
        shape = None if text.startswith(b"(") else parse_shape(text)
        if isinstance(shape, ArrayShape) and not shape.is_split:
            doubts.doubt_values(np.array([value]))
            yield error(
                Code.SIZE_BELOW_SHAPE,
                row_place(dump.assignment, dump.slices, int(values.slice[value])),
                value=dump.value_label(value),
                shape=text.decode("utf-8", "replace"),
                size_bytes=int(values.size_bytes[value]),
                shape_bytes=int(logical[value]),
            )
