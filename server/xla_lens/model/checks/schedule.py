"""Checks of the schedule: its steps, its length, and whether it has all instructions of live values."""

from bisect import bisect_left
from collections.abc import Iterator

import numpy as np

from xla_lens.model.checks.findings import MAXIMUM_RELATED, Finding, Related, Relation, error
from xla_lens.model.checks.problems import Problem
from xla_lens.model.checks.tainted import Marks, Tainted, is_marked
from xla_lens.model.places.places import Place, row_place
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.lookup import distinct, distinct_pairs, first_rows, found, taken
from xla_lens.syntax.columns import NONE, Column, Table


def steps_ascend(dump: DumpSet, tainted: Tainted) -> Iterator[Finding]:
    """The schedule has steps 0, 1, 2, …, each instruction once, and `max` is their number (HloLiveRange::ToString)."""
    schedule, file = dump.schedule, dump.live
    if file is None or not len(schedule):
        return
    first = _first_rows(dump)
    again = np.flatnonzero(first != np.arange(len(schedule)))
    tainted.names[schedule.name[again]] = True
    # A row that repeats another with its step does not shift the other rows.
    is_copy = np.zeros(len(schedule), bool)
    is_copy[again] = schedule.step[again] == schedule.step[first[again]]
    found = list(_steps(dump, tainted, file, np.flatnonzero(~is_copy)))
    for row in again.tolist():
        first_row = int(first[row])
        steps = int(schedule.step[first_row]), int(schedule.step[row])
        problem = Problem.SCHEDULED_TWICE(_name(dump, row), steps)
        related = Related(row_place(file, schedule, first_row), Relation.OTHER_OCCURRENCE)
        found.append(error(row_place(file, schedule, row), problem, related))
    yield from found
    maximum = _maximum(dump)
    if maximum not in (NONE, len(schedule)) and not found and tainted.is_whole(file):
        tainted.is_liveness_sound = False
        yield error(row_place(file, dump.live_range_headers, 0), Problem.MAX_MISMATCH(maximum, len(schedule)))
    elif found:
        tainted.is_liveness_sound = False


def _name(dump: DumpSet, row: int) -> str:
    """The instruction in a row of the schedule."""
    return dump.label(int(dump.schedule.name[row]), NONE)


def _first_rows(dump: DumpSet) -> Column:
    """For each row of the schedule the first one of its name."""
    return first_rows(dump.schedule.name, dump.schedule.name, np.arange(len(dump.schedule)))


def _maximum(dump: DumpSet) -> int:
    return int(dump.live_range_headers.maximum[0]) if len(dump.live_range_headers) else NONE


def _steps(dump: DumpSet, tainted: Tainted, file: DumpFile, rows: Column) -> Iterator[Finding]:
    """Findings for the steps of some rows, which should be 0, 1, 2, …"""
    schedule = dump.schedule
    step = schedule.step[rows]
    displaced = rows[step != np.arange(len(rows))]
    if not len(displaced):
        return
    if np.array_equal(np.sort(step), np.arange(len(rows))):
        first, *others = displaced.tolist()
        problem = Problem.WRONG_STEP(_name(dump, first), schedule.step[first], first, len(others))
        related = (Related(row_place(file, schedule, row), Relation.OUT_OF_ORDER) for row in others[:MAXIMUM_RELATED])
        tainted.names[schedule.name[displaced]] = True
        yield error(row_place(file, schedule, first), problem, *related)
        return
    ascending = set(rows[_ascending(step.tolist())].tolist())
    last, wrong = NONE, 0
    for row, number in zip(rows.tolist(), step.tolist(), strict=True):
        expected = last + 1 + wrong
        # If no row is missing, a last row with a higher step is wrong itself.
        is_last_wrong = row == rows[-1] and number > expected and _maximum(dump) == len(rows)
        if row not in ascending or is_last_wrong:
            wrong += 1
            tainted.names[schedule.name[row]] = True
            yield error(row_place(file, schedule, row), Problem.WRONG_STEP(_name(dump, row), number, expected, 0))
            continue
        if number > expected and not wrong and tainted.is_whole(file):
            yield error(row_place(file, schedule, row), Problem.MISSING_STEP(expected, number, _name(dump, row)))
        last, wrong = number, 0


def _ascending(numbers: list[int]) -> list[int]:
    """The places of a longest ascending subsequence: the numbers outside of it are the wrong ones."""
    lowest: list[int] = []
    places: list[int] = []
    before: list[int] = []
    for place, number in enumerate(numbers):
        length = bisect_left(lowest, number)
        before.append(places[length - 1] if length else NONE)
        if lowest[length : length + 1] == [number] == places[length : length + 1]:
            # If two numbers are equal, the one at its own place is right.
            continue
        lowest[length : length + 1] = [number]
        places[length : length + 1] = [place]
    found = places[-1:]
    while before[found[-1]] != NONE:
        found.append(before[found[-1]])
    return found[::-1]


