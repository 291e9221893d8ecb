"""Checks of the values: the allocations and the used values list the same ones, and positions and uses are unique."""

from collections.abc import Iterator
from typing import Final

import numpy as np

from xla_lens.model.checks.allocations import decoded
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
                    Problem.DUPLICATE_VALUE(int(ids[row]), label)
                    if label == other
                    else Problem.DUPLICATE_VALUE_ID(int(ids[row]), label, other),
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
                    Problem.VALUE_OUT_OF_ORDER(int(table.id[row + 1]), int(table.id[row])),
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
            yield error(
                row_place(dump.used, used, 0), Problem.FOREIGN_USED_VALUES(missing=len(used) - same, total=len(used))
            )
    is_live_apart = dump.live and dump.live is not dump.assignment
    if dump.assignment and dump.used and dump.live and is_live_apart and len(slices) > 1 and not is_cut:
        # Compare with both lists, as one of them may be cut off.
        unknown = int((~np.isin(ranges.name, np.append(slices.name, used.name))).sum())
        if unknown > _MAXIMUM_EDITED and 2 * unknown > len(ranges):
            yield error(
                row_place(dump.live, ranges, 0), Problem.FOREIGN_LIVE_RANGES(missing=unknown, total=len(ranges))
            )


def value_names_agree(dump: DumpSet, tainted: Tainted) -> Iterator[Finding]:
    """A value has the same name in its allocation and in the used values."""
    values, slices, used = dump.values, dump.slices, dump.used_values
    if dump.assignment is None or dump.used is None:
        return
    both = np.flatnonzero((values.slice != NONE) & (values.used_value != NONE) & ~tainted.values)
    row, other = values.slice[both], values.used_value[both]
    differs = (slices.name[row] != used.name[other]) | (slices.index[row] != used.index[other])
    # If only the lengths differ, the longer one has ` (phi)`.
    longer = (slices.value_end - slices.value_start)[row] - (used.end - used.start)[other]
    is_phi = ~differs & (slices.color[row] == used.color[other]) & (longer != 0)
    for value, more in zip(both[is_phi].tolist(), longer[is_phi].tolist(), strict=True):
        tainted.values[value] = True
        yield error(
            row_place(dump.assignment, slices, int(values.slice[value])),
            Problem.PHI_MISMATCH(dump.value_label(value), is_phi_in_allocation=more > 0),
            Related(row_place(dump.used, used, int(values.used_value[value])), Relation.OTHER_LIST),
        )
    for value in both[differs].tolist():
        tainted.taint_values(np.array([value]))
        tainted.names[[slices.name[values.slice[value]], used.name[values.used_value[value]]]] = True
        row_of_slice, row_of_used = int(values.slice[value]), int(values.used_value[value])
        slice_place = row_place(dump.assignment, slices, row_of_slice)
        used_place = row_place(dump.used, used, row_of_used)
        number = int(values.id[value])
        name = dump.label(int(slices.name[row_of_slice]), int(slices.index[row_of_slice]))
        used_name = dump.label(int(used.name[row_of_used]), int(used.index[row_of_used]))
        if _is_defined_elsewhere(dump, row_of_used):
            related = Related(slice_place, Relation.OTHER_LIST)
            yield error(used_place, Problem.USED_NAME_MISMATCH(number, used_name, name), related)
        else:
            related = Related(used_place, Relation.OTHER_LIST)
            yield error(slice_place, Problem.SLICE_NAME_MISMATCH(number, name, used_name), related)


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
            Problem.SLICE_ID_MISMATCH(dump.value_label(value), int(values.id[value]), used_id=int(values.id[other])),
            Related(row_place(used, dump.used_values, int(values.used_value[other])), Relation.OTHER_LIST),
        )
    if tainted.is_whole(used):
        listed = dump.assignment, dump.slices, values.slice
        yield from _missing(dump, tainted, undefined, listed, (Problem.UNDEFINED_VALUE, Problem.FOREIGN_SLICES))
    for value in np.flatnonzero(is_view).tolist():
        # The sum of the printed peak counts views, whose size is not known.
        tainted.is_liveness_sound = False
        yield hint(
            row_place(used, dump.used_values, int(values.used_value[value])), Problem.VIEW(dump.value_label(value))
        )
    if dump.used and tainted.is_whole(dump.assignment):
        kinds = Problem.UNASSIGNED_VALUE, Problem.UNASSIGNED_VALUES
        yield from _missing(dump, tainted, unassigned, (dump.used, dump.used_values, values.used_value), kinds)


def _has_used_values(file: DumpFile) -> bool:
    """Whether the file has the header of the used values, possibly without values."""
    return Section.USED_VALUES in file.columns.sections.section


