"""Which rows of a dump the unknown lines resemble. Damaged rows resemble one; what other programs print does not."""

import difflib
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from enum import Enum, auto
from typing import Final, TypeAlias

from msgspec import Struct

from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.kinds import kind_text
from xla_lens.syntax.columns import NONE, Kind, cells
from xla_lens.syntax.tables import DumpSection
from xla_lens.text.patterns import lazy_pattern


class DamagedRow(Enum):
    """What a damaged line of a dump was."""

    ALLOCATION = auto()
    ATTRIBUTE = auto()
    """A part of the header of an allocation."""
    SLICE = auto()
    USED_VALUE = auto()
    POSITION = auto()
    USE = auto()
    QUOTE = auto()
    """The instruction of a used value."""
    STEP = auto()
    LIVE_RANGE = auto()
    PEAK_BUFFER = auto()
    STACK_TRACE = auto()
    TOTAL = auto()
    UNRECOGNIZABLE = auto()
    """A row of its section that resembles none: without such a row, the section contradicts the others."""


class UnknownLine(Struct, frozen=True, eq=False):
    """A line that the grammar does not know, or a part of one, and the row that it resembles, None if there is none.
    `stands_for_row` says that the tables have a row without numbers in its place.
    """

    file: DumpFile
    start: int
    end: int
    row: DamagedRow | None
    is_part: bool
    stands_for_row: bool

    @property
    def key(self) -> tuple[int, int]:
        """What `Damage` names the line by."""
        return id(self.file), self.start


Damage: TypeAlias = Mapping[tuple[int, int], DamagedRow]
"""The damaged rows among the unknown lines, by the id of their file and their start. The other lines are notes."""


def unknown_lines(dump: DumpSet) -> tuple[UnknownLine, ...]:
    """Return the unknown lines of all files, in the order of the files and of their text."""
    return tuple(line for file in dump.files for line in _of_file(dump, file))


def is_proven(dump: DumpSet, line: UnknownLine, *, has_module: bool) -> bool:
    """Whether the checks would find that a row like the line is missing. If they find nothing, the line is no row."""
    if line.stands_for_row or line.row is DamagedRow.ATTRIBUTE or line.row is None:
        return False
    if line.row in _SECTIONS and section_at(line.file, line.start) is not _SECTIONS[line.row]:
        # It is no row where it stands.
        return True
    if line.row in (DamagedRow.POSITION, DamagedRow.USE):
        return has_module
    needed = (getattr(dump, name) for name in _PROOFS.get(line.row, ()))
    return all(part is not None and (isinstance(part, DumpFile) or len(part)) for part in needed)


_PROOFS: Final = {
    DamagedRow.ALLOCATION: ("totals",),
    DamagedRow.SLICE: ("used",),
    DamagedRow.USED_VALUE: ("assignment",),
    DamagedRow.STEP: ("live_range_headers",),
    DamagedRow.LIVE_RANGE: ("used", "schedule"),
    DamagedRow.PEAK_BUFFER: ("live_ranges",),
}
"""The parts of a dump set that contradict it if a row is missing."""

_SECTIONS: Final = {
    DamagedRow.ALLOCATION: DumpSection.BUFFER_ASSIGNMENT,
    DamagedRow.SLICE: DumpSection.BUFFER_ASSIGNMENT,
    DamagedRow.USED_VALUE: DumpSection.USED_VALUES,
    DamagedRow.POSITION: DumpSection.USED_VALUES,
    DamagedRow.USE: DumpSection.USED_VALUES,
    DamagedRow.STEP: DumpSection.INSTRUCTION_SEQUENCE,
    DamagedRow.LIVE_RANGE: DumpSection.BUFFER_LIVE_RANGES,
    DamagedRow.PEAK_BUFFER: DumpSection.PEAK,
}


def _of_file(dump: DumpSet, file: DumpFile) -> Iterator[UnknownLine]:
    columns, document = file.columns, file.document
    unknown = columns.unknown_lines
    if not len(unknown):
        return
    allocations, used = columns.allocations, columns.used_values
    broken = dict.fromkeys(allocations.start[allocations.index == NONE].tolist(), DamagedRow.ALLOCATION)
    broken |= dict.fromkeys(used.start[used.id == NONE].tolist(), DamagedRow.USED_VALUE)
    known: dict[bytes, tuple[DamagedRow, ...]] = {}
    attributes: dict[bytes, bool] = {}
    parts: Counter[int] = Counter()
    for start, end in cells(unknown.start, unknown.end):
        line_start, line_end = document.line_at(start)
        # A line may have a hundred thousand unknown parts, so none of them may look at all of it.
        parts[line_start] += 1
        if parts[line_start] > _MOST_PARTS:
            continue
        is_part = not document.begins_line(start)
        row: DamagedRow | None
        if is_part and document.data.startswith(b"allocation ", line_start):
            form = _DIGITS.sub(b"0", document.data[start : min(end, start + _LONGEST)])
            if form not in attributes:
                attributes[form] = _is_attribute(form)
            row = DamagedRow.ATTRIBUTE if attributes[form] else None
        elif is_part:
            row = DamagedRow.STACK_TRACE if _MEASURES.search(document.data, start, line_end) else None
        elif start in broken:
            row = broken[start]
        else:
            line = document.data[line_start:end]
            form = _DIGITS.sub(b"0", line[:_LONGEST])
            if form not in known:
                known[form] = tuple(
                    like
                    for like, least, *parts in _FORMS
                    if sum(bool(re.search(part, form)) for part in parts) >= least
                )
            section = section_at(file, start)
            row = min(known[form], key=lambda each: _SECTIONS.get(each) is not section, default=None)
            if row is None and section is DumpSection.USED_VALUES:
                row = _row_of_value(dump, line)
        yield UnknownLine(file, start, end, row, is_part, start in broken)


