"""Read the columns of a dump file from its syntax tree.

The server reads rows without a tree (grammar/python/tree_sitter_xla_dump/rows.c). This reader derives the same columns
from the fields of the grammar; tests compare the two.
"""

from array import array
from collections.abc import Callable, Iterator
from typing import Final

from tree_sitter import Node, Parser

from xla_lens.syntax.columns import NONE, Kind, Texts
from xla_lens.syntax.file_names import split_name
from xla_lens.syntax.tables import DumpSection, FileColumns
from xla_lens.syntax.tree import XLA_DUMP


def tree_columns(data: bytes) -> FileColumns:
    """Return the tables of a dump file, read from its syntax tree."""
    walk, root = _Walk(data), Parser(XLA_DUMP).parse(data).root_node
    assert not root.has_error, "the grammar has a rule for any text"
    for node in root.children:
        if node.type == "file_marker":
            walk.on_file_marker(node)
        elif not walk.is_elsewhere:
            walk.visit(node)
    return walk.columns()


_ROWS: Final = {
    "slice": "slices @allocation value.id value.name value.index value.color <value value> size offset <shape",
    "other_color_value": "other_color_values value.id",
    "total": "totals size <human_size human_size>",
    "position": "positions @used_value name index",
    "use": "uses @used_value name operand index",
    "scheduled_instruction": "schedule step name <name",
    "live_range": "live_ranges name index index> start end",
    "peak_buffer": "peak_buffers name index @position_end size cumulative",
    "memory_space_total": "report_spaces @space_start @space_end @space size <human_size human_size>",
    "table_row": "report_rows offset @report_allocation @space @report_tables values <shapes",
    "unknown_line": "unknown_lines",
    "unknown_attribute": "unknown_lines",
}
"""For each node type its table, and the cells behind `start` and `end`: fields, where fields start (`<`) and end (`>`),
and what the walk remembers (`@`).
"""

_SECTIONS: Final = {
    "buffer_assignment": DumpSection.BUFFER_ASSIGNMENT,
    "used_values": DumpSection.USED_VALUES,
    "live_ranges": DumpSection.LIVE_RANGES,
    "instruction_sequence": DumpSection.INSTRUCTION_SEQUENCE,
    "buffer_live_ranges": DumpSection.BUFFER_LIVE_RANGES,
    "peak": DumpSection.PEAK,
    "stack_traces": DumpSection.STACK_TRACES,
    "allocations_by_size": DumpSection.REPORT,
    "allocations_with_values": DumpSection.REPORT,
    "memory_space": DumpSection.REPORT,
}

_KINDS: Final = {kind.name.lower().replace("_", "-").encode(): kind for kind in Kind if kind.name}

# Names in the stack trace start at these columns, by depth and in characters: 4, 10, 14, 18 and so on.
_BRANCH_INDENT: Final = 6
_BRANCH_WIDTH: Final = 4


