"""Joining the files of a dump set: one numbering of names and indices for all tables."""

from collections.abc import Iterable
from dataclasses import replace
from typing import TypeVar

import numpy as np

from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.lookup import as_rows, taken
from xla_lens.syntax.columns import (
    NO_TEXTS,
    NONE,
    Column,
    FileColumns,
    LiveRanges,
    PeakBuffers,
    Positions,
    Schedule,
    Slices,
    Texts,
    UsedValues,
    Uses,
)
from xla_lens.syntax.file_names import FileKind
from xla_lens.syntax.texts import number_texts

_Named = TypeVar("_Named", Slices, UsedValues, Positions, Uses, LiveRanges, PeakBuffers, Schedule)


def join(files: Iterable[DumpFile]) -> DumpSet:
    """Return the dump set of some files. If two hold the same part, the first in the order of `FileKind` counts."""
    ordered = sorted(files, key=lambda file: list(FileKind).index(file.kind))
    assignment = _holder(ordered, "allocations", "slices")
    used = _holder(ordered, "used_values")
    live = _holder(ordered, "live_range_headers", "schedule", "live_ranges")
    names, indices = _Numbering(NO_TEXTS), _Numbering(Texts.of([b"{}"]))
    numbered = {id(file): (names.add(file.columns.names), indices.add(file.columns.indices)) for file in ordered}

    def columns(file: DumpFile | None) -> FileColumns:
        return file.columns if file else _NOTHING

    def renumbered(table: _Named, file: DumpFile | None) -> _Named:
        if file is None:
            return table
        name_numbers, index_numbers = numbered[id(file)]
        table = replace(table, name=_taken(name_numbers, table.name))
        return table if isinstance(table, Schedule) else replace(table, index=_taken(index_numbers, table.index))

    allocations = columns(assignment).allocations
    if assignment:
        place = _taken(numbered[id(assignment)][1], allocations.parameter_index)
        allocations = replace(allocations, parameter_index=place)
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

    def __init__(self, texts: Texts) -> None:
        self.texts = texts

    def add(self, own: Texts) -> Column | None:
        """Return the number in the set for each number of a file, None if they are the same. The last cell maps NONE to
        NONE.
        """
        if own.starts_with(self.texts):
            self.texts = own
            return None
        if self.texts.starts_with(own):
            return None
        known = len(self.texts)
        block = self.texts.block + own.block
        offsets = np.append(self.texts.offsets[:-1], own.offsets.astype(np.int64) + len(self.texts.block))
        numbers, rows = number_texts(block, offsets[:-1], offsets[1:])
        added = Texts.of(own[row - known] for row in rows[known:].tolist())
        offsets = np.append(self.texts.offsets[:-1], added.offsets + len(self.texts.block))
        self.texts = Texts(self.texts.block + added.block, as_rows(offsets))
        return as_rows(np.append(numbers[known:], NONE))


def _taken(numbers: Column | None, column: Column) -> Column:
    return column if numbers is None else taken(numbers, column)
