"""Values that are on the same bytes at the same time."""

import re
from collections.abc import Iterator
from heapq import heapify, heappop, heappush
from typing import Final

import numpy as np

from xla_lens.model.advice.alive import CALLING
from xla_lens.model.checks.allocations import without_layout
from xla_lens.model.checks.doubts import Doubts
from xla_lens.model.checks.findings import MAXIMUM_RELATED, Code, Finding, Related, Severity
from xla_lens.model.memory.over_time import Memory
from xla_lens.model.places.places import report_table_allocation, row_place
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.syntax.columns import NONE


def is_exempt(dump: DumpSet, value: int) -> bool:
    """Whether a value may share its bytes with another while both are live.

    Those are the private state of asynchronous operations, elements `{2,...}` of their tuple, and outside of the
    default memory space the values that are passed into a called computation: there the bytes are used again inside.
    """
    values = dump.values
    index = int(values.index[value])
    if index != NONE and dump.indices[index].startswith(b"{2"):
        opcode = _opcode(dump, int(values.name[value]))
        if opcode is None or opcode.endswith(("-start", "-update", "-done")):
            return True
    return values.color[value] != 0 and is_passed_on(dump, value)


def is_passed_on(dump: DumpSet, value: int) -> bool:
    """Whether a computation may be called with a value, so that its live range says nothing of what is read inside."""
    row = dump.values.used_value[value]
    return row != NONE and any(_may_call(dump, user) for user in set(dump.uses.name[dump.uses_of(int(row))].tolist()))


_PASSING: Final = re.compile(r"(bitcast|tuple|get-tuple-element|opt-barrier|[\w-]+-done)(\.\d+)*")


def _may_call(dump: DumpSet, name: int) -> bool:
    """Instructions that define no value are not quoted, so that only their names tell."""
    opcode = _opcode(dump, name)
    return opcode in CALLING if opcode else not _PASSING.fullmatch(dump.label(name, NONE))


def _opcode(dump: DumpSet, name: int) -> str | None:
    instruction = dump.instruction(name)
    return instruction.opcode.decode() if instruction else None


def overlapping_slices(dump: DumpSet, memory: Memory, doubts: Doubts) -> Iterator[Finding]:
    """One finding for each value that is where it should not be, with all that it shares bytes with. Where nothing
    tells which of two it is, both have one.
    """
    if dump.assignment is None:
        return
    values = dump.values
    pairs = np.array(memory.collisions, np.int64).reshape(-1, 2)
    is_unsure = doubts.allocations[values.allocation[pairs[:, 0]]] | doubts.values[pairs].any(axis=1)
    collisions = [(value, other) for value, other in pairs[~is_unsure].tolist()]
    for value, others in _culprits(dump, collisions):
        doubts.values[[value, *others]] = True
        first = others[0]
        row = int(values.slice[value])
        end_byte, other_end = (int(values.offset[one] + values.size_bytes[one]) for one in (value, first))
        related = [
            row_place(dump.assignment, dump.slices, int(values.slice[other])) for other in others[:MAXIMUM_RELATED]
        ]
        yield Finding(
            Code.OVERLAPPING_SLICES,
            Severity.WARNING if values.color[value] else Severity.ERROR,
            row_place(dump.assignment, dump.slices, row),
            {
                "value": dump.value_label(value),
                "other": dump.value_label(first),
                "others": len(others),
                "start_byte": int(max(values.offset[value], values.offset[first])),
                "end_byte": min(end_byte, other_end),
                "allocation": int(dump.allocations.index[values.allocation[value]]),
                "start_step": int(max(values.start_step[value], values.start_step[first])),
                "end_step": int(min(values.end_step[value], values.end_step[first])),
            },
            tuple(Related(place, "overlapped") for place in related),
        )


_MOST_WEIGHED: Final = 64
"""Of so many collisions at most it is weighed which of two values is odd. With more, something else is wrong."""


def _culprits(dump: DumpSet, collisions: list[tuple[int, int]]) -> Iterator[tuple[int, list[int]]]:
    """Some values that have a part in all collisions, each with the others. The one with the most goes first: a value
    that was moved lies on several others, each of which lies on that one only.
    """
    partners: dict[int, dict[int, None]] = {}
    for value, other in collisions:
        partners.setdefault(value, {})[other] = None
        partners.setdefault(other, {})[value] = None
    is_weighed = len(collisions) <= _MOST_WEIGHED
    oddness = {value: _oddness(dump, value) for value in partners} if is_weighed else {}

    def key(value: int) -> tuple[int, float, float, int]:
        reported, fit = oddness.get(value, (0, 0.0))
        return -len(partners[value]), -reported, -fit, order[value]

    # Who came later goes first where nothing else tells.
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
        if is_weighed and len(others) == 1 == len(partners[first]) and not _is_told(oddness[value], oddness[first]):
            yield first, [value]
        for other in others:
            del partners[other][value]
            if partners[other]:
                heappush(heap, (key(other), other))
            else:
                del partners[other]


def _oddness(dump: DumpSet, value: int) -> tuple[int, float]:
    """How little a value's place looks like the one that XLA chose: first what the memory usage report says, then how
    well it fits elsewhere. A value that was moved has left a hole of its size.
    """
    return _reported_oddness(dump, value), -_slack_elsewhere(dump, value)


def _is_told(oddness: tuple[int, float], other: tuple[int, float]) -> bool:
    """Whether it is sure which of two values is odd. How well they fit elsewhere only tells if one does not at all."""
    (reported, fit), (other_reported, other_fit) = oddness, other
    return reported != other_reported or (fit == float("-inf")) != (other_fit == float("-inf"))


def _reported_oddness(dump: DumpSet, value: int) -> int:
    """1 if the report has no value of this shape at its offset, -1 if it has one, 0 if it does not tell."""
    values = dump.values
    shape = without_layout(dump.shape(value) or b"?")
    for file in dump.files:
        rows = file.columns.report_rows
        for row in np.flatnonzero(rows.offset == values.offset[value]).tolist():
            if report_table_allocation(dump, rows, row) == values.allocation[value]:
                return -1 if shape in file.document.data[rows.shapes_start[row] : rows.end[row]] else 1
    return 0


def _slack_elsewhere(dump: DumpSet, value: int) -> float:
    """How many bytes bigger than a value is the smallest free place for it during its life; infinite if it has none."""
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
    # Its own place is one, too.
    own = (ends <= values.offset[value]) & (values.offset[value] < starts)
    holes = holes[(holes >= size) & ~own]
    return float(holes.min() - size) if len(holes) else float("inf")
