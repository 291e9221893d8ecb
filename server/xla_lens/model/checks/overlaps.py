"""Checks that no two values occupy the same bytes at the same time."""

import re
from collections.abc import Iterator
from heapq import heapify, heappop, heappush
from typing import Final

import numpy as np

from xla_lens.model.advice.alive import CALLING
from xla_lens.model.checks.allocations import without_layout
from xla_lens.model.checks.findings import MAXIMUM_RELATED, Finding, Related, Relation, error, warning
from xla_lens.model.checks.problems import Problem
from xla_lens.model.checks.tainted import Tainted
from xla_lens.model.memory.over_time import Memory
from xla_lens.model.places.places import report_table_allocation, row_place
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
    """Report each misplaced value with all values that it overlaps, or both of two that may be misplaced."""
    if dump.assignment is None:
        return
    values = dump.values
    pairs = np.array(memory.collisions, np.int64).reshape(-1, 2)
    is_unsure = tainted.allocations[values.allocation[pairs[:, 0]]] | tainted.values[pairs].any(axis=1)
    collisions = [(value, other) for value, other in pairs[~is_unsure].tolist()]
    for value, others in _misplaced(dump, collisions):
        tainted.values[[value, *others]] = True
        first = others[0]
        problem = Problem.OVERLAPPING_SLICES(
            dump.value_label(value),
            dump.value_label(first),
            others=len(others) - 1,
            allocation=int(dump.allocations.index[values.allocation[value]]),
            shared_bytes=(
                int(max(values.offset[value], values.offset[first])),
                min(int(values.offset[one] + values.size_bytes[one]) for one in (value, first)),
            ),
            shared_steps=(
                int(max(values.start_step[value], values.start_step[first])),
                int(min(values.end_step[value], values.end_step[first])),
            ),
        )
        rows = [int(values.slice[one]) for one in (value, *others[:MAXIMUM_RELATED])]
        place, *related = (row_place(dump.assignment, dump.slices, row) for row in rows)
        make = warning if values.color[value] else error
        yield make(place, problem, *(Related(other, Relation.OVERLAPPED_SLICE) for other in related))


_MAXIMUM_WEIGHED: Final = 64
"""Maximum number of collisions for which the check weighs which of two values is misplaced, as each takes a pass over
all values. Moving one value in the dumps of `tests/dumps` causes at most 6.
"""


def _misplaced(dump: DumpSet, collisions: list[tuple[int, int]]) -> Iterator[tuple[int, list[int]]]:
    """Values that together take part in all collisions, each with those that it collides with.

    The value with the most collisions comes first: a moved value lies on several others, each of which collides only
    with it.
    """
    partners: dict[int, dict[int, None]] = {}
    for value, other in collisions:
        partners.setdefault(value, {})[other] = None
        partners.setdefault(other, {})[value] = None
    is_weighed = len(collisions) <= _MAXIMUM_WEIGHED
    oddness = {value: _oddness(dump, value) for value in partners} if is_weighed else {}

    def key(value: int) -> tuple[int, float, float, int]:
        reported, fit = oddness.get(value, (0, 0.0))
        return -len(partners[value]), -reported, -fit, order[value]

    # Ties are broken in the order of the collisions.
    order = {value: number for number, value in enumerate(partners)}
    heap = [(key(value), value) for value in partners]
    heapify(heap)
    while heap:
        known, value = heappop(heap)
        if value not in partners or known != key(value):
            continue
        others = list(partners.pop(value))
        yield value, others
        first = others[0]
        if is_weighed and len(others) == 1 == len(partners[first]) and not _is_decided(oddness[value], oddness[first]):
            yield first, [value]
        for other in others:
            del partners[other][value]
            if partners[other]:
                heappush(heap, (key(other), other))
            else:
                del partners[other]


def _oddness(dump: DumpSet, value: int) -> tuple[int, float]:
    """How unlikely it is that XLA placed a value at its offset.

    First by the memory usage report, then by how well the value fits elsewhere: a value that was moved has left a hole
    of its size.
    """
    return _reported_oddness(dump, value), -_slack_elsewhere(dump, value)


def _is_decided(oddness: tuple[int, float], other: tuple[int, float]) -> bool:
    """Whether it is clear which of two values is misplaced. The fit decides only if one of them fits nowhere else."""
    (reported, fit), (other_reported, other_fit) = oddness, other
    return reported != other_reported or (fit == float("-inf")) != (other_fit == float("-inf"))


def _reported_oddness(dump: DumpSet, value: int) -> int:
    """1 if the report lists other shapes at the offset of the value, -1 if it lists its shape, 0 if neither."""
    values = dump.values
    shape = without_layout(dump.shape(value) or b"?")
    for file in dump.files:
        rows = file.columns.report_rows
        for row in np.flatnonzero(rows.offset == values.offset[value]).tolist():
            if report_table_allocation(dump, rows, row) == values.allocation[value]:
                return -1 if shape in file.document.data[rows.shapes_start[row] : rows.end[row]] else 1
    return 0


def _slack_elsewhere(dump: DumpSet, value: int) -> float:
    """The bytes that a value would leave free in the smallest hole elsewhere; infinite if it fits nowhere else."""
    values = dump.values
    size = int(values.size_bytes[value])
    is_other = (values.allocation == values.allocation[value]) & (values.size_bytes > 0)
    is_other &= (values.start_step < values.end_step[value]) & (values.start_step[value] < values.end_step)
    is_other[value] = False
    others = np.flatnonzero(is_other)
    others = others[np.argsort(values.offset[others], kind="stable")]
    ends = np.maximum.accumulate(np.append(0, values.offset[others] + values.size_bytes[others]))
    starts = np.append(values.offset[others], dump.allocations.size_bytes[values.allocation[value]])
    holes = starts - ends
    # Its own place is a hole, too.
    own = (ends <= values.offset[value]) & (values.offset[value] < starts)
    holes = holes[(holes >= size) & ~own]
    return float(holes.min() - size) if len(holes) else float("inf")
