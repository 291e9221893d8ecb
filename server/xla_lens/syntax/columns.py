"""What one file says, as columns of integers: a table for each kind of line, a row for each line of that kind, in the
order of the file.

Every table has `start` and `end`, the bytes of the row in the file, without indentation and line end. Names and indices
stand as numbers into `FileColumns.names` and `FileColumns.indices`.
"""

from dataclasses import dataclass, fields
from enum import IntEnum, IntFlag
from struct import Struct
from typing import Final, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

Column: TypeAlias = NDArray[np.int64]

NONE: Final = -1
"""In any column: the line does not say."""


class Kind(IntFlag):
    """What an allocation is for, as its header says (BufferAllocation::ToShortString)."""

    CONSTANT = 1
    THREAD_LOCAL = 2
    MAYBE_LIVE_OUT = 4
    PREALLOCATED_TEMP = 8
    PARAMETER = 16
    OUTPUT = 32


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Columns of one length."""

    start: Column
    end: Column

    @classmethod
    def of(cls, rows: bytes | bytearray) -> Self:
        """The table of rows that were written one after another, eight bytes a cell."""
        columns = np.frombuffer(rows, np.int64).reshape(-1, cls.width()).T
        return cls(*np.ascontiguousarray(columns))

    @classmethod
    def width(cls) -> int:
        """How many columns there are."""
        return len(fields(cls))

    def __len__(self) -> int:
        return len(self.start)


class Rows:
    """A table as it grows."""

    __slots__ = ("_pack", "cells")

    def __init__(self, table: type[Table]) -> None:
        # Packing is four times as fast as extending an array.
        self.cells = bytearray()
        self._pack = Struct(f"{table.width()}q")

    def add(self, *cells: int) -> None:
        """Writes a row; `cells` are in the order of the columns."""
        self.cells += self._pack.pack(*cells)

    @property
    def count(self) -> int:
        """How many rows there are."""
        return len(self.cells) // self._pack.size


@dataclass(frozen=True, slots=True, eq=False)
class Allocations(Table):
    """Headers of allocations. Its values are `slice_count` rows of `Slices` from `first_slice` on. A header that could
    not be read has no `index`.
    """

    first_slice: Column
    slice_count: Column
    index: Column
    size_bytes: Column
    color: Column
    kind: Column
    parameter: Column
    parameter_index: Column
    parameter_shape_start: Column
    parameter_shape_end: Column
    output_shape_start: Column
    output_shape_end: Column


@dataclass(frozen=True, slots=True, eq=False)
class Slices(Table):
    """The values in the allocations. `allocation` is the row in `Allocations`. The row ends with the shape."""

    allocation: Column
    id: Column
    name: Column
    index: Column
    color: Column
    value_start: Column
    value_end: Column
    size_bytes: Column
    offset: Column
    shape_start: Column


@dataclass(frozen=True, slots=True, eq=False)
class UsedValues(Table):
    """The headers of the used values. Positions, uses and instruction follow; the positions are `position_count` rows
    of `Positions` from `first_position` on, the uses likewise. A header that could not be read has no `id`.
    """

    first_position: Column
    position_count: Column
    first_use: Column
    use_count: Column
    id: Column
    name: Column
    index: Column
    color: Column
    instruction_start: Column
    instruction_end: Column


@dataclass(frozen=True, slots=True, eq=False)
class Positions(Table):
    """Where a used value can be seen: an instruction and an index into its shape."""

    value: Column
    name: Column
    index: Column


@dataclass(frozen=True, slots=True, eq=False)
class Uses(Table):
    """What reads a used value: operand number `operand` of the instruction `name`, at `index` in that operand."""

    value: Column
    name: Column
    operand: Column
    index: Column


@dataclass(frozen=True, slots=True, eq=False)
class Schedule(Table):
    """The instruction sequence. The name starts at `name_start`, to the end of the row."""

    step: Column
    name: Column
    name_start: Column


@dataclass(frozen=True, slots=True, eq=False)
class LiveRanges(Table):
    """The live range of each value, both ends included. The value's name and index end at `value_end`."""

    name: Column
    index: Column
    value_end: Column
    start_step: Column
    end_step: Column


