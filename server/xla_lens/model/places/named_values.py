"""The values that names mean: `mention_at` for all names of some lines at once."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from xla_lens.model.places.mentions import position_of
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.lookup import taken
from xla_lens.syntax.columns import NONE, Column, Table


@dataclass(frozen=True, slots=True, eq=False)
class NamedValues:
    """The value that each name means, NONE if none, and whether the name is a definition. Allocations are defined in
    their headers, values in their headers among the used values or else in their rows of the allocation, other
    instructions in the schedule.
    """

    value: Column
    is_definition: NDArray[np.bool_]


def named_values(dump: DumpSet, file: DumpFile, starts: Column, ends: Column) -> NamedValues:
    """Return what the names and allocation indices at bytes `starts` to `ends` of a file mean. Names in an instruction
    start with `%`.
    """
    named = NamedValues(np.full(len(starts), NONE), np.zeros(len(starts), np.bool_))
    for table, look_up in _tables(dump, file):
        rows = table.start.searchsorted(starts, "right") - 1
        inside = np.flatnonzero(ends <= taken(table.end, rows))
        if len(inside):
            named.value[inside], named.is_definition[inside] = look_up(dump, rows[inside])
    if file is dump.used:
        quoted = np.flatnonzero(np.frombuffer(file.document.data, np.uint8)[starts] == ord("%"))
        spans = zip((starts[quoted] + 1).tolist(), ends[quoted].tolist(), strict=True)
        names = [dump.name_number(file.document.data[start:end]) for start, end in spans]
        named.value[quoted] = _of_instruction(dump, np.array(names, np.int64))
    return named


_Meaning: TypeAlias = tuple[Column, NDArray[np.bool_] | bool]


def _tables(dump: DumpSet, file: DumpFile) -> Iterator[tuple[Table, Callable[[DumpSet, Column], _Meaning]]]:
    """The tables of a file with one name in each row, and functions that look the names of rows up."""
    if file is dump.assignment:
        yield dump.allocations, lambda _dump, rows: (np.full(len(rows), NONE), True)
        yield dump.slices, _slices
    if file is dump.used:
        yield dump.used_values, lambda dump, rows: (dump.value_of_used_value[rows], True)
        yield dump.positions, _positions
        yield dump.uses, lambda dump, rows: (_of_instruction(dump, dump.uses.name[rows]), False)
    if file is dump.live:
        yield dump.schedule, _schedule
        yield dump.live_ranges, lambda dump, rows: (dump.value_of_live_range[rows], False)
        yield dump.peak_buffers, _peak_buffers
        yield dump.stack_traces, _stack_traces


def _of_instruction(dump: DumpSet, name: Column) -> Column:
    return dump.values_at(name, np.full(len(name), NONE))


def _slices(dump: DumpSet, rows: Column) -> _Meaning:
    value = dump.value_of_slice[rows]
    return value, taken(dump.values.used_value, value) == NONE


def _positions(dump: DumpSet, rows: Column) -> _Meaning:
    table = dump.positions
    value = taken(dump.value_of_used_value, table.value[rows])
    return np.where(value != NONE, value, dump.values_at(table.name[rows], table.index[rows])), False


def _schedule(dump: DumpSet, rows: Column) -> _Meaning:
    value = _of_instruction(dump, dump.schedule.name[rows])
    return value, value == NONE


def _peak_buffers(dump: DumpSet, rows: Column) -> _Meaning:
    value = dump.value_of_peak_buffer[rows]
    return np.where(value != NONE, value, _of_instruction(dump, dump.peak_buffers.name[rows])), False


def _stack_traces(dump: DumpSet, rows: Column) -> _Meaning:
    table, data = dump.stack_traces, dump.live.document.data if dump.live else b""
    spans = zip(table.name_start[rows].tolist(), table.name_end[rows].tolist(), strict=True)
    name, index = zip(*(position_of(dump, data[start:end]) for start, end in spans), strict=True)
    return dump.values_at(np.array(name, np.int64), np.array(index, np.int64)), False
