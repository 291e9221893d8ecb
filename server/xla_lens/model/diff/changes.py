"""What happened to each value between two dumps: exactly one of unchanged, changed, moved, added and removed."""

from dataclasses import dataclass
from enum import IntEnum, IntFlag

import numpy as np
from numpy.typing import NDArray

from xla_lens.model.diff.matching import Confidence, Matching
from xla_lens.model.memory.over_time import Memory, live_at_peak
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.lookup import first_rows, taken
from xla_lens.syntax.columns import NONE, Column
from xla_lens.syntax.hlo.shapes import without_layout


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


@dataclass(frozen=True, slots=True)
class ValueChange:
    """A row of `ValueChanges`; `confidence` is None without a match."""

    old: int
    new: int
    value_class: ValueClass
    change: Change
    confidence: Confidence | None
    longer_by: int
    is_at_old_peak: bool
    is_at_new_peak: bool


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

    def row(self, row: int) -> ValueChange:
        """Return one row."""
        columns = (self.old, self.new, self.value_class, self.change, self.confidence, self.longer_by)
        old, new, value_class, change, confidence, longer_by = (int(column[row]) for column in columns)
        return ValueChange(
            old,
            new,
            ValueClass(value_class),
            Change(change),
            Confidence(confidence) if confidence != NONE else None,
            longer_by,
            bool(self.is_at_old_peak[row]),
            bool(self.is_at_new_peak[row]),
        )

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
        of_old=first_rows(np.arange(len(old.values)), old_rows, np.arange(len(old_rows))),
        of_new=first_rows(np.arange(len(new.values)), new_rows, np.arange(len(new_rows))),
        value_class=np.select((old_rows == NONE, new_rows == NONE), (ValueClass.ADDED, ValueClass.REMOVED), of_pair),
        change=change,
        confidence=taken(matching.confidence, np.where(new_rows == NONE, NONE, old_rows)),
        longer_by=longer_by,
        is_at_old_peak=_at_peak(old, old_memory, old_rows),
        is_at_new_peak=_at_peak(new, new_memory, new_rows),
    )


def _at_peak(dump: DumpSet, memory: Memory, rows: Column) -> NDArray[np.bool_]:
    is_live = live_at_peak(dump, memory, np.arange(len(dump.values))).astype(np.int8)
    found: NDArray[np.bool_] = taken(is_live, rows) == 1
    return found


def _changes(old: DumpSet, first: Column, new: DumpSet, second: Column, matching: Matching) -> tuple[Column, Column]:
    """The `Change` flags of pairs, and by how many aligned steps the new value lives longer."""
    numbers: dict[bytes, int] = {}
    sides = [_facts(*side, numbers) for side in ((old, first), (new, second))]
    differs = {flag: sides[0][flag] != sides[1][flag] for flag in sides[0]}
    differs[Change.LAYOUT] &= ~differs[Change.SHAPE]
    start, end = (
        np.stack((_aligned(matching.old_steps, one[first]), _aligned(matching.new_steps, other[second])))
        for one, other in (
            (old.values.start_step, new.values.start_step),
            (old.values.end_step, new.values.end_step),
        )
    )
    # What lives from the first step on in both dumps starts together, whatever comes first in their schedules.
    start[:, (old.values.start_step[first] == 0) & (new.values.start_step[second] == 0)] = 0
    # A dump without live ranges does not show that any differs.
    has_live_ranges = len(old.live_ranges) > 0 and len(new.live_ranges) > 0
    differs[Change.LIVE_RANGE] = has_live_ranges & ((start[0] != start[1]) | (end[0] != end[1]))
    change: Column = np.sum([flag * differing for flag, differing in differs.items()], axis=0, dtype=np.int64)
    steps = end - start
    longer_by = np.where((start != NONE).all(axis=0), steps[1] - steps[0], 0)
    # Two aligned places are one step apart. Rounding toward 0 keeps the opposite comparison opposite.
    return change, np.sign(longer_by) * (np.abs(longer_by) // 2)


def _facts(dump: DumpSet, rows: Column, numbers: dict[bytes, int]) -> dict[Change, Column]:
    """The numbers to compare for some values, by kind of change. `numbers` numbers the shapes of both dumps."""
    values, (shapes, shape) = dump.values, dump.slice_shapes
    layout, bare = (
        np.array([numbers.setdefault(text, len(numbers)) for text in texts], np.int64)
        for texts in (shapes, map(without_layout, shapes))
    )
    return {
        Change.SIZE: values.size_bytes[rows],
        Change.SHAPE: taken(bare, taken(shape, values.slice[rows])),
        Change.LAYOUT: taken(layout, taken(shape, values.slice[rows])),
        Change.PADDING: values.size_bytes[rows] - dump.logical_bytes[rows],
        Change.MEMORY_SPACE: values.color[rows],
    }


def _aligned(aligned_steps: Column, steps: Column) -> Column:
    """The place of steps among the aligned steps: odd for an aligned step, even between two; NONE for no step."""
    place = aligned_steps.searchsorted(steps)
    is_aligned = np.append(aligned_steps, NONE)[place] == steps
    return np.where(steps == NONE, NONE, 2 * place + is_aligned)
