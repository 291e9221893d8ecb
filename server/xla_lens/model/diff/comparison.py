"""The comparison of two dumps: totals, where the change of each peak comes from, and what happened to each value."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from xla_lens.model.advice.padding import padding_at
from xla_lens.model.analysis import Analysis
from xla_lens.model.attribution.owned import owned_bytes
from xla_lens.model.attribution.parameters import parameter_paths
from xla_lens.model.diff.breakdowns import Breakdown, By, Key, Part, breakdowns
from xla_lens.model.diff.changes import ValueChanges, value_changes
from xla_lens.model.diff.matching import Matching, match_values
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.memory.over_time import MemorySpace
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


@dataclass(frozen=True, slots=True)
class MatchedBytes:
    """The bytes at both peaks of a memory space, and how many of them belong to matched values."""

    all_bytes: Pair
    matched_bytes: Pair


@dataclass(frozen=True, slots=True, eq=False)
class SpaceDetails:
    """What only dumps show of a memory space, and no report of them.

    `reserved_by_kind` adds up to the reserved bytes. `unknown_padding_bytes` of the peak belong to values whose padding
    is unknown.
    """

    values: Pair
    allocations: Pair
    padding_bytes: Pair
    unknown_padding_bytes: Pair
    reserved_by_kind: tuple[Row, ...]
    matched: MatchedBytes


@dataclass(frozen=True, slots=True, eq=False)
class SpaceComparison:
    """One memory space in both dumps; one that a dump lacks has 0 bytes there.

    The peak steps are None where nothing is ever live. Each of the `breakdowns` adds up to `peak_live_bytes`; its rows
    are ordered by the size of their change. `details` are None if one side is only the report of a dump.
    """

    id: SpaceId
    peak_live_bytes: Pair
    live_bound: Bound
    reserved_bytes: Pair
    reserved_bound: Bound
    needed_bytes: Pair
    needed_bound: Bound
    old_peak_step: int | None
    new_peak_step: int | None
    breakdowns: Mapping[By, tuple[Row, ...]]
    details: SpaceDetails | None

    @property
    def color(self) -> int:
        """XLA's number for the memory space."""
        return self.id.color

    @property
    def free_bytes(self) -> Pair:
        """The reserved bytes that are not live at the peak."""
        reserved, live = self.reserved_bytes, self.peak_live_bytes
        return Pair(reserved.old - live.old, reserved.new - live.new)


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """Two dumps of one module, or of two similar modules."""

    old: Analysis
    new: Analysis
    instructions: Pair
    values: ValueChanges
    matching: Matching
    memory_spaces: tuple[SpaceComparison, ...]

    def __repr__(self) -> str:
        return f"<Comparison of {self.old!r} with {self.new!r}>"

    @property
    def matched_peak_bytes_fraction(self) -> float:
        """The share of the bytes at the peaks of all memory spaces of both dumps that belong to matched values, 1 if
        there are none.
        """
        details = [space.details for space in self.memory_spaces if space.details]
        pairs = [(one.matched.all_bytes, one.matched.matched_bytes) for one in details]
        all_bytes = sum(pair.old + pair.new for pair, _ in pairs)
        return sum(pair.old + pair.new for _, pair in pairs) / all_bytes if all_bytes else 1.0

    def space(self, color: int) -> SpaceComparison | None:
        """Return the memory space of a color, None if neither dump has it."""
        return next((space for space in self.memory_spaces if space.color == color), None)

    @property
    def is_unchanged(self) -> bool:
        """Whether nothing differs but names, ids and the order of allocations."""
        details = [space.details for space in self.memory_spaces if space.details]
        return not any(
            (
                self.instructions.change,
                self.values.value_class.any(),
                *(space.peak_live_bytes.change or space.reserved_bytes.change for space in self.memory_spaces),
                *(row.change for space in self.memory_spaces for rows in space.breakdowns.values() for row in rows),
                *(row.change for one in details for row in one.reserved_by_kind),
            )
        )


