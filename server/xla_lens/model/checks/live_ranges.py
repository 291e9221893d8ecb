"""Checks of the schedule and the live ranges: the schedule has steps without gaps and all instructions of live values,
and each value has a live range that fits the schedule and its uses.
"""

from collections import Counter
from typing import Final

import numpy as np

from xla_lens.model.checks.codes import Severity
from xla_lens.model.checks.context import Context, marked
from xla_lens.model.checks.overlaps import is_passed_on, readers
from xla_lens.model.checks.problems import Finding, Findings, Problem, Relation
from xla_lens.model.checks.value_tables import views_in_live_ranges
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.kinds import is_thread_local
from xla_lens.model.tables.lookup import distinct, taken
from xla_lens.syntax.columns import NONE, Kind, cells
from xla_lens.syntax.tables import DumpSection
from xla_lens.text.patterns import lazy_pattern


def steps_ascend(dump: DumpSet, context: Context) -> Findings:
    """The schedule has steps 0, 1, 2, …, each instruction once, and `max` is their number (HloLiveRange::ToString).
    Reports the first row that is wrong.
    """
    schedule, header, maximum = dump.schedule, dump.live_range_headers, _maximum(dump)
    name, is_whole = context.names_in(schedule.name), context.is_whole(dump.live)
    found = [*context.repeats(schedule, (schedule.name,), Problem.SCHEDULED_TWICE, name)]
    row = np.arange(len(schedule))
    # Where lines are damaged, steps may be missing.
    wrong = marked((schedule.step != row) if is_whole else (schedule.step < row))[:1]
    found = found or [*context.found(schedule, wrong, Problem.WRONG_STEP, name, schedule.step, row)]
    yield from found
    if len(schedule) not in (0, maximum) and maximum != NONE and is_whole and not found:
        yield from context.found(header, [0], Problem.MAX_MISMATCH, maximum, len(schedule))


def _maximum(dump: DumpSet) -> int:
    return dump.live_range_headers.maximum.item(0) if len(dump.live_range_headers) else NONE


# ---------------------------------------------------------------- instructions


def mentioned_instructions_are_scheduled(dump: DumpSet, context: Context) -> Findings:
    """Instructions that hold or read live values are scheduled. One finding for each name."""
    schedule, uses = dump.schedule, dump.uses
    if not len(schedule):
        return
    is_scheduled = dump.schedule_row_of_name != NONE
    # Deleted and repeated rows of the schedule have a finding of their own.
    lost = max(_maximum(dump), int(schedule.step.max()) + 1) + len(schedule)
    lost -= len(distinct(schedule.step)) + len(distinct(schedule.name))
    found: list[Finding] = []
    for table in (dump.live_ranges, dump.peak_buffers, dump.positions, uses):
        is_live = np.ones(len(table), bool)
        if table is dump.positions or table is uses:
            value = context.value_of(table)
            is_live = (taken(dump.values.live_range, value) != NONE) & context.free(values=value)
        if table is uses and context.is_whole(dump.used):
            # Instructions of other computations, such as those of reductions, are not scheduled but hold values.
            is_held = is_scheduled.copy()
            is_held[dump.positions.name] = is_held[dump.values.name] = True
            is_live |= ~is_held[uses.name]
        rows = is_live & ~is_scheduled[table.name]
        label = context.names_in(table.name)
        found += context.found(table, rows, Problem.UNSCHEDULED_INSTRUCTION, label, names=[table.name])
    if context.is_whole(dump.live) and lost < len(found):
        yield from found


# ---------------------------------------------------------------- live ranges


def live_ranges_lie_in_schedule(dump: DumpSet, context: Context) -> Findings:
    """Live ranges end after they start and within the schedule (HloLiveRange::CalculateBufferStartEndMap)."""
    ranges = dump.live_ranges
    start, end = ranges.start_step, ranges.end_step
    # If the schedule and `max` disagree, the later step is the last one.
    last = max(_maximum(dump), int(dump.schedule.step.max(initial=NONE - 1)) + 1)
    is_wrong = (start > end) | (start < 0) | ((end > last) & (last != NONE))
    facts, row = (context.labels(ranges), start, end, last), dump.schedule_row_of_name[ranges.name]
    related = dump.schedule, row, Relation.STEP
    yield from context.found(ranges, is_wrong, Problem.INVALID_LIVE_RANGE, *facts, related=related)


