"""Joining the files of a dump set: one numbering of names and indices for all tables."""

from collections.abc import Iterable
from typing import Any, Final

import numpy as np
from msgspec.structs import replace

from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.lookup import as_rows, taken
from xla_lens.syntax.columns import NO_TEXTS, NONE, Column, Texts
from xla_lens.syntax.file_names import FileKind
from xla_lens.syntax.tables import FileColumns
from xla_lens.syntax.texts import number_texts

_TABLES: Final = {
    "assignment": ("allocations", "slices"),
    "used": ("used_values", "positions", "uses"),
    "live": ("live_range_headers", "schedule", "live_ranges", "peaks", "peak_buffers", "stack_traces"),
}
"""The tables of `DumpSet` that come from the same file."""


def join(files: Iterable[DumpFile]) -> DumpSet:
    """Return the dump set of some files. If two hold the same part, the first in the order of `FileKind` counts."""
    ordered = sorted(files, key=lambda file: list(FileKind).index(file.kind))
    holders = {part: _holder(ordered, *tables) for part, tables in _TABLES.items()}
    names, indices = _Numbering(NO_TEXTS), _Numbering(Texts.of([b"{}"]))
    numbered = {file: (names.add(file.columns.names), indices.add(file.columns.indices)) for file in ordered}
    joined: dict[str, Any] = {**holders}
    for part, tables in _TABLES.items():
        file = holders[part]
        for table in tables:
            joined[table] = _renumbered(file.columns, table, *numbered[file]) if file else getattr(_NOTHING, table)
    total = next((file for file in (holders["used"], holders["assignment"]) if file and len(file.columns.totals)), None)
    return DumpSet(
        files=tuple(ordered),
        names=names.texts,
        indices=indices.texts,
        totals=total.columns.totals if total else _NOTHING.totals,
        **joined,
    )


_NOTHING: Final = FileColumns.empty()


def _holder(files: list[DumpFile], *tables: str) -> DumpFile | None:
    """The first file with rows in one of the tables."""
    return next((file for file in files if any(len(getattr(file.columns, table)) for table in tables)), None)


def _renumbered(columns: FileColumns, name: str, names: Column | None, indices: Column | None) -> Any:
    """A table of a file with the numbers of the set."""
    table = getattr(columns, name)
    numbers = {"name": names, "index": None if name == "allocations" else indices, "parameter_index": indices}
    return replace(
        table,
        **{
            column: taken(known, getattr(table, column))
            for column, known in numbers.items()
            if known is not None and hasattr(table, column)
        },
    )


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
