"""All tables of one file."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

from xla_lens.syntax.columns import (
    Allocations,
    LiveRangeHeaders,
    LiveRanges,
    OtherColorValues,
    OtherModules,
    PeakBuffers,
    Peaks,
    Positions,
    ReportAllocations,
    ReportRows,
    ReportSpaces,
    ReportTables,
    Schedule,
    Sections,
    Slices,
    StackTraceHeaders,
    StackTraces,
    Table,
    Totals,
    UnknownLines,
    UsedValues,
    Uses,
)


@dataclass(frozen=True, eq=False)
class FileColumns:
    """All tables of a file."""

    names: tuple[bytes, ...]
    indices: tuple[bytes, ...]
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
    def of(cls, names: Iterable[bytes], indices: Iterable[bytes], rows: Mapping[str, bytes | bytearray]) -> Self:
        """The tables of rows that were written one after another, by the name of the table. One that is not named has
        no rows.
        """
        tables: dict[str, Any] = {name: table.of(rows.get(name, b"")) for name, table in cls.tables().items()}
        return cls(tuple(names), tuple(indices), **tables)

    def has_rows(self) -> bool:
        """Whether there is anything that the grammar knows."""
        return any(len(getattr(self, name)) for name in self.tables() if name not in ("unknown_lines", "other_modules"))

    @classmethod
    def tables(cls) -> dict[str, type[Table]]:
        """The types of the tables by their names."""
        return {field.name: field.type for field in fields(cls) if isinstance(field.type, type)}
