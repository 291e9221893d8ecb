"""Summaries of dump sets that are not open: enough to search the modules, allocations and values of hundreds of sets.

A summary keeps no text and no table of its set alive. It takes about 50 bytes for each entry.
"""

import re
from enum import IntEnum
from typing import Any, Final, TypeAlias

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from xla_lens.model.analysis import Analysis
from xla_lens.model.capacity import Capacity
from xla_lens.model.memory.over_time import NEVER_LIVE, MemorySpace, covering
from xla_lens.model.tables.backend import Backend
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.kinds import allocation_kinds
from xla_lens.model.tables.lookup import biggest, taken
from xla_lens.model.warrants import Warrants
from xla_lens.syntax.columns import NONE, Column, Mask, Pairs, cells
from xla_lens.syntax.file_names import FileKind, module_name, split_name
from xla_lens.text.encoding import Encoding
from xla_lens.text.positions import to_positions, width

ENTRY_LIMIT: Final = 50_000
"""Maximum number of allocations, and of values, in the summary of a set. The biggest are kept."""

NarrowColumn: TypeAlias = NDArray[np.signedinteger[Any]]
"""A column with the smallest integer type that holds its numbers."""


class EntryKind(IntEnum):
    """The kind of an entry."""

    MODULE = 0
    ALLOCATION = 1
    VALUE = 2


class Entries(Struct, frozen=True, eq=False):
    """The searchable entries of a set, the biggest first. Missing numbers are NONE.

    - `labels`: the labels, each followed by a line end; `folded` is the same in lower case. The label of a row starts
      at `label_start`, which has one more cell than there are rows.
    - `size_bytes`: for the module, the greatest peak of its memory spaces.
    - `allocation_kind`: an index into `KIND_NAMES`; for a value, the kind of its allocation.
    - `is_at_peak`: whether the entry holds live bytes at the peak of its memory space.
    - `file`, `row`, `column`, `width`: the place of the label. The module has width 0 at the start of the first file.
    """

    labels: bytes
    folded: bytes
    label_start: NarrowColumn
    kind: NarrowColumn
    size_bytes: NarrowColumn
    color: NarrowColumn
    allocation_kind: NarrowColumn
    is_at_peak: Mask
    file: NarrowColumn
    row: NarrowColumn
    column: NarrowColumn
    width: NarrowColumn

    def __len__(self) -> int:
        return len(self.kind)

    def label(self, row: int) -> str:
        """Return the label of a row: ``fusion.5{0}``, ``allocation 12`` or ``jit_train_step``."""
        start, end = self.label_start[row], self.label_start[row + 1] - 1
        return self.labels[start:end].decode("utf-8", "replace")


class SetSummary(Struct, frozen=True, eq=False):
    """The summary of a dump set. `module` is the name of its HLO module, or else the stem of its files. `files` are
    their labels and kinds. `is_truncated` is whether `entries` lack some allocations or values. `capacity` is that of
    `Analysis`.
    """

    module: str
    backend: Backend | None
    files: tuple[tuple[str, FileKind], ...]
    spaces: tuple[MemorySpace, ...]
    entries: Entries
    is_truncated: bool
    warrants: Warrants
    capacity: Capacity | None


def summarise(analysis: Analysis, encoding: Encoding) -> SetSummary:
    """Return the summary of a dump set, with columns and widths in units of `encoding`."""
    dump = analysis.dump
    return SetSummary(
        module=module_of(analysis),
        backend=dump.backend,
        files=tuple((file.label, file.kind) for file in dump.files),
        # The steps would take most of the memory.
        spaces=tuple(replace(space, live=NEVER_LIVE, colors=()) for space in analysis.memory.spaces),
        entries=_entries(analysis, encoding),
        is_truncated=max(len(dump.allocations), len(dump.values)) > ENTRY_LIMIT,
        warrants=analysis.warrants,
        capacity=analysis.capacity,
    )


def module_of(analysis: Analysis) -> str:
    """Return the name of the HLO module of a set, or else the stem of its files."""
    files = analysis.dump.files
    names = [module_name(file.label) for file in files]
    stems = [split_name(re.split(r"[/\\]", file.label)[-1])[0] for file in files]
    name = next((name for name in (analysis.name, *names, *stems) if name), "")
    # A file name can contain line ends and bytes that are not valid text.
    return " ".join(name.encode("utf-8", "replace").decode().split())


