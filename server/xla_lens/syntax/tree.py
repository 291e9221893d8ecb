"""Parse bytes into syntax trees. Only the package `syntax` imports tree-sitter."""

from collections.abc import Iterable
from typing import Final

from tree_sitter import Language, Node, Parser, Point, Range

import tree_sitter_xla_dump
from xla_lens.text.document import IsCancelled, Span

XLA_DUMP: Final = Language(tree_sitter_xla_dump.language_xla_dump())
HLO: Final = Language(tree_sitter_xla_dump.language_hlo())


class Cancelled(Exception):
    """Raised by a load that was cancelled."""


def check_cancelled(is_cancelled: IsCancelled) -> None:
    """Raise `Cancelled` if a load was cancelled."""
    if is_cancelled():
        raise Cancelled


def parse_lines(data: bytes) -> Node:
    """Return the tree of a few lines of a dump. Each line parses as it does within its file."""
    return Parser(XLA_DUMP).parse(data).root_node


_ANYWHERE: Final = Point(0, 0)


def parse_parts(data: bytes, parts: Iterable[Span]) -> Node:
    """Return the tree of some parts of a dump, as if the text between them did not exist. Nodes have the offsets of the
    dump, but no rows and columns. Takes time proportional to the parts, not to the dump.
    """
    parser = Parser(XLA_DUMP)
    ranges = [Range(_ANYWHERE, _ANYWHERE, start, end) for start, end in parts if start < end]
    if not ranges:
        return parse_lines(b"")
    parser.included_ranges = ranges
    return parser.parse(data).root_node


def parse_hlo(data: bytes) -> Node:
    """Return the tree of one instruction or one shape."""
    return Parser(HLO).parse(data).root_node


def first_error(text: bytes) -> int | None:
    """Return the byte of the first error in an instruction or a shape, None if there is none."""
    node = parse_hlo(text)
    if not node.has_error:
        return None
    while inner := next((child for child in node.children if child.has_error), None):
        node = inner
    return node.start_byte
