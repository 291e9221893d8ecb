"""The comparison of two dumps: totals, where the change of each peak comes from, and what happened to each value."""

from collections.abc import Callable, Collection, Hashable, Mapping
from typing import Final, Self

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from xla_lens.model.analysis import Analysis
from xla_lens.model.attribution.frames import Origins
from xla_lens.model.attribution.owned import owned_bytes
from xla_lens.model.attribution.parameters import folded_paths
from xla_lens.model.diff.breakdowns import BreakdownRow, By, Owner, Pair, moved_lines, owners_at, rows_by
from xla_lens.model.diff.changes import ValueChanges, value_changes
from xla_lens.model.diff.matching import Matching, match_values
from xla_lens.model.diff.traits import read_traits
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.memory.padding import padding_at
from xla_lens.model.tables.backend import SpaceId
from xla_lens.model.tables.kinds import KIND_NAMES, allocation_kinds
from xla_lens.model.warrants import Bound
from xla_lens.syntax.columns import NONE, cells


class SpaceSide(Struct, frozen=True, eq=False):
    """A memory space of one dump, or of the report of one. Numbers are 0 where they are unknown, which the bounds say.

    `peak_step` is None where nothing is ever live. The `owners` add up to `peak_live_bytes`; they are None for a report
    that does not list all of them. A report does not have what follows. The `reserved` allocations add up to
    `reserved_bytes`, `unknown_padding_bytes` belong to values whose padding is unknown.
    """

    peak_live_bytes: int
    live_bound: Bound
    peak_step: int | None
    reserved_bytes: int
    reserved_bound: Bound
    needed_bytes: int
    owners: tuple[Owner, ...] | None
    reserved: tuple[Owner, ...] | None = None
    values: int | None = None
    allocations: int | None = None
    padding_bytes: int | None = None
    unknown_padding_bytes: int | None = None

    @property
    def free_bytes(self) -> int:
        """The reserved bytes that are not live at the peak."""
        return self.reserved_bytes - self.peak_live_bytes


class ExactNumbers(Struct, frozen=True):
    """The numbers of a memory space in both dumps, as in `SpaceSide`. None unless both are known and exact."""

    peak_live_bytes: Pair | None
    needed_bytes: Pair | None
    reserved_bytes: Pair | None
    free_bytes: Pair | None
    padding_bytes: Pair | None
    unknown_padding_bytes: Pair | None
    values: Pair | None
    allocations: Pair | None


class SpaceComparison(Struct, frozen=True, eq=False):
    """One memory space in both dumps; one that a dump lacks has 0 bytes there.

    The rows of each breakdown add up to the peaks, and are ordered by the size of their change. `reserved_by_kind` is
    None if one side is only the report of a dump.
    """

    id: SpaceId
    old: SpaceSide
    new: SpaceSide
    breakdowns: Mapping[By, tuple[BreakdownRow, ...]]
    reserved_by_kind: tuple[BreakdownRow, ...] | None

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

    @property
    def exact(self) -> ExactNumbers:
        """The numbers that are exact in both dumps."""
        old, new = self.old, self.new
        live, reserved = (
            {*bounds} == {Bound.EXACT}
            for bounds in ((old.live_bound, new.live_bound), (old.reserved_bound, new.reserved_bound))
        )
        return ExactNumbers(
            peak_live_bytes=self.peak_live_bytes if live else None,
            needed_bytes=self.needed_bytes if reserved else None,
            reserved_bytes=self.reserved_bytes if reserved else None,
            free_bytes=Pair(old.free_bytes, new.free_bytes) if live and reserved else None,
            padding_bytes=_pair(old.padding_bytes, new.padding_bytes) if live else None,
            unknown_padding_bytes=_pair(old.unknown_padding_bytes, new.unknown_padding_bytes) if live else None,
            values=_pair(old.values, new.values),
            allocations=_pair(old.allocations, new.allocations),
        )


def _pair(old: int | None, new: int | None) -> Pair | None:
    return Pair(old, new) if old is not None and new is not None else None


