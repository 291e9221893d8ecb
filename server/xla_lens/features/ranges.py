"""Folding and selection ranges of dump files and HLO modules.

In a dump, a line folds with the deeper lines below it, where depth is indentation; sections fold, too. In a
module, computations, instructions that span lines, and the tables of stack frames fold.
"""

from collections.abc import Iterator
from typing import Final
from weakref import WeakKeyDictionary

import numpy as np

from xla_lens.model.hlo.module import HloModule
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.tables.lookup import biggest
from xla_lens.syntax.columns import NONE, Column, Pairs, cells, pairs, place_in
from xla_lens.syntax.enclosing import Parse, enclosing, nested
from xla_lens.syntax.tree import parse_hlo, parse_lines
from xla_lens.text.document import Span


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
    for level in np.unique(depth).tolist():
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
