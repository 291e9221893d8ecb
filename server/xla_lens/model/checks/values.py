"""Checks of the values: the allocations and the used values list the same ones, and positions and uses are unique."""

from collections.abc import Iterator
from typing import Final

import numpy as np

from xla_lens.model.checks.findings import Finding, Related, Relation, error, hint
from xla_lens.model.checks.problems import Problem
from xla_lens.model.checks.tainted import Marks, Tainted, is_marked
from xla_lens.model.checks.views import views_in_used_values
from xla_lens.model.places.places import Place, row_place
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.tables.dump_set import EMPTY_INDEX, DumpSet
from xla_lens.model.tables.lookup import repeated, taken
from xla_lens.syntax.columns import NONE, Column, Section, Slices, Table, UsedValues
from xla_lens.syntax.hlo.quotes import QuoteParts, read_quotes


def value_ids_are_unique(dump: DumpSet, tainted: Tainted) -> Iterator[Finding]:
    """The allocations and the used values each list an id once."""
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
                    tainted.used_values[[row, before]] = True
                tainted.taint_values(dump.values.id.searchsorted(ids[row : row + 1]))
                if table.name[row] != table.name[before] or table.index[row] != table.index[before]:
                    # One of the two values has lost its own id.
                    names = table.name[[row, before]]
                    tainted.names[names] = True
                    tainted.taint_values(np.flatnonzero(np.isin(dump.values.name, names)))
                label, other = (dump.label(int(table.name[one]), int(table.index[one])) for one in (row, before))
                yield error(
                    row_place(file, table, row),
                    Problem.DUPLICATE_VALUE(ids[row], label, other if other != label else ""),
                    Related(row_place(file, table, before), Relation.OTHER_OCCURRENCE),
                )


def value_ids_ascend(dump: DumpSet, tainted: Tainted) -> Iterator[Finding]:
    """Ids ascend in each allocation and in the used values."""
    tables: tuple[tuple[DumpFile | None, Slices | UsedValues, Column], ...] = (
        (dump.assignment, dump.slices, dump.slices.allocation),
        (dump.used, dump.used_values, np.zeros(len(dump.used_values), np.int64)),
    )
    for file, table, group in tables:
        is_back = (np.diff(table.id) < 0) & (np.diff(group) == 0) & (table.id[1:] != NONE)
        if file is dump.assignment and table is dump.slices:
            is_back &= ~is_marked(tainted.allocations, group[1:])
        for row in np.flatnonzero(is_back).tolist():
            value, before = (dump.value_of_id(int(table.id[place])) for place in (row + 1, row))
            if file and not tainted.values[value] and not tainted.values[before]:
                yield error(
                    row_place(file, table, row + 1),
                    Problem.OUT_OF_ORDER(f"Value {table.id[row + 1]}", f"value {table.id[row]}", "value ids"),
                )


# ---------------------------------------------------------------- the lists


_MAXIMUM_EDITED: Final = 3
"""Maximum number of differing names that an edit of the same dump can explain. With more, and if most names differ, the
files belong to different dumps.
"""


def files_are_of_one_dump(dump: DumpSet, *, is_cut: bool) -> Iterator[Finding]:
    """Most used values and live ranges are those of the allocations. If not, no other check is meaningful. Where a list
    `is_cut` off, only values in both can tell.
    """
    values, slices, used, ranges = dump.values, dump.slices, dump.used_values, dump.live_ranges
    if dump.assignment and dump.used and dump.used is not dump.assignment:
        both = np.flatnonzero((values.slice != NONE) & (values.used_value != NONE))
        is_same = slices.name[values.slice[both]] == used.name[values.used_value[both]]
        fewer, same = len(both) if is_cut else min(len(slices), len(used)), int(is_same.sum())
        if fewer - same > _MAXIMUM_EDITED and 2 * same < fewer:
            problem = Problem.FOREIGN_FILE(len(used) - same, len(used), "used values", "in no allocation")
            yield error(row_place(dump.used, used, 0), problem)
    if dump.assignment and dump.used and dump.live not in (None, dump.assignment) and len(slices) > 1 and not is_cut:
        # Compare with both lists, as one of them may be cut off.
        unknown = int((~np.isin(ranges.name, np.append(slices.name, used.name))).sum())
        if dump.live and unknown > _MAXIMUM_EDITED and 2 * unknown > len(ranges):
            problem = Problem.FOREIGN_FILE(unknown, len(ranges), "live ranges", "of unknown values")
            yield error(row_place(dump.live, ranges, 0), problem)


