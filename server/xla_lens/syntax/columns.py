"""The contents of one dump file as columns of integers: one table for each kind of line, one row for each line. The
tables themselves are in `tables.py`.

Offsets, rows and counts of rows have 32 bits, except in files of 2 GiB or more. Numbers that the dump prints have 64,
except columns of ids, steps and the like in which all have less than 31 bits. Every table has `start` and `end`, the
bytes of the row in the file without indentation and line end; rows are in the order of the file. Names and shape
indices are stored as numbers, rows of `FileColumns.names` and `FileColumns.indices`.
"""

from collections.abc import Iterable, Iterator, Sequence
from enum import IntFlag
from itertools import accumulate
from typing import Any, Final, Literal, Self, SupportsIndex, TypeAlias

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from xla_lens.text.document import Span

Column: TypeAlias = NDArray[np.signedinteger]
Mask: TypeAlias = NDArray[np.bool_]
"""A column that says of each row whether something holds."""

Pairs: TypeAlias = tuple[Column, Column]
"""Two columns of equal length: the cells of a row belong together."""

Rows: TypeAlias = tuple[int, ...]
"""The numbers of some rows of a table, such as values."""

NONE: Final = -1
"""In any column: the line does not contain the value."""


class Kind(IntFlag):
    """The kinds of an allocation from its header (BufferAllocation::ToShortString)."""

    CONSTANT = 1
    THREAD_LOCAL = 2
    MAYBE_LIVE_OUT = 4
    PREALLOCATED_TEMP = 8
    PARAMETER = 16
    OUTPUT = 32


class Columns(Struct, frozen=True, eq=False):
    """Columns of equal length."""

    def __len__(self) -> int:
        return len(getattr(self, self.__struct_fields__[0]))


class FileTable(Columns, frozen=True):
    """A table of a file, with the span of each row."""

    start: Column
    end: Column

    def span(self, row: int, start: str = "start", end: str = "end") -> Span:
        """Return the bytes of a row, from one column to another."""
        return int(getattr(self, start)[row]), int(getattr(self, end)[row])

    def touching(self, start: int, end: int, first: str = "start", last: str = "end") -> list[Span]:
        """Return the spans from column `first` to column `last` that touch bytes `start` to `end`, one for each row."""
        before, behind = (place_in(self.start, place, "right") for place in (start, end))
        rows = slice(max(0, before - 1), behind)
        spans = pairs(getattr(self, first)[rows], getattr(self, last)[rows])
        return [span for span in spans if span[0] <= end and start <= span[1]]

    @classmethod
    def of(cls, cells: Sequence[int]) -> Self:
        """Build the table from its `narrowed` cells, one row after another."""
        width = len(cls.__struct_fields__)
        return cls(*map(narrowed, np.array(cells, np.int64).reshape(-1, width).T))


def cells(*columns: NDArray[Any]) -> Iterator[tuple[int, ...]]:
    """Iterate over the rows of some columns of equal length, as numbers of Python."""
    return zip(*(column.tolist() for column in columns), strict=True)


def rows_of(first: Column, count: Column, row: int) -> range:
    """Return the rows of another table that belong to a row: its cell in `count` of them, from that in `first` on."""
    start = first.item(row)
    return range(start, start + count.item(row))


def pairs(first: NDArray[Any], second: NDArray[Any]) -> list[tuple[int, int]]:
    """Return the rows of two columns of equal length, as numbers of Python."""
    return list(zip(first.tolist(), second.tolist(), strict=True))


def narrowed(column: Column) -> Column:
    """Return a column with 32 bits if those are also enough for the sum of two of its numbers, else with 64."""
    is_small = column.min(initial=0) > -_SMALL and column.max(initial=0) < _SMALL
    return np.ascontiguousarray(column, np.int32 if is_small else np.int64)


_SMALL: Final = 1 << 30


def place_in(column: Column, number: int, side: Literal["left", "right"] = "left", order: Column | None = None) -> int:
    """Return where a number belongs in an ascending column, or in one that `order` sorts, like `searchsorted`. For a
    number of another type, numpy would convert the whole column.
    """
    limits = np.iinfo(column.dtype)
    if not limits.min <= number <= limits.max:
        return len(column) if number > 0 else 0
    return int(column.searchsorted(column.dtype.type(number), side, order))


class Texts:
    """Many texts in one block of bytes, which takes a fraction of the memory of as many bytes objects. Text `number`
    spans `offsets[number]` to `offsets[number + 1]`.
    """

    __slots__ = ("_view", "block", "offsets")

    def __init__(self, block: bytes, offsets: Column) -> None:
        self.block: bytes = block
        self.offsets: Column = offsets
        # Reading one number from a memory view is several times as fast as from an array.
        self._view = offsets.data

    @classmethod
    def of(cls, texts: Iterable[bytes]) -> Self:
        """Return some texts."""
        known = tuple(texts)
        return cls(b"".join(known), np.array([*accumulate(map(len, known), initial=0)], np.int64))

    def __len__(self) -> int:
        return len(self._view) - 1

    def __getitem__(self, number: SupportsIndex) -> bytes:
        row = int(number)
        if row < 0:
            raise IndexError(row)
        return self.block[self._view[row] : self._view[row + 1]]

    def __iter__(self) -> Iterator[bytes]:
        ends = self.offsets.tolist()
        return map(self.block.__getitem__, map(slice, ends, ends[1:]))

    def of_numbers(self, numbers: Column) -> list[bytes]:
        """Return the texts of some numbers."""
        starts, ends = self.offsets[numbers].tolist(), self.offsets[numbers + 1].tolist()
        return list(map(self.block.__getitem__, map(slice, starts, ends)))

    def starts_with(self, other: "Texts") -> bool:
        """Whether the first texts are those of `other`."""
        offsets = other.offsets
        return np.array_equal(self.offsets[: len(offsets)], offsets) and self.block.startswith(other.block)


NO_TEXTS: Final = Texts.of(())


class AllTables(Struct, frozen=True, eq=False):
    """The texts of a dump file, and the tables that `FileColumns` adds."""

    names: Texts
    indices: Texts

    @classmethod
    def empty(cls) -> Self:
        """Return tables without rows."""
        return cls(NO_TEXTS, NO_TEXTS, **{name: table.of(()) for name, table in cls.tables().items()})

    def has_rows(self) -> bool:
        """Whether the file has any line of a dump."""
        return any(len(getattr(self, name)) for name in self.tables() if name not in ("unknown_lines", "other_modules"))

    @classmethod
    def tables(cls) -> dict[str, type[FileTable]]:
        """Return the types of the tables by name."""
        return cls.__annotations__