def values_have_one_live_range(dump: DumpSet, context: Context) -> Findings:
    """Each scheduled value has a live range, and each live range a value."""
    ranges, values, file = dump.live_ranges, dump.values, dump.live
    if file is None or DumpSection.BUFFER_LIVE_RANGES not in file.columns.sections.section:
        return
    is_free, label = context.free(names=ranges.name), context.labels(ranges)
    # Other positions of a value have no live range.
    own = np.append(values.live_range, NONE)[dump.value_of_live_range]
    nameless, is_view = (own != np.arange(len(ranges))) & is_free, views_in_live_ranges(dump)
    if context.is_whole(dump.used or dump.assignment, dump.assignment if dump.used is None else dump.used):
        yield from context.found(ranges, nameless & is_view, Problem.VIEW, label, severity=Severity.HINT)
        yield from context.found(ranges, nameless & ~is_view, Problem.UNDEFINED_LIVE_RANGE, label)
    step_row = dump.schedule_row_of_name[values.name]
    is_local = taken(is_thread_local(dump), values.allocation) == 1
    is_missing = (step_row != NONE) & (values.live_range == NONE) & ~is_local & context.free(names=values.name)
    # A live range without a value may be that of a value without one.
    spare = len(ranges) - (values.live_range != NONE).sum() + (~is_free).sum()
    if context.is_whole(file) and is_missing.sum() > spare:
        table, value = (dump.used_values, dump.value_of_used_value) if dump.used else (dump.slices, dump.value_of_slice)
        rows = taken(is_missing, value) == 1
        facts = context.values_in(value), taken(dump.schedule.step, taken(step_row, value))
        related = dump.schedule, taken(step_row, value), Relation.STEP
        yield from context.found(table, rows, Problem.MISSING_LIVE_RANGE, *facts, related=related)


# ---------------------------------------------------------------- starts and ends


def live_ranges_match_schedule_and_uses(dump: DumpSet, context: Context) -> Findings:
    """Live ranges start where their instruction runs and do not end before the last use of their value."""
    ranges, values, schedule = dump.live_ranges, dump.values, dump.schedule
    step, value, start = taken(schedule.step, dump.schedule_row_of_name), dump.value_of_live_range, ranges.start_step
    if not len(schedule) or not len(values):
        return
    own_step = step[ranges.name]
    known = (values.live_range[value] == np.arange(len(ranges))) & (own_step != NONE)
    known &= context.free(values=value, names=ranges.name)
    # What runs in an asynchronous computation may start one step later.
    latest = _ASYNCHRONOUS.search(dump.names.block) is not None
    late = start - own_step
    # A parameter may start with its computation.
    other = known & (late != 0) & ~(dump.has_opcode(b"parameter")[ranges.name] & (late < 0))
    moved = [row for row in marked(other) if _is_wrong_start(dump, ranges.name.item(row), late[row], latest)]
    names = distinct(ranges.name[moved])
    if len(names) == 2 and np.array_equal(distinct(start[moved]), np.sort(step[names])):
        rows = np.sort(dump.schedule_row_of_name[names])
        yield from context.found(
            schedule, rows[:1].tolist(), Problem.SWAPPED_INSTRUCTIONS, *map(context.names_in(schedule.name), rows)
        )
        context.cover(names=names.tolist())
    # The values of one instruction start together.
    facts, about = (context.values_in(value), start, own_step), [ranges.name]
    related = schedule, dump.schedule_row_of_name[ranges.name], Relation.STEP
    yield from context.found(
        ranges, moved, Problem.WRONG_START, *facts, severity=Severity.WARNING, related=related, names=about
    )
    # Where a start or a place is uncertain, a value may have taken over the bytes of another one at any step.
    if np.any(context.values):
        return
    last_use = np.full(len(values), NONE)
    read, user = context.value_of(dump.uses), dump.uses.name
    is_known = context.free(values=read, names=user)
    np.maximum.at(last_use, read[is_known], step[user[is_known]])
    early = [
        values.live_range.item(ending)
        for ending in _without_successors(dump, value[known & (ranges.end_step < last_use[value])].tolist())
        if not is_passed_on(dump, ending) and not _is_read_asynchronously(dump, ending)
    ]
    use = last_use[value]
    yield from context.found(
        ranges,
        early,
        Problem.EARLY_END,
        context.values_in(value),
        ranges.end_step,
        lambda row: dump.instruction_at(use.item(row)) or "",
        use,
        severity=Severity.WARNING,
        related=(schedule, lambda row: dump.schedule_row(use.item(row)), Relation.STEP),
    )


