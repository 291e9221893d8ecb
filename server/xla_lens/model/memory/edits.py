"""What a memory space holds after some of its values are removed, shrunk, or live for fewer steps.

An *edit* says what is left of each value that it changes. It takes bytes and steps away and moves nothing, so the live
bytes after it follow from those before it without a new schedule. All questions about a peak without some values are
answered here: those of the rules of the advice, of budgets, and of the report's table of the peak without each value.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np
from msgspec import Struct

from xla_lens.model.memory.over_time import (
    LiveBytes,
    Memory,
    MemorySpace,
    accumulated,
    covering,
    placed_values,
    slots_of,
)
from xla_lens.model.memory.sweep import Coverage, Slots, coverage, peaks_without
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.syntax.columns import NONE, Column, Kind, Mask


class Piece(NamedTuple):
    """What is left of a value: the first `size_bytes` of its slice, live from `start_step` to `end_step`. What is moved
    is in bytes of its own instead: `moved_to` is the allocation, a row of `DumpSet.allocations`, NONE for a new
    temporary buffer, None for what stays.
    """

    start_step: int
    end_step: int
    size_bytes: int
    moved_to: int | None = None


Edit: TypeAlias = Mapping[int, tuple[Piece, ...]]
"""What is left of each value that is changed: no pieces if the value is gone. The pieces of NONE are new buffers."""


def removal(values: Collection[int]) -> Edit:
    """Return the edit after which some values are gone."""
    return dict.fromkeys(values, ())


def combined(edits: Iterable[Edit], size_bytes: Column) -> Edit:
    """Combine edits; `size_bytes` are the sizes of all values. Of a value that several change, those steps are left
    that all leave, and the product of the parts. New buffers are those of all.
    """
    left: dict[int, tuple[Piece, ...]] = {NONE: ()}
    for edit in edits:
        for value, pieces in edit.items():
            if value == NONE:
                left[value] += pieces
            else:
                before = left.get(value)
                left[value] = pieces if before is None else _common(before, pieces, size_bytes.item(value))
    return left


def _common(first: Iterable[Piece], second: Sequence[Piece], size_bytes: int) -> tuple[Piece, ...]:
    """What two edits leave of a value of a size."""
    both = (
        Piece(
            max(one.start_step, other.start_step),
            min(one.end_step, other.end_step),
            size,
            one.moved_to if other.moved_to is None else other.moved_to,
        )
        for one in first
        for other in second
        if (size := one.size_bytes * other.size_bytes // max(size_bytes, 1))
    )
    return tuple(piece for piece in both if piece.start_step <= piece.end_step)


class EditableSpace(Struct, frozen=True, eq=False, dict=True):
    """A memory space of a dump set, which answers what edits change."""

    dump: DumpSet
    space: MemorySpace

    @cached_property
    def slots(self) -> Slots:
        """The slots of all values that ever cover bytes of the memory space, by allocation."""
        placed = placed_values(self.dump)
        return slots_of(self.dump, placed[self.dump.values.space[placed] == self.space.color])

    def rows(self, values: Collection[int]) -> Column:
        """Return the rows of `slots` that are of some values, in the same order."""
        wanted = np.fromiter(values, np.int64, len(values))
        found = self._row_of_value[wanted[wanted != NONE]]
        rows: Column = found[found != NONE]
        return rows

    @cached_property
    def _row_of_value(self) -> Column:
        rows: Column = np.full(len(self.dump.values), NONE)
        rows[self.slots.value] = np.arange(len(self.slots))
        return rows

    def after(self, edit: Edit) -> LiveBytes:
        """Return the live bytes after an edit."""
        return self.live_after(self.changes(edit))

    def live_after(self, changes: Coverage) -> LiveBytes:
        """Return the live bytes after some changes."""
        return _changed(self.space.live, changes.steps, changes.deltas)

    @cached_property
    def temporaries(self) -> LiveBytes:
        """The live bytes of the temporaries."""
        every = coverage(self.slots)
        is_temporary = self._is_temporary(every.allocation)
        return accumulated(every.steps[is_temporary], every.deltas[is_temporary])

    @cached_property
    def gap_bytes(self) -> int:
        """What the buffers of temporaries take beyond the most that is live in them at once."""
        rows = np.flatnonzero(self.dump.allocation_spaces == self.space.color)
        rows = rows[self._is_temporary(rows)]
        return max(0, int(self.dump.allocations.size_bytes[rows].sum()) - self.temporaries.peak_bytes)

    def temporaries_after(self, changes: Coverage) -> LiveBytes:
        """Return the live bytes of the temporaries after some changes. New buffers are temporaries."""
        is_temporary = self._is_temporary(changes.allocation) | (changes.allocation == NONE)
        return _changed(self.temporaries, changes.steps[is_temporary], changes.deltas[is_temporary])

    def _is_temporary(self, allocations: Column) -> Mask:
        is_temporary: Mask = self.dump.allocations.kind[allocations] & int(Kind.PREALLOCATED_TEMP) != 0
        return is_temporary

    def changes(self, edit: Edit, gone: Collection[int] = ()) -> Coverage:
        """Return how an edit changes what is covered of each allocation, unsorted, if the values `gone` are gone
        already. New buffers are in the allocation NONE.
        """
        changed = self.rows(edit)
        near = self._near(changed, gone) if len(changed) else changed
        rest = near[~np.isin(near, changed)]
        old, new = coverage(self.slots.take(near)), coverage(_joined(self.slots.take(rest), self._left(changed, edit)))
        pieces = (piece for row in changed.tolist() for piece in edit[self.slots.value.item(row)])
        moved = (piece for piece in pieces if piece.moved_to is not None and piece.start_step <= piece.end_step)
        added = [delta for piece in (*edit.get(NONE, ()), *moved) for delta in _deltas(piece)]
        allocations, steps, sizes = np.array(added, np.int64).reshape(-1, 3).T
        return Coverage(
            np.concatenate((old.allocation, new.allocation, allocations)),
            np.concatenate((old.steps, new.steps, steps)),
            np.concatenate((-old.deltas, new.deltas, sizes)),
        )

    def freed(self, edit: Edit, gone: Collection[int] = ()) -> LiveBytes:
        """Return the bytes that an edit frees over time, if the values `gone` are gone already."""
        changes = self.changes(edit, gone)
        return accumulated(changes.steps, -changes.deltas)

    def _near(self, changed: Column, gone: Collection[int]) -> Column:
        """The rows among which all are that share bytes and steps with one of `changed`, these included."""
        slots, some = self.slots, self.slots.take(changed)
        is_near = (
            (some.allocation.min() <= slots.allocation)
            & (slots.allocation <= some.allocation.max())
            & (slots.offset < some.end_offset.max())
            & (some.offset.min() < slots.end_offset)
            & (slots.start_step <= some.end_step.max())
            & (some.start_step.min() <= slots.end_step)
        )
        is_near[self.rows(gone)] = False
        return np.flatnonzero(is_near)

    def _left(self, changed: Column, edit: Edit) -> Slots:
        """The slots of what an edit leaves of some rows in their allocations."""
        left = [(row, piece) for row in changed.tolist() for piece in edit[self.slots.value.item(row)]]
        pieces = [(row, *piece[:3]) for row, piece in left if piece.moved_to is None]
        rows, starts, ends, sizes = np.array(pieces, np.int64).reshape(-1, 4).T
        whole = self.slots.take(rows)
        starts, ends = np.maximum(starts, whole.start_step), np.minimum(ends, whole.end_step)
        end_offsets = np.minimum(whole.offset + sizes, whole.end_offset)
        found = Slots(whole.value, whole.allocation, whole.offset, end_offsets, starts, ends)
        return found.take(np.flatnonzero((starts <= ends) & (whole.offset < end_offsets)))


def _deltas(piece: Piece) -> tuple[tuple[int, int, int], ...]:
    """The bytes that a piece in bytes of its own adds to an allocation, and takes off it later, each with its step."""
    allocation = NONE if piece.moved_to is None else piece.moved_to
    return (allocation, piece.start_step, piece.size_bytes), (allocation, piece.end_step + 1, -piece.size_bytes)


def _changed(live: LiveBytes, steps: Column, deltas: Column) -> LiveBytes:
    before = np.diff(live.live_bytes, prepend=0)
    return accumulated(np.concatenate((live.steps, steps)), np.concatenate((before, deltas)))


def _joined(first: Slots, second: Slots) -> Slots:
    return Slots(*(np.append(getattr(first, name), getattr(second, name)) for name in first.__struct_fields__))


# ---------------------------------------------------------------- the peak without each value


class NextPeaks(Struct, frozen=True, eq=False):
    """One row for each value. Without the value the peak is `next_peak_bytes`, first at `next_peak_step`, NONE if
    nothing is live then. `freed_bytes` are the bytes at the peak step that only this value covers. The peak can drop by
    less, because another step becomes the peak.
    """

    value: Column
    freed_bytes: Column
    next_peak_bytes: Column
    next_peak_step: Column

    def __len__(self) -> int:
        return len(self.value)


def next_peaks(
    dump: DumpSet, memory: Memory, color: int, values: Column | None = None, *, top: int | None = None
) -> NextPeaks:
    """Return the peak of a memory space without each of `values`, in their order. None stands for the values that cover
    bytes at the peak, by id. Values that never cover bytes of the memory space are left out. With `top`, only the `top`
    values are returned after which the peak is lowest, in this order; of equal ones those that free most come first.
    """
    space = memory.space(color)
    if space is None or space.peak_step is None:
        return NextPeaks(*np.zeros((4, 0), np.int64))
    edited = EditableSpace(dump, space)
    wanted = edited.rows((covering(dump, space.peak_step, color) if values is None else values).tolist())
    found = peaks_without(edited.slots, wanted, space.live.steps, space.live.live_bytes, space.peak_step)
    peaks = NextPeaks(edited.slots.value[wanted], *found)
    if top is None:
        return peaks
    order = np.lexsort((peaks.value, -peaks.freed_bytes, peaks.next_peak_bytes))[:top]
    return NextPeaks(*(getattr(peaks, name)[order] for name in peaks.__struct_fields__))
