"""Checks of the printed peak: its step, its list, and its stack trace breakdown. They run on dumps without errors, as
all of this follows from the live ranges.
"""

import numpy as np

from xla_lens.model.checks.codes import Severity
from xla_lens.model.checks.context import Context, Marks, marked
from xla_lens.model.checks.problems import MAXIMUM_RELATED, Findings, Problem, Relation
from xla_lens.model.hlo.dataflow import index_path
from xla_lens.model.memory.over_time import Memory
from xla_lens.model.memory.printed_peak import DEFAULT_COLOR, xla_peak_step
from xla_lens.model.tables.dump_set import EMPTY_INDEX, DumpSet
from xla_lens.model.tables.lookup import taken
from xla_lens.syntax.columns import NONE, Column, Texts


def printed_peak_is_highest(dump: DumpSet, context: Context, memory: Memory) -> Findings:
    """No step has more live bytes of the device's memory than the printed one, if that follows XLA's rule."""
    space = memory.space(DEFAULT_COLOR)
    if len(dump.peaks) != 1 or space is None or space.peak_step is None:
        return
    step, peak = dump.peaks.step.item(0), space.peak_step
    live = space.live.at(step)
    if live < space.peak_live_bytes and xla_peak_step(dump) in (None, step):
        facts = live, space.id, step, (space.peak_live_bytes, live), peak, dump.instruction_at(peak) or ""
        related, severity = (dump.schedule, dump.schedule_row(peak), Relation.PEAK), Severity.INFORMATION
        yield from context.found(dump.peaks, [0], Problem.PEAK_UNDERSTATED, *facts, severity=severity, related=related)


def printed_peak_matches_live_ranges(dump: DumpSet, context: Context) -> Findings:
    """The printed peak is at the step that XLA's rule gives, and its list and breakdown show what is live there."""
    if len(dump.peaks) != 1 or not context.is_whole(dump.live):
        return
    step, by_rule, buffers = dump.peaks.step.item(0), xla_peak_step(dump), dump.peak_buffers
    if by_rule is not None and by_rule != step:
        related = dump.schedule, dump.schedule_row(by_rule), Relation.STEP
        yield from context.found(dump.peaks, [0], Problem.PEAK_STEP_MISMATCH, step, by_rule, related=related)
        return
    found = list(_list(dump, context, step))
    yield from found
    if not found:
        sums, expected = buffers.cumulative_bytes, buffers.size_bytes.cumsum()
        wrong = marked((sums != NONE) & (sums != expected))[:MAXIMUM_RELATED]
        yield from context.found(buffers, wrong, Problem.CUMULATIVE_MISMATCH, sums, expected)
        yield from _stack_traces(dump, context)


def _list(dump: DumpSet, context: Context, step: int) -> Findings:
    """The list has each value that is live at the step once, with the size of its shape. With cumulative sizes, it is
    sorted by size, else in the order of the live ranges. Until jaxlib 0.6.0 it had no indices, and the sizes of the
    whole shapes of the instructions.
    """
    buffers, ranges, is_indexed = dump.peak_buffers, dump.live_ranges, bool(np.any(dump.peak_buffers.index != NONE))
    rows = np.flatnonzero((ranges.start_step <= step) & (step <= ranges.end_step))
    sizes = taken(dump.logical_bytes if is_indexed else dump.whole_bytes, dump.value_of_peak_buffer)
    is_wrong = (sizes != NONE) & (sizes != buffers.size_bytes)
    is_sorted = True
    if np.all(buffers.cumulative_bytes != NONE):
        size = taken(dump.logical_bytes, dump.value_of_live_range[rows])
        names, indices = _text_order(dump.names, ranges.name[rows]), _path_order(dump, ranges.index[rows])
        rows = rows[np.lexsort((indices, names, -size))]
        # The order is unknown if a size is.
        is_sorted = not np.any(size == NONE)
    expected, listed = (
        names * np.int64(len(dump.indices)) + (np.maximum(indices, EMPTY_INDEX) if is_indexed else 0)
        for names, indices in ((ranges.name[rows], ranges.index[rows]), (buffers.name, buffers.index))
    )
    is_moved = np.full(len(listed), is_sorted)
    is_moved[: len(expected)] &= listed[: len(expected)] != expected[: len(listed)]
    # Of two rows with one name, the one with the right size and at the right place counts as the value's own.
    order, label = np.lexsort((is_moved, is_wrong)), context.labels(buffers)
    extra = order[_exceeds(listed[order], expected)]
    yield from context.found(buffers, extra.tolist(), Problem.PEAK_VALUE_NOT_LIVE, label, step)
    is_wrong[extra] = False
    yield from context.found(buffers, is_wrong, Problem.PEAK_VALUE_SIZE, label, buffers.size_bytes, sizes)
    missing = rows[_count(expected, expected) > _count(listed, expected)].tolist()
    # An extra row in the place of a missing one has the same cause.
    if len(missing) > len(extra):
        facts = context.labels(ranges)(missing[0]), len(missing) - 1, step
        related = ranges, missing[:MAXIMUM_RELATED], Relation.LIVE_RANGE
        yield from context.found(dump.peaks, [0], Problem.PEAK_VALUES_MISSING, *facts, related=related)
    elif not missing and not len(extra) and not np.any(is_wrong):
        yield from context.found(buffers, marked(is_moved)[:1], Problem.PEAK_OUT_OF_ORDER, label)