def value_names_agree(dump: DumpSet, tainted: Tainted) -> Iterator[Finding]:
    """A value has the same name in its allocation and in the used values."""
    values, slices, used = dump.values, dump.slices, dump.used_values
    if dump.assignment is None or dump.used is None:
        return
    both = np.flatnonzero((values.slice != NONE) & (values.used_value != NONE) & ~tainted.values)
    row, other = values.slice[both], values.used_value[both]
    is_renamed = (slices.name[row] != used.name[other]) | (slices.index[row] != used.index[other])
    # If only the lengths differ, the longer one has ` (phi)`.
    is_longer = (slices.value_end - slices.value_start)[row] != (used.end - used.start)[other]
    wrong = np.flatnonzero(is_renamed | (is_longer & (slices.color[row] == used.color[other])))
    for at in wrong.tolist():
        slice_row, used_row = int(row[at]), int(other[at])
        tainted.taint_values(both[at : at + 1])
        if is_renamed[at]:
            tainted.names[[slices.name[slice_row], used.name[used_row]]] = True
        places = (
            Place(dump.assignment, int(slices.value_start[slice_row]), int(slices.value_end[slice_row])),
            row_place(dump.used, used, used_row),
        )
        texts = (place.file.document.data[place.start : place.end] for place in places)
        place, related = reversed(places) if _is_defined_elsewhere(dump, used_row) else places
        yield error(place, Problem.LISTS_DIFFER(*texts), Related(related, Relation.OTHER_LIST))


def _is_defined_elsewhere(dump: DumpSet, used_value: int) -> bool:
    """Whether the first position of a used value, which defines it, has another name than its header."""
    positions = dump.positions_of(used_value)
    if not positions:
        return False
    return bool(
        dump.positions.name[positions[0]] != dump.used_values.name[used_value]
        or dump.positions.index[positions[0]] != dump.used_values.index[used_value]
    )


def values_are_in_both_lists(dump: DumpSet, tainted: Tainted) -> Iterator[Finding]:
    """The values of the allocations are used values, and used values are in an allocation."""
    values = dump.values
    used = dump.used or next((file for file in dump.files if _has_used_values(file)), None)
    if dump.assignment is None or used is None:
        return
    undefined = (values.used_value == NONE) & ~tainted.values
    is_view = views_in_used_values(dump) & tainted.is_whole(dump.assignment)
    unassigned = (values.slice == NONE) & ~tainted.values & ~is_view
    names = (values.name.astype(np.int64) * len(dump.indices) + np.maximum(values.index, 0)).tolist()
    same: dict[int, list[int]] = {}
    for other in np.flatnonzero(unassigned)[::-1].tolist():
        same.setdefault(names[other], []).append(other)
    for value in np.flatnonzero(undefined).tolist():
        if not same.get(names[value]):
            continue
        other = same[names[value]].pop()
        unassigned[other] = undefined[value] = False
        tainted.taint_values(np.array([value, other]))
        yield error(
            row_place(dump.assignment, dump.slices, int(values.slice[value])),
            Problem.LISTS_DIFFER(*(f"{values.id[one]} {dump.value_label(one)}" for one in (value, other))),
            Related(row_place(used, dump.used_values, int(values.used_value[other])), Relation.OTHER_LIST),
        )
    if tainted.is_whole(used):
        in_slices = dump.assignment, dump.slices, values.slice
        yield from _missing(dump, tainted, undefined, in_slices, Problem.UNDEFINED_VALUE)
    for value in np.flatnonzero(is_view).tolist():
        # The sum of the printed peak counts views, whose size is not known.
        tainted.is_liveness_sound = False
        yield hint(
            row_place(used, dump.used_values, int(values.used_value[value])), Problem.VIEW(dump.value_label(value))
        )
    if dump.used and tainted.is_whole(dump.assignment):
        listed = dump.used, dump.used_values, values.used_value
        yield from _missing(dump, tainted, unassigned, listed, Problem.UNASSIGNED_VALUE)


def _has_used_values(file: DumpFile) -> bool:
    """Whether the file has the header of the used values, possibly without values."""
    return Section.USED_VALUES in file.columns.sections.section


def _missing(
    dump: DumpSet, tainted: Tainted, is_missing: Marks, listed: tuple[DumpFile, Table, Column], problem: Problem
) -> Iterator[Finding]:
    """Findings for values that are missing from the other list, at their rows in the list that has them. If more than
    half are missing, the lists belong to different dumps: one finding.
    """
    missing, (file, table, row) = np.flatnonzero(is_missing), listed
    tainted.taint_values(missing)
    if 2 * len(missing) > len(dump.values) and len(missing) > 1:
        problem_of_all = Problem.FOREIGN_FILE(len(missing), len(table), "values", "missing from the other list")
        yield error(row_place(file, table, int(row[missing[0]])), problem_of_all)
        return
    for value in missing.tolist():
        place = row_place(file, table, int(row[value]))
        yield error(place, problem(dump.values.id[value], dump.value_label(value)))


