"""What changed between two dumps: the facts of `xla-lens diff`."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from xla_lens.features.diff.options import DiffOptions
from xla_lens.model.analysis import Analysis
from xla_lens.model.diff.causes import ChangeCause, causes
from xla_lens.model.diff.changes import ValueClass
from xla_lens.model.diff.comparable import Difference, NoLiveRanges, differences
from xla_lens.model.diff.comparison import Comparison, SpaceComparison, compare_analyses
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.memory.printed_peak import DEFAULT_COLOR
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.syntax.columns import NONE, Column
from xla_lens.syntax.file_names import FileKind, module_name


@dataclass(frozen=True, slots=True, eq=False)
class DiffSide:
    """One of two dumps: its analysis, its HLO module if it is known, and the labels of its files."""

    analysis: Analysis
    module: HloModule | None
    files: Mapping[FileKind, str]

    @property
    def name(self) -> str | None:
        """The name of the HLO module, None if the names of the files do not contain it."""
        return next((name for label in self.files.values() if (name := module_name(label))), None)

    @property
    def dump(self) -> DumpSet:
        """The tables of the dump."""
        return self.analysis.dump


@dataclass(frozen=True, slots=True, eq=False)
class Diff:
    """The comparison of two dumps. `differences` make them hard to compare, the most important first. The dumps prove
    the `causes`. `rows` are the rows of `comparison.values` that are not unchanged, the biggest change of bytes at the
    peaks first.
    """

    old: DiffSide
    new: DiffSide
    options: DiffOptions
    comparison: Comparison
    differences: tuple[Difference, ...]
    causes: tuple[ChangeCause, ...]
    rows: Column

    @property
    def name(self) -> str | None:
        """The name of the module, the new one if it was renamed."""
        return self.new.name or self.old.name

    @property
    def has_peaks(self) -> bool:
        """Whether both dumps have live ranges; without them there is no peak to compare."""
        return not any(isinstance(difference, NoLiveRanges) for difference in self.differences)

    @property
    def default_space(self) -> SpaceComparison | None:
        """The default memory space: HBM, or host memory on a CPU. None if neither dump has an allocation in it."""
        return self.comparison.space(DEFAULT_COLOR)


def diff(old: DiffSide, new: DiffSide, options: DiffOptions) -> Diff:
    """Compare two dumps."""
    comparison = compare_analyses(old.analysis, old.module, new.analysis, new.module)
    found = differences(old.analysis, old.module, new.analysis, new.module, comparison.matched_peak_bytes_fraction)
    return Diff(old, new, options, comparison, tuple(found), tuple(causes(comparison)), _biggest_first(comparison))


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
