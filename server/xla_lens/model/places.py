"""Where a dump set tells of something: the bytes of the rows and of the names in them."""

from dataclasses import dataclass

import numpy as np

from xla_lens.model.dump_set import DumpSet
from xla_lens.model.members import Member
from xla_lens.syntax.columns import NONE, ReportRows, ReportTables, Table


@dataclass(frozen=True, slots=True)
class Place:
    """Some bytes of a file of the set."""

    member: Member
    start: int
    end: int


def row_place(member: Member, table: Table, row: int) -> Place:
    """A whole row of a table of a file."""
    return Place(member, int(table.start[row]), int(table.end[row]))


def slice_place(dump: DumpSet, value: int) -> Place | None:
    """The value in its row of the allocation: ``<8 fusion{0} @0>``."""
    row = dump.values.slice[value]
    if dump.assignment is None or row == NONE:
        return None
    return Place(dump.assignment, int(dump.slices.value_start[row]), int(dump.slices.value_end[row]))


def used_value_place(dump: DumpSet, value: int) -> Place | None:
    """The header of the value among the used values."""
    row = int(dump.values.used_value[value])
    return row_place(dump.used, dump.used_values, row) if dump.used and row != NONE else None


def allocation_place(dump: DumpSet, allocation: int) -> Place | None:
    """The header of an allocation."""
    if dump.assignment is None or allocation == NONE:
        return None
    return row_place(dump.assignment, dump.allocations, allocation)


def live_range_place(dump: DumpSet, value: int) -> Place | None:
    """The value's name and index in its live range."""
    row = dump.values.live_range[value]
    if dump.live is None or row == NONE:
        return None
    return Place(dump.live, int(dump.live_ranges.start[row]), int(dump.live_ranges.value_end[row]))


def schedule_place(dump: DumpSet, row: int) -> Place | None:
    """The instruction's name in a row of the schedule."""
    if dump.live is None or row == NONE:
        return None
    return Place(dump.live, int(dump.schedule.name_start[row]), int(dump.schedule.end[row]))


def report_table_allocation(dump: DumpSet, table: ReportTables | ReportRows, row: int) -> int:
    """The allocation that a table or a row of a report is about, NONE if there is none."""
    if table.index[row] != NONE:
        return dump.allocation_row(int(table.index[row]))
    return allocation_by_size(dump, int(table.color[row]), int(table.table[row]))


def allocation_by_size(dump: DumpSet, color: int, place: int) -> int:
    """The allocation of a memory space at a place in the order of reports, the biggest first; NONE past those."""
    rows = np.flatnonzero(dump.allocations.color == color)
    rows = rows[np.lexsort((dump.allocations.index[rows], -dump.allocations.size_bytes[rows]))]
    return int(rows[place]) if place < len(rows) else NONE
