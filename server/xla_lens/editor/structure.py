"""The structure of dump files and HLO modules: outline, folding ranges and selection ranges.

A long outline keeps the largest entries, in the order of the text, and a truncated entry says so. In a module, the size
of an instruction is that of the values that it defines, and the entry computation comes first.

In a dump, a line folds with the deeper lines below it, where depth is indentation; sections fold, too. In a
module, computations, instructions that span lines, and the tables of stack frames fold.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from xla_lens.model.hlo.mentions import defined_bytes
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.places.places import used_value_block
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.kinds import kind_of, kind_text
from xla_lens.model.tables.lookup import biggest, distinct
from xla_lens.syntax.columns import NONE, Column, FileTable, Pairs, cells, pairs, place_in
from xla_lens.syntax.enclosing import Parse, enclosing, nested
from xla_lens.syntax.tables import DumpSection
from xla_lens.syntax.tree import parse_hlo, parse_lines
from xla_lens.text.document import Span
from xla_lens.text.positions import decode
from xla_lens.words.numbers import counted, human


class Symbol(NamedTuple):
    """An entry of an outline. `detail` is what stands beside the name: ``1.53 MiB · parameter · 2 values``. `kind` is
    the name of a `SymbolKind` of the protocol. `span` are the first byte and the end of the text, `name_span` those of
    the part to select.
    """

    name: str
    detail: str
    kind: str
    span: Span
    name_span: Span
    children: "tuple[Symbol, ...]" = ()
    is_truncated: bool = False


def _symbol(
    kind: str,
    name: str,
    spans: tuple[Span, Span],
    *facts: str,
    children: Sequence[Symbol] = (),
    of: tuple[int, str] = (0, ""),
) -> Symbol:
    """An entry with its spans as in `Symbol`. `of` is how many children there are, and what one of them is called."""
    count, noun = of
    is_truncated = 0 < len(children) < count
    number = (f"the {len(children):,} largest of " if is_truncated else "") + counted(count, noun) if count else ""
    return Symbol(name, " · ".join(filter(None, (*facts, number))), kind, *spans, tuple(children), is_truncated)


def _size(size_bytes: int) -> str:
    return human(size_bytes) if size_bytes != NONE else ""


# ---------------------------------------------------------------- dump files


def document_symbols(dump: DumpSet, module: HloModule | None, file: DumpFile, limit: int) -> list[Symbol]:
    """Return the outline of a file of a set, with at most `limit` entries in each section."""
    if module and file is module.file:
        return _of_module(dump, module, limit)
    sections = file.columns.sections
    roots: list[tuple[int, list[int]]] = []
    for row in range(len(sections)):
        if roots and sections.start[row] < sections.end[roots[-1][0]]:
            roots[-1][1].append(row)
        else:
            roots.append((row, []))
    return [
        _section(dump, file, row, limit, [_section(dump, file, part, limit, []) for part in parts])
        for row, parts in roots
    ]


def _section(dump: DumpSet, file: DumpFile, row: int, limit: int, parts: list[Symbol]) -> Symbol:
    sections = file.columns.sections
    start, end = sections.span(row)
    header_end = min(file.document.line_at(start)[1], end)
    size, count, noun, children = NONE, len(parts), "part", parts
    match DumpSection(sections.section.item(row)):
        case DumpSection.BUFFER_ASSIGNMENT if file is dump.assignment:
            size, count, noun = sum(dump.allocations.size_bytes.tolist()), len(dump.allocations), "allocation"
            children = list(_allocations(dump, limit))
        case DumpSection.USED_VALUES if file is dump.used:
            count, noun, children = len(dump.used_values), "value", list(_used_values(dump, file, limit))
        case DumpSection.PEAK if file is dump.live:
            rows = np.flatnonzero((start <= dump.peak_buffers.start) & (dump.peak_buffers.end <= end))
            size, count, noun = sum(dump.peak_buffers.size_bytes[rows].tolist()), len(rows), "value"
        case DumpSection.INSTRUCTION_SEQUENCE:
            count, noun = len(file.columns.schedule), "instruction"
        case DumpSection.BUFFER_LIVE_RANGES:
            count, noun = len(file.columns.live_ranges), "live range"
    name = decode(file.document.data[start:header_end]).strip().rstrip(":")
    spans, of = ((start, end), (start, header_end)), (count, noun)
    return _symbol("Namespace", name, spans, _size(size), children=children, of=of)


def _allocations(dump: DumpSet, limit: int) -> Iterator[Symbol]:
    """The largest allocations, and the largest of their values."""
    table, slices = dump.allocations, dump.slices
    shown = biggest(table.size_bytes, limit)
    inside = np.flatnonzero(np.isin(slices.allocation, shown))
    values = inside[biggest(slices.size_bytes[inside], limit)]
    for row in shown[table.index[shown] != NONE].tolist():
        count, header = table.slice_count.item(row), table.span(row)
        rows = values[slices.allocation[values] == row].tolist()
        children = [_value(dump, slices, value, dump.value_of_slice.item(value)) for value in rows]
        end = slices.end.item(table.first_slice[row] + count - 1) if count else header[1]
        size, kind = human(table.size_bytes.item(row)), kind_text(kind_of(dump, row))
        name, spans, of = f"allocation {table.index[row]}", ((header[0], end), header), (count, "value")
        yield _symbol("Array", name, spans, size, kind, children=children, of=of)


def _used_values(dump: DumpSet, file: DumpFile, limit: int) -> Iterator[Symbol]:
    values = dump.value_of_used_value
    readable = np.flatnonzero(values != NONE)
    for row in readable[biggest(dump.values.size_bytes[values[readable]], limit)].tolist():
        yield _value(dump, dump.used_values, row, values.item(row), used_value_block(dump, file, row).end)


def _value(dump: DumpSet, table: FileTable, row: int, value: int, end: int | None = None) -> Symbol:
    header, size = table.span(row), _size(dump.values.size_bytes.item(value))
    return _symbol("Variable", dump.value_label(value), ((header[0], end or header[1]), header), size)


# ---------------------------------------------------------------- HLO modules


def _of_module(dump: DumpSet, module: HloModule, limit: int) -> list[Symbol]:
    """The outline of a module: at most `limit` computations, `limit` instructions of the entry, and `limit`
    instructions of all others together. Empty without computations.
    """
    table, sizes = module.columns.computations, _defined_bytes(dump, module)
    if not len(table):
        return []
    sums = np.concatenate((np.zeros(1, np.int64), np.maximum(sizes, 0).cumsum()))
    bytes_inside = sums[table.first_instruction + table.instruction_count] - sums[table.first_instruction]
    order = np.lexsort((-table.instruction_count, -bytes_inside, 1 - table.is_entry))[:limit].tolist()
    found: dict[int, Symbol] = {}
    left = limit
    for row in order:
        found[row] = _computation(module, row, sizes, limit if table.is_entry[row] else left)
        left -= 0 if table.is_entry[row] else len(found[row].children)
    children = [found[row] for row in sorted(found, key=lambda row: (not table.is_entry[row], row))]
    header = module.header()
    name, spans = decode(module.data[slice(*header)]) or "HloModule", ((0, len(module.data)), header)
    return [_symbol("Namespace", name, spans, children=children, of=(len(table), "computation"))]


def _defined_bytes(dump: DumpSet, module: HloModule) -> Column:
    """For each instruction the bytes of the values that it defines, NONE if unknown."""
    found = np.full(len(module.columns.instructions), NONE)
    sizes = defined_bytes(dump)
    made = np.flatnonzero(sizes != NONE)
    row = module.instruction_rows.rows_of([dump.names[name] for name in made.tolist()])
    found[row[row != NONE]] = sizes[made[row != NONE]]
    return found


def _computation(module: HloModule, row: int, sizes: Column, limit: int) -> Symbol:
    """A computation with those of its instructions that have the biggest values, in the order of the text."""
    rows, name = module.instructions_of(row), module.computation_place(row)
    biggest_rows = np.sort(np.argsort(-sizes[rows.start : rows.stop], kind="stable")[:limit]) + rows.start
    children = [_instruction(module, row, sizes.item(row)) for row in biggest_rows.tolist()]
    entry = "entry" if module.columns.computations.is_entry[row] else ""
    label, spans = decode(module.computation_name(row)), (module.computation_span(row), (name.start, name.end))
    of = len(rows), "instruction"
    return _symbol("Function", label, spans, entry, children=children, of=of)


def _instruction(module: HloModule, row: int, size_bytes: int) -> Symbol:
    instruction, name = module.instruction(row), module.place(row)
    opcode, spans = decode(instruction.opcode) if instruction else "", (module.span(row), (name.start, name.end))
    return _symbol("Variable", decode(module.name(row)), spans, opcode, _size(size_bytes))


# ---------------------------------------------------------------- folding and selection ranges


def folds(file: DumpFile, module: HloModule | None, limit: int) -> list[tuple[int, int]]:
    """Return the spans of a file to fold, each of at least two lines, in the order of the text. Keeps the `limit` spans
    with the most lines. Spans that share lines are nested.
    """
    start, end, first, last = _blocks(file, module)
    rows = np.flatnonzero(last > first)
    rows = rows[np.lexsort((-last[rows], first[rows]))]
    # Of several that start on one line, the longest.
    rows = rows[np.append(True, np.diff(first[rows]) > 0)[: len(rows)]]
    rows = rows[biggest((last - first)[rows], limit)]
    found, around = list[tuple[int, int]](), [(-1, len(first) + int(last.max(initial=0)))]
    for row, top, bottom in cells(rows, first[rows], last[rows]):
        while around[-1][1] < top:
            around.pop()
        if bottom <= around[-1][1]:
            around.append((top, bottom))
            found.append((start.item(row), end.item(row)))
    return found


def selection(file: DumpFile, module: HloModule | None, offset: int, limit: int) -> list[Span]:
    """Return at most `limit` spans around a byte of a file, smallest first: word, list or attribute, instruction or
    line, then what folds. Each is within the next, the last is the file. A place right behind a word belongs to the
    word.
    """
    data, (start, end, parse) = file.document.data, _row(file, module, offset)
    inside = enclosing(data[start:end], min(offset, end) - start, parse)
    around = [(start + first, start + last) for first, last in inside]
    block_start, block_end, _, _ = _blocks(file, module)
    rows = np.flatnonzero((block_start <= offset) & (offset <= block_end))
    blocks = pairs(block_start[rows], block_end[rows])
    return nested((*around, *blocks), offset, len(data), limit)


def _row(file: DumpFile, module: HloModule | None, offset: int) -> tuple[int, int, Parse]:
    """The instruction around a byte, else its line, and what parses it."""
    line_start, line_end = file.document.line_at(offset)
    if module and file is module.file:
        instruction = module.instruction_at(offset)
        return (*(module.span(instruction) if instruction != NONE else (line_start, line_end)), parse_hlo)
    used = file.columns.used_values
    row = place_in(used.start, offset, "right") - 1
    if row >= 0 and NONE < used.instruction_start[row] <= offset <= used.instruction_end[row]:
        return (*used.span(row, "instruction_start", "instruction_end"), parse_hlo)
    return max(line_start, used.start.item(row) if row >= 0 else 0), line_end, parse_lines


_BLOCKS: Final = WeakKeyDictionary[DumpFile, tuple[Column, ...]]()
"""What `_blocks` found in the files in memory: in 48 MB, it takes 0.3 s."""


def _blocks(file: DumpFile, module: HloModule | None) -> tuple[Column, ...]:
    """The starts and ends of consecutive lines that belong together, as bytes and as lines, unsorted."""
    if file not in _BLOCKS:
        if module and file is module.file:
            tables = module.columns.computations, module.columns.instructions, module.columns.stack_tables
            spans = [(table.start, table.end) for table in tables]
        else:
            spans = [(file.columns.sections.start, file.columns.sections.end), _indented(file)]
        blocks = [np.concatenate(places) for places in zip(*spans, strict=True)]
        rows = [file.document.line_starts.searchsorted(places, "right") - 1 for places in blocks]
        _BLOCKS[file] = (*blocks, *rows)
    return _BLOCKS[file]


def _indented(file: DumpFile) -> Pairs:
    """The lines of a dump that are neither empty nor rules, each with the deeper lines below it."""
    document = file.document
    starts, data = document.line_starts, np.frombuffer(document.data + b"\n", np.uint8)
    depth, lines = np.zeros(len(starts), np.int64), np.arange(len(starts))
    # A line of spaces may be as long as the file.
    for _ in range(_DEEPEST):
        lines = lines[np.isin(data[starts[lines] + depth[lines]], [*b" \t"])]
        depth[lines] += 1
    first = starts + depth
    rows = np.flatnonzero(~np.isin(data[first], [*b"\r\n-"]))
    for line, line_depth in _exceptions(file):
        depth[line] = line_depth
    depth, last = depth[rows], rows.copy()
    for level in distinct(depth).tolist():
        own = np.flatnonzero(depth == level)
        others = np.append(np.flatnonzero(depth <= level), len(rows))
        last[own] = rows[others[others.searchsorted(own, "right")] - 1]
    ends = np.append(starts[1:] - 1, len(document.data))
    return first[rows], (ends - (data[np.maximum(ends - 1, 0)] == ord("\r")))[last]


_DEEPEST: Final = 100
"""More than the indentation of any line that XLA prints."""


def _exceptions(file: DumpFile) -> Iterator[tuple[Column, Column | int]]:
    """Lines whose depth is not their indentation, and their depth."""
    columns, starts = file.columns, file.document.line_starts
    used, traces = columns.used_values, columns.stack_traces
    # The lines of one row belong together, and before a frame of the stack trace there are lines of a tree.
    for table, first, last in (
        (used, used.instruction_start, used.instruction_end),
        (traces, traces.start, traces.end),
    ):
        row = table.start.searchsorted(starts, "right") - 1
        yield np.flatnonzero((np.append(first, NONE)[row] < starts) & (starts <= np.append(last, NONE)[row])), _DEEPEST
    yield starts.searchsorted(traces.start, "right") - 1, 4 + traces.depth
    # In 2024, the header of a value followed the instruction of the previous one on its line.
    yield starts.searchsorted(used.start, "right") - 1, 0
