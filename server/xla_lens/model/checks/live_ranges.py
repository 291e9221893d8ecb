"""Checks of the schedule and the live ranges: the schedule has steps without gaps and all instructions of live values,
and each value has a live range that fits the schedule and its uses.
"""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

import numpy as np

from xla_lens.model.checks.context import Context, Marks, marked, repeats
from xla_lens.model.checks.findings import MAXIMUM_RELATED, Finding, Related, Relation, error, hint, warning
from xla_lens.model.checks.overlaps import is_passed_on
from xla_lens.model.checks.problems import Problem
from xla_lens.model.checks.values import views_in_live_ranges
from xla_lens.model.places.places import Place, schedule_place, used_value_place
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.kinds import is_thread_local
from xla_lens.model.tables.lookup import distinct, taken
from xla_lens.syntax.columns import NONE, Column, Kind, Section


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


# ---------------------------------------------------------------- live ranges


def live_ranges_lie_in_schedule(context: Context) -> Iterator[Finding]:
    """Live ranges end after they start and within the schedule (HloLiveRange::CalculateBufferStartEndMap)."""
    dump, ranges, last = context.dump, context.dump.live_ranges, _last_step(context.dump)
    start, end = ranges.start_step, ranges.end_step
    for row in marked((start > end) | (start < 0) | (end > last)):
        problem = Problem.INVALID_LIVE_RANGE(context.label(ranges, row), start[row], end[row], last)
        related = _scheduled(dump, int(ranges.name[row]))
        yield context.error(ranges, row, problem, *related, values=dump.value_of_live_range[row])


def _scheduled(dump: DumpSet, name: int) -> list[Related]:
    """The step of an instruction, if it is scheduled."""
    place = schedule_place(dump, int(dump.schedule_row_of_name[name]))
    return [Related(place, Relation.STEP)] if place else []


def _last_step(dump: DumpSet) -> int:
    """The step after the last instruction; if the schedule and `max` disagree, the later one."""
    maximum = int(dump.live_range_headers.maximum[0]) if len(dump.live_range_headers) else NONE
    last = max(maximum, int(dump.schedule.step.max(initial=NONE - 1)) + 1)
    return last if last != NONE else int(np.iinfo(np.int64).max)


# ---------------------------------------------------------------- one for each value


def values_have_one_live_range(context: Context) -> Iterator[Finding]:
    """Each scheduled value has one live range, each live range a value, and they are in the order of value ids."""
    dump, ranges, values, file = context.dump, context.dump.live_ranges, context.dump.values, context.dump.live
    if file is None or Section.BUFFER_LIVE_RANGES not in file.columns.sections.section:
        return
    value = dump.value_of_live_range
    is_own = defines_own_value(dump)
    known = context.free(names=ranges.name)
    pairs = [*repeats((ranges.index, ranges.name), known)]
    for first, row in pairs:
        related = context.related(ranges, first, Relation.OTHER_OCCURRENCE)
        problem = Problem.DUPLICATE_LIVE_RANGE(context.label(ranges, row))
        yield context.error(ranges, row, problem, *related, values=value[row])
    rows = np.flatnonzero(is_own & known & context.free(values=value))
    for at in marked(np.diff(values.id[value[rows]]) < 0)[:1]:
        before, row = rows[at : at + 2].tolist()
        labels = f"`{context.label(ranges, row)}`", f"`{context.label(ranges, before)}`"
        problem = Problem.OUT_OF_ORDER(*labels, "value ids")
        yield context.error(ranges, row, problem, names=ranges.name[[before, row]])
    nameless = marked(~is_own & known)
    if context.is_whole(dump.used or dump.assignment, dump.assignment if dump.used is None else dump.used):
        is_view = views_in_live_ranges(dump)
        for row in nameless:
            make, kind = (hint, Problem.VIEW) if is_view[row] else (error, Problem.UNDEFINED_LIVE_RANGE)
            yield make(context.place(ranges, row), kind(context.label(ranges, row)))
    is_local = taken(is_thread_local(dump), values.allocation) == 1
    is_missing = (dump.schedule_row_of_name[values.name] != NONE) & (values.live_range == NONE) & ~is_local
    missing = marked(is_missing & context.free(names=values.name))
    # A live range without a value may be that of a value without one.
    if context.is_whole(file) and len(missing) > len(nameless) + len(pairs) + int((~known).sum()):
        for one in missing:
            name, row = int(values.name[one]), int(values.slice[one])
            place = used_value_place(dump, one) or context.place(dump.slices, row)
            step = dump.schedule.step[dump.schedule_row_of_name[name]]
            problem = Problem.MISSING_LIVE_RANGE(context.value(one), step)
            yield error(place, problem, *_scheduled(dump, name), values=one)


