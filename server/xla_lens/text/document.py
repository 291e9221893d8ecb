r"""The text of one file: UTF-8 bytes and a table of its lines.

A place in a text is a byte offset everywhere in XLA Lens. Lines, and columns in whatever unit an editor counts, exist
here and at the edge only. Lines end where the Language Server Protocol says: at ``\n``, ``\r\n`` and ``\r``.
"""

import codecs
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

_TAIL: Final = 1 << 10

_CHUNK: Final = 1 << 20
"""Bytes looked at in one go: few enough that what is made of them stays small."""


@dataclass(frozen=True, eq=False)
class Document:
    """An immutable text."""

    data: bytes

    @cached_property
    def line_starts(self) -> NDArray[np.int64]:
        """The byte offset at which each line starts. There is always a first line."""
        ends = _offsets_after(self.data, b"\n")
        if b"\r" in self.data:
            returns = _offsets_after(self.data, b"\r")
            following = np.frombuffer(self.data + b"\0", np.uint8)[returns]
            ends = np.sort(np.concatenate((ends, returns[following != ord("\n")])))
        return np.concatenate((np.zeros(1, np.int64), ends))

    @cached_property
    def content_end(self) -> int:
        """The byte offset behind the last byte that is no white space."""
        end = len(self.data)
        while end and (tail := self.data[max(0, end - _TAIL) : end]).isspace():
            end -= len(tail)
        return end - len(tail) + len(tail.rstrip()) if end else 0

    @cached_property
    def wide_rows(self) -> NDArray[np.int64]:
        """The lines in which a column is not a byte in every unit."""
        rows = [np.zeros(0, np.int64)]
        for start in range(0, len(self.data), _CHUNK):
            chunk = self.data[start : start + _CHUNK]
            if not chunk.isascii():
                places = np.flatnonzero(np.frombuffer(chunk, np.uint8) >= 0x80) + start
                rows.append(np.unique(self.line_starts.searchsorted(places, "right") - 1))
        return np.unique(np.concatenate(rows))

    @property
    def line_count(self) -> int:
        """How many lines there are; one more than there are line ends."""
        return len(self.line_starts)

    def row(self, offset: int) -> int:
        """The line that holds a byte offset, from 0. An offset outside of the text counts as the nearest in it."""
        return max(0, int(self.line_starts.searchsorted(offset, "right")) - 1)

    def line_span(self, row: int) -> tuple[int, int]:
        """Where a line starts and where it ends, without its line end. A row outside of the text counts as the nearest
        in it.
        """
        starts = self.line_starts
        row = min(max(row, 0), len(starts) - 1)
        start = int(starts[row])
        if row + 1 == len(starts):
            return start, len(self.data)
        end = int(starts[row + 1]) - 1
        return start, end - 1 if end > start and self.data[end - 1 : end + 1] == b"\r\n" else end

    def replaced(self, start: int, end: int, text: bytes) -> "Document":
        """This text with the bytes from `start` to `end` replaced. The table of lines is carried over."""
        document = Document(b"".join((memoryview(self.data)[:start], text, memoryview(self.data)[end:])))
        if b"\r" not in text and b"\r" not in self.data[max(0, start - 1) : end + 1]:
            starts = self.line_starts
            first, last = starts.searchsorted((start, end), "right")
            moved = starts[last:] + (len(text) - (end - start))
            document.__dict__["line_starts"] = np.concatenate(
                (starts[:first], start + _offsets_after(text, b"\n"), moved)
            )
        return document


def document_of_file(data: bytes) -> Document:
    """The document of a file's bytes. What is not UTF-8 becomes replacement characters, as in an editor."""
    return Document(data if _is_utf8(data) else data.decode("utf-8", "replace").encode())


def _is_utf8(data: bytes) -> bool:
    if data.isascii():
        return True
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for start in range(0, len(data), _CHUNK):
            decoder.decode(data[start : start + _CHUNK])
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def _offsets_after(data: bytes, byte: bytes) -> NDArray[np.int64]:
    """The offset after each occurrence of a byte."""
    array = np.frombuffer(data, np.uint8)
    chunks = [
        np.flatnonzero(array[start : start + _CHUNK] == ord(byte)) + (start + 1)
        for start in range(0, len(array), _CHUNK)
    ]
    return np.concatenate(chunks) if chunks else np.zeros(0, np.int64)
