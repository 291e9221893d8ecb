"""Checks of the live ranges: whether each value has one that fits the schedule and its uses."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

import numpy as np

from xla_lens.model.checks.asynchronous import is_asynchronous, is_read_asynchronously
from xla_lens.model.checks.doubts import Doubts, Marks, in_doubt
from xla_lens.model.checks.findings import Code, Finding, Related, error, warning
from xla_lens.model.checks.overlaps import is_passed_on
from xla_lens.model.places.places import Place, row_place, schedule_place, used_value_place
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.lookup import taken
from xla_lens.syntax.columns import NONE, Column, Kind, Section


def invalid_live_ranges(dump: DumpSet, doubts: Doubts) -> Iterator[Finding]:
    """Live ranges that end before they start or after the schedule (HloLiveRange::CalculateBufferStartEndMap)."""
    ranges, file = dump.live_ranges, dump.live
    if file is None:
        return
    last = _last_step(dump)
    start, end = ranges.start_step, ranges.end_step
    for row in np.flatnonzero((start > end) | (start < 0) | (end > last)).tolist():
        doubts.doubt_values(dump.value_of_live_range[row : row + 1])
        doubts.is_timing_sound = False
        yield error(
            Code.INVALID_LIVE_RANGE,
            row_place(file, ranges, row),
            *_step_of(dump, int(ranges.name[row])),
            value=dump.label(int(ranges.name[row]), int(ranges.index[row])),
            start_step=int(start[row]),
            end_step=int(end[row]),
            last_step=last,
        )


def _step_of(dump: DumpSet, name: int) -> list[Related]:
    """The step of an instruction, as a related place."""
    place = schedule_place(dump, int(dump.schedule_row_of_name[name]))
    return [Related(place, "step")] if place else []


def _last_step(dump: DumpSet) -> int:
    """The step after the last instruction. Where the schedule and `max` disagree, the later."""
    maximum = int(dump.live_range_headers.maximum[0]) if len(dump.live_range_headers) else NONE
    steps = dump.schedule.step
    last = max(maximum, int(steps.max()) + 1 if len(steps) else NONE)
    return last if last != NONE else int(np.iinfo(np.int64).max)


# ---------------------------------------------------------------- which values have one


def live_ranges_of_values(dump: DumpSet, doubts: Doubts) -> Iterator[Finding]:
    """Live ranges that are there twice or of no value, and scheduled values without one."""
    ranges, file = dump.live_ranges, dump.live
    if file is None or Section.BUFFER_LIVE_RANGES not in file.columns.sections.section:
        return
    value = dump.value_of_live_range
    index = taken(np.maximum(dump.values.index, 0), value)
    own = (value != NONE) & (taken(dump.values.name, value) == ranges.name) & (index == ranges.index)
    ids = np.where(own, taken(dump.values.id, value), NONE)
    wrong = in_doubt(doubts.names, ranges.name)
    yield from _duplicates(dump, doubts, file, ids, wrong)
    yield from _order(dump, doubts, file, np.flatnonzero((ids != NONE) & ~wrong), ids)
    known = dump.used if dump.used is not None else dump.assignment
    nameless = np.flatnonzero((ids == NONE) & ~wrong)
    if doubts.is_whole(known) and doubts.is_whole(dump.assignment if dump.used is None else dump.used):
        for row in nameless.tolist():
            doubts.is_timing_sound = False
            yield error(
                Code.UNDEFINED_VALUE,
                row_place(file, ranges, row),
                what="live range",
                name=dump.label(int(ranges.name[row]), int(ranges.index[row])),
            )
    wrong[nameless] = True
    if doubts.is_whole(file):
        yield from _missing(dump, doubts, _excused(dump, np.where(wrong, NONE, ids)))


def _duplicates(dump: DumpSet, doubts: Doubts, file: DumpFile, ids: Column, wrong: Marks) -> Iterator[Finding]:
    ranges = dump.live_ranges
    order = np.lexsort((np.arange(len(ranges)), ranges.index, ranges.name))
    same = (np.diff(ranges.name[order]) == 0) & (np.diff(ranges.index[order]) == 0)
    # Live ranges are in the order of the ids; the one that is not is wrong.
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
        doubts.doubt_values(dump.value_of_live_range[[row]])
        yield error(
            Code.DUPLICATE_LIVE_RANGE,
            row_place(file, ranges, row),
            Related(row_place(file, ranges, first), "first"),
            value=dump.label(int(ranges.name[row]), int(ranges.index[row])),
        )


def _order(dump: DumpSet, doubts: Doubts, file: DumpFile, rows: Column, ids: Column) -> Iterator[Finding]:
    """Live ranges are in the order of the ids. One finding, at the first that is not."""
    ranges = dump.live_ranges
    for place in np.flatnonzero(np.diff(ids[rows]) < 0)[:1].tolist():
        before, row = int(rows[place]), int(rows[place + 1])
        doubts.names[ranges.name[[before, row]]] = True
        yield error(
            Code.SYNTAX,
            row_place(file, ranges, row),
            what="live range order",
            value=dump.label(int(ranges.name[row]), int(ranges.index[row])),
            other=dump.label(int(ranges.name[before]), int(ranges.index[before])),
        )


def _excused(dump: DumpSet, ids: Column) -> Marks:
    """The values whose live range may be a row that has its finding: the ids of the rows around it tell."""
    rows, is_known = np.arange(len(ids)), ids != NONE
    before = np.maximum.accumulate(np.where(is_known, rows, NONE))[~is_known]
    after = np.minimum.accumulate(np.where(is_known, rows, len(ids))[::-1])[::-1][~is_known]
    first = dump.values.id.searchsorted(taken(ids, before), "right")
    last = dump.values.id.searchsorted(np.append(ids, np.iinfo(np.int64).max)[after])
    changes = np.zeros(len(dump.values) + 1, np.int64)
    np.add.at(changes, first[first < last], 1)
    np.subtract.at(changes, last[first < last], 1)
    return changes[:-1].cumsum() > 0


def _missing(dump: DumpSet, doubts: Doubts, excused: Marks) -> Iterator[Finding]:
    values = dump.values
    kind = taken(dump.allocations.kind, values.allocation)
    is_local = (kind != NONE) & ((kind & int(Kind.THREAD_LOCAL)) != 0)
    scheduled = (dump.schedule_row_of_name[values.name] != NONE) & ~in_doubt(doubts.names, values.name)
    missing = scheduled & (values.live_range == NONE) & ~is_local
    doubts.is_timing_sound &= not missing.any()
    for value in np.flatnonzero(missing & ~excused & ~doubts.values).tolist():
        doubts.doubt_values(np.array([value]))
        place = used_value_place(dump, value) or _slice_row(dump, value)
        if place:
            related = _step_of(dump, int(values.name[value]))
            yield error(Code.MISSING_LIVE_RANGE, place, *related, value=dump.value_label(value))


def _slice_row(dump: DumpSet, value: int) -> Place | None:
    row = int(dump.values.slice[value])
    return row_place(dump.assignment, dump.slices, row) if dump.assignment and row != NONE else None


# ---------------------------------------------------------------- where they start and end


def starts_and_ends(dump: DumpSet, doubts: Doubts) -> Iterator[Finding]:
    """Live ranges that start where their instruction does not run, or end before they are read for the last time."""
    values, file = dump.values, dump.live
    if file is None or not len(dump.schedule):
        return
    step = taken(dump.schedule.step, dump.schedule_row_of_name)
    known = (values.live_range != NONE) & ~doubts.values & ~in_doubt(doubts.names, values.name)
    known &= step[values.name] != NONE
    early_ends = _early_ends(dump, doubts, known, step)
    wrong_starts = _wrong_starts(dump, known, step)
    swapped = _swapped(dump, doubts, known, step, wrong_starts)
    doubts.is_timing_sound &= not wrong_starts and not early_ends
    if swapped:
        doubts.names[swapped] = True
        first, *others = sorted(dump.schedule_row_of_name[swapped].tolist())
        yield error(
            Code.SCHEDULE_MISMATCH,
            row_place(file, dump.schedule, first),
            *(Related(row_place(file, dump.schedule, row), "swapped") for row in others),
            what="swapped",
            name=dump.label(int(dump.schedule.name[first]), NONE),
            step=int(dump.schedule.step[first]),
            other=dump.label(int(dump.schedule.name[others[0]]), NONE),
        )
        return
    for value in wrong_starts:
        doubts.doubt_values(np.array([value]))
        yield _finding(dump, file, Code.LIVE_RANGE_START, value, int(step[values.name[value]]))
    for value, last_use in early_ends:
        if not doubts.values[value]:
            doubts.doubt_values(np.array([value]))
            yield _finding(dump, file, Code.LIVE_RANGE_END, value, last_use)
    yield from _entry_parameters(dump, doubts, file)


def _finding(dump: DumpSet, file: DumpFile, code: Code, value: int, step: int) -> Finding:
    row = int(dump.values.live_range[value])
    scheduled = dump.schedule_row(step)
    related = [] if scheduled == NONE else [Related(row_place(file, dump.schedule, scheduled), "step")]
    return warning(
        code,
        row_place(file, dump.live_ranges, row),
        *related,
        what="use",
        value=dump.value_label(value),
        start_step=int(dump.values.start_step[value]),
        end_step=int(dump.values.end_step[value]),
        step=step,
        instruction=dump.instruction_at(step) or "",
    )


def _entry_parameters(dump: DumpSet, doubts: Doubts, file: DumpFile) -> Iterator[Finding]:
    """A parameter that nothing else may be written over lives from the first step to the last."""
    if not doubts.is_timing_sound:
        return
    values, last = dump.values, _last_step(dump)
    kind = taken(dump.allocations.kind, values.allocation)
    is_kept = (kind != NONE) & ((kind & int(Kind.PARAMETER)) != 0) & ((kind & int(Kind.MAYBE_LIVE_OUT)) == 0)
    known = is_kept & (values.live_range != NONE) & ~doubts.values & ~in_doubt(doubts.allocations, values.allocation)
    for value in np.flatnonzero(known & ((values.start_step != 0) | (values.end_step != last))).tolist():
        is_start = values.start_step[value] != 0
        code = Code.LIVE_RANGE_START if is_start else Code.LIVE_RANGE_END
        doubts.doubt_values(np.array([value]))
        yield warning(
            code,
            row_place(file, dump.live_ranges, int(values.live_range[value])),
            what="parameter",
            value=dump.value_label(value),
            start_step=int(values.start_step[value]),
            end_step=int(values.end_step[value]),
            last_step=last,
        )


def _wrong_starts(dump: DumpSet, known: Marks, step: Column) -> list[int]:
    moved = np.flatnonzero(known & (dump.values.start_step != step[dump.values.name]))
    return [value for value in moved.tolist() if _is_wrong_start(dump, value, step)]


def _is_wrong_start(dump: DumpSet, value: int, step: Column) -> bool:
    """Whether a value starts where it may not: a parameter starts with its computation, what is computed
    asynchronously at the start of that, all others where their instruction runs.
    """
    start, scheduled = int(dump.values.start_step[value]), int(step[dump.values.name[value]])
    if start == scheduled:
        return False
    instruction = dump.instruction(int(dump.values.name[value]))
    is_parameter = instruction is not None and instruction.opcode == b"parameter"
    if start < scheduled and (instruction is None or is_parameter):
        return False
    if start > scheduled and is_parameter:
        return True
    is_start = instruction is not None and instruction.opcode.endswith(b"-start")
    return is_start or start > scheduled + 1 or not is_asynchronous(dump, scheduled, start)


def _early_ends(dump: DumpSet, doubts: Doubts, known: Marks, step: Column) -> list[tuple[int, int]]:
    """The values that are read after their end, and the step at which they are read last.

    What is passed on may be read under other names, and the ranges of values of one buffer are cut where the next one
    starts (HloLiveRange::NormalizeAliasedBuffers).
    """
    values, uses = dump.values, dump.uses
    value = taken(dump.value_of_used_value, uses.value)
    is_known = (value != NONE) & ~in_doubt(doubts.names, uses.name)
    last_use = np.full(len(values), NONE)
    np.maximum.at(last_use, value[is_known], step[uses.name[is_known]])
    early_ends = np.flatnonzero(known & (values.end_step < last_use)).tolist()
    starts = [column.tolist() for column in (values.allocation, values.offset, values.start_step)] if early_ends else []
    number = Counter(zip(*starts, strict=True))
    found = []
    for early in early_ends:
        allocation, offset, start = (column[early] for column in starts)
        end = int(values.end_step[early])
        # It does not follow itself.
        follows = any(number[allocation, offset, step] > (step == start) for step in (end, end + 1, NONE))
        if not follows and not is_passed_on(dump, early) and not is_read_asynchronously(dump, early):
            found.append((early, int(last_use[early])))
    return found


def _swapped(dump: DumpSet, doubts: Doubts, known: Marks, step: Column, wrong_starts: list[int]) -> list[int]:
    """The names of two instructions that stand at each other's step in the schedule; empty if that does not explain all
    that is wrong, or not more than one value.
    """
    names = list(dict.fromkeys(dump.values.name[wrong_starts].tolist()))
    for first in names if len(names) <= _MOST_MOVED else ():
        claimed = dump.values.start_step[[value for value in wrong_starts if dump.values.name[value] == first]]
        row = dump.schedule_row(int(claimed[0]))
        other = int(dump.schedule.name[row])
        if row == NONE or other == first or np.any(claimed != claimed[0]):
            continue
        corrected = step.copy()
        corrected[[first, other]] = step[[other, first]]
        left = np.array(_wrong_starts(dump, known, corrected), np.int64)
        # What is computed asynchronously starts one step later; which step that is was swapped.
        left = left[dump.values.start_step[left] != corrected[dump.values.name[left]] + 1]
        if len(left) or _early_ends(dump, doubts, known, corrected):
            continue
        if len(names) > 1 or _early_ends(dump, doubts, known, step):
            return [first, other]
    return []


_MOST_MOVED: Final = 4
"""Of so many instructions the values start elsewhere where two are swapped: what runs asynchronously moves along."""
