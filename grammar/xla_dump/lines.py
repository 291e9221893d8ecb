"""The forms of the lines of a dump: what each looks like, which columns it fills, what it mentions, and its colors.

`python generate.py` writes from this table what C, Python and editors need of it: the patterns of the scanner, the
layout of the columns and the cells of the rows in C, the fields of the columns and the roles of mentions in Python,
the types of semantic tokens, and the highlighting of tree-sitter and of TextMate. The rules of the tree, grammar.js,
are not generated: the tests hold the columns equal to the tree.

A form is the text of a line, without its indentation, with these in it:

- `{size_bytes:integer}` is a part that varies: the column that it fills, and what it looks like, a key of `PARTS`. A
  part without a name, such as `{:shape}`, fills no column. A color after a slash replaces that of `PARTS`:
  `{step:digits/label}`.
- `{value_start}` fills a column with the place in the file at which it stands.
- `[ @{color:digits}]` may be missing.
- `{{` and `}}` are braces.
"""

from typing import Final, Literal, NamedTuple, TypeAlias


class Part(NamedTuple):
    """What a part of a line looks like: the macro of its pattern in scanner.c, its regular expression for editors, and
    its color, empty for text that is no word. `column` is what a column stores of it. Only parts that are a function in
    scanner.c can be columns and have a number there.
    """

    pattern: str
    expression: str
    color: str = ""
    column: Literal["number", "name", "index", ""] = ""


_NAME: Final = r"[^\s{}(),:<>@\"|;=%]+"
_NUMBER: Final = r"-?(?:\d+(?:\.\d+)?|nan|inf)"

PARTS: Final = {
    "digits": Part("DIGITS", r"\d+", "number", "number"),
    "integer": Part("INTEGER", r"-?\d+", "number", "number"),
    "grouped": Part("GROUPED", r"-?\d+(?: \d{3})*", "number", "number"),
    "number": Part("NUMBER", _NUMBER, "number"),
    "size": Part("SIZE", r"-?\d+(?:\.\d+)?(?:[KMGTPE]i)?B", "number"),
    "address": Part("ADDRESS", r"0x[0-9a-fA-F]+", "number"),
    "name": Part("NAME", _NAME, "name", "name"),
    "index": Part("INDEX", r"\{[0-9,]*\}", "number", "index"),
    "shape": Part("SHAPE", r"\S.*", "shape"),
    "quoted": Part("QUOTED", r"[^|]+", "shape"),
    "space_name": Part("SPACE_NAME", r"[^()]+", "space"),
    "file_name": Part("FILE_NAME", r"[^\s*]+", "file"),
    "dump_name": Part("DUMP_NAME", r"[^\s*]+", "file"),
    "key": Part("KEY", r"[a-z_]+", "key"),
    "attributes": Part("ATTRIBUTES", r"(?:, .*)?"),
    "tail": Part("TAIL", r".*", "comment"),
    "blanks": Part("BLANKS", r" *"),
    "dashes": Part("DASHES", r"-*", "comment"),
    "phi": Part('"(phi)"', r"\(phi\)", "kind"),
}

# ---------------------------------------------------------------- colors


class Color(NamedTuple):
    """How editors color some words of the format and some nodes of the tree. `token` is the type of a semantic token,
    empty for none. `capture` is that of tree-sitter's highlights, and `scope` that of TextMate. `words` are literals of
    grammar.js. `nodes` are types of nodes, or patterns of a query.
    """

    token: str
    capture: str
    scope: str
    words: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()


