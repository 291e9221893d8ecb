"""Blocks: consecutive lines of a file that belong together, such as a section or an allocation. Two blocks are either
nested or disjoint.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.tables.lookup import taken
from xla_lens.syntax.columns import NONE, Column, Positions, Table, Uses, place_in


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """One row for each block, from byte `start` to `end`, unsorted: sections and their parts; allocations with their
    values; used values with their lists and instructions, and each of these lists and instructions; frames of the stack
    trace with the frames below; tables of memory usage reports with the headers of their allocations.

    `is_before_header` is whether the next used value may begin in the last line of a block.
    """

    start: Column
    end: Column
    is_before_header: NDArray[np.bool_]


def blocks(file: DumpFile, first: int, last: int) -> Blocks:
    """Return the blocks of a file that touch the bytes from `first` to `last`."""
    starts, ends, before_headers = [], [], []
    for start, end, is_before_header in _all(file, first, last):
        touching = (start <= last) & (first <= end)
        starts.append(start[touching])
        ends.append(end[touching])
        before_headers.append(np.full(len(starts[-1]), is_before_header))
    return Blocks(np.concatenate(starts), np.concatenate(ends), np.concatenate(before_headers))


def _all(file: DumpFile, first: int, last: int) -> Iterator[tuple[Column, Column, bool]]:
    """The blocks of each kind. They include all blocks that touch the bytes from `first` to `last`."""
    columns = file.columns
    yield columns.sections.start, columns.sections.end, False
    table, rows = columns.allocations, _rows(columns.allocations, first, last)
    values_end = _last_end(columns.slices, table.first_slice[rows], table.slice_count[rows])
    yield table.start[rows], np.maximum(table.end[rows], values_end), False
    yield from _used_values(file, _rows(columns.used_values, first, last))
    yield columns.stack_traces.start, _subtree_ends(file), False
    yield _table_starts(file), columns.report_tables.end, False


def _rows(table: Table, first: int, last: int) -> Column:
    """The rows of a table that start between two bytes, and the row before them."""
    return np.arange(max(0, place_in(table.start, first) - 1), place_in(table.start, last, "right"))


def _last_end(table: Table, first: Column, count: Column) -> Column:
    """The end of the last of `count` rows from `first` on, NONE if `count` is 0."""
    return taken(table.end, np.where(count > 0, first + count - 1, NONE))


def _used_values(file: DumpFile, rows: Column) -> Iterator[tuple[Column, Column, bool]]:
    columns, used = file.columns, file.columns.used_values
    positions = used.first_position[rows], used.position_count[rows]
    uses = used.first_use[rows], used.use_count[rows]
    positions_end, uses_end = _last_end(columns.positions, *positions), _last_end(columns.uses, *uses)
    positions_start = _list_start(file, columns.positions, *positions)
    uses_start = _list_start(file, columns.uses, *uses)
    start, end = used.instruction_start[rows], used.instruction_end[rows]
    yield used.start[rows], np.max((used.end[rows], positions_end, uses_end, end), axis=0), True
    listed = positions_start != NONE
    yield positions_start[listed], positions_end[listed], False
    # If lines are missing or repeated, one list can lie inside the other.
    listed = (uses_start != NONE) & ((positions_end < uses_start) | (uses_end < positions_start))
    yield uses_start[listed], uses_end[listed], False
    line_starts, quoting = file.document.line_starts, start != NONE
    line_start = line_starts[line_starts.searchsorted(start[quoting], "right") - 1]
    yield line_start + len(" "), end[quoting], True


def _list_start(file: DumpFile, table: Positions | Uses, first: Column, count: Column) -> Column:
    """The start of the lists of `count` rows from `first` on, including the keyword in the line above. NONE for fewer
    than two rows.
    """
    starts, several = np.full(len(count), NONE), np.flatnonzero(count > 1)
    start, line_starts = table.start[first[several]], file.document.line_starts
    above = line_starts[np.maximum(line_starts.searchsorted(start, "right") - 2, 0)] + len(" ")
    word = b"positions" if isinstance(table, Positions) else b"uses"
    has_word = np.frombuffer(file.document.data, np.uint8)[above] == word[0]
    starts[several] = np.where(has_word, above, start)
    return starts


def _subtree_ends(file: DumpFile) -> Column:
    """The end of the last frame below each frame, or of the frame itself."""
    traces = file.columns.stack_traces
    part, ends = _part(file, traces.start), traces.end.copy()
    is_first = np.append(True, part[1:] != part[:-1])[: len(traces)]
    for depth in np.unique(traces.depth).tolist():
        rows = np.flatnonzero(traces.depth == depth)
        others = np.append(np.flatnonzero((traces.depth <= depth) | is_first), len(traces))
        ends[rows] = traces.end[others[others.searchsorted(rows, "right")] - 1]
    return ends


def _table_starts(file: DumpFile) -> Column:
    tables, headers = file.columns.report_tables, file.columns.report_allocations
    row = headers.start.searchsorted(tables.start) - 1
    header = taken(headers.start, row)
    is_above = (header > np.append(NONE, tables.end)[:-1]) & (_part(file, header) == _part(file, tables.start))
    return np.where(is_above & (taken(headers.index, row) == tables.index), header, tables.start)


def _part(file: DumpFile, offsets: Column) -> Column:
    """A number for each offset. Two offsets have the same number if no section starts or ends between them."""
    sections = file.columns.sections
    return sections.start.searchsorted(offsets, "right") + np.sort(sections.end).searchsorted(offsets)
