"""Code lenses while a comparison is active: on each value that changed."""

from collections.abc import Iterator
from typing import Final

import numpy as np

from xla_lens.features.diff.values import ValuePairs
from xla_lens.model.diff.changes import ValueClass
from xla_lens.model.diff.comparison import Comparison
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.tables.lookup import biggest
from xla_lens.syntax.columns import NONE, Table

COMPARED: Final = "compared"
"""The kind of these lenses, beside those of `features/lenses.py`."""


def compared_lenses(
    compared: Comparison, pairs: ValuePairs, file: DumpFile, *, is_old: bool, limit: int
) -> Iterator[tuple[int, int]]:
    """Yield the lenses of a file of the old or of the new dump as offsets of lines, each with the id of a value that
    changed. The `limit` largest have one, at their headers among the used values, or where there are none at their rows
    in the buffer assignment.
    """
    dump = compared.old.dump if is_old else compared.new.dump
    rows = pairs.of_old if is_old else pairs.of_new
    values = np.flatnonzero(rows != NONE)
    values = values[compared.values.value_class[rows[values]] != ValueClass.UNCHANGED]
    values = values[dump.values.id[values] != NONE]
    table: Table
    if file is dump.used:
        table, of_value = dump.used_values, dump.values.used_value
    elif file is dump.assignment:
        table, of_value = dump.slices, dump.values.slice
        # A file that has both gets one lens for each value.
        values = values[dump.values.used_value[values] == NONE] if dump.used is dump.assignment else values
    else:
        return
    values = values[of_value[values] != NONE]
    values = values[biggest(dump.values.size_bytes[values], limit)]
    starts = file.document.line_starts
    lines = starts[starts.searchsorted(table.start[of_value[values]], "right") - 1]
    yield from zip(lines.tolist(), dump.values.id[values].tolist(), strict=True)
