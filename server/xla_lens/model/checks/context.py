"""What the checks of a dump set share: findings at rows, labels of rows, and which rows a finding covers already."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Self, SupportsIndex, TypeAlias

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from xla_lens.model.checks.codes import Severity
from xla_lens.model.checks.problems import Finding, Findings, Problem, Related, Relation
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.places.places import Place, row_place
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.lookup import repeated, taken
from xla_lens.syntax.columns import NONE, Column, FileTable, cells
from xla_lens.syntax.hlo.module import Computations, Instructions
from xla_lens.syntax.tables import Allocations, LiveRanges, PeakBuffers, Positions, Schedule, Slices, UsedValues, Uses

Marks: TypeAlias = NDArray[np.bool_]
Named: TypeAlias = Slices | UsedValues | Positions | Uses | LiveRanges | PeakBuffers
"""Tables with a name and an index in each row."""

Fact: TypeAlias = Any
"""A column of a table, a function of its rows, or the same fact for all rows."""
RelatedRows: TypeAlias = tuple[FileTable, Fact, Relation]
"""A table, the rows of it that are related to rows of another, as a fact of these, and how they are related."""

_ASSIGNMENT: Final = (Allocations, Slices)
_USED: Final = (UsedValues, Positions, Uses)
_MODULE: Final = (Instructions, Computations)


class Context(Struct, eq=False):
    """A dump set and its HLO module if it is held against one, and what the checks have found so far.

    `values` and `allocations` mark the rows of these tables that a finding covers, `names` the numbers of names. Later
    findings about such rows are consequences and are left out, so that one cause gives one finding. `broken_files` are
    the ids of files that are cut off or have damaged lines: nothing counts as missing there.
    """

    dump: DumpSet
    module: HloModule | None
    values: Marks
    allocations: Marks
    names: Marks
    broken_files: set[int] = field(default_factory=set)

    @classmethod
    def of(cls, dump: DumpSet, module: HloModule | None = None) -> Self:
        """The context before the first check. A header of an allocation that cannot be read has a finding."""
        values, names = (np.zeros(len(table), bool) for table in (dump.values, dump.names))
        return cls(dump, module, values, dump.allocations.index == NONE, names)

    def is_whole(self, *files: DumpFile | None) -> bool:
        """Whether the set has the files with all of their lines, so that what is not there is missing."""
        return all(file is not None and id(file) not in self.broken_files for file in files)

    def place(self, table: FileTable, row: SupportsIndex, start: str = "start", end: str = "end") -> Place:
        """Return the place of a row, from one column to another."""
        dump, kind = self.dump, type(table)
        file = dump.assignment if kind in _ASSIGNMENT else dump.used if kind in _USED else dump.live
        if self.module and kind in _MODULE:
            file = self.module.file
        assert file is not None, "it has rows"
        return row_place(file, table, int(row), start, end)

    def related(self, table: FileTable, rows: Iterable[SupportsIndex], relation: Relation) -> tuple[Related, ...]:
        """Return rows as related locations, without NONE."""
        span = ("instruction_start", "instruction_end") if relation is Relation.QUOTED_INSTRUCTION else ()
        return tuple(Related(self.place(table, row, *span), relation) for row in rows if row != NONE)

    def labels(self, table: Named) -> Callable[[SupportsIndex], str]:
        """Return the name and the index in each row, as a fact of findings."""
        return lambda row: self.dump.label(table.name.item(row), table.index.item(row))

    def names_in(self, names: Column) -> Callable[[SupportsIndex], str]:
        """Return the name in each row of a column of names, nothing for NONE, as a fact of findings."""
        return lambda row: self.dump.label(names.item(row), NONE) if names[row] != NONE else ""

    def values_in(self, values: Column) -> Callable[[SupportsIndex], str]:
        """Return the label in each row of a column of values, nothing for NONE, as a fact of findings."""
        return lambda row: self.dump.value_label(values.item(row)) if values[row] != NONE else ""

    def value_of(self, table: Positions | Uses) -> Column:
        """Return the value of each position or use, NONE below an unreadable header."""
        return taken(self.dump.value_of_used_value, table.value)

    def found(
        self,
        table: FileTable,
        rows: Marks | Sequence[int],
        problem: Problem,
        *facts: Fact,
        severity: Severity = Severity.ERROR,
        related: RelatedRows | None = None,
        span: tuple[str, str] = ("start", "end"),
        values: Sequence[Column] = (),
        names: Sequence[Column] = (),
    ) -> Findings:
        """Yield a problem at some rows, and cover what these are about: the value, allocation or instruction in the
        row, `values` and `names`. Leaves out rows about something that a finding covers.
        """
        chosen = marked(rows) if isinstance(rows, np.ndarray) else rows
        about = self._about(table) if chosen else []
        about += [*((self.values, of) for of in values), *((self.names, of) for of in names)]
        for row in chosen:
            subjects = [(marks, subject) for marks, of in about if (subject := of.item(row)) != NONE]
            if any(marks[subject] for marks, subject in subjects):
                continue
            for marks, subject in subjects:
                marks[subject] = True
            others = self.related(related[0], np.atleast_1d(_of_row(related[1], row)), related[2]) if related else ()
            place = self.place(table, row, *span)
            yield Finding(severity, place, problem(*(_of_row(fact, row) for fact in facts)), others)

    def _about(self, table: FileTable) -> list[tuple[Marks, Column]]:
        """The value, allocation or instruction that each row of a table is about, in the marks of what is covered."""
        dump = self.dump
        match table:
            case Allocations():
                return [(self.allocations, np.arange(len(table)))]
            case Slices():
                return [(self.values, dump.value_of_slice)]
            case UsedValues():
                return [(self.values, dump.value_of_used_value)]
            case Positions() | Uses():
                return [(self.values, self.value_of(table))]
            case LiveRanges():
                return [(self.values, dump.value_of_live_range)]
            case Schedule():
                return [(self.names, table.name)]
        return []

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
                # Without the test, NONE would be the last row, which an empty table does not have.
                if row != NONE:
                    marks[row] = True

    def repeats(
        self, table: FileTable, keys: Iterable[Column], problem: Problem, *facts: Fact, known: Marks | None = None
    ) -> Findings:
        """Yield a problem at each row that has the same keys as one before it, and cover both rows. Without `known`,
        rows of unknown values are left out.
        """
        rows = np.flatnonzero(self._about(table)[0][1] != NONE if known is None else known)
        first, again = (rows[of] for of in repeated(key[rows] for key in keys))
        for before, row in cells(first, again):
            related = (table, before, Relation.OTHER_OCCURRENCE)
            yield from self.found(table, [row], problem, *facts, related=related)
            for marks, of in self._about(table):
                if of[before] != NONE:
                    marks[of[before]] = True


def _of_row(fact: Any, row: int) -> Any:
    return fact[row] if isinstance(fact, np.ndarray) else fact(row) if callable(fact) else fact


def marked(marks: Marks) -> list[int]:
    """Return the marked rows."""
    return np.flatnonzero(marks).tolist()
