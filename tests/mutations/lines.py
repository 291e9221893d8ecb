"""Regular expressions for the lines of a dump, and the lines of a file by kind."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

ASSIGNMENT: Final = "buffer-assignment"
REPORT: Final = "memory-usage-report"
HLO: Final = "hlo"


@dataclass(frozen=True, eq=False)
class Line:
    """A line, or the part of one that is a record.

    `parent` is the allocation of a slice, the header of the used value of a position, use or quote, or the section of a
    row in a report.
    """

    kind: str
    file: str
    row: int
    start: int
    match: re.Match[bytes]
    parent: "Line | None" = None

    def __getitem__(self, group: str) -> bytes | None:
        return self.match[group]

    def text(self, group: str) -> bytes:
        """A part that must exist."""
        found: bytes | None = self.match[group]
        assert found is not None
        return found

    def number(self, group: str) -> int:
        """A part as a number. Some numbers have groups of digits."""
        return int(self.text(group).replace(b" ", b""))

    def span(self, group: str) -> tuple[int, int]:
        """The start and end of a part in the file."""
        start, end = self.match.span(group)
        return self.start + start, self.start + end

    @property
    def whole(self) -> bytes:
        return self.match.string

    @property
    def end(self) -> int:
        return self.start + len(self.match.string)

    @property
    def key(self) -> tuple[bytes, bytes]:
        """Name and index of a value or position. A missing index equals the empty one."""
        return self.text("name"), self["index"] or b"{}"


NAME = rb"[A-Za-z_][\w.-]*"
INDEX = rb"\{[\d,]*\}"
HUMAN = rb"[\d.]+(?:B|KiB|MiB|GiB|TiB|PiB|EiB)"
_SHORT = rb"<(?P<id>\d+) (?P<name>" + NAME + rb")(?P<index>" + INDEX + rb")?(?P<phi> \(phi\))?(?: @(?P<color>\d+))?>"
_ATTRIBUTES = (
    rb"(?P<color>, color \d+)?(?:, page \d+)?"
    rb"(?:, parameter (?P<parameter>\d+)(?:, shape \|(?P<shape>[^|]*)\|)? at ShapeIndex (?P<at>" + INDEX + rb"))?"
    rb"(?P<output>, output shape is \|(?P<output_shape>[^|]*)\|)?(?P<constant>, constant)?(?P<thread>, thread-local)?"
    rb"(?P<out>, maybe-live-out)?(?P<temp>, preallocated-temp)?:"
)
_HEADER = rb"allocation (?P<number>\d+): (?:0x[0-9a-f]+, )?size (?P<size>\d+)" + _ATTRIBUTES
_HUMAN_HEADER = rb"allocation (?P<number>\d+): (?:0x[0-9a-f]+, )?size (?P<size>" + HUMAN + rb")" + _ATTRIBUTES
_BYTES = rb"\d{1,3}(?: \d{3})*"
_BRANCH = rb"(?:  (?:\xe2\x94\x82   |    )*(?:\xe2\x94\x9c|\xe2\x94\x94)\xe2\x94\x80\xe2\x94\x80 )?"
_TREE = rb" {4}(?P<lead>" + _BRANCH + rb")(?P<label>.+) \((?P<percent>[-\d.nan]+)%, total: (?P<total>" + _BYTES
_TREE += rb") bytes, current: (?P<current>" + _BYTES + rb") bytes, remaining: (?P<remaining>-?" + _BYTES + rb") bytes\)"
_SHARE = rb" *(?P<cumulative>" + HUMAN + rb")\( *(?P<percent>[-\w]+)%\); +"

_IN_MODULE: Final = {
    "instruction": re.compile(
        rb"\s+(?P<root>ROOT )?%?(?P<name>[\w.-]+) = (?P<shape>\(.*?\)(?= )|\S+) (?P<opcode>[a-z][a-z0-9-]*)"
        rb"\((?P<operands>[^()]*)\)(?P<attributes>.*)"
    ),
    "computation": re.compile(rb"(?P<entry>ENTRY )?%?(?P<name>[\w.-]+) .*\{"),
    "module": re.compile(rb"HloModule (?P<name>[^ ,]+)(?P<attributes>.*)"),
}

_HEADER_OF_VALUE: Final = re.compile(_SHORT)
_GLUED: Final = re.compile(rb"(?<=[\])}\"\w])" + _SHORT + rb"$")
_NEXT_VALUE: Final = re.compile(rb"<\d+ [A-Za-z_]")

_IN_ALLOCATIONS: Final = {
    "allocation": re.compile(_HEADER),
    "slice": re.compile(rb" value: " + _SHORT + rb" \(size=(?P<size>\d+),offset=(?P<offset>\d+)\): (?P<shape>.+)"),
    "total": re.compile(rb"Total bytes used: (?P<bytes>\d+)(?: \((?P<human>.+)\))?"),
}
_IN_LIVE_RANGES: Final = {
    "max": re.compile(rb"HloLiveRange \(max (?P<max>\d+)\):"),
    "step": re.compile(rb"    (?P<step>\d+):(?P<name>" + NAME + rb")"),
    "range": re.compile(
        rb"    (?P<name>" + NAME + rb")(?P<index>" + INDEX + rb"):(?P<first>\d+)-(?P<last>\d+)",
    ),
    "peak": re.compile(rb"  Live ranges at (?P<step>\d+) \(peak\):"),
    "peak-row": re.compile(
        rb"    (?P<name>" + NAME + rb")(?P<index>" + INDEX + rb")?: (?P<size>\d+) bytes"
        rb"(?: \(cumulative: (?P<cumulative>\d+) bytes\))?"
    ),
    "tree": re.compile(rb"  Stack trace breakdown for peak usage: (?P<total>" + _BYTES + rb") bytes"),
    "tree-row": re.compile(_TREE),
}
_IN_REPORT: Final = {
    "report-total": re.compile(rb"Total bytes(?: used)?: (?P<bytes>\d+) \((?P<human>.+)\)"),
    "space": re.compile(rb"Memory Space: (?P<name>\w+) \(color=(?P<color>\d+)\)"),
    "report-allocation": re.compile(_SHARE + rb"(?P<rest>" + HUMAN + rb"); " + _HUMAN_HEADER),
    "report-header": re.compile(_HUMAN_HEADER),
    "report-row": re.compile(
        rb"(?:\t|  )" + _SHARE + rb"(?P<size>" + HUMAN + rb"); +(?P<offset>\d+); +(?P<values>\d+); (?P<shapes>.+)"
    ),
    "report-rest": re.compile(rb"\s*The rest (?P<values>\d+) (?:allocations|values) are less than .*"),
}


def lines_of(file: str, data: bytes) -> Iterator[Line]:
    """The lines of known kinds in a file."""
    rows = data.split(b"\n")
    starts = [0]
    for text in rows:
        starts.append(starts[-1] + len(text) + 1)
    if file == REPORT:
        yield from _plain(file, rows, starts, range(len(rows)), _IN_REPORT, ("report-header", "space"), "report-row")
        return
    if file == HLO:
        yield from _plain(file, rows, starts, range(len(rows)), _IN_MODULE, ("computation",), "instruction")
        return
    used = rows.index(b"Used values:") if b"Used values:" in rows else len(rows)
    live = next((row for row, text in enumerate(rows) if text.startswith(b"HloLiveRange ")), len(rows))
    yield from _plain(file, rows, starts, range(min(used, live)), _IN_ALLOCATIONS, ("allocation",), "slice")
    yield from _used_values(file, rows, starts, range(used + 1, live))
    yield from _plain(file, rows, starts, range(live, len(rows)), _IN_LIVE_RANGES, (), "")


def _plain(
    file: str,
    rows: list[bytes],
    starts: list[int],
    span: range,
    kinds: dict[str, re.Pattern[bytes]],
    parents: tuple[str, ...],
    child: str,
) -> Iterator[Line]:
    parent: Line | None = None
    for row in span:
        for kind, pattern in kinds.items():
            if match := pattern.fullmatch(rows[row]):
                line = Line(kind, file, row, starts[row], match, parent if kind == child else None)
                parent = line if kind in parents else parent
                yield line
                break


_POSITION: Final = re.compile(rb"  (?P<name>" + NAME + rb")(?: (?P<index>" + INDEX + rb"))?")
_USE: Final = re.compile(rb"  (?P<name>" + NAME + rb"), operand (?P<operand>\d+)(?: (?P<index>" + INDEX + rb"))?")
_QUOTE: Final = re.compile(rb" from instruction: ?(?P<text>(?s:.*))")


def _used_values(file: str, rows: list[bytes], starts: list[int], span: range) -> Iterator[Line]:
    """The lines of used values.

    XLA of 2024 prints the header of the next value on the line of an instruction, and instructions may contain line
    breaks.
    """
    parent: Line | None = None
    row = span.start
    while row < span.stop:
        text = rows[row]
        if match := _HEADER_OF_VALUE.fullmatch(text):
            parent = Line("value", file, row, starts[row], match)
            yield parent
        elif match := _USE.fullmatch(text):
            yield Line("use", file, row, starts[row], match, parent)
        elif match := _POSITION.fullmatch(text):
            yield Line("position", file, row, starts[row], match, parent)
        elif text.startswith(b" from instruction:"):
            first, glued = row, _glued(rows, row)
            while not glued and row + 1 < span.stop and rows[row + 1] and not _NEXT_VALUE.match(rows[row + 1]):
                row += 1
                glued = _glued(rows, row)
            parts = [*rows[first:row], rows[row][: glued.start()] if glued else rows[row]]
            quote = _QUOTE.fullmatch(b"\n".join(parts))
            assert quote
            yield Line("quote", file, first, starts[first], quote, parent)
            if glued:
                header = _HEADER_OF_VALUE.fullmatch(glued[0])
                assert header
                parent = Line("value", file, row, starts[row] + glued.start(), header)
                yield parent
        row += 1


def _glued(rows: list[bytes], row: int) -> re.Match[bytes] | None:
    return _GLUED.search(rows[row]) if rows[row + 1 : row + 2] == [b" positions:"] else None
