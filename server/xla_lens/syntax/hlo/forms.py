"""Which instructions of an HLO module are alike: an unrolled loop over layers repeats the same ones again and again."""

import numpy as np
from msgspec import Struct

import tree_sitter_xla_dump
from xla_lens.syntax.columns import Column
from xla_lens.syntax.hlo.module import ModuleColumns
from xla_lens.syntax.texts import column, span_cells


class Forms(Struct, frozen=True, eq=False):
    """One row for each instruction of a module.

    Instructions with the same `form` compute the same from the same operands, in the computations that they call, too.
    It is a hash of all that is printed of them but names, the literals of constants, layouts, and what the backend and
    the source say. Of the op_name, all but digits counts. `operands` has the rows of the operands of all instructions,
    one after another, NONE for unknown ones. Where a release prints elements of a tuple as operands (`%while#1`), it is
    the row of the tuple. `form` and `operand_count` are NONE for instructions that are not of the usual form.
    """

    form: Column
    operand_count: Column
    operands: Column


def read_forms(data: bytes, columns: ModuleColumns) -> Forms:
    """Read the forms of the instructions in the text of a module."""
    instructions, computations = columns.instructions, columns.computations
    spans = span_cells(data, instructions.start, instructions.end)
    names = span_cells(data, instructions.name_start, instructions.name_end)
    computation_names = span_cells(data, computations.name_start, computations.name_end)
    members = np.stack((computations.first_instruction, computations.instruction_count), axis=1, dtype=np.int64)
    found, operands = tree_sitter_xla_dump.instruction_forms(
        data, np.hstack((spans, names)), np.hstack((computation_names, members))
    )
    return Forms(*map(column, (*found, *operands)))
