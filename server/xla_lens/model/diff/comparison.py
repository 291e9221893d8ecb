"""The comparison of two dumps: totals, where the change of each peak comes from, and what happened to each value."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import astuple, dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from xla_lens.model.advice.padding import padding_at
from xla_lens.model.analysis import Analysis
from xla_lens.model.attribution.owned import owned_bytes
from xla_lens.model.attribution.parameters import parameter_paths
from xla_lens.model.diff.breakdowns import WITH_SOURCES, Breakdown, By, Key, Part, breakdowns, moved_lines, renamed
from xla_lens.model.diff.changes import ValueChanges, value_changes
from xla_lens.model.diff.matching import Matching, match_values
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.tables.backend import SpaceId
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.kinds import KIND_NAMES, allocation_kinds
from xla_lens.model.tables.lookup import distinct
from xla_lens.model.warrants import Bound
from xla_lens.syntax.columns import NONE


@dataclass(frozen=True, slots=True)
class Pair:
    """A number of both dumps."""

    old: int
    new: int

    @property
    def change(self) -> int:
        """The new number minus the old one."""
        return self.new - self.old


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a breakdown: its bytes, the number of values that own them, the value that owns most (NONE if it is
    unknown or there is none), and how many bytes have a derived source, in both dumps.
    """

    key: Key
    size_bytes: Pair
    count: Pair
    value: Pair
    derived_bytes: Pair

    @property
    def change(self) -> int:
        """The change in bytes."""
        return self.size_bytes.change


@dataclass(frozen=True, slots=True, eq=False)
class SpaceSide:
    """A memory space of one dump, or of the report of one. Numbers are 0 where they are unknown, which the bounds say.

    `peak_step` is None where nothing is ever live. Each of the `breakdowns` adds up to `peak_live_bytes`. A report does
    not have what follows them, and may lack some of them. `reserved_by_kind` adds up to `reserved_bytes`,
    `matched_bytes` of the peak belong to matched values, `unknown_padding_bytes` to values whose padding is unknown.
    """

    peak_live_bytes: int
    live_bound: Bound
    peak_step: int | None
    reserved_bytes: int
    reserved_bound: Bound
    needed_bytes: int
    needed_bound: Bound
    breakdowns: Mapping[By, Breakdown]
    reserved_by_kind: Breakdown | None = None
    values: int | None = None
    allocations: int | None = None
    padding_bytes: int | None = None
    unknown_padding_bytes: int | None = None
    matched_bytes: int = 0

    @property
    def free_bytes(self) -> int:
        """The reserved bytes that are not live at the peak."""
        return self.reserved_bytes - self.peak_live_bytes


_BOUNDS: Final = {
    "peak_live_bytes": ("live_bound",),
    "padding_bytes": ("live_bound",),
    "unknown_padding_bytes": ("live_bound",),
    "reserved_bytes": ("reserved_bound",),
    "needed_bytes": ("needed_bound",),
    "free_bytes": ("live_bound", "reserved_bound"),
}
"""The bounds of the numbers of `SpaceSide`."""


