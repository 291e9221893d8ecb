"""The spans around a byte of HLO text, found by brackets, commas and blanks alone. This takes 1 ms for the longest
instructions; the grammar takes 10.
"""

import re
import string
from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from xla_lens.syntax.hlo.lexical import UNCLOSED, reference_at
from xla_lens.syntax.hlo.shapes import MAX_NESTING, NESTING

_LETTERS: Final = (string.ascii_letters + string.digits + "_.-").encode() + bytes(range(0x80, 0x100))
_LONGEST_WORD: Final = 256
_STRING: Final = re.compile(rb'"((?:[^"\\]|\\.)*+)"|' + UNCLOSED, re.DOTALL)
_LEADING: Final = re.compile(rb"(?:\s|/\*[^*]*+\*/)*+")
_COMMA, _BLANK = 1, 2
_SEPARATORS: Final = np.zeros(256, np.int8)
_SEPARATORS[list(b",")], _SEPARATORS[list(b" \t\r\n")] = _COMMA, _BLANK


def enclosing(text: bytes, offset: int) -> Iterator[tuple[int, int]]:
    """The spans around a byte of an instruction or a shape, innermost first: its name or word; its string; then for
    each level of brackets the text between blanks, between commas, between the brackets, and including the brackets.
    Spans may repeat or be empty.
    """
    yield _word(text, offset)
    text = _STRING.sub(lambda match: match[0] if match[1] is None else b'"%s"' % (b"_" * len(match[1])), text)
    if text.count(b'"', 0, offset) % 2:
        start, end = text.rfind(b'"', 0, offset), text.find(b'"', offset)
        yield start + 1, end
        yield start, end + 1
    yield from _levels(text, offset)


def nested(spans: Iterable[tuple[int, int]], offset: int, size: int, limit: int) -> list[tuple[int, int]]:
    """Reduce spans to those around a byte, innermost first, each within the next, and append the whole text of `size`
    bytes. Keeps at most `limit`, including the whole text.
    """
    around = [(start, end) for start, end in spans if start <= offset <= end and start < end]
    found: list[tuple[int, int]] = []
    for start, end in (*sorted(around, key=lambda span: span[1] - span[0]), (0, size)):
        if not found or (start <= found[-1][0] and found[-1][1] <= end and (start, end) != found[-1]):
            found.append((start, end))
    return [*found[: limit - 1], *found[-1:]] if len(found) > limit else found


def _word(text: bytes, offset: int) -> tuple[int, int]:
    name = reference_at(text, offset)
    if name:
        return name.start, name.end
    before, after = text[max(0, offset - _LONGEST_WORD) : offset], text[offset : offset + _LONGEST_WORD]
    return offset - len(before) + len(before.rstrip(_LETTERS)), offset + len(after) - len(after.lstrip(_LETTERS))


def _levels(text: bytes, offset: int) -> Iterator[tuple[int, int]]:
    letters = np.frombuffer(text, np.uint8)
    depth, separators = NESTING[letters].cumsum(dtype=np.int32), _SEPARATORS[letters]
    start = end = offset
    innermost = max(0, int(depth[offset - 1])) if offset else 0
    for level in range(innermost, max(-1, innermost - MAX_NESTING), -1):
        opening = _last(depth[:start] < level) + 1
        closing = _first(depth[end:] < level) + end
        inner_start = opening + 1 if level else opening
        is_own = depth[inner_start:closing] == level
        for wanted in (_COMMA | _BLANK, _COMMA):
            is_separator = is_own & (separators[inner_start:closing] & wanted > 0)
            first = _last(is_separator[: start - inner_start]) + 1 + inner_start
            last = _first(is_separator[end - inner_start :]) + end
            yield _trimmed(text, first, last)
        yield _trimmed(text, inner_start, closing)
        start, end = opening, min(closing + 1, len(text))
        if level:
            yield start, end


def _trimmed(text: bytes, start: int, end: int) -> tuple[int, int]:
    """A span without the blanks around it and the comments before it."""
    leading = _LEADING.match(text, start, end)
    return leading.end() if leading else start, start + len(text[start:end].rstrip())


def _first(mask: NDArray[np.bool_]) -> int:
    """The index of the first True, else the length."""
    return int(mask.argmax()) if mask.any() else len(mask)


def _last(mask: NDArray[np.bool_]) -> int:
    """The index of the last True, else -1."""
    return len(mask) - 1 - _first(mask[::-1])
