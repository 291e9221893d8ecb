"""A dump set: the files that describe one compiled module, joined.

Values, names and indices are numbered across all files. The buffer assignment and the used values identify a value by
its id; all other parts identify it by a position, which is a name and an index. Missing numbers are NONE.
"""

from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import repeat

import numpy as np
from msgspec import Struct

from xla_lens.model.tables.backend import Backend, SpaceId, backend_of, memories
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.tables.lookup import RowsByName, as_rows, distinct, first_rows, found, ordered, taken
from xla_lens.syntax.columns import NONE, Column, Columns, Mask, Pairs, Texts, cells, place_in, rows_of
from xla_lens.syntax.file_names import FileKind
from xla_lens.syntax.hlo.instruction import InstructionText, read_instruction
from xla_lens.syntax.hlo.quotes import QuoteParts, Quotes, read_quotes
from xla_lens.syntax.hlo.shapes import byte_sizes
from xla_lens.syntax.tables import (
    Allocations,
    LiveRangeHeaders,
    LiveRanges,
    PeakBuffers,
    Peaks,
    Positions,
    Schedule,
    Slices,
    StackTraces,
    Totals,
    UsedValues,
    Uses,
)
from xla_lens.syntax.texts import number_texts

_MAX_KEPT_INSTRUCTIONS = 1024

EMPTY_INDEX = 0
"""The number of the index `{}`, in each file and in a set."""


class Values(Columns, frozen=True):
    """One row for each value, by id. `slice`, `used_value` and `live_range` are rows of the tables with these names,
    NONE if the table lacks the value; then the columns that come from the table are NONE too. `index` is NONE if the
    instruction has no tuple shape. `space` is the color that stands for its memory space (`SpaceId.memory`).
    """

    id: Column
    name: Column
    index: Column
    slice: Column
    used_value: Column
    live_range: Column
    allocation: Column
    color: Column
    space: Column
    offset: Column
    size_bytes: Column
    start_step: Column
    end_step: Column


