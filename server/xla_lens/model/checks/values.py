"""Checks of the values: the allocations and the used values list the same ones, and positions and uses are unique."""

from collections.abc import Iterator
from typing import Final

import numpy as np

from xla_lens.model.checks.context import Context, Marks, marked, repeats
from xla_lens.model.checks.findings import Finding, Related, Relation, error, hint
from xla_lens.model.checks.problems import Problem
from xla_lens.model.places.places import Place, row_place
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.tables.dump_set import EMPTY_INDEX, DumpSet
from xla_lens.model.tables.lookup import taken
from xla_lens.syntax.columns import NONE, Column, Section
from xla_lens.syntax.hlo.quotes import QuoteParts, read_quotes


def value_ids_are_unique(context: Context) -> Iterator[Finding]:
    """The allocations and the used values each list an id once."""
    values = context.dump.values
    for table in (context.dump.slices, context.dump.used_values):
        for before, row in repeats((table.id,), table.id != NONE):
            label, other = (context.label(table, one) for one in (row, before))
            covered, names = values.id.searchsorted(table.id[[row]]), table.name[[]]
            if label != other:
                # One of the two values has lost its own id.
                names = table.name[[row, before]]
                covered = np.append(covered, np.flatnonzero(np.isin(values.name, names)))
            problem = Problem.DUPLICATE_VALUE(other if other != label else "", label, table.id[row])
            related = context.related(table, before, Relation.OTHER_OCCURRENCE)
            yield context.error(table, row, problem, *related, values=covered, names=names)


def value_ids_ascend(context: Context) -> Iterator[Finding]:
    """Ids ascend in each allocation and in the used values."""
    slices, used = context.dump.slices, context.dump.used_values
    is_same = (np.diff(slices.allocation) == 0) & context.free(allocations=slices.allocation[1:])
    for table, is_below in ((slices, is_same), (used, np.True_)):
        for row in marked(is_below & (np.diff(table.id) < 0) & (table.id[1:] != NONE)):
            before, number = table.id[row : row + 2].tolist()
            problem = Problem.OUT_OF_ORDER(f"Value {number}", f"value {before}", "value ids")
            values = (context.dump.value_of_id(one) for one in (before, number))
            yield context.error(table, row + 1, problem, values=values)


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
        same = int((slices.name[values.slice[both]] == used.name[values.used_value[both]]).sum())
        fewer = len(both) if is_cut else min(len(slices), len(used))
        if fewer - same > _MAXIMUM_EDITED and 2 * same < fewer:
            problem = Problem.FOREIGN_FILE(len(used) - same, len(used), "used values", "in no allocation")
            yield error(row_place(dump.used, used, 0), problem)
    if dump.assignment and dump.used and dump.live not in (None, dump.assignment) and len(slices) > 1 and not is_cut:
        # Compare with both lists, as one of them may be cut off.
        unknown = int((~np.isin(ranges.name, np.append(slices.name, used.name))).sum())
        if dump.live and unknown > _MAXIMUM_EDITED and 2 * unknown > len(ranges):
            problem = Problem.FOREIGN_FILE(unknown, len(ranges), "live ranges", "of unknown values")
            yield error(row_place(dump.live, ranges, 0), problem)


def value_names_agree(context: Context) -> Iterator[Finding]:
    """A value has the same name in its allocation and in the used values."""
    dump, values, slices, used = context.dump, context.dump.values, context.dump.slices, context.dump.used_values
    both = np.flatnonzero((values.slice != NONE) & (values.used_value != NONE))
    row, other = values.slice[both], values.used_value[both]
    is_renamed = (slices.name[row] != used.name[other]) | (slices.index[row] != used.index[other])
    # If only the lengths differ, the longer one has ` (phi)`.
    is_longer = (slices.value_end - slices.value_start)[row] != (used.end - used.start)[other]
    for at in marked(is_renamed | (is_longer & (slices.color[row] == used.color[other]))):
        one, listed = int(row[at]), int(other[at])
        file = context.file(slices)
        places = (
            Place(file, int(slices.value_start[one]), int(slices.value_end[one])),
            context.place(used, listed),
        )
        texts = (place.file.document.data[place.start : place.end] for place in places)
        # The first position of a used value has its name.
        positions = dump.positions_of(listed)
        is_used_wrong = bool(positions) and context.label(dump.positions, positions[0]) != context.label(used, listed)
        place, related = reversed(places) if is_used_wrong else places
        names = (slices.name[one], used.name[listed]) if is_renamed[at] else ()
        problem = Problem.LISTS_DIFFER(*texts)
        yield error(place, problem, Related(related, Relation.OTHER_LIST), values=both[at], names=names)


