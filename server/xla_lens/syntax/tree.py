"""Bytes to trees. This package is the only one that knows of tree-sitter."""

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from typing import Final

from tree_sitter import Language, Node, Parser, Point, Range, Tree

import tree_sitter_xla_dump

XLA_DUMP: Final = Language(tree_sitter_xla_dump.language_xla_dump())
HLO: Final = Language(tree_sitter_xla_dump.language_hlo())


_AT_ONCE: Final = 1 << 16
"""Bytes that are parsed in less than a millisecond."""


class Cancelled(Exception):
    """Raised out of a parse or a walk that is not wanted any more."""


def parse_file(data: bytes, is_cancelled: Callable[[], bool]) -> Tree:
    """The tree of a whole dump file. Never fails: any bytes give a tree.

    Made for a worker thread: because the parser asks back for the text and for its progress, other threads wait
    milliseconds only, not for the whole parse. Raises `Cancelled` if `is_cancelled` says so on the way.
    """
    if len(data) <= _AT_ONCE:
        # For each parse that asks back the binding keeps a few small objects for ever.
        return Parser(XLA_DUMP).parse(data)
    with ExitStack() as views:
        # The binding never lets go of what it has read, so that only a release frees the text.
        text = views.enter_context(memoryview(data))

        def read(offset: int, _point: Point) -> memoryview:
            return views.enter_context(text[offset:])

        def stop(*_progress: object) -> bool:
            return is_cancelled()

        parser = Parser(XLA_DUMP)
        try:
            return parser.parse(read, progress_callback=stop)
        except ValueError as error:
            # The binding's word for a parse that the progress callback has stopped.
            if is_cancelled():
                raise Cancelled from error
            raise


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
