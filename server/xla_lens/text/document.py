r"""The text of one file: UTF-8 bytes and a table of its lines.

Everywhere in XLA Lens a place in a text is a byte offset. Lines and columns exist only in this package and where
answers are converted for the editor. Lines end as the Language Server Protocol defines: at ``\n``, ``\r\n`` and ``\r``.
"""

import codecs
from collections.abc import Callable
from functools import cached_property
from typing import Final, TypeAlias

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from xla_lens.text.patterns import lazy_pattern

Offsets: TypeAlias = NDArray[np.signedinteger]
"""Offsets or rows, in 32 bits if they fit."""

Span: TypeAlias = tuple[int, int]
"""The bytes of a piece of a text: the offset of its first one, and that after its last one."""

IsCancelled: TypeAlias = Callable[[], bool]
"""Whether what is being computed is no longer wanted."""

ReportProgress: TypeAlias = Callable[[float], None]
"""Called with the part that is done, from 0 to 1."""

_TAIL: Final = 1 << 10

_CHUNK: Final = 1 << 20
"""Bytes scanned at once, which bounds the size of temporary arrays and how long the interpreter's lock is held."""


class Document(Struct, frozen=True, eq=False, dict=True, weakref=True):
    """An immutable text."""

    data: bytes

    def __repr__(self) -> str:
        return f"<Document of {len(self.data):,} bytes>"

    @cached_property
    def line_starts(self) -> Offsets:
        """The byte offset at which each line starts, in 32 bits if they fit. There is always a first line."""
        starts = _offsets_after(self.data, b"\n", zeros=1)
        if b"\r" in self.data:
            returns = _offsets_after(self.data, b"\r")
            following = np.frombuffer(self.data + b"\0", np.uint8)[returns]
            starts = np.sort(np.concatenate((starts, returns[following != ord("\n")])))
        return starts

    @cached_property
    def content_end(self) -> int:
        """The byte offset behind the last character that is not white space."""
        end = len(self.data)
        while end and (tail := self.data[max(0, end - _TAIL) : end]).isspace():
            end -= len(tail)
        return end - len(tail) + len(tail.rstrip()) if end else 0

    @cached_property
    def wide_rows(self) -> Offsets:
        """The lines with non-ASCII characters, where columns depend on the encoding."""
        rows = [np.zeros(0, np.int64)]
        for start in range(0, len(self.data), _CHUNK):
            chunk = self.data[start : start + _CHUNK]
            if not chunk.isascii():
                places = np.flatnonzero(np.frombuffer(chunk, np.uint8) >= 0x80) + start
                rows.append(without_repetitions(self.line_starts.searchsorted(places, "right") - 1))
        return without_repetitions(np.concatenate(rows))

    @property
    def line_count(self) -> int:
        """The number of lines, one more than the number of line ends."""
        return len(self.line_starts)

    def row(self, offset: int) -> int:
        """Return the line of a byte offset, from 0. Clamps offsets outside of the text."""
        offset = min(max(offset, 0), len(self.data))
        # For a number of another type, numpy would convert the whole table.
        return int(self.line_starts.searchsorted(self.line_starts.dtype.type(offset), "right")) - 1

    def line_at(self, offset: int) -> Span:
        """Return the bytes of the line that contains an offset, without its line end."""
        return self.line_span(self.row(offset))

    def begins_line(self, offset: int) -> bool:
        """Whether only blanks stand before an offset in its line. Looks at no more of the line than those."""
        return _NOT_BLANK.search(self.data, self.line_at(offset)[0], offset) is None

    def line_span(self, row: int) -> Span:
        """Return the start and the end of a line without its line end. Clamps rows outside of the text."""
        starts = self.line_starts
        row = min(max(row, 0), len(starts) - 1)
        start = starts.item(row)
        if row + 1 == len(starts):
            return start, len(self.data)
        end = starts.item(row + 1) - 1
        return start, end - 1 if end > start and self.data[end - 1 : end + 1] == b"\r\n" else end

    def replaced(self, start: int, end: int, text: bytes) -> "Document":
        """Return this text with bytes `start` to `end` replaced. Updates the line table instead of rebuilding it."""
        document = Document(b"".join((memoryview(self.data)[:start], text, memoryview(self.data)[end:])))
        if b"\r" not in text and b"\r" not in self.data[max(0, start - 1) : end + 1]:
            starts = self.line_starts
            first, last = starts.searchsorted(np.array((start, end), starts.dtype), "right")
            cells = _cells(len(document.data))
            moved = np.add(starts[last:], len(text) - (end - start), dtype=cells)
            added = np.add(_offsets_after(text, b"\n"), start, dtype=cells)
            document.__dict__["line_starts"] = np.concatenate((starts[:first], added, moved))
        return document


def document_of_file(data: bytes) -> Document:
    """Return the document of a file's bytes. Invalid UTF-8 becomes replacement characters, as in an editor."""
    # `data.isascii()` would hold the interpreter's lock to its end.
    if data and np.frombuffer(data, np.uint8).max() >= 0x80:
        return Document(data if _is_utf8(data) else data.decode("utf-8", "replace").encode())
    document = Document(data)
    document.__dict__["wide_rows"] = np.zeros(0, np.int64)
    return document


_NOT_BLANK: Final = lazy_pattern(rb"\S")


def _is_utf8(data: bytes) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for start in range(0, len(data), _CHUNK):
            chunk = data[start : start + _CHUNK]
            # Most chunks are ASCII, which needs no decoding unless the last one ended within a character.
            if decoder.getstate()[0] or not chunk.isascii():
                decoder.decode(chunk)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def _cells(size_bytes: int) -> type[np.signedinteger]:
    """The type of the offsets in a text of some size."""
    return np.int32 if size_bytes <= np.iinfo(np.int32).max else np.int64


def _offsets_after(data: bytes, byte: bytes, zeros: int = 0) -> Offsets:
    """The offset behind each occurrence of a byte, after some zeros."""
    array, starts = np.frombuffer(data, np.uint8), range(0, len(data), _CHUNK)
    # Counted first: a list of parts would be in memory beside the table that is made of it.
    count = zeros + sum(data.count(byte, start, start + _CHUNK) for start in starts)
    offsets, end = np.zeros(count, _cells(len(data))), zeros
    for start in starts:
        found = np.flatnonzero(array[start : start + _CHUNK] == ord(byte))
        offsets[end : end + len(found)] = found + (start + 1)
        end += len(found)
    return offsets


def without_repetitions(rows: Offsets) -> Offsets:
    """Return ascending rows, each once. `np.unique` would import `numpy.ma`, which takes time and memory."""
    found: Offsets = rows[np.append(True, rows[1:] != rows[:-1])[: len(rows)]]
    return found
