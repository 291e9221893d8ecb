"""The checks of a dump set's numbers. Each tests one invariant of XLA's own output: none fires on what is whole."""

import re
from collections.abc import Iterator
from typing import Final

import numpy as np

from xla_lens.model.dump_set import DumpSet
from xla_lens.model.findings import Code, Finding, Related, Severity
from xla_lens.model.lookup import taken
from xla_lens.model.members import Member
from xla_lens.model.memory import Memory
from xla_lens.model.places import Place, row_place
from xla_lens.model.structure import allocations_before_gaps, check_structure
from xla_lens.syntax.columns import NONE, Column, Slices, Table, UsedValues

MAXIMUM_RELATED: Final = 10
"""Places of one finding that are told; their number is among its facts."""


def check(dump: DumpSet, memory: Memory) -> list[Finding]:
    """All findings of a dump set, file by file in the order of the text."""
    findings = [
        *check_structure(dump),
        *_slices_out_of_bounds(dump),
        *_overlapping_slices(dump, memory),
        *_total_mismatch(dump),
        *_duplicate_values(dump),
        *_unknown_instructions(dump),
    ]
    order = {id(member): number for number, member in enumerate(dump.members)}
    return sorted(findings, key=lambda finding: (order[id(finding.place.member)], finding.place.start))


# ---------------------------------------------------------------- allocations


def _slices_out_of_bounds(dump: DumpSet) -> Iterator[Finding]:
    slices = dump.slices
    if dump.assignment is None:
        return
    known = np.flatnonzero(slices.allocation != NONE)
    known = known[dump.allocations.index[slices.allocation[known]] != NONE]
    known = known[~np.isin(slices.allocation[known], allocations_before_gaps(dump))]
    end = slices.offset[known] + slices.size_bytes[known]
    size = dump.allocations.size_bytes[slices.allocation[known]]
    outside = (end > size) | (slices.offset[known] < 0) | (slices.size_bytes[known] < 0)
    for row in known[outside].tolist():
        allocation = int(slices.allocation[row])
        yield Finding(
            Code.SLICE_OUT_OF_BOUNDS,
            Severity.ERROR,
            row_place(dump.assignment, slices, row),
            {
                "value": dump.value_label(int(dump.value_of_slice[row])),
                "offset": int(slices.offset[row]),
                "size_bytes": int(slices.size_bytes[row]),
                "allocation": int(dump.allocations.index[allocation]),
                "allocation_bytes": int(dump.allocations.size_bytes[allocation]),
            },
            (Related(row_place(dump.assignment, dump.allocations, allocation), "allocation"),),
        )


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
    if values.color[value] == 0 or values.used_value[value] == NONE:
        return False
    row = values.used_value[value]
    return any(_may_call(dump, user) for user in set(dump.uses.name[dump.uses_of(int(row))].tolist()))


_CALLING: Final = ("conditional", "while", "call")
_PASSING: Final = re.compile(r"(bitcast|tuple|get-tuple-element|opt-barrier|[\w-]+-done)(\.\d+)*")


def _may_call(dump: DumpSet, name: int) -> bool:
    """Instructions that define no value are not quoted, so that only their names tell."""
    opcode = _opcode(dump, name)
    return opcode in _CALLING if opcode else not _PASSING.fullmatch(dump.label(name, NONE))


def _opcode(dump: DumpSet, name: int) -> str | None:
    instruction = dump.instruction(name)
    return instruction.opcode if instruction else None