COLORS: Final = {
    "heading": Color(
        "namespace",
        "markup.heading",
        "markup.heading.section",
        words=(
            "BufferAssignment:",
            "Used values:",
            "HloLiveRange",
            "InstructionSequence:",
            "BufferLiveRange:",
            "Live ranges at",
            "Stack trace breakdown for peak usage:",
            "Total bytes used:",
            "Total bytes:",
            "Memory Space:",
            "Allocations sorted by size:",
            "Allocations sorted by size with their values:",
            "*** Begin",
            "*** End",
            "***",
        ),
    ),
    "keyword": Color(
        "keyword",
        "keyword",
        "keyword.other",
        words=(
            "allocation",
            "value:",
            "positions:",
            "uses:",
            "from instruction:",
            "reused by buffers of a different color:",
            "The rest",
        ),
    ),
    "peak": Color("namespace", "keyword", "keyword.other", words=("(peak):",)),
    "maximum": Color("property", "keyword", "keyword.other", words=("(max",)),
    "property": Color(
        "property",
        "property",
        "support.type.property-name",
        words=(
            *("size", "color", "page", "parameter", "shape", "at ShapeIndex", "output shape is"),
            *("(size=", ",offset=", "(color=", ", operand"),
            *("(cumulative:", "total:", "current:", "remaining:", "bytes"),
        ),
    ),
    "none": Color("keyword", "constant.builtin", "constant.language", words=("(none)",)),
    "kind": Color("enumMember", "attribute", "storage.modifier", nodes=("kind", "phi")),
    "unknown": Color("", "comment.error", "", nodes=("unknown_attribute", "unknown_line")),
    "comment": Color("comment", "comment", "comment.line", nodes=("unavailable", "columns", "rule")),
    "number": Color(
        "number",
        "number",
        "constant.numeric",
        nodes=("integer", "grouped_integer", "human_size", "percent", "address", "index"),
    ),
    "label": Color("number", "label", "entity.name.label", nodes=("value_id", "step")),
    "allocation": Color("class", "label", "entity.name.label", nodes=("allocation_index",)),
    # A name of a value that the dump knows gets the semantic token `variable` instead.
    "name": Color("function", "variable", "variable.other", nodes=("name",)),
    "user": Color("", "function.call", "entity.name.function", nodes=("(use name: (name))",)),
    "scheduled": Color("", "function", "entity.name.function", nodes=("(scheduled_instruction name: (name))",)),
    "frame": Color("string", "string", "string.unquoted.frame", nodes=("frame_name",)),
    "space": Color("string", "module", "entity.name.namespace", nodes=("space_name",)),
    "file": Color("string", "string.special.path", "string.unquoted.filename", nodes=("filename",)),
    "shape": Color("type", "type", "storage.type.shape", nodes=("shape", "shapes")),
    "branch": Color("", "punctuation.special", "punctuation.definition.tree", nodes=("branch",)),
    "key": Color(
        "", "property", "support.type.property-name", nodes=("(message name: (name))", "(field name: (name))")
    ),
    "scalar": Color("", "string", "constant.numeric", nodes=("(field value: (scalar))",)),
    "punctuation": Color(
        "",
        "punctuation.delimiter",
        "punctuation",
        words=("<", ">", "@", "|", ":", ";", ",", "-", "(", ")", "):", "{", "}", "%", "%)"),
    ),
}
"""Of two colors of a node, the later one counts."""

# ---------------------------------------------------------------- tables

Holder: TypeAlias = Literal["assignment", "used", "live", ""]
"""The file of a dump set that has the rows of a table, empty for any: an attribute of `DumpSet`."""

STORED: Final = ("number", "name", "index", "row", "place", "flags", "depth", "section")
"""What columns store. A `number` that the dump prints has 64 bits until it is narrowed, everything else as many as
offsets need: the numbers of names and of shape indices, rows of other tables and how many there are, and places in the
file.
"""


class Table(NamedTuple):
    """A table of columns. Every table begins with `start` and `end`. `columns` are the others: the name of each, and
    what it stores, one of `STORED`, unless it is a part of a form. `allocation: row = allocation` stores what the
    reader in rows.c remembers under that name. `role` is the role of the mention that a row is, and `holder` the file
    that a mention has to be in.

    `is_by_hand` is whether rows.c adds the rows by hand, because a row has other sources than one line. These are
    headers that count the rows below, lines with an open syntax, and rows that are no lines.
    """

    name: str
    doc: str
    columns: str = ""
    role: str = ""
    holder: Holder = ""
    is_by_hand: bool = False


