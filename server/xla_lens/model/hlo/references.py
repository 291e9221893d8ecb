"""An index of all references to instructions and computations in a module.

Searching the text for one name takes time proportional to the text, and finds it within other names.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from xla_lens.model.hlo.rows_by_name import RowsByName
from xla_lens.model.tables.lookup import as_rows
from xla_lens.syntax.columns import NONE, Column, place_in
from xla_lens.syntax.hlo.lexical import BARE_NAME, REFERENCE, operand_position
from xla_lens.syntax.hlo.module import ModuleColumns
from xla_lens.syntax.tree import check_cancelled


@dataclass(frozen=True, slots=True, eq=False)
class References:
    """The words that may be references, without definitions. The offsets of words exclude the ``%`` sign.

    `instruction_words` are those of instructions, by the row of the instruction, then in the order of the text. Those
    of a row begin at `first_of_instruction`, which has an additional row for the end. `computation_words` are those of
    computations in the order of the text, and `computation` are the rows that they name.
    """

    instruction_words: Column
    first_of_instruction: Column
    computation_words: Column
    computation: Column

    def of_instruction(self, row: int) -> Column:
        """Return where the name of an instruction may be referred to, in the order of the text."""
        first, last = self.first_of_instruction[row : row + 2].tolist()
        return self.instruction_words[first:last]

    def of_computation(self, row: int) -> Column:
        """Return where the name of a computation may be referred to, in the order of the text."""
        words: Column = self.computation_words[self.computation == row]
        return words

    def computations_between(self, start: int, end: int) -> tuple[Column, Column]:
        """Return where computations may be referred to between two bytes, in the order of the text, and their rows."""
        rows = slice(place_in(self.computation_words, start), place_in(self.computation_words, end))
        return self.computation_words[rows], self.computation[rows]


_BARE: Final = re.compile(rb"(?<![^\s{(,=%/])(" + BARE_NAME + rb")(?=[\s,)}]|\Z)")
_OFFSET_BITS: Final = 40
_OFFSET: Final = (1 << _OFFSET_BITS) - 1
_CHUNK: Final = 1 << 14
"""Bytes searched at once. The interpreter's lock is held that long."""


def read_references(
    data: bytes,
    columns: ModuleColumns,
    instructions: RowsByName,
    computations: RowsByName,
    is_cancelled: Callable[[], bool] = lambda: False,
) -> References:
    """Find the references in a module. `instructions` and `computations` are the rows by name. Raises `Cancelled` once
    `is_cancelled` returns True.
    """
    name_start = columns.instructions.name_start
    is_signed = len(name_start) > 0 and bool((np.frombuffer(data, np.uint8)[name_start - 1] == ord("%")).all())
    pattern = REFERENCE if is_signed else _BARE
    definitions = np.sort(np.concatenate((name_start, columns.computations.name_start, (len(data),))))
    # A number for each reference, which holds the row before the offset and takes less memory than an order of rows.
    of_instructions, of_computations = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for first, last in _chunks(data):
        check_cancelled(is_cancelled)
        found = [(match.start(1), match[1]) for match in pattern.finditer(data, first, last)]
        names = [name for _, name in found]
        rows = instructions.rows_of(names)
        for number in np.flatnonzero(rows == NONE).tolist():
            name, index = operand_position(names[number])
            if index:
                rows[number] = instructions.row(name)
        # Convert by chunk: one conversion of all would block other threads.
        starts = np.array([start for start, _ in found], np.int64)
        is_reference = definitions[definitions.searchsorted(starts)] != starts
        for parts, named in ((of_instructions, rows), (of_computations, computations.rows_of(names))):
            parts.append((named << _OFFSET_BITS | starts)[is_reference & (named != NONE)])
    numbers = np.concatenate(of_instructions)
    of_instructions.clear()
    numbers.sort()
    first_of_instruction = as_rows(numbers.searchsorted(np.arange(len(name_start) + 1) << _OFFSET_BITS))
    numbers &= _OFFSET
    of_computation = np.concatenate(of_computations)
    words = as_rows(of_computation & _OFFSET)
    return References(as_rows(numbers), first_of_instruction, words, as_rows(of_computation >> _OFFSET_BITS))


def _chunks(data: bytes) -> Iterator[tuple[int, int]]:
    """The spans of chunks of a text, each to the end of a line."""
    start = 0
    while start < len(data):
        end = data.find(b"\n", start + _CHUNK) + 1 or len(data)
        yield start, end
        start = end
