"""How hovers name what they do not tell all of."""

from typing import Final

import numpy as np

from xla_lens.features.hover.facts import AllocationName, ValueName
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.syntax.columns import Column, Kind

LONGEST_LIST: Final = 8
"""How many values are told of an allocation, and of what is born or dies at a step."""


def allocation_name(dump: DumpSet, allocation: int) -> AllocationName:
    """The name of a row of `DumpSet.allocations`."""
    table = dump.allocations
    return AllocationName(
        int(table.index[allocation]), int(table.size_bytes[allocation]), Kind(max(0, int(table.kind[allocation])))
    )


def value_name(dump: DumpSet, value: int) -> ValueName:
    """The name of a row of `DumpSet.values`."""
    values = dump.values
    return ValueName(
        dump.value_label(value),
        int(values.size_bytes[value]),
        int(values.start_step[value]),
        int(values.end_step[value]),
    )


def largest(dump: DumpSet, values: Column) -> tuple[ValueName, ...]:
    """The names of the biggest of some values."""
    order = np.argsort(-dump.values.size_bytes[values], kind="stable")
    return tuple(value_name(dump, value) for value in values[order[:LONGEST_LIST]].tolist())
