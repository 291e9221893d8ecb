"""An index of all references to instructions and computations in a module.

Searching the text for one name takes time proportional to the text, and finds it within other names.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from xla_lens.model.hlo.rows_by_name import RowsByName
from xla_lens.model.tables.lookup import as_rows
from xla_lens.syntax.columns import NONE, Column, place_in
from xla_lens.syntax.hlo.lexical import BARE_NAME, REFERENCE
from xla_lens.syntax.hlo.module import ModuleColumns
from xla_lens.syntax.tree import check_cancelled


@dataclass(frozen=True, eq=False)
class References:
    """The words that may be references, in the order of the text, without definitions. `start` excludes the ``%`` sign.
    `instruction` and `computation` are the rows that the name would refer to, NONE for none.
    """

    start: Column
    instruction: Column
    computation: Column

    @cached_property
    def _by_instruction(self) -> Column:
        return as_rows(np.argsort(self.instruction, kind="stable"))

    @cached_property
    def _by_computation(self) -> Column:
        return as_rows(np.argsort(self.computation, kind="stable"))

    def of_instruction(self, row: int) -> Column:
        """Return where the name of an instruction may be referred to, in the order of the text."""
        return self.start[_rows(self.instruction, self._by_instruction, row)]

    def of_computation(self, row: int) -> Column:
        """Return where the name of a computation may be referred to, in the order of the text."""
        return self.start[_rows(self.computation, self._by_computation, row)]

    def computations_between(self, start: int, end: int) -> tuple[Column, Column]:
        """Return where computations may be referred to between two bytes, in the order of the text, and their rows."""
        rows = np.arange(place_in(self.start, start), place_in(self.start, end))
        rows = rows[self.computation[rows] != NONE]
        return self.start[rows], self.computation[rows]

    def prepare(self) -> None:
        """Build the derived columns now."""
        _ = self._by_instruction, self._by_computation


def _rows(column: Column, order: Column, row: int) -> Column:
    first, last = column.searchsorted(np.array((row, row + 1), column.dtype), sorter=order)
    return order[first:last]


_BARE: Final = re.compile(rb"(?<![^\s{(,=%/])(" + BARE_NAME + rb")(?=[\s,)}]|\Z)")
_ELEMENT: Final = re.compile(rb"(.+)#[0-9]+")
_MAX_32_BIT: Final = 1 << 31
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
    # 32 bits where offsets fit, because there are hundreds of thousands of rows.
    number_type = np.int32 if len(data) < _MAX_32_BIT else np.int64
    definitions = np.sort(
        np.concatenate((name_start, columns.computations.name_start, (len(data),)), dtype=number_type)
    )
    parts = [np.zeros((3, 0), number_type)]
    for first, last in _chunks(data):
        check_cancelled(is_cancelled)
        found = [(match.start(1), match[1]) for match in pattern.finditer(data, first, last)]
        names = [name for _, name in found]
        rows, of_computations = instructions.rows_of(names), computations.rows_of(names)
        for number in np.flatnonzero(rows == NONE).tolist():
            if element := _ELEMENT.fullmatch(names[number]):
                rows[number] = instructions.get(element[1], NONE)
        # Convert by chunk: one conversion of all would block other threads.
        part = np.array(([start for start, _ in found], rows, of_computations), number_type)
        is_definition = definitions[definitions.searchsorted(part[0])] == part[0]
        parts.append(part[:, ((part[1] != NONE) | (part[2] != NONE)) & ~is_definition])
    return References(*np.concatenate(parts, axis=1))


def _chunks(data: bytes) -> Iterator[tuple[int, int]]:
    """The spans of chunks of a text, each to the end of a line."""
    start = 0
    while start < len(data):
        end = data.find(b"\n", start + _CHUNK) + 1 or len(data)
        yield start, end
        start = end