def _entries(analysis: Analysis, encoding: Encoding) -> Entries:
    """The entries of all kinds, the biggest first. A set without files has none for its module."""
    dump, memory = analysis.dump, analysis.memory
    table, values, kinds = dump.allocations, dump.values, allocation_kinds(dump)
    at_peak = np.zeros(len(values), bool)
    for space in memory.spaces:
        if space.peak_step is not None:
            at_peak[covering(dump, space.peak_step, space.color)] = True
    readable = np.flatnonzero(table.index != NONE)
    allocations = readable[biggest(table.size_bytes[readable], ENTRY_LIMIT)]
    rows = biggest(values.size_bytes, ENTRY_LIMIT)
    file, start, texts = _values(dump, rows)
    labels = [module_of(analysis).encode() for _ in dump.files[:1]]
    counts = len(labels), len(allocations), len(rows)
    labels += [b"allocation %d" % index for index in table.index[allocations].tolist()] + texts
    peaks = (space.peak_live_bytes for space in memory.spaces if space.peak_step is not None)

    def joined(*parts: Column | Mask | int) -> Column:
        """The cells of the module, of the allocations and of the values."""
        return np.concatenate([np.broadcast_to(part, count) for part, count in zip(parts, counts, strict=True)])

    sizes = joined(max(peaks, default=NONE), table.size_bytes[allocations], values.size_bytes[rows])
    order = np.argsort(-sizes, kind="stable")
    file = joined(0, _number(dump, dump.assignment), file)[order]
    row, column = _positions(dump.files, file, joined(0, table.start[allocations], start)[order], encoding)
    joined_labels = b"".join(labels[row] + b"\n" for row in order.tolist())
    folded = joined_labels.lower()
    lengths, widths = ([*map(measure, labels)] for measure in (len, lambda label: width(label, encoding)))
    widths[: counts[0]] = [0] * counts[0]
    return Entries(
        labels=joined_labels,
        folded=joined_labels if folded == joined_labels else folded,
        label_start=_narrow(np.append(0, (np.array(lengths, np.int64)[order] + 1).cumsum())),
        kind=_narrow(joined(EntryKind.MODULE, EntryKind.ALLOCATION, EntryKind.VALUE)[order]),
        size_bytes=_narrow(sizes[order]),
        color=_narrow(joined(NONE, table.color[allocations], values.color[rows])[order]),
        allocation_kind=_narrow(joined(NONE, kinds[allocations], taken(kinds, values.allocation[rows]))[order]),
        is_at_peak=joined(0, np.isin(allocations, values.allocation[at_peak]), at_peak[rows])[order] == 1,
        file=_narrow(file),
        row=_narrow(row),
        column=_narrow(column),
        width=_narrow(np.array(widths, np.int64)[order]),
    )


def _values(dump: DumpSet, rows: Column) -> tuple[Column, Column, list[bytes]]:
    """The files of some values by their numbers, where their names start there, and their labels."""
    values, slices = dump.values, dump.values.slice[rows]
    file = np.where(slices != NONE, _number(dump, dump.assignment), _number(dump, dump.used))
    start = np.where(
        slices != NONE, taken(dump.slices.value_start, slices), taken(dump.used_values.start, values.used_value[rows])
    )
    names = [dump.names[name] for name in values.name[rows].tolist()]
    # The index NONE selects the last cell, which is empty.
    indices = (*dump.indices, b"")
    # A name follows the id: ``<8 fusion{0} @0>``.
    places = cells(file, start)
    starts = [dump.files[number].document.data.find(b" ", first) + 1 for number, first in places]
    labels = [name + indices[index] for name, index in zip(names, values.index[rows].tolist(), strict=True)]
    return file, np.array(starts, np.int64), labels


def _number(dump: DumpSet, file: DumpFile | None) -> int:
    return dump.files.index(file) if file else NONE


def _positions(files: tuple[DumpFile, ...], file: Column, start: Column, encoding: Encoding) -> Pairs:
    """The rows and columns of bytes in files."""
    row, column = np.zeros(len(file), np.int64), np.zeros(len(file), np.int64)
    for number, dump_file in enumerate(files):
        here = np.flatnonzero(file == number)
        row[here], column[here] = to_positions(dump_file.document, start[here], encoding)
    return row, column


def _narrow(column: Column) -> NarrowColumn:
    for dtype in (np.int8, np.int16, np.int32):
        narrow: NarrowColumn = column.astype(dtype)
        if np.array_equal(narrow, column):
            return narrow
    return column
