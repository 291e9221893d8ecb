"""What earlier checks have found wrong. Later ones leave it out, so that one cause gives one finding."""

from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.syntax.columns import NONE, Column

Marks: TypeAlias = NDArray[np.bool_]


@dataclass(slots=True, eq=False)
class Doubts:
    """Grows as the checks go on: rows of `values`, `allocations` and `used_values` and numbers of names that are in a
    finding. `broken` are the files that are cut off or have lines that are none; in those nothing is missed.

    `is_timing_sound` tells that nothing was found that changes which values are live when.
    """

    values: Marks
    allocations: Marks
    used_values: Marks
    names: Marks
    broken: set[int] = field(default_factory=set)
    is_timing_sound: bool = True

    def is_whole(self, file: DumpFile | None) -> bool:
        """Whether a file is there with all of its lines, so that what it lacks is missing."""
        return file is not None and id(file) not in self.broken

    def doubt_values(self, values: Column) -> None:
        """Leaves values out from now on; NONE is none."""
        self.values[values[values != NONE]] = True
        self.is_timing_sound &= not np.any(values != NONE)


def no_doubts(dump: DumpSet) -> Doubts:
    """Before all checks."""
    return Doubts(
        values=np.zeros(len(dump.values), bool),
        allocations=np.zeros(len(dump.allocations), bool),
        used_values=np.zeros(len(dump.used_values), bool),
        names=np.zeros(len(dump.names), bool),
    )


def in_doubt(marks: Marks, rows: Column) -> Marks:
    """For each row whether it is marked; the row NONE is."""
    return np.append(marks, np.True_)[rows]