@dataclass(frozen=True, slots=True, eq=False)
class SpaceComparison:
    """One memory space in both dumps; one that a dump lacks has 0 bytes there.

    The rows of each breakdown add up to the peaks, and are ordered by the size of their change. `reserved_by_kind` is
    None if one side is only the report of a dump.
    """

    id: SpaceId
    old: SpaceSide
    new: SpaceSide
    breakdowns: Mapping[By, tuple[Row, ...]]
    reserved_by_kind: tuple[Row, ...] | None

    @property
    def color(self) -> int:
        """XLA's number for the memory space."""
        return self.id.color

    @property
    def peak_live_bytes(self) -> Pair:
        """The live bytes at the peaks."""
        return Pair(self.old.peak_live_bytes, self.new.peak_live_bytes)

    @property
    def reserved_bytes(self) -> Pair:
        """The bytes of all allocations."""
        return Pair(self.old.reserved_bytes, self.new.reserved_bytes)

    @property
    def needed_bytes(self) -> Pair:
        """The reserved bytes without thread-local allocations."""
        return Pair(self.old.needed_bytes, self.new.needed_bytes)

    def exact(self, name: str) -> Pair | None:
        """Return a number of both sides by its name in `SpaceSide`; None if one of them is not exact."""
        sides = self.old, self.new
        old, new = (getattr(side, name) for side in sides)
        bounds = (getattr(side, bound) for side in sides for bound in _BOUNDS.get(name, ()))
        is_exact = None not in (old, new) and all(bound is Bound.EXACT for bound in bounds)
        return Pair(old, new) if is_exact else None


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """Two dumps of one module, or of two similar modules. `moved_lines` has the new text of source lines that an edit
    of the program moved, such as ``train.py:31``.
    """

    old: Analysis
    new: Analysis
    instructions: Pair
    values: ValueChanges
    matching: Matching
    memory_spaces: tuple[SpaceComparison, ...]
    moved_lines: Mapping[str, str]

    def __repr__(self) -> str:
        return f"<Comparison of {self.old!r} with {self.new!r}>"

    @property
    def matched_peak_bytes_fraction(self) -> float:
        """The share of the bytes at the peaks of all memory spaces of both dumps that belong to matched values, 1 if
        there are none.
        """
        sides = [side for space in self.memory_spaces for side in (space.old, space.new)]
        all_bytes = sum(side.peak_live_bytes for side in sides)
        return sum(side.matched_bytes for side in sides) / all_bytes if all_bytes else 1.0

    def space(self, color: int) -> SpaceComparison | None:
        """Return the memory space of a color, None if neither dump has it."""
        return next((space for space in self.memory_spaces if space.color == color), None)

    @property
    def is_unchanged(self) -> bool:
        """Whether nothing differs but names, ids and the order of allocations."""
        spaces = self.memory_spaces
        return not any(
            (
                self.instructions.change,
                self.values.value_class.any(),
                *(space.peak_live_bytes.change or space.reserved_bytes.change for space in spaces),
                *(row.change for space in spaces for rows in space.breakdowns.values() for row in rows),
                *(row.change for space in spaces for row in space.reserved_by_kind or ()),
            )
        )


def compare_analyses(
    old: Analysis, old_module: HloModule | None, new: Analysis, new_module: HloModule | None
) -> Comparison:
    """Compare two dumps. The HLO modules only improve source lines; since jaxlib 0.8.2 only they have them."""
    matching = match_values(old.dump, new.dump)
    old_paths, new_paths = (
        frozenset(parameter_paths(one.dump, module).values()) for one, module in ((old, old_module), (new, new_module))
    )
    if old_module is None or new_module is None:
        # What only one module says of its dump is no difference between the two.
        old_module = new_module = None
    old_spaces = space_sides(old, old_module, new_paths, matching.new_of_old != NONE)
    new_spaces = space_sides(new, new_module, old_paths, matching.old_of_new != NONE)

    def space_id(color: int) -> SpaceId:
        return (new if color in new_spaces else old).dump.space_id(color)

    spaces, moved = compare_spaces(old_spaces, new_spaces, space_id)
    return Comparison(
        old=old,
        new=new,
        instructions=Pair(len(old.dump.schedule), len(new.dump.schedule)),
        values=value_changes(old.dump, old.memory, new.dump, new.memory, matching),
        matching=matching,
        memory_spaces=spaces,
        moved_lines=moved,
    )


