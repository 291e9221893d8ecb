"""The part of the walk that reads memory usage reports."""

from tree_sitter import Node, TreeCursor

from xla_lens.syntax.columns import NONE
from xla_lens.syntax.walk_base import Walk, span


class ReportWalk(Walk):
    """The tables of a report. Until 2026-03 it lists allocations, since then tables for each memory space."""

    _report_allocation = NONE
    _space = NONE
    _space_header = (NONE, NONE)
    _report_tables = 0
    _rest = NONE

    def visit_sized_allocation(self, _cursor: TreeCursor, node: Node) -> None:
        self._report_allocation = self._add_allocation(node)

    def visit_report_allocation(self, cursor: TreeCursor, node: Node) -> None:
        self._report_allocation = self._add_allocation(node)
        self.visit_children(cursor)

    def _add_allocation(self, node: Node) -> int:
        header = node.child_by_field_name("header")
        size = header.child_by_field_name("size") if header else None
        if not header or not size:
            return NONE
        index = self._integer(header.named_children[0])
        sums = (span(node.child_by_field_name(field)) for field in ("cumulative", "remaining"))
        self._tables["report_allocations"].add(
            header.start_byte, header.end_byte, index, *span(size), *(byte for sum_span in sums for byte in sum_span)
        )
        return index

    def visit_memory_space(self, cursor: TreeCursor, node: Node) -> None:
        color = node.child_by_field_name("color")
        self._space = self._integer(color) if color else NONE
        self._space_header = (node.start_byte, color.end_byte + len(b")")) if color else (NONE, NONE)
        self._report_tables = 0
        self._report_allocation = NONE
        self._visit_section(cursor, node)

    def visit_memory_space_total(self, _cursor: TreeCursor, node: Node) -> None:
        size = node.child_by_field_name("size")
        if size:
            human = span(node.child_by_field_name("human_size"))
            cells = (*self._space_header, self._space, self._integer(size), *human)
            self._tables["report_spaces"].add(node.start_byte, node.end_byte, *cells)

    def visit_table(self, cursor: TreeCursor, node: Node) -> None:
        first = self._tables["report_rows"].count
        self._rest = NONE
        self.visit_children(cursor)
        self._tables["report_tables"].add(
            node.start_byte,
            node.end_byte,
            self._report_allocation,
            self._space,
            self._report_tables,
            first,
            self._tables["report_rows"].count - first,
            self._rest,
        )
        self._report_tables += 1

    def visit_rest(self, _cursor: TreeCursor, node: Node) -> None:
        count = node.child_by_field_name("count")
        self._rest = self._integer(count) if count else NONE

    def visit_table_row(self, _cursor: TreeCursor, node: Node) -> None:
        fields = [node.child_by_field_name(field) for field in ("cumulative", "size", "offset", "values", "shapes")]
        cumulative, size, offset, values, shapes = fields
        if offset and values:
            self._tables["report_rows"].add(
                node.start_byte,
                node.end_byte,
                self._integer(offset),
                self._report_allocation,
                self._space,
                self._report_tables,
                *span(cumulative),
                *span(size),
                self._integer(values),
                span(shapes)[0],
            )
