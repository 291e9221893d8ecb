"""Summaries of dump sets that are not open: enough to search the modules, allocations and values of hundreds of sets.

A summary keeps no text and no table of its set alive. It takes about 50 bytes for each entry.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from xla_lens.model.analysis import Analysis
from xla_lens.model.capacity import Capacity
from xla_lens.model.memory.over_time import Memory, MemorySpace, covering
from xla_lens.model.tables.backend import Backend, SpaceId
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.kinds import allocation_kinds
from xla_lens.model.tables.lookup import taken
from xla_lens.model.warrants import Bound, Warrants
from xla_lens.syntax.columns import NONE, Column
from xla_lens.syntax.file_names import FileKind, module_name, split_name
from xla_lens.text.document import Document
from xla_lens.text.encoding import Encoding
from xla_lens.text.positions import width

ENTRY_LIMIT: Final = 50_000
"""Maximum number of allocations, and of values, in the summary of a set. The biggest are kept."""

NarrowColumn: TypeAlias = NDArray[np.signedinteger[Any]]
"""A column with the smallest integer type that holds its numbers."""


class EntryKind(IntEnum):
    """The kind of an entry."""

    MODULE = 0
    ALLOCATION = 1
    VALUE = 2


@dataclass(frozen=True, slots=True, eq=False)
class Entries:
    """The searchable entries of a set, the biggest first. Missing numbers are NONE.

    - `labels`: the labels, each followed by a line end; `folded` is the same in lower case. The label of a row starts
      at `label_start`, which has one more cell than there are rows.
    - `size_bytes`: for the module, the greatest peak of its memory spaces.
    - `allocation_kind`: an index into `KIND_NAMES`; for a value, the kind of its allocation.
    - `is_at_peak`: whether the entry holds live bytes at the peak of its memory space.
    - `most_live_bytes`: for an allocation, its peak.
    - `file`, `row`, `column`, `width`: the place of the label. The module has width 0 at the start of the first file.
    """

    labels: bytes
    folded: bytes
    label_start: NarrowColumn
    kind: NarrowColumn
    size_bytes: NarrowColumn
    color: NarrowColumn
    allocation_kind: NarrowColumn
    is_at_peak: NDArray[np.bool_]
    most_live_bytes: NarrowColumn
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


@dataclass(frozen=True, slots=True)
class SpaceSummary:
    """One memory space. `peak_step` is None if nothing is ever live. The bounds are those of `MemorySpace`."""

    id: SpaceId
    reserved_bytes: int
    peak_step: int | None
    peak_live_bytes: int
    needed_bytes: int
    reserved_bound: Bound = Bound.EXACT
    live_bound: Bound = Bound.EXACT

    @property
    def color(self) -> int:
        """XLA's number for the memory space."""
        return self.id.color


@dataclass(frozen=True, slots=True)
class FileSummary:
    """One file of the set. `label` is its path or URI."""

    label: str
    kind: FileKind


@dataclass(frozen=True, slots=True, eq=False)
class SetSummary:
    """The summary of a dump set. `module` is the name of its HLO module, or else the stem of its files. `is_truncated`
    is whether `entries` lack some allocations or values. `capacity` is that of `Analysis`.
    """

    module: str
    backend: Backend | None
    files: tuple[FileSummary, ...]
    spaces: tuple[SpaceSummary, ...]
    allocation_count: int
    value_count: int
    entries: Entries
    is_truncated: bool
    warrants: Warrants
    capacity: Capacity | None


def summarise_space(space: MemorySpace) -> SpaceSummary:
    """Return the totals of a memory space, without its live bytes at each step."""
    return SpaceSummary(
        space.id,
        space.reserved_bytes,
        space.peak_step,
        space.peak_live_bytes,
        space.needed_bytes,
        space.reserved_bound,
        space.live_bound,
    )


def summarise(analysis: Analysis, encoding: Encoding) -> SetSummary:
    """Return the summary of a dump set, with columns and widths in units of `encoding`."""
    dump, memory = analysis.dump, analysis.memory
    module = module_of(dump.files)
    at_peak = np.zeros(len(dump.values), bool)
    for space in memory.spaces:
        if space.peak_step is not None:
            at_peak[covering(dump, space.peak_step, space.color)] = True
    parts = (_module_rows(dump, module, memory), _allocation_rows(dump, memory, at_peak), _value_rows(dump, at_peak))
    return SetSummary(
        module=module,
        backend=dump.backend,
        files=tuple(FileSummary(file.label, file.kind) for file in dump.files),
        spaces=tuple(map(summarise_space, memory.spaces)),
        allocation_count=len(dump.allocations),
        value_count=len(dump.values),
        entries=_entries(dump.files, parts, encoding),
        is_truncated=max(len(dump.allocations), len(dump.values)) > ENTRY_LIMIT,
        warrants=analysis.warrants,
        capacity=analysis.capacity,
    )


def module_of(files: tuple[DumpFile, ...]) -> str:
    """Return the name of the HLO module in the file names of a set, or else their stem."""
    names = [module_name(file.label) for file in files]
    stems = [split_name(re.split(r"[/\\]", file.label)[-1])[0] for file in files]
    name = next((name for name in (*names, *stems) if name), "")
    # A file name can contain line ends and bytes that are not valid text.
    return " ".join(name.encode("utf-8", "replace").decode().split())


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """Entries of one kind. Missing columns are NONE. A label is at byte `start` of file number `file`."""

    kind: EntryKind
    labels: list[bytes]
    columns: dict[str, Column]

    def column(self, name: str) -> Column:
        return self.columns[name] if name in self.columns else np.full(len(self.labels), NONE)


