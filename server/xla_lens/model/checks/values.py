"""Checks of the values: whether the allocations and the used values tell of the same ones, and their positions and
uses.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np

from xla_lens.model.checks.doubts import Doubts, Marks, in_doubt
from xla_lens.model.checks.findings import Code, Finding, Related, error
from xla_lens.model.places.places import Place, row_place
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.lookup import taken
from xla_lens.syntax.columns import NONE, Column, Section, Slices, UsedValues


def duplicate_values(dump: DumpSet, doubts: Doubts) -> Iterator[Finding]:
    """Ids that are there twice, in the allocations or among the used values."""
    tables: tuple[tuple[DumpFile | None, Slices | UsedValues], ...] = (
        (dump.assignment, dump.slices),
        (dump.used, dump.used_values),
    )
    for file, table in tables:
        ids = table.id
        _, first, number = np.unique(ids, return_index=True, return_inverse=True)
        for row in np.flatnonzero((first[number] != np.arange(len(ids))) & (ids != NONE)).tolist():
            if file:
                before = int(first[number[row]])
                if isinstance(table, UsedValues):
                    doubts.used_values[[row, before]] = True
                doubts.doubt_values(dump.values.id.searchsorted(ids[row : row + 1]))
                if table.name[row] != table.name[before] or table.index[row] != table.index[before]:
                    # One of them has lost its own id.
                    names = table.name[[row, before]]
                    doubts.names[names] = True
                    doubts.doubt_values(np.flatnonzero(np.isin(dump.values.name, names)))
                yield error(
                    Code.DUPLICATE_VALUE,
                    row_place(file, table, row),
                    Related(row_place(file, table, before), "first"),
                    id=int(ids[row]),
                    name=dump.label(int(table.name[row]), int(table.index[row])),
                    first=dump.label(int(table.name[before]), int(table.index[before])),
                )


def order_of_values(dump: DumpSet, doubts: Doubts) -> Iterator[Finding]:
    """Ids ascend in each allocation and among the used values."""
    tables: tuple[tuple[DumpFile | None, Slices | UsedValues, Column], ...] = (
        (dump.assignment, dump.slices, dump.slices.allocation),
        (dump.used, dump.used_values, np.zeros(len(dump.used_values), np.int64)),
    )
    for file, table, group in tables:
        is_back = (np.diff(table.id) < 0) & (np.diff(group) == 0) & (table.id[1:] != NONE)
        if file is dump.assignment and table is dump.slices:
            is_back &= ~in_doubt(doubts.allocations, group[1:])
        for row in np.flatnonzero(is_back).tolist():
            value, before = (dump.value_of_id(int(table.id[place])) for place in (row + 1, row))
            if file and not doubts.values[value] and not doubts.values[before]:
                yield error(
                    Code.SYNTAX,
                    row_place(file, table, row + 1),
                    what="order",
                    before=int(table.id[row]),
                    after=int(table.id[row + 1]),
                )


# ---------------------------------------------------------------- the lists


_MOST_EDITED: Final = 3
"""Of so many values at most the names differ where a line was edited."""


def files_of_other_dumps(dump: DumpSet) -> Iterator[Finding]:
    """Files of which most values are not those of the allocations. Nothing else can be told then."""
    values, slices, used, ranges = dump.values, dump.slices, dump.used_values, dump.live_ranges
    if dump.assignment and dump.used and dump.used is not dump.assignment:
        both = np.flatnonzero((values.slice != NONE) & (values.used_value != NONE))
        is_same = slices.name[values.slice[both]] == used.name[values.used_value[both]]
        fewer, same = min(len(slices), len(used)), int(is_same.sum())
        if fewer - same > _MOST_EDITED and 2 * same < fewer:
            place = row_place(dump.used, used, 0)
            yield error(Code.UNDEFINED_VALUE, place, what="other values", missing=len(used) - same, known=same)
    if dump.assignment and dump.used and dump.live and dump.live is not dump.assignment and len(slices) > 1:
        # One of the two may have been cut off.
        nameless = int((~np.isin(ranges.name, np.append(slices.name, used.name))).sum())
        if nameless > _MOST_EDITED and 2 * nameless > len(ranges):
            place = row_place(dump.live, ranges, 0)
            known = len(ranges) - nameless
            yield error(Code.UNDEFINED_VALUE, place, what="other live ranges", missing=nameless, known=known)


def names_of_values(dump: DumpSet, doubts: Doubts) -> Iterator[Finding]:
    """Values that are called one thing in their allocation and another among the used values."""
    values, slices, used = dump.values, dump.slices, dump.used_values
    if dump.assignment is None or dump.used is None:
        return
    both = np.flatnonzero((values.slice != NONE) & (values.used_value != NONE) & ~doubts.values)
    row, other = values.slice[both], values.used_value[both]
    differs = (slices.name[row] != used.name[other]) | (slices.index[row] != used.index[other])
    # All else is the same, so that the lengths tell which is longer by ` (phi)`.
    longer = (slices.value_end - slices.value_start)[row] - (used.end - used.start)[other]
    is_phi = ~differs & (slices.color[row] == used.color[other]) & (longer != 0)
    for value, more in zip(both[is_phi].tolist(), longer[is_phi].tolist(), strict=True):
        doubts.values[value] = True
        yield error(
            Code.UNDEFINED_VALUE,
            row_place(dump.assignment, slices, int(values.slice[value])),
            Related(row_place(dump.used, used, int(values.used_value[value])), "other name"),
            what="phi",
            name=dump.value_label(value),
            is_here=int(more > 0),
        )
    for value in both[differs].tolist():
        doubts.doubt_values(np.array([value]))
        doubts.names[[slices.name[values.slice[value]], used.name[values.used_value[value]]]] = True
        row_of_slice, row_of_used = int(values.slice[value]), int(values.used_value[value])
        places = row_place(dump.assignment, slices, row_of_slice), row_place(dump.used, used, row_of_used)
        is_used_right = not _is_defined_elsewhere(dump, row_of_used)
        name = dump.label(int(slices.name[row_of_slice]), int(slices.index[row_of_slice]))
        used_name = dump.label(int(used.name[row_of_used]), int(used.index[row_of_used]))
        yield error(
            Code.UNDEFINED_VALUE if is_used_right else Code.UNASSIGNED_VALUE,
            places[0] if is_used_right else places[1],
            Related(places[1] if is_used_right else places[0], "other name"),
            what="name",
            id=int(values.id[value]),
            name=name if is_used_right else used_name,
            other=used_name if is_used_right else name,
        )


def _is_defined_elsewhere(dump: DumpSet, used_value: int) -> bool:
    """Whether the first position of a used value, where it is defined, is not what its header says."""
    positions = dump.positions_of(used_value)
    if not positions:
        return False
    return bool(
        dump.positions.name[positions[0]] != dump.used_values.name[used_value]
        or dump.positions.index[positions[0]] != dump.used_values.index[used_value]
    )


def missing_values(dump: DumpSet, doubts: Doubts) -> Iterator[Finding]:
    """Values of an allocation that are no used values, and used values that are in no allocation."""
    values = dump.values
    used = dump.used or next((file for file in dump.files if _has_used_values(file)), None)
    if dump.assignment is None or used is None:
        return
    undefined = (values.used_value == NONE) & ~doubts.values
    unassigned = (values.slice == NONE) & ~doubts.values
    names = (values.name * len(dump.indices) + np.maximum(values.index, 0)).tolist()
    same: dict[int, list[int]] = {}
    for other in np.flatnonzero(unassigned)[::-1].tolist():
        same.setdefault(names[other], []).append(other)
    for value in np.flatnonzero(undefined).tolist():
        if not same.get(names[value]):
            continue
        other = same[names[value]].pop()
        unassigned[other] = undefined[value] = False
        doubts.doubt_values(np.array([value, other]))
        yield error(
            Code.UNDEFINED_VALUE,
            row_place(dump.assignment, dump.slices, int(values.slice[value])),
            Related(row_place(used, dump.used_values, int(values.used_value[other])), "other name"),
            what="id",
            id=int(values.id[value]),
            name=dump.value_label(value),
            other=int(values.id[other]),
        )
    if doubts.is_whole(used):
        yield from _missing(dump, doubts, undefined, Code.UNDEFINED_VALUE)
    if doubts.is_whole(dump.assignment):
        yield from _missing(dump, doubts, unassigned, Code.UNASSIGNED_VALUE)


def _has_used_values(file: DumpFile) -> bool:
    """Whether the header of the used values is there, though no value may be below."""
    return Section.USED_VALUES in file.columns.sections.section


def _missing(dump: DumpSet, doubts: Doubts, is_missing: Marks, code: Code) -> Iterator[Finding]:
    values = dump.values
    is_undefined = code is Code.UNDEFINED_VALUE
    file, table = (dump.assignment, dump.slices) if is_undefined else (dump.used, dump.used_values)
    rows = values.slice if is_undefined else values.used_value
    missing = np.flatnonzero(is_missing)
    doubts.doubt_values(missing)
    # More than half: two files that are not of the same dump.
    is_other_dump = 2 * len(missing) > len(values) and len(missing) > 1
    for value in missing[: 1 if is_other_dump else None].tolist():
        if file:
            yield error(
                code,
                row_place(file, table, int(rows[value])),
                what="other dump" if is_other_dump else "missing",
                id=int(values.id[value]),
                name=dump.value_label(value),
                missing=len(missing),
            )


def quoted_names(dump: DumpSet, doubts: Doubts) -> Iterator[Finding]:
    """Used values whose instruction is one of another name (HloInstruction::ToString begins with the name)."""
    used, file = dump.used_values, dump.used
    if file is None:
        return
    data = file.document.data
    rows = np.flatnonzero((used.id != NONE) & (used.instruction_end > used.instruction_start) & ~doubts.used_values)
    columns = (rows, used.instruction_start[rows], used.name[rows])
    for row, start, name in zip(*(column.tolist() for column in columns), strict=True):
        value = dump.value_of_used_value[row]
        if data.startswith(b"%" + dump.names[name] + b" = ", start) or doubts.values[value]:
            continue
        doubts.values[value] = True
        # Without a name it is no instruction.
        end = data.find(b" = ", start, int(used.instruction_end[row]))
        if end >= 0:
            yield error(
                Code.UNDEFINED_VALUE,
                Place(file, start, end),
                Related(row_place(file, used, row), "value"),
                what="quote",
                name=dump.label(name, NONE),
                other=data[start:end].removeprefix(b"%").decode("utf-8", "replace"),
            )


# ---------------------------------------------------------------- positions and uses


def definitions(dump: DumpSet, doubts: Doubts) -> Iterator[Finding]:
    """Used values whose first position is not where they are defined (HloValue::SetPositions puts that first)."""
    used, value = dump.used_values, dump.value_of_used_value
    if dump.used is None or not doubts.is_whole(dump.used):
        return
    has_positions = (used.position_count > 0) & (used.id != NONE)
    first = np.where(has_positions, used.first_position, NONE)
    differs = (taken(dump.positions.name, first) != used.name) | (taken(dump.positions.index, first) != used.index)
    differs &= (used.id != NONE) & ~doubts.used_values
    for row in np.flatnonzero(differs).tolist():
        if doubts.values[value[row]]:
            continue
        doubts.doubt_values(value[row : row + 1])
        position = int(first[row])
        place = row_place(dump.used, used, row)
        found = ""
        if position != NONE:
            place = row_place(dump.used, dump.positions, position)
            found = dump.label(int(dump.positions.name[position]), int(dump.positions.index[position]))
        yield error(
            Code.UNDEFINED_VALUE,
            place,
            what="definition" if found else "no definition",
            id=int(used.id[row]),
            name=dump.label(int(used.name[row]), int(used.index[row])),
            other=found,
        )


def duplicate_positions(dump: DumpSet, doubts: Doubts) -> Iterator[Finding]:
    """Positions that are there twice. Each belongs to one value (HloDataflowAnalysis in SSA form)."""
    positions, file = dump.positions, dump.used
    if file is None:
        return
    value = taken(dump.value_of_used_value, positions.value)
    known = np.flatnonzero(~in_doubt(doubts.used_values, positions.value) & ~in_doubt(doubts.values, value))
    key = positions.name * (len(dump.indices) + 1) + positions.index + 1
    order = known[np.argsort(key[known], kind="stable")]
    again = np.flatnonzero(np.diff(key[order]) == 0)
    is_definition = np.arange(len(positions)) == taken(dump.used_values.first_position, positions.value)
    for first, row in zip(order[again].tolist(), order[again + 1].tolist(), strict=True):
        # Where a value is defined it is; the other position is wrong.
        wrong, right = (first, row) if is_definition[row] and not is_definition[first] else (row, first)
        doubts.doubt_values(value[[first, row]])
        yield error(
            Code.DUPLICATE_POSITION,
            row_place(file, positions, wrong),
            Related(row_place(file, positions, right), "first"),
            position=dump.label(int(positions.name[row]), int(positions.index[row])),
            value=dump.value_label(int(value[wrong])),
            other=dump.value_label(int(value[right])),
            is_same=int(value[first] == value[row]),
        )


def duplicate_uses(dump: DumpSet, doubts: Doubts) -> Iterator[Finding]:
    """Uses that a value has twice."""
    uses, file = dump.uses, dump.used
    if file is None:
        return
    value = taken(dump.value_of_used_value, uses.value)
    known = np.flatnonzero((value != NONE) & ~in_doubt(doubts.used_values, uses.value))
    keys = np.stack((uses.index, uses.operand, uses.name, uses.value))[:, known]
    order = np.lexsort(keys)
    again = np.flatnonzero(np.all(np.diff(keys[:, order]) == 0, axis=0))
    for first, row in zip(known[order[again]].tolist(), known[order[again + 1]].tolist(), strict=True):
        yield error(
            Code.DUPLICATE_USE,
            row_place(file, uses, row),
            Related(row_place(file, uses, first), "first"),
            user=dump.label(int(uses.name[row]), NONE),
            operand=int(uses.operand[row]),
            value=dump.value_label(int(value[row])),
        )
