"""Document links to source lines, and from the headers of a file to related sections in other files of the set.

===================  ===================================================================================
header               leads to
===================  ===================================================================================
BufferAssignment     the used values, else the live ranges
Used values          the live ranges, else the buffer assignment
HloLiveRange         the buffer assignment, else the used values
InstructionSequence  the used values, which quote the instructions
BufferLiveRange      the buffer assignment
Total bytes used     the memory usage report
Report headers       the buffer assignment
===================  ===================================================================================

No link leads to the same file or to a file that the set lacks.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import chain, islice
from typing import Final

from xla_lens.model.attribution.frames import Origins
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.hlo.stack_frames import StackFrame, frame_at, is_file, user_frame
from xla_lens.model.places.mentions import position_of
from xla_lens.model.places.places import Place, total_place
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.render.numbers import shortened
from xla_lens.syntax.columns import NONE, Section, Sections
from xla_lens.syntax.hlo.lexical import STRING_IN_LINE, unquoted
from xla_lens.text.printable import printable_line


@dataclass(frozen=True, slots=True)
class Link:
    """A link from bytes `start` to `end` of a file, to a line of the program or to the header of a part of another file
    of the set.
    """

    start: int
    end: int
    target: StackFrame | Place
    tooltip: str


def links(dump: DumpSet, module: HloModule | None, file: DumpFile, limit: int) -> list[Link]:
    """Return the links of a dump file in the order of its text, at most `limit` of each kind. Since jaxlib 0.8.2 the
    source lines are in the HLO module.
    """
    kinds = [_headers(dump, file)]
    if file is dump.used:
        kinds.append(_quoted(file.document.data, module))
    if file is dump.live:
        kinds.append(_breakdown(dump, module, file))
    return _sorted(kinds, limit)


def module_links(module: HloModule, limit: int) -> list[Link]:
    """Return the links of an HLO module in the order of its text: at most `limit` of files, of locations and of
    instructions.
    """
    return _sorted((_files(module), _locations(module), _quoted(module.data, module)), limit)


def frame_tooltip(frame: StackFrame) -> str:
    """Return the tooltip of a link to a line of the program, on one line of plain text."""
    line = f":{frame.line}" if frame.line is not None else ""
    function = f" in {shortened(frame.function, _MAX_NAME)}" if frame.function else ""
    return printable_line(f"{shortened(frame.file, _MAX_NAME)}{line}{function}")


_MAX_NAME: Final = 200


def _sorted(kinds: Iterable[Iterator[Link]], limit: int) -> list[Link]:
    found = chain.from_iterable(islice(one, limit) for one in kinds)
    return sorted(found, key=lambda link: link.start)


# ---------------------------------------------------------------- source


def _source(start: int, end: int, frame: StackFrame) -> Link:
    return Link(start, end, frame, frame_tooltip(frame))


_FILE: Final = b'source_file="'
_FILE_AND_LINE: Final = re.compile(rb"source_file=(" + STRING_IN_LINE + rb")(?: source_line=([0-9]{1,9})(?![0-9]))?")
_FRAME: Final = b"stack_frame_id="
_FRAME_ID: Final = re.compile(rb"(?<=[{ ])stack_frame_id=([0-9]{1,9})(?![0-9])")
_METADATA: Final = b"metadata={"
_MAX_METADATA: Final = 1 << 14
"""The most bytes of metadata searched in front of a `stack_frame_id`."""

_CHUNK: Final = 1 << 16


def _quoted(data: bytes, module: HloModule | None) -> Iterator[Link]:
    """The sources of instructions: a file with its line, or the id of a frame of the module, which stands for its user
    frame.
    """
    for place in _occurrences(data, (_FILE, _FRAME) if module else (_FILE,)):
        file, frame = _FILE_AND_LINE.match(data, place), _FRAME_ID.match(data, place)
        if file:
            path, line = unquoted(file[1]), int(file[2]) if file[2] else None
            if path:
                last = file.end(2) if file[2] else file.end(1) - 1
                yield _source(file.start(1) + 1, last, StackFrame(path, line))
        elif frame and module and not _is_in_string(data, place):
            own = user_frame(module.stack(int(frame[1])))
            if own and is_file(own.file):
                yield _source(*frame.span(), own)


def _occurrences(data: bytes, words: tuple[bytes, ...]) -> Iterator[int]:
    """The starts of some words, in the order of the text. Lazy, so that a caller with a limit reads only a part."""
    for first in range(0, len(data), _CHUNK):
        found: list[int] = []
        for word in words:
            # A word that starts in this chunk may end in the next.
            last = first + _CHUNK + len(word) - 1
            place = data.find(word, first, last)
            while place >= 0:
                found.append(place)
                place = data.find(word, place + len(word), last)
        yield from sorted(found)


def _is_in_string(data: bytes, place: int) -> bool:
    metadata = data.rfind(_METADATA, max(0, place - _MAX_METADATA), place)
    before = data[max(metadata, 0) : place]
    return metadata < 0 or (before.count(b'"') - before.count(b'\\"')) % 2 == 1


def _files(module: HloModule) -> Iterator[Link]:
    table = module.columns.file_names
    for start, end in zip(table.start.tolist(), table.end.tolist(), strict=True):
        path = unquoted(module.data[start:end])
        if path and is_file(path):
            yield _source(start + 1, end - 1, StackFrame(path, None))


def _locations(module: HloModule) -> Iterator[Link]:
    table = module.columns.file_locations
    for start, end, number in zip(table.start.tolist(), table.end.tolist(), table.id.tolist(), strict=True):
        frame = frame_at(module.columns, module.data, number)
        if frame and frame.file and is_file(frame.file):
            yield _source(start, end, frame)


def _breakdown(dump: DumpSet, module: HloModule | None, file: DumpFile) -> Iterator[Link]:
    """The links in the breakdown of the printed peak. Its lines have the op_name of live values, or the name of a value
    without one.
    """
    tree, data = dump.stack_traces, file.document.data
    if not len(tree):
        return
    # All elements of a tuple have the same text, the longest of all.
    origins = Origins(dump, module)
    own = cache(lambda name: user_frame(origins.of_name(name).frames))
    frames = _frames_of_op_names(dump, own)
    for start, end in zip(tree.name_start.tolist(), tree.name_end.tolist(), strict=True):
        text = data[start:end]
        frame = frames.get(text.decode("utf-8", "replace"))
        if frame is None:
            frame = own(position_of(dump, text)[0])
        if frame and is_file(frame.file):
            yield _source(start, end, frame)


_MOST_NAMES: Final = 500


def _frames_of_op_names(dump: DumpSet, own: Callable[[int], StackFrame | None]) -> dict[str, StackFrame]:
    """For each op_name in the printed list the source line with the most bytes."""
    values = dump.value_of_peak_buffer
    names = dump.values.name[values[values != NONE]].tolist()
    # The largest come first, in the list and in the breakdown: there is no time for all.
    instructions = {name: dump.instruction(name) for name in islice(dict.fromkeys(names), _MOST_NAMES)}
    op_names = {name: instruction.op_name for name, instruction in instructions.items() if instruction}
    sizes: defaultdict[str, Counter[StackFrame]] = defaultdict(Counter)
    for name, size_bytes in zip(names, dump.peak_buffers.size_bytes[values != NONE].tolist(), strict=True):
        op_name = op_names.get(name)
        frame = own(name) if op_name else None
        if frame and op_name:
            sizes[op_name][frame] += size_bytes
    return {op_name: found.most_common(1)[0][0] for op_name, found in sizes.items()}


# ---------------------------------------------------------------- headers


_NEXT: Final[dict[Section, tuple[Section, ...]]] = {
    Section.BUFFER_ASSIGNMENT: (Section.USED_VALUES, Section.LIVE_RANGES),
    Section.USED_VALUES: (Section.LIVE_RANGES, Section.BUFFER_ASSIGNMENT),
    Section.LIVE_RANGES: (Section.BUFFER_ASSIGNMENT, Section.USED_VALUES),
    Section.INSTRUCTION_SEQUENCE: (Section.USED_VALUES,),
    Section.BUFFER_LIVE_RANGES: (Section.BUFFER_ASSIGNMENT,),
    Section.REPORT: (Section.BUFFER_ASSIGNMENT,),
}
_TOOLTIPS: Final = {
    Section.BUFFER_ASSIGNMENT: "Buffer assignment",
    Section.USED_VALUES: "Used values",
    Section.LIVE_RANGES: "Live ranges",
    Section.REPORT: "Memory usage report",
}
_WORDS: Final = re.compile(
    rb"BufferAssignment(?=:)|Used values(?=:)|HloLiveRange(?= )|InstructionSequence(?=:)|BufferLiveRange(?=:)"
    rb"|Memory Space(?=:)|Allocations sorted by size(?=[: ])|Total bytes used(?=:)"
)


def _headers(dump: DumpSet, file: DumpFile) -> Iterator[Link]:
    sections, total = file.columns.sections, total_place(dump)
    starts = [(start, _NEXT.get(section, ())) for start, section in _sections(sections)]
    starts += [(total.start, (Section.REPORT,))] if total and total.file is file else []
    others = [other for other in dump.files if other is not file]
    for start, wanted in starts:
        words = _WORDS.match(file.document.data, start)
        targets = ((section, place) for section in wanted for other in others for place in _first(other, section))
        target = next(targets, None)
        if words and target:
            yield Link(*words.span(), target[1], _TOOLTIPS[target[0]])


def _sections(sections: Sections) -> Iterator[tuple[int, Section]]:
    return zip(sections.start.tolist(), map(Section, sections.section.tolist()), strict=True)


def _first(file: DumpFile, wanted: Section) -> Iterator[Place]:
    """The header of the first section of a kind in a file."""
    for start, section in _sections(file.columns.sections):
        if section is wanted:
            yield Place(file, start, file.document.line_span(file.document.row(start))[1])
            return
