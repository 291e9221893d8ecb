"""Folding and selection ranges of dump files and HLO modules.

What folds in a dump: its parts, allocations, used values and their lists, stack frames, and tables of reports; in a
module: computations, instructions that span lines, and the tables of stack frames.
"""

from collections.abc import Iterator

import numpy as np

from xla_lens.model.hlo.module import HloModule
from xla_lens.model.places.blocks import blocks
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.tables.lookup import biggest
from xla_lens.syntax.columns import NONE, Column, place_in
from xla_lens.syntax.excerpt import nodes_at
from xla_lens.syntax.hlo.enclosing import enclosing, nested
from xla_lens.text.document import Document

# ---------------------------------------------------------------- folding


def folds(file: DumpFile, limit: int) -> list[tuple[int, int]]:
    """Return the spans of a dump file to fold, each of at least two lines, in the order of the text. Keeps the `limit`
    spans with the most lines. Spans that share lines are nested.
    """
    found, line_starts = blocks(file, 0, len(file.document.data)), file.document.line_starts
    end = found.end
    if len(shared := _shared_lines(file)):
        last_line = line_starts.searchsorted(end, "right") - 1
        is_shared = np.isin(last_line, shared) & found.is_before_header
        end = np.where(is_shared, line_starts[last_line] - 1, end)
    return _folds(file.document, found.start, end, limit)


def module_folds(module: HloModule, limit: int) -> list[tuple[int, int]]:
    """Return the spans of an HLO module to fold, like `folds`."""
    tables = module.columns.computations, module.columns.instructions, module.columns.stack_tables
    start, end = np.concatenate([table.start for table in tables]), np.concatenate([table.end for table in tables])
    return _folds(module.file.document, start, end, limit)


def _folds(document: Document, start: Column, end: Column, limit: int) -> list[tuple[int, int]]:
    first_line, last_line = (document.line_starts.searchsorted(place, "right") - 1 for place in (start, end))
    rows = np.flatnonzero(last_line > first_line)
    rows = rows[biggest((last_line - first_line)[rows], limit)]
    rows = rows[np.lexsort((-end[rows], start[rows]))]
    return list(zip(start[rows].tolist(), end[rows].tolist(), strict=True))


def _shared_lines(file: DumpFile) -> Column:
    """The lines where the header of a value follows the instruction of the previous value, as XLA printed in 2024."""
    document, starts = file.document, file.columns.used_values.start
    before = np.frombuffer(document.data, np.uint8)[np.maximum(starts - 1, 0)]
    lines: Column = document.line_starts.searchsorted(starts[before > ord("\r")], "right") - 1
    return lines


# ---------------------------------------------------------------- selection


def selection(file: DumpFile, offset: int, limit: int) -> list[tuple[int, int]]:
    """Return at most `limit` spans around a byte of a dump file, smallest first: word, row, list, block, section. Each
    is within the next, the last is the file. A place right behind a word belongs to the word.
    """
    return nested(_around(file, offset), offset, len(file.document.data), limit)


def _around(file: DumpFile, offset: int) -> Iterator[tuple[int, int]]:
    data, used = file.document.data, file.columns.used_values
    row = place_in(used.start, offset, "right") - 1
    start, end = (int(column[row]) if row >= 0 else NONE for column in (used.instruction_start, used.instruction_end))
    if start != NONE and start <= offset <= end:
        yield from _within(data, start, end, offset)
    else:
        nodes = nodes_at(data, file.columns, offset)
        yield from ((node_start, node_end) for _, node_start, node_end in nodes)
        if nodes and nodes[0][0] == "shape":
            yield from _within(data, *nodes[0][1:], offset)
    around = blocks(file, offset, offset)
    yield from zip(around.start.tolist(), around.end.tolist(), strict=True)


def module_selection(module: HloModule, offset: int, limit: int) -> list[tuple[int, int]]:
    """Return at most `limit` spans around a byte of an HLO module, like `selection`: word, list or attribute,
    instruction or line, computation or table.
    """
    return nested(_around_in_module(module, offset), offset, len(module.data), limit)


def _around_in_module(module: HloModule, offset: int) -> Iterator[tuple[int, int]]:
    document, instruction = module.file.document, module.instruction_at(offset)
    start, end = module.span(instruction) if instruction != NONE else document.line_span(document.row(offset))
    yield from _within(module.data, start, end, min(offset, end))
    computation, tables = module.computation_at(offset), module.columns.stack_tables
    if computation != NONE:
        yield module.computation_span(computation)
    for row in ((tables.start <= offset) & (offset <= tables.end)).nonzero()[0].tolist():
        yield int(tables.start[row]), int(tables.end[row])


def _within(data: bytes, start: int, end: int, offset: int) -> Iterator[tuple[int, int]]:
    yield start, end
    spans = enclosing(data[start:end], offset - start)
    yield from ((start + span_start, start + span_end) for span_start, span_end in spans)