class Comparison(Struct, frozen=True, eq=False):
    """Two dumps of one module, or of two similar modules."""

    old: Analysis
    new: Analysis
    instructions: Pair
    values: ValueChanges
    matching: Matching
    memory_spaces: tuple[SpaceComparison, ...]

    @classmethod
    def of(cls, old: Analysis, new: Analysis) -> Self:
        """Compare two dumps. The HLO modules only improve source lines; since jaxlib 0.8.2 only they have them."""
        numbers: dict[Hashable, int] = {}
        sides = [(side.dump, read_traits(side.dump, numbers)) for side in (old, new)]
        matching = match_values(*sides)
        # What only one module says of its dump is no difference between the two.
        modules = (old.module, new.module) if old.module and new.module else (None, None)
        origins = Origins(old.dump, modules[0]), Origins(new.dump, modules[1])
        old_paths, new_paths = (frozenset(of_side.parameter_paths.values()) for of_side in origins)
        spaces = space_sides(old, origins[0], new_paths), space_sides(new, origins[1], old_paths)
        return cls(
            old=old,
            new=new,
            instructions=Pair(len(old.dump.schedule), len(new.dump.schedule)),
            values=value_changes(sides[0], old.memory, sides[1], new.memory, matching),
            matching=matching,
            memory_spaces=compare_spaces(
                *spaces, lambda color: (new if color in spaces[1] else old).dump.space_id(color)
            ),
        )

    @property
    def old_module(self) -> HloModule | None:
        """The HLO module of the old dump, None if it is unknown."""
        return self.old.module

    @property
    def new_module(self) -> HloModule | None:
        """The HLO module of the new dump, None if it is unknown."""
        return self.new.module

    @property
    def matched_peak_bytes_fraction(self) -> float:
        """The share of the bytes at the peaks of all memory spaces of both dumps that belong to matched values, 1 if
        there are none.
        """
        all_bytes = matched_bytes = 0
        for space in self.memory_spaces:
            for side, partner in ((space.old, self.matching.new_of_old), (space.new, self.matching.old_of_new)):
                all_bytes += side.peak_live_bytes
                matched_bytes += sum(owner.size_bytes for owner in side.owners or () if partner[owner.value] != NONE)
        return matched_bytes / all_bytes if all_bytes else 1.0

    def space(self, color: int) -> SpaceComparison | None:
        """Return the memory space of a color, None if neither dump has it."""
        return next((space for space in self.memory_spaces if space.color == color), None)

    @property
    def is_unchanged(self) -> bool:
        """Whether nothing differs but names, ids and the order of allocations."""
        spaces = self.memory_spaces
        tables = (rows for space in spaces for rows in (*space.breakdowns.values(), space.reserved_by_kind or ()))
        totals = (pair for space in spaces for pair in (space.peak_live_bytes, space.reserved_bytes))
        has_changes = any(pair.change for pair in (self.instructions, *totals)) or self.values.value_class.any()
        return not has_changes and not any(row.change for rows in tables for row in rows)


compare_analyses: Final = Comparison.of


def space_sides(analysis: Analysis, origins: Origins, other_paths: Collection[str]) -> dict[int, SpaceSide]:
    """Return the memory spaces of a dump by color. `other_paths` are the paths of the parameters of the other dump:
    those of this one are folded together with them. If the other dump has no paths, nothing has one.
    """
    dump, found = analysis.dump, {}
    folded = folded_paths([*origins.parameter_paths.values(), *other_paths]) if other_paths else {}
    kinds, table = allocation_kinds(dump), dump.allocations
    for space in analysis.memory.spaces:
        color, step = space.color, space.peak_step
        padding = padding_at(dump, *owned_bytes(dump, step, color)) if step is not None else None
        rows = np.flatnonzero(dump.allocation_spaces == color)
        sizes = cells(table.size_bytes[rows], kinds[rows])
        found[color] = SpaceSide(
            peak_live_bytes=space.peak_live_bytes,
            live_bound=space.live_bound if len(dump.live_ranges) else Bound.UNKNOWN,
            peak_step=step,
            reserved_bytes=space.reserved_bytes,
            reserved_bound=space.reserved_bound,
            needed_bytes=space.needed_bytes,
            owners=owners_at(origins, step, color, folded) if step is not None else (),
            padding_bytes=padding.total_bytes if padding else 0,
            unknown_padding_bytes=padding.unknown_bytes if padding else 0,
        )
        if dump.assignment:
            found[color] = replace(
                found[color],
                reserved=tuple(Owner(size_bytes, KIND_NAMES[kind]) for size_bytes, kind in sizes),
                values=int((dump.values.space == color).sum()),
                allocations=len(rows),
            )
    return found


_NO_SPACE: Final = SpaceSide(0, Bound.EXACT, None, 0, Bound.EXACT, 0, (), (), 0, 0, 0, 0)


def compare_spaces(
    old: Mapping[int, SpaceSide], new: Mapping[int, SpaceSide], space_id: Callable[[int], SpaceId]
) -> tuple[SpaceComparison, ...]:
    """Compare the memory spaces of two dumps."""
    all_owners = ([owner for side in of.values() for owner in side.owners or ()] for of in (old, new))
    moved = moved_lines(*all_owners)
    found = []
    for color in sorted({*old, *new}):
        one, other = (of.get(color, _NO_SPACE) for of in (old, new))
        rows = {}
        if one.owners is not None and other.owners is not None:
            rows = {by: rows_by(by, one.owners, other.owners, moved) for by in By}
        reserved = None
        if one.reserved is not None and other.reserved is not None:
            reserved = rows_by(By.KIND, one.reserved, other.reserved, {})
        found.append(SpaceComparison(space_id(color), one, other, rows, reserved))
    return tuple(found)