def space_sides(
    one: Analysis, module: HloModule | None, other_paths: Collection[str], is_matched: NDArray[np.bool_]
) -> dict[int, SpaceSide]:
    """Return the memory spaces of a dump by color. `other_paths` are the paths of the parameters of the other dump."""
    dump, found = one.dump, {}
    has_live_ranges = len(dump.live_ranges) > 0
    for space in one.memory.spaces:
        padding_bytes = unknown_bytes = matched_bytes = 0
        by: Mapping[By, Breakdown] = _NOTHING_LIVE
        if space.peak_step is not None:
            values, owned = owned_bytes(dump, space.peak_step, space.color)
            padding = padding_at(dump, values, owned)
            padding_bytes, unknown_bytes = padding.total_bytes, padding.unknown_bytes
            matched_bytes = int(owned[is_matched[values]].sum())
            by = breakdowns(dump, module, space.peak_step, space.color, other_paths=other_paths)
        found[space.color] = SpaceSide(
            peak_live_bytes=space.peak_live_bytes,
            live_bound=space.live_bound if has_live_ranges else Bound.UNKNOWN,
            peak_step=space.peak_step,
            reserved_bytes=space.reserved_bytes,
            reserved_bound=space.reserved_bound,
            needed_bytes=space.needed_bytes,
            needed_bound=space.reserved_bound,
            breakdowns=by,
            reserved_by_kind=_reserved_by_kind(dump, space.color),
            values=int((dump.values.color == space.color).sum()),
            allocations=int((dump.allocations.color == space.color).sum()),
            padding_bytes=padding_bytes,
            unknown_padding_bytes=unknown_bytes,
            matched_bytes=matched_bytes,
        )
    return found


_NOTHING_LIVE: Final[Mapping[By, Breakdown]] = {by: {} for by in By}


def _reserved_by_kind(dump: DumpSet, color: int) -> Breakdown:
    is_here = dump.allocations.color == color
    kinds, sizes = allocation_kinds(dump)[is_here], dump.allocations.size_bytes[is_here]
    return {
        KIND_NAMES[kind]: Part(sum(sizes[kinds == kind].tolist()), int((kinds == kind).sum()))
        for kind in distinct(kinds).tolist()
    }


_NO_SPACE: Final = SpaceSide(0, Bound.EXACT, None, 0, Bound.EXACT, 0, Bound.EXACT, _NOTHING_LIVE, {}, 0, 0, 0, 0)


def compare_spaces(
    old: Mapping[int, SpaceSide], new: Mapping[int, SpaceSide], space_id: Callable[[int], SpaceId]
) -> tuple[tuple[SpaceComparison, ...], Mapping[str, str]]:
    """Compare the memory spaces of two dumps, and return the source lines that moved as well."""
    sides = {color: (old.get(color, _NO_SPACE), new.get(color, _NO_SPACE)) for color in sorted({*old, *new})}
    groups = ([side.breakdowns.get(By.GROUP, {}) for side in pair] for pair in sides.values())
    moved = moved_lines((one, other) for one, other in groups)
    return tuple(_compared(space_id(color), *pair, moved) for color, pair in sides.items()), moved


def _compared(space: SpaceId, old: SpaceSide, new: SpaceSide, moved: Mapping[str, str]) -> SpaceComparison:
    old_rows = {
        by: renamed(rows, lambda line: moved.get(line, line)) if moved and by in WITH_SOURCES else rows
        for by, rows in old.breakdowns.items()
    }
    return SpaceComparison(
        id=space,
        old=old,
        new=new,
        breakdowns={by: _joined(old_rows[by], rows) for by, rows in new.breakdowns.items() if by in old_rows},
        reserved_by_kind=(
            _joined(old.reserved_by_kind, new.reserved_by_kind)
            if old.reserved_by_kind is not None and new.reserved_by_kind is not None
            else None
        ),
    )


_NOTHING: Final = Part(0, 0)


def _joined(old: Breakdown, new: Breakdown) -> tuple[Row, ...]:
    """Join the rows of two breakdowns by their keys, the biggest change first."""
    rows = []
    for key in {**old, **new}:
        sides = (astuple(of_side.get(key, _NOTHING)) for of_side in (old, new))
        size_bytes, count, value, derived_bytes = map(Pair, *sides)
        rows.append(Row(key, size_bytes, count, value, derived_bytes))
    return tuple(sorted(rows, key=_by_change))


def _by_change(row: Row) -> tuple[int, int, str]:
    return -abs(row.change), -max(row.size_bytes.old, row.size_bytes.new), str(row.key)
