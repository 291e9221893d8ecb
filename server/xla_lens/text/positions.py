"""Convert between byte offsets and the positions of editors: a line and a column in UTF-8, UTF-16 or UTF-32 units.

Client and server negotiate the unit. All three follow from the first byte of each character, so text is not decoded
here. A document is UTF-8, but may contain a lone surrogate that a client sent.
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from xla_lens.text.document import Document
from xla_lens.text.encoding import Encoding

Numbers: TypeAlias = NDArray[np.int64]


def to_position(document: Document, offset: int, encoding: Encoding) -> tuple[int, int]:
    """Return the line and the column of a byte offset, both from 0, the column in units of `encoding`."""
    row = document.row(offset)
    start, end = document.line_span(row)
    return row, width(document.data[start : max(start, min(offset, end))], encoding)


def position_from_1(document: Document, offset: int) -> dict[str, int]:
    """Return the row and the column of a byte offset as people count them: from 1, the column in characters."""
    row, column = to_position(document, offset, Encoding.UTF32)
    return {"row": row + 1, "column": column + 1}


def to_positions(document: Document, offsets: Numbers, encoding: Encoding) -> tuple[Numbers, Numbers]:
    """Return the lines and columns of many byte offsets, equal to those of `to_position`."""
    rows = np.maximum(document.line_starts.searchsorted(offsets, "right") - 1, 0)
    starts = document.line_starts[rows]
    columns = offsets - starts
    wide = np.flatnonzero(np.isin(rows, document.wide_rows)) if encoding is not Encoding.UTF8 else rows[:0]
    if len(wide):
        for places in np.split(wide, np.flatnonzero(np.diff(rows[wide])) + 1):
            here = columns[places]
            line = document.data[starts[places[0]] : starts[places[0]] + here.max()]
            columns[places] = np.append(0, _widths(line, encoding).cumsum())[here]
    if document.data:
        data = np.frombuffer(document.data, np.uint8)
        before, after = (data.take(places, mode="clip") for places in (offsets - 1, offsets))
        # An offset between the two bytes of a line end counts as the end of the line.
        columns -= (before == ord("\r")) & (after == ord("\n")) & (columns > 0)
    return rows, columns


def width(data: bytes, encoding: Encoding) -> int:
    """Return the width of some bytes of a line in units of `encoding`."""
    if encoding is Encoding.UTF8 or data.isascii():
        return len(data)
    return int(_widths(data, encoding).sum())


def to_offset(document: Document, row: int, column: int, encoding: Encoding) -> int:
    """Return the byte offset of a position. As the protocol requires, a column past the end of the line counts as its
    end, and a line past the end of the text as the end of the text. A column within a character counts as its start.
    """
    if row >= document.line_count:
        return len(document.data)
    start, end = document.line_span(row)
    line, column = document.data[start:end], max(column, 0)
    if encoding is Encoding.UTF8 or line.isascii():
        offset = min(column, len(line))
        while offset < len(line) and line[offset] & 0xC0 == 0x80:
            offset -= 1
        return start + offset
    widths = _widths(line, encoding)
    characters = np.flatnonzero(widths)
    columns_after = widths[characters].cumsum()
    passed = int(columns_after.searchsorted(column, "right"))
    return start + characters.item(passed) if passed < len(characters) else end


def encode(text: str) -> bytes:
    """Encode text that a client sent, which may contain lone surrogates."""
    return text.encode("utf-8", "surrogatepass")


def decode(data: bytes) -> str:
    """Decode bytes for display. Bytes that are not UTF-8 become replacement characters."""
    return data.decode("utf-8", "replace")


def _widths(data: bytes, encoding: Encoding) -> Numbers:
    """For each byte the width of the character that starts there, 0 for continuation bytes."""
    array = np.frombuffer(data, np.uint8)
    widths: Numbers = ((array & 0xC0) != 0x80).astype(np.int64)
    if encoding is Encoding.UTF16:
        widths += array >= 0xF0
    return widths
