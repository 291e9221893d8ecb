"""Folding and selection ranges of dump files and HLO modules.

What folds in a dump: its parts, allocations, used values and their lists, stack frames, and tables of reports; in a
module: computations, instructions that span lines, and the tables of stack frames.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from xla_lens.model.hlo.module import HloModule
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.tables.lookup import biggest, taken
from xla_lens.syntax.columns import NONE, Column, Positions, Table, Uses, place_in
from xla_lens.syntax.excerpt import nodes_at
from xla_lens.syntax.hlo.enclosing import enclosing, nested
from xla_lens.text.document import Document

# ---------------------------------------------------------------- folding


def folds(file: DumpFile, limit: int) -> list[tuple[int, int]]:
    """Return the spans of a dump file to fold, each of at least two lines, in the order of the text. Keeps the `limit`
    spans with the most lines. Spans that share lines are nested.
    """
    found, line_starts = _blocks(file, 0, len(file.document.data)), file.document.line_starts
    end = found.end
    if len(shared := _shared_lines(file)):
        last_line = line_starts.searchsorted(end, "right") - 1
        is_shared = np.isin(last_line, shared) & found.is_before_header
        end = np.where(is_shared, line_starts[last_line] - 1, end)
    return _folds(file.document, found.start, end, limit)


def module_folds(module: HloModule, limit: int) -> list[tuple[int, int]]:
    """Return the spans of an HLO module to fold, like `folds`."""
    tables = module.columns.computations, module.columns.instructions, module.columns.stack_tables
    start, end = np.concatenate([table.start for table in tables]), np.concatenate([table.end for table in tables])
    return _folds(module.file.document, start, end, limit)


def _folds(document: Document, start: Column, end: Column, limit: int) -> list[tuple[int, int]]:
    first_line, last_line = (document.line_starts.searchsorted(place, "right") - 1 for place in (start, end))
    rows = np.flatnonzero(last_line > first_line)
    rows = rows[biggest((last_line - first_line)[rows], limit)]
    rows = rows[np.lexsort((-end[rows], start[rows]))]
    return list(zip(start[rows].tolist(), end[rows].tolist(), strict=True))


def _shared_lines(file: DumpFile) -> Column:
    """The lines where the header of a value follows the instruction of the previous value, as XLA printed in 2024."""
    document, starts = file.document, file.columns.used_values.start
    before = np.frombuffer(document.data, np.uint8)[np.maximum(starts - 1, 0)]
    lines: Column = document.line_starts.searchsorted(starts[before > ord("\r")], "right") - 1
    return lines


# ---------------------------------------------------------------- selection


def selection(file: DumpFile, offset: int, limit: int) -> list[tuple[int, int]]:
    """Return at most `limit` spans around a byte of a dump file, smallest first: word, row, list, block, section. Each
    is within the next, the last is the file. A place right behind a word belongs to the word.
    """
    return nested(_around(file, offset), offset, len(file.document.data), limit)


def _around(file: DumpFile, offset: int) -> Iterator[tuple[int, int]]:
    data, used = file.document.data, file.columns.used_values
    row = place_in(used.start, offset, "right") - 1
    start, end = (int(column[row]) if row >= 0 else NONE for column in (used.instruction_start, used.instruction_end))
    if start != NONE and start <= offset <= end:
        yield from _within(data, start, end, offset)
    else:
        nodes = nodes_at(data, file.columns, offset)
        yield from ((node_start, node_end) for _, node_start, node_end in nodes)
        if nodes and nodes[0][0] == "shape":
            yield from _within(data, *nodes[0][1:], offset)
    around = _blocks(file, offset, offset)
    yield from zip(around.start.tolist(), around.end.tolist(), strict=True)


def module_selection(module: HloModule, offset: int, limit: int) -> list[tuple[int, int]]:
    """Return at most `limit` spans around a byte of an HLO module, like `selection`: word, list or attribute,
    instruction or line, computation or table.
    """
    return nested(_around_in_module(module, offset), offset, len(module.data), limit)


def _around_in_module(module: HloModule, offset: int) -> Iterator[tuple[int, int]]:
    document, instruction = module.file.document, module.instruction_at(offset)
    start, end = module.span(instruction) if instruction != NONE else document.line_span(document.row(offset))
    yield from _within(module.data, start, end, min(offset, end))
    computation, tables = module.computation_at(offset), module.columns.stack_tables
    if computation != NONE:
        yield module.computation_span(computation)
    for row in ((tables.start <= offset) & (offset <= tables.end)).nonzero()[0].tolist():
        yield int(tables.start[row]), int(tables.end[row])


def _within(data: bytes, start: int, end: int, offset: int) -> Iterator[tuple[int, int]]:
    yield start, end
    spans = enclosing(data[start:end], offset - start)
    yield from ((start + span_start, start + span_end) for span_start, span_end in spans)


# ---------------------------------------------------------------- blocks


@dataclass(frozen=True, slots=True, eq=False)
class _Blocks:
    """Consecutive lines that belong together, nested or disjoint. One row for each, from byte `start` to `end`,
    unsorted: sections and their parts; allocations with their values; used values with their lists and instructions,
    and each of these lists and instructions; frames of the stack trace with the frames below; tables of memory usage
    reports with the headers of their allocations.

    `is_before_header` is whether the next used value may begin in the last line of a block.
    """

    start: Column
    end: Column
    is_before_header: NDArray[np.bool_]


def _blocks(file: DumpFile, first: int, last: int) -> _Blocks:
    """The blocks of a file that touch the bytes from `first` to `last`."""
    starts, ends, before_headers = [], [], []
    for start, end, is_before_header in _all(file, first, last):
        touching = (start <= last) & (first <= end)
        starts.append(start[touching])
        ends.append(end[touching])
        before_headers.append(np.full(len(starts[-1]), is_before_header))
    return _Blocks(np.concatenate(starts), np.concatenate(ends), np.concatenate(before_headers))


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
