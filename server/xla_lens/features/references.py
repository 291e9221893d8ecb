"""Everywhere that a dump set mentions something.

Of a value: its row in the allocation, its header, positions and uses, its live range, its entries in the printed peak,
the schedule entry of its instruction, and every operand in an instruction's text that reads it or passes it on.
"""

from collections.abc import Iterator
from itertools import chain, islice

import numpy as np

from xla_lens.model.dump_set import DumpSet
from xla_lens.model.mentions import Allocation, Instruction, Peak, Step, Target, Value
from xla_lens.model.places import (
    Place,
    allocation_place,
    live_range_place,
    row_place,
    schedule_place,
    slice_place,
    used_value_place,
)
from xla_lens.syntax.columns import NONE


def references(dump: DumpSet, target: Target, limit: int) -> list[Place]:
    """The places that mention something, each once, in the order in which the dump tells of it; at most `limit`."""
    return list(islice(dict.fromkeys(place for place in _mentions(dump, target) if place), limit))


def _mentions(dump: DumpSet, target: Target) -> Iterator[Place | None]:
    match target:
        case Value(row):
            return chain(_rows_of_value(dump, row), _operands_of_value(dump, row))
        case Allocation(row):
            return _allocation(dump, row)
        case Instruction(name):
            return _instruction(dump, name)
        case Step(step):
            return _step(dump, step)
        case Peak(row):
            return iter((row_place(dump.live, dump.peaks, row),)) if dump.live else iter(())


def _rows_of_value(dump: DumpSet, value: int) -> Iterator[Place | None]:
    yield slice_place(dump, value)
    yield used_value_place(dump, value)
    used_value = int(dump.values.used_value[value])
    if dump.used and used_value != NONE:
        for row in dump.positions_of(used_value):
            yield row_place(dump.used, dump.positions, row)
        for row in dump.uses_of(used_value):
            yield row_place(dump.used, dump.uses, row)
    yield live_range_place(dump, value)
    if dump.live:
        for row in np.flatnonzero(dump.value_of_peak_buffer == value).tolist():
            yield row_place(dump.live, dump.peak_buffers, row)
    yield schedule_place(dump, int(dump.schedule_row_of_name[dump.values.name[value]]))


def _operands_of_value(dump: DumpSet, value: int) -> Iterator[Place]:
    used_value = int(dump.values.used_value[value])
    if used_value == NONE:
        return
    read = {(int(dump.uses.name[row]), int(dump.uses.operand[row])) for row in dump.uses_of(used_value)}
    passed_on = set()
    for row in dump.positions_of(used_value):
        # Element `{2}` of a tuple is its operand 2; what lies deeper is an element of the operand.
        index = dump.indices[dump.positions.index[row]].strip(b"{}") if dump.positions.index[row] != NONE else b""
        if index.isdigit():
            passed_on.add((int(dump.positions.name[row]), int(index)))
    for name, operand in sorted(read | passed_on):
        yield from _operand(dump, name, operand, is_read=(name, operand) in read)


def _operand(dump: DumpSet, name: int, operand: int, *, is_read: bool) -> Iterator[Place]:
    """An operand in every copy of an instruction's text: each of its values quotes the whole of it."""
    instruction = dump.instruction(name)
    if dump.used is None or instruction is None or operand >= len(instruction.operands):
        return
    if is_read or instruction.opcode == "tuple":
        found = instruction.operands[operand]
        for row in dump.quoting(name):
            start = int(dump.used_values.instruction_start[row])
            yield Place(dump.used, start + found.start, start + found.end)


def _allocation(dump: DumpSet, allocation: int) -> Iterator[Place | None]:
    yield allocation_place(dump, allocation)
    for value in dump.values_of_allocation(allocation).tolist():
        yield slice_place(dump, value)
    for member in dump.members:
        reported = member.columns.report_allocations
        for row in np.flatnonzero(reported.index == dump.allocations.index[allocation]).tolist():
            yield row_place(member, reported, row)


def _instruction(dump: DumpSet, name: int) -> Iterator[Place | None]:
    yield schedule_place(dump, int(dump.schedule_row_of_name[name]))
    if dump.used:
        for row in np.flatnonzero(dump.uses.name == name).tolist():
            yield row_place(dump.used, dump.uses, row)


def _step(dump: DumpSet, step: int) -> Iterator[Place | None]:
    if dump.live is None:
        return
    yield schedule_place(dump, dump.schedule_row(step))
    ranges = dump.live_ranges
    for row in np.flatnonzero((ranges.start_step == step) | (ranges.end_step == step)).tolist():
        yield row_place(dump.live, ranges, row)
    for row in np.flatnonzero(dump.peaks.step == step).tolist():
        yield row_place(dump.live, dump.peaks, row)
