"""The text of an HLO module as columns: its computations, its instructions, and the tables of its stack frames.

The reader tells lines apart by how they begin, without a syntax tree: for the biggest modules a tree takes many times
as long and as much memory. What stands within a line is read on request, see `instruction.py`. Tests hold the columns
equal to the grammar.
"""

import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Final

import numpy as np

from xla_lens.records import dataclass
from xla_lens.syntax.columns import NONE, Column, Rows, Table
from xla_lens.syntax.hlo.lexical import DEFINITION, NAME, STRING_IN_LINE
from xla_lens.syntax.tree import check_cancelled
from xla_lens.text.document import Document


@dataclass(frozen=True, slots=True, eq=False)
class Computations(Table):
    """The computations of a module, from their heads to their closing brackets. `is_entry` is 1 for the entry. The
    instructions are `instruction_count` rows of `Instructions` from `first_instruction` on. The name excludes `%`.
    """

    name_start: Column
    name_end: Column
    first_instruction: Column
    instruction_count: Column
    is_entry: Column


@dataclass(frozen=True, slots=True, eq=False)
class Instructions(Table):
    """The instructions of a module, from `ROOT` or the name on. `computation` is a row of `Computations`, `is_root` is
    1 for its root. The name excludes `%`.
    """

    name_start: Column
    name_end: Column
    computation: Column
    is_root: Column


@dataclass(frozen=True, slots=True, eq=False)
class StackTables(Table):
    """The four tables of stack frames, from their header lines, which end at `header_end`, to their last rows."""

    header_end: Column


@dataclass(frozen=True, slots=True, eq=False)
class Strings(Table):
    """A table of strings by id. The rows span the strings with their quotation marks."""

    id: Column


@dataclass(frozen=True, slots=True, eq=False)
class FileLocations(Table):
    """The locations in source files by id; NONE where a field is missing."""

    id: Column
    file_name_id: Column
    function_name_id: Column
    line: Column
    column: Column


@dataclass(frozen=True, slots=True, eq=False)
class StackFrames(Table):
    """The stack frames by id. `parent_frame_id` is the printed number: one more than the id, and 1 for the outermost
    frame, since XLA counts frames from 0 there.
    """

    id: Column
    file_location_id: Column
    parent_frame_id: Column


@dataclass(frozen=True, slots=True, eq=False)
class ModuleColumns:
    """All tables of a module."""

    computations: Computations
    instructions: Instructions
    stack_tables: StackTables
    file_names: Strings
    function_names: Strings
    file_locations: FileLocations
    stack_frames: StackFrames


HEADER: Final = re.compile(rb"^(HloModule)[ \t]+([^\s,]+)", re.MULTILINE)
"""The start of a module; group 2 is its name."""

_INSTRUCTION: Final = re.compile(rb"[ \t]+" + DEFINITION)
_COMPUTATION: Final = re.compile(rb"(ENTRY[ \t]+)?%?(" + NAME + rb")[ \t]*(?:\(.*)?\{[ \t]*(?=[\r\n]|\Z)")
_CLOSE: Final = re.compile(rb"\}[ \t]*(?://|[\r\n]|\Z|,[ \t]*execution_thread=)")
_TABLE: Final = re.compile(rb"(FileNames|FunctionNames|FileLocations|StackFrames)[ \t]*(?=[\r\n]|\Z)")
_ROW: Final = re.compile(rb"(\d{1,9})[ \t]+(?:(" + STRING_IN_LINE + rb")|\{([^{}\n]*+)\})")
_FIELD: Final = re.compile(rb"([a-z_]+)=(\d{1,9})(?!\d)")
_DIGITS: Final = frozenset(b"0123456789")

_CHECK_INTERVAL: Final = 1 << 7
"""Lines between two checks for cancellation."""

_CHUNK: Final = 1 << 12
"""Lines searched for quotation marks at once."""


def read_module(
    document: Document, is_cancelled: Callable[[], bool], report_progress: Callable[[float], None] = lambda _: None
) -> ModuleColumns:
    """Read the columns of a module's text. Never fails: lines that it does not recognize are skipped. `report_progress`
    is called with the fraction that is read.

    Made for a worker thread; raises `Cancelled` once `is_cancelled` returns True. That is called about every
    millisecond, and may wait.
    """
    return _Reader(document, is_cancelled, report_progress).read()


