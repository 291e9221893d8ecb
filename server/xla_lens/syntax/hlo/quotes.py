"""The reader of many quoted instructions at once: their names, shapes and operands as columns.

It is written in C and reads only the usual form, `%name = shape opcode(operands)`. `syntax/hlo/instruction.py` reads
all other forms, one instruction at a time. A test holds the two equal.
"""

from enum import IntEnum

import numpy as np
from msgspec import Struct

import tree_sitter_xla_dump
from xla_lens.syntax.columns import NO_TEXTS, Column, Pairs, Texts
from xla_lens.syntax.texts import column, span_cells


class QuoteParts(IntEnum):
    """How much of each instruction to read; each part includes those before it."""

    NAMES = 0
    HEADS = 1
    OPERANDS = 2


class Quotes(Struct, frozen=True, eq=False):
    """One row for each quoted instruction. Everything that was not read is NONE.

    `name` is NONE if the name is unknown, the spans of the shape and the opcode if the text is not of the usual form,
    `parameter` if the instruction is not a parameter with a number of the usual length, `operand_count` if the list of
    operands is not of the usual form. `operands` has the operands of all rows one after another, NONE for unknown
    names. Names are rows of the names that were passed to `read_quotes`.
    """

    name: Column
    shape_start: Column
    shape_end: Column
    opcode_start: Column
    opcode_end: Column
    parameter: Column
    operand_count: Column
    operands: Column


def read_quotes(data: bytes, start: Column, end: Column, parts: QuoteParts, names: Texts = NO_TEXTS) -> Quotes:
    """Read the instructions at some spans of a text."""
    spans, name_spans = span_cells(data, start, end), span_cells(names.block, names.offsets[:-1], names.offsets[1:])
    found, operands = tree_sitter_xla_dump.read_quotes(data, spans, names.block, name_spans, parts)
    return Quotes(*map(column, (*found, *operands)))


class DifferingPart(IntEnum):
    """The first part in which two texts of an instruction differ. The rest are constants, metadata, backend
    configurations and whatever is not of the usual form.
    """

    NONE = 0
    SHAPE = 1
    OPCODE = 2
    OPERANDS = 3
    ATTRIBUTES = 4
    REST = 5


def differences(data: bytes, span: Pairs, module: bytes, module_span: Pairs) -> Column:
    """Return for each row the `DifferingPart` of a quoted instruction and the one in the module, or of two
    quotes.
    """
    spans, module_spans = span_cells(data, *span), span_cells(module, *module_span)
    return np.frombuffer(tree_sitter_xla_dump.differences(data, spans, module, module_spans), np.int8)
