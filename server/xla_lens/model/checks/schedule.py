"""Checks of the schedule: its steps, its length, and whether all is in it that has to do with live values."""

from bisect import bisect_left
from collections.abc import Iterator

import numpy as np

from xla_lens.model.checks.doubts import Doubts, Marks, in_doubt
from xla_lens.model.checks.findings import MAXIMUM_RELATED, Code, Finding, Related, error
from xla_lens.model.places.places import Place, row_place
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.lookup import first_rows, found, taken
from xla_lens.syntax.columns import NONE, Column, Table


def schedule_mismatch(dump: DumpSet, doubts: Doubts) -> Iterator[Finding]:
    """Steps that are not 0, 1, 2 ..., names that are there twice, and a `max` that is not the number of steps
    (HloLiveRange::ToString).
    """
    schedule, file = dump.schedule, dump.live
    if file is None or not len(schedule):
        return
    first = _first_rows(dump)
    again = np.flatnonzero(first != np.arange(len(schedule)))
    doubts.names[schedule.name[again]] = True
    # A row that is there twice with its number says nothing of the others.
    is_copy = np.zeros(len(schedule), bool)
    is_copy[again] = schedule.step[again] == schedule.step[first[again]]
    found = list(_steps(dump, doubts, file, np.flatnonzero(~is_copy)))
    for row in again.tolist():
        related = Related(row_place(file, schedule, int(first[row])), "first")
        found.append(_step_finding(dump, file, row, related, what="twice"))
    yield from found
    maximum = _maximum(dump)
    if maximum not in (NONE, len(schedule)) and not found and doubts.is_whole(file):
        doubts.is_timing_sound = False
        yield error(
            Code.SCHEDULE_MISMATCH,
            row_place(file, dump.live_range_headers, 0),
            what="max",
            maximum=maximum,
            steps=len(schedule),
        )
    elif found:
        doubts.is_timing_sound = False


def _first_rows(dump: DumpSet) -> Column:
    """For each row of the schedule the first one of its name."""
    return first_rows(dump.schedule.name, dump.schedule.name, np.arange(len(dump.schedule)))


def _maximum(dump: DumpSet) -> int:
    return int(dump.live_range_headers.maximum[0]) if len(dump.live_range_headers) else NONE


def _steps(dump: DumpSet, doubts: Doubts, file: DumpFile, rows: Column) -> Iterator[Finding]:
    """What is wrong with the numbers of some rows."""
    schedule = dump.schedule
    step = schedule.step[rows]
    displaced = rows[step != np.arange(len(rows))]
    if not len(displaced):
        return
    if np.array_equal(np.sort(step), np.arange(len(rows))):
        first, *others = displaced.tolist()
        related = (Related(row_place(file, schedule, row), "displaced") for row in others[:MAXIMUM_RELATED])
        doubts.names[schedule.name[displaced]] = True
        yield _step_finding(dump, file, first, *related, what="order", displaced=len(displaced))
        return
    ascending = set(rows[_ascending(step.tolist())].tolist())
    last, wrong = NONE, 0
    for row, number in zip(rows.tolist(), step.tolist(), strict=True):
        expected = last + 1 + wrong
        # Where all rows are there, the last one has a wrong number.
        is_last_wrong = row == rows[-1] and number > expected and _maximum(dump) == len(rows)
        if row not in ascending or is_last_wrong:
            wrong += 1
            doubts.names[schedule.name[row]] = True
            yield _step_finding(dump, file, row, what="number", expected=expected)
            continue
        if number > expected and not wrong and doubts.is_whole(file):
            yield _step_finding(dump, file, row, what="gap", expected=expected)
        last, wrong = number, 0


def _ascending(numbers: list[int]) -> list[int]:
    """The places of as many numbers as can be that ascend: where one is wrong, those are the others."""
    lowest: list[int] = []
    places: list[int] = []
    before: list[int] = []
    for place, number in enumerate(numbers):
        length = bisect_left(lowest, number)
        before.append(places[length - 1] if length else NONE)
        if lowest[length : length + 1] == [number] == places[length : length + 1]:
            # Of two of one number the one that is at its place is right.
            continue
        lowest[length : length + 1] = [number]
        places[length : length + 1] = [place]
    found = places[-1:]
    while before[found[-1]] != NONE:
        found.append(before[found[-1]])
    return found[::-1]


def _step_finding(dump: DumpSet, file: DumpFile, row: int, *related: Related, **facts: int | str) -> Finding:
    schedule = dump.schedule
    name, step = dump.label(int(schedule.name[row]), NONE), int(schedule.step[row])
    return error(
        Code.SCHEDULE_MISMATCH, row_place(file, schedule, row), *related, name=name, step=step, row=row, **facts
    )


