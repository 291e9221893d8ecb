"""Values that have no allocation by design.

XLA gives an address into another buffer, a view, a memory space of its own, which has no allocations
(BufferAssigner::Options::dus_view_color). It prints a live range for a view, but no position of it.
"""

import numpy as np

from xla_lens.model.checks.tainted import Marks
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.lookup import taken
from xla_lens.syntax.columns import NONE


def views_in_used_values(dump: DumpSet) -> Marks:
    """Return which values are in a memory space without allocations."""
    color = taken(dump.used_values.color, dump.values.used_value)
    is_view: Marks = (color > 0) & ~np.isin(color, dump.allocations.color) & ~np.isin(color, dump.slices.color)
    return is_view


def views_in_live_ranges(dump: DumpSet) -> Marks:
    """Return which live ranges are of scheduled instructions that are no tuples, and no position of a value."""
    ranges = dump.live_ranges
    is_scheduled = dump.schedule_row_of_name[ranges.name] != NONE
    is_view: Marks = is_scheduled & (ranges.index == 0) & ~np.isin(ranges.name, dump.positions.name)
    return is_view
