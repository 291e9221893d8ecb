"""Checks of the printed peak: its step, its list, and its stack trace breakdown. They run on dumps without errors, as
all of this follows from the live ranges.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import zip_longest

import numpy as np

from xla_lens.model.checks.codes import Severity
from xla_lens.model.checks.context import Context, marked
from xla_lens.model.checks.findings import MAXIMUM_RELATED, Finding, Related, Relation, error
from xla_lens.model.checks.problems import Problem
from xla_lens.model.hlo.dataflow import index_path
from xla_lens.model.memory.over_time import Memory
from xla_lens.model.memory.printed_peak import DEFAULT_COLOR, xla_peak_step
from xla_lens.model.places.places import row_place, schedule_place
from xla_lens.model.tables.lookup import taken
from xla_lens.syntax.columns import NONE


def printed_peak_is_highest(context: Context, memory: Memory) -> Iterator[Finding]:
    """No step has more live bytes of memory space 0 than the printed one, if that follows XLA's rule."""
    dump, space = context.dump, memory.space(DEFAULT_COLOR)
    if len(dump.peaks) != 1 or space is None or space.peak_step is None:
        return
    step, peak = int(dump.peaks.step[0]), space.peak_step
    live, row = space.live.at(step), dump.schedule_row(peak)
    if live < space.peak_live_bytes and xla_peak_step(dump) in (None, step):
        facts = (live, space.id, step, (space.peak_live_bytes, live), peak, dump.instruction_at(peak) or "")
        related = context.related(dump.schedule, row, Relation.PEAK)
        place = context.place(dump.peaks, 0)
        yield Finding(Severity.INFORMATION, place, Problem.PEAK_UNDERSTATED(*facts), related)


def printed_peak_matches_live_ranges(context: Context) -> Iterator[Finding]:
    """The printed peak is at the step that XLA's rule gives, and its list and breakdown show what is live there."""
    dump = context.dump
    if len(dump.peaks) != 1 or not context.is_whole(dump.live):
        return
    step, by_rule = int(dump.peaks.step[0]), xla_peak_step(dump)
    if by_rule is not None and by_rule != step:
        scheduled = schedule_place(dump, dump.schedule_row(by_rule))
        related = [Related(scheduled, Relation.STEP)] if scheduled else []
        yield context.error(dump.peaks, 0, Problem.PEAK_STEP_MISMATCH(step, by_rule), *related)
        return
    found = list(_list(context))
    yield from found
    if not found:
        sums, expected = dump.peak_buffers.cumulative_bytes, dump.peak_buffers.size_bytes.cumsum()
        for row in marked((sums != NONE) & (sums != expected))[:MAXIMUM_RELATED]:
            yield context.error(dump.peak_buffers, row, Problem.CUMULATIVE_MISMATCH(sums[row], expected[row]))
        yield from _stack_traces(context)


# ---------------------------------------------------------------- the list