TABLES: Final = (
    Table(
        "allocations",
        "The allocations. The values of each are `slice_count` rows of `Slices` from `first_slice` on. `start` and "
        "`end` span the header; a header that could not be read has no `index`.",
        "first_slice: row, slice_count: row, index, size_bytes, color: number, kind: flags, parameter: number, "
        "parameter_index: index, parameter_shape_start: place, parameter_shape_end: place, output_shape_start: place, "
        "output_shape_end: place",
        "ALLOCATION_HEADER",
        "assignment",
        is_by_hand=True,
    ),
    Table(
        "slices",
        "The values in the allocations. `allocation` is a row of `Allocations`. The row ends with the shape.",
        "allocation: row = allocation, id, name, index, color, value_start, value_end, size_bytes, offset, shape_start",
        "SLICE",
        "assignment",
    ),
    Table(
        "used_values",
        "The used values, with the spans of the instructions that they quote. The positions of each are "
        "`position_count` rows of `Positions` from `first_position` on, its uses likewise rows of `Uses`. `start` and "
        "`end` span the header; a header that could not be read has no `id`.",
        "first_position: row, position_count: row, first_use: row, use_count: row, id, name, index, color, "
        "instruction_start: place, instruction_end: place",
        "USED_VALUE",
        "used",
        is_by_hand=True,
    ),
    Table(
        "positions",
        "The positions of used values (HloPosition): an instruction and an index into its shape. `value` is a row of "
        "`UsedValues`.",
        "value: row = used_value, name, index",
        "POSITION",
        "used",
    ),
    Table(
        "uses",
        "The uses of used values (HloUse): operand number `operand` of the instruction `name` reads it, at `index` in "
        "that operand. `value` is a row of `UsedValues`.",
        "value: row = used_value, name, operand, index",
        "USER",
        "used",
    ),
    Table(
        "schedule",
        "The schedule (`InstructionSequence`). The name spans from `name_start` to the end of the row.",
        "step, name, name_start",
        "SCHEDULE",
        "live",
    ),
    Table(
        "live_ranges",
        "The live ranges of the values, both ends included. The value's name and index end at `value_end`.",
        "name, index, value_end, start_step, end_step",
        "LIVE_RANGE",
        "live",
    ),
    Table(
        "peaks",
        "The printed peaks. The values live there are `buffer_count` rows of `PeakBuffers` from `first_buffer` on.",
        "first_buffer: row, buffer_count: row, step",
        "PEAK",
        "live",
        is_by_hand=True,
    ),
    Table(
        "peak_buffers",
        "The values printed as live at the peak. The value's name and index end at `value_end`.",
        "name, index, value_end, size_bytes, cumulative_bytes",
        "PEAK",
        "live",
    ),
    Table(
        "stack_trace_headers",
        "The header of the stack trace breakdown of the peak.",
        "size_bytes",
    ),
    Table(
        "stack_traces",
        "The tree of the stack trace breakdown. `depth` is 0 for a computation. The name may be any text.",
        "depth: depth, name_start: place, name_end: place, total_bytes: number, current_bytes: number, "
        "remaining_bytes: number",
        "STACK_TRACE",
        "live",
        is_by_hand=True,
    ),
    Table(
        "totals",
        "`Total bytes used`. The human-readable size spans `human_start` to `human_end`; releases before 2022 lack it.",
        "size_bytes, human_start, human_end",
    ),
    Table(
        "other_color_values",
        "The values listed as `reused by buffers of a different color`.",
        "id",
    ),
    Table(
        "live_range_headers",
        "`HloLiveRange (max N):`. `maximum` is the last step, NONE if XLA printed that live ranges are not available.",
        "maximum",
    ),
    Table(
        "report_allocations",
        "The allocations in a memory usage report. `cumulative_start` is where the cumulative size of a row of the "
        "list by size begins, NONE in the other list.",
        "index, cumulative_start: place",
        "REPORT",
        is_by_hand=True,
    ),
    Table(
        "report_spaces",
        "The totals of memory spaces in a memory usage report, with the spans of the headers above them.",
        "header_start: place = space_start, header_end: place = space_end, color: number = space, size_bytes, "
        "human_start, human_end",
    ),
    Table(
        "report_rows",
        "The rows of the tables in a memory usage report. Each covers the `values` values at one `offset`. The table "
        "is that of the allocation `index` or, where that is NONE, table number `table` of the memory space `color`. "
        "The row ends with the shapes.",
        "offset, index: number = report_allocation, color: number = space, table: row = report_tables, values, "
        "shapes_start",
        "REPORT",
    ),
    Table(
        "report_tables",
        "The tables in a memory usage report: `row_count` rows of `ReportRows` from `first_row` on. `rest` is the "
        "printed number of further offsets that the table omits. `index`, `color` and `table` are those of "
        "`ReportRows`.",
        "index: number, color: number, table: row, first_row: row, row_count: row, rest: number",
        is_by_hand=True,
    ),
    Table(
        "sections",
        "The sections of the file, from their headers to their last rows. `section` is a `DumpSection`.",
        "section: section",
        is_by_hand=True,
    ),
    Table(
        "unknown_lines",
        "The lines and attributes that the grammar does not know.",
        is_by_hand=True,
    ),
    Table(
        "other_modules",
        "In standard output with several modules, where files of other modules start. The tables leave those out.",
        "name_start: place, name_end: place",
        is_by_hand=True,
    ),
)

