"""Values and allocations as hovers list them."""

from typing import Final

import numpy as np

from xla_lens.features.hover.facts import AllocationName, ValueName
from xla_lens.model.attribution.parameters import parameter_path
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.syntax.columns import Column, Kind

LONGEST_LIST: Final = 8
"""Maximum number of values in a list of a hover."""


def allocation_name(dump: DumpSet, allocation: int) -> AllocationName:
    """Return a row of `DumpSet.allocations` as hovers refer to it."""
    table = dump.allocations
    return AllocationName(
        int(table.index[allocation]),
        int(table.size_bytes[allocation]),
        Kind(max(0, int(table.kind[allocation]))),
        parameter_path(dump, None, allocation),
    )


def value_name(dump: DumpSet, value: int) -> ValueName:
    """Return a row of `DumpSet.values` as hovers list it."""
    values = dump.values
    return ValueName(
        dump.value_label(value),
        int(values.size_bytes[value]),
        int(values.start_step[value]),
        int(values.end_step[value]),
    )


def largest(dump: DumpSet, values: Column) -> tuple[ValueName, ...]:
    """Return the largest of `values`, largest first."""
    order = np.argsort(-dump.values.size_bytes[values], kind="stable")
    return tuple(value_name(dump, value) for value in values[order[:LONGEST_LIST]].tolist())
