"""Where the text of a dump or of an HLO module names a source line."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from xla_lens.model.hlo.module import HloModule
from xla_lens.model.hlo.stack_frames import StackFrame, is_file, user_frame
from xla_lens.syntax.hlo.lexical import STRING_IN_LINE, unquoted


@dataclass(frozen=True, slots=True)
class SourceMention:
    """Bytes `start` to `end` of a text name a stack frame."""

    start: int
    end: int
    frame: StackFrame


_FILE: Final = b'source_file="'
_FILE_AND_LINE: Final = re.compile(rb"source_file=(" + STRING_IN_LINE + rb")(?: source_line=([0-9]{1,9})(?![0-9]))?")
_FRAME: Final = b"stack_frame_id="
_FRAME_ID: Final = re.compile(rb"(?<=[{ ])stack_frame_id=([0-9]{1,9})(?![0-9])")
_METADATA: Final = b"metadata={"


def source_mentions(
    data: bytes, module: HloModule | None, start: int = 0, end: int | None = None
) -> Iterator[SourceMention]:
    """Find where instructions at bytes `start` to `end` of a text name their source, in the order of the text: a file
    with its line, or the id of a frame of the module, which stands for its user frame.
    """
    end = len(data) if end is None else end
    for place in _occurrences(data, (_FILE, _FRAME) if module else (_FILE,), start, end):
        file, frame = _FILE_AND_LINE.match(data, place, end), _FRAME_ID.match(data, place, end)
        if file:
            path, line = unquoted(file[1]), int(file[2]) if file[2] else None
            if path:
                last = file.end(2) if file[2] else file.end(1) - 1
                yield SourceMention(file.start(1) + 1, last, StackFrame(path, line))
        elif frame and module and not _is_in_string(data, start, place):
            own = user_frame(module.stack(int(frame[1])))
            if own and is_file(own.file):
                yield SourceMention(*frame.span(), own)


def _occurrences(data: bytes, words: tuple[bytes, ...], start: int, end: int) -> Iterator[int]:
    """The starts of some words, in the order of the text. Lazy, so that a caller with a limit reads only a part."""
    for first in range(start, end, _CHUNK):
        found: list[int] = []
        for word in words:
            # A word that starts in this chunk may end in the next.
            last = min(first + _CHUNK + len(word) - 1, end)
            place = data.find(word, first, last)
            while place >= 0:
                found.append(place)
                place = data.find(word, place + len(word), last)
        yield from sorted(found)


def _is_in_string(data: bytes, start: int, place: int) -> bool:
    metadata = data.rfind(_METADATA, max(start, place - _MAX_METADATA), place)
    before = data[max(metadata, start) : place]
    return metadata < 0 or (before.count(b'"') - before.count(b'\\"')) % 2 == 1


_CHUNK: Final = 1 << 16

_MAX_METADATA: Final = 1 << 14
"""The most bytes of metadata searched in front of a `stack_frame_id`."""
