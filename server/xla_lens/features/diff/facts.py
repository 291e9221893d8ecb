"""What changed between two dumps: the facts of `xla-lens diff`."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from xla_lens.features.diff.baseline import Baseline, BaselineSpace
from xla_lens.features.diff.options import DiffOptions
from xla_lens.model.analysis import Analysis
from xla_lens.model.attribution.parameters import parameter_paths
from xla_lens.model.diff.breakdowns import Argument, Breakdown, By, Key, Part, breakdowns
from xla_lens.model.diff.causes import ChangeCause, causes
from xla_lens.model.diff.changes import ValueClass
from xla_lens.model.diff.comparable import (
    Difference,
    NoLiveRanges,
    Side,
    Unreadable,
    differences,
    other_compiler,
    other_flags,
    unreadable_files,
)
from xla_lens.model.diff.comparison import Comparison, Pair, SpaceComparison, bound_of_change, compare_analyses, joined
from xla_lens.model.diff.moved_lines import moved_lines_of_groups, with_moved_lines
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.memory.printed_peak import DEFAULT_COLOR
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.warrants import Bound
from xla_lens.syntax.columns import NONE, Column
from xla_lens.syntax.file_names import FileKind, changelist, module_name


@dataclass(frozen=True, slots=True, eq=False)
class DiffSide:
    """One of two dumps: its analysis, its HLO module and the flags of the compiler if they are known, and the labels of
    its files.
    """

    analysis: Analysis
    module: HloModule | None
    files: Mapping[FileKind, str]
    flags: Mapping[str, str] | None = None

    @property
    def name(self) -> str | None:
        """The name of the HLO module, None if the names of the files do not contain it."""
        return next((name for label in self.files.values() if (name := module_name(label))), None)

    @property
    def changelist(self) -> int | None:
        """The changelist of libtpu, None if the names of the files do not contain it."""
        return next((number for label in self.files.values() if (number := changelist(label)) is not None), None)

    @property
    def has_live_ranges(self) -> bool:
        """Whether the dump has live ranges; without them there is no peak."""
        return len(self.dump.live_ranges) > 0

    def live_bound(self, color: int) -> Bound:
        """How the peak of a memory space relates to the true one."""
        space = self.analysis.memory.space(color)
        return space.live_bound if space else Bound.EXACT

    @property
    def dump(self) -> DumpSet:
        """The tables of the dump."""
        return self.analysis.dump


@dataclass(frozen=True, slots=True, eq=False)
class Diff:
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
    def unreadable(self) -> tuple[Unreadable, ...]:
        """The files of both dumps that could not be read."""
        return tuple(difference for difference in self.differences if isinstance(difference, Unreadable))

    @property
    def has_peaks(self) -> bool:
        """Whether both dumps have live ranges; without them there is no peak to compare."""
        return not any(isinstance(difference, NoLiveRanges) for difference in self.differences)

    @property
    def default_space(self) -> SpaceComparison | None:
        """The default memory space: HBM, or host memory on a CPU. None if neither dump has an allocation in it."""
        return next((space for space in self.memory_spaces if space.color == DEFAULT_COLOR), None)


def diff(old: DiffSide, new: DiffSide, options: DiffOptions) -> Diff:
    """Compare two dumps."""
    comparison = compare_analyses(old.analysis, old.module, new.analysis, new.module)
    found = (
        *differences(old.analysis, old.module, new.analysis, new.module, comparison.matched_peak_bytes_fraction),
        *other_compiler(old.changelist, new.changelist),
        *other_flags(old.flags, new.flags),
    )
    spaces = comparison.memory_spaces
    proven = tuple(causes(comparison, old.module, new.module))
    return Diff(old, new, options, spaces, comparison, found, proven, _biggest_first(comparison))


def diff_with_baseline(old: Baseline, new: DiffSide, options: DiffOptions) -> Diff:
    """Compare a dump with the report of an older one: totals, and the breakdowns that the report has."""
    colors = sorted({*old.spaces, *(space.color for space in new.analysis.memory.spaces)})
    spaces_of_old = {color: old.spaces.get(color, _NO_SPACE) for color in colors}
    if not parameter_paths(new.dump, new.module):
        spaces_of_old = {color: _without_paths(one) for color, one in spaces_of_old.items()}
    paths = {path for one in spaces_of_old.values() for path in _paths(one)}
    found = {color: (one, _breakdowns(new, color, paths)) for color, one in spaces_of_old.items()}
    moved = moved_lines_of_groups((one.breakdowns.get(By.GROUP, {}), rows[By.GROUP]) for one, rows in found.values())
    spaces = tuple(_space(one, new, color, rows, moved) for color, (one, rows) in found.items())
    missing = (*unreadable_files(new.analysis), *(() if new.has_live_ranges else (NoLiveRanges(Side.NEW),)))
    return Diff(old, new, options, spaces, None, missing, (), np.zeros(0, np.int64))


def _paths(one: BaselineSpace) -> Iterator[str]:
    """The paths of parameters in a report, which may have been limited to source lines."""
    yield from (str(key) for key in one.breakdowns.get(By.PARAMETER, ()) if key is not None)
    yield from (key.name for key in one.breakdowns.get(By.LINE, ()) if isinstance(key, Argument))


def _without_paths(one: BaselineSpace) -> BaselineSpace:
    """A memory space of a report as if its parameters had no paths, as those of the other dump."""
    found = dict(one.breakdowns)
    for by in {By.PARAMETER, By.LINE} & found.keys():
        rows: dict[Key, Part] = {}
        for key, part in found[by].items():
            kept = key if by is By.LINE and not isinstance(key, Argument) else None
            known = rows.get(kept, Part(0, 0))
            rows[kept] = Part(
                size_bytes=known.size_bytes + part.size_bytes,
                count=known.count + part.count,
                derived_bytes=known.derived_bytes + part.derived_bytes,
            )
        found[by] = rows
    return replace(one, breakdowns=found)


def _breakdowns(new: DiffSide, color: int, old_paths: Collection[str]) -> Mapping[By, Breakdown]:
    space = new.analysis.memory.space(color)
    step = space.peak_step if space else None
    if step is None:
        return {by: {} for by in By}
    return breakdowns(new.dump, new.module, step, color, {}, other_paths=old_paths)


_NO_SPACE: Final = BaselineSpace(0, Bound.EXACT, None, 0, Bound.EXACT, 0, Bound.EXACT, {by: {} for by in By})


def _space(
    old: BaselineSpace, new: DiffSide, color: int, found: Mapping[By, Breakdown], moved: Mapping[str, str]
) -> SpaceComparison:
    space = new.analysis.memory.space(color)
    old_rows = {by: with_moved_lines(rows, moved) if by in _WITH_LINES else rows for by, rows in old.breakdowns.items()}
    return SpaceComparison(
        id=new.dump.space_id(color),
        peak_live_bytes=Pair(old.peak_live_bytes, space.peak_live_bytes if space else 0),
        live_bound=bound_of_change(old.live_bound, new.live_bound(color)),
        reserved_bytes=Pair(old.reserved_bytes, space.reserved_bytes if space else 0),
        reserved_bound=bound_of_change(old.reserved_bound, space.reserved_bound if space else Bound.EXACT),
        needed_bytes=Pair(old.needed_bytes, space.needed_bytes if space else 0),
        needed_bound=bound_of_change(old.needed_bound, space.reserved_bound if space else Bound.EXACT),
        old_peak_step=old.peak_step,
        new_peak_step=space.peak_step if space else None,
        breakdowns={by: joined(old_rows[by], rows) for by, rows in found.items() if by in old_rows},
        details=None,
    )


_WITH_LINES: Final = (By.LINE, By.GROUP)


def _biggest_first(comparison: Comparison) -> Column:
    values = comparison.values
    old_bytes = _bytes(comparison.old.dump, values.old) * values.is_at_old_peak
    new_bytes = _bytes(comparison.new.dump, values.new) * values.is_at_new_peak
    most = np.maximum(_bytes(comparison.old.dump, values.old), _bytes(comparison.new.dump, values.new))
    changed = np.flatnonzero(values.value_class != ValueClass.UNCHANGED)
    order = np.lexsort((changed, -most[changed], -np.abs(new_bytes - old_bytes)[changed]))
    rows: Column = changed[order]
    return rows


def _bytes(dump: DumpSet, values: Column) -> Column:
    sizes = np.append(np.maximum(dump.values.size_bytes, 0), 0)
    found: Column = sizes[np.where(values == NONE, len(dump.values), values)]
    return found
