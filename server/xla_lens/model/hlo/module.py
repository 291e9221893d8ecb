"""The HLO module of a dump set: its instructions and computations by name and by place.

A name is the same in the dump and in the module, where it may have a ``%`` before it, and as an operand ``#2`` behind
it for an element of a tuple.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from xla_lens.model.hlo.references import HloReferences, read_references
from xla_lens.model.hlo.stack_frames import MAX_DIGITS, StackFrame, metadata_frames, stack
from xla_lens.model.places.places import Place
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.syntax.columns import NONE, Table
from xla_lens.syntax.hlo.instruction import Instruction, read_instruction
from xla_lens.syntax.hlo.module import HEADER, ModuleColumns


@dataclass(frozen=True, eq=False)
class HloModule:
    """A module; `file` is its file. Instructions and computations are rows of the tables of `columns`."""

    file: DumpFile
    columns: ModuleColumns

    @property
    def data(self) -> bytes:
        """The text."""
        return self.file.document.data

    def prepare(self) -> None:
        """Derives all tables, so that whoever asks first does not have to wait for them."""
        self.references.prepare()

    # ------------------------------------------------------------ names

    @cached_property
    def references(self) -> HloReferences:
        """Where instructions and computations are named."""
        return read_references(self.data, self.columns, self.instruction_rows, self.computation_rows)

    @cached_property
    def instruction_rows(self) -> Mapping[bytes, int]:
        """The instructions by their names."""
        return self._rows_by_name(self.columns.instructions)

    @cached_property
    def computation_rows(self) -> Mapping[bytes, int]:
        """The computations by their names."""
        return self._rows_by_name(self.columns.computations)

    def _rows_by_name(self, table: Table) -> Mapping[bytes, int]:
        starts, ends = table.name_start.tolist(), table.name_end.tolist()  # type: ignore[attr-defined]
        # Of two of one name the first counts.
        return {self.data[starts[row] : ends[row]]: row for row in reversed(range(len(starts)))}

    def row_of(self, name: bytes) -> int:
        """The row of the instruction of a name, NONE if there is none."""
        return self.instruction_rows.get(name, NONE)

    def operand(self, name: bytes) -> tuple[int, bytes]:
        """The instruction that an operand names, NONE if there is none, and the index of its element in braces, empty
        for the whole.
        """
        row = self.row_of(name)
        if row != NONE:
            return row, b""
        name, index = operand_position(name)
        return self.row_of(name), index

    def name(self, row: int) -> bytes:
        """The name of an instruction."""
        table = self.columns.instructions
        return self.data[table.name_start[row] : table.name_end[row]]

    def computation_name(self, row: int) -> bytes:
        """The name of a computation."""
        table = self.columns.computations
        return self.data[table.name_start[row] : table.name_end[row]]

    # ------------------------------------------------------------ places

    def place(self, row: int) -> Place:
        """The name of an instruction where it is defined."""
        table = self.columns.instructions
        return Place(self.file, int(table.name_start[row]), int(table.name_end[row]))

    def computation_place(self, row: int) -> Place:
        """The name of a computation at its head."""
        table = self.columns.computations
        return Place(self.file, int(table.name_start[row]), int(table.name_end[row]))

    def instruction_at(self, offset: int) -> int:
        """The instruction whose text a byte is in, NONE if it is in none."""
        return _row_at(self.columns.instructions, offset)

    def computation_at(self, offset: int) -> int:
        """The computation whose text a byte is in, NONE if it is in none."""
        return _row_at(self.columns.computations, offset)

    def computation_span(self, row: int) -> tuple[int, int]:
        """The bytes of a computation."""
        table = self.columns.computations
        return int(table.start[row]), int(table.end[row])

    def instructions_of(self, computation: int) -> range:
        """The instructions of a computation, in the order of the text: of one that is scheduled that of the steps."""
        first = int(self.columns.computations.first_instruction[computation])
        return range(first, first + int(self.columns.computations.instruction_count[computation]))

    def root(self, computation: int) -> int:
        """The instruction that a computation gives, NONE if it cannot be told."""
        roots = (row for row in self.instructions_of(computation) if self.columns.instructions.is_root[row])
        return next(roots, NONE)

    # ------------------------------------------------------------ what an instruction says

    def span(self, row: int) -> tuple[int, int]:
        """The bytes of an instruction."""
        table = self.columns.instructions
        return int(table.start[row]), int(table.end[row])

    def header(self) -> tuple[int, int]:
        """The word ``HloModule`` and the name behind it, both 0 where they are missing."""
        match = HEADER.search(self.data, 0, _HEAD)
        return match.span() if match else (0, 0)

    def instruction(self, row: int) -> Instruction | None:
        """An instruction, None where its text cannot be read."""
        return read_instruction(self.data, *self.span(row))

    def metadata(self, row: int) -> Mapping[str, str]:
        """The metadata fields of an instruction, empty without any."""
        instruction = self.instruction(row)
        return instruction.metadata() if instruction else {}

    def frames(self, metadata: Mapping[str, str]) -> tuple[StackFrame, ...]:
        """The calls that made an instruction with some metadata, the innermost first; releases before jaxlib 0.8.2 tell
        one.
        """
        frame_id = metadata.get("stack_frame_id", "")
        if frame_id.isdecimal() and len(frame_id) < MAX_DIGITS:
            return self.stack(int(frame_id))
        return metadata_frames(metadata)

    def stack(self, frame_id: int) -> tuple[StackFrame, ...]:
        """The calls that a frame stands for, the innermost first."""
        known = self._stacks
        if frame_id not in known:
            known[frame_id] = stack(self.columns, self.data, frame_id)
        return known[frame_id]

    @cached_property
    def _stacks(self) -> dict[int, tuple[StackFrame, ...]]:
        """Those that were asked for: thousands of instructions have the same."""
        return {}


_HEAD: Final = 4096
_ELEMENT: Final = re.compile(rb"(.+)#([0-9]+)")


def operand_position(operand: bytes) -> tuple[bytes, bytes]:
    """The instruction that an operand names, and the index of its element in braces; empty for the whole."""
    match = _ELEMENT.fullmatch(operand)
    return (match[1], b"{%s}" % match[2]) if match else (operand, b"")


def _row_at(table: Table, offset: int) -> int:
    row = int(table.start.searchsorted(offset, "right")) - 1
    return row if row >= 0 and offset <= table.end[row] else NONE
