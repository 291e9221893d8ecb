"""What became of each value in the other dump of a comparison, its words in lenses and hovers, and the code lenses on
those that changed.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from xla_lens.model.diff.changes import Change, ValueClass
from xla_lens.model.diff.comparison import Comparison
from xla_lens.model.diff.matching import Confidence
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.lookup import biggest
from xla_lens.render.markdown import code
from xla_lens.render.numbers import counted, human, shortened
from xla_lens.syntax.columns import NONE, Table
from xla_lens.text.positions import decode

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


# ---------------------------------------------------------------- words

_MAX_SHAPE: Final = 160


def other_title(other: OtherValue) -> str:
    """Return the title of a lens: ``was 1.50 GiB, lived 30 steps less``."""
    return _text(other, _shape(other))


def other_line(other: OtherValue) -> str:
    """Return the line of a hover, as Markdown."""
    if other.value == NONE:
        return f"compared: {_text(other, '')}"
    is_sure = other.compared.values.confidence[other.row] > Confidence.LOW
    where = f"in the {'old' if other.is_old else 'new'} dump{'' if is_sure else ', an uncertain match'}"
    return f"compared: {_text(other, code(_shape(other)))} ({code(other.dump.value_label(other.value))} {where})"


def _shape(other: OtherValue) -> str:
    return shortened(decode(other.dump.shape(other.value) or b""), _MAX_SHAPE) if other.value != NONE else ""


_ONE_SIDED: Final = {
    ValueClass.ADDED: "not in the old dump",
    ValueClass.REMOVED: "not in the new dump",
    ValueClass.UNCHANGED: "unchanged",
}


def _text(other: OtherValue, shape: str) -> str:
    values = other.compared.values
    value_class, change = ValueClass(int(values.value_class[other.row])), Change(int(values.change[other.row]))
    if value_class in _ONE_SIDED:
        return _ONE_SIDED[value_class]
    was, lived = ("was", "lived") if other.is_old else ("now", "lives")
    longer_by = int(values.longer_by[other.row]) * (-1 if other.is_old else 1)
    size_bytes = int(other.dump.values.size_bytes[other.value])
    parts = []
    if change & Change.SIZE and size_bytes != NONE:
        parts.append(f"{was} {human(size_bytes)}")
    elif change & (Change.SHAPE | Change.LAYOUT) and shape:
        parts.append(f"{was} {shape}")
    elif change & Change.MEMORY_SPACE:
        parts.append(f"{was} in another memory space")
    elif change & Change.PADDING:
        parts.append(f"{was} padded otherwise")
    if longer_by:
        parts.append(f"{lived} {counted(abs(longer_by), 'step')} {'longer' if longer_by > 0 else 'less'}")
    elif change & Change.LIVE_RANGE:
        parts.append(f"{lived} at other steps")
    return ", ".join(parts)
