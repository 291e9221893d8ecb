"""What happened to each value between two dumps: exactly one of unchanged, changed, moved, added and removed."""

from dataclasses import dataclass
from enum import IntEnum, IntFlag

import numpy as np
from numpy.typing import NDArray

from xla_lens.model.diff.matching import Matching
from xla_lens.model.diff.traits import without_layout
from xla_lens.model.memory.over_time import Memory, live_at_peak
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.lookup import taken
from xla_lens.syntax.columns import NONE, Column


class ValueClass(IntEnum):
    """What happened to a value. A value that changed may have moved as well."""

    UNCHANGED = 0
    CHANGED = 1
    MOVED = 2
    ADDED = 3
    REMOVED = 4


class Change(IntFlag):
    """What changed about a value."""

    SIZE = 1
    SHAPE = 2
    LAYOUT = 4
    PADDING = 8
    MEMORY_SPACE = 16
    LIVE_RANGE = 32


@dataclass(frozen=True, slots=True, eq=False)
class ValueChanges:
    """One row for each pair of matched values, in the order of the old values, then one for each removed and each added
    value. `old` and `new` are rows of `DumpSet.values`, NONE for an added and a removed value.

    - `of_old`, `of_new`: the row of each value of both dumps.
    - `value_class`: a `ValueClass`; `change`: `Change` flags.
    - `confidence`: the `Confidence` of the match, NONE without one.
    - `longer_by`: by how many aligned steps the value lives longer than before, negative for shorter; 0 if unknown.
    - `is_at_old_peak`, `is_at_new_peak`: whether it is live at the peak of its memory space.
    """

    old: Column
    new: Column
    of_old: Column
    of_new: Column
    value_class: Column
    change: Column
    confidence: Column
    longer_by: Column
    is_at_old_peak: NDArray[np.bool_]
    is_at_new_peak: NDArray[np.bool_]

    def count(self, value_class: ValueClass) -> int:
        """Return the number of values of a class."""
        return int((self.value_class == value_class).sum())

    def __len__(self) -> int:
        return len(self.old)


def value_changes(
    old: DumpSet, old_memory: Memory, new: DumpSet, new_memory: Memory, matching: Matching
) -> ValueChanges:
    """Return what happened to the values of two matched dumps."""
    first = np.flatnonzero(matching.new_of_old != NONE)
    second = matching.new_of_old[first]
    removed, added = np.flatnonzero(matching.new_of_old == NONE), np.flatnonzero(matching.old_of_new == NONE)
    old_rows = np.concatenate((first, removed, np.full(len(added), NONE)))
    new_rows = np.concatenate((second, np.full(len(removed), NONE), added))
    change, longer_by = np.zeros((2, len(old_rows)), np.int64)
    change[: len(first)], longer_by[: len(first)] = _changes(old, first, new, second, matching)
    of_pair = np.where(change == 0, ValueClass.UNCHANGED, ValueClass.CHANGED)
    of_pair[change == Change.LIVE_RANGE] = ValueClass.MOVED
    return ValueChanges(
        old=old_rows,
        new=new_rows,
        of_old=_rows(old_rows, len(old.values)),
        of_new=_rows(new_rows, len(new.values)),
        value_class=np.select((old_rows == NONE, new_rows == NONE), (ValueClass.ADDED, ValueClass.REMOVED), of_pair),
        change=change,
        confidence=taken(matching.confidence, np.where(new_rows == NONE, NONE, old_rows)),
        longer_by=longer_by,
        is_at_old_peak=_at_peak(old, old_memory, old_rows),
        is_at_new_peak=_at_peak(new, new_memory, new_rows),
    )


def _rows(column: Column, count: int) -> Column:
    """The row of each of `count` numbers in a column."""
    found = np.full(count, NONE)
    known = np.flatnonzero(column != NONE)
    found[column[known]] = known
    return found


def _at_peak(dump: DumpSet, memory: Memory, rows: Column) -> NDArray[np.bool_]:
    found = np.zeros(len(rows), np.bool_)
    known = np.flatnonzero(rows != NONE)
    found[known] = live_at_peak(dump, memory, rows[known])
    return found


def _changes(old: DumpSet, first: Column, new: DumpSet, second: Column, matching: Matching) -> tuple[Column, Column]:
    """The `Change` flags of pairs, and by how many aligned steps the new value lives longer."""
    numbers: dict[bytes, int] = {}
    shapes = _shapes(old, first, numbers), _shapes(new, second, numbers)
    is_reshaped = shapes[0][1] != shapes[1][1]
    one, other = old.values, new.values
    padding = one.size_bytes[first] - old.logical_bytes[first], other.size_bytes[second] - new.logical_bytes[second]
    starts = (
        _aligned(matching.old_steps, one.start_step[first]),
        _aligned(matching.new_steps, other.start_step[second]),
    )
    ends = _aligned(matching.old_steps, one.end_step[first]), _aligned(matching.new_steps, other.end_step[second])
    # What lives from the first step on in both dumps starts together, whatever comes first in their schedules.
    is_first = (one.start_step[first] == 0) & (other.start_step[second] == 0)
    starts = np.where(is_first, 0, starts[0]), np.where(is_first, 0, starts[1])
    # A dump without live ranges does not show that any differs.
    has_live_ranges = len(old.live_ranges) > 0 and len(new.live_ranges) > 0
    is_changed = {
        Change.SIZE: one.size_bytes[first] != other.size_bytes[second],
        Change.SHAPE: is_reshaped,
        Change.LAYOUT: ~is_reshaped & (shapes[0][0] != shapes[1][0]),
        Change.PADDING: padding[0] != padding[1],
        Change.MEMORY_SPACE: one.color[first] != other.color[second],
        Change.LIVE_RANGE: has_live_ranges & ((starts[0] != starts[1]) | (ends[0] != ends[1])),
    }
    change: Column = np.sum([flag * changed for flag, changed in is_changed.items()], axis=0, dtype=np.int64)
    is_known = (starts[0] != NONE) & (starts[1] != NONE)
    longer_by = np.where(is_known, (ends[1] - starts[1]) - (ends[0] - starts[0]), 0)
    # Two aligned places are one step apart. Rounding toward 0 keeps the opposite comparison opposite.
    return change, np.sign(longer_by) * (np.abs(longer_by) // 2)


def _shapes(dump: DumpSet, rows: Column, numbers: dict[bytes, int]) -> tuple[Column, Column]:
    """The numbers of the shapes of values with and without their layouts, NONE for unknown ones."""
    shapes, shape = dump.slice_shapes
    shape = taken(shape, dump.values.slice[rows])
    bare = map(without_layout, shapes)
    columns = (
        np.array([numbers.setdefault(text, len(numbers)) for text in texts], np.int64) for texts in (shapes, bare)
    )
    own, without = (taken(column, shape) for column in columns)
    return own, without


def _aligned(aligned_steps: Column, steps: Column) -> Column:
    """The place of steps among the aligned steps: odd for an aligned step, even between two; NONE for no step."""
    place = aligned_steps.searchsorted(steps)
    is_aligned = np.append(aligned_steps, NONE)[place] == steps
    return np.where(steps == NONE, NONE, 2 * place + is_aligned)
