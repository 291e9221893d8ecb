"""Map byte offsets between a text and a later version of it."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple


class TextEdit(NamedTuple):
    """Bytes `start` to `end` were replaced by `length` others."""

    start: int
    end: int
    length: int


def forward(edits: Iterable[TextEdit], offset: int) -> int:
    """Return where an offset is after some edits. One within replaced text moves to the start of that text."""
    for edit in edits:
        if offset >= edit.end:
            offset += edit.length - (edit.end - edit.start)
        elif offset > edit.start:
            offset = edit.start
    return offset


def backward(edits: Sequence[TextEdit], offset: int) -> int:
    """Return where an offset was before some edits. One within inserted text moves to the start of its edit."""
    for edit in reversed(edits):
        if offset >= edit.start + edit.length:
            offset -= edit.length - (edit.end - edit.start)
        elif offset > edit.start:
            offset = edit.start
    return offset


def merged(edits: Sequence[TextEdit]) -> TextEdit:
    """Combine edits into one that replaces everything from the first byte they touch to the last."""
    first, *others = edits
    start, end, length = first.start, first.end, first.length
    for edit in others:
        grown = length - (end - start)
        # The bounds of this edit in the text before all edits. Bounds within inserted text move to the ends of that.
        begin = min(start, edit.start)
        stop = max(end, edit.end - grown)
        length = stop - begin + grown + edit.length - (edit.end - edit.start)
        start, end = begin, stop
    return TextEdit(start, end, length)