def _text_order(texts: Texts, numbers: Column) -> Column:
    """For each number of a text its place in the order of the texts."""
    known, which = np.unique(numbers, return_inverse=True)
    order = np.argsort(np.array(texts.of_numbers(known), object))
    return np.argsort(order)[which]


def _path_order(dump: DumpSet, indices: Column) -> Column:
    """For each shape index its place in the order of the indices."""
    known, which = np.unique(indices, return_inverse=True)
    paths = [index_path(dump, index) for index in known.tolist()]
    order = sorted(range(len(paths)), key=paths.__getitem__)
    return np.argsort(order)[which]


def _count(keys: Column, wanted: Column) -> Column:
    """How often each wanted key is among some keys."""
    ordered = np.sort(keys)
    return ordered.searchsorted(wanted, "right") - ordered.searchsorted(wanted)


def _exceeds(keys: Column, others: Column) -> Marks:
    """For each key whether it comes up to here more often than among others."""
    order = np.argsort(keys, kind="stable")
    ordered, is_more = keys[order], np.zeros(len(keys), bool)
    is_more[order] = np.arange(len(keys)) - ordered.searchsorted(ordered) >= _count(others, ordered)
    return is_more


def _stack_traces(dump: DumpSet, context: Context) -> Findings:
    """The header has the sum of the list, the total of a frame is the sum of its subtree, and the bytes that remain
    after it are right (HloStackTrace). Reports the first number that is wrong.
    """
    tree = dump.stack_traces
    headers = dump.live.columns.stack_trace_headers if dump.live else None
    if not headers or not len(headers):
        return
    current, total, remaining = tree.current_bytes, tree.total_bytes, tree.remaining_bytes
    listed = int(dump.peak_buffers.size_bytes.sum())
    # The subtree of a frame ends before the next frame that is not deeper.
    end = np.full(len(tree), len(tree))
    open_frames: list[int] = []
    for row, depth in enumerate(tree.depth.tolist()):
        while open_frames and tree.depth[open_frames[-1]] >= depth:
            end[open_frames.pop()] = row
        open_frames.append(row)
    sums = np.append(0, current.cumsum())
    wrong = (
        (headers, headers.size_bytes, "total of the breakdown", np.array([listed])),
        (tree, remaining, "remaining size", listed - sums[1:]),
        (tree, total, "total of this frame", sums[end] - sums[:-1]),
        # Nothing remains after the last frame.
        (tree, remaining, "remaining size", np.append(remaining[:-1], 0)[: len(tree)]),
    )
    for table, numbers, what, expected in wrong:
        rows = marked((numbers != expected) & (numbers != NONE))[:1]
        yield from context.found(table, rows, Problem.STACK_TRACE_MISMATCH, what, numbers, expected)
        if rows:
            return