PARTS_OF_ROWS: Final = ("OPERAND", "INSTRUCTION_TEXT")
"""The roles of mentions in a part of a row: the operand number of a use, and the instruction that a value quotes."""

# ---------------------------------------------------------------- lines

SECTIONS: Final = (
    *("buffer_assignment", "used_values", "live_ranges", "instruction_sequence", "buffer_live_ranges", "peak"),
    *("stack_traces", "report"),
)
"""The sections of a dump that the columns name."""

GROUPS: Final = (
    *("assignment", "total", "used_values", "live_ranges", "schedule", "ranges", "peak", "stack_traces", "report"),
    "message",
)
"""The groups of lines that belong together, in the order in which XLA prints them. A known line of another group that
stands between lines of a group does not end it.
"""


class Line(NamedTuple):
    """A kind of line: the name of its token in grammar.js without `_` and `_line`, its indentation, and its form. A
    line without a form is read by hand in scanner.c.

    `group` is one of `GROUPS`, empty for lines that belong to none. `table` is the table to which the line adds a row,
    empty for lines without one. `section` is the section that a header opens. `is_alone` is whether a line without a
    section may be all of its group. `color` is that of words that are no literals of grammar.js.
    """

    kind: str
    group: str
    indent: int
    form: str
    table: str = ""
    section: str = ""
    is_alone: bool = False
    color: str = ""


ANY_INDENT: Final = 0xFF

VALUE: Final = "<{id:digits/label} {name:name}[{index:index}][ {:phi}][ @{color:digits}]>"
"""HloValue::ToShortString."""

_ALLOCATION: Final = "allocation {index:digits/allocation}: [{:address}, ]size "
_TOTAL: Final = "{size_bytes:integer}[ ({human_start}{:size}{human_end})]"

