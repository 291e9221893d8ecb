"""Checks of the live ranges: each value has one, which fits the schedule and the uses of the value."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

import numpy as np

from xla_lens.model.checks.asynchronous import is_asynchronous, is_read_asynchronously
from xla_lens.model.checks.findings import Finding, Related, Relation, error, hint, warning
from xla_lens.model.checks.overlaps import is_passed_on
from xla_lens.model.checks.problems import Occurrence, Problem
from xla_lens.model.checks.tainted import Marks, Tainted, is_marked
from xla_lens.model.checks.views import views_in_live_ranges
from xla_lens.model.places.places import Place, row_place, schedule_place, used_value_place
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.kinds import is_thread_local
from xla_lens.model.tables.lookup import taken
from xla_lens.syntax.columns import NONE, Column, Kind, Section


def live_ranges_lie_in_schedule(dump: DumpSet, tainted: Tainted) -> Iterator[Finding]:
    """Live ranges end after they start and within the schedule (HloLiveRange::CalculateBufferStartEndMap)."""
    ranges, file = dump.live_ranges, dump.live
    if file is None:
        return
    last = _last_step(dump)
    start, end = ranges.start_step, ranges.end_step
    for row in np.flatnonzero((start > end) | (start < 0) | (end > last)).tolist():
        tainted.taint_values(dump.value_of_live_range[row : row + 1])
        tainted.is_liveness_sound = False
        problem = Problem.INVALID_LIVE_RANGE(_label(dump, row), start[row], end[row], last)
        yield error(row_place(file, ranges, row), problem, *_scheduled(dump, int(ranges.name[row])))


def _label(dump: DumpSet, row: int) -> str:
    """The value of a live range as its row prints it."""
    return dump.label(int(dump.live_ranges.name[row]), int(dump.live_ranges.index[row]))


def _scheduled(dump: DumpSet, name: int) -> list[Related]:
    """The step of an instruction, if it is scheduled."""
    place = schedule_place(dump, int(dump.schedule_row_of_name[name]))
    return [Related(place, Relation.STEP)] if place else []


def _last_step(dump: DumpSet) -> int:
    """The step after the last instruction; if the schedule and `max` disagree, the later one."""
    maximum = int(dump.live_range_headers.maximum[0]) if len(dump.live_range_headers) else NONE
    steps = dump.schedule.step
    last = max(maximum, int(steps.max()) + 1 if len(steps) else NONE)
    return last if last != NONE else int(np.iinfo(np.int64).max)


# ---------------------------------------------------------------- one for each value


def values_have_one_live_range(dump: DumpSet, tainted: Tainted) -> Iterator[Finding]:
    """Each scheduled value has one live range, each live range a value, and they are in the order of value ids."""
    ranges, file = dump.live_ranges, dump.live
    if file is None or Section.BUFFER_LIVE_RANGES not in file.columns.sections.section:
        return
    value = dump.value_of_live_range
    ids = np.where(defines_own_value(dump), taken(dump.values.id, value), NONE)
    wrong = is_marked(tainted.names, ranges.name)
    either = np.zeros(len(ids), bool)
    yield from _duplicates(dump, tainted, ids, wrong, either)
    # A value with a finding may have the id of another one.
    has_id = (ids != NONE) & ~wrong & ~is_marked(tainted.values, value)
    yield from _order(dump, tainted, file, np.flatnonzero(has_id), ids)
    known = dump.used if dump.used is not None else dump.assignment
    nameless = np.flatnonzero((ids == NONE) & ~wrong)
    if tainted.is_whole(known) and tainted.is_whole(dump.assignment if dump.used is None else dump.used):
        is_view = views_in_live_ranges(dump)
        for row in nameless.tolist():
            # The sum of the printed peak counts views, whose size is not known.
            tainted.is_liveness_sound = False
            make, problem = (hint, Problem.VIEW) if is_view[row] else (error, Problem.UNDEFINED_LIVE_RANGE)
            yield make(row_place(file, ranges, row), problem(_label(dump, row)))
    wrong[nameless] = True
    if tainted.is_whole(file):
        yield from _missing(dump, tainted, _excused(dump, np.where(wrong | either, NONE, ids)))


def defines_own_value(dump: DumpSet) -> Marks:
    """For each live range whether a value has its name and index. Other positions of a value have no live range."""
    ranges, value = dump.live_ranges, dump.value_of_live_range
    index = taken(np.maximum(dump.values.index, 0), value)
    is_own: Marks = (value != NONE) & (taken(dump.values.name, value) == ranges.name) & (index == ranges.index)
    return is_own


def _duplicates(dump: DumpSet, tainted: Tainted, ids: Column, wrong: Marks, either: Marks) -> Iterator[Finding]:
    """Mark in `wrong` the live range that is one too many, and in `either` those that may be that of another value."""
    ranges, file = dump.live_ranges, dump.live
    assert file is not None, "checked before"
    order = np.lexsort((np.arange(len(ranges)), ranges.index, ranges.name))
    same = (np.diff(ranges.name[order]) == 0) & (np.diff(ranges.index[order]) == 0)
    # Of two live ranges, the one that is out of order is wrong.
    is_out = np.zeros(len(ids), bool)
    is_out[1:] |= (ids[1:] < ids[:-1]) & (ids[1:] != NONE)
    is_out[:-1] |= (ids[:-1] > ids[1:]) & (ids[1:] != NONE)
    for place in np.flatnonzero(same).tolist():
        first, row = int(order[place]), int(order[place + 1])
        if wrong[first] or wrong[row]:
            continue
        if is_out[first] and not is_out[row]:
            first, row = row, first
        wrong[row] = True
        either[[first, row]] = is_out[first] == is_out[row]
        tainted.taint_values(dump.value_of_live_range[[row]])
        yield error(
            row_place(file, ranges, row),
            Problem.DUPLICATE_LIVE_RANGE(_label(dump, row)),
            Related(row_place(file, ranges, first), Relation.OTHER_OCCURRENCE),
        )


def _order(dump: DumpSet, tainted: Tainted, file: DumpFile, rows: Column, ids: Column) -> Iterator[Finding]:
    """Report the first live range that is not in the order of value ids."""
    ranges = dump.live_ranges
    for place in np.flatnonzero(np.diff(ids[rows]) < 0)[:1].tolist():
        before, row = int(rows[place]), int(rows[place + 1])
        tainted.names[ranges.name[[before, row]]] = True
        problem = Problem.OUT_OF_ORDER(f"`{_label(dump, row)}`", f"`{_label(dump, before)}`", "value ids")
        yield error(row_place(file, ranges, row), problem)


def _excused(dump: DumpSet, ids: Column) -> Marks:
    """The values whose live range may be a row without a known id: their ids lie between those of the next rows."""
    rows, is_known = np.arange(len(ids)), ids != NONE
    before = np.maximum.accumulate(np.where(is_known, rows, NONE))[~is_known]
    after = np.minimum.accumulate(np.where(is_known, rows, len(ids))[::-1])[::-1][~is_known]
    first = dump.values.id.searchsorted(taken(ids, before), "right")
    last = dump.values.id.searchsorted(np.append(ids, np.iinfo(np.int64).max)[after])
    changes = np.zeros(len(dump.values) + 1, np.int64)
    np.add.at(changes, first[first < last], 1)
    np.subtract.at(changes, last[first < last], 1)
    return changes[:-1].cumsum() > 0


def _missing(dump: DumpSet, tainted: Tainted, excused: Marks) -> Iterator[Finding]:
    values = dump.values
    is_local = taken(is_thread_local(dump), values.allocation) == 1
    scheduled = (dump.schedule_row_of_name[values.name] != NONE) & ~is_marked(tainted.names, values.name)
    missing = scheduled & (values.live_range == NONE) & ~is_local
    tainted.is_liveness_sound &= not missing.any()
    for value in np.flatnonzero(missing & ~excused & ~tainted.values).tolist():
        tainted.taint_values(np.array([value]))
        place = used_value_place(dump, value) or _slice_row(dump, value)
        if place:
            name = int(values.name[value])
            step = int(dump.schedule.step[dump.schedule_row_of_name[name]])
            yield error(place, Problem.MISSING_LIVE_RANGE(dump.value_label(value), step), *_scheduled(dump, name))


def _slice_row(dump: DumpSet, value: int) -> Place | None:
    row = int(dump.values.slice[value])
    return row_place(dump.assignment, dump.slices, row) if dump.assignment and row != NONE else None


# ---------------------------------------------------------------- starts and ends


def live_ranges_match_schedule_and_uses(dump: DumpSet, tainted: Tainted) -> Iterator[Finding]:
    """Live ranges start where their instruction runs and do not end before the last use of their value."""
    values, file = dump.values, dump.live
    if file is None or not len(dump.schedule):
        return
    step = taken(dump.schedule.step, dump.schedule_row_of_name)
    known = (values.live_range != NONE) & ~tainted.values & ~is_marked(tainted.names, values.name)
    known &= step[values.name] != NONE
    early_ends = _early_ends(dump, tainted, known, step)
    wrong_starts = _wrong_starts(dump, tainted, known, step)
    swapped = _swapped(dump, tainted, known, step, wrong_starts)
    tainted.is_liveness_sound &= not wrong_starts and not early_ends
    if swapped:
        tainted.names[swapped] = True
        first, other = sorted(dump.schedule_row_of_name[swapped].tolist())
        names, steps = dump.schedule.name, dump.schedule.step
        sides = ((dump.label(int(names[row]), NONE), steps[row]) for row in (first, other))
        related = Related(row_place(file, dump.schedule, other), Relation.SWAPPED)
        problem = Problem.SWAPPED_INSTRUCTIONS(*(fact for side in sides for fact in side))
        yield error(row_place(file, dump.schedule, first), problem, related)
        return
    seen: set[tuple[int, int]] = set()
    for value in wrong_starts:
        tainted.taint_values(np.array([value]))
        # The values of one instruction start together.
        key = int(values.name[value]), int(values.start_step[value])
        if key in seen:
            continue
        seen.add(key)
        own_step = int(step[values.name[value]])
        problem = Problem.WRONG_START(dump.value_label(value), int(values.start_step[value]), own_step)
        yield _finding(dump, file, value, problem, own_step)
    moved = _possible_starts(dump, tainted, step)
    for value, last_use in early_ends:
        end = int(values.end_step[value])
        if not tainted.values[value] and not moved & {end, end + 1}:
            tainted.taint_values(np.array([value]))
            user = dump.instruction_at(last_use) or ""
            problem = Problem.EARLY_END(dump.value_label(value), end, last_use, user)
            yield _finding(dump, file, value, problem, last_use)
    yield from _read_only_parameters(dump, tainted, file)


def _possible_starts(dump: DumpSet, tainted: Tainted, step: Column) -> set[int]:
    """The steps at which a value may take over the bytes of another one, as its own start or place is uncertain."""
    uncertain = np.flatnonzero(tainted.values)
    starts = dump.values.start_step[uncertain], step[dump.values.name[uncertain]]
    return {*np.concatenate(starts).tolist()} - {NONE}


def _finding(dump: DumpSet, file: DumpFile, value: int, problem: Occurrence, step: int) -> Finding:
    """A finding at the live range of a value, related to a step."""
    scheduled = dump.schedule_row(step)
    related = [] if scheduled == NONE else [Related(row_place(file, dump.schedule, scheduled), Relation.STEP)]
    return warning(row_place(file, dump.live_ranges, int(dump.values.live_range[value])), problem, *related)


def _read_only_parameters(dump: DumpSet, tainted: Tainted, file: DumpFile) -> Iterator[Finding]:
    """A parameter that was not donated is live from the first step to the last."""
    if not tainted.is_liveness_sound:
        return
    values, last = dump.values, _last_step(dump)
    kind = taken(dump.allocations.kind, values.allocation)
    is_kept = (kind != NONE) & ((kind & int(Kind.PARAMETER)) != 0) & ((kind & int(Kind.MAYBE_LIVE_OUT)) == 0)
    known = is_kept & (values.live_range != NONE) & ~tainted.values & ~is_marked(tainted.allocations, values.allocation)
    for value in np.flatnonzero(known & ((values.start_step != 0) | (values.end_step != last))).tolist():
        tainted.taint_values(np.array([value]))
        steps = int(values.start_step[value]), int(values.end_step[value])
        problem = Problem.PARAMETER_LIVE_RANGE(dump.value_label(value), steps, (0, last))
        yield warning(row_place(file, dump.live_ranges, int(values.live_range[value])), problem)


def _wrong_starts(dump: DumpSet, tainted: Tainted, known: Marks, step: Column) -> list[int]:
    moved = np.flatnonzero(known & (dump.values.start_step != step[dump.values.name]))
    return [value for value in moved.tolist() if _is_wrong_start(dump, tainted, value, step)]


def _is_wrong_start(dump: DumpSet, tainted: Tainted, value: int, step: Column) -> bool:
    """Whether the live range of a value starts at a step where it cannot.

    A parameter may start earlier than its instruction, with its computation. What runs in an asynchronous computation
    may start one step later. All other values start at the step of their instruction.
    """
    start, scheduled = int(dump.values.start_step[value]), int(step[dump.values.name[value]])
    if start == scheduled:
        return False
    opcode = dump.opcode(int(dump.values.name[value]))
    is_parameter = opcode == b"parameter"
    if start < scheduled and (opcode is None or is_parameter):
        return False
    if start > scheduled and is_parameter:
        return True
    is_start = opcode is not None and opcode.endswith(b"-start")
    return is_start or start > scheduled + 1 or not is_asynchronous(dump, tainted, scheduled, start)


def _early_ends(dump: DumpSet, tainted: Tainted, known: Marks, step: Column) -> list[tuple[int, int]]:
    """The values that are read after their end, each with the step of its last use.

    Values that are passed on may be read under other names. A live range may also end where the next value of its
    buffer starts (HloLiveRange::NormalizeAliasedBuffers).
    """
    values, uses = dump.values, dump.uses
    value = taken(dump.value_of_used_value, uses.value)
    is_known = (value != NONE) & ~is_marked(tainted.names, uses.name)
    last_use = np.full(len(values), NONE)
    np.maximum.at(last_use, value[is_known], step[uses.name[is_known]])
    early_ends = np.flatnonzero(known & (values.end_step < last_use)).tolist()
    starts = [column.tolist() for column in (values.allocation, values.offset, values.start_step)] if early_ends else []
    number = Counter(zip(*starts, strict=True))
    found = []
    for early in early_ends:
        allocation, offset, start = (column[early] for column in starts)
        end = int(values.end_step[early])
        # Do not count the value itself as its successor.
        has_successor = any(number[allocation, offset, step] > (step == start) for step in (end, end + 1, NONE))
        if not has_successor and not is_passed_on(dump, early) and not is_read_asynchronously(dump, early):
            found.append((early, int(last_use[early])))
    return found


def _swapped(dump: DumpSet, tainted: Tainted, known: Marks, step: Column, wrong_starts: list[int]) -> list[int]:
    """The names of two instructions at each other's step in the schedule.

    Empty if no swap explains all wrong starts and early ends, or if a swap would explain a single value only.
    """
    names = list(dict.fromkeys(dump.values.name[wrong_starts].tolist()))
    for first in names if len(names) <= _MAXIMUM_MOVED else ():
        claimed = dump.values.start_step[[value for value in wrong_starts if dump.values.name[value] == first]]
        row = dump.schedule_row(int(claimed[0]))
        other = int(dump.schedule.name[row])
        if row == NONE or other == first or np.any(claimed != claimed[0]):
            continue
        corrected = step.copy()
        corrected[[first, other]] = step[[other, first]]
        left = np.array(_wrong_starts(dump, tainted, known, corrected), np.int64)
        # Asynchronous values start one step after their instruction, which may be the swapped one.
        left = left[dump.values.start_step[left] != corrected[dump.values.name[left]] + 1]
        if len(left) or _early_ends(dump, tainted, known, corrected):
            continue
        if len(names) > 1 or _early_ends(dump, tainted, known, step):
            return [first, other]
    return []


_MAXIMUM_MOVED: Final = 4
"""Maximum number of instructions with wrong starts that a swap of two can cause: asynchronous instructions move along
with the swapped one. Swaps in the dumps of `tests/dumps` move at most 3.
"""
