"""Where a module names its instructions and computations, all at once: a name may be part of many others, and to search
the text for it takes as long as the text is.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from typing import Final

import numpy as np

from xla_lens.syntax.columns import NONE, Column
from xla_lens.syntax.hlo.lexical import BARE_NAME, REFERENCE
from xla_lens.syntax.hlo.module import ModuleColumns


@dataclass(frozen=True, eq=False)
class HloReferences:
    """The words that may be names, but for those that define, in the order of the text. `start` is that of the name
    without ``%``; `instruction` and `computation` are the rows that it would mean, NONE for none.
    """

    start: Column
    instruction: Column
    computation: Column

    @cached_property
    def _by_instruction(self) -> Column:
        return np.argsort(self.instruction, kind="stable")

    @cached_property
    def _by_computation(self) -> Column:
        return np.argsort(self.computation, kind="stable")

    def of_instruction(self, row: int) -> Column:
        """Where the name of an instruction may stand, in the order of the text."""
        return self.start[_rows(self.instruction, self._by_instruction, row)]

    def of_computation(self, row: int) -> Column:
        """Where the name of a computation may stand, in the order of the text."""
        return self.start[_rows(self.computation, self._by_computation, row)]

    def computations_between(self, start: int, end: int) -> tuple[Column, Column]:
        """Where names of computations may stand between two bytes, in the order of the text, and what they are."""
        rows = np.arange(*self.start.searchsorted((start, end)))
        rows = rows[self.computation[rows] != NONE]
        return self.start[rows], self.computation[rows]

    def prepare(self) -> None:
        """Derives what is derived."""
        _ = self._by_instruction, self._by_computation


def _rows(column: Column, order: Column, row: int) -> Column:
    first, last = column.searchsorted((row, row + 1), sorter=order)
    return order[first:last]


_BARE: Final = re.compile(rb"(?<![^\s{(,=%/])(" + BARE_NAME + rb")(?=[\s,)}]|\Z)")
_ELEMENT: Final = re.compile(rb"(.+)#[0-9]+")
_MOST: Final = 1 << 31
_CHUNK: Final = 1 << 18
"""Bytes that are looked at in one go: others wait for so long."""


def read_references(
    data: bytes, columns: ModuleColumns, instructions: Mapping[bytes, int], computations: Mapping[bytes, int]
) -> HloReferences:
    """The references of a module whose instructions and computations have some names."""
    name_start = columns.instructions.name_start
    is_signed = len(name_start) > 0 and bool((np.frombuffer(data, np.uint8)[name_start - 1] == ord("%")).all())
    pattern = REFERENCE if is_signed else _BARE
    definitions = np.sort(np.concatenate((name_start, columns.computations.name_start, (len(data),))))
    # Half as wide as other columns: there are hundreds of thousands of rows.
    number_type = np.int32 if len(data) < _MOST else np.int64
    parts = [np.zeros((3, 0), number_type)]
    for first, last in _chunks(data):
        found = [(match.start(1), match[1]) for match in pattern.finditer(data, first, last)]
        names = [name for _, name in found]
        rows = [*map(instructions.get, names, repeat(NONE))]
        for number, name in enumerate(names):
            if rows[number] == NONE and (element := _ELEMENT.fullmatch(name)):
                rows[number] = instructions.get(element[1], NONE)
        of_computations = [*map(computations.get, names, repeat(NONE))]
        # All at once would keep others from their turn.
        part = np.array(([start for start, _ in found], rows, of_computations), number_type)
        is_definition = definitions[definitions.searchsorted(part[0])] == part[0]
        parts.append(part[:, ((part[1] != NONE) | (part[2] != NONE)) & ~is_definition])
    return HloReferences(*np.concatenate(parts, axis=1))


def _chunks(data: bytes) -> Iterator[tuple[int, int]]:
    """Parts of a text, each to the end of a line."""
    start = 0
    while start < len(data):
        end = data.find(b"\n", start + _CHUNK) + 1 or len(data)
        yield start, end
        start = end