def defines_own_value(dump: DumpSet) -> Marks:
    """For each live range whether a value has its name and index. Other positions of a value have no live range."""
    ranges, value = dump.live_ranges, dump.value_of_live_range
    index = taken(np.maximum(dump.values.index, 0), value)
    is_own: Marks = (value != NONE) & (taken(dump.values.name, value) == ranges.name) & (index == ranges.index)
    return is_own


# ---------------------------------------------------------------- starts and ends


def live_ranges_match_schedule_and_uses(context: Context) -> Iterator[Finding]:
    """Live ranges start where their instruction runs and do not end before the last use of their value."""
    dump, values, schedule = context.dump, context.dump.values, context.dump.schedule
    if not len(schedule):
        return
    step = taken(schedule.step, dump.schedule_row_of_name)
    known = (values.live_range != NONE) & context.free(values=np.arange(len(values)), names=values.name)
    known &= step[values.name] != NONE
    moved = marked(known & (values.start_step != step[values.name]))
    wrong = [value for value in moved if _is_wrong_start(context, value, step)]
    yield from _swapped(context, step, wrong)
    for value in wrong:
        own_step = int(step[values.name[value]])
        problem = Problem.WRONG_START(context.value(value), values.start_step[value], own_step)
        related = context.related(schedule, dump.schedule_row(own_step), Relation.STEP)
        # The values of one instruction start together.
        yield warning(_place(context, value), problem, *related, values=value, names=values.name[value])
    # Where a start or a place is uncertain, a value may have taken over the bytes of another one at any step.
    if not np.any(context.values):
        for value, last_use in _early_ends(context, known, step):
            end, user = int(values.end_step[value]), dump.instruction_at(last_use) or ""
            problem = Problem.EARLY_END(context.value(value), end, user, last_use)
            related = context.related(schedule, dump.schedule_row(last_use), Relation.STEP)
            yield warning(_place(context, value), problem, *related, values=value)
    # A parameter that was not donated is live from the first step to the last.
    kind, last = taken(dump.allocations.kind, values.allocation), _last_step(dump)
    is_kept = ((kind & int(Kind.PARAMETER)) != 0) & ((kind & int(Kind.MAYBE_LIVE_OUT)) == 0)
    is_kept &= known & context.free(allocations=values.allocation) & context.is_liveness_known
    is_kept &= last == schedule.step.max() + 1
    for value in marked(is_kept & ((values.start_step != 0) | (values.end_step != last))):
        steps = int(values.start_step[value]), int(values.end_step[value])
        problem = Problem.PARAMETER_LIVE_RANGE(context.value(value), steps, (0, last))
        yield warning(_place(context, value), problem, values=value)


def _place(context: Context, value: int) -> Place:
    """The place of the live range of a value."""
    return context.place(context.dump.live_ranges, context.dump.values.live_range[value])


def _swapped(context: Context, step: Column, wrong: list[int]) -> Iterator[Finding]:
    """Two instructions are at each other's step in the schedule if their live ranges start there. `wrong` are the
    values that start elsewhere than their instruction runs.
    """
    dump, values = context.dump, context.dump.values
    starts: dict[int, set[int]] = {}
    for value in wrong:
        starts.setdefault(int(values.name[value]), set()).add(int(values.start_step[value]))
    match sorted(starts, key=lambda name: step[name]):
        case [name, other] if [starts[name], starts[other]] == [{int(step[other])}, {int(step[name])}]:
            problem = Problem.SWAPPED_INSTRUCTIONS(context.name(name), step[name], context.name(other), step[other])
            rows = dump.schedule_row_of_name[[name, other]].tolist()
            related = context.related(dump.schedule, rows[1], Relation.SWAPPED)
            yield context.error(dump.schedule, rows[0], problem, *related, names=(name, other))


def _is_wrong_start(context: Context, value: int, step: Column) -> bool:
    """Whether the live range of a value, which does not start at the step of its instruction, starts where it cannot.

    A parameter may start earlier than its instruction, with its computation. What runs in an asynchronous computation
    may start one step later.
    """
    dump, name = context.dump, int(context.dump.values.name[value])
    start, scheduled, opcode = int(dump.values.start_step[value]), int(step[name]), dump.opcode(name)
    if opcode == b"parameter" or (opcode is None and start < scheduled):
        return start > scheduled
    is_start = opcode is not None and opcode.endswith(b"-start")
    return is_start or start > scheduled + 1 or not _is_asynchronous(context, scheduled, start)


