"""Rows that an earlier finding covers. Later checks skip them, so that one cause yields one finding."""

from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.syntax.columns import NONE, Column

Marks: TypeAlias = NDArray[np.bool_]


@dataclass(slots=True, eq=False)
class Tainted:
    """What the checks of one dump set have found to be unreliable so far.

    `values`, `allocations` and `used_values` mark rows of these tables, `names` marks numbers of names. `broken_files`
    are the ids of files that are cut off or have unknown lines: nothing counts as missing there. `is_liveness_sound`
    turns false with the first finding that may change which values are live at which step, `are_sizes_sound` if any
    allocation may have another size.
    """

    values: Marks
    allocations: Marks
    used_values: Marks
    names: Marks
    broken_files: set[int] = field(default_factory=set)
    is_liveness_sound: bool = True
    are_sizes_sound: bool = True

    def is_whole(self, file: DumpFile | None) -> bool:
        """Whether the set has the file with all of its lines, so that what is not there is missing."""
        return file is not None and id(file) not in self.broken_files

    def copy(self) -> "Tainted":
        """Return marks that can be changed without changing these."""
        marks = self.values.copy(), self.allocations.copy(), self.used_values.copy(), self.names.copy()
        return Tainted(*marks, self.broken_files, self.is_liveness_sound)

    def taint_values(self, values: Column) -> None:
        """Mark rows of values; ignores NONE."""
        self.values[values[values != NONE]] = True
        self.is_liveness_sound &= not np.any(values != NONE)


def nothing_tainted(dump: DumpSet) -> Tainted:
    """The state before the first check."""
    return Tainted(
        values=np.zeros(len(dump.values), bool),
        # A header that cannot be read has one finding.
        allocations=dump.allocations.index == NONE,
        used_values=np.zeros(len(dump.used_values), bool),
        names=np.zeros(len(dump.names), bool),
    )


def is_marked(marks: Marks, rows: Column) -> Marks:
    """For each row whether it is marked; NONE counts as marked."""
    return np.append(marks, np.True_)[rows]
