"""Read the columns of a dump file from its syntax tree.

The server reads rows without a tree (grammar/python/tree_sitter_xla_dump/rows.c). This reader derives the same columns
from the tree of the grammar; tests compare the two.
"""

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from tree_sitter import Node, Parser, Tree, TreeCursor

from xla_lens.syntax.columns import NONE, FileColumns, Kind, Rows, Section, Texts
from xla_lens.syntax.file_names import split_name
from xla_lens.syntax.tree import XLA_DUMP


def parse_file(data: bytes) -> Tree:
    """Return the syntax tree of a whole dump file."""
    return Parser(XLA_DUMP).parse(data)


def tree_columns(data: bytes) -> FileColumns:
    """Return the tables of a dump file, read from its syntax tree."""
    walk = _Walk(data)
    walk.visit_children(parse_file(data).walk())
    return walk.columns()


Visitors: TypeAlias = dict[str, Callable[[Any, TreeCursor, Node], None]]
"""The visitor of each node type. It is called with the cursor at the node, and must leave the cursor there."""


class Walk:
    """Collects the rows of all tables.

    The grammar creates the node of a row only if the whole row is valid, so the order of its children identifies them.
    """

    def __init__(self, data: bytes, visitors: Visitors) -> None:
        self._data = data
        self._visitors = visitors
        self._names: dict[bytes, int] = {}
        self._indices: dict[bytes, int] = {b"{}": 0}
        self._tables = {name: Rows(table) for name, table in FileColumns.tables().items()}

    def columns(self) -> FileColumns:
        """Return the tables collected so far."""
        tables = FileColumns.tables()
        columns = [table.of(self._tables[name].cells) for name, table in tables.items()]
        return FileColumns(Texts.of(self._names), Texts.of(self._indices), *columns)  # type: ignore[arg-type]

    def visit_children(self, cursor: TreeCursor) -> None:
        """Call the visitors of the children of the node at the cursor."""
        if not cursor.goto_first_child():
            return
        while True:
            node = _here(cursor)
            visitor = self._visitors.get(node.type)
            if visitor:
                visitor(self, cursor, node)
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
"""The section of each node type that is a part of a dump."""


def span(node: Node | None) -> tuple[int, int]:
    """Return the start and the end of a node in bytes, or twice NONE without a node."""
    return (node.start_byte, node.end_byte) if node else (NONE, NONE)


def _here(cursor: TreeCursor) -> Node:
    node = cursor.node
    assert node is not None, "a cursor is always at a node"
    return node


class ReportWalk(Walk):
    """Visits memory usage reports. Until 2026-03 they list allocations, since then tables for each memory space."""

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


# Plain integers: flags take a microsecond to combine.
_KINDS: Final = {
    b"constant": Kind.CONSTANT.value,
    b"thread-local": Kind.THREAD_LOCAL.value,
    b"maybe-live-out": Kind.MAYBE_LIVE_OUT.value,
    b"preallocated-temp": Kind.PREALLOCATED_TEMP.value,
}

# Names in the stack trace start at these columns, by depth and in characters: 4, 10, 14, 18 and so on.
_BRANCH_INDENT: Final = 6
_BRANCH_WIDTH: Final = 4


