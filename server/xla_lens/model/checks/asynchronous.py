"""Recognise asynchronous operations, whose live ranges follow other rules."""

import re
from typing import Final

import numpy as np

from xla_lens.model.checks.tainted import Tainted
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.syntax.columns import NONE

_LATE_START_STEPS: Final = 64
"""How many steps after an instruction that becomes live one step late the start of its asynchronous computation may be.

XLA schedules a computation directly before the instruction that starts it, so this limits the computation's length. In
the tested dumps, the start is the next step for all 80 such values, among them `slice` in the Llama-3-8B train step of
libtpu 0.0.51 and `psum` in `smap_loop` of jaxlib 0.12.0.1 on an H100. The limit leaves room for longer computations.
"""

_EARLY_START_STEPS: Final = 4
"""The same for an instruction that becomes live at any earlier step. No tested dump has one, but a version of XLA's
source of 2026 lets values of an asynchronous computation become live with the outer computation.
"""

_STARTS_COMPUTATION: Final = re.compile(r"(?!copy|all-reduce|all-gather|collective-permute|send|recv).*(start|async)")
"""Names of instructions that start an asynchronous computation. The excluded ones may be operations of their own."""


def is_asynchronous(dump: DumpSet, tainted: Tainted, step: int, start: int) -> bool:
    """Whether an instruction may be part of an asynchronous computation: another one starts the computation soon after.

    The instruction runs at `step`, and its value becomes live at `start`. An instruction with a finding, or one that is
    missing from the schedule, may start a computation, too.
    """
    steps = _LATE_START_STEPS if start > step else _EARLY_START_STEPS
    last = int(dump.schedule.step.max(initial=NONE))
    rows = [dump.schedule_row(later) for later in range(step + 1, min(step + steps, last) + 1)]
    names = dump.schedule.name[rows].tolist()
    return NONE in rows or any(tainted.names[name] or _starts_computation(dump, name) for name in names)


def _starts_computation(dump: DumpSet, name: int) -> bool:
    """Whether an instruction starts an asynchronous computation, by its name or by the shapes of its values.

    Collectives may be computations under the name and opcode of the operation (GPU, jaxlib 0.12). Their tuple begins
    with the tuple of their operands.
    """
    label = dump.label(name, NONE)
    if _STARTS_COMPUTATION.match(label):
        return True
    values = np.flatnonzero(dump.values.name == name) if "-start" in label else np.zeros(0, np.int64)
    # Where the allocations are cut off, the shape of a value is unknown.
    return any((dump.shape(value) or b"((").startswith(b"((") for value in values.tolist())


_ASYNCHRONOUS: Final = re.compile(r".*async|.*-(start|update|done)(\.\w+)*$")


def is_read_asynchronously(dump: DumpSet, value: int) -> bool:
    """Whether an asynchronous operation reads a value, by its opcode or, if it is not quoted, by its name."""
    row = dump.values.used_value[value]
    users = set(dump.uses.name[dump.uses_of(int(row))].tolist()) if row != NONE else set()
    readers = ((dump.instruction(user), dump.label(user, NONE)) for user in users)
    return any(_ASYNCHRONOUS.match(reader.opcode.decode() if reader else name) for reader, name in readers)