def _overlapping_slices(dump: DumpSet, memory: Memory) -> Iterator[Finding]:
    values, slices = dump.values, dump.slices
    if dump.assignment is None:
        return
    unsure = set(allocations_before_gaps(dump).tolist())
    for value, other in memory.collisions:
        if int(values.allocation[value]) in unsure:
            continue
        row, other_row = int(values.slice[value]), int(values.slice[other])
        low = max(values.offset[value], values.offset[other])
        high = min(
            values.offset[value] + values.size_bytes[value],
            values.offset[other] + values.size_bytes[other],
        )
        yield Finding(
            Code.OVERLAPPING_SLICES,
            Severity.WARNING if values.color[value] else Severity.ERROR,
            row_place(dump.assignment, slices, row),
            {
                "value": dump.value_label(value),
                "other": dump.value_label(other),
                "start_byte": int(low),
                "end_byte": int(high),
                "allocation": int(dump.allocations.index[values.allocation[value]]),
                "start_step": int(max(values.start_step[value], values.start_step[other])),
                "end_step": int(min(values.end_step[value], values.end_step[other])),
            },
            (Related(row_place(dump.assignment, slices, other_row), "overlapped"),),
        )


def _total_mismatch(dump: DumpSet) -> Iterator[Finding]:
    sizes = dump.allocations.size_bytes
    if not len(dump.totals) or dump.assignment is None or np.any(dump.allocations.index == NONE):
        return
    if len(allocations_before_gaps(dump)):
        return
    total, reserved = int(dump.totals.size_bytes[0]), sum(sizes.tolist())
    if total != reserved:
        member = dump.used if dump.used and len(dump.used.columns.totals) else dump.assignment
        yield Finding(
            Code.TOTAL_MISMATCH,
            Severity.ERROR,
            row_place(member, dump.totals, 0),
            {"total_bytes": total, "reserved_bytes": reserved, "allocations": len(sizes)},
        )


def _duplicate_values(dump: DumpSet) -> Iterator[Finding]:
    tables: tuple[tuple[Member | None, Slices | UsedValues], ...] = (
        (dump.assignment, dump.slices),
        (dump.used, dump.used_values),
    )
    for member, table in tables:
        ids = table.id
        unique, first, number = np.unique(ids, return_index=True, return_inverse=True)
        for row in np.flatnonzero(first[number] != np.arange(len(ids))).tolist():
            if member and ids[row] != NONE:
                yield Finding(
                    Code.DUPLICATE_VALUE,
                    Severity.ERROR,
                    row_place(member, table, row),
                    {
                        "id": int(unique[number[row]]),
                        "name": dump.label(int(table.name[row]), int(table.index[row])),
                        "first": dump.label(int(table.name[first[number[row]]]), int(table.index[first[number[row]]])),
                    },
                    (Related(row_place(member, table, int(first[number[row]])), "first"),),
                )


# ---------------------------------------------------------------- instructions


def _unknown_instructions(dump: DumpSet) -> Iterator[Finding]:
    """Instructions that hold or read live values but are not scheduled: one finding for each name."""
    if not len(dump.schedule) or dump.live is None:
        return
    mentions: list[tuple[Member, Table, Column, Column]] = [
        (dump.live, dump.live_ranges, dump.live_ranges.name, np.arange(len(dump.live_ranges))),
        (dump.live, dump.peak_buffers, dump.peak_buffers.name, np.arange(len(dump.peak_buffers))),
    ]
    if dump.used:
        for row_table in (dump.positions, dump.uses):
            value = taken(dump.value_of_used_value, row_table.value)
            has_range = taken(dump.values.live_range, value) != NONE
            mentions.append((dump.used, row_table, row_table.name, np.flatnonzero(has_range)))
    unknown: dict[int, list[Place]] = {}
    for member, table, name, rows in mentions:
        for row in rows[dump.schedule_row_of_name[name[rows]] == NONE].tolist():
            unknown.setdefault(int(name[row]), []).append(row_place(member, table, row))
    for number, (place, *others) in unknown.items():
        yield Finding(
            Code.UNKNOWN_INSTRUCTION,
            Severity.ERROR,
            place,
            {"name": dump.label(number, NONE), "mentions": len(others) + 1},
            tuple(Related(other, "mention") for other in others[:MAXIMUM_RELATED]),
        )
