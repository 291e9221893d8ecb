"""All tables of one file."""

from dataclasses import dataclass, fields
from typing import Self

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
    def empty(cls) -> Self:
        """Return tables without rows."""
        return cls((), (), **{name: table.of(b"") for name, table in cls.tables().items()})  # type: ignore[arg-type]

    def has_rows(self) -> bool:
        """Whether there is anything that the grammar knows."""
        return any(len(getattr(self, name)) for name in self.tables() if name not in ("unknown_lines", "other_modules"))

    @classmethod
    def tables(cls) -> dict[str, type[Table]]:
        """The types of the tables by their names."""
        return {field.name: field.type for field in fields(cls) if isinstance(field.type, type)}
