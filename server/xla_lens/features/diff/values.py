"""What became of one value in the other dump of a comparison."""

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from xla_lens.model.diff.changes import Change, ValueClass
from xla_lens.model.diff.comparison import Comparison
from xla_lens.model.diff.matching import Confidence, Level, confidence
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.lookup import taken
from xla_lens.syntax.columns import NONE, Column


@dataclass(frozen=True, slots=True, eq=False)
class ValuePairs:
    """The row of `Comparison.values` of each value of both dumps."""

    of_old: Column
    of_new: Column

    @staticmethod
    def of(compared: Comparison) -> "ValuePairs":
        """Return the rows of a comparison."""
        values = compared.values
        return ValuePairs(
            _rows(values.old, len(compared.old.dump.values)), _rows(values.new, len(compared.new.dump.values))
        )


def _rows(column: Column, count: int) -> Column:
    """The row of each of `count` numbers in a column."""
    found = np.full(count, NONE)
    known = np.flatnonzero(column != NONE)
    found[column[known]] = known
    return found


class Category(IntEnum):
    """What happened to a value, in one word. A value whose size changed may live longer or shorter as well."""

    UNCHANGED = 0
    ADDED = 1
    REMOVED = 2
    BIGGER = 3
    SMALLER = 4
    LONGER = 5
    SHORTER = 6
    OTHER = 7


def categories(compared: Comparison) -> Column:
    """Return the `Category` of each row of `Comparison.values`."""
    values = compared.values
    both = (values.old != NONE) & (values.new != NONE)
    sizes = (side.dump.values.size_bytes for side in (compared.old, compared.new))
    old, new = (taken(column, rows) for column, rows in zip(sizes, (values.old, values.new), strict=True))
    found = np.select(
        (
            values.value_class == ValueClass.ADDED,
            values.value_class == ValueClass.REMOVED,
            both & (new > old),
            both & (new < old),
            values.longer_by > 0,
            values.longer_by < 0,
            values.value_class != ValueClass.UNCHANGED,
        ),
        (
            Category.ADDED,
            Category.REMOVED,
            Category.BIGGER,
            Category.SMALLER,
            Category.LONGER,
            Category.SHORTER,
            Category.OTHER,
        ),
        Category.UNCHANGED,
    )
    return np.asarray(found, np.int64)


@dataclass(frozen=True, slots=True)
class OtherValue:
    """What a value is in the other dump of a comparison, which `is_old` if the value itself is of the new one.

    `label`, `size_bytes`, `shape` and `value` (a row) are those of the other dump, None and NONE without a partner.
    `longer_by` is by how many aligned steps the value lives longer there. `is_sure` is whether the match is certain.
    """

    is_old: bool
    value_class: ValueClass
    change: Change
    value: int
    label: str | None
    size_bytes: int | None
    shape: str | None
    longer_by: int
    is_sure: bool


def other_value(compared: Comparison, pairs: ValuePairs, value: int, *, is_old: bool) -> OtherValue | None:
    """Return what a value of the old or of the new dump is in the other one, None for an unknown value."""
    rows = pairs.of_old if is_old else pairs.of_new
    row = int(rows[value]) if 0 <= value < len(rows) else NONE
    if row == NONE:
        return None
    values = compared.values
    dump: DumpSet = compared.new.dump if is_old else compared.old.dump
    other = int(values.new[row] if is_old else values.old[row])
    is_known = other != NONE
    size_bytes = int(dump.values.size_bytes[other]) if is_known else NONE
    shape = dump.shape(other) if is_known else None
    longer_by = int(values.longer_by[row])
    return OtherValue(
        is_old=not is_old,
        value_class=ValueClass(int(values.value_class[row])),
        change=Change(int(values.change[row])),
        value=other,
        label=dump.value_label(other) if is_known else None,
        size_bytes=size_bytes if size_bytes != NONE else None,
        shape=shape.decode("utf-8", "replace") if shape is not None else None,
        longer_by=longer_by if is_old else -longer_by,
        is_sure=is_known and confidence(Level(int(values.level[row]))) is not Confidence.LOW,
    )
