"""The computations and instructions of an HLO module, read line by line with regular expressions.

The server reads them in C (grammar/python/tree_sitter_xla_dump/modules.c). The tests hold the two equal on any text,
also on damaged texts, which the grammar reads in another way.
"""

import re
from itertools import pairwise
from typing import Final

from xla_lens.syntax.hlo.lexical import DEFINITION, NAME

_Row = tuple[int, ...]

_INSTRUCTION: Final = re.compile(rb"[ \t]+" + DEFINITION)
_COMPUTATION: Final = re.compile(rb"(ENTRY[ \t]+)?%?(" + NAME + rb")[ \t]*(?:\(.*)?\{[ \t]*(?=[\r\n]|\Z)")
_CLOSE: Final = re.compile(rb"\}[ \t]*(?://|[\r\n]|\Z|,[ \t]*execution_thread=)")
_TABLE: Final = re.compile(rb"(FileNames|FunctionNames|FileLocations|StackFrames)[ \t]*(?=[\r\n]|\Z)")


def module_lines(data: bytes, starts: list[int]) -> tuple[list[_Row], list[_Row], list[_Row]]:
    """Return the rows of computations and instructions, and the starts of the lines that may be headers and rows of the
    tables of stack frames. `starts` are the lines, without those inside of a string.
    """
    reader = _Reader(data)
    for start, end in pairwise((*starts, len(data))):
        reader.read(start, end)
    reader.close(len(data))
    return reader.computations, reader.instructions, reader.table_lines


_AHEAD: Final = 8
_HAS_PARAMETERS: Final = re.compile(rb"[ \t]*\(")
_STRING: Final = re.compile(rb'"(?:[^"\\]|\\.)*("|\\?\Z)', re.DOTALL)


def _is_unfinished(text: bytes) -> bool:
    """Whether a bracket or a string of an instruction is still open at the end of its text."""
    rest = _STRING.sub(lambda found: b"" if found[1] == b'"' else b"{" * len(text), text)
    return sum(map(rest.count, (b"{", b"[", b"("))) > sum(map(rest.count, (b"}", b"]", b")")))


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.computations, self.instructions, self.table_lines = list[_Row](), list[_Row](), list[_Row]()
        self._data = data
        self._is_in_table = self._is_finished = False
        self._open: _Row | None = None
        self._last: list[int] | None = None

    def read(self, start: int, end: int) -> None:
        line = self._data[start:end]
        if line[:1] in (b" ", b"\t") and self._read_instruction(start, end):
            return
        if line[:1].isdigit() and self._is_in_table:
            self.table_lines.append((start,))
        elif _CLOSE.match(self._data, start, end):
            if self._open is None or not self._goes_on(end):
                self.close(start + 1)
        elif _TABLE.match(self._data, start, end):
            self._is_in_table = self._open is None
            if self._is_in_table:
                self.table_lines.append((start,))
        elif (match := _COMPUTATION.match(self._data, start, end)) and (
            b"(" in self._data[match.end(2) : end] or (self._open is None and self._goes_on(end))
        ):
            self.close(start)
            self._is_in_table = False
            self._open = start, *match.span(2), len(self.instructions), int(match[1] is not None)
        elif self._last and not line.isspace():
            self._is_finished = self._is_finished or not _is_unfinished(self._data[self._last[0] : start])
            if not self._is_finished:
                self._last[1] = self._trimmed(end)

    def _goes_on(self, end: int) -> bool:
        """Whether an instruction follows before another computation."""
        for line in self._data[end:].split(b"\n")[:_AHEAD]:
            if _INSTRUCTION.match(line + b"\n"):
                return True
            if line[:6] in (b"ENTRY ", b"ENTRY\t") or _COMPUTATION.match(line + b"\n"):
                return False
        return False

    def close(self, end: int) -> None:
        self._end_instruction()
        if self._open:
            start, name_start, name_end, first, is_entry = self._open
            count = len(self.instructions) - first
            last = self._trimmed(end)
            if count or _HAS_PARAMETERS.match(self._data, name_end):
                self.computations.append((start, last, name_start, name_end, first, count, is_entry))
            self._open = None

    def _read_instruction(self, start: int, end: int) -> bool:
        match = _INSTRUCTION.match(self._data, start, end)
        if match is None or self._open is None:
            return False
        self._end_instruction()
        name_start, name_end = match.span(2)
        sign = self._data[name_start - 1 : name_start] == b"%"
        first = match.start(1) if match[1] else name_start - sign
        self._is_finished = False
        self._last = [first, self._trimmed(end), name_start, name_end]
        return True

    def _end_instruction(self) -> None:
        if self._last:
            self.instructions.append(tuple(self._last))
            self._last = None

    def _trimmed(self, end: int) -> int:
        return len(self._data[:end].rstrip(b"\r\n \t"))
