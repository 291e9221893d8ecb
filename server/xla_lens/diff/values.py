"""What became of each value in the other dump of a comparison, its words in lenses and hovers, and the code lenses on
those that changed.
"""

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

import numpy as np

from xla_lens.diff.words import steps_longer
from xla_lens.model.diff.changes import Change, ValueChange, ValueClass
from xla_lens.model.diff.comparison import Comparison
from xla_lens.model.diff.matching import Confidence
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.lookup import biggest
from xla_lens.syntax.columns import NONE, FileTable, cells
from xla_lens.text.positions import decode
from xla_lens.words.markdown import code
from xla_lens.words.numbers import differing_parts, human
from xla_lens.words.terms import place_name


class OtherValue(NamedTuple):
    """A value in the other dump of a comparison, a row of its `DumpSet.values` or NONE without a partner; `is_old` is
    whether that is the old dump. `own_shape` is the shape in this dump.
    """

    dump: DumpSet
    value: int
    change: ValueChange
    is_old: bool
    own_shape: bytes


def other_value(compared: Comparison, value: int, *, is_old: bool) -> OtherValue | None:
    """Return what a value of the old or of the new dump is in the other one, None for an unknown value."""
    rows = compared.values.of_old if is_old else compared.values.of_new
    if not 0 <= value < len(rows):
        return None
    change = compared.values.row(rows.item(value))
    own, dump, other = compared.old.dump, compared.new.dump, change.new
    if not is_old:
        own, dump, other = dump, own, change.old
    return OtherValue(dump, other, change, not is_old, own.shape(value) or b"")


def compared_lenses(
    compared: Comparison, file: DumpFile, *, is_old: bool, limit: int
) -> Iterator[tuple[int, OtherValue]]:
    """Yield the lenses of a file of the old or of the new dump as offsets of lines, each with what a value that changed
    is in the other dump. The `limit` largest have one, at their headers among the used values, or where there are none
    at their rows in the buffer assignment.
    """
    dump, rows = (compared.old.dump, compared.values.of_old) if is_old else (compared.new.dump, compared.values.of_new)
    table: FileTable
    # One file may have both.
    if file is dump.used:
        table, row = dump.used_values, dump.values.used_value
    elif file is dump.assignment:
        table, row = dump.slices, dump.values.slice
    else:
        return
    is_changed = compared.values.value_class[rows] != ValueClass.UNCHANGED
    values = np.flatnonzero(is_changed & (row != NONE) & (dump.values.id != NONE))
    values = values[biggest(dump.values.size_bytes[values], limit)]
    starts = file.document.line_starts
    lines = starts[starts.searchsorted(table.start[row[values]], "right") - 1]
    for line, value in cells(lines, values):
        if other := other_value(compared, value, is_old=is_old):
            yield line, other


_MAX_SHAPE: Final = 160


def other_line(other: OtherValue) -> str:
    """Return the line of a hover, as Markdown."""
    if other.value == NONE:
        return f"compared: {other_title(other)}"
    doubt = ", an uncertain match" * (other.change.confidence is Confidence.LOW)
    where = f"in the {'old' if other.is_old else 'new'} dump{doubt}"
    return f"compared: {other_title(other, code)} ({code(other.dump.value_label(other.value))} {where})"


_WITHOUT_CHANGE: Final = {
    ValueClass.ADDED: "not in the old dump",
    ValueClass.REMOVED: "not in the new dump",
    ValueClass.UNCHANGED: "unchanged",
}


def other_title(other: OtherValue, quoted: Callable[[str], str] = str) -> str:
    """Return the title of a lens: ``was 1.50 GiB, lived 30 steps less``."""
    found, table = other.change, other.dump.values
    if found.value_class in _WITHOUT_CHANGE:
        return _WITHOUT_CHANGE[found.value_class]
    was, lived = ("was", "lived") if other.is_old else ("now", "lives")
    how = ""
    if found.change & Change.SIZE:
        how = human(table.size_bytes.item(other.value))
    elif found.change & (Change.SHAPE | Change.LAYOUT):
        shape = decode(other.dump.shape(other.value) or b"")
        how = quoted(differing_parts(shape, decode(other.own_shape), _MAX_SHAPE)[0])
    elif found.change & Change.MEMORY_SPACE:
        how = f"in {place_name(other.dump.space_id(table.color.item(other.value)))}"
    parts = [f"{was} {how}"] if how else []
    if found.longer_by:
        parts.append(f"{lived} {steps_longer(-found.longer_by if other.is_old else found.longer_by, 'less')}")
    elif found.change & Change.LIVE_RANGE:
        parts.append(f"{lived} at other steps")
    return ", ".join(parts) or "changed"
