"""Joining the files of a dump set: one numbering of names and indices for all tables."""

from collections.abc import Iterable
from typing import TypeVar

import numpy as np

from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.lookup import taken
from xla_lens.syntax.columns import (
    NONE,
    Column,
    FileColumns,
    LiveRanges,
    PeakBuffers,
    Positions,
    Schedule,
    Slices,
    UsedValues,
    Uses,
)
from xla_lens.syntax.file_names import FileKind

_Named = TypeVar("_Named", Slices, UsedValues, Positions, Uses, LiveRanges, PeakBuffers, Schedule)


def join(files: Iterable[DumpFile]) -> DumpSet:
    """Return the dump set of some files. If two hold the same part, the first in the order of `FileKind` counts."""
    ordered = sorted(files, key=lambda file: list(FileKind).index(file.kind))
    assignment = _holder(ordered, "allocations", "slices")
    used = _holder(ordered, "used_values")
    live = _holder(ordered, "live_range_headers", "schedule", "live_ranges")
    names, indices = _Numbering(()), _Numbering((b"{}",))
    numbered = {id(file): (names.add(file.columns.names), indices.add(file.columns.indices)) for file in ordered}

    def columns(file: DumpFile | None) -> FileColumns:
        return file.columns if file else _NOTHING

    def renumbered(table: _Named, file: DumpFile | None) -> _Named:
        if file is None:
            return table
        name_numbers, index_numbers = numbered[id(file)]
        table = table.replaced(name=_taken(name_numbers, table.name))
        return table if isinstance(table, Schedule) else table.replaced(index=_taken(index_numbers, table.index))

    allocations = columns(assignment).allocations
    if assignment:
        place = _taken(numbered[id(assignment)][1], allocations.parameter_index)
        allocations = allocations.replaced(parameter_index=place)
    total = used if used and len(used.columns.totals) else assignment
    return DumpSet(
        files=tuple(ordered),
        assignment=assignment,
        used=used,
        live=live,
        names=names.texts,
        indices=indices.texts,
        allocations=allocations,
        slices=renumbered(columns(assignment).slices, assignment),
        totals=columns(total).totals,
        used_values=renumbered(columns(used).used_values, used),
        positions=renumbered(columns(used).positions, used),
        uses=renumbered(columns(used).uses, used),
        live_range_headers=columns(live).live_range_headers,
        schedule=renumbered(columns(live).schedule, live),
        live_ranges=renumbered(columns(live).live_ranges, live),
        peaks=columns(live).peaks,
        peak_buffers=renumbered(columns(live).peak_buffers, live),
        stack_traces=columns(live).stack_traces,
    )


_NOTHING = FileColumns.empty()


def _holder(files: list[DumpFile], *tables: str) -> DumpFile | None:
    """The first file with rows in one of the tables."""
    return next((file for file in files if any(len(getattr(file.columns, table)) for table in tables)), None)


class _Numbering:
    """Numbers for the names or the indices of all files, in the order in which the files are added."""

    def __init__(self, texts: tuple[bytes, ...]) -> None:
        self.texts = texts

    def add(self, own: tuple[bytes, ...]) -> Column | None:
        """Return the number in the set for each number of a file, None if they are the same. The last cell maps NONE to
        NONE.
        """
        if own[: len(self.texts)] == self.texts:
            self.texts = own
            return None
        if self.texts[: len(own)] == own:
            return None
        known = {text: number for number, text in enumerate(self.texts)}
        numbers = [known.setdefault(text, len(known)) for text in own]
        self.texts = tuple(known)
        return np.array([*numbers, NONE], np.int64)


def _taken(numbers: Column | None, column: Column) -> Column:
    return column if numbers is None else taken(numbers, column)