class DumpSet(Struct, frozen=True, eq=False, dict=True):
    """The joined tables. Each group of tables comes from one file; `assignment`, `used` and `live` are those files,
    None where the set lacks it. `positions.value` and `uses.value` are rows of `used_values`.
    """

    files: tuple[DumpFile, ...]
    assignment: DumpFile | None
    used: DumpFile | None
    live: DumpFile | None
    names: Texts
    indices: Texts
    allocations: Allocations
    slices: Slices
    totals: Totals
    used_values: UsedValues
    positions: Positions
    uses: Uses
    live_range_headers: LiveRangeHeaders
    schedule: Schedule
    live_ranges: LiveRanges
    peaks: Peaks
    peak_buffers: PeakBuffers
    stack_traces: StackTraces

    @property
    def missing(self) -> tuple[FileKind, ...]:
        """The kinds of files that the set lacks. Before jaxlib 0.9.2, one file held all parts. The oldest dumps have no
        live ranges.
        """
        kinds = (FileKind.BUFFER_ASSIGNMENT, FileKind.VALUES, FileKind.LIVE_RANGE)
        parts = (self.assignment, self.used, self.live)
        return tuple(kind for kind, part in zip(kinds, parts, strict=True) if part is None)

    @cached_property
    def backend(self) -> Backend | None:
        """The backend that wrote the files, None if they do not show it."""
        return backend_of(self.files)

    def space_id(self, color: int) -> SpaceId:
        """The color with the backend, which has its name."""
        return SpaceId(color, self.backend)

    @cached_property
    def allocation_spaces(self) -> Column:
        """The color that stands for the memory space of each row of `allocations` (`SpaceId.memory`)."""
        return memories(self.allocations.color, self.backend)

    def prepare(self) -> None:
        """Build all derived tables now, so that the first request does not pay for them."""
        for name, attribute in vars(type(self)).items():
            if isinstance(attribute, cached_property):
                getattr(self, name)

    # ------------------------------------------------------------ values

    @cached_property
    def values(self) -> Values:
        """All values that the set identifies by id."""
        slices, used = self.slices, self.used_values
        readable = np.flatnonzero(used.id != NONE)
        ids = distinct(np.concatenate((slices.id, used.id[readable])))
        slice_row = first_rows(ids, slices.id, np.arange(len(slices)))
        used_row = first_rows(ids, used.id[readable], readable)
        name, index, printed_color = (
            np.where(slice_row != NONE, taken(of_slice, slice_row), taken(of_used, used_row))
            for of_slice, of_used in ((slices.name, used.name), (slices.index, used.index), (slices.color, used.color))
        )
        live_range = first_rows(
            self._keys(name, index),
            self._keys(self.live_ranges.name, self.live_ranges.index),
            np.arange(len(self.live_ranges)),
        )
        allocation = taken(slices.allocation, slice_row)
        color = taken(self.allocations.color, allocation)
        color = np.where(color != NONE, color, np.maximum(printed_color, 0))
        space = taken(self.allocation_spaces, allocation)
        is_unplaced = space == NONE
        space[is_unplaced] = memories(color[is_unplaced], self.backend)
        return Values(
            id=ids,
            name=name,
            index=index,
            slice=slice_row,
            used_value=used_row,
            live_range=live_range,
            allocation=allocation,
            color=color,
            space=space,
            offset=taken(slices.offset, slice_row),
            size_bytes=taken(slices.size_bytes, slice_row),
            start_step=taken(self.live_ranges.start_step, live_range),
            end_step=taken(self.live_ranges.end_step, live_range),
        )

    @cached_property
    def value_of_slice(self) -> Column:
        """The value of each row of `slices`."""
        return found(self.values.id, self.slices.id)

    @cached_property
    def value_of_used_value(self) -> Column:
        """The value of each row of `used_values`, NONE for an unreadable header."""
        return found(self.values.id, self.used_values.id)

    @cached_property
    def value_of_live_range(self) -> Column:
        """The value of each row of `live_ranges`, NONE if no value has that position."""
        return self.values_at(self.live_ranges.name, self.live_ranges.index)

    @cached_property
    def value_of_peak_buffer(self) -> Column:
        """The value of each row of `peak_buffers`, NONE if it is unknown."""
        values = self.values_at(self.peak_buffers.name, self.peak_buffers.index)
        for peak, step in enumerate(self.peaks.step.tolist()):
            rows = self.buffers_of(peak)
            if all(self.peak_buffers.index[rows] == NONE):
                # Until jaxlib 0.6.0 the list had no indices but was sorted by id.
                values[rows] = list(self._values_by_name(self.peak_buffers.name[rows], step))
        return values

    def _values_by_name(self, names: Column, step: int) -> Iterator[int]:
        """For each name the next value, by id, that it defines and that is live at a step."""
        live = np.flatnonzero((self.values.start_step <= step) & (step <= self.values.end_step))
        defined: dict[int, list[int]] = {}
        for value in reversed(live.tolist()):
            defined.setdefault(self.name_of(value), []).append(value)
        for name in names.tolist():
            yield defined[name].pop() if defined.get(name) else self.value_at(name, EMPTY_INDEX)

    def value_of_id(self, number: int) -> int:
        """Return the value with an id, NONE if there is none."""
        row = place_in(self.values.id, number)
        return row if row < len(self.values) and self.values.id[row] == number else NONE

    def value_at(self, name: int, index: int) -> int:
        """Return the value at a position, NONE if there is none. An alias is a position of the value that it shows."""
        return self.values_at(np.array([name]), np.array([index])).item(0) if name != NONE else NONE

    def values_at(self, name: Column, index: Column) -> Column:
        """Return `value_at` for columns of names and indices."""
        keys, values = self.position_map
        return taken(values, found(keys, self._keys(name, index)))

    @cached_property
    def position_map(self) -> Pairs:
        """The keys of all positions, `name * len(indices) + index`, ascending, and the value of each. A value's own
        name takes precedence over positions that other values list.
        """
        positions = self.positions
        keys = np.concatenate(
            (self._keys(self.values.name, self.values.index), self._keys(positions.name, positions.index))
        )
        values = np.concatenate((np.arange(len(self.values)), taken(self.value_of_used_value, positions.value)))
        keys, first = np.unique(keys[values != NONE], return_index=True)
        return keys, as_rows(values[values != NONE][first])

    def _keys(self, name: Column, index: Column) -> Column:
        """Return one number for a name and an index. A missing index counts as `{}`."""
        return name.astype(np.int64) * len(self.indices) + np.maximum(index, EMPTY_INDEX)

    def shape(self, value: int) -> bytes | None:
        """Return the shape of a value with its layout, None if it is in no allocation."""
        row = self.values.slice[value]
        if self.assignment is None or row == NONE:
            return None
        return self.assignment.document.data[self.slices.shape_start[row] : self.slices.end[row]]

    @cached_property
    def slice_shapes(self) -> tuple[tuple[bytes, ...], Column]:
        """The distinct shapes of the values in allocations, and for each row of `slices` the number of its shape."""
        data, slices = self.assignment.document.data if self.assignment else b"", self.slices
        shape, rows = number_texts(data, slices.shape_start, slices.end)
        spans = cells(slices.shape_start[rows], slices.end[rows])
        return tuple(data[start:end] for start, end in spans), shape

    @cached_property
    def logical_bytes(self) -> Column:
        """The bytes of each value's shape, without padding. NONE if the shape is unknown."""
        shapes, shape = self.slice_shapes
        return taken(byte_sizes(shapes)[shape], self.values.slice)

    @cached_property
    def whole_bytes(self) -> Column:
        """The bytes of the whole shape of each value's instruction. For an element of a tuple that is the tuple's table
        of pointers. NONE if the shape is unknown.
        """
        values = self.values
        top = self.values_at(values.name, np.full(len(values), EMPTY_INDEX))
        is_whole = (top != NONE) & (values.name[top] == values.name) & (values.index[top] <= EMPTY_INDEX)
        sizes = np.where(is_whole, taken(self.logical_bytes, top), NONE)
        names, which = np.unique(values.name[sizes == NONE], return_inverse=True)
        found = map(self.instruction, names.tolist())
        sizes[sizes == NONE] = byte_sizes(instruction.shape if instruction else b"" for instruction in found)[which]
        return sizes

    # ------------------------------------------------------------ names

    @cached_property
    def _name_numbers(self) -> RowsByName:
        return RowsByName(self.names.block, self.names.offsets[:-1], self.names.offsets[1:])

    @cached_property
    def _index_numbers(self) -> dict[bytes, int]:
        return {index: number for number, index in enumerate(self.indices)}

    def name_number(self, name: bytes) -> int:
        """Return the number of a name, NONE if the set lacks it."""
        return self._name_numbers.row(name)

    def index_number(self, index: bytes) -> int:
        """Return the number of an index such as ``{0,1}``, NONE if the set lacks it."""
        return self._index_numbers.get(index, NONE)

    def index_numbers(self, indices: Iterable[bytes]) -> Column:
        """Return the number of each of some indices, NONE for those that the set lacks."""
        return np.fromiter(map(self._index_numbers.get, indices, repeat(NONE)), np.int64)

    def label(self, name: int, index: int) -> str:
        """Return a name and index as XLA prints them: ``fusion.5{0}``."""
        text = self.names[name] + (self.indices[index] if index != NONE else b"")
        return text.decode("utf-8", "replace")

    def name_of(self, value: int) -> int:
        """Return the number of the name of a value: that of the instruction that defines it."""
        return self.values.name.item(value)

    def value_label(self, value: int) -> str:
        """Return the name and index of a value's definition."""
        return self.label(self.name_of(value), self.values.index.item(value))

    # ------------------------------------------------------------ instructions and steps

    @cached_property
    def schedule_row_of_name(self) -> Column:
        """The schedule row of each name, NONE if it is not scheduled."""
        return first_rows(np.arange(len(self.names)), self.schedule.name, np.arange(len(self.schedule)))

    @cached_property
    def _schedule_order(self) -> Column:
        return as_rows(np.argsort(self.schedule.step, kind="stable"))

    @cached_property
    def last_step(self) -> int | None:
        """The last step of the schedule, None without a schedule."""
        return int(self.schedule.step.max()) if len(self.schedule) else None

    def schedule_row(self, step: int) -> int:
        """Return the schedule row of a step, NONE if there is none."""
        order = self._schedule_order
        row = place_in(self.schedule.step, step, order=order)
        is_there = row < len(order) and self.schedule.step[order[row]] == step
        return order.item(row) if is_there else NONE

    def instruction_at(self, step: int) -> str | None:
        """Return the name of the instruction that runs at a step, None past the end of the schedule."""
        row = self.schedule_row(step)
        return self.label(self.schedule.name.item(row), NONE) if row != NONE else None

    def positions_of(self, used_value: int) -> range:
        """Return the rows of `positions` of a row of `used_values`."""
        return rows_of(self.used_values.first_position, self.used_values.position_count, used_value)

    def uses_of(self, used_value: int) -> range:
        """Return the rows of `uses` of a row of `used_values`."""
        return rows_of(self.used_values.first_use, self.used_values.use_count, used_value)

    def buffers_of(self, peak: int) -> range:
        """Return the rows of `peak_buffers` of a row of `peaks`."""
        return rows_of(self.peaks.first_buffer, self.peaks.buffer_count, peak)

    @cached_property
    def quoting_rows(self) -> Pairs:
        """The rows of `used_values` that quote an instruction, sorted by its name, and the names."""
        rows = np.flatnonzero((self.used_values.id != NONE) & (self.used_values.instruction_start != NONE))
        rows = as_rows(ordered(rows, self.used_values.name))
        return rows, self.used_values.name[rows]

    @cached_property
    def first_quote(self) -> Column:
        """For each name the first row of `used_values` that quotes its instruction, NONE if none does. Each value of a
        tuple quotes the whole instruction.
        """
        rows, names = self.quoting_rows
        return first_rows(np.arange(len(self.names)), names, rows)

    @cached_property
    def quotes(self) -> Quotes:
        """The instruction of each name, from its first quote. The cells of a name without one are NONE."""
        data, used = self.used.document.data if self.used else b"", self.used_values
        start, end = (taken(column, self.first_quote) for column in (used.instruction_start, used.instruction_end))
        return read_quotes(data, np.maximum(start, 0), np.maximum(end, 0), QuoteParts.OPERANDS, self.names)

    def instruction(self, name: int) -> InstructionText | None:
        """The instruction of a name, at its bytes in the file `used`; None if the set does not quote it."""
        known = self._instructions
        if name not in known:
            if len(known) >= _MAX_KEPT_INSTRUCTIONS:
                known.clear()
            row, used = self.first_quote.item(name) if name != NONE else NONE, self.used_values
            known[name] = None
            if self.used and row != NONE:
                span = used.span(row, "instruction_start", "instruction_end")
                known[name] = read_instruction(self.used.document.data, *span)
        return known[name]

    @cached_property
    def _instructions(self) -> dict[int, InstructionText | None]:
        """The instructions read last: the values of a tuple share one, and some have 100,000 bytes of shape."""
        return {}

    def opcode(self, name: int) -> bytes | None:
        """The opcode of the instruction of a name, None if the set does not quote it."""
        opcodes, numbers, _ = self._opcodes
        return opcodes[numbers[name]] if name != NONE else None

    def has_opcode(self, *opcodes: bytes | None) -> Mask:
        """For each name whether its instruction has one of some opcodes, None for those that the set does not quote."""
        known, numbers, _ = self._opcodes
        return np.isin(numbers, [number for number, opcode in enumerate(known) if opcode in opcodes])

    @property
    def parameter_numbers(self) -> Column:
        """The number of the parameter of each name; NONE if it is no parameter, or its number has an unusual form."""
        return self._opcodes[2]

    @cached_property
    def _opcodes(self) -> tuple[list[bytes | None], Column, Column]:
        """Opcodes, for each name the number of its own, and for each name the number of the parameter."""
        opcodes: list[bytes | None] = [None]
        numbers = np.zeros(len(self.names), np.int32)
        if self.used is None:
            return opcodes, numbers, np.full(len(self.names), NONE, np.int32)
        data, quotes = self.used.document.data, self.quotes
        names = np.flatnonzero(quotes.opcode_start != NONE)
        start, end = quotes.opcode_start[names], quotes.opcode_end[names]
        number, first = number_texts(data, start, end)
        numbers[names] = number + len(opcodes)
        opcodes += [data[start[row] : end[row]] for row in first.tolist()]
        return opcodes, numbers, as_rows(quotes.parameter)

    def instruction_text(self, used_value: int) -> bytes | None:
        """The text of the instruction that a row of `used_values` quotes, None if it quotes none."""
        start, end = self.used_values.instruction_start[used_value], self.used_values.instruction_end[used_value]
        if self.used is None or start == NONE:
            return None
        return self.used.document.data[start:end]

    # ------------------------------------------------------------ allocations

    def allocation_row(self, index: int) -> int:
        """The row of the allocation with an index, NONE if there is none."""
        rows = np.flatnonzero(self.allocations.index == index)
        return rows.item(0) if len(rows) else NONE

    def values_of_allocation(self, allocation: int) -> Column:
        """The values in a row of `allocations`, in the order of the dump."""
        first = self.allocations.first_slice[allocation]
        return self.value_of_slice[first : first + self.allocations.slice_count[allocation]]