def _early_ends(context: Context, known: Marks, step: Column) -> Iterator[tuple[int, int]]:
    """Yield the values that are read after their end, each with the step of its last use.

    Values that are passed on may be read under other names. A live range may also end where the next value of its
    buffer starts (HloLiveRange::NormalizeAliasedBuffers).
    """
    dump, values, uses = context.dump, context.dump.values, context.dump.uses
    value = context.value_of(uses)
    is_known = context.free(values=value, names=uses.name)
    last_use = np.full(len(values), NONE)
    np.maximum.at(last_use, value[is_known], step[uses.name[is_known]])
    early_ends = marked(known & (values.end_step < last_use))
    starts = [column.tolist() for column in (values.allocation, values.offset, values.start_step)] if early_ends else []
    number = Counter(zip(*starts, strict=True))
    for early in early_ends:
        allocation, offset, start = (column[early] for column in starts)
        end = int(values.end_step[early])
        # Do not count the value itself as its successor.
        has_successor = any(number[allocation, offset, step] > (step == start) for step in (end, end + 1, NONE))
        if not has_successor and not is_passed_on(dump, early) and not _is_read_asynchronously(dump, early):
            yield early, int(last_use[early])


# ---------------------------------------------------------------- asynchronous operations


_LATE_START_STEPS: Final = 64
"""How many steps after an instruction that becomes live one step late the start of its asynchronous computation may be.

XLA schedules a computation directly before the instruction that starts it, so this limits the computation's length. In
the tested dumps, the start is the next step for all 80 such values, among them `slice` in the Llama-3-8B train step of
libtpu 0.0.51 and `psum` in `smap_loop` of jaxlib 0.12.0.1 on an H100. The limit leaves room for longer computations.
"""

_EARLY_START_STEPS: Final = 4
"""The same for an instruction that becomes live at any earlier step. No tested dump has one, but a version of XLA's
source of 2026 lets values of an asynchronous computation become live with the outer computation.
"""

_STARTS_COMPUTATION: Final = re.compile(r"(?!copy|all-reduce|all-gather|collective-permute|send|recv).*(start|async)")
"""Names of instructions that start an asynchronous computation. The excluded ones may be operations of their own."""


def _is_asynchronous(context: Context, step: int, start: int) -> bool:
    """Whether an instruction may be part of an asynchronous computation: another one starts the computation soon after.

    The instruction runs at `step`, and its value becomes live at `start`. An instruction with a finding, or one that is
    missing from the schedule, may start a computation, too.
    """
    dump = context.dump
    steps = _LATE_START_STEPS if start > step else _EARLY_START_STEPS
    last = int(dump.schedule.step.max(initial=NONE))
    rows = [dump.schedule_row(later) for later in range(step + 1, min(step + steps, last) + 1)]
    names = dump.schedule.name[rows].tolist()
    return NONE in rows or any(context.names[name] or _starts_computation(dump, name) for name in names)


def _starts_computation(dump: DumpSet, name: int) -> bool:
    """Whether an instruction starts an asynchronous computation, by its name or by the shapes of its values.

    Collectives may be computations under the name and opcode of the operation (GPU, jaxlib 0.12). Their tuple begins
    with the tuple of their operands.
    """
    label = dump.label(name, NONE)
    if _STARTS_COMPUTATION.match(label):
        return True
    values = np.flatnonzero(dump.values.name == name) if "-start" in label else np.zeros(0, np.int64)
    # Where the allocations are cut off, the shape of a value is unknown.
    return any((dump.shape(value) or b"((").startswith(b"((") for value in values.tolist())


_ASYNCHRONOUS: Final = re.compile(r".*async|.*-(start|update|done)(\.\w+)*$")


def _is_read_asynchronously(dump: DumpSet, value: int) -> bool:
    """Whether an asynchronous operation reads a value, by its opcode or, if it is not quoted, by its name."""
    row = dump.values.used_value[value]
    users = set(dump.uses.name[dump.uses_of(int(row))].tolist()) if row != NONE else set()
    readers = ((dump.instruction(user), dump.label(user, NONE)) for user in users)
    return any(_ASYNCHRONOUS.match(reader.opcode.decode() if reader else name) for reader, name in readers)
