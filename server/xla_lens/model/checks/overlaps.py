"""Checks that no two values occupy the same bytes at the same time."""

from typing import Final

import numpy as np

from xla_lens.model.checks.codes import Severity
from xla_lens.model.checks.context import Context
from xla_lens.model.checks.problems import MAXIMUM_RELATED, Findings, Problem, Relation
from xla_lens.model.memory.alive import CALLING
from xla_lens.model.memory.over_time import Memory
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.syntax.columns import NONE
from xla_lens.text.patterns import lazy_pattern


def may_overlap(dump: DumpSet, value: int) -> bool:
    """Whether a value may share its bytes with another one while both are live.

    This holds for the private state of asynchronous operations, elements `{2,...}` of their tuple. Outside of the
    device's memory, it also holds for values that are passed into a called computation, which may reuse their bytes.
    """
    values = dump.values
    index = values.index.item(value)
    if index != NONE and dump.indices[index].startswith(b"{2"):
        opcode = dump.opcode(values.name.item(value))
        if opcode is None or opcode.endswith((b"-start", b"-update", b"-done")):
            return True
    return values.space[value] != 0 and is_passed_on(dump, value)


def is_passed_on(dump: DumpSet, value: int) -> bool:
    """Whether a value may be passed into a called computation, which may read it after its live range ends."""
    return any(_may_call(dump, reader) for reader in readers(dump, value))


def readers(dump: DumpSet, value: int) -> set[int]:
    """Return the names of the instructions that read a value."""
    row = dump.values.used_value.item(value)
    return set(dump.uses.name[dump.uses_of(row)].tolist()) if row != NONE else set()


_PASSING: Final = lazy_pattern(r"(bitcast|tuple|get-tuple-element|opt-barrier|[\w-]+-done)(\.\d+)*")


def _may_call(dump: DumpSet, name: int) -> bool:
    """Whether an instruction may call a computation: by its opcode, or by its name if the dump does not quote it."""
    opcode = dump.opcode(name)
    return opcode.decode() in CALLING if opcode else not _PASSING.fullmatch(dump.label(name, NONE))


def live_values_do_not_overlap(dump: DumpSet, context: Context, memory: Memory) -> Findings:
    """No two values that are live at the same time occupy the same bytes. One finding for a value and all that it
    overlaps.
    """
    values, slices = dump.values, dump.slices
    partners: dict[int, dict[int, None]] = {}
    for one, other in memory.collisions:
        if np.all(context.free(values=np.array([one, other]), allocations=values.allocation[[one, other]])):
            partners.setdefault(one, {})[other] = None
            partners.setdefault(other, {})[one] = None
    # The value with the most collisions comes first: a moved value lies on several others, each of which collides only
    # with it.
    for value in sorted(partners, key=lambda each: -len(partners[each])):
        others = [other for other in partners.pop(value) if other in partners]
        if not others:
            continue
        both = [value, others[0]]
        shared_bytes = int(values.offset[both].max()), int((values.offset + values.size_bytes)[both].min())
        shared_steps = int(values.start_step[both].max()), int(values.end_step[both].min())
        allocation = dump.allocations.index[values.allocation[value]]
        facts = *map(dump.value_label, both), shared_steps, shared_bytes, allocation, len(others) - 1
        related = slices, values.slice[others[:MAXIMUM_RELATED]].tolist(), Relation.OVERLAPPED_SLICE
        severity = Severity.WARNING if values.space[value] else Severity.ERROR
        rows = [values.slice.item(value)]
        yield from context.found(slices, rows, Problem.OVERLAPPING_SLICES, *facts, severity=severity, related=related)
