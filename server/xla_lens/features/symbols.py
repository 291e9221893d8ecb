"""Document symbols: sections, allocations with their values, used values and the printed peak.

A long outline keeps the largest allocations and values, in the order of the text. A truncated section shows its count.
"""

from collections.abc import Iterator

import numpy as np

from xla_lens.model.places.outline import Counted, Symbol, SymbolKind
from xla_lens.model.places.places import used_value_block
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.lookup import biggest
from xla_lens.syntax.columns import NONE, Column, Kind, Section, Table


def document_symbols(dump: DumpSet, file: DumpFile, limit: int) -> list[Symbol]:
    """Return the outline of a file of a dump set, with at most `limit` entries in each section."""
    sections = file.columns.sections
    roots: list[tuple[int, list[int]]] = []
    for row in range(len(sections)):
        if roots and sections.start[row] < sections.end[roots[-1][0]]:
            roots[-1][1].append(row)
        else:
            roots.append((row, []))
    return [
        _section(dump, file, row, limit, tuple(_section(dump, file, part, limit, ()) for part in parts))
        for row, parts in roots
    ]


def _section(dump: DumpSet, file: DumpFile, row: int, limit: int, parts: tuple[Symbol, ...]) -> Symbol:
    sections = file.columns.sections
    start, end = int(sections.start[row]), int(sections.end[row])
    header_end = min(file.document.line_span(file.document.row(start))[1], end)
    size, count, counted, children = None, len(parts), Counted.PART, parts
    match Section(int(sections.section[row])):
        case Section.BUFFER_ASSIGNMENT if file is dump.assignment:
            size, count = sum(dump.allocations.size_bytes.tolist()), len(dump.allocations)
            counted, children = Counted.ALLOCATION, tuple(_allocations(dump, limit))
        case Section.USED_VALUES if file is dump.used:
            count, counted = len(dump.used_values), Counted.VALUE
            children = tuple(_used_values(dump, file, limit))
        case Section.PEAK if file is dump.live:
            rows = np.flatnonzero((start <= dump.peak_buffers.start) & (dump.peak_buffers.end <= end))
            size, count = sum(dump.peak_buffers.size_bytes[rows].tolist()), len(rows)
            counted, children = Counted.VALUE, tuple(_peak_buffers(dump, rows[:limit]))
        case Section.INSTRUCTION_SEQUENCE:
            count, counted = len(file.columns.schedule), Counted.INSTRUCTION
        case Section.BUFFER_LIVE_RANGES:
            count, counted = len(file.columns.live_ranges), Counted.LIVE_RANGE
    name = file.document.data[start:header_end].decode("utf-8", "replace").strip().rstrip(":")
    return Symbol(name, SymbolKind.SECTION, start, end, start, header_end, size, None, count, counted, children)


def _allocations(dump: DumpSet, limit: int) -> Iterator[Symbol]:
    """The largest allocations, and the largest of their values."""
    table, slices = dump.allocations, dump.slices
    shown = biggest(table.size_bytes, limit)
    inside = np.flatnonzero(np.isin(slices.allocation, shown))
    values = inside[biggest(slices.size_bytes[inside], limit)]
    for row in shown.tolist():
        if table.index[row] == NONE:
            continue
        last = int(table.first_slice[row] + table.slice_count[row]) - 1
        rows = values[slices.allocation[values] == row].tolist()
        yield Symbol(
            f"allocation {table.index[row]}",
            SymbolKind.ALLOCATION,
            int(table.start[row]),
            int(slices.end[last]) if table.slice_count[row] else int(table.end[row]),
            int(table.start[row]),
            int(table.end[row]),
            int(table.size_bytes[row]),
            Kind(int(table.kind[row])),
            int(table.slice_count[row]),
            Counted.VALUE,
            tuple(_value(dump, slices, value, dump.value_of_slice) for value in rows),
        )


def _used_values(dump: DumpSet, file: DumpFile, limit: int) -> Iterator[Symbol]:
    table, values = dump.used_values, dump.value_of_used_value
    readable = np.flatnonzero(values != NONE)
    for row in readable[biggest(dump.values.size_bytes[values[readable]], limit)].tolist():
        yield _value(dump, table, row, values, end=used_value_block(dump, file, row).end)


def _peak_buffers(dump: DumpSet, rows: Column) -> Iterator[Symbol]:
    table = dump.peak_buffers
    for row in rows.tolist():
        name = dump.label(int(table.name[row]), int(table.index[row]))
        start, end, size = int(table.start[row]), int(table.end[row]), int(table.size_bytes[row])
        yield Symbol(name, SymbolKind.VALUE, start, end, start, int(table.value_end[row]), size)


def _value(dump: DumpSet, table: Table, row: int, values: Column, end: int | None = None) -> Symbol:
    value = int(values[row])
    size = int(dump.values.size_bytes[value])
    start, row_end = int(table.start[row]), int(table.end[row])
    size_bytes = size if size != NONE else None
    return Symbol(dump.value_label(value), SymbolKind.VALUE, start, end or row_end, start, row_end, size_bytes)
