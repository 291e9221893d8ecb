"""Texts and their positions as the protocol has them, in plain Python: what the server's own are compared with."""

import random
import re
from bisect import bisect
from dataclasses import dataclass
from functools import cached_property
from typing import Any

ENCODINGS = ("utf-8", "utf-16", "utf-32")


@dataclass(frozen=True)
class Text:
    """A text, and the unit that columns are counted in."""

    text: str
    encoding: str

    @cached_property
    def spans(self) -> list[tuple[int, int]]:
        """Where the lines start and end, without their line ends."""
        spans, start = [], 0
        for found in re.finditer("\r\n|\r|\n", self.text):
            spans.append((start, found.start()))
            start = found.end()
        return [*spans, (start, len(self.text))]

    def width(self, part: str) -> int:
        """How many units wide some text is."""
        if self.encoding == "utf-32":
            return len(part)
        code = "utf-8" if self.encoding == "utf-8" else "utf-16-le"
        return len(part.encode(code, "surrogatepass")) // (1 if self.encoding == "utf-8" else 2)

    def index(self, position: Any) -> int:
        """The character at a position; what is outside of a line or of the text counts as its end."""
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
        """The position of a character; between a carriage return and its line feed there is none."""
        spans = self.spans
        row = bisect(spans, index, key=lambda span: span[0]) - 1
        start, end = spans[row]
        return {"line": row, "character": self.width(self.text[start : min(index, end)])}

    def has(self, position: Any) -> bool:
        """Whether a position is one of the text, and not beyond a line or inside of a character."""
        spans = self.spans
        if position["line"] >= len(spans):
            return False
        return bool(self.position(self.index(position)) == position)

    def some(self, chance: random.Random) -> Any:
        """A random position: mostly one of the text, sometimes beyond it or inside of a character."""
        if chance.random() < 0.1:
            line, character = (chance.choice((0, 1, 9, 300, 9999, 2**31 - 1)) for _ in range(2))
            return {"line": line, "character": character}
        return self.position(chance.randint(0, len(self.text)))

    def some_range(self, chance: random.Random) -> Any:
        """A random range."""
        one, two = (self.some(chance) for _ in range(2))
        if (two["line"], two["character"]) < (one["line"], one["character"]):
            one, two = two, one
        return {"start": one, "end": two}

    def edited(self, change: Any) -> "Text":
        """The text after a change as the protocol tells it."""
        if "range" not in change:
            return Text(change["text"], self.encoding)
        start, end = (self.index(change["range"][side]) for side in ("start", "end"))
        return Text(self.text[:start] + change["text"] + self.text[end:], self.encoding)