def values_quote_their_instruction(dump: DumpSet, tainted: Tainted) -> Iterator[Finding]:
    """The quoted instruction of a used value has its name (HloInstruction::ToString begins with the name)."""
    used, file = dump.used_values, dump.used
    if file is None:
        return
    data = file.document.data
    start = used.instruction_start
    rows = np.flatnonzero((used.id != NONE) & (used.instruction_end > start) & ~tainted.used_values)
    rows = rows[
        read_quotes(data, start[rows], used.instruction_end[rows], QuoteParts.NAMES, dump.names).name != used.name[rows]
    ]
    for row, first, name in zip(rows.tolist(), start[rows].tolist(), used.name[rows].tolist(), strict=True):
        value = dump.value_of_used_value[row]
        if data.startswith(b"%" + dump.names[name] + b" = ", first) or tainted.values[value]:
            continue
        tainted.values[value] = True
        # Text without ` = ` is not an instruction.
        end = data.find(b" = ", first, int(used.instruction_end[row]))
        if end >= 0:
            problem = Problem.FOREIGN_QUOTE(dump.label(name, NONE), data[first:end].removeprefix(b"%"))
            yield error(Place(file, first, end), problem, Related(row_place(file, used, row), Relation.QUOTING_VALUE))
    # If any value quotes its instruction, each does.
    lacking = np.flatnonzero((start == NONE) & ~tainted.used_values & (used.id != NONE))
    for row in lacking.tolist() if tainted.is_whole(file) and np.any(start != NONE) else ():
        if not tainted.values[dump.value_of_used_value[row]]:
            label = dump.label(int(used.name[row]), int(used.index[row]))
            yield error(row_place(file, used, row), Problem.MISSING_QUOTE(label))


# ---------------------------------------------------------------- positions and uses


def first_positions_define_values(dump: DumpSet, tainted: Tainted) -> Iterator[Finding]:
    """The first position of a used value is the instruction that defines it (HloValue::SetPositions)."""
    used, value = dump.used_values, dump.value_of_used_value
    if dump.used is None or not tainted.is_whole(dump.used):
        return
    has_positions = (used.position_count > 0) & (used.id != NONE)
    first = np.where(has_positions, used.first_position, NONE)
    differs = (taken(dump.positions.name, first) != used.name) | (taken(dump.positions.index, first) != used.index)
    differs &= (used.id != NONE) & ~tainted.used_values
    for row in np.flatnonzero(differs).tolist():
        if tainted.values[value[row]]:
            continue
        tainted.taint_values(value[row : row + 1])
        at = int(first[row])
        label = dump.label(int(dump.positions.name[at]), int(dump.positions.index[at])) if at != NONE else ""
        place = row_place(dump.used, dump.positions, at) if at != NONE else row_place(dump.used, used, row)
        problem = Problem.DEFINITION_MISMATCH(dump.label(int(used.name[row]), int(used.index[row])), label)
        yield error(place, problem)


def positions_are_unique(dump: DumpSet, tainted: Tainted) -> Iterator[Finding]:
    """Each position holds one value (HloDataflowAnalysis in SSA form)."""
    positions, file = dump.positions, dump.used
    if file is None:
        return
    value = taken(dump.value_of_used_value, positions.value)
    known = np.flatnonzero(~is_marked(tainted.used_values, positions.value) & ~is_marked(tainted.values, value))
    key = positions.name.astype(np.int64) * len(dump.indices) + np.maximum(positions.index, EMPTY_INDEX)
    order = known[np.argsort(key[known], kind="stable")]
    again = np.flatnonzero(np.diff(key[order]) == 0)
    is_definition = np.arange(len(positions)) == taken(dump.used_values.first_position, positions.value)
    for first, row in zip(order[again].tolist(), order[again + 1].tolist(), strict=True):
        # The position that defines a value is right, so the other one is wrong.
        wrong, right = (first, row) if is_definition[row] and not is_definition[first] else (row, first)
        tainted.taint_values(value[[first, row]])
        position = dump.label(int(positions.name[row]), int(positions.index[row]))
        label, other = dump.value_label(int(value[wrong])), dump.value_label(int(value[right]))
        yield error(
            row_place(file, positions, wrong),
            Problem.SHARED_POSITION(position, label, other if value[first] != value[row] else ""),
            Related(row_place(file, positions, right), Relation.OTHER_OCCURRENCE),
        )


def uses_are_unique(dump: DumpSet, tainted: Tainted) -> Iterator[Finding]:
    """A value lists each of its uses once."""
    uses, file = dump.uses, dump.used
    if file is None:
        return
    value = taken(dump.value_of_used_value, uses.value)
    known = np.flatnonzero((value != NONE) & ~is_marked(tainted.used_values, uses.value))
    firsts, again = repeated(key[known] for key in (uses.index, uses.operand, uses.name, uses.value))
    for first, row in zip(known[firsts].tolist(), known[again].tolist(), strict=True):
        # One of the two may stand for another use of the value.
        tainted.values[value[row]] = True
        user, operand = dump.label(int(uses.name[row]), NONE), str(uses.operand[row])
        yield error(
            row_place(file, uses, row),
            Problem.DUPLICATE_USE(dump.value_label(int(value[row])), user, operand),
            Related(row_place(file, uses, first), Relation.OTHER_OCCURRENCE),
        )
