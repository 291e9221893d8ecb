"""The spans around a byte of an instruction, a shape or a line, from its syntax tree."""

from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeAlias

from tree_sitter import Node

from xla_lens.syntax.tree import parse_hlo
from xla_lens.text.document import Span
from xla_lens.text.patterns import lazy_pattern

Parse: TypeAlias = Callable[[bytes], Node]
"""Returns the tree of a text."""

_WORD: Final = lazy_pattern(rb"[\w.%#\x80-\xff-]*+")
_WORD_BEFORE: Final = lazy_pattern(_WORD.pattern + rb"\Z")
_LONGEST_WORD: Final = 256
_LONGEST_TEXT: Final = 1 << 17
"""Longer texts have no levels but their words. The longest instructions have 120,000 bytes and parse in 10 ms."""


def enclosing(text: bytes, offset: int, parse: Parse) -> Iterator[Span]:
    """Yield the spans that may be around a byte: its word, and the named nodes of the tree that `parse` returns. A
    string also has the text between its quotation marks, and a shape in a line of a dump the nodes of its own tree.
    """
    before = _WORD_BEFORE.search(text, max(0, offset - _LONGEST_WORD), offset)
    after = _WORD.match(text, offset, offset + _LONGEST_WORD)
    word_start, word_end = before.start() if before else offset, after.end() if after else offset
    yield word_start, word_end
    if len(text) > _LONGEST_TEXT:
        return
    # A place right behind a word belongs to the word.
    is_behind = word_start < offset == word_end or offset == len(text)
    cursor = parse(text).walk()
    while cursor.goto_first_child_for_byte(max(0, offset - is_behind)) is not None:
        node = cursor.node
        assert node is not None, "a cursor always stands at a node"
        start, end = node.byte_range
        if node.is_named:
            yield start, end
        if node.type == "string":
            yield start + 1, end - 1
        if node.type == "shape" and start <= offset <= end:
            inner = enclosing(text[start:end], offset - start, parse_hlo)
            yield from ((start + first, start + last) for first, last in inner)


def nested(spans: Iterable[Span], offset: int, size: int, limit: int) -> list[Span]:
    """Reduce spans to those around a byte, innermost first, each within the next, and append the whole text of `size`
    bytes. Keeps at most `limit`, including the whole text.
    """
    around = {(start, end) for start, end in spans if start <= offset <= end and start < end} - {(0, size)}
    found: list[Span] = []
    for start, end in (*sorted(around, key=lambda span: span[1] - span[0]), (0, size)):
        if not found or start <= found[-1][0] <= found[-1][1] <= end:
            found.append((start, end))
    return [*found[: limit - 1], *found[-1:]] if len(found) > limit else found
