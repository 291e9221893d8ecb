"""Which calls of a program an instruction comes from, and where the text of a dump or of a module tells it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from xla_lens.model.hlo.module import HloModule
from xla_lens.model.hlo.stack_frames import StackFrame, is_file, own_frame
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.syntax.columns import NONE
from xla_lens.syntax.hlo.grammar import unquoted


def frames_of(dump: DumpSet, module: HloModule | None, name: int) -> tuple[StackFrame, ...]:
    """The calls that made an instruction, by the number of its name, the innermost first. The dump itself tells of one
    until jaxlib 0.8.2 and of none since: then they stand in the HLO module.
    """
    row = module.instruction(dump.names[name]) if module and name != NONE else NONE
    if module and row != NONE:
        return module.frames(module.metadata(row))
    instruction = dump.instruction(name) if name != NONE else None
    if instruction is None:
        return ()
    if module and instruction.stack_frame_id is not None:
        return module.frames({"stack_frame_id": str(instruction.stack_frame_id)})
    return (StackFrame(instruction.source_file, instruction.source_line),) if instruction.source_file else ()


@dataclass(frozen=True, slots=True)
class SourceMention:
    """Bytes `start` to `end` of a text tell of a call."""

    start: int
    end: int
    frame: StackFrame


_FILE: Final = b'source_file="'
_FILE_AND_LINE: Final = re.compile(rb'source_file=("(?:[^"\\\n]|\\.)*+")(?: source_line=([0-9]{1,9})(?![0-9]))?')
_FRAME: Final = b"stack_frame_id="
_FRAME_ID: Final = re.compile(rb"(?<=[{ ])stack_frame_id=([0-9]{1,9})(?![0-9])")
_METADATA: Final = b"metadata={"


def source_mentions(
    data: bytes, module: HloModule | None, start: int = 0, end: int | None = None
) -> Iterator[SourceMention]:
    """Where instructions at bytes `start` to `end` of a text tell their source, in the order of the text: the file and
    the line; or a frame of the module, which stands for its innermost call outside of libraries.
    """
    end = len(data) if end is None else end
    for place in _told_at(data, (_FILE, _FRAME) if module else (_FILE,), start, end):
        file, frame = _FILE_AND_LINE.match(data, place, end), _FRAME_ID.match(data, place, end)
        if file:
            path, line = unquoted(file[1].decode("utf-8", "replace")), int(file[2]) if file[2] else None
            if path:
                last = file.end(2) if file[2] else file.end(1) - 1
                yield SourceMention(file.start(1) + 1, last, StackFrame(path, line))
        elif frame and module and not _is_in_string(data, start, place):
            own = own_frame(module.stack(int(frame[1])))
            if own and is_file(own.file):
                yield SourceMention(*frame.span(), own)


def _told_at(data: bytes, words: tuple[bytes, ...], start: int, end: int) -> Iterator[int]:
    """Where the words start, in the order of the text. No more of it is read than is asked for."""
    for first in range(start, end, _CHUNK):
        found: list[int] = []
        for word in words:
            # One that begins in this part may end in the next.
            last = min(first + _CHUNK + len(word) - 1, end)
            place = data.find(word, first, last)
            while place >= 0:
                found.append(place)
                place = data.find(word, place + len(word), last)
        yield from sorted(found)


def _is_in_string(data: bytes, start: int, place: int) -> bool:
    metadata = data.rfind(_METADATA, max(start, place - _LONGEST), place)
    before = data[max(metadata, start) : place]
    return metadata < 0 or (before.count(b'"') - before.count(b'\\"')) % 2 == 1


_CHUNK: Final = 1 << 16

_LONGEST: Final = 1 << 14
"""Of metadata before its frame, within reason."""