def _missing(
    dump: DumpSet,
    tainted: Tainted,
    is_missing: Marks,
    listed: tuple[DumpFile, Table, Column],
    kinds: tuple[Problem, Problem],
) -> Iterator[Finding]:
    """Findings for values that are missing from the other list, at their rows in the list that has them. If more than
    half are missing, the lists belong to different dumps: one finding, of the second kind.
    """
    missing, (file, table, row) = np.flatnonzero(is_missing), listed
    tainted.taint_values(missing)
    is_foreign = 2 * len(missing) > len(dump.values) and len(missing) > 1
    for value in missing[: 1 if is_foreign else None].tolist():
        number, label = int(dump.values.id[value]), dump.value_label(value)
        problem = kinds[1](label, len(missing) - 1) if is_foreign else kinds[0](number, label)
        yield error(row_place(file, table, int(row[value])), problem)


def values_quote_their_instruction(dump: DumpSet, tainted: Tainted) -> Iterator[Finding]:
    """The quoted instruction of a used value has its name (HloInstruction::ToString begins with the name)."""
    used, file = dump.used_values, dump.used
    if file is None:
        return
    data = file.document.data
    rows = np.flatnonzero((used.id != NONE) & (used.instruction_end > used.instruction_start) & ~tainted.used_values)
    spans = used.instruction_start[rows], used.instruction_end[rows]
    rows = rows[read_quotes(data, *spans, QuoteParts.NAMES, dump.names).name != used.name[rows]]
    columns = (rows, used.instruction_start[rows], used.name[rows])
    for row, start, name in zip(*(column.tolist() for column in columns), strict=True):
        value = dump.value_of_used_value[row]
        if data.startswith(b"%" + dump.names[name] + b" = ", start) or tainted.values[value]:
            continue
        tainted.values[value] = True
        # Text without ` = ` is not an instruction.
        end = data.find(b" = ", start, int(used.instruction_end[row]))
        if end >= 0:
            quoted_name = decoded(data[start:end].removeprefix(b"%"))
            yield error(
                Place(file, start, end),
                Problem.FOREIGN_QUOTE(dump.label(name, NONE), quoted_name),
                Related(row_place(file, used, row), Relation.QUOTING_VALUE),
            )
    yield from _each_quotes_once(dump, tainted, file)


_LONGEST_BEFORE_QUOTE: Final = len(b"\n uses:\n  (none)\n from instruction: ")
_QUOTE: Final = b"\n from instruction:"


def _each_quotes_once(dump: DumpSet, tainted: Tainted, file: DumpFile) -> Iterator[Finding]:
    """If any value quotes its instruction, each does, once."""
    used, data = dump.used_values, file.document.data
    is_quoted = used.instruction_start != NONE
    if not tainted.is_whole(file) or not np.any(is_quoted):
        return
    for row in np.flatnonzero(~is_quoted & ~tainted.used_values & (used.id != NONE)).tolist():
        if not is_marked(tainted.values, dump.value_of_used_value[row : row + 1])[0]:
            yield error(
                row_place(file, used, row), Problem.MISSING_QUOTE(dump.label(int(used.name[row]), int(used.index[row])))
            )
    last_position = used.first_position + used.position_count - 1
    end = np.maximum(
        _ends(dump.positions.end, last_position), _ends(dump.uses.end, used.first_use + used.use_count - 1)
    )
    for row in np.flatnonzero(is_quoted & (used.instruction_start - end > _LONGEST_BEFORE_QUOTE)).tolist():
        first = data.find(_QUOTE, int(end[row]), int(used.instruction_start[row]))
        second = data.find(_QUOTE, first + 1, int(used.instruction_start[row])) if first >= 0 else NONE
        if second >= 0:
            place = Place(file, second + len(b"\n "), int(used.instruction_end[row]))
            yield error(place, Problem.REPEATED_QUOTE(dump.label(int(used.name[row]), NONE)))


def _ends(ends: Column, rows: Column) -> Column:
    return np.append(ends, 0)[np.minimum(rows, len(ends))]


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
        position = int(first[row])
        name = dump.label(int(used.name[row]), int(used.index[row]))
        if position == NONE:
            yield error(row_place(dump.used, used, row), Problem.MISSING_POSITION(name))
        else:
            found = dump.label(int(dump.positions.name[position]), int(dump.positions.index[position]))
            yield error(row_place(dump.used, dump.positions, position), Problem.DEFINITION_MISMATCH(name, found))


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
        is_same = value[first] == value[row]
        yield error(
            row_place(file, positions, wrong),
            Problem.REPEATED_POSITION(label, position) if is_same else Problem.SHARED_POSITION(position, label, other),
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
