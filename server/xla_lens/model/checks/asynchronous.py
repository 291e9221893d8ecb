"""What runs asynchronously, as far as a dump tells: it lives by other rules."""

import re
from typing import Final

import numpy as np

from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.syntax.columns import NONE

_ASYNC_STEPS: Final = 4
"""So many steps after an instruction of an asynchronous computation stands what starts that computation."""

_MOST_ASYNC_STEPS: Final = 64
"""So many at most. Of what starts one step after its instruction that is enough to know."""

_STARTS_COMPUTATION: Final = re.compile(r"(?!copy|all-reduce|all-gather|collective-permute|send|recv).*(start|async)")
"""What starts a computation, by its name. Those that it leaves out may be operations of their own."""


def is_asynchronous(dump: DumpSet, step: int, start: int) -> bool:
    """Whether the instruction at a step, whose value starts at another, may be part of an asynchronous computation:
    what starts that follows soon.
    """
    steps = _MOST_ASYNC_STEPS if start > step else _ASYNC_STEPS
    rows = (dump.schedule_row(later) for later in range(step + 1, step + 1 + steps))
    return any(row != NONE and _starts_computation(dump, int(dump.schedule.name[row])) for row in rows)


def _starts_computation(dump: DumpSet, name: int) -> bool:
    """Also collectives may be computations, whose name and opcode are those of the operation (GPU, jaxlib 0.12). What
    they make begins with the tuple of what they read.
    """
    label = dump.label(name, NONE)
    if _STARTS_COMPUTATION.match(label):
        return True
    values = np.flatnonzero(dump.values.name == name) if "-start" in label else np.zeros(0, np.int64)
    return any((dump.shape(value) or b"").startswith(b"((") for value in values.tolist())


_ASYNCHRONOUS: Final = re.compile(r".*async|.*-(start|update|done)(\.\w+)*$")


def is_read_asynchronously(dump: DumpSet, value: int) -> bool:
    """Whether an asynchronous operation reads a value, by its opcode or, where it is not quoted, by its name."""
    row = dump.values.used_value[value]
    users = set(dump.uses.name[dump.uses_of(int(row))].tolist()) if row != NONE else set()
    readers = ((dump.instruction(user), dump.label(user, NONE)) for user in users)
    return any(_ASYNCHRONOUS.match(reader.opcode.decode() if reader else name) for reader, name in readers)