def section_at(file: DumpFile, offset: int) -> DumpSection | None:
    """Return the section whose header is the last one before a byte, None if there is none."""
    sections = file.columns.sections
    row = int(sections.start.searchsorted(offset, "right")) - 1
    return DumpSection(sections.section.item(row)) if row != NONE else None


_LONGEST: Final = 1 << 10
_MOST_PARTS: Final = 100
"""The most unknown parts of a line that are listed. The header of an allocation has ten attributes at most."""

_DIGITS: Final = lazy_pattern(rb"\d+")


_FORMS: Final[tuple[tuple[DamagedRow, int, *tuple[bytes, ...]], ...]] = (
    (
        DamagedRow.SLICE,
        3,
        rb"^\s*\w*value:?",
        rb"<?0 ?[A-Za-z_][\w.-]*(?:\{[0,]*\})?(?: \(phi\))? ?@",
        rb"@ ?0",
        rb"size=-?0?",
        rb"offset=-?0?",
        rb"\)?: ?\(*[a-z]+0?\w*\[[0,]*\]",
    ),
    (
        DamagedRow.ALLOCATION,
        3,
        rb"^\s*\w*alloc\w* ?0\b|^\s*\w{8,12} 0:",
        rb"\bsize 0|0: size",
        rb"\b(?:constant|thread-local|maybe-live-out|preallocated-temp|ShapeIndex|color 0|page 0)\b|shape (?:is )?\|",
        rb":\s*$",
    ),
    (DamagedRow.USED_VALUE, 1, rb"^\s*<?0 ?[A-Za-z_][\w.-]*(?:\{[0,]*\})?(?: \(phi\))? ?@?0?>?\s*$"),
    (
        DamagedRow.STACK_TRACE,
        2,
        rb"\b(?:total|current|remaining): 0",
        rb" \(0\.0%?|\(0\.?0?%",
        rb"\xe2\x94[\x9c\x94\x82]",
        rb"bytes\)\s*$",
    ),
    (DamagedRow.LIVE_RANGE, 2, rb"^\s*[\w.-]+ ?(?:\{[0,]*|[0,]*\})", rb"[:}] ?0?-?0", rb"\d+ ?-\d*\s*$"),
    (
        DamagedRow.PEAK_BUFFER,
        2,
        rb": ?0 ?bytes",
        rb"\(?cumulative:? ?0",
        rb"^\s*[\w.-]+(?:\{[0,]*\})?:? ?0 ?b",
        rb"0 bytes\)?\s*$",
    ),
    (DamagedRow.STEP, 1, rb"^\s{2,6}(?:0 ?\S?|[^\w\s]) ?[A-Za-z_][\w.-]*\s*$"),
    (DamagedRow.QUOTE, 1, rb"^\s*(?:\w+ )?instr\w*:? ?%", rb"^\s*from \w+:? ?%", rb"%[\w.-]+ = \(?[a-z]+0?\w*\[.*\("),
    (DamagedRow.TOTAL, 1, rb"^\s*\w*tal bytes\b.*0", rb"bytes used: ?0"),
)
"""The parts of kinds of rows, as they are with each number replaced by 0, and how many a damaged row still has."""

_MEASURES: Final = lazy_pattern(rb"\b(?:total|current|remaining): |\d%|bytes\)")

_ATTRIBUTES: Final = ("color 0", "parameter 0", "at ShapeIndex {}", "output shape is", *map(kind_text, Kind))
_SAME: Final = 0.85
"""The ratio of `difflib` from which a text counts as a damaged form of another one."""


def _is_attribute(form: bytes) -> bool:
    """Whether a part of a header, with each number replaced by 0, is a damaged attribute whose loss changes numbers."""
    text = form.decode("utf-8", "replace")
    ratios = (difflib.SequenceMatcher(None, text, attribute).ratio() for attribute in _ATTRIBUTES)
    return any(word in text for word in ("ShapeIndex", "shape |", "shape is |")) or max(ratios) >= _SAME


# ---------------------------------------------------------------- positions and uses


_NO_NAME: Final = lazy_pattern(rb"[^\w.-]")
_POSITION: Final = lazy_pattern(rb" {1,3}(\S{1,300})( \{?[\d,]*\}?)?\s*")
# Each repetition has a limit: of two adjacent ones that match the same characters, all ways to divide a line are tried.
_OPERAND: Final = lazy_pattern(rb"\s{0,3}\S{1,300} ?oper\w{0,20},? ?\S{1,40}(?: \S{1,40})?\s*")
_LIKE_OPERAND: Final = lazy_pattern(rb"\s{0,3}([\w.-]{1,300})\W? ?\w{5,9} ?\d{1,10}(?: \{?[\d,]*\}?)?\s*")


def _row_of_value(dump: DumpSet, line: bytes) -> DamagedRow | None:
    """The row below the header of a used value that a line resembles: its name is one of the dump."""
    use, position = _LIKE_OPERAND.fullmatch(line), _POSITION.fullmatch(line)
    if _OPERAND.fullmatch(line) or (use and dump.name_number(use[1]) != NONE):
        return DamagedRow.USE
    names = (position[1], _NO_NAME.sub(b"", position[1])) if position else ()
    return DamagedRow.POSITION if any(dump.name_number(name) != NONE for name in names) else None
