"""What the instructions of an HLO module are, and where they come from, as columns."""

import numpy as np
from msgspec import Struct

import tree_sitter_xla_dump
from xla_lens.syntax.columns import Column
from xla_lens.syntax.hlo.lexical import unquoted
from xla_lens.syntax.hlo.module import Instructions
from xla_lens.syntax.texts import column, number_texts, span_cells


class Sources(Struct, frozen=True, eq=False):
    """One row for each instruction of a module. `opcode` and `op_name` are rows of `opcodes` and `op_names`, which has
    each op_name once, as thousands of instructions share one. Both are empty for an instruction that is not of the
    usual form. `stack_frame_id` is NONE without one.
    """

    opcodes: tuple[bytes, ...]
    op_names: tuple[str, ...]
    opcode: Column
    op_name: Column
    stack_frame_id: Column


def read_sources(data: bytes, instructions: Instructions) -> Sources:
    """Read the sources of the instructions in the text of a module."""
    spans = span_cells(data, instructions.start, instructions.end)
    *cells, frame = map(column, tree_sitter_xla_dump.instruction_sources(data, spans))
    opcodes, opcode = _distinct(data, *cells[:2])
    op_names, op_name = _distinct(data, *cells[2:])
    return Sources(opcodes, tuple(map(unquoted, op_names)), opcode, op_name, frame)


def _distinct(data: bytes, start: Column, end: Column) -> tuple[tuple[bytes, ...], Column]:
    """Distinct texts, and for each span the row of its text: an empty one for what is missing."""
    start, end = np.maximum(start, 0), np.maximum(end, 0)
    numbers, first = number_texts(data, start, end)
    return tuple(data[slice(*span)] for span in zip(start[first].tolist(), end[first].tolist(), strict=True)), numbers
