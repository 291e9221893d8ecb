"""A dump set as the edits read it: its lines by kind, and how they refer to each other."""

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Final

from mutations.lines import NAME, Line, lines_of


@dataclass(frozen=True)
class Quote:
    """A quoted instruction; offsets are in the file."""

    line: Line
    name: bytes
    shape: bytes
    shape_start: int
    opcode: bytes
    operands: tuple[bytes | None, ...]


class View:
    """The lines of a dump set."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.files = dict(files)
        self._lines: dict[str, list[Line]] = defaultdict(list)
        for file, data in self.files.items():
            for line in lines_of(file, data):
                self._lines[line.kind].append(line)

    def all(self, kind: str) -> list[Line]:
        """The lines of a kind."""
        return self._lines.get(kind, [])

    def below(self, parent: Line, kind: str) -> list[Line]:
        """The lines of a kind that belong to another line."""
        return self._children.get((parent, kind), [])

    @cached_property
    def _children(self) -> dict[tuple[Line, str], list[Line]]:
        children: dict[tuple[Line, str], list[Line]] = defaultdict(list)
        for kind, lines in self._lines.items():
            for line in lines:
                if line.parent:
                    children[line.parent, kind].append(line)
        return children

    @cached_property
    def header(self) -> dict[bytes, Line]:
        """Headers of used values by id."""
        return {line.text("id"): line for line in self.all("value")}

    @cached_property
    def slice(self) -> dict[tuple[bytes, bytes], Line]:
        """Slices by name and index."""
        return {line.key: line for line in self.all("slice")}

    @cached_property
    def value(self) -> dict[tuple[bytes, bytes], Line]:
        """Headers of used values by name and index."""
        return {line.key: line for line in self.all("value")}

    @cached_property
    def range(self) -> dict[tuple[bytes, bytes], Line]:
        """Live ranges by name and index."""
        return {line.key: line for line in self.all("range")}

    @cached_property
    def position(self) -> dict[tuple[bytes, bytes], Line]:
        """Positions by name and index."""
        return {line.key: line for line in self.all("position")}

    @cached_property
    def step(self) -> dict[bytes, int]:
        """Steps by instruction."""
        return {line.text("name"): line.number("step") for line in self.all("step")}

    @cached_property
    def max(self) -> Line | None:
        """The header of the live ranges."""
        return next(iter(self.all("max")), None)

    @cached_property
    def peak(self) -> Line | None:
        """The header of the peak list."""
        return next(iter(self.all("peak")), None)

    @cached_property
    def quotes(self) -> dict[Line, Quote]:
        """The quoted instructions by the header of the used value."""
        return {line.parent: quote for line in self.all("quote") if line.parent and (quote := _read_quote(line))}

    @cached_property
    def instruction(self) -> dict[bytes, Quote]:
        """The first quote of each instruction by name."""
        found: dict[bytes, Quote] = {}
        for quote in self.quotes.values():
            found.setdefault(quote.name, quote)
        return found

    def opcode(self, name: bytes) -> bytes | None:
        """The opcode of an instruction, None if it is not quoted."""
        quote = self.instruction.get(name)
        return quote.opcode if quote else None

    def block_end(self, header: Line) -> int:
        """The end of a used value: the header of the next one, or the end of its own last line."""
        following = self._next_header.get(header)
        if following:
            return following.start
        last = max((line for kind in ("position", "use", "quote") for line in self.below(header, kind)), key=_end)
        none = b"\n  (none)"
        end, data = last.end, self.files[header.file]
        if last.kind != "quote":
            end += len(b"\n uses:") if data.startswith(b"\n uses:", end) else 0
            end += len(none) if data.startswith(none, end) else 0
        is_glued = self.files[header.file][header.start - 1 : header.start] != b"\n"
        return end if is_glued else end + 1

    def is_last(self, line: Line, end: int | None = None) -> bool:
        """Whether nothing follows in the file. A file without its last line looks cut off, which is another edit."""
        return not self.files[line.file][line.end if end is None else end :].strip()

    @cached_property
    def _next_header(self) -> dict[Line, Line]:
        headers = self.all("value")
        return dict(pairwise(headers))


def _end(line: Line) -> int:
    return line.end


@lru_cache(maxsize=4)
def _view(files: tuple[tuple[str, bytes], ...]) -> View:
    return View(dict(files))


def view_of(files: Mapping[str, bytes]) -> View:
    """The cached view of a dump set."""
    return _view(tuple(sorted(files.items())))


_DEFINITION: Final = re.compile(rb"%(" + NAME + rb") = ")
_OPCODE: Final = re.compile(rb" ([a-z][a-z0-9-]*)\(")
_OPERAND: Final = re.compile(rb"%(" + NAME + rb")(?!.*%)", re.DOTALL)


def _read_quote(line: Line) -> Quote | None:
    text, offset = line.text("text"), line.span("text")[0]
    definition = _DEFINITION.match(text)
    if not definition:
        return None
    start = definition.end()
    end = balanced(text, start) if text.startswith(b"(", start) else text.find(b" ", start)
    opcode = _OPCODE.match(text, end) if end > 0 else None
    if not opcode:
        return None
    close = balanced(text, opcode.end() - 1)
    spans: list[tuple[int, int] | None] = []
    for first, last in split(text, opcode.end(), close - 1):
        operand = _OPERAND.search(text, first, last)
        spans.append(operand.span(1) if operand else None)
    return Quote(
        line,
        definition[1],
        text[start:end],
        offset + start,
        opcode[1],
        tuple(text[slice(*span)] if span else None for span in spans),
    )


def balanced(text: bytes, start: int) -> int:
    """The offset after the bracket that closes the one at `start`."""
    depth = 0
    for place in range(start, len(text)):
        depth += (text[place] in b"([{") - (text[place] in b")]}")
        if not depth:
            return place + 1
    return len(text)


def split(text: bytes, start: int, end: int) -> list[tuple[int, int]]:
    """The parts between commas outside of brackets."""
    if not text[start:end].strip():
        return []
    parts, depth, first = [], 0, start
    for place in range(start, end):
        depth += (text[place] in b"([{") - (text[place] in b")]}")
        if text[place] in b"," and not depth:
            parts.append((first, place))
            first = place + 1
    return [*parts, (first, end)]
