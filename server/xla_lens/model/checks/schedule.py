"""Checks of the schedule: its steps, its length, and whether it has all instructions of live values."""

from collections.abc import Iterator

import numpy as np

from xla_lens.model.checks.context import Context, Marks, marked, repeats
from xla_lens.model.checks.findings import MAXIMUM_RELATED, Finding, Related, Relation, error
from xla_lens.model.checks.problems import Problem
from xla_lens.model.places.places import Place
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.lookup import distinct, taken
from xla_lens.syntax.columns import NONE, Column


def steps_ascend(context: Context) -> Iterator[Finding]:
    """The schedule has steps 0, 1, 2, …, each instruction once, and `max` is their number (HloLiveRange::ToString)."""
    schedule, live = context.dump.schedule, context.dump.live
    if not len(schedule):
        return
    pairs = [*repeats((schedule.name,), np.ones(len(schedule), bool))]
    # A row that repeats another with its step does not shift the other rows.
    copies = [row for first, row in pairs if schedule.step[row] == schedule.step[first]]
    found = [*_steps(context, np.delete(np.arange(len(schedule)), copies))]
    for first, row in pairs:
        name, steps = int(schedule.name[row]), (int(schedule.step[first]), int(schedule.step[row]))
        related = context.related(schedule, first, Relation.OTHER_OCCURRENCE)
        problem = Problem.SCHEDULED_TWICE(context.name(name), steps)
        found.append(error(context.place(schedule, row), problem, *related, names=name))
    yield from found
    maximum = _maximum(context.dump)
    if maximum not in (NONE, len(schedule)) and not found and context.is_whole(live):
        place = context.place(context.dump.live_range_headers, 0)
        yield error(place, Problem.MAX_MISMATCH(maximum, len(schedule)))


def _maximum(dump: DumpSet) -> int:
    return int(dump.live_range_headers.maximum[0]) if len(dump.live_range_headers) else NONE


def _steps(context: Context, rows: Column) -> Iterator[Finding]:
    """Findings for the steps of some rows, which should be 0, 1, 2, …"""
    schedule = context.dump.schedule
    step, names = schedule.step[rows].tolist(), schedule.name
    displaced = rows[schedule.step[rows] != np.arange(len(rows))].tolist()
    if displaced and sorted(step) == [*range(len(rows))]:
        first, *others = displaced
        problem = Problem.WRONG_STEP(context.name(names[first]), schedule.step[first], first, len(others))
        related = (Related(context.place(schedule, row), Relation.OUT_OF_ORDER) for row in others[:MAXIMUM_RELATED])
        yield context.error(schedule, first, problem, *related, names=names[displaced])
        return
    expected = 0
    # If no row is missing, a last row with a higher step is wrong itself.
    end = len(rows) if _maximum(context.dump) == len(rows) else NONE
    for row, number, following in zip(rows.tolist(), step, [*step[1:], end], strict=True):
        name = context.name(names[row])
        if number < expected or (number > expected and following == expected + 1):
            problem = Problem.WRONG_STEP(name, number, expected, 0)
            yield context.error(schedule, row, problem, names=names[row])
        elif number > expected:
            if context.is_whole(context.dump.live):
                yield context.error(schedule, row, Problem.MISSING_STEP(expected, number, name))
            expected = number
        expected += 1


# ---------------------------------------------------------------- instructions


def mentioned_instructions_are_scheduled(context: Context) -> Iterator[Finding]:
    """Instructions that hold or read live values are scheduled. One finding for each name."""
    dump, schedule, uses = context.dump, context.dump.schedule, context.dump.uses
    if not len(schedule):
        return
    is_scheduled = dump.schedule_row_of_name != NONE
    places: dict[int, dict[Place, None]] = {}
    for table in (dump.live_ranges, dump.peak_buffers, dump.positions, uses):
        is_live = np.ones(len(table), bool)
        if table is dump.positions or table is uses:
            value = context.value_of(table)
            is_live = (taken(dump.values.live_range, value) != NONE) & context.free(values=value)
        if table is uses and context.is_whole(dump.used):
            # Instructions of other computations, such as those of reductions, are not scheduled but hold values.
            is_live |= ~_is_held(dump)[uses.name]
        for row in marked(is_live & ~is_scheduled[table.name] & ~context.names[table.name]):
            places.setdefault(int(table.name[row]), {})[context.place(table, row)] = None
    # Deleted and repeated rows of the schedule have a finding of their own.
    missing = max(_maximum(dump), int(schedule.step.max()) + 1) - len(distinct(schedule.step))
    repeated = len(schedule) - len(distinct(schedule.name))
    if context.is_whole(dump.live) and missing + repeated < len(places):
        row = _misnamed_row(context, *places) if len(places) == 1 else NONE
        for name, mentions in places.items():
            first, *others = mentions
            names, problem = [name], Problem.UNSCHEDULED_INSTRUCTION(context.name(name), len(mentions))
            if row != NONE and others:
                names.append(int(schedule.name[row]))
                labels = context.name(names[1]), context.name(name)
                first, *others = context.place(schedule, row), *mentions
                problem = Problem.MISNAMED_INSTRUCTION(*labels, len(mentions))
            related = (Related(other, Relation.MENTION) for other in others[:MAXIMUM_RELATED])
            yield error(first, problem, *related, names=names)
    context.cover(names=places)
    for table in (dump.positions, uses):
        context.cover(values=context.value_of(table)[np.isin(table.name, [*places])])


def _is_held(dump: DumpSet) -> Marks:
    """For each name whether it is scheduled or a position of a value."""
    is_held: Marks = dump.schedule_row_of_name != NONE
    is_held[dump.positions.name] = is_held[dump.values.name] = True
    return is_held


def _misnamed_row(context: Context, name: int) -> int:
    """The row of the schedule that may have had a name, NONE if there is none: nothing else mentions the instruction in
    that row, and a value of the name becomes live at its step.
    """
    dump, schedule = context.dump, context.dump.schedule
    is_mentioned = np.zeros(len(dump.names), bool)
    for table in (dump.live_ranges, dump.positions, dump.uses, dump.peak_buffers, dump.slices):
        is_mentioned[table.name] = True
    idle = np.flatnonzero(~is_mentioned[schedule.name])
    starts = dump.live_ranges.start_step[dump.live_ranges.name == name]
    # Parameters start with their computation instead of at their own step. Then the only idle row is the candidate.
    here = idle[np.isin(schedule.step[idle], starts)]
    rows = here if len(here) else idle
    return int(rows[0]) if len(rows) == 1 else NONE
