"""What happened to each value between two dumps: exactly one of unchanged, changed, moved, added and removed."""

from enum import IntEnum, IntFlag

import numpy as np
from msgspec import Struct

from xla_lens.model.diff.matching import Confidence, Matching, Side
from xla_lens.model.diff.traits import Traits
from xla_lens.model.memory.over_time import Memory, live_at_peak
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.lookup import taken
from xla_lens.syntax.columns import NONE, Column, Columns, Mask, Pairs


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


class ValueChange(Struct, frozen=True):
    """A row of `ValueChanges`; `confidence` is None without a match."""

    old: int
    new: int
    value_class: ValueClass
    change: Change
    confidence: Confidence | None
    longer_by: int
    is_at_old_peak: bool
    is_at_new_peak: bool


class ValueChanges(Columns, frozen=True):
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
    is_at_old_peak: Mask
    is_at_new_peak: Mask

    def count(self, value_class: ValueClass) -> int:
        """Return the number of values of a class."""
        return int((self.value_class == value_class).sum())

    def row(self, row: int) -> ValueChange:
        """Return one row."""
        confidence = self.confidence.item(row)
        return ValueChange(
            self.old.item(row),
            self.new.item(row),
            ValueClass(self.value_class.item(row)),
            Change(self.change.item(row)),
            Confidence(confidence) if confidence != NONE else None,
            self.longer_by.item(row),
            self.is_at_old_peak.item(row),
            self.is_at_new_peak.item(row),
        )


def value_changes(old: Side, old_memory: Memory, new: Side, new_memory: Memory, matching: Matching) -> ValueChanges:
    """Return what happened to the values of two matched dumps."""
    added = np.flatnonzero(matching.old_of_new == NONE)
    matched_first = np.argsort(matching.new_of_old == NONE, kind="stable")
    old_rows = np.concatenate((matched_first, np.full(len(added), NONE)))
    new_rows = np.concatenate((matching.new_of_old[matched_first], added))
    change, longer_by = _changes(old, old_rows, new, new_rows, matching)
    is_pair = (old_rows != NONE) & (new_rows != NONE)
    change[~is_pair] = longer_by[~is_pair] = 0
    cases = (old_rows == NONE, new_rows == NONE, change == 0, change == Change.LIVE_RANGE)
    classes = (ValueClass.ADDED, ValueClass.REMOVED, ValueClass.UNCHANGED, ValueClass.MOVED)
    return ValueChanges(
        old=old_rows,
        new=new_rows,
        of_old=np.argsort(old_rows)[len(added) :],
        of_new=np.argsort(new_rows)[(new_rows == NONE).sum() :],
        value_class=np.select(cases, classes, ValueClass.CHANGED),
        change=change,
        confidence=np.where(is_pair, taken(matching.confidence, old_rows), NONE),
        longer_by=longer_by,
        is_at_old_peak=_at_peak(old[0], old_memory, old_rows),
        is_at_new_peak=_at_peak(new[0], new_memory, new_rows),
    )


def _at_peak(dump: DumpSet, memory: Memory, values: Column) -> Mask:
    return np.append(live_at_peak(dump, memory, np.arange(len(dump.values))), False)[values]


def _changes(old: Side, first: Column, new: Side, second: Column, matching: Matching) -> Pairs:
    """The `Change` flags of pairs, and by how many aligned steps the new value lives longer."""
    sides = [_facts(*old, first), _facts(*new, second)]
    differs = {flag: sides[0][flag] != sides[1][flag] for flag in sides[0]}
    differs[Change.LAYOUT] &= ~differs[Change.SHAPE]
    old_values, new_values = old[0].values, new[0].values
    start, end = (
        np.stack((_aligned(matching.old_steps, one, first), _aligned(matching.new_steps, other, second)))
        for one, other in ((old_values.start_step, new_values.start_step), (old_values.end_step, new_values.end_step))
    )
    # What lives from the first step on in both dumps starts together, whatever comes first in their schedules.
    start[:, (taken(old_values.start_step, first) == 0) & (taken(new_values.start_step, second) == 0)] = 0
    # A dump without live ranges does not show that any differs.
    has_live_ranges = len(old[0].live_ranges) > 0 and len(new[0].live_ranges) > 0
    differs[Change.LIVE_RANGE] = has_live_ranges & ((start[0] != start[1]) | (end[0] != end[1]))
    change: Column = np.sum([flag * differing for flag, differing in differs.items()], axis=0, dtype=np.int64)
    longer_by = np.where((start != NONE).all(axis=0), (end - start)[1] - (end - start)[0], 0)
    # Two aligned places are one step apart. Rounding toward 0 keeps the opposite comparison opposite.
    return change, np.sign(longer_by) * (np.abs(longer_by) // 2)


def _facts(dump: DumpSet, traits: Traits, rows: Column) -> dict[Change, Column]:
    """The numbers to compare for some values, by kind of change."""
    columns = {
        Change.SIZE: dump.values.size_bytes,
        Change.SHAPE: traits["bare_shape"],
        Change.LAYOUT: traits["shape"],
        Change.PADDING: dump.values.size_bytes - dump.logical_bytes,
        Change.MEMORY_SPACE: dump.values.color,
    }
    return {flag: taken(column, rows) for flag, column in columns.items()}


def _aligned(aligned_steps: Column, steps: Column, values: Column) -> Column:
    """The place of the steps of values among the aligned steps: odd for an aligned step, even between two; NONE for no
    step.
    """
    steps = taken(steps, values)
    place = aligned_steps.searchsorted(steps)
    is_aligned = np.append(aligned_steps, NONE)[place] == steps
    return np.where(steps == NONE, NONE, 2 * place + is_aligned)
