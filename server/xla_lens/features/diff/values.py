"""What became of each value in the other dump of a comparison, and the code lenses on those that changed."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from xla_lens.model.diff.changes import ValueClass
from xla_lens.model.diff.comparison import Comparison
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.lookup import biggest
from xla_lens.syntax.columns import NONE, Table

COMPARED: Final = "compared"
"""The kind of these lenses, beside those of `features/lenses.py`."""


@dataclass(frozen=True, slots=True, eq=False)
class OtherValue:
    """A `row` of the values of a comparison. `is_old` is whether the other dump is the old one."""

    compared: Comparison
    row: int
    is_old: bool

    @property
    def dump(self) -> DumpSet:
        """The other dump."""
        return self.compared.old.dump if self.is_old else self.compared.new.dump

    @property
    def value(self) -> int:
        """The value in the other dump, NONE without a partner."""
        values = self.compared.values
        return int(values.old[self.row] if self.is_old else values.new[self.row])


def other_value(compared: Comparison, value: int, *, is_old: bool) -> OtherValue | None:
    """Return what a value of the old or of the new dump is in the other one, None for an unknown value."""
    rows = compared.values.of_old if is_old else compared.values.of_new
    return OtherValue(compared, int(rows[value]), not is_old) if 0 <= value < len(rows) else None


def compared_lenses(compared: Comparison, file: DumpFile, *, is_old: bool, limit: int) -> Iterator[tuple[int, int]]:
    """Yield the lenses of a file of the old or of the new dump as offsets of lines, each with the id of a value that
    changed. The `limit` largest have one, at their headers among the used values, or where there are none at their rows
    in the buffer assignment.
    """
    dump, rows = (compared.old.dump, compared.values.of_old) if is_old else (compared.new.dump, compared.values.of_new)
    table: Table
    if file is dump.used:
        table, of_value = dump.used_values, dump.values.used_value
        is_shown = of_value != NONE
    elif file is dump.assignment:
        table, of_value = dump.slices, dump.values.slice
        # A file that has both gets one lens for each value.
        is_shown = (of_value != NONE) & ((dump.values.used_value == NONE) | (dump.used is not dump.assignment))
    else:
        return
    is_changed = compared.values.value_class[rows] != ValueClass.UNCHANGED
    values = np.flatnonzero(is_changed & is_shown & (dump.values.id != NONE))
    values = values[biggest(dump.values.size_bytes[values], limit)]
    starts = file.document.line_starts
    lines = starts[starts.searchsorted(table.start[of_value[values]], "right") - 1]
    yield from zip(lines.tolist(), dump.values.id[values].tolist(), strict=True)
