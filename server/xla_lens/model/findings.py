"""What is wrong with a dump set: facts that contradict each other, each with the places that show it.

A finding says what, in numbers and places; what a person reads is written by `xla_lens.render.messages`. Each check
tests one invariant of XLA's own output, so that none fires on output that is whole.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

import numpy as np

from xla_lens.model.dump_set import DumpSet
from xla_lens.model.lookup import taken
from xla_lens.model.members import Member
from xla_lens.model.memory import Memory
from xla_lens.model.places import Place, row_place
from xla_lens.syntax.columns import NONE, Column, Table


class Code(StrEnum):
    """What kind of finding it is. Codes are stable."""

    SYNTAX = "syntax"
    SLICE_OUT_OF_BOUNDS = "slice-out-of-bounds"
    OVERLAPPING_SLICES = "overlapping-slices"
    TOTAL_MISMATCH = "total-mismatch"
    DUPLICATE_VALUE = "duplicate-value"
    UNKNOWN_INSTRUCTION = "unknown-instruction"


class Severity(StrEnum):
    """How bad it is, in the words of the Language Server Protocol."""

    ERROR = "error"
    WARNING = "warning"
    INFORMATION = "information"
    HINT = "hint"


@dataclass(frozen=True, slots=True)
class Related:
    """Another place that has to do with a finding, and what stands there."""

    place: Place
    what: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One contradiction. `facts` are its numbers and names, by the name that the wording knows them by."""

    code: Code
    severity: Severity
    place: Place
    facts: dict[str, int | str] = field(default_factory=dict)
    related: tuple[Related, ...] = ()


MAXIMUM_RELATED: Final = 10
"""Places of one finding that are told; their number is among its facts."""


def check(dump: DumpSet, memory: Memory) -> list[Finding]:
    """All findings of a dump set, file by file in the order of the text."""
    findings = [
        *_unknown_lines(dump),
        *_other_modules(dump),
        *_slices_out_of_bounds(dump),
        *_overlapping_slices(dump, memory),
        *_total_mismatch(dump),
        *_duplicate_values(dump),
        *_unknown_instructions(dump),
    ]
    order = {id(member): number for number, member in enumerate(dump.members)}
    return sorted(findings, key=lambda finding: (order[id(finding.place.member)], finding.place.start))


# ---------------------------------------------------------------- syntax


def _unknown_lines(dump: DumpSet) -> Iterator[Finding]:
    for member in dump.members:
        document, unknown = member.document, member.columns.unknown_lines
        if not document.data or document.data.isspace():
            yield Finding(Code.SYNTAX, Severity.ERROR, Place(member, 0, 0), {"what": "empty"})
        elif not member.columns.has_rows():
            yield Finding(Code.SYNTAX, Severity.ERROR, Place(member, 0, len(document.data)), {"what": "nothing"})
            continue
        if not len(unknown):
            continue
        rows = document.line_starts.searchsorted(unknown.start, "right") - 1
        for run in np.split(np.arange(len(unknown)), np.flatnonzero(np.diff(rows) > 1) + 1):
            start, end = int(unknown.start[run[0]]), int(unknown.end[run[-1]])
            lines = int(rows[run[-1]] - rows[run[0]]) + 1
            is_part = bool(document.data[document.line_span(int(rows[run[0]]))[0] : start].strip())
            severity = Severity.WARNING if is_part else Severity.ERROR
            facts: dict[str, int | str] = {"what": "part" if is_part else "lines", "lines": lines}
            yield Finding(Code.SYNTAX, severity, Place(member, start, end), facts)


def _other_modules(dump: DumpSet) -> Iterator[Finding]:
    """One finding a file, at the first of them."""
    for member in dump.members:
        others = member.columns.other_modules
        if len(others):
            name = member.document.data[others.name_start[0] : others.name_end[0]].decode("utf-8", "replace")
            facts: dict[str, int | str] = {"what": "module", "name": name}
            yield Finding(Code.SYNTAX, Severity.INFORMATION, row_place(member, others, 0), facts)


# ---------------------------------------------------------------- allocations


def _slices_out_of_bounds(dump: DumpSet) -> Iterator[Finding]:
    slices = dump.slices
    if dump.assignment is None:
        return
    known = np.flatnonzero(slices.allocation != NONE)
    known = known[dump.allocations.index[slices.allocation[known]] != NONE]
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
    users = set(dump.uses.name[dump.uses_of(int(row))].tolist())
    return any(_opcode(dump, user) in (None, "conditional", "while", "call") for user in users)


def _opcode(dump: DumpSet, name: int) -> str | None:
    instruction = dump.instruction(name)
    return instruction.opcode if instruction else None


def _overlapping_slices(dump: DumpSet, memory: Memory) -> Iterator[Finding]:
    values, slices = dump.values, dump.slices
    if dump.assignment is None:
        return
    for value, other in memory.collisions:
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
    tables: tuple[tuple[Member | None, Column, Table], ...] = (
        (dump.assignment, dump.slices.id, dump.slices),
        (dump.used, dump.used_values.id, dump.used_values),
    )
    for member, ids, table in tables:
        unique, first, number = np.unique(ids, return_index=True, return_inverse=True)
        for row in np.flatnonzero(first[number] != np.arange(len(ids))).tolist():
            if member and ids[row] != NONE:
                yield Finding(
                    Code.DUPLICATE_VALUE,
                    Severity.ERROR,
                    row_place(member, table, row),
                    {"id": int(unique[number[row]])},
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
