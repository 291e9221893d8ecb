"""What the checks of a dump set share: places and labels of rows, and which rows a finding covers already."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, Self, SupportsIndex, TypeAlias

import numpy as np
from numpy.typing import NDArray

from xla_lens.model.checks.findings import Finding, Related, Relation, Rows, error, warning
from xla_lens.model.checks.problems import Occurrence
from xla_lens.model.places.places import Place, row_place
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.lookup import repeated, taken
from xla_lens.syntax.columns import (
    NONE,
    Allocations,
    Column,
    LiveRanges,
    PeakBuffers,
    Positions,
    Slices,
    Table,
    UsedValues,
    Uses,
)

Marks: TypeAlias = NDArray[np.bool_]
Named: TypeAlias = Slices | UsedValues | Positions | Uses | LiveRanges | PeakBuffers
"""Tables with a name and an index in each row."""

_ASSIGNMENT: Final = (Allocations, Slices)
_USED: Final = (UsedValues, Positions, Uses)


@dataclass(slots=True, eq=False)
class Context:
    """A dump set, and what its checks have found so far.

    `values` and `allocations` mark the rows of these tables that a finding covers, `names` the numbers of names. Later
    findings about such rows are consequences and are left out, so that one cause gives one finding. `broken_files` are
    the ids of files that are cut off or have damaged lines: nothing counts as missing there.
    """

    dump: DumpSet
    values: Marks
    allocations: Marks
    names: Marks
    broken_files: set[int] = field(default_factory=set)

    @classmethod
    def of(cls, dump: DumpSet) -> Self:
        """The context before the first check. A header of an allocation that cannot be read has a finding."""
        values, names = (np.zeros(len(table), bool) for table in (dump.values, dump.names))
        return cls(dump, values, dump.allocations.index == NONE, names)

    @property
    def is_liveness_known(self) -> bool:
        """Whether no finding may change which values are live at which step."""
        return not (np.any(self.values) or np.any(self.names))

    def is_whole(self, *files: DumpFile | None) -> bool:
        """Whether the set has the files with all of their lines, so that what is not there is missing."""
        return all(file is not None and id(file) not in self.broken_files for file in files)

    # ------------------------------------------------------------ rows

    def file(self, table: Table) -> DumpFile:
        """Return the file that has the rows of a table of the dump set."""
        dump = self.dump
        kind = type(table)
        file = dump.assignment if kind in _ASSIGNMENT else dump.used if kind in _USED else dump.live
        assert file is not None, "it has rows"
        return file

    def place(self, table: Table, row: SupportsIndex) -> Place:
        """Return the place of a row."""
        return row_place(self.file(table), table, int(row))

    def related(self, table: Table, row: SupportsIndex, relation: Relation) -> tuple[Related, ...]:
        """Return a row as a related location, nothing for NONE."""
        return () if row == NONE else (Related(self.place(table, row), relation),)

    def label(self, table: Named, row: SupportsIndex) -> str:
        """Return the name and the index in a row."""
        return self.dump.label(int(table.name[row]), int(table.index[row]))

    def name(self, number: SupportsIndex) -> str:
        """Return the name with a number."""
        return self.dump.label(int(number), NONE)

    def value(self, row: SupportsIndex) -> str:
        """Return the label of a value."""
        return self.dump.value_label(int(row))

    def value_of(self, table: Positions | Uses) -> Column:
        """Return the value of each position or use, NONE below an unreadable header."""
        return taken(self.dump.value_of_used_value, table.value)

    # ------------------------------------------------------------ findings

    def error(self, table: Table, row: SupportsIndex, problem: Occurrence, *related: Related, **about: Rows) -> Finding:
        """A finding at a row for something that XLA never prints, about `values`, `names` and `allocations`."""
        return error(self.place(table, row), problem, *related, **about)

    def warning(
        self, table: Table, row: SupportsIndex, problem: Occurrence, *related: Related, **about: Rows
    ) -> Finding:
        """A finding at a row for something that no known dump has, although XLA's code does not rule it out."""
        return warning(self.place(table, row), problem, *related, **about)

    def free(
        self, *, values: Column | None = None, names: Column | None = None, allocations: Column | None = None
    ) -> Marks:
        """Return for each row whether no finding covers the value, the name and the allocation; false for NONE."""
        kinds = (self.values, values), (self.names, names), (self.allocations, allocations)
        found = [~np.append(marks, np.True_)[rows] for marks, rows in kinds if rows is not None]
        free: Marks = np.logical_and.reduce(found)
        return free

    def cover(self, *, values: Iterable[int] = (), names: Iterable[int] = (), allocations: Iterable[int] = ()) -> None:
        """Mark rows; ignores NONE."""
        for marks, rows in ((self.values, values), (self.names, names), (self.allocations, allocations)):
            for row in rows:
                if row != NONE:
                    marks[row] = True

    def kept(self, findings: Iterable[Finding]) -> Iterator[Finding]:
        """Pass on the findings about rows that no finding covers, and mark their rows."""
        for finding in findings:
            kinds = (self.values, finding.values), (self.names, finding.names), (self.allocations, finding.allocations)
            if not any(marks[row] for marks, rows in kinds for row in rows if row != NONE):
                self.cover(values=finding.values, names=finding.names, allocations=finding.allocations)
                yield finding


def marked(marks: Marks) -> list[int]:
    """Return the marked rows."""
    return np.flatnonzero(marks).tolist()


def repeats(keys: Iterable[Column], known: Marks) -> Iterator[tuple[int, int]]:
    """Yield two rows that have the same keys, one after the other, for all known rows."""
    rows = np.flatnonzero(known)
    first, again = repeated(key[rows] for key in keys)
    return zip(rows[first].tolist(), rows[again].tolist(), strict=True)