@dataclass(frozen=True, slots=True, eq=False)
class Peaks(Table):
    """The header of the printed peak. What is live then are `buffer_count` rows of `PeakBuffers` from `first_buffer`
    on.
    """

    first_buffer: Column
    buffer_count: Column
    step: Column


@dataclass(frozen=True, slots=True, eq=False)
class PeakBuffers(Table):
    """What is printed as live at the peak. The value's name and index end at `value_end`."""

    name: Column
    index: Column
    value_end: Column
    size_bytes: Column
    cumulative_bytes: Column


@dataclass(frozen=True, slots=True, eq=False)
class StackTraceHeaders(Table):
    """The header of the tree of the peak by source."""

    size_bytes: Column


@dataclass(frozen=True, slots=True, eq=False)
class StackTraces(Table):
    """The tree of the peak by source. `depth` is 0 for a computation; `name_start` to `name_end` is any text."""

    depth: Column
    name_start: Column
    name_end: Column
    total_bytes: Column
    current_bytes: Column
    remaining_bytes: Column


@dataclass(frozen=True, slots=True, eq=False)
class Totals(Table):
    """Total bytes used. `human_start` to `human_end` is the size in a unit that fits; releases before 2022 lack it."""

    size_bytes: Column
    human_start: Column
    human_end: Column


@dataclass(frozen=True, slots=True, eq=False)
class OtherColorValues(Table):
    """The values that are in an allocation of another memory space than theirs, as it says itself."""

    id: Column


@dataclass(frozen=True, slots=True, eq=False)
class LiveRangeHeaders(Table):
    """`HloLiveRange (max N):`. `maximum` is the last step, NONE if the live ranges are not available."""

    maximum: Column


@dataclass(frozen=True, slots=True, eq=False)
class ReportAllocations(Table):
    """The headers of allocations in a memory usage report, with the spans of the sizes. Those of the list by size have
    the sizes of all up to there and of the rest before them.
    """

    index: Column
    size_start: Column
    size_end: Column
    cumulative_start: Column
    cumulative_end: Column
    remaining_start: Column
    remaining_end: Column


@dataclass(frozen=True, slots=True, eq=False)
class ReportSpaces(Table):
    """The total of a memory space in a report, below the header that ends at `header_end`."""

    header_start: Column
    header_end: Column
    color: Column
    size_bytes: Column
    human_start: Column
    human_end: Column


@dataclass(frozen=True, slots=True, eq=False)
class ReportRows(Table):
    """The rows of the tables in a memory usage report: the `values` values at one `offset`. The table is that of the
    allocation `index`, or, where that is NONE, table number `table` of the memory space `color`. The row ends with the
    shapes.
    """

    offset: Column
    index: Column
    color: Column
    table: Column
    cumulative_start: Column
    cumulative_end: Column
    size_start: Column
    size_end: Column
    values: Column
    shapes_start: Column


@dataclass(frozen=True, slots=True, eq=False)
class ReportTables(Table):
    """The tables in a memory usage report: `row_count` rows of `ReportRows` from `first_row` on, and `rest` more
    offsets that are not shown. Of which allocation they are, see there.
    """

    index: Column
    color: Column
    table: Column
    first_row: Column
    row_count: Column
    rest: Column


class Section(IntEnum):
    """The parts of a dump."""

    BUFFER_ASSIGNMENT = 0
    USED_VALUES = 1
    LIVE_RANGES = 2
    INSTRUCTION_SEQUENCE = 3
    BUFFER_LIVE_RANGES = 4
    PEAK = 5
    STACK_TRACES = 6
    REPORT = 7


@dataclass(frozen=True, slots=True, eq=False)
class Sections(Table):
    """The parts of the file, each from its header to its last row; `section` is a `Section`."""

    section: Column


@dataclass(frozen=True, slots=True, eq=False)
class UnknownLines(Table):
    """What the grammar does not know."""


@dataclass(frozen=True, slots=True, eq=False)
class OtherModules(Table):
    """Where files of other modules begin, on standard output that holds several. No table has anything of those."""

    name_start: Column
    name_end: Column
