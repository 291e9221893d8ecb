"""Bytes to trees. This package is the only one that knows of tree-sitter."""

from collections.abc import Iterable
from typing import Final

from tree_sitter import Language, Node, Parser, Point, Range

import tree_sitter_xla_dump

XLA_DUMP: Final = Language(tree_sitter_xla_dump.language_xla_dump())
HLO: Final = Language(tree_sitter_xla_dump.language_hlo())


class Cancelled(Exception):
    """Raised by a load that was cancelled."""


def parse_lines(data: bytes) -> Node:
    """The tree of a few lines of a dump. Every line is parsed as it would be within its file."""
    return Parser(XLA_DUMP).parse(data).root_node


_ANYWHERE: Final = Point(0, 0)


def parse_parts(data: bytes, parts: Iterable[tuple[int, int]]) -> Node:
    """The tree of some parts of a dump, as if what lies between them were not there. Nodes have the bytes that they
    have in the dump, but no lines. Takes as long as the parts are, however long the dump is.
    """
    parser = Parser(XLA_DUMP)
    ranges = [Range(_ANYWHERE, _ANYWHERE, start, end) for start, end in parts if start < end]
    if not ranges:
        return parse_lines(b"")
    parser.included_ranges = ranges
    return parser.parse(data).root_node


def parse_hlo(data: bytes) -> Node:
    """The tree of one instruction or one shape."""
    return Parser(HLO).parse(data).root_node