def steps_missing(dump: DumpSet) -> int:
    """How many rows the schedule lacks, as its last step and `max` tell."""
    steps = dump.schedule.step
    return max(_maximum(dump), int(steps.max()) + 1) - len(np.unique(steps)) if len(steps) else 0


# ---------------------------------------------------------------- instructions


def unknown_instructions(dump: DumpSet, doubts: Doubts) -> Iterator[Finding]:
    """Instructions that hold or read values and are nowhere: one finding for each name."""
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
            has_range = (taken(dump.values.live_range, value) != NONE) & ~in_doubt(doubts.values, value)
            mentions.append((dump.used, row_table, row_table.name, np.flatnonzero(has_range)))
        if doubts.is_whole(dump.used):
            # The computations of reductions and the like are not scheduled, but hold values.
            mentions.append((dump.used, dump.uses, dump.uses.name, np.flatnonzero(~_is_held(dump)[dump.uses.name])))
    unknown: dict[int, dict[tuple[int, int], Place]] = {}
    for file, table, name, rows in mentions:
        for row in rows[~is_scheduled[name[rows]] & ~doubts.names[name[rows]]].tolist():
            place = row_place(file, table, row)
            unknown.setdefault(int(name[row]), {})[id(file), place.start] = place
    # Rows that were deleted, or say another name a second time, have their finding.
    told = steps_missing(dump) + int((_first_rows(dump) != np.arange(len(dump.schedule))).sum())
    if doubts.is_whole(dump.live) and told < len(unknown):
        renamed = _renamed_steps(dump)
        for number, places in unknown.items():
            yield _unknown_instruction(dump, doubts, number, int(renamed[number]), list(places.values()))
    names = np.array(list(unknown), np.int64)
    doubts.names[names] = True
    doubts.is_timing_sound &= not unknown
    for table in (dump.positions, dump.uses):
        _doubt_values_of(dump, doubts, table.value[np.isin(table.name, names)])


def _is_held(dump: DumpSet) -> Marks:
    """For each name whether it is scheduled, or a value has a position there."""
    is_held: Marks = dump.schedule_row_of_name != NONE
    is_held[dump.positions.name] = is_held[dump.values.name] = True
    return is_held


def _doubt_values_of(dump: DumpSet, doubts: Doubts, used_values: Column) -> None:
    values = taken(dump.value_of_used_value, used_values)
    doubts.values[values[values != NONE]] = True


def _unknown_instruction(dump: DumpSet, doubts: Doubts, name: int, row: int, places: list[Place]) -> Finding:
    """The finding of a name that is nowhere, or, where one is that it may have had, of that row of the schedule."""
    if dump.live and row != NONE and len(places) > 1:
        doubts.names[dump.schedule.name[row]] = True
        return error(
            Code.UNKNOWN_INSTRUCTION,
            row_place(dump.live, dump.schedule, row),
            *(Related(place, "mention") for place in places[:MAXIMUM_RELATED]),
            what="schedule",
            name=dump.label(int(dump.schedule.name[row]), NONE),
            other=dump.label(name, NONE),
            mentions=len(places),
        )
    first, *others = places
    return error(
        Code.UNKNOWN_INSTRUCTION,
        first,
        *(Related(other, "mention") for other in others[:MAXIMUM_RELATED]),
        what="mention",
        name=dump.label(name, NONE),
        mentions=len(places),
    )


def _renamed_steps(dump: DumpSet) -> Column:
    """For each name the row of the schedule that may have had it: the instruction that is there has to do with nothing,
    and a value of that name starts there. NONE if there is none.
    """
    is_mentioned = np.zeros(len(dump.names), bool)
    for table in (dump.live_ranges, dump.positions, dump.uses, dump.peak_buffers, dump.slices):
        is_mentioned[table.name] = True
    idle = np.flatnonzero(~is_mentioned[dump.schedule.name])
    steps, first, count = np.unique(dump.schedule.step[idle], return_index=True, return_counts=True)
    place = found(steps, dump.live_ranges.start_step)
    name, place = np.unique(np.stack((dump.live_ranges.name, place))[:, place != NONE], axis=1)
    idle_starts = np.bincount(name, count[place], len(dump.names))
    # A parameter starts with its computation, not where it stands.
    rows = np.full(len(dump.names), idle[0] if len(idle) == 1 else NONE)
    rows[name] = np.where(idle_starts[name] == 1, idle[first[place]], NONE)
    return rows
