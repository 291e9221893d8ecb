"""Links: from quoted instructions to the lines of source that they come from, and from the headers of a file to the
file of the set that goes on with the story.

===================  ===================================================================================
header               leads to
===================  ===================================================================================
BufferAssignment     the used values: who reads what lies there; else the live ranges
Used values          the live ranges: when each of them is live; else the buffer assignment
HloLiveRange         the buffer assignment: what lies where; else the used values
InstructionSequence  the used values, which quote the instructions
BufferLiveRange      the buffer assignment
Total bytes used     the memory usage report
of the report        the buffer assignment
===================  ===================================================================================

There is none to a part of the same file, and none to a file that the set lacks.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final, TypeAlias

import numpy as np

from xla_lens.model.dump_set import DumpSet
from xla_lens.model.members import Member
from xla_lens.model.places import Place, total_place
from xla_lens.syntax.columns import NONE, Section
from xla_lens.syntax.hlo import unquoted


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A line of source, as an instruction's metadata tells it. The path is that of the machine that compiled; `line` is
    None where only the file is told.
    """

    path: str
    line: int | None


@dataclass(frozen=True, slots=True)
class SectionHeader:
    """The header of a part of another file of the set."""

    section: Section
    place: Place


LinkTarget: TypeAlias = SourceLine | SectionHeader


@dataclass(frozen=True, slots=True)
class Link:
    """Bytes `start` to `end` of a file lead somewhere."""

    start: int
    end: int
    target: LinkTarget


def links(dump: DumpSet, member: Member, limit: int) -> list[Link]:
    """The links of a file in the order of its text, at most `limit` of each kind."""
    found = list(islice(_headers(dump, member), limit))
    if member is dump.used:
        found += islice(_sources(dump, member), limit)
    return sorted(found, key=lambda link: link.start)


# ---------------------------------------------------------------- source


_SOURCE_FILE: Final = b'source_file="'
_SOURCE: Final = re.compile(rb'source_file=("(?:[^"\\\n]|\\.)*+")(?: source_line=([0-9]{1,9})(?![0-9]))?')


def _sources(dump: DumpSet, member: Member) -> Iterator[Link]:
    """The source of each quoted instruction. All values of a tuple quote the same text, the longest there are: so each
    instruction is searched once, and its other quotes only if that finds something.
    """
    data, used = member.document.data, dump.used_values
    rows = np.flatnonzero(used.instruction_start != NONE)
    # What a header that cannot be read is about is not known.
    names = np.where(used.id[rows] != NONE, used.name[rows], NONE)
    spans = zip(names.tolist(), used.instruction_start[rows].tolist(), used.instruction_end[rows].tolist(), strict=True)
    has_source: dict[int, bool] = {}
    for name, start, end in spans:
        if name == NONE or name not in has_source:
            has_source[name] = data.find(_SOURCE_FILE, start, end) >= 0
        if has_source[name]:
            yield from _sources_between(data, start, end)


def _sources_between(data: bytes, start: int, end: int) -> Iterator[Link]:
    for match in _SOURCE.finditer(data, start, end):
        path, line = unquoted(match[1].decode("utf-8", "replace")), int(match[2]) if match[2] else None
        if path:
            yield Link(match.start(1) + 1, match.end(2) if match[2] else match.end(1) - 1, SourceLine(path, line))


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


def _headers(dump: DumpSet, member: Member) -> Iterator[Link]:
    sections = member.columns.sections
    for start, section in zip(sections.start.tolist(), map(Section, sections.section.tolist()), strict=True):
        yield from _header(dump, member, start, _NEXT.get(section, ()))
    total = total_place(dump)
    if total and total.member is member:
        yield from _header(dump, member, total.start, (Section.REPORT,))


def _header(dump: DumpSet, member: Member, start: int, wanted: tuple[Section, ...]) -> Iterator[Link]:
    words = _WORDS.match(member.document.data, start)
    targets = (target for section in wanted if (target := _first(dump, member, section)))
    target = next(targets, None)
    if words and target:
        yield Link(words.start(), words.end(), target)


def _first(dump: DumpSet, member: Member, wanted: Section) -> SectionHeader | None:
    """The first part of a kind in another file."""
    for other in dump.members:
        rows = np.flatnonzero(other.columns.sections.section == wanted)
        if other is not member and len(rows):
            start = int(other.columns.sections.start[rows[0]])
            end = other.document.line_span(other.document.row(start))[1]
            return SectionHeader(wanted, Place(other, start, end))
    return None
