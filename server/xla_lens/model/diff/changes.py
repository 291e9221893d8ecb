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

    - `value_class`: a `ValueClass`; `change`: `Change` flags.
    - `level`: the `Level` of the match, NONE without one.
    - `longer_by`: by how many aligned steps the value lives longer than before, negative for shorter; 0 if unknown.
    - `is_at_old_peak`, `is_at_new_peak`: whether it is live at the peak of its memory space.
    """

    old: Column
    new: Column
    value_class: Column
    change: Column
    level: Column
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
    change, longer_by = _changes(old, first, new, second, matching)
    removed, added = np.flatnonzero(matching.new_of_old == NONE), np.flatnonzero(matching.old_of_new == NONE)
    is_moved = change == Change.LIVE_RANGE
    of_pairs = np.where(change == 0, ValueClass.UNCHANGED, np.where(is_moved, ValueClass.MOVED, ValueClass.CHANGED))
    of_removed, of_added = np.full(len(removed), ValueClass.REMOVED), np.full(len(added), ValueClass.ADDED)
    old_rows = np.concatenate((first, removed, np.full(len(added), NONE)))
    new_rows = np.concatenate((second, np.full(len(removed), NONE), added))
    nothing = np.zeros(len(removed) + len(added), np.int64)
    return ValueChanges(
        old=old_rows,
        new=new_rows,
        value_class=np.concatenate((of_pairs, of_removed, of_added)),
        change=np.concatenate((change, nothing)),
        level=np.concatenate((matching.level[first], nothing + NONE)),
        longer_by=np.concatenate((longer_by, nothing)),
        is_at_old_peak=_at_peak(old, old_memory, old_rows),
        is_at_new_peak=_at_peak(new, new_memory, new_rows),
    )


def _at_peak(dump: DumpSet, memory: Memory, rows: Column) -> NDArray[np.bool_]:
    found = np.zeros(len(rows), np.bool_)
    known = np.flatnonzero(rows != NONE)
    found[known] = live_at_peak(dump, memory, rows[known])
    return found


def _changes(old: DumpSet, first: Column, new: DumpSet, second: Column, matching: Matching) -> tuple[Column, Column]:
    """The `Change` flags of pairs, and by how many aligned steps the new value lives longer."""
    numbers: dict[bytes, int] = {}
    bare_numbers: dict[bytes, int] = {}
    old_shape, old_bare = _shapes(old, first, numbers, bare_numbers)
    new_shape, new_bare = _shapes(new, second, numbers, bare_numbers)
    size = old.values.size_bytes[first], new.values.size_bytes[second]
    padding = size[0] - old.logical_bytes[first], size[1] - new.logical_bytes[second]
    change = np.where(size[0] != size[1], Change.SIZE, 0)
    is_reshaped = old_bare != new_bare
    change |= np.where(is_reshaped, Change.SHAPE, 0)
    change |= np.where(~is_reshaped & (old_shape != new_shape), Change.LAYOUT, 0)
    change |= np.where(padding[0] != padding[1], Change.PADDING, 0)
    change |= np.where(old.values.color[first] != new.values.color[second], Change.MEMORY_SPACE, 0)
    starts = (
        _aligned(matching.old_steps, old.values.start_step[first]),
        _aligned(matching.new_steps, new.values.start_step[second]),
    )
    ends = (
        _aligned(matching.old_steps, old.values.end_step[first]),
        _aligned(matching.new_steps, new.values.end_step[second]),
    )
    # What lives from the first step on in both dumps starts together, whatever comes first in their schedules.
    is_first = (old.values.start_step[first] == 0) & (new.values.start_step[second] == 0)
    starts = np.where(is_first, 0, starts[0]), np.where(is_first, 0, starts[1])
    # A dump without live ranges does not show that any differs.
    has_live_ranges = len(old.live_ranges) > 0 and len(new.live_ranges) > 0
    is_moved = has_live_ranges & ((starts[0] != starts[1]) | (ends[0] != ends[1]))
    change |= np.where(is_moved, Change.LIVE_RANGE, 0)
    is_known = (starts[0] != NONE) & (starts[1] != NONE)
    longer_by = np.where(is_known, (ends[1] - starts[1]) - (ends[0] - starts[0]), 0)
    # Two aligned places are one step apart. Rounding toward 0 keeps the opposite comparison opposite.
    return change, np.sign(longer_by) * (np.abs(longer_by) // 2)


def _shapes(
    dump: DumpSet, rows: Column, numbers: dict[bytes, int], bare_numbers: dict[bytes, int]
) -> tuple[Column, Column]:
    shapes, shape = dump.slice_shapes
    shape = taken(shape, dump.values.slice[rows])
    own = np.array([numbers.setdefault(text, len(numbers)) for text in shapes], np.int64)
    bare = np.array([bare_numbers.setdefault(without_layout(text), len(bare_numbers)) for text in shapes], np.int64)
    return taken(own, shape), taken(bare, shape)


def _aligned(aligned_steps: Column, steps: Column) -> Column:
    """The place of steps among the aligned steps: odd for an aligned step, even between two; NONE for no step."""
    place = aligned_steps.searchsorted(steps)
    is_aligned = np.append(aligned_steps, NONE)[place] == steps
    return np.where(steps == NONE, NONE, 2 * place + is_aligned)
