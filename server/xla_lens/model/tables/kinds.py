"""The kind of an allocation in one word."""

from typing import Final

import numpy as np

from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.syntax.columns import Column, Kind

_KINDS: Final = (
    (Kind.PARAMETER, "parameter"),
    (Kind.CONSTANT, "constant"),
    (Kind.THREAD_LOCAL, "thread-local"),
    (Kind.PREALLOCATED_TEMP, "temp"),
    (Kind.OUTPUT | Kind.MAYBE_LIVE_OUT, "output"),
)
"""The first match counts: a donated parameter that holds an output is a parameter."""

KIND_NAMES: Final = (*(name for _, name in _KINDS), "other")


def allocation_kinds(dump: DumpSet) -> Column:
    """Return the kind of each allocation, an index into `KIND_NAMES`."""
    fits = [(dump.allocations.kind & int(kind)) != 0 for kind, _ in _KINDS]
    numbers: Column = np.argmax([*fits, np.ones(len(dump.allocations), bool)], axis=0)
    return numbers


def is_thread_local(dump: DumpSet) -> Column:
    """Return whether each allocation is in registers or on stacks, so that the device need not provide it."""
    is_local: Column = (np.maximum(dump.allocations.kind, 0) & int(Kind.THREAD_LOCAL)) != 0
    return is_local


def kind_of(dump: DumpSet, allocation: int) -> Kind:
    """Return the kinds in the header of an allocation, a row of `DumpSet.allocations`."""
    return Kind(max(0, dump.allocations.kind.item(allocation)))


def kind_text(kind: Kind) -> str:
    """Return the kinds of an allocation in the words of its header: ``parameter, maybe-live-out``."""
    order = Kind.PARAMETER, Kind.OUTPUT, Kind.CONSTANT, Kind.THREAD_LOCAL, Kind.MAYBE_LIVE_OUT, Kind.PREALLOCATED_TEMP
    return ", ".join(str(flag.name).lower().replace("_", "-") for flag in order if flag in kind)