def compare_analyses(
    old: Analysis, old_module: HloModule | None, new: Analysis, new_module: HloModule | None
) -> Comparison:
    """Compare two dumps. The HLO modules only improve source lines; since jaxlib 0.8.2 only they have them."""
    matching = match_values(old.dump, old_module, new.dump, new_module)
    colors = sorted({space.color for analysis in (old, new) for space in analysis.memory.spaces})
    old_paths, new_paths = (
        frozenset(parameter_paths(one.dump, module).values()) for one, module in ((old, old_module), (new, new_module))
    )
    if old_module is None or new_module is None:
        # What only one module says of its dump is no difference between the two.
        old_module = new_module = None
    sides = _Side(old, old_module, matching.moved_lines, new_paths), _Side(new, new_module, {}, old_paths)
    matched = (matching.new_of_old, matching.old_of_new)
    return Comparison(
        old=old,
        new=new,
        instructions=Pair(len(old.dump.schedule), len(new.dump.schedule)),
        values=value_changes(old.dump, old.memory, new.dump, new.memory, matching),
        matching=matching,
        memory_spaces=tuple(
            _space(*(_facts(side, color, partner != NONE) for side, partner in zip(sides, matched, strict=True)))
            for color in colors
        ),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Side:
    analysis: Analysis
    module: HloModule | None
    moved_lines: Mapping[str, str]
    other_paths: frozenset[str]


@dataclass(frozen=True, slots=True, eq=False)
class _Facts:
    """A memory space of one dump."""

    id: SpaceId
    space: MemorySpace | None
    live_bound: Bound
    reserved_bound: Bound
    values: int
    allocations: int
    padding_bytes: int
    unknown_padding_bytes: int
    matched_bytes: int
    reserved_by_kind: Breakdown
    breakdowns: Mapping[By, Breakdown]


def _facts(side: _Side, color: int, is_matched: NDArray[np.bool_]) -> _Facts:
    analysis, dump = side.analysis, side.analysis.dump
    space = analysis.memory.space(color)
    padding_bytes = unknown_bytes = matched_bytes = 0
    found: Mapping[By, Breakdown] = {by: {} for by in By}
    if space and space.peak_step is not None:
        values, owned = owned_bytes(dump, space.peak_step, color)
        padding = padding_at(dump, values, owned)
        padding_bytes, unknown_bytes = padding.total_bytes, padding.unknown_bytes
        matched_bytes = int(owned[is_matched[values]].sum())
        found = breakdowns(dump, side.module, space.peak_step, color, side.moved_lines, other_paths=side.other_paths)
    return _Facts(
        id=dump.space_id(color),
        space=space,
        live_bound=space.live_bound if space else Bound.EXACT,
        reserved_bound=space.reserved_bound if space else Bound.EXACT,
        values=int((dump.values.color == color).sum()),
        allocations=int((dump.allocations.color == color).sum()),
        padding_bytes=padding_bytes,
        unknown_padding_bytes=unknown_bytes,
        matched_bytes=matched_bytes,
        reserved_by_kind=_reserved_by_kind(dump, color),
        breakdowns=found,
    )


def _reserved_by_kind(dump: DumpSet, color: int) -> Breakdown:
    kinds, sizes = allocation_kinds(dump), dump.allocations.size_bytes
    is_here = dump.allocations.color == color
    return {
        KIND_NAMES[kind]: Part(sum(sizes[is_here & (kinds == kind)].tolist()), int((is_here & (kinds == kind)).sum()))
        for kind in distinct(kinds[is_here]).tolist()
    }


def _space(old: _Facts, new: _Facts) -> SpaceComparison:
    one, other = old.space, new.space
    peak = Pair(one.peak_live_bytes if one else 0, other.peak_live_bytes if other else 0)
    return SpaceComparison(
        id=new.id if other else old.id,
        peak_live_bytes=peak,
        live_bound=bound_of_change(old.live_bound, new.live_bound),
        reserved_bytes=Pair(one.reserved_bytes if one else 0, other.reserved_bytes if other else 0),
        reserved_bound=bound_of_change(old.reserved_bound, new.reserved_bound),
        needed_bytes=Pair(one.needed_bytes if one else 0, other.needed_bytes if other else 0),
        needed_bound=bound_of_change(old.reserved_bound, new.reserved_bound),
        old_peak_step=one.peak_step if one else None,
        new_peak_step=other.peak_step if other else None,
        breakdowns={by: joined(old.breakdowns[by], new.breakdowns[by]) for by in By},
        details=SpaceDetails(
            values=Pair(old.values, new.values),
            allocations=Pair(old.allocations, new.allocations),
            padding_bytes=Pair(old.padding_bytes, new.padding_bytes),
            unknown_padding_bytes=Pair(old.unknown_padding_bytes, new.unknown_padding_bytes),
            reserved_by_kind=joined(old.reserved_by_kind, new.reserved_by_kind),
            matched=MatchedBytes(peak, Pair(old.matched_bytes, new.matched_bytes)),
        ),
    )


def bound_of_change(one: Bound, other: Bound) -> Bound:
    """The bound of a change: it is exact if both numbers are, and otherwise unknown, because a bound of one number
    bounds no difference.
    """
    return Bound.EXACT if one is other is Bound.EXACT else Bound.UNKNOWN


_NOTHING = Part(0, 0)


def joined(old: Breakdown, new: Breakdown) -> tuple[Row, ...]:
    """Join the rows of two breakdowns by their keys, the biggest change first."""
    pairs = ((key, old.get(key, _NOTHING), new.get(key, _NOTHING)) for key in {**old, **new})
    rows = (
        Row(
            key,
            Pair(one.size_bytes, other.size_bytes),
            Pair(one.count, other.count),
            Pair(one.value, other.value),
            Pair(one.derived_bytes, other.derived_bytes),
        )
        for key, one, other in pairs
    )
    return tuple(sorted(rows, key=_by_change))


def _by_change(row: Row) -> tuple[int, int, str]:
    return -abs(row.change), -max(row.size_bytes.old, row.size_bytes.new), str(row.key)