class _Walk:
    """Collects the rows of all tables. The methods `on_…` are called for nodes of their type."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._names: dict[bytes, int] = {}
        self._indices: dict[bytes, int] = {b"{}": 0}
        self._cells = {name: array("q") for name in FileColumns.tables()}
        self._widths = {name: len(table.__struct_fields__) for name, table in FileColumns.tables().items()}
        self._state = dict.fromkeys(
            ("allocation", "used_value", "position_end", "report_allocation", "space", "space_start", "space_end"), NONE
        ) | {"report_tables": 0, "rest": NONE}
        # The stem in the first file marker of the text. Files with another stem are skipped.
        self._stem: str | None = None
        self.is_elsewhere = False

    def columns(self) -> FileColumns:
        """Return the tables collected so far."""
        columns = {name: table.of(self._cells[name]) for name, table in FileColumns.tables().items()}
        return FileColumns(Texts.of(self._names), Texts.of(self._indices), **columns)  # type: ignore[arg-type]

    def visit(self, node: Node) -> None:
        """Add the rows of a node and of all nodes below."""
        if node.type in _SECTIONS:
            self._add("sections", node.start_byte, node.end_byte, _SECTIONS[node.type])
        if node.type in _ROWS:
            table, *cells = _ROWS[node.type].split()
            self._state["position_end"] = max(self._end(node, "name"), self._end(node, "index"))
            self._add(table, node.start_byte, node.end_byte, *(self._cell(node, cell) for cell in cells))
        visitor: Callable[[Node], None] = getattr(self, f"on_{node.type}", self._children)
        visitor(node)

    def on_file_marker(self, node: Node) -> None:
        begin = node.child_by_field_name("begin")
        if begin:
            stem, _ = split_name(self._text(begin).decode("utf-8", "replace"))
            self._stem = self._stem or stem
            self.is_elsewhere = stem != self._stem
            if self.is_elsewhere:
                self._add("other_modules", node.start_byte, node.end_byte, begin.start_byte, begin.end_byte)

    def on_allocation(self, node: Node) -> None:
        header = node.child_by_field_name("header")
        # The header comes before the rows, to keep unknown lines in the order of the file.
        cells = [*self._header_cells(header)] if header else [NONE] * 10
        self._with_rows(node, "allocation", header or node.children[0], lambda: cells, "slices")

    def _header_cells(self, header: Node) -> Iterator[int]:
        """The cells of a row of `Allocations`, starting with `index`."""
        kind = Kind(0)
        for number, part in enumerate(header.children):
            if header.field_name_for_child(number) == "kind":
                kind |= _KINDS[self._text(part)]
            elif part.type == "unknown_attribute":
                self.visit(part)
        parameters = [part for part in header.named_children if part.type == "parameter"]
        parameter = parameters[-1] if parameters else header
        if parameters:
            kind |= Kind.PARAMETER
        outputs = header.children_by_field_name("output_shape")
        if outputs:
            kind |= Kind.OUTPUT
        color = header.children_by_field_name("color")
        yield from (self._cell(header, "index"), self._cell(header, "size"))
        yield from (int(self._text(color[-1])) if color else 0, int(kind))
        if parameters:
            yield from (self._cell(parameter, cell) for cell in ("number", "index", "<shape", "shape>"))
        else:
            yield from (NONE,) * 4
        yield from (outputs[-1].start_byte, outputs[-1].end_byte) if outputs else (NONE, NONE)

    def on_used_value(self, node: Node) -> None:
        header = node.named_children[0]
        text = [part.child_by_field_name("instruction") for part in node.children if part.type == "from_instruction"]
        instruction = text[-1] if text else None
        span = (instruction.start_byte, instruction.end_byte) if instruction else (NONE, NONE)
        names = ("value.id", "value.name", "value.index", "value.color")
        cells = lambda: [*(self._cell(node, name) for name in names), *span]  # noqa: E731
        self._with_rows(node, "used_value", header, cells, "positions", "uses")

    def on_live_ranges(self, node: Node) -> None:
        end = self._end(node, "max") + len(b"):") if node.child_by_field_name("max") else node.children[0].end_byte
        self._add("live_range_headers", node.start_byte, end, self._cell(node, "max"))
        self._children(node)

    def on_peak(self, node: Node) -> None:
        first = self._count("peak_buffers")
        self._children(node)
        end, count = self._end(node, "step") + len(b" (peak):"), self._count("peak_buffers") - first
        self._add("peaks", node.start_byte, end, first, count, self._cell(node, "step"))

    def on_stack_traces(self, node: Node) -> None:
        end = self._end(node, "size") + len(b" bytes")
        self._add("stack_trace_headers", node.start_byte, end, self._cell(node, "size"))
        self._children(node)

    def on_stack_trace(self, node: Node) -> None:
        branch, depth = node.child_by_field_name("branch"), 0
        if not node.child_by_field_name("name"):
            self._children(node)
            return
        if branch:
            stems = len(self._text(branch).decode()) + 1
            depth = 1 + (branch.start_point.column - _BRANCH_INDENT + stems - _BRANCH_WIDTH) // _BRANCH_WIDTH
        cells = (self._cell(node, cell) for cell in ("<name", "name>", "total", "current", "remaining"))
        self._add("stack_traces", node.start_byte, node.end_byte, depth, *cells)

    def on_report_allocation(self, node: Node) -> None:
        header = node.child_by_field_name("header")
        assert header
        self._state["report_allocation"] = self._cell(header, "index")
        cells = self._state["report_allocation"], self._cell(node, "<cumulative")
        self._add("report_allocations", header.start_byte, header.end_byte, *cells)
        self._children(node)

    def on_sized_allocation(self, node: Node) -> None:
        self.on_report_allocation(node)

    def on_allocation_header(self, node: Node) -> None:
        """Its parts are read with what it belongs to."""

    def on_memory_space(self, node: Node) -> None:
        end = self._end(node, "color") + len(b")")
        self._state |= {"space": self._cell(node, "color"), "space_start": node.start_byte, "space_end": end}
        self._state |= {"report_tables": 0, "report_allocation": NONE}
        self._children(node)

    def on_table(self, node: Node) -> None:
        first, state = self._count("report_rows"), self._state
        state["rest"] = NONE
        self._children(node)
        place = (state[name] for name in ("report_allocation", "space", "report_tables"))
        rows = (first, self._count("report_rows") - first, state["rest"])
        self._add("report_tables", node.start_byte, node.end_byte, *place, *rows)
        state["report_tables"] += 1

    def on_rest(self, node: Node) -> None:
        self._state["rest"] = self._cell(node, "count")

    # ------------------------------------------------------------ cells

    def _children(self, node: Node) -> None:
        if node.type not in _ROWS:
            for child in node.named_children:
                self.visit(child)

    def _with_rows(self, node: Node, name: str, header: Node, cells: Callable[[], list[int]], *tables: str) -> None:
        """Visit the children of a node, then add its row: the first row and their count in each of `tables`, then
        `cells`.
        """
        first = [self._count(table) for table in tables]
        self._state[name] = self._count(f"{name}s")
        self._children(node)
        self._state[name] = NONE
        rows = (cell for one, table in zip(first, tables, strict=True) for cell in (one, self._count(table) - one))
        self._add(f"{name}s", header.start_byte, header.end_byte, *rows, *cells())

    def _add(self, table: str, *cells: int) -> None:
        self._cells[table].extend(cells)

    def _count(self, table: str) -> int:
        return len(self._cells[table]) // self._widths[table]

    def _text(self, node: Node) -> bytes:
        return self._data[node.start_byte : node.end_byte]

    def _cell(self, node: Node, cell: str) -> int:
        if cell.startswith("@"):
            return self._state[cell[1:]]
        found: Node | None = node
        for field in cell.strip("<>").split("."):
            found = found.child_by_field_name(field) if found else None
        if found is None:
            return NONE
        if cell.startswith("<"):
            return found.start_byte
        if cell.endswith(">"):
            return found.end_byte
        text = self._text(found)
        if found.type == "name":
            return self._names.setdefault(text, len(self._names))
        return (
            self._indices.setdefault(text, len(self._indices))
            if found.type == "index"
            else int(text.replace(b" ", b""))
        )

    def _end(self, node: Node, field: str) -> int:
        return self._cell(node, f"{field}>")
