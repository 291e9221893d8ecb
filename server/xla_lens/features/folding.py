"""Folding ranges: parts, allocations, used values and their lists, stack frames, and tables of reports."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from xla_lens.model.places.blocks import BlockKind, blocks
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.tables.lookup import biggest
from xla_lens.syntax.columns import Column


@dataclass(frozen=True, slots=True)
class Fold:
    """The lines of bytes `start` to `end` fold; there are at least two."""

    start: int
    end: int
    kind: BlockKind


def folds(file: DumpFile, limit: int) -> list[Fold]:
    """Return the folding ranges in the order of the text, only the `limit` longest if there are more.

    Ranges that share lines are nested.
    """
    found, line_starts = blocks(file, 0, len(file.document.data)), file.document.line_starts
    first_line, last_line = (line_starts.searchsorted(place, "right") - 1 for place in (found.start, found.end))
    shared, end = _shared_lines(file), found.end
    if len(shared):
        is_shared = np.isin(last_line, shared) & np.isin(found.kind, _BEFORE_HEADERS)
        end = np.where(is_shared, line_starts[last_line] - 1, end)
        last_line = last_line - is_shared
    rows = np.flatnonzero(last_line > first_line)
    rows = rows[biggest((last_line - first_line)[rows], limit)]
    rows = rows[np.lexsort((-end[rows], found.start[rows]))]
    columns = found.start[rows].tolist(), end[rows].tolist(), found.kind[rows].tolist()
    return [Fold(start, end, _KINDS[kind]) for start, end, kind in zip(*columns, strict=True)]


_KINDS: Final = tuple(BlockKind)
_BEFORE_HEADERS: Final = (BlockKind.VALUE, BlockKind.INSTRUCTION)


def _shared_lines(file: DumpFile) -> Column:
    """The lines where the header of a value follows the instruction of the previous value, as XLA printed in 2024."""
    document, starts = file.document, file.columns.used_values.start
    before = np.frombuffer(document.data, np.uint8)[np.maximum(starts - 1, 0)]
    lines: Column = document.line_starts.searchsorted(starts[before > ord("\r")], "right") - 1
    return lines
