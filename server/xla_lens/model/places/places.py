"""Places in the files of a dump set: the bytes of rows and of the names in them."""

from collections.abc import Iterator

import numpy as np
from msgspec import Struct

from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.lookup import first_rows, taken
from xla_lens.syntax.columns import NONE, Column, FileTable, rows_of
from xla_lens.syntax.tables import LiveRanges, ReportRows, ReportTables
from xla_lens.text.positions import position_from_1


class Place(Struct, frozen=True):
    """The bytes from `start` to `end` of a file."""

    file: DumpFile
    start: int
    end: int

    @property
    def position_from_1(self) -> dict[str, int]:
        """The row and the column of its start as people count them: from 1, the column in characters."""
        return position_from_1(self.file.document, self.start)


def row_places(
    file: DumpFile, table: FileTable, rows: range | Column, start: str = "start", end: str = "end"
) -> Iterator[Place]:
    """The places of rows of a table, from one column to another."""
    columns = (getattr(table, column)[rows].tolist() for column in (start, end))
    return (Place(file, *span) for span in zip(*columns, strict=True))


def row_place(file: DumpFile, table: FileTable, row: int, start: str = "start", end: str = "end") -> Place:
    """The place of a row of a table, from one column to another."""
    return Place(file, *table.span(row, start, end))


def _known_place(
    file: DumpFile | None, table: FileTable, row: int, start: str = "start", end: str = "end"
) -> Place | None:
    """The place of a row of a table, None without the file or the row."""
    return row_place(file, table, row, start, end) if file and row != NONE else None


def slice_place(dump: DumpSet, value: int) -> Place | None:
    """The place of a value in its row of the allocation: ``<8 fusion{0} @0>``."""
    return _known_place(dump.assignment, dump.slices, dump.values.slice[value], "value_start", "value_end")


def value_places(dump: DumpSet, file: DumpFile, allocation: int) -> Iterator[Place]:
    """The places of the values in the rows of an allocation."""
    rows = rows_of(dump.allocations.first_slice, dump.allocations.slice_count, allocation)
    return row_places(file, dump.slices, rows, "value_start", "value_end")


def used_value_place(dump: DumpSet, value: int) -> Place | None:
    """The place of a value's header among the used values, None if there is none."""
    return _known_place(dump.used, dump.used_values, dump.values.used_value[value])


def value_place(dump: DumpSet, value: int) -> Place | None:
    """The place that shows most about a value: its header among the used values, else its row in the allocation."""
    return used_value_place(dump, value) or slice_place(dump, value)


def used_value_block(dump: DumpSet, file: DumpFile, row: int) -> Place:
    """The place of a header among the used values, with the positions, uses and instruction below it."""
    used = dump.used_values
    ends = dump.positions.end[dump.positions_of(row)], dump.uses.end[dump.uses_of(row)]
    end = max(used.end[row], used.instruction_end[row], *(int(column.max(initial=0)) for column in ends))
    return Place(file, used.start.item(row), int(end))


def allocation_place(dump: DumpSet, allocation: int) -> Place | None:
    """The place of an allocation's header."""
    return _known_place(dump.assignment, dump.allocations, allocation)


def live_range_place(dump: DumpSet, value: int) -> Place | None:
    """The place of a value's name and index in its live range."""
    return _known_place(dump.live, dump.live_ranges, dump.values.live_range[value], "start", "value_end")


def schedule_place(dump: DumpSet, row: int) -> Place | None:
    """The place of the instruction name in a row of the schedule."""
    return _known_place(dump.live, dump.schedule, row, "name_start")


def step_place(dump: DumpSet, row: int) -> Place | None:
    """The place of the step in a row of the schedule."""
    name = schedule_place(dump, row)
    return Place(name.file, dump.schedule.start.item(row), name.start - len(b":")) if name else None


def live_range_steps(file: DumpFile, table: LiveRanges, row: int) -> tuple[Place, Place]:
    """The places of the first and last step in a live range."""
    start, end = table.value_end.item(row) + len(b":"), table.end.item(row)
    # Either may be negative.
    dash = file.document.data.index(b"-", start + 1, end)
    return Place(file, start, dash), Place(file, dash + 1, end)


def use_places(dump: DumpSet, file: DumpFile, rows: range | Column) -> Iterator[tuple[Place, int]]:
    """The places of rows of `DumpSet.uses`, each with the end of the reading instruction's name. The operand number
    follows the name.
    """
    uses = dump.uses
    columns = (uses.start[rows].tolist(), uses.end[rows].tolist(), uses.name[rows].tolist())
    for start, end, name in zip(*columns, strict=True):
        yield Place(file, start, end), start + len(dump.names[name])


def total_place(dump: DumpSet) -> Place | None:
    """The place of the total, which XLA prints before the used values."""
    file = dump.used if dump.used and len(dump.used.columns.totals) else dump.assignment
    return row_place(file, dump.totals, 0) if file and len(dump.totals) else None


def report_table_allocations(dump: DumpSet, table: ReportTables | ReportRows, rows: Column) -> Column:
    """Return the allocations of tables or rows of a report, NONE where there is none. A report identifies an allocation
    by its index, or by its rank by size in its memory space.
    """
    allocations = dump.allocations
    by_index = first_rows(table.index[rows], allocations.index, np.arange(len(allocations)))
    order = np.lexsort((allocations.index, -allocations.size_bytes, allocations.color))
    first, last = (allocations.color[order].searchsorted(table.color[rows], side) for side in ("left", "right"))
    place = first + table.table[rows]
    by_size = taken(order, np.where((first <= place) & (place < last), place, NONE))
    return np.where(table.index[rows] != NONE, by_index, by_size)