def values_are_in_both_lists(context: Context) -> Iterator[Finding]:
    """The values of the allocations are used values, and used values are in an allocation."""
    dump, values, slices, table = context.dump, context.dump.values, context.dump.slices, context.dump.used_values
    used = dump.used or next((file for file in dump.files if _has_used_values(file)), None)
    if dump.assignment is None or used is None:
        return
    is_view = views_in_used_values(dump) & (values.slice == NONE) & context.is_whole(dump.assignment)
    undefined = marked((values.used_value == NONE) & ~context.values)
    unassigned = marked((values.slice == NONE) & ~context.values & ~is_view)
    labels: dict[str, list[int]] = {}
    for other in reversed(unassigned):
        labels.setdefault(context.value(other), []).append(other)
    for value in undefined:
        # Two values of one name that are in one list each are one value with a wrong id.
        if labels.get(context.value(value)):
            other = labels[context.value(value)].pop()
            place = context.place(slices, values.slice[value])
            problem = Problem.LISTS_DIFFER(*(f"{values.id[one]} {context.value(one)}" for one in (value, other)))
            related = context.related(table, values.used_value[other], Relation.OTHER_LIST)
            yield error(place, problem, *related, values=(value, other))
        elif context.is_whole(used):
            place = context.place(slices, values.slice[value])
            yield error(place, Problem.UNDEFINED_VALUE(context.value(value), values.id[value]), values=value)
    for value in marked(is_view):
        place = row_place(used, table, int(values.used_value[value]))
        yield hint(place, Problem.VIEW(context.value(value)), values=value)
    for value in unassigned if dump.used and context.is_whole(dump.assignment) else ():
        place = context.place(table, values.used_value[value])
        yield error(place, Problem.UNASSIGNED_VALUE(context.value(value), values.id[value]), values=value)


def _has_used_values(file: DumpFile) -> bool:
    """Whether the file has the header of the used values, possibly without values."""
    return Section.USED_VALUES in file.columns.sections.section


# XLA gives an address into another buffer, a view, a memory space of its own, which has no allocations
# (BufferAssigner::Options::dus_view_color). It prints a live range for a view, but no position of it.


def views_in_used_values(dump: DumpSet) -> Marks:
    """Return which values are in a memory space without allocations, by design."""
    color = taken(dump.used_values.color, dump.values.used_value)
    is_view: Marks = (color > 0) & ~np.isin(color, dump.allocations.color) & ~np.isin(color, dump.slices.color)
    return is_view


def views_in_live_ranges(dump: DumpSet) -> Marks:
    """Return which live ranges are of scheduled instructions that are no tuples, and no position of a value."""
    ranges = dump.live_ranges
    is_scheduled = dump.schedule_row_of_name[ranges.name] != NONE
    is_view: Marks = is_scheduled & (ranges.index == 0) & ~np.isin(ranges.name, dump.positions.name)
    return is_view


