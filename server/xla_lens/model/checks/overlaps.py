"""Checks that no two values occupy the same bytes at the same time."""

import re
from collections.abc import Iterator
from typing import Final

import numpy as np

from xla_lens.model.advice.alive import CALLING
from xla_lens.model.checks.findings import MAXIMUM_RELATED, Finding, Related, Relation, error, warning
from xla_lens.model.checks.problems import Problem
from xla_lens.model.checks.tainted import Tainted
from xla_lens.model.memory.over_time import Memory
from xla_lens.model.places.places import row_place
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.syntax.columns import NONE


def may_overlap(dump: DumpSet, value: int) -> bool:
    """Whether a value may share its bytes with another one while both are live.

    This holds for the private state of asynchronous operations, elements `{2,...}` of their tuple. Outside of memory
    space 0, it also holds for values that are passed into a called computation, which may reuse their bytes.
    """
    values = dump.values
    index = int(values.index[value])
    if index != NONE and dump.indices[index].startswith(b"{2"):
        opcode = _opcode(dump, int(values.name[value]))
        if opcode is None or opcode.endswith(("-start", "-update", "-done")):
            return True
    return values.color[value] != 0 and is_passed_on(dump, value)


def is_passed_on(dump: DumpSet, value: int) -> bool:
    """Whether a value may be passed into a called computation, which may read it after its live range ends."""
    row = dump.values.used_value[value]
    return row != NONE and any(_may_call(dump, user) for user in set(dump.uses.name[dump.uses_of(int(row))].tolist()))


_PASSING: Final = re.compile(r"(bitcast|tuple|get-tuple-element|opt-barrier|[\w-]+-done)(\.\d+)*")


def _may_call(dump: DumpSet, name: int) -> bool:
    """Whether an instruction may call a computation: by its opcode, or by its name if the dump does not quote it."""
    opcode = _opcode(dump, name)
    return opcode in CALLING if opcode else not _PASSING.fullmatch(dump.label(name, NONE))


def _opcode(dump: DumpSet, name: int) -> str | None:
    opcode = dump.opcode(name)
    return opcode.decode() if opcode is not None else None


def live_values_do_not_overlap(dump: DumpSet, memory: Memory, tainted: Tainted) -> Iterator[Finding]:
    """No two values that are live at the same time occupy the same bytes. One finding for a value and all that it
    overlaps.
    """
    values = dump.values
    if dump.assignment is None:
        return
    pairs = np.array(memory.collisions, np.int64).reshape(-1, 2)
    is_unsure = tainted.allocations[values.allocation[pairs[:, 0]]] | tainted.values[pairs].any(axis=1)
    partners: dict[int, dict[int, None]] = {}
    for one, other in pairs[~is_unsure].tolist():
        partners.setdefault(one, {})[other] = None
        partners.setdefault(other, {})[one] = None
    # The value with the most collisions comes first: a moved value lies on several others, each of which collides only
    # with it.
    for value in sorted(partners, key=lambda one: -len(partners[one])):
        others = [other for other in partners[value] if other in partners]
        del partners[value]
        if not others:
            continue
        first = others[0]
        shared_bytes = (
            int(max(values.offset[value], values.offset[first])),
            min(int(values.offset[one] + values.size_bytes[one]) for one in (value, first)),
        )
        shared_steps = (
            int(max(values.start_step[value], values.start_step[first])),
            int(min(values.end_step[value], values.end_step[first])),
        )
        allocation = dump.allocations.index[values.allocation[value]]
        labels = dump.value_label(value), dump.value_label(first)
        problem = Problem.OVERLAPPING_SLICES(*labels, len(others) - 1, allocation, shared_bytes, shared_steps)
        tainted.values[[value, *others]] = True
        rows = [int(values.slice[one]) for one in (value, *others[:MAXIMUM_RELATED])]
        place, *related = (row_place(dump.assignment, dump.slices, row) for row in rows)
        make = warning if values.color[value] else error
        yield make(place, problem, *(Related(other, Relation.OVERLAPPED_SLICE) for other in related))
