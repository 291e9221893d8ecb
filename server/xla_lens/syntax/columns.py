"""The contents of one dump file as columns of integers: one table for each kind of line, one row for each line.

Offsets, rows and counts of rows have 32 bits, except in files of 2 GiB or more. Numbers that the dump prints have 64,
except columns of ids, steps and the like in which all have less than 31 bits. Every table has `start` and `end`, the
bytes of the row in the file without indentation and line end; rows are in the order of the file. Names and shape
indices are stored as numbers, rows of `FileColumns.names` and `FileColumns.indices`.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from enum import IntEnum, IntFlag
from itertools import accumulate
from typing import Any, Final, Literal, Self, SupportsIndex, TypeAlias, dataclass_transform

import numpy as np
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


@dataclass_transform(eq_default=False, frozen_default=True)
class Columns:
    """Columns of equal length. Each subclass is a frozen dataclass."""

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True, eq=False)(cls)

    def __len__(self) -> int:
        return len(getattr(self, fields(self)[0].name))  # type: ignore[arg-type]


class Table(Columns):
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
        width = len(fields(cls))
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

    def starts_with(self, other: "Texts") -> bool:
        """Whether the first texts are those of `other`."""
        offsets = other.offsets
        return np.array_equal(self.offsets[: len(offsets)], offsets) and self.block.startswith(other.block)


NO_TEXTS: Final = Texts.of(())


class Allocations(Table):
    """The allocations. The values of each are `slice_count` rows of `Slices` from `first_slice` on. `start` and `end`
    span the header; a header that could not be read has no `index`.
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


class Slices(Table):
    """The values in the allocations. `allocation` is a row of `Allocations`. The row ends with the shape."""

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


class UsedValues(Table):
    """The used values, with the spans of the instructions that they quote. The positions of each are `position_count`
    rows of `Positions` from `first_position` on, its uses likewise rows of `Uses`. `start` and `end` span the header; a
    header that could not be read has no `id`.
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


class Positions(Table):
    """The positions of used values (HloPosition): an instruction and an index into its shape. `value` is a row of
    `UsedValues`.
    """

    value: Column
    name: Column
    index: Column


class Uses(Table):
    """The uses of used values (HloUse): operand number `operand` of the instruction `name` reads it, at `index` in that
    operand. `value` is a row of `UsedValues`.
    """

    value: Column
    name: Column
    operand: Column
    index: Column


class Schedule(Table):
    """The schedule (`InstructionSequence`). The name spans from `name_start` to the end of the row."""

    step: Column
    name: Column
    name_start: Column


class LiveRanges(Table):
    """The live ranges of the values, both ends included. The value's name and index end at `value_end`."""

    name: Column
    index: Column
    value_end: Column
    start_step: Column
    end_step: Column


class Peaks(Table):
    """The printed peaks. The values live there are `buffer_count` rows of `PeakBuffers` from `first_buffer` on."""

    first_buffer: Column
    buffer_count: Column
    step: Column


class PeakBuffers(Table):
    """The values printed as live at the peak. The value's name and index end at `value_end`."""

    name: Column
    index: Column
    value_end: Column
    size_bytes: Column
    cumulative_bytes: Column


class StackTraceHeaders(Table):
    """The header of the stack trace breakdown of the peak."""

    size_bytes: Column


class StackTraces(Table):
    """The tree of the stack trace breakdown. `depth` is 0 for a computation. The name may be any text."""

    depth: Column
    name_start: Column
    name_end: Column
    total_bytes: Column
    current_bytes: Column
    remaining_bytes: Column


class Totals(Table):
    """`Total bytes used`. The human-readable size spans `human_start` to `human_end`; releases before 2022 lack it."""

    size_bytes: Column
    human_start: Column
    human_end: Column


class OtherColorValues(Table):
    """The values listed as `reused by buffers of a different color`."""

    id: Column


class LiveRangeHeaders(Table):
    """`HloLiveRange (max N):`. `maximum` is the last step, NONE if XLA printed that live ranges are not available."""

    maximum: Column


class ReportAllocations(Table):
    """The allocations in a memory usage report. `cumulative_start` is where the cumulative size of a row of the list by
    size begins, NONE in the other list.
    """

    index: Column
    cumulative_start: Column


class ReportSpaces(Table):
    """The totals of memory spaces in a memory usage report, with the spans of the headers above them."""

    header_start: Column
    header_end: Column
    color: Column
    size_bytes: Column
    human_start: Column
    human_end: Column


class ReportRows(Table):
    """The rows of the tables in a memory usage report. Each covers the `values` values at one `offset`. The table is
    that of the allocation `index` or, where that is NONE, table number `table` of the memory space `color`. The row
    ends with the shapes.
    """

    offset: Column
    index: Column
    color: Column
    table: Column
    values: Column
    shapes_start: Column


class ReportTables(Table):
    """The tables in a memory usage report: `row_count` rows of `ReportRows` from `first_row` on. `rest` is the printed
    number of further offsets that the table omits. `index`, `color` and `table` are those of `ReportRows`.
    """

    index: Column
    color: Column
    table: Column
    first_row: Column
    row_count: Column
    rest: Column


class Section(IntEnum):
    """The sections of a dump."""

    BUFFER_ASSIGNMENT = 0
    USED_VALUES = 1
    LIVE_RANGES = 2
    INSTRUCTION_SEQUENCE = 3
    BUFFER_LIVE_RANGES = 4
    PEAK = 5
    STACK_TRACES = 6
    REPORT = 7


class Sections(Table):
    """The sections of the file, from their headers to their last rows. `section` is a `Section`."""

    section: Column


class UnknownLines(Table):
    """The lines and attributes that the grammar does not know."""


class OtherModules(Table):
    """In standard output with several modules, where files of other modules start. The tables leave those out."""

    name_start: Column
    name_end: Column


@dataclass(frozen=True, eq=False)
class FileColumns:
    """All tables of one dump file."""

    names: Texts
    indices: Texts
    allocations: Allocations
    slices: Slices
    used_values: UsedValues
    positions: Positions
    uses: Uses
    schedule: Schedule
    live_ranges: LiveRanges
    peaks: Peaks
    peak_buffers: PeakBuffers
    stack_trace_headers: StackTraceHeaders
    stack_traces: StackTraces
    totals: Totals
    other_color_values: OtherColorValues
    live_range_headers: LiveRangeHeaders
    report_allocations: ReportAllocations
    report_spaces: ReportSpaces
    report_rows: ReportRows
    report_tables: ReportTables
    sections: Sections
    unknown_lines: UnknownLines
    other_modules: OtherModules

    @classmethod
    def empty(cls) -> Self:
        """Return tables without rows."""
        return cls(NO_TEXTS, NO_TEXTS, **{name: table.of(()) for name, table in cls.tables().items()})  # type: ignore[arg-type]

    def has_rows(self) -> bool:
        """Whether the file has any line of a dump."""
        return any(len(getattr(self, name)) for name in self.tables() if name not in ("unknown_lines", "other_modules"))

    @classmethod
    def tables(cls) -> dict[str, type[Table]]:
        """Return the types of the tables by name."""
        return {name: kind for name, kind in cls.__annotations__.items() if issubclass(kind, Table)}
