"""Places carried over edits, between a text and a later one."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Edit:
    """The bytes from `start` to `end` were replaced by `length` others."""

    start: int
    end: int
    length: int


def forward(edits: Iterable[Edit], offset: int) -> int:
    """Where a place of the text before some edits is after them. A place that was replaced is where that began."""
    for edit in edits:
        if offset >= edit.end:
            offset += edit.length - (edit.end - edit.start)
        elif offset > edit.start:
            offset = edit.start
    return offset


def backward(edits: Sequence[Edit], offset: int) -> int:
    """Where a place of the text after some edits was before them. A place that is new was where the edit began."""
    for edit in reversed(edits):
        if offset >= edit.start + edit.length:
            offset -= edit.length - (edit.end - edit.start)
        elif offset > edit.start:
            offset = edit.start
    return offset


def merged(edits: Sequence[Edit]) -> Edit:
    """One edit instead of some: it replaces all from the first byte that they touch to the last."""
    first, *others = edits
    start, end, length = first.start, first.end, first.length
    for edit in others:
        grown = length - (end - start)
        # Where the edit begins and ends, in the text before all of them; within what was new that is its begin or end.
        begin = min(start, edit.start)
        stop = max(end, edit.end - grown)
        length = stop - begin + grown + edit.length - (edit.end - edit.start)
        start, end = begin, stop
    return Edit(start, end, length)