def _module_rows(dump: DumpSet, module: str, memory: Memory) -> _Rows:
    """The entry of the module, at the start of the first file. A set without files has none."""
    peaks = (space.peak_live_bytes for space in memory.spaces if space.peak_step is not None)
    labels = [module.encode() for _ in dump.files[:1]]
    size, place = np.full(len(labels), max(peaks, default=NONE)), np.zeros(len(labels), np.int64)
    return _Rows(EntryKind.MODULE, labels, {"size_bytes": size, "file": place, "start": place})


def _allocation_rows(dump: DumpSet, memory: Memory, at_peak: NDArray[np.bool_]) -> _Rows:
    table = dump.allocations
    readable = np.flatnonzero(table.index != NONE)
    rows = readable[_biggest(table.size_bytes[readable])]
    columns = {
        "file": np.full(len(rows), _number(dump, dump.assignment)),
        "start": table.start[rows],
        "size_bytes": table.size_bytes[rows],
        "color": table.color[rows],
        "allocation_kind": allocation_kinds(dump)[rows],
        "is_at_peak": np.isin(rows, dump.values.allocation[at_peak]),
        "most_live_bytes": memory.most_live_bytes(len(dump.allocations))[rows],
    }
    return _Rows(EntryKind.ALLOCATION, [b"allocation %d" % index for index in table.index[rows].tolist()], columns)


def _value_rows(dump: DumpSet, at_peak: NDArray[np.bool_]) -> _Rows:
    values = dump.values
    rows = _biggest(values.size_bytes)
    slices, used = values.slice[rows], values.used_value[rows]
    file = np.where(slices != NONE, _number(dump, dump.assignment), _number(dump, dump.used))
    start = np.where(slices != NONE, taken(dump.slices.value_start, slices), taken(dump.used_values.start, used))
    end = np.where(slices != NONE, taken(dump.slices.value_end, slices), taken(dump.used_values.end, used))
    names = [dump.names[name] for name in values.name[rows].tolist()]
    # The index NONE selects the last cell, which is empty.
    indices = (*dump.indices, b"")
    places = zip(file.tolist(), start.tolist(), end.tolist(), names, strict=True)
    columns = {
        "file": file,
        "start": np.array([_name_start(dump.files[number].document, *place) for number, *place in places], np.int64),
        "size_bytes": values.size_bytes[rows],
        "color": values.color[rows],
        "allocation_kind": taken(allocation_kinds(dump), values.allocation[rows]),
        "is_at_peak": at_peak[rows],
    }
    labels = [name + indices[index] for name, index in zip(names, values.index[rows].tolist(), strict=True)]
    return _Rows(EntryKind.VALUE, labels, columns)


def _biggest(sizes: Column) -> Column:
    return np.argsort(-sizes, kind="stable")[:ENTRY_LIMIT]


def _number(dump: DumpSet, file: DumpFile | None) -> int:
    return dump.files.index(file) if file else NONE


def _name_start(document: Document, start: int, end: int, name: bytes) -> int:
    """The start of the name in ``<8 fusion{0} @0>``."""
    found = document.data.find(name, document.data.find(b" ", start, end), end)
    return found if found != NONE else start


def _entries(files: tuple[DumpFile, ...], parts: Iterable[_Rows], encoding: Encoding) -> Entries:
    """The entries of all kinds, the biggest first."""
    parts = tuple(parts)
    labels = [label for part in parts for label in part.labels]
    kind = np.concatenate([np.full(len(part.labels), part.kind) for part in parts])
    order = np.argsort(-_joined(parts, "size_bytes"), kind="stable")
    file, start = _joined(parts, "file")[order], _joined(parts, "start")[order]
    labels = [labels[row] for row in order.tolist()]
    joined = b"".join(label + b"\n" for label in labels)
    folded = joined.lower()
    row, column = _positions(files, file, start, encoding)
    widths = [width(label, encoding) for label in labels]
    label_start = np.cumsum([0, *(len(label) + 1 for label in labels)])
    return Entries(
        labels=joined,
        folded=joined if folded == joined else folded,
        label_start=_narrow(label_start),
        kind=_narrow(kind[order]),
        is_at_peak=_joined(parts, "is_at_peak")[order] == 1,
        file=_narrow(file),
        row=_narrow(row),
        column=_narrow(column),
        width=_narrow(np.where(kind[order] == EntryKind.MODULE, 0, widths)),
        **{
            name: _narrow(_joined(parts, name)[order])
            for name in ("size_bytes", "color", "allocation_kind", "most_live_bytes")
        },
    )


def _joined(parts: Iterable[_Rows], name: str) -> Column:
    return np.concatenate([part.column(name) for part in parts])


def _positions(files: tuple[DumpFile, ...], file: Column, start: Column, encoding: Encoding) -> tuple[Column, Column]:
    """The rows and columns of bytes in files."""
    row, column = np.zeros(len(file), np.int64), np.zeros(len(file), np.int64)
    for number, dump_file in enumerate(files):
        here, document = np.flatnonzero(file == number), dump_file.document
        if not len(here):
            continue
        row[here] = document.line_starts.searchsorted(start[here], "right") - 1
        line = document.line_starts[row[here]]
        column[here] = start[here] - line
        if not document.data.isascii():
            lines = zip(line.tolist(), start[here].tolist(), strict=True)
            column[here] = [width(document.data[first:last], encoding) for first, last in lines]
    return row, column


def _narrow(column: Column) -> NarrowColumn:
    for dtype in (np.int8, np.int16, np.int32):
        narrow: NarrowColumn = column.astype(dtype)
        if np.array_equal(narrow, column):
            return narrow
    return column
