"""Texts and positions as the protocol defines them, in plain Python, to compare the server's with."""

import random
import re
from bisect import bisect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

ENCODINGS = ("utf-8", "utf-16", "utf-32")


@dataclass(frozen=True)
class Text:
    """A text and the encoding that columns count in."""

    text: str
    encoding: str

    @property
    def data(self) -> bytes:
        """The text as UTF-8, lone surrogates included."""
        return self.text.encode("utf-8", "surrogatepass")

    @cached_property
    def spans(self) -> list[tuple[int, int]]:
        """The start and end of each line, without line ends."""
        spans, start = [], 0
        for found in re.finditer("\r\n|\r|\n", self.text):
            spans.append((start, found.start()))
            start = found.end()
        return [*spans, (start, len(self.text))]

    def width(self, part: str) -> int:
        """Return the width of a text in the encoding."""
        if self.encoding == "utf-32":
            return len(part)
        code = "utf-8" if self.encoding == "utf-8" else "utf-16-le"
        return len(part.encode(code, "surrogatepass")) // (1 if self.encoding == "utf-8" else 2)

    def index(self, position: Any) -> int:
        """Return the index of the character at a position. Positions outside a line or the text count as its end."""
        spans = self.spans
        if position["line"] >= len(spans):
            return len(self.text)
        start, end = spans[position["line"]]
        units = 0
        for index in range(start, end):
            units += self.width(self.text[index])
            if units > position["character"]:
                return index
        return end

    def position(self, index: int) -> Any:
        """Return the position of a character. There is none between a carriage return and its line feed."""
        spans = self.spans
        row = bisect(spans, index, key=lambda span: span[0]) - 1
        start, end = spans[row]
        return {"line": row, "character": self.width(self.text[start : min(index, end)])}

    def has(self, position: Any) -> bool:
        """Whether a position is in the text, and neither beyond the end of its line nor inside a character."""
        spans = self.spans
        if position["line"] >= len(spans):
            return False
        return bool(self.position(self.index(position)) == position)

    def some(self, chance: random.Random) -> Any:
        """Return a random position, sometimes beyond the text or inside a character."""
        if chance.random() < 0.1:
            line, character = (chance.choice((0, 1, 9, 300, 9999, 2**31 - 1)) for _ in range(2))
            return {"line": line, "character": character}
        return self.position(chance.randint(0, len(self.text)))

    def some_range(self, chance: random.Random) -> Any:
        """Return a random range."""
        one, two = (self.some(chance) for _ in range(2))
        if (two["line"], two["character"]) < (one["line"], one["character"]):
            one, two = two, one
        return {"start": one, "end": two}

    def edited(self, change: Any) -> "Text":
        """Return the text after a change."""
        if "range" not in change:
            return Text(change["text"], self.encoding)
        start, end = (self.index(change["range"][side]) for side in ("start", "end"))
        return Text(self.text[:start] + change["text"] + self.text[end:], self.encoding)


def positions_in(value: Any, uri: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Return all positions in the result of a request about a document, each with the URI of its document."""
    if isinstance(value, list):
        for item in value:
            yield from positions_in(item, uri)
    elif isinstance(value, dict):
        if value.keys() == {"line", "character"}:
            yield uri, value
        if "startLine" in value:
            for side in ("start", "end"):
                yield uri, {"line": value[f"{side}Line"], "character": value.get(f"{side}Character", 0)}
        if value.keys() <= {"data", "resultId"}:
            for start, end, *_ in tokens_in(value.get("data", [])):
                yield from ((uri, start), (uri, end))
        own = str(value.get("targetUri") or value.get("uri") or uri)
        for key, item in value.items():
            if key not in ("arguments", "data"):
                yield from positions_in(item, uri if key == "originSelectionRange" else own)


def tokens_in(data: list[int]) -> Iterator[tuple[Any, Any, int, int]]:
    """Return the semantic tokens of a result: start, end, type and modifiers. Raises `AssertionError` on overlap."""
    row = column = end = 0
    for first in range(0, len(data), 5):
        rows, columns, width, kind, modifiers = data[first : first + 5]
        row, column = row + rows, columns if rows else column + columns
        assert width > 0
        assert rows or not first or column >= end, f"overlapping tokens in line {row}"
        end = column + width
        yield {"line": row, "character": column}, {"line": row, "character": end}, kind, modifiers
