"""Folding ranges of an HLO module: computations, instructions that span lines, and the tables of stack frames."""

import numpy as np

from xla_lens.model.hlo.module import HloModule
from xla_lens.model.tables.lookup import biggest


def folds(module: HloModule, limit: int) -> list[tuple[int, int]]:
    """Return the spans to fold, each of at least two lines, in the order of the text. Keeps the `limit` spans with the
    most lines.
    """
    columns, line_starts = module.columns, module.file.document.line_starts
    tables = columns.computations, columns.instructions, columns.stack_tables
    start, end = np.concatenate([table.start for table in tables]), np.concatenate([table.end for table in tables])
    first_line = line_starts.searchsorted(start, "right") - 1
    ends_below = np.flatnonzero(np.append(line_starts, len(module.data) + 1)[first_line + 1] <= end)
    start, end, first_line = start[ends_below], end[ends_below], first_line[ends_below]
    rows = biggest(line_starts.searchsorted(end, "right") - 1 - first_line, limit)
    rows = rows[np.lexsort((-end[rows], start[rows]))]
    return list(zip(start[rows].tolist(), end[rows].tolist(), strict=True))
