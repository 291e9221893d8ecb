"""What changed between two dumps: the facts of `xla-lens diff`, and limits on how much memory a program may grow."""

from collections.abc import Iterable, Iterator, Mapping
from enum import Enum, auto
from itertools import product
from typing import NamedTuple

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from xla_lens.diff.baseline import Baseline
from xla_lens.diff.options import DiffOptions, Increase
from xla_lens.model.attribution.frames import Origins
from xla_lens.model.diff.breakdowns import Pair
from xla_lens.model.diff.causes import ChangeCause, causes
from xla_lens.model.diff.changes import ValueClass
from xla_lens.model.diff.comparable import Difference, DiffSide, differences
from xla_lens.model.diff.comparison import Comparison, SpaceComparison, compare_analyses, compare_spaces, space_sides
from xla_lens.model.memory.printed_peak import DEFAULT_COLOR
from xla_lens.model.tables.backend import SpaceId
from xla_lens.model.tables.lookup import taken
from xla_lens.syntax.columns import Column


class Diff(Struct, frozen=True, eq=False):
    """The comparison of two dumps, or of a dump with the report of an older one, which has no `comparison`.

    `differences` make the dumps hard to compare, the most important first. The dumps prove the `causes`. `rows` are the
    rows of `comparison.values` that are not unchanged, the biggest change of bytes at the peaks first.
    """

    old: DiffSide | Baseline
    new: DiffSide
    options: DiffOptions
    memory_spaces: tuple[SpaceComparison, ...]
    comparison: Comparison | None
    differences: tuple[Difference, ...]
    causes: tuple[ChangeCause, ...]
    rows: Column

    @property
    def name(self) -> str | None:
        """The name of the module, the new one if it was renamed."""
        return self.new.name or self.old.name

    @property
    def default_space(self) -> SpaceComparison | None:
        """The default memory space: HBM, or host memory on a CPU. None if neither dump has an allocation in it."""
        return next((space for space in self.memory_spaces if space.color == DEFAULT_COLOR), None)


def diff(old: DiffSide | Baseline, new: DiffSide, options: DiffOptions) -> Diff:
    """Compare two dumps, or a dump with the report of an older one: totals, and the breakdowns that the report has."""
    if isinstance(old, DiffSide):
        return diff_of(compare_analyses(old.analysis, new.analysis), old, new, options)
    paths = {owner.path for side in old.spaces.values() for owner in side.owners or () if owner.path}
    old_spaces, origins = old.spaces, Origins(new.dump, new.analysis.module)
    if not origins.parameter_paths:
        old_spaces = {
            color: replace(side, owners=side.owners and tuple(replace(owner, path=None) for owner in side.owners))
            for color, side in old.spaces.items()
        }
    spaces = compare_spaces(old_spaces, space_sides(new.analysis, origins, paths), new.dump.space_id)
    return Diff(old, new, options, spaces, None, tuple(differences(None, new, 1)), (), np.zeros(0, np.int64))


def diff_of(comparison: Comparison, old: DiffSide, new: DiffSide, options: DiffOptions) -> Diff:
    """Return the facts of a comparison of two dumps."""
    found = tuple(differences(old, new, comparison.matched_peak_bytes_fraction))
    rows = _biggest_first(comparison)
    return Diff(old, new, options, comparison.memory_spaces, comparison, found, tuple(causes(comparison)), rows)


def _biggest_first(comparison: Comparison) -> Column:
    values = comparison.values
    # A value that one dump does not have has no bytes there.
    old = np.maximum(taken(comparison.old.dump.values.size_bytes, values.old), 0)
    new = np.maximum(taken(comparison.new.dump.values.size_bytes, values.new), 0)
    order = np.lexsort((-np.maximum(old, new), -np.abs(new * values.is_at_new_peak - old * values.is_at_old_peak)))
    rows: Column = order[values.value_class[order] != ValueClass.UNCHANGED]
    return rows


# ---------------------------------------------------------------- limits, for continuous integration


class LimitedNumber(Enum):
    """The numbers of a memory space that can have limits."""

    NEEDED = auto()
    PEAK = auto()


class Violation(NamedTuple):
    """A memory space of which a number grew by more than a limit allows. `sizes` is None if the dumps do not determine
    the change, so that the limit cannot be checked.
    """

    number: LimitedNumber
    limit: Increase
    space: SpaceId
    sizes: Pair | None


def violations(one: Diff, limits: Mapping[LimitedNumber, Iterable[Increase]]) -> Iterator[Violation]:
    """Yield the limits that a comparison violates."""
    for number, increases in limits.items():
        for limit, space in product(increases, one.memory_spaces):
            is_about = space.id in limit.spaces if limit.spaces else space.color == DEFAULT_COLOR
            exact = space.exact
            sizes = exact.needed_bytes if number is LimitedNumber.NEEDED else exact.peak_live_bytes
            if is_about and (sizes is None or limit.is_exceeded(*sizes)):
                yield Violation(number, limit, space.id, sizes)