def _list(context: Context) -> Iterator[Finding]:
    """The list has each value that is live at the step once, with the size of its shape. With cumulative sizes, it is
    sorted by size, else in the order of the live ranges. Until jaxlib 0.6.0 it had no indices, and the sizes of the
    whole shapes of the instructions.
    """
    dump, buffers, ranges = context.dump, context.dump.peak_buffers, context.dump.live_ranges
    step, is_indexed = int(dump.peaks.step[0]), bool(np.any(buffers.index != NONE))
    live = np.flatnonzero((ranges.start_step <= step) & (step <= ranges.end_step))
    sizes = taken(dump.logical_bytes if is_indexed else dump.whole_bytes, dump.value_of_peak_buffer)
    is_wrong = (sizes != NONE) & (sizes != buffers.size_bytes)
    rows, words, size = live.tolist(), "in the order of the live ranges", dict[int, int]()
    if np.all(buffers.cumulative_bytes != NONE):
        words, known = "by size", taken(dump.logical_bytes, dump.value_of_live_range[live]).tolist()
        size = dict(zip(rows, known, strict=True))
        rows.sort(key=lambda row: (-size[row], dump.names[ranges.name[row]], index_path(dump, int(ranges.index[row]))))
    expected = [(int(ranges.name[row]), max(int(ranges.index[row]), 0) if is_indexed else NONE) for row in rows]
    indices = np.maximum(buffers.index, 0 if is_indexed else NONE).tolist()
    listed = list(zip(buffers.name.tolist(), indices, strict=True))
    is_moved = np.array([one != other for one, other in zip_longest(listed, expected)], bool)[: len(listed)]
    # The order is unknown if a size is.
    is_moved &= NONE not in size.values()
    left, first, extra = Counter(expected), dict[tuple[int, int], int](), 0
    # Of two rows with one name, the one with the right size and at the right place counts as the value's own.
    for row in np.lexsort((is_moved, is_wrong)).tolist():
        key, label = listed[row], context.label(buffers, row)
        left[key] -= 1
        if left[key] < 0:
            extra += 1
            related = context.related(buffers, first.get(key, NONE), Relation.OTHER_OCCURRENCE)
            problem = Problem.PEAK_VALUE_TWICE(label) if related else Problem.PEAK_VALUE_NOT_LIVE(label, step)
            yield context.error(buffers, row, problem, *related)
        elif is_wrong[row]:
            problem = Problem.PEAK_VALUE_SIZE(label, buffers.size_bytes[row], sizes[row])
            yield context.error(buffers, row, problem)
        first.setdefault(key, row)
    missing = [row for row, key in zip(rows, expected, strict=True) if left[key] > 0]
    # An extra row in the place of a missing one has the same cause.
    if len(missing) > extra:
        related = tuple(Related(context.place(ranges, row), Relation.LIVE_RANGE) for row in missing[:MAXIMUM_RELATED])
        problem = Problem.PEAK_VALUES_MISSING(dump.label(*expected[rows.index(missing[0])]), len(missing) - 1, step)
        yield context.error(dump.peaks, 0, problem, *related)
    elif not missing and not extra and not np.any(is_wrong):
        for row, *others in [marked(is_moved)] if np.any(is_moved) else []:
            places = (context.place(buffers, other) for other in others[:MAXIMUM_RELATED])
            problem = Problem.PEAK_OUT_OF_ORDER(context.label(buffers, row), words)
            yield context.error(buffers, row, problem, *(Related(place, Relation.OUT_OF_ORDER) for place in places))


# ---------------------------------------------------------------- the stack trace breakdown


def _stack_traces(context: Context) -> Iterator[Finding]:
    """The total of a frame is the sum of its subtree, and the bytes that remain after it are right (HloStackTrace). The
    header has the sum of the list.
    """
    dump, tree = context.dump, context.dump.stack_traces
    file = context.file(tree)
    headers = file.columns.stack_trace_headers
    if not len(headers):
        return
    current, total, remaining = tree.current_bytes, tree.total_bytes, tree.remaining_bytes
    listed, frames = int(dump.peak_buffers.size_bytes.sum()), int(total[tree.depth == 0].sum())
    printed = int(headers.size_bytes[0])
    if printed != listed:
        rows = ("its frames add", frames) if len(tree) and frames != listed else ("the list of the peak adds", listed)
        problem = Problem.STACK_TRACE_MISMATCH("total of the breakdown", printed, *rows)
        yield error(row_place(file, headers, 0), problem)
        return
    # The subtree of a frame ends before the next frame that is not deeper.
    end = np.full(len(tree), len(tree))
    open_frames: list[int] = []
    for row, depth in enumerate(tree.depth.tolist()):
        while open_frames and tree.depth[open_frames[-1]] >= depth:
            end[open_frames.pop()] = row
        open_frames.append(row)
    sums, before = np.append(0, current.cumsum()), np.append(frames, remaining[:-1])
    wrong = (
        ("remaining size", remaining, "the frames below add", before - current),
        ("total of this frame", total, "it and the frames below it add", sums[end] - sums[:-1]),
    )
    for what, numbers, words, expected in wrong:
        # Report the first row only: one wrong row makes the next one look wrong, too.
        for row in marked((numbers != expected) & (remaining != NONE))[:1]:
            problem = Problem.STACK_TRACE_MISMATCH(what, numbers[row], words, expected[row])
            yield context.error(tree, row, problem)
            return