class _Walk(ReportWalk):
    """Visits a whole dump. Each `visit_` method follows the contract of `Visitors`."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data, _VISITORS)
        self._allocations = self._tables["allocations"]
        self._slices = self._tables["slices"]
        self._used_values = self._tables["used_values"]
        self._positions = self._tables["positions"]
        self._uses = self._tables["uses"]
        self._schedule = self._tables["schedule"]
        self._live_ranges = self._tables["live_ranges"]
        self._peak_buffers = self._tables["peak_buffers"]
        # The rows of the allocation and the used value around the cursor.
        self._allocation = NONE
        self._used_value = NONE
        # The stem in the first file marker of the text. Sections with another stem are skipped.
        self._stem: str | None = None

    # ------------------------------------------------------------ allocations

    def visit_allocation(self, cursor: TreeCursor, node: Node) -> None:
        header = node.child_by_field_name("header")
        first = self._slices.count
        self._allocation = self._allocations.count
        # The header comes before the children, to keep unknown lines in the order of the file.
        cells = self._header_cells(header) if header else (NONE,) * 10
        self.visit_children(cursor)
        self._allocation = NONE
        header = header or node.children[0]
        self._allocations.add(header.start_byte, header.end_byte, first, self._slices.count - first, *cells)

    def _header_cells(self, header: Node) -> tuple[int, ...]:
        """Return the cells of a row of `Allocations`, starting with `index`."""
        index = size = color = parameter = parameter_index = NONE
        parameter_shape = output_shape = (NONE, NONE)
        kind = 0
        color = 0
        for position, part in enumerate(header.children):
            match header.field_name_for_child(position):
                case "index":
                    index = self._integer(part)
                case "size":
                    size = self._integer(part)
                case "color":
                    color = self._integer(part)
                case "kind":
                    kind |= _KINDS[self._data[part.start_byte : part.end_byte]]
                case "output_shape":
                    kind |= Kind.OUTPUT.value
                    output_shape = (part.start_byte, part.end_byte)
                case None if part.type == "parameter":
                    kind |= Kind.PARAMETER.value
                    number, *shape, place = part.named_children
                    parameter, parameter_index = self._integer(number), self._index(place)
                    if shape:
                        parameter_shape = (shape[0].start_byte, shape[0].end_byte)
                case None if part.type == "unknown_attribute":
                    self._tables["unknown_lines"].add(part.start_byte, part.end_byte)
        return index, size, color, kind, parameter, parameter_index, *parameter_shape, *output_shape

    def visit_slice(self, _cursor: TreeCursor, node: Node) -> None:
        value, size, offset, shape = node.named_children
        self._slices.add(
            node.start_byte,
            node.end_byte,
            self._allocation,
            *self._value_cells(value),
            value.start_byte,
            value.end_byte,
            self._integer(size),
            self._integer(offset),
            shape.start_byte,
        )

    def _value_cells(self, value: Node) -> tuple[int, int, int, int]:
        """Return the id, name, index and color of a value."""
        number, name, *rest = value.named_children
        index = color = NONE
        for part in rest:
            if part.type == "index":
                index = self._index(part)
            elif part.type == "integer":
                color = self._integer(part)
        return self._integer(number), self._name(name), index, color

    def visit_total(self, _cursor: TreeCursor, node: Node) -> None:
        size, *human = node.named_children
        human_size = span(human[0] if human else None)
        self._tables["totals"].add(node.start_byte, node.end_byte, self._integer(size), *human_size)

    def visit_other_color_value(self, _cursor: TreeCursor, node: Node) -> None:
        value = node.named_children[0]
        self._tables["other_color_values"].add(node.start_byte, node.end_byte, self._integer(value.named_children[0]))

    # ------------------------------------------------------------ used values

    def visit_used_value(self, cursor: TreeCursor, node: Node) -> None:
        position, use = self._positions.count, self._uses.count
        instruction = (NONE, NONE)
        self._used_value = self._used_values.count
        header, *rows = node.named_children
        is_read = header.type == "value"
        if not is_read:
            self.visit_unknown_line(cursor, header)
        for row in rows:
            kind = row.type
            if kind == "use":
                self.visit_use(cursor, row)
            elif kind == "position":
                self.visit_position(cursor, row)
            elif kind == "from_instruction":
                instruction = self._instruction(row)
            else:
                self.visit_unknown_line(cursor, row)
        self._used_value = NONE
        cells = self._value_cells(header) if is_read else (NONE,) * 4
        self._used_values.add(
            header.start_byte,
            header.end_byte,
            position,
            self._positions.count - position,
            use,
            self._uses.count - use,
            *cells,
            *instruction,
        )

    def visit_position(self, _cursor: TreeCursor, node: Node) -> None:
        name, *index = node.named_children
        self._positions.add(
            node.start_byte,
            node.end_byte,
            self._used_value,
            self._name(name),
            self._index(index[0]) if index else NONE,
        )

    def visit_use(self, _cursor: TreeCursor, node: Node) -> None:
        name, operand, *index = node.named_children
        self._uses.add(
            node.start_byte,
            node.end_byte,
            self._used_value,
            self._name(name),
            self._integer(operand),
            self._index(index[0]) if index else NONE,
        )

    def _instruction(self, node: Node) -> tuple[int, int]:
        text = node.named_children
        return (text[0].start_byte, text[0].end_byte) if text else (NONE, NONE)

    # ------------------------------------------------------------ live ranges

    def visit_live_ranges(self, cursor: TreeCursor, node: Node) -> None:
        maximum = node.child_by_field_name("max")
        header_end = maximum.end_byte + len(b"):") if maximum else node.children[0].end_byte
        self._tables["live_range_headers"].add(node.start_byte, header_end, self._integer(maximum) if maximum else NONE)
        self._visit_section(cursor, node)

    def visit_scheduled_instruction(self, _cursor: TreeCursor, node: Node) -> None:
        step, name = node.named_children
        self._schedule.add(node.start_byte, node.end_byte, self._integer(step), self._name(name), name.start_byte)

    def visit_live_range(self, _cursor: TreeCursor, node: Node) -> None:
        name, index, start, end = node.named_children
        self._live_ranges.add(
            node.start_byte,
            node.end_byte,
            self._name(name),
            self._index(index),
            index.end_byte,
            self._integer(start),
            self._integer(end),
        )

    def visit_peak(self, cursor: TreeCursor, node: Node) -> None:
        first = self._peak_buffers.count
        self._visit_section(cursor, node)
        step = node.named_children[0]
        header_end = step.end_byte + len(b" (peak):")
        self._tables["peaks"].add(
            node.start_byte, header_end, first, self._peak_buffers.count - first, self._integer(step)
        )

    def visit_peak_buffer(self, _cursor: TreeCursor, node: Node) -> None:
        name, *index = node.named_children
        index, (size, *cumulative) = (index[:1], index[1:]) if index[0].type == "index" else ([], index)
        self._peak_buffers.add(
            node.start_byte,
            node.end_byte,
            self._name(name),
            self._index(index[0]) if index else NONE,
            (index[0] if index else name).end_byte,
            self._integer(size),
            self._integer(cumulative[0]) if cumulative else NONE,
        )

    def visit_stack_traces(self, cursor: TreeCursor, node: Node) -> None:
        size = node.child_by_field_name("size")
        if size:
            header_end = size.end_byte + len(b" bytes")
            self._tables["stack_trace_headers"].add(node.start_byte, header_end, self._grouped_integer(size))
        self._visit_section(cursor, node)

    def visit_stack_trace(self, cursor: TreeCursor, node: Node) -> None:
        name = node.child_by_field_name("name")
        if not name:
            self.visit_children(cursor)
            return
        measures = (node.child_by_field_name(field) for field in ("total", "current", "remaining"))
        self._tables["stack_traces"].add(
            node.start_byte,
            node.end_byte,
            self._depth(node.child_by_field_name("branch")),
            name.start_byte,
            name.end_byte,
            *(self._grouped_integer(measure) if measure else NONE for measure in measures),
        )

    def _depth(self, branch: Node | None) -> int:
        if branch is None:
            return 0
        stems = len(self._data[branch.start_byte : branch.end_byte].decode()) + 1
        return 1 + (branch.start_point.column - _BRANCH_INDENT + stems - _BRANCH_WIDTH) // _BRANCH_WIDTH

    # ------------------------------------------------------------ the rest

    def visit_message(self, cursor: TreeCursor, _node: Node) -> None:
        self.visit_children(cursor)

    visit_other_colors = visit_message

    def visit_file_marker(self, _cursor: TreeCursor, node: Node) -> None:
        begin = node.child_by_field_name("begin")
        if begin is None:
            return
        stem, _ = split_name(self._data[begin.start_byte : begin.end_byte].decode("utf-8", "replace"))
        self._stem = self._stem or stem
        self._visitors = _VISITORS if stem == self._stem else _ELSEWHERE
        if stem != self._stem:
            self._tables["other_modules"].add(node.start_byte, node.end_byte, begin.start_byte, begin.end_byte)

    def visit_unknown_line(self, _cursor: TreeCursor, node: Node) -> None:
        self._tables["unknown_lines"].add(node.start_byte, node.end_byte)


_VISITORS: Final[Visitors] = {
    **dict.fromkeys(SECTIONS, _Walk._visit_section),
    **{
        name.removeprefix("visit_"): visitor
        for part in (ReportWalk, _Walk)
        for name, visitor in vars(part).items()
        if name.startswith("visit_")
    },
}

_ELSEWHERE: Final[Visitors] = {"file_marker": _Walk.visit_file_marker}