def _missing_steps(dump: DumpSet) -> int:
    """The number of rows that are missing from the schedule, by its last step and `max`."""
    steps = dump.schedule.step
    return max(_maximum(dump), int(steps.max()) + 1) - len(distinct(steps)) if len(steps) else 0


# ---------------------------------------------------------------- instructions


def mentioned_instructions_are_scheduled(dump: DumpSet, tainted: Tainted) -> Iterator[Finding]:
    """Instructions that hold or read live values are scheduled. One finding for each name."""
    if not len(dump.schedule) or dump.live is None:
        return
    is_scheduled = dump.schedule_row_of_name != NONE
    mentions: list[tuple[DumpFile, Table, Column, Column]] = [
        (dump.live, dump.live_ranges, dump.live_ranges.name, np.arange(len(dump.live_ranges))),
        (dump.live, dump.peak_buffers, dump.peak_buffers.name, np.arange(len(dump.peak_buffers))),
    ]
    if dump.used:
        for row_table in (dump.positions, dump.uses):
            value = taken(dump.value_of_used_value, row_table.value)
            has_range = (taken(dump.values.live_range, value) != NONE) & ~is_marked(tainted.values, value)
            mentions.append((dump.used, row_table, row_table.name, np.flatnonzero(has_range)))
        if tainted.is_whole(dump.used):
            # Instructions of other computations, such as those of reductions, are not scheduled but hold values.
            mentions.append((dump.used, dump.uses, dump.uses.name, np.flatnonzero(~_is_held(dump)[dump.uses.name])))
    unknown: dict[int, dict[tuple[int, int], Place]] = {}
    for file, table, name, rows in mentions:
        for row in rows[~is_scheduled[name[rows]] & ~tainted.names[name[rows]]].tolist():
            place = row_place(file, table, row)
            unknown.setdefault(int(name[row]), {})[id(file), place.start] = place
    # Deleted and repeated rows of the schedule have a finding of their own.
    reported = _missing_steps(dump) + int((_first_rows(dump) != np.arange(len(dump.schedule))).sum())
    if tainted.is_whole(dump.live) and reported < len(unknown):
        renamed = _renamed_steps(dump)
        for number, places in unknown.items():
            yield _unknown_instruction(dump, tainted, number, int(renamed[number]), list(places.values()))
    names = np.array(list(unknown), np.int64)
    tainted.names[names] = True
    tainted.is_liveness_sound &= not unknown
    for table in (dump.positions, dump.uses):
        _taint_values_of(dump, tainted, table.value[np.isin(table.name, names)])


def _is_held(dump: DumpSet) -> Marks:
    """For each name whether it is scheduled or a position of a value."""
    is_held: Marks = dump.schedule_row_of_name != NONE
    is_held[dump.positions.name] = is_held[dump.values.name] = True
    return is_held


def _taint_values_of(dump: DumpSet, tainted: Tainted, used_values: Column) -> None:
    values = taken(dump.value_of_used_value, used_values)
    tainted.values[values[values != NONE]] = True


def _unknown_instruction(dump: DumpSet, tainted: Tainted, name: int, row: int, places: list[Place]) -> Finding:
    """The finding for a name that is not scheduled.

    It is at the row of the schedule that may have had the name, or at the first mention if `row` is NONE.
    """
    label = dump.label(name, NONE)
    if dump.live and row != NONE and len(places) > 1:
        tainted.names[dump.schedule.name[row]] = True
        return error(
            row_place(dump.live, dump.schedule, row),
            Problem.MISNAMED_INSTRUCTION(_name(dump, row), label, len(places)),
            *(Related(place, Relation.MENTION) for place in places[:MAXIMUM_RELATED]),
        )
    first, *others = places
    related = (Related(other, Relation.MENTION) for other in others[:MAXIMUM_RELATED])
    return error(first, Problem.UNSCHEDULED_INSTRUCTION(label, len(places)), *related)


def _renamed_steps(dump: DumpSet) -> Column:
    """For each name the row of the schedule that may have had it, NONE if there is none.

    Nothing else mentions the instruction in that row, and a value of the name becomes live at its step.
    """
    is_mentioned = np.zeros(len(dump.names), bool)
    for table in (dump.live_ranges, dump.positions, dump.uses, dump.peak_buffers, dump.slices):
        is_mentioned[table.name] = True
    idle = np.flatnonzero(~is_mentioned[dump.schedule.name])
    steps, first, count = np.unique(dump.schedule.step[idle], return_index=True, return_counts=True)
    place = found(steps, dump.live_ranges.start_step)
    name, place = distinct_pairs(np.stack((dump.live_ranges.name, place))[:, place != NONE])
    idle_starts = np.bincount(name, count[place], len(dump.names))
    # Parameters start with their computation instead of at their own step. Without a start at an idle row, the only
    # idle row is the candidate.
    rows = np.full(len(dump.names), idle[0] if len(idle) == 1 else NONE)
    rows[name] = np.where(idle_starts[name] == 1, idle[first[place]], NONE)
    return rows