LINES: Final = (
    Line("buffer_assignment", "assignment", 0, "BufferAssignment:", section="buffer_assignment"),
    Line("allocation", "assignment", 0, _ALLOCATION + "{size_bytes:integer}{attributes:attributes}:", "allocations"),
    Line("report_allocation", "report", 0, _ALLOCATION + "{:size}{attributes:attributes}:", "report_allocations"),
    Line("total", "total", 0, "Total bytes used: " + _TOTAL, "totals", is_alone=True),
    Line("used_values", "used_values", 0, "Used values:", section="used_values"),
    Line("used_value", "used_values", 0, VALUE, "used_values"),
    Line("live_ranges", "live_ranges", 0, "HloLiveRange (max {maximum:integer}):", "live_range_headers", "live_ranges"),
    Line(
        "no_live_ranges",
        "live_ranges",
        0,
        "HloLiveRange not available{:tail}",
        "live_range_headers",
        "live_ranges",
        color="comment",
    ),
    Line("by_size", "report", 0, "Allocations sorted by size:", section="report"),
    Line("with_values", "report", 0, "Allocations sorted by size with their values:", section="report"),
    Line("memory_space", "report", 0, "Memory Space: {:space_name}(color={color:integer})", section="report"),
    Line("memory_space_total", "report", 0, "Total bytes: " + _TOTAL, "report_spaces"),
    Line("begin_file", "", 0, "*** Begin {name:dump_name} ***"),
    Line("begin_other_file", "", 0, "*** Begin {:file_name} ***"),
    Line("end_file", "", 0, "*** End {:file_name} ***"),
    Line(
        "slice",
        "assignment",
        1,
        "value: {value_start}" + VALUE + "{value_end} (size={size_bytes:integer},offset={offset:integer}): "
        "{shape_start}{:shape}",
        "slices",
    ),
    Line("other_colors", "assignment", 1, "reused by buffers of a different color:"),
    Line("positions", "used_values", 1, "positions:"),
    Line("uses", "used_values", 1, "uses:"),
    Line("other_color_value", "assignment", 2, "value: " + VALUE + " (color={:digits})", "other_color_values"),
    Line("no_uses", "used_values", 2, "(none)"),
    Line("instruction_sequence", "schedule", 2, "InstructionSequence:", section="instruction_sequence"),
    Line("buffer_live_ranges", "ranges", 2, "BufferLiveRange:", section="buffer_live_ranges"),
    Line("peak", "peak", 2, "Live ranges at {step:integer/label} (peak):", "peaks", "peak"),
    Line("no_peak", "peak", 2, "Peak memory could not be determined{:tail}", is_alone=True, color="comment"),
    Line(
        "stack_traces",
        "stack_traces",
        2,
        "Stack trace breakdown for peak usage: {size_bytes:grouped} bytes",
        "stack_trace_headers",
        "stack_traces",
    ),
    # Before the positions, because a name may consist of dashes.
    Line("rule", "report", ANY_INDENT, "----------{:dashes}", color="comment"),
    Line("use", "used_values", 2, "{name:name/user}, operand {operand:digits}[ {index:index}]", "uses"),
    Line("position", "used_values", 2, "{name:name}[ {index:index}]", "positions"),
    Line("scheduled_instruction", "schedule", 4, "{step:digits/label}:{name_start}{name:name/scheduled}", "schedule"),
    Line(
        "live_range",
        "ranges",
        4,
        "{name:name}{index:index}{value_end}:{start_step:integer/label}-{end_step:integer/label}",
        "live_ranges",
    ),
    Line(
        "peak_buffer",
        "peak",
        4,
        "{name:name}[{index:index}]{value_end}: {size_bytes:integer} bytes"
        "[ (cumulative: {cumulative_bytes:integer} bytes)]",
        "peak_buffers",
    ),
    # The memory usage report, whose indentation varies.
    Line(
        "table_row",
        "report",
        ANY_INDENT,
        "{:size}({:blanks}{:number}%);{:blanks}{:size};{:blanks}{offset:integer};{:blanks}{values:integer}; "
        "{shapes_start}{:shape}",
        "report_rows",
    ),
    Line(
        "by_size_row",
        "report",
        ANY_INDENT,
        "{cumulative:size}({:blanks}{:number}%);{:blanks}{:size}; " + _ALLOCATION + "{:size}{attributes:attributes}:",
        "report_allocations",
    ),
    # Blanks at their ends belong to these lines.
    Line(
        "by_size_columns",
        "report",
        ANY_INDENT,
        "cumulative_size; total_size - cumulative_size; allocation{:blanks}",
        color="comment",
    ),
    Line(
        "table_columns",
        "report",
        ANY_INDENT,
        "cumulative_size;{:blanks}size;{:blanks}offset; used_by_n_values; shapes_list{:blanks}",
        color="comment",
    ),
    Line("rest", "report", ANY_INDENT, "The rest {count:digits} allocations are less than {:tail}"),
    Line("rest", "report", ANY_INDENT, "The rest {count:digits} values are less than {:tail}"),
    Line("message", "message", ANY_INDENT, "{:key} {{"),
    Line("field", "message", ANY_INDENT, "{:key}: {:tail/scalar}"),
    Line("message_end", "message", ANY_INDENT, "}}"),
    Line("from_instruction", "used_values", 1, ""),
    Line("stack_trace_root", "stack_traces", 4, ""),
    Line("stack_trace", "stack_traces", ANY_INDENT, ""),
    Line("broken_allocation", "assignment", 0, ""),
    Line("broken_used_value", "used_values", 0, ""),
)
"""The first form that matches a whole line determines its kind."""

ATTRIBUTES: Final = (
    *("constant", "thread-local", "maybe-live-out", "preallocated-temp"),
    "parameter {number:digits}[, shape |{shape:quoted}|] at ShapeIndex {index:index}",
    "output shape is |{shape:quoted}|",
    *("color {number:digits}", "page {:digits}"),
)
"""The attributes of an allocation. The first six are the flags of `Kind` in server/xla_lens/syntax/columns.py."""
