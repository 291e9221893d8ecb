"""The HLO module of a dump set: its instructions and computations by name and by byte offset.

Names are the same in the dump and in the module. In the module they may have a ``%`` sign, and an operand that is an
element of a tuple ends with its numbers: ``%while.5#1``, ``%fusion#7#1``.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from typing import Final

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tree_sitter_xla_dump import release_memory
from xla_lens.model.hlo.stack_frames import MAX_DIGITS, CallStacks, Frames, StackFrame, metadata_frames
from xla_lens.model.places.places import Place, row_place
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.tables.lookup import RowsByName, as_rows, row_at
from xla_lens.syntax.columns import NONE, Column, Mask, rows_of
from xla_lens.syntax.hlo.forms import Forms, read_forms
from xla_lens.syntax.hlo.instruction import InstructionText, Metadata, read_instruction
from xla_lens.syntax.hlo.lexical import CALLING_ATTRIBUTES, NAME_CHARACTER, operand_position
from xla_lens.syntax.hlo.module import HEADER, ModuleColumns, Strings
from xla_lens.syntax.hlo.source_columns import Sources, read_sources
from xla_lens.syntax.tree import check_cancelled
from xla_lens.text.document import IsCancelled, Span
from xla_lens.text.patterns import lazy_pattern


class HloModule(Struct, frozen=True, eq=False, dict=True):
    """An HLO module. Instructions and computations are rows of the tables of `columns`."""

    file: DumpFile
    columns: ModuleColumns

    def __repr__(self) -> str:
        return f"<HloModule of {len(self.columns.instructions):,} instructions in {self.file.label!r}>"

    @property
    def data(self) -> bytes:
        """The text of the module."""
        return self.file.document.data

    @property
    def is_cut_off(self) -> bool:
        """Whether the end of the text is missing: XLA prints the entry computation last, then an empty line."""
        entry = self.data.rfind(b"\nENTRY ")
        # Another program may have printed something behind it.
        is_whole = self.data.endswith((b"\n\n", b"\n\r\n")) or _END.search(self.data, entry)
        return entry < 0 or not is_whole or not len(self.columns.instructions)

    def prepare(self, is_cancelled: IsCancelled) -> None:
        """Build all derived tables now, so that the first request does not pay for them. Raises `Cancelled` once
        `is_cancelled` returns True.
        """
        check_cancelled(is_cancelled)
        # Each step leaves freed memory between the tables, as in `analyse`.
        release_memory()
        _ = self.instruction_rows, self.computation_rows, self.has_loops
        release_memory()

    @cached_property
    def unknown_rows(self) -> NDArray[np.intp]:
        """The lines, from 0, that belong to no part of the module."""
        document, columns = self.file.document, self.columns
        tables = columns.stack_tables, columns.file_names, columns.function_names, columns.file_locations
        heads, ends = columns.computations.start, np.maximum(columns.computations.end - 1, 0)
        rows = (heads, ends, columns.stack_frames.start, *(table.start for table in tables))
        starts = np.concatenate((columns.instructions.start, *rows))
        ends = np.concatenate((np.maximum(columns.instructions.end - 1, columns.instructions.start), *rows))
        first, last = (document.line_starts.searchsorted(places, "right") - 1 for places in (starts, ends))
        # Where known rows begin, minus where they end: the sum is the number of rows in a line.
        count = document.line_count
        changes = np.bincount(first, minlength=count + 1) - np.bincount(last + 1, minlength=count + 1)
        is_known = changes.cumsum()[:count] > 0
        # Most other lines are empty, and have a line end only.
        lengths = np.diff(document.line_starts, append=len(self.data) + 1)
        others = np.flatnonzero(~is_known & (lengths > 1)).tolist()
        texts = [(row, slice(*document.line_span(row))) for row in others]
        unknown = [row for row, span in texts if self.data[span].strip() and not HEADER.match(self.data[span])]
        return np.array(unknown, np.intp)

    # ------------------------------------------------------------ names

    @cached_property
    def instruction_rows(self) -> RowsByName:
        """The rows of the instructions by name."""
        table = self.columns.instructions
        return RowsByName(self.data, table.name_start, table.name_end)

    @cached_property
    def computation_rows(self) -> RowsByName:
        """The rows of the computations by name."""
        table = self.columns.computations
        return RowsByName(self.data, table.name_start, table.name_end)

    def row_of(self, name: bytes) -> int:
        """Return the row of the instruction with a name, NONE if there is none."""
        return self.instruction_rows.row(name)

    def operand(self, name: bytes) -> tuple[int, bytes]:
        """Return the row of the instruction that an operand refers to, NONE if there is none, and the shape index of
        the element in braces, empty for the whole value.
        """
        row = self.row_of(name)
        if row != NONE:
            return row, b""
        name, index = operand_position(name)
        return self.row_of(name), index

    def name(self, row: int) -> bytes:
        """Return the name of an instruction."""
        table = self.columns.instructions
        return self.data[table.name_start[row] : table.name_end[row]]

    def computation_name(self, row: int) -> bytes:
        """Return the name of a computation."""
        table = self.columns.computations
        return self.data[table.name_start[row] : table.name_end[row]]

    def words_like(self, definition: Place, start: int, end: int) -> Iterator[int]:
        """Yield where a defined name may be referred to between two bytes, in the order of the text, without `%`."""
        data, sign = self.data, self.data[definition.start - 1 : definition.start]
        wanted = sign * (sign == b"%") + data[definition.start : definition.end]
        place = data.find(wanted, start, end)
        while place >= 0:
            after = place + len(wanted)
            # An operand without a sign may follow a comment. A number behind the name is that of an element.
            begins = sign == b"%" or not IN_NAME.match(data, place - 1) or data.startswith(b"*/", place - 2)
            if begins and not (IN_NAME.match(data, after) and not data.startswith(b"#", after)):
                yield place + (sign == b"%")
            place = data.find(wanted, after, end)

    def called(self, start: int, end: int) -> Iterator[tuple[bytes, int, int]]:
        """Yield the computations that the attributes between two bytes name: the attribute, the place in its list, and
        the row of the computation, NONE if there is none.
        """
        for match in CALLED.finditer(self.data, start, end):
            for place, name in enumerate(_called_names(match)):
                yield match[1], place, self.computation_rows.row(name)

    @cached_property
    def only_callers(self) -> Column:
        """The instruction that calls each computation, NONE where none or several do. One pass over the text: a module
        can have ten thousand computations.
        """
        instructions, count = self.columns.instructions, len(self.columns.computations)
        calls = [(match.start(), name) for match in CALLED.finditer(self.data) for name in _called_names(match)]
        computations = self.computation_rows.rows_of([name for _, name in calls])
        starts = np.array([start for start, _ in calls], np.int64)
        callers = instructions.start.searchsorted(starts, "right") - 1
        is_known = (computations != NONE) & (callers >= 0)
        first, last = np.full(count, len(instructions)), np.full(count, NONE)
        np.minimum.at(first, computations[is_known], callers[is_known])
        np.maximum.at(last, computations[is_known], callers[is_known])
        return np.where(first == last, first, NONE)

    # ------------------------------------------------------------ places

    def place(self, row: int) -> Place:
        """Return the place of an instruction's name where it is defined."""
        return row_place(self.file, self.columns.instructions, row, "name_start", "name_end")

    def computation_place(self, row: int) -> Place:
        """Return the place of a computation's name where it is defined."""
        return row_place(self.file, self.columns.computations, row, "name_start", "name_end")

    def instruction_at(self, offset: int) -> int:
        """Return the instruction around a byte, NONE if there is none."""
        return row_at(self.columns.instructions, offset)

    def computation_at(self, offset: int) -> int:
        """Return the computation around a byte, NONE if there is none."""
        return row_at(self.columns.computations, offset)

    def computation_span(self, row: int) -> Span:
        """Return the span of a computation."""
        return self.columns.computations.span(row)

    def instructions_of(self, computation: int) -> range:
        """Return the instructions of a computation in the order of the text, which is that of the schedule if there is
        one.
        """
        table = self.columns.computations
        return rows_of(table.first_instruction, table.instruction_count, computation)

    def parameters_of(self, computation: int) -> list[int]:
        """Return the instructions of a computation that are its parameters."""
        rows = self.instructions_of(computation)
        found: list[int] = (np.flatnonzero(self._is_parameter[rows.start : rows.stop]) + rows.start).tolist()
        return found

    @cached_property
    def _is_parameter(self) -> Mask:
        """Whether each instruction is a parameter."""
        return np.array([opcode == b"parameter" for opcode in self.sources.opcodes], np.bool_)[self.sources.opcode]

    def computation_of(self, row: int) -> int:
        """Return the computation of an instruction."""
        return bisect_right(self._first_instructions, row) - 1

    @cached_property
    def _first_instructions(self) -> list[int]:
        """The first instruction of each computation. Searching a list is many times as fast as searching a column."""
        first: list[int] = self.columns.computations.first_instruction.tolist()
        return first

    def is_in_entry(self, row: int) -> bool:
        """Return whether an instruction is in the entry computation."""
        return bool(self.columns.computations.is_entry[self.computation_of(row)])

    @property
    def entry(self) -> int:
        """The entry computation, NONE without one."""
        rows = np.flatnonzero(self.columns.computations.is_entry)
        return rows.item(-1) if len(rows) else NONE

    def root(self, computation: int) -> int:
        """Return the root instruction of a computation, NONE if none is marked."""
        return self.roots.item(computation)

    @cached_property
    def roots(self) -> Column:
        """The root instruction of each computation, NONE if none is marked."""
        computations = self.columns.computations
        rows = np.flatnonzero(self.columns.instructions.is_root)
        place = np.append(rows, NONE)[rows.searchsorted(computations.first_instruction)]
        is_within = place < computations.first_instruction + computations.instruction_count
        return as_rows(np.where(is_within, place, NONE))

    @cached_property
    def has_loops(self) -> bool:
        """Whether an instruction is a loop."""
        return b" while(" in self.data

    # ------------------------------------------------------------ texts

    @property
    def up_to_files(self) -> bytes:
        """The part of the text that has the module's name and the files of its call stacks, in old releases all."""
        return self._up_to(self.columns.file_names)

    @property
    def up_to_functions(self) -> bytes:
        """The part of the text that also has the functions of its call stacks, in old releases all."""
        return self._up_to(self.columns.function_names)

    def _up_to(self, table: Strings) -> bytes:
        """The text up to the end of a table in it, or all of it if the table is empty."""
        return self.data[: table.end.max()] if len(table) else self.data

    @cached_property
    def sources(self) -> Sources:
        """What all instructions are, and where they come from."""
        return read_sources(self.data, self.columns.instructions)

    @cached_property
    def forms(self) -> Forms:
        """Which instructions are alike, and the operands of all."""
        return read_forms(self.data, self.columns)

    def span(self, row: int) -> Span:
        """Return the span of an instruction."""
        return self.columns.instructions.span(row)

    def header(self) -> Span:
        """Return the span of ``HloModule`` and the module's name, (0, 0) without a header."""
        match = HEADER.search(self.data, 0, _HEAD)
        return match.span() if match else (0, 0)

    @property
    def header_line(self) -> Span:
        """The span of the line that begins with ``HloModule``, and its line end; the first line if there is none."""
        start = self.header()[0]
        return start, self.data.find(b"\n", start) + 1

    def instruction(self, row: int) -> InstructionText | None:
        """Read an instruction. None if its text is not well-formed."""
        return read_instruction(self.data, *self.span(row))

    def metadata(self, row: int) -> Metadata:
        """Return the metadata fields of an instruction, empty without any."""
        instruction = self.instruction(row)
        return instruction.metadata() if instruction else {}

    def frames(self, metadata: Metadata) -> Frames:
        """Return the calls that made an instruction with some metadata, innermost first. Releases before jaxlib 0.8.2
        print only one.
        """
        frame_id = metadata.get("stack_frame_id", "")
        if frame_id.isdecimal() and len(frame_id) < MAX_DIGITS:
            return self.stack(int(frame_id))
        return metadata_frames(metadata)

    def stack(self, frame_id: int) -> Frames:
        """Return the call stack of a `stack_frame_id`, innermost frame first; of a very deep one, the inner calls."""
        return self._call_stacks.of(frame_id)

    def file_location(self, location_id: int) -> StackFrame | None:
        """Return the call at a `file_location_id`, None if it is unknown."""
        return self._call_stacks.frame_at(location_id)

    @cached_property
    def _call_stacks(self) -> CallStacks:
        return CallStacks(self.columns, self.data)


def _called_names(match: re.Match[bytes]) -> list[bytes]:
    """The names of computations in an attribute."""
    names = (match[3] if match[2] is None else match[2]).split(b",")
    return [name.strip().removeprefix(b"%") for name in names]


_HEAD: Final = 4096

CALLED: Final = lazy_pattern(rb", (%b)=(?:\{([^{}]*)\}|([^,\s]+))" % b"|".join(CALLING_ATTRIBUTES))
"""An attribute that names computations: group 1 is the attribute, 2 a list of names in braces, 3 a single name."""

CALLED_NAMES: Final = lazy_pattern(rb", (?:%b)=(\{[^{}]*\}|[^,\s]+)" % b"|".join(CALLING_ATTRIBUTES))
"""The names in such an attribute, a list with its braces."""

IN_NAME: Final = lazy_pattern(NAME_CHARACTER)
"""A character of a name."""

_END: Final = lazy_pattern(rb"\n\}[^\n]*\n\r?\n")
"""The end of the last computation, and the empty line behind it."""