class _Reader:
    """Reads the lines of a module in one pass."""

    def __init__(
        self, document: Document, is_cancelled: Callable[[], bool], report_progress: Callable[[float], None]
    ) -> None:
        self._data = document.data
        self._starts = _line_starts(document, is_cancelled)
        self._is_cancelled, self._report_progress = is_cancelled, report_progress
        self._tables = {
            b"FileNames": Rows(Strings),
            b"FunctionNames": Rows(Strings),
            b"FileLocations": Rows(FileLocations),
            b"StackFrames": Rows(StackFrames),
        }
        # All cells of an instruction are offsets and rows. There are hundreds of thousands.
        is_long = len(document.data) > np.iinfo(np.int32).max
        self._computations, self._instructions = Rows(Computations), Rows(Instructions, "q" if is_long else "i")
        self._table_spans: list[list[int]] = []
        self._open: tuple[int, ...] | None = None
        self._last: list[int] | None = None

    def read(self) -> ModuleColumns:
        table: bytes | None = None
        data = self._data
        for start, end in self._lines():
            first = data[start] if start < end else 0
            if first in b" \t" and self._read_instruction(start, end):
                continue
            if first in _DIGITS and table:
                self._read_row(table, start)
            elif first == ord("}") and _CLOSE.match(data, start, end):
                self._close(start + 1)
            elif header := _TABLE.match(data, start, end):
                table = header[1] if self._open is None else None
                if table:
                    self._table_spans.append([start, header.end(1), header.end(1)])
            elif computation := _COMPUTATION.match(data, start, end):
                self._close(start)
                table = None
                name_start, name_end = computation.span(2)
                count = self._instructions.count
                self._open = (start, name_start, name_end, count, int(computation[1] is not None))
            elif self._last and not data[start:end].isspace():
                # The last instruction continues: one of its attributes contains line ends.
                self._last[1] = self._trimmed(end)
        self._close(len(data))
        return ModuleColumns(
            Computations.of(self._computations.cells),
            Instructions.of(self._instructions.cells, self._instructions.cell_format),
            StackTables.of(np.array(self._table_spans, np.int64).tobytes()),
            Strings.of(self._tables[b"FileNames"].cells),
            Strings.of(self._tables[b"FunctionNames"].cells),
            FileLocations.of(self._tables[b"FileLocations"].cells),
            StackFrames.of(self._tables[b"StackFrames"].cells),
        )

    def _lines(self) -> Iterator[tuple[int, int]]:
        """The starts of the lines and of those behind them."""
        bounds = np.append(self._starts, len(self._data))
        for first in range(0, len(self._starts), _CHECK_INTERVAL):
            check_cancelled(self._is_cancelled)
            self._report_progress(first / len(self._starts))
            yield from pairwise(bounds[first : first + _CHECK_INTERVAL + 1].tolist())

    def _read_instruction(self, start: int, end: int) -> bool:
        match = _INSTRUCTION.match(self._data, start, end)
        if match is None or self._open is None:
            return False
        self._end_instruction()
        name_start, name_end = match.span(2)
        sign = self._data[name_start - 1 : name_start] == b"%"
        first = match.start(1) if match[1] else name_start - sign
        is_root = int(match[1] is not None)
        self._last = [first, self._trimmed(end), name_start, name_end, self._computations.count, is_root]
        return True

    def _end_instruction(self) -> None:
        if self._last:
            self._instructions.add(*self._last)
            self._last = None

    def _trimmed(self, end: int) -> int:
        while self._data[end - 1] in b"\r\n \t":
            end -= 1
        return end

    def _close(self, end: int) -> None:
        self._end_instruction()
        if self._open:
            start, name_start, name_end, first, is_entry = self._open
            count = self._instructions.count - first
            self._computations.add(start, self._trimmed(end), name_start, name_end, first, count, is_entry)
            self._open = None

    def _read_row(self, table: bytes, start: int) -> None:
        row = _ROW.match(self._data, start)
        if row is None:
            return
        number = int(row[1])
        self._table_spans[-1][1] = row.end()
        if row[2] is not None and table in (b"FileNames", b"FunctionNames"):
            self._tables[table].add(*row.span(2), number)
        elif row[3] is not None and table not in (b"FileNames", b"FunctionNames"):
            values = {field[1]: int(field[2]) for field in _FIELD.finditer(row[3])}
            self._tables[table].add(*row.span(), number, *(values.get(name, NONE) for name in _FIELDS[table]))


_FIELDS: Final = {
    b"FileLocations": (b"file_name_id", b"function_name_id", b"line", b"column"),
    b"StackFrames": (b"file_location_id", b"parent_frame_id"),
}


def _line_starts(document: Document, is_cancelled: Callable[[], bool]) -> Column:
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
