"""The spans around a byte of HLO text, found by brackets, commas and blanks alone, without a syntax tree."""

import re
import string
from collections.abc import Iterable, Iterator
from typing import Final

from xla_lens.syntax.hlo.lexical import STRING, UNCLOSED, reference_at
from xla_lens.text.document import Span

_LETTERS: Final = (string.ascii_letters + string.digits + "_.-").encode() + bytes(range(0x80, 0x100))
_LONGEST_WORD: Final = 256
_SKIPPED: Final = rb"(?:\s|/\*[^*]*+\*/)"
_TOKEN: Final = re.compile(
    rb"(?P<string>%b)|%b|(?P<open>[(\[{]%b*+)|(?P<close>%b*+[)\]}])|(?P<comma>,%b*+)|(?P<blank>%b++)"
    % (STRING, UNCLOSED, *[_SKIPPED] * 4),
    re.DOTALL,
)


def enclosing(text: bytes, offset: int) -> Iterator[Span]:
    """The spans that may be around a byte of an instruction or a shape: its name or word; each string; and for each
    level of brackets the text between blanks, between commas, between the brackets, and including the brackets.
    """
    yield _word(text, offset)
    # For each open bracket where it, the text in it, the text behind the last comma, and behind the last blank begin.
    levels = [(len(text) - len(text.lstrip()),) * 4]
    for token in _TOKEN.finditer(text):
        start, end = token.span()
        before, inside, item, word = levels[-1]
        match token.lastgroup:
            case "string" if start < offset < end:
                yield start, end
                yield start + 1, end - 1
            case "open":
                levels.append((start, end, end, end))
            case "blank":
                yield word, start
                levels[-1] = before, inside, item, end
            case "comma":
                yield from ((first, start) for first in (item, word))
                levels[-1] = before, inside, end, end
            case "close":
                yield from ((first, start) for first in (inside, item, word))
                if len(levels) > 1:
                    levels.pop()
                    if before < offset < end:
                        yield before, end
    yield from ((first, len(text.rstrip())) for level in levels for first in level)


def nested(spans: Iterable[Span], offset: int, size: int, limit: int) -> list[Span]:
    """Reduce spans to those around a byte, innermost first, each within the next, and append the whole text of `size`
    bytes. Keeps at most `limit`, including the whole text.
    """
    around = [(start, end) for start, end in spans if start <= offset <= end and start < end]
    found: list[Span] = []
    for start, end in (*sorted(around, key=lambda span: span[1] - span[0]), (0, size)):
        if not found or (start <= found[-1][0] and found[-1][1] <= end and (start, end) != found[-1]):
            found.append((start, end))
    return [*found[: limit - 1], *found[-1:]] if len(found) > limit else found


def _word(text: bytes, offset: int) -> Span:
    name = reference_at(text, offset)
    if name:
        return name.start, name.end
    before, after = text[max(0, offset - _LONGEST_WORD) : offset], text[offset : offset + _LONGEST_WORD]
    return offset - len(before) + len(before.rstrip(_LETTERS)), offset + len(after) - len(after.lstrip(_LETTERS))
