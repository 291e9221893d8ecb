"""The text of an HLO module as columns: its computations, its instructions, and the tables of its stack frames.

The reader, which is written in C, tells lines apart by how they begin, without a syntax tree: for the biggest modules a
tree takes many times as long and as much memory. What stands within a line is read on request, see `instruction.py`.
Tests hold the columns equal to the grammar.
"""

import re
from array import array
from collections.abc import Mapping
from typing import Final

import numpy as np
from msgspec import Struct

from tree_sitter_xla_dump import read_module as read_lines
from xla_lens.syntax.columns import NONE, Column, FileTable, Mask
from xla_lens.syntax.hlo.lexical import STRING_IN_LINE
from xla_lens.syntax.texts import column
from xla_lens.syntax.tree import check_cancelled
from xla_lens.text.document import Document, IsCancelled, ReportProgress
from xla_lens.text.patterns import lazy_pattern


class Computations(FileTable, frozen=True):
    """The computations of a module, from their heads to their closing brackets. `is_entry` is 1 for the entry. The
    instructions are `instruction_count` rows of `Instructions` from `first_instruction` on. The name excludes `%`.
    """

    name_start: Column
    name_end: Column
    first_instruction: Column
    instruction_count: Column
    is_entry: Column


class Instructions(FileTable, frozen=True):
    """The instructions of a module, from `ROOT` or the name on. The name excludes `%`."""

    name_start: Column
    name_end: Column

    @property
    def is_root(self) -> Mask:
        """Whether each instruction is marked as the root of its computation."""
        return self.name_start - self.start > len(b"%")


class StackTables(FileTable, frozen=True):
    """The four tables of stack frames, from their header lines to their last rows."""


class Strings(FileTable, frozen=True):
    """A table of strings by id. The rows span the strings with their quotation marks."""

    id: Column


class FileLocations(FileTable, frozen=True):
    """The locations in source files by id; NONE where a field is missing."""

    id: Column
    file_name_id: Column
    function_name_id: Column
    line: Column
    column: Column


class StackFrames(FileTable, frozen=True):
    """The stack frames by id. `parent_frame_id` is the printed number: one more than the id, and 1 for the outermost
    frame, since XLA counts frames from 0 there.
    """

    id: Column
    file_location_id: Column
    parent_frame_id: Column


class ModuleColumns(Struct, frozen=True, eq=False):
    """All tables of a module."""

    computations: Computations
    instructions: Instructions
    stack_tables: StackTables
    file_names: Strings
    function_names: Strings
    file_locations: FileLocations
    stack_frames: StackFrames


HEADER: Final = lazy_pattern(rb"^(HloModule)[ \t]+([^\s,]+)", re.MULTILINE)
"""The start of a module; group 2 is its name."""

_TABLE: Final = lazy_pattern(rb"(FileNames|FunctionNames|FileLocations|StackFrames)[ \t]*(?=[\r\n]|\Z)")
_ROW: Final = lazy_pattern(rb"(\d{1,9})[ \t]+(?:(" + STRING_IN_LINE + rb")|\{([^{}\n]*+)\})")
_FIELD: Final = lazy_pattern(rb"(?<![a-z_])([a-z_]+)=(\d{1,9})(?!\d)")

_CHECK_INTERVAL: Final = 1 << 7
"""Rows of stack frames between two checks for cancellation."""

_CHUNK: Final = 1 << 12
"""Lines searched for quotation marks at once."""


def read_module(
    document: Document, is_cancelled: IsCancelled, report_progress: ReportProgress = lambda _: None
) -> ModuleColumns:
    """Read the columns of a module's text. Never fails: lines that it does not recognize are skipped. `report_progress`
    is called with the fraction that is read.

    Made for a worker thread; raises `Cancelled` once `is_cancelled` returns True. That is called about every
    millisecond, and may wait.
    """
    data = document.data

    def report(size_bytes: int) -> None:
        report_progress(size_bytes / max(1, len(data)))
        check_cancelled(is_cancelled)

    starts = _line_starts(document, is_cancelled).astype(np.int64)
    computations, instructions, (table_lines,) = read_lines(data, starts, report)
    return ModuleColumns(
        Computations(*map(column, computations)),
        Instructions(*map(column, instructions)),
        *_stack_tables(data, column(table_lines), is_cancelled),
    )


def _stack_tables(
    data: bytes, starts: Column, is_cancelled: IsCancelled
) -> tuple[StackTables, Strings, Strings, FileLocations, StackFrames]:
    """The tables of stack frames, from the starts of the lines that may be their headers and rows."""
    # Arrays, because lists of a hundred thousand numbers take five times as much memory.
    cells = {name: array("q") for name in _TABLES}
    headers = array("q")
    name = b""
    for number, start in enumerate(starts.tolist()):
        if number % _CHECK_INTERVAL == 0:
            check_cancelled(is_cancelled)
        if header := _TABLE.match(data, start):
            name = header[1]
            headers.extend(header.span(1))
        elif row := _ROW.match(data, start):
            headers[-1] = row.end()
            names, is_string = _FIELDS[name], row[2] is not None
            if is_string is not bool(names):
                values = {field[1]: int(field[2]) for field in _FIELD.finditer(row[3] or b"")}
                cells[name].extend(
                    (*row.span(2 * is_string), int(row[1]), *(values.get(field, NONE) for field in names))
                )
    tables = [table.of(cells[name]) for name, table in _TABLES.items()]
    return StackTables.of(headers), *tables  # type: ignore[return-value]


_TABLES: Final[Mapping[bytes, type[FileTable]]] = {
    b"FileNames": Strings,
    b"FunctionNames": Strings,
    b"FileLocations": FileLocations,
    b"StackFrames": StackFrames,
}
_FIELDS: Final = {
    name: [*map(str.encode, table.__struct_fields__[len(Strings.__struct_fields__) :])]
    for name, table in _TABLES.items()
}
"""The names of the printed fields behind the id; tables of strings have none."""


def _line_starts(document: Document, is_cancelled: IsCancelled) -> Column:
    """The starts of lines, without those inside a string: an instruction may continue there."""
    data, starts = document.data, document.line_starts
    is_within, count = np.zeros(len(starts), np.bool_), 0
    for first in range(0, len(starts), _CHUNK):
        check_cancelled(is_cancelled)
        rows = starts[first : first + _CHUNK]
        end = starts[first + _CHUNK] if first + _CHUNK < len(starts) else len(data)
        text = data[rows[0] : end]
        if b"\\" in text:
            text = text.replace(rb"\\", b"  ").replace(rb"\"", b"  ")
        quotes = np.flatnonzero(np.frombuffer(text, np.uint8) == ord('"'))
        is_within[first : first + _CHUNK] = (quotes.searchsorted(rows - rows[0]) + count) % 2
        count += len(quotes)
    # With an odd number of quotation marks it is unknown which of them open a string.
    return starts[~is_within] if count % 2 == 0 else starts
