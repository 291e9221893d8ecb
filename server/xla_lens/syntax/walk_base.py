"""A walk over the tree of one file: the tables as they grow, and the tokens that fill them."""

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from tree_sitter import Node, TreeCursor

from xla_lens.syntax.columns import NONE, Rows, Section
from xla_lens.syntax.file_columns import FileColumns
from xla_lens.syntax.tree import Cancelled

Visitors: TypeAlias = dict[str, Callable[[Any, TreeCursor, Node], None]]
"""By the name of a node, what is called with the cursor there; it leaves the cursor there."""

_ROWS_BETWEEN_CHECKS: Final = 1 << 12


class Walk:
    """All tables as they grow. The grammar gives a node only to what is right to its end, so the parts of a row can be
    told by their order.
    """

    def __init__(self, data: bytes, visitors: Visitors, is_cancelled: Callable[[], bool]) -> None:
        self._data = data
        self._visitors = visitors
        self._is_cancelled = is_cancelled
        self._visited = 0
        self._names: dict[bytes, int] = {}
        self._indices: dict[bytes, int] = {b"{}": 0}
        self._tables = {name: Rows(table) for name, table in FileColumns.tables().items()}

    def columns(self) -> FileColumns:
        """What was collected."""
        return FileColumns.of(self._names, self._indices, {name: rows.cells for name, rows in self._tables.items()})

    def visit_children(self, cursor: TreeCursor) -> None:
        """Visits what is directly below the cursor."""
        if not cursor.goto_first_child():
            return
        while True:
            node = _here(cursor)
            visitor = self._visitors.get(node.type)
            if visitor:
                visitor(self, cursor, node)
            self._visited += 1
            if self._visited % _ROWS_BETWEEN_CHECKS == 0 and self._is_cancelled():
                raise Cancelled
            if not cursor.goto_next_sibling():
                break
        cursor.goto_parent()

    def _visit_section(self, cursor: TreeCursor, node: Node) -> None:
        self._tables["sections"].add(node.start_byte, node.end_byte, SECTIONS[node.type])
        self.visit_children(cursor)

    # ------------------------------------------------------------ tokens

    def _integer(self, node: Node) -> int:
        return int(self._data[node.start_byte : node.end_byte])

    def _grouped_integer(self, node: Node) -> int:
        return int(self._data[node.start_byte : node.end_byte].replace(b" ", b""))

    def _name(self, node: Node) -> int:
        return self._names.setdefault(self._data[node.start_byte : node.end_byte], len(self._names))

    def _index(self, node: Node) -> int:
        return self._indices.setdefault(self._data[node.start_byte : node.end_byte], len(self._indices))


SECTIONS: Final = {
    "buffer_assignment": Section.BUFFER_ASSIGNMENT,
    "used_values": Section.USED_VALUES,
    "live_ranges": Section.LIVE_RANGES,
    "instruction_sequence": Section.INSTRUCTION_SEQUENCE,
    "buffer_live_ranges": Section.BUFFER_LIVE_RANGES,
    "peak": Section.PEAK,
    "stack_traces": Section.STACK_TRACES,
    "allocations_by_size": Section.REPORT,
    "allocations_with_values": Section.REPORT,
    "memory_space": Section.REPORT,
}
"""The nodes that are parts of a dump."""


def span(node: Node | None) -> tuple[int, int]:
    """The first byte of a node and the one after its last, NONE without a node."""
    return (node.start_byte, node.end_byte) if node else (NONE, NONE)


def _here(cursor: TreeCursor) -> Node:
    node = cursor.node
    assert node is not None, "a cursor always stands at a node"
    return node
