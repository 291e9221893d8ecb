"""Document links to lines of the program: from instructions, from the tables of an HLO module, and from the breakdown
of the printed peak.
"""

from collections.abc import Callable, Iterator
from functools import cache
from heapq import merge
from itertools import chain, islice
from typing import Final, NamedTuple

from xla_lens.model.attribution.frames import Origins
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.hlo.stack_frames import StackFrame, is_file, user_frame
from xla_lens.model.places.mentions import position_of
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.syntax.columns import NONE, cells
from xla_lens.syntax.hlo.lexical import STRING_IN_LINE, unquoted
from xla_lens.text.patterns import lazy_pattern
from xla_lens.text.printable import printable_line
from xla_lens.words.sources import brief_frame, call_text


class SourceLink(NamedTuple):
    """A link from bytes `start` to `end` of a file to a line of the program."""

    start: int
    end: int
    target: StackFrame


def links(dump: DumpSet, module: HloModule | None, file: DumpFile, limit: int) -> list[SourceLink]:
    """Return the links of a file in the order of its text, at most `limit` of each kind. Since jaxlib 0.8.2 the source
    lines are in the HLO module.
    """
    kinds = list[Iterator[SourceLink]]()
    if module and file is module.file:
        kinds += (_files(module), _locations(module), _quoted(module.data, module))
    if file is dump.used:
        kinds.append(_quoted(file.document.data, module))
    if file is dump.live:
        kinds.append(_breakdown(dump, module, file))
    found = chain.from_iterable(islice(kind, limit) for kind in kinds)
    return sorted(found, key=lambda link: link.start)


def frame_tooltip(frame: StackFrame) -> str:
    """Return the tooltip of a link to a line of the program, on one line of plain text."""
    return printable_line(call_text(brief_frame(frame, _MAX_NAME)))


_MAX_NAME: Final = 200

_SOURCE: Final = lazy_pattern(
    rb"source_file=(" + STRING_IN_LINE + rb")(?: source_line=([0-9]{1,9})(?![0-9]))?"
    rb"|(?<=[{ ])stack_frame_id=([0-9]{1,9})(?![0-9])"
)


def _quoted(data: bytes, module: HloModule | None) -> Iterator[SourceLink]:
    """The sources of instructions: a file with its line, or the id of a frame of the module, which stands for its user
    frame. Lazy, so that a caller with a limit reads only a part.
    """
    words = (b"source_file=", b"stack_frame_id=") if module else (b"source_file=",)
    for place in merge(*(_places(data, word) for word in words)):
        if (match := _SOURCE.match(data, place)) is None:
            continue
        path, line, frame_id = match.groups()
        if path and (file := unquoted(path)):
            last = match.end(2) if line else match.end(1) - 1
            yield SourceLink(match.start(1) + 1, last, StackFrame(file, int(line) if line else None))
        elif frame_id and module:
            own = user_frame(module.stack(int(frame_id)))
            if own and is_file(own.file):
                yield SourceLink(*match.span(), own)


def _places(data: bytes, word: bytes) -> Iterator[int]:
    """Where a word starts. This is many times as fast as a search for several words at once."""
    place = data.find(word)
    while place >= 0:
        yield place
        place = data.find(word, place + len(word))


def _files(module: HloModule) -> Iterator[SourceLink]:
    table = module.columns.file_names
    for start, end in cells(table.start, table.end):
        path = unquoted(module.data[start:end])
        if path and is_file(path):
            yield SourceLink(start + 1, end - 1, StackFrame(path, None))


def _locations(module: HloModule) -> Iterator[SourceLink]:
    table = module.columns.file_locations
    for start, end, number in cells(table.start, table.end, table.id):
        frame = module.file_location(number)
        if frame and frame.file and is_file(frame.file):
            yield SourceLink(start, end, frame)


def _breakdown(dump: DumpSet, module: HloModule | None, file: DumpFile) -> Iterator[SourceLink]:
    """The links in the breakdown of the printed peak. Its lines have the op_names of values, or else their names."""
    tree, data = dump.stack_traces, file.document.data
    if not len(tree):
        return
    # All elements of a tuple have the same text, the longest of all.
    origins = Origins(dump, module)
    own = cache(lambda name: user_frame(origins.of_name(name).frames))
    frames = _frames_of_op_names(dump, own)
    for start, end in cells(tree.name_start, tree.name_end):
        text = data[start:end]
        frame = frames.get(text.decode("utf-8", "replace"))
        if frame is None:
            frame = own(position_of(dump, text)[0])
        if frame and is_file(frame.file):
            yield SourceLink(start, end, frame)


_MOST_NAMES: Final = 500


def _frames_of_op_names(dump: DumpSet, own: Callable[[int], StackFrame | None]) -> dict[str, StackFrame]:
    """For each op_name in the printed list the source line of its largest value."""
    values = dump.value_of_peak_buffer
    names = dict.fromkeys(dump.values.name[values[values != NONE]].tolist())
    found: dict[str, StackFrame] = {}
    # The largest come first, in the list and in the breakdown: there is no time for all.
    for name in islice(names, _MOST_NAMES):
        instruction = dump.instruction(name)
        frame = own(name) if instruction and instruction.op_name else None
        if instruction and instruction.op_name and frame:
            found.setdefault(instruction.op_name, frame)
    return found