def values_quote_their_instruction(context: Context) -> Iterator[Finding]:
    """The quoted instruction of a used value has its name (HloInstruction::ToString begins with the name)."""
    dump, used = context.dump, context.dump.used_values
    if dump.used is None:
        return
    data, start, end, value = (
        dump.used.document.data,
        used.instruction_start,
        used.instruction_end,
        dump.value_of_used_value,
    )
    rows = np.flatnonzero((end > start) & context.free(values=value))
    quoted = read_quotes(data, start[rows], end[rows], QuoteParts.NAMES, dump.names).name
    for row in rows[quoted != used.name[rows]].tolist():
        name, first = dump.names[used.name[row]], int(start[row])
        # Text without ` = ` is not an instruction.
        last = data.find(b" = ", first, int(end[row]))
        if last >= 0 and data[first:last].removeprefix(b"%") != name:
            problem = Problem.FOREIGN_QUOTE(name, data[first:last].removeprefix(b"%"))
            related = context.related(used, row, Relation.QUOTING_VALUE)
            yield error(Place(dump.used, first, last), problem, *related, values=value[row])
    # If any value quotes its instruction, each does.
    if context.is_whole(dump.used) and np.any(start != NONE):
        for row in marked((start == NONE) & context.free(values=value)):
            yield context.error(used, row, Problem.MISSING_QUOTE(context.label(used, row)))


# ---------------------------------------------------------------- positions and uses


def first_positions_define_values(context: Context) -> Iterator[Finding]:
    """The first position of a used value is the instruction that defines it (HloValue::SetPositions)."""
    dump, used, positions = context.dump, context.dump.used_values, context.dump.positions
    if not context.is_whole(dump.used):
        return
    first = np.where(used.position_count > 0, used.first_position, NONE)
    differs = (taken(positions.name, first) != used.name) | (taken(positions.index, first) != used.index)
    for row in marked(differs & context.free(values=dump.value_of_used_value)):
        at = int(first[row])
        label, place = "", context.place(used, row)
        if at != NONE:
            label, place = context.label(positions, at), context.place(positions, at)
        problem = Problem.DEFINITION_MISMATCH(context.label(used, row), label)
        yield error(place, problem, values=dump.value_of_used_value[row])


def positions_are_unique(context: Context) -> Iterator[Finding]:
    """Each position holds one value (HloDataflowAnalysis in SSA form)."""
    dump, positions = context.dump, context.dump.positions
    value = context.value_of(positions)
    is_definition = np.arange(len(positions)) == taken(dump.used_values.first_position, positions.value)
    index = np.maximum(positions.index, EMPTY_INDEX)
    for first, row in repeats((index, positions.name), context.free(values=value)):
        # The position that defines a value is right, so the other one is wrong.
        wrong, right = (first, row) if is_definition[row] and not is_definition[first] else (row, first)
        other = context.value(value[right]) if value[first] != value[row] else ""
        problem = Problem.SHARED_POSITION(context.label(positions, row), context.value(value[wrong]), other)
        related = context.related(positions, right, Relation.OTHER_OCCURRENCE)
        yield context.error(positions, wrong, problem, *related, values=value[[first, row]])


def uses_are_unique(context: Context) -> Iterator[Finding]:
    """A value lists each of its uses once."""
    yield from _repeated_uses(context, (context.dump.uses.value,))


def operands_are_one_value(context: Context) -> Iterator[Finding]:
    """Each operand is one value. This holds for instructions that are not quoted, too."""
    yield from _repeated_uses(context, ())


def _repeated_uses(context: Context, keys: tuple[Column, ...]) -> Iterator[Finding]:
    uses = context.dump.uses
    value = context.value_of(uses)
    known = context.free(values=value, names=uses.name)
    for first, row in repeats((uses.index, uses.operand, uses.name, *keys), known):
        label, *use = use_labels(context, row, value[row])
        problem = Problem.DUPLICATE_USE(label, *use)
        if value[first] != value[row]:
            problem = Problem.SHARED_OPERAND(*use, label, context.value(value[first]))
        related = context.related(uses, first, Relation.OTHER_OCCURRENCE)
        # One of the two may stand for another use of the value.
        yield context.error(uses, row, problem, *related, values=value[row])


def use_labels(context: Context, row: int, value: int) -> tuple[str, str, str]:
    """A value, the operand that it is as the dump prints it, `0 {1}`, and the instruction that reads it."""
    uses, index = context.dump.uses, int(context.dump.uses.index[row])
    operand = f"{uses.operand[row]} {context.dump.indices[index].decode()}" if index != NONE else f"{uses.operand[row]}"
    return context.value(value), operand, context.name(uses.name[row])
