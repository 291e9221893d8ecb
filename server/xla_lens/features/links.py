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
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import chain, islice
from typing import Final, TypeAlias

import numpy as np

from xla_lens.model.attribution.frames import Origins
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.hlo.source_mentions import source_mentions
from xla_lens.model.hlo.stack_frames import StackFrame, is_file, user_frame
from xla_lens.model.places.mentions import position_of
from xla_lens.model.places.places import Place, total_place
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.syntax.columns import NONE, Column, Section, UsedValues


@dataclass(frozen=True, slots=True)
class SectionHeader:
    """The header of a part of another file of the set."""

    section: Section
    place: Place


LinkTarget: TypeAlias = StackFrame | SectionHeader


@dataclass(frozen=True, slots=True)
class Link:
    """A link from bytes `start` to `end` of a file."""

    start: int
    end: int
    target: LinkTarget


def links(dump: DumpSet, module: HloModule | None, file: DumpFile, limit: int) -> list[Link]:
    """Return the links of a file in the order of its text, at most `limit` of each kind. Since jaxlib 0.8.2 the source
    lines are in the HLO module.
    """
    found = list(islice(_headers(dump, file), limit))
    if file is dump.used:
        found += islice(_sources(dump, module, file), limit)
    if file is dump.live:
        found += islice(_breakdown(dump, module, file), limit)
    return sorted(found, key=lambda link: link.start)


# ---------------------------------------------------------------- source


def _sources(dump: DumpSet, module: HloModule | None, file: DumpFile) -> Iterator[Link]:
    """The sources of quoted instructions. All values of a tuple quote the same text, the longest of all: each
    instruction is searched once, and its other quotes only if the first has a source.
    """
    data, used = file.document.data, dump.used_values
    rows = np.flatnonzero(used.instruction_start != NONE)
    without_source: set[int] = set()
    for name, start, end in chain.from_iterable(_spans(used, part) for part in _parts(rows)):
        if name in without_source:
            continue
        is_told = False
        for mention in source_mentions(data, module, start, end):
            is_told = True
            yield Link(mention.start, mention.end, mention.frame)
        if not is_told and name != NONE:
            without_source.add(name)


_PART: Final = 1_000


def _parts(rows: Column) -> Iterator[Column]:
    """The rows in chunks: the first may reach the limit."""
    return (rows[first : first + _PART] for first in range(0, len(rows), _PART))


def _spans(used: UsedValues, rows: Column) -> Iterator[tuple[int, int, int]]:
    """The names, starts and ends of quotes. Unreadable headers have none."""
    names = np.where(used.id[rows] != NONE, used.name[rows], NONE)
    return zip(names.tolist(), used.instruction_start[rows].tolist(), used.instruction_end[rows].tolist(), strict=True)


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
            yield Link(start, end, frame)


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
_WORDS: Final = re.compile(
    rb"BufferAssignment(?=:)|Used values(?=:)|HloLiveRange(?= )|InstructionSequence(?=:)|BufferLiveRange(?=:)"
    rb"|Memory Space(?=:)|Allocations sorted by size(?=[: ])|Total bytes used(?=:)"
)


def _headers(dump: DumpSet, file: DumpFile) -> Iterator[Link]:
    sections = file.columns.sections
    for start, section in zip(sections.start.tolist(), map(Section, sections.section.tolist()), strict=True):
        yield from _header(dump, file, start, _NEXT.get(section, ()))
    total = total_place(dump)
    if total and total.file is file:
        yield from _header(dump, file, total.start, (Section.REPORT,))


def _header(dump: DumpSet, file: DumpFile, start: int, wanted: tuple[Section, ...]) -> Iterator[Link]:
    words = _WORDS.match(file.document.data, start)
    targets = (target for section in wanted if (target := _first(dump, file, section)))
    target = next(targets, None)
    if words and target:
        yield Link(words.start(), words.end(), target)


def _first(dump: DumpSet, file: DumpFile, wanted: Section) -> SectionHeader | None:
    """The first section of a kind in another file."""
    for other in dump.files:
        rows = np.flatnonzero(other.columns.sections.section == wanted)
        if other is not file and len(rows):
            start = int(other.columns.sections.start[rows[0]])
            end = other.document.line_span(other.document.row(start))[1]
            return SectionHeader(wanted, Place(other, start, end))
    return None