def parameters_are_live_throughout(dump: DumpSet, context: Context) -> Findings:
    """A parameter that is not donated is live from the first step to the last. A wrong schedule may hide this."""
    ranges, value = dump.live_ranges, dump.value_of_live_range
    if not context.is_whole(dump.live) or np.any(context.names) or not len(dump.schedule):
        return
    allocation = taken(dump.values.allocation, value)
    kind = taken(dump.allocations.kind, allocation)
    is_kept = (
        context.free(allocations=allocation) & (kind & int(Kind.PARAMETER) > 0) & (kind & int(Kind.MAYBE_LIVE_OUT) == 0)
    )
    last = int(dump.schedule.step.max()) + 1
    if _maximum(dump) not in (last, NONE):
        # The schedule and `max` disagree, which has a finding of its own.
        return
    # Where the header of an allocation is missing, its values seem to be in that of a parameter.
    is_kept &= dump.has_opcode(None, b"parameter")[ranges.name]
    short = is_kept & ((ranges.start_step != 0) | (ranges.end_step != last))
    # Loops that pass a parameter on take over its bytes, one after another.
    passed_on = [row for row in distinct(allocation[short]).tolist() if _is_occupied_throughout(dump, row, last)]
    short &= ~np.isin(allocation, passed_on)
    facts = context.labels(ranges), ranges.start_step, ranges.end_step, last
    yield from context.found(ranges, short, Problem.SHORT_PARAMETER, *facts, severity=Severity.WARNING)


def _is_occupied_throughout(dump: DumpSet, allocation: int, last: int) -> bool:
    """Whether values of an allocation follow each other from the first step to the last."""
    values = dump.values_of_allocation(allocation)
    live = values[dump.values.live_range[values] != NONE]
    reached = -1
    for start, end in sorted(cells(dump.values.start_step[live], dump.values.end_step[live])):
        if start > reached + 1:
            return False
        reached = max(reached, end)
    return reached == last


def _without_successors(dump: DumpSet, found: list[int]) -> list[int]:
    """Leave out values that may end early because another one takes over their bytes: a live range also ends where the
    next value of its buffer starts (HloLiveRange::NormalizeAliasedBuffers).
    """
    values = dump.values
    columns = values.allocation, values.offset, values.start_step
    starts = Counter(cells(*columns)) if found else Counter()

    def has_successor(value: int) -> bool:
        allocation, offset, start = (column.item(value) for column in columns)
        end = values.end_step.item(value)
        # Do not count the value itself as its successor.
        return any(starts[allocation, offset, step] > (step == start) for step in (end, end + 1, NONE))

    return [value for value in found if not has_successor(value)]


# ---------------------------------------------------------------- asynchronous operations


_ASYNCHRONOUS: Final = lazy_pattern(rb"-start|async")
"""The names of instructions that start an asynchronous computation."""


def _is_wrong_start(dump: DumpSet, name: int, late: int, most: int) -> bool:
    """Whether a value cannot start some steps later than its instruction, or earlier if `late` is negative. A parameter
    may start earlier, with its computation.
    """
    opcode = dump.opcode(name)
    if opcode == b"parameter" or (opcode is None and late < 0):
        return late > 0
    return not 0 < late <= most or (opcode is not None and opcode.endswith(b"-start"))


_READS_ASYNCHRONOUSLY: Final = lazy_pattern(r".*async|.*-(start|update|done)(\.\w+)*$")


def _is_read_asynchronously(dump: DumpSet, value: int) -> bool:
    """Whether an asynchronous operation reads a value, by its opcode or, if it is not quoted, by its name."""
    named = ((dump.opcode(reader), dump.label(reader, NONE)) for reader in readers(dump, value))
    return any(_READS_ASYNCHRONOUSLY.match(opcode.decode() if opcode else name) for opcode, name in named)
