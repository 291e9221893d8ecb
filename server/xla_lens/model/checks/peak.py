"""Checks of the printed peak: its step, its list, and its stack trace breakdown."""

from collections import Counter
from collections.abc import Generator, Iterator

import numpy as np

from xla_lens.model.checks.codes import Severity
from xla_lens.model.checks.findings import MAXIMUM_RELATED, Finding, Related, Relation, error
from xla_lens.model.checks.live_ranges import defines_own_value
from xla_lens.model.checks.problems import Problem
from xla_lens.model.checks.tainted import Marks, Tainted, is_marked
from xla_lens.model.checks.views import views_in_live_ranges
from xla_lens.model.hlo.dataflow import index_path
from xla_lens.model.memory.over_time import Memory
from xla_lens.model.memory.printed_peak import DEFAULT_COLOR, xla_peak_step
from xla_lens.model.places.places import row_place, schedule_place
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.lookup import taken
from xla_lens.syntax.columns import NONE, Column


def printed_peak_matches_live_ranges(dump: DumpSet, memory: Memory, tainted: Tainted) -> Iterator[Finding]:
    """The printed peak is at the step that XLA's rule gives, and its list and breakdown show what is live there."""
    file = dump.live
    if file is None or not len(dump.peaks) or len(dump.peaks) > 1:
        return
    step = int(dump.peaks.step[0])
    expected = xla_peak_step(dump) if tainted.is_liveness_sound and not np.any(tainted.values) else None
    if expected is not None and expected != step and tainted.is_whole(file):
        tainted.is_liveness_sound = False
        scheduled = schedule_place(dump, dump.schedule_row(expected))
        related = [Related(scheduled, Relation.STEP)] if scheduled else []
        yield error(row_place(file, dump.peaks, 0), Problem.PEAK_STEP_MISMATCH(step, expected), *related)
    found = list(_list(dump, tainted, file, step))
    if found and expected is not None and expected != step:
        # Either the step of the list is wrong, or a live range that makes XLA's rule choose another one.
        found = list(_list(dump, tainted, file, expected))
    found = found or list(_order(dump, tainted, file))
    yield from found
    if all(finding.problem.kind is Problem.PEAK_VALUE_SIZE for finding in found):
        yield from _cumulative(dump, tainted, file, {finding.place.start for finding in found})
    if not found:
        yield from _stack_trace_total(dump, tainted, file)
    yield from _stack_traces(dump, tainted, file)
    is_whole = (tainted.is_whole(dump.live) and tainted.is_whole(dump.assignment)) or _is_list_known(dump)
    if is_whole and tainted.is_liveness_sound and not np.any(tainted.values):
        yield from _understated(dump, memory, file)


def printed_peak_is_highest(dump: DumpSet, memory: Memory, tainted: Tainted) -> Iterator[Finding]:
    """No step has more live bytes than the printed peak, if that is the step that XLA's rule gives."""
    is_sound = tainted.is_liveness_sound and not np.any(tainted.values)
    if dump.live and len(dump.peaks) == 1 and is_sound and xla_peak_step(dump) in (None, int(dump.peaks.step[0])):
        yield from _understated(dump, memory, dump.live)


def _is_list_known(dump: DumpSet) -> bool:
    """Whether no unknown line has the live range or the slice of a value that is printed as live at the peak."""
    names, values = dump.peak_buffers.name, dump.values
    placed = values.name[(values.slice != NONE) & (values.live_range != NONE)]
    return bool(np.isin(names, placed).all())


def _understated(dump: DumpSet, memory: Memory, file: DumpFile) -> Iterator[Finding]:
    """More bytes of memory space 0 are live at another step than at the printed one."""
    space, step = memory.space(DEFAULT_COLOR), int(dump.peaks.step[0])
    if space is None or space.peak_step is None or space.live.at(step) >= space.peak_live_bytes:
        return
    scheduled = dump.schedule_row(space.peak_step)
    yield Finding(
        Severity.INFORMATION,
        row_place(file, dump.peaks, 0),
        Problem.PEAK_UNDERSTATED(
            space.id,
            step,
            space.live.at(step),
            space.peak_step,
            (space.peak_live_bytes, space.live.at(step)),
            dump.instruction_at(space.peak_step) or "",
        ),
        () if scheduled == NONE else (Related(row_place(file, dump.schedule, scheduled), Relation.PEAK),),
    )


# ---------------------------------------------------------------- the list


def _list(dump: DumpSet, tainted: Tainted, file: DumpFile, step: int) -> Iterator[Finding]:
    """The list has each value that is live at the step once, with the size of its shape."""
    buffers, ranges = dump.peak_buffers, dump.live_ranges
    is_indexed = bool(np.any(buffers.index != NONE))
    live = np.flatnonzero((ranges.start_step <= step) & (step <= ranges.end_step))
    sizes = _sizes(dump, is_indexed=is_indexed)
    is_wrong = (sizes != NONE) & (sizes != buffers.size_bytes)
    expected = _keys(dump, ranges.name[live], ranges.index[live], is_indexed=is_indexed)
    listed = _keys(dump, buffers.name, buffers.index, is_indexed=is_indexed)
    if not np.array_equal(np.sort(expected), np.sort(listed)):
        has_all = yield from _differences(dump, tainted, step, live, is_wrong)
        if not has_all:
            return
    for row in np.flatnonzero(is_wrong & ~is_marked(tainted.values, dump.value_of_peak_buffer)).tolist():
        label = dump.label(int(buffers.name[row]), int(buffers.index[row]))
        problem = Problem.PEAK_VALUE_SIZE(label, buffers.size_bytes[row], sizes[row])
        yield error(row_place(file, buffers, row), problem)


def _differences(
    dump: DumpSet, tainted: Tainted, step: int, live: Column, is_wrong: Marks
) -> Generator[Finding, None, bool]:
    """The rows of the list without a live value, and the values without a row. Returns whether nothing is sure to be
    extra or missing. `live` are the rows of the live ranges at the step.
    """
    buffers, ranges, file = dump.peak_buffers, dump.live_ranges, dump.live
    assert file is not None, "the list is in it"
    is_indexed = bool(np.any(buffers.index != NONE))
    value = dump.value_of_live_range
    is_known = (defines_own_value(dump) & ~is_marked(tainted.values, value)) | views_in_live_ranges(dump)
    sure = ~is_marked(tainted.names, ranges.name) & is_known
    # Tainted values may be listed or not.
    unsure = {*ranges.name[~sure].tolist(), *dump.values.name[tainted.values].tolist()}
    expected = _pairs(ranges.name[live], ranges.index[live], is_indexed=is_indexed)
    listed = _pairs(buffers.name, buffers.index, is_indexed=is_indexed)
    left = Counter(expected)
    is_elsewhere = _is_out_of_place(dump, live, listed, expected)
    extra = []
    replaced = 0
    # Of two rows with one name, the one with the right size and at the right place counts as the value's own.
    for row in np.lexsort((is_elsewhere, is_wrong)).tolist():
        key = listed[row]
        if left[key] > 0:
            left[key] -= 1
        elif key[0] not in unsure and not tainted.names[key[0]]:
            extra.append(row)
        else:
            replaced += 1
    missing = [key for key, count in left.items() if count > 0 and key[0] not in unsure and not tainted.names[key[0]]]
    # A live range with a finding that is not listed may be that of a listed value without a live range.
    renamed = sum(left.values()) - sum(left[key] for key in missing)
    is_whole = tainted.is_whole(file)
    is_needed = extra and (renamed or not is_whole)
    known = {*_pairs(ranges.name, ranges.index, is_indexed=is_indexed)} if is_needed else set()
    if not is_whole:
        # The live range may be in an unknown line.
        extra = [row for row in extra if listed[row] in known]
    without = dump.values.live_range == NONE
    lacking = {*_pairs(dump.values.name[without], dump.values.index[without], is_indexed=is_indexed)}
    nameless = [row for row in extra if known and (listed[row] not in known or listed[row] in lacking)][:renamed]
    extra = [row for row in extra if row not in nameless]
    replaced += len(nameless)
    rows_of: dict[tuple[int, int], list[int]] = {}
    for row, key in enumerate(listed):
        rows_of.setdefault(key, []).append(row)
    for row in extra:
        label = dump.label(*listed[row])
        others = [other for other in rows_of[listed[row]][:2] if other != row]
        yield error(
            row_place(file, buffers, row),
            Problem.PEAK_VALUE_TWICE(label) if others else Problem.PEAK_VALUE_NOT_LIVE(label, step),
            *(Related(row_place(file, buffers, other), Relation.OTHER_OCCURRENCE) for other in others[:1]),
        )
    # An extra row in the place of a missing one has the same cause.
    if len(missing) > len(extra) + replaced and is_whole:
        rows = [int(live[expected.index(key)]) for key in missing[:MAXIMUM_RELATED]]
        yield error(
            row_place(file, dump.peaks, 0),
            Problem.PEAK_VALUES_MISSING(dump.label(*missing[0]), len(missing) - 1, step),
            *(Related(row_place(file, ranges, row), Relation.LIVE_RANGE) for row in rows),
        )
    return not extra and not nameless and (not missing or not tainted.is_whole(file))


def _is_out_of_place(
    dump: DumpSet, live: Column, listed: list[tuple[int, int]], expected: list[tuple[int, int]]
) -> Marks:
    """For each row of the list whether another value belongs there; all false if the list has another length.

    `expected` are the keys of the rows `live` of the live ranges.
    """
    if len(live) != len(listed):
        return np.zeros(len(listed), bool)
    order = list(range(len(live)))
    if np.all(dump.peak_buffers.cumulative_bytes != NONE):
        sizes = taken(dump.logical_bytes, dump.value_of_live_range[live]).tolist()
        order.sort(key=lambda place: (-sizes[place], *_name_and_path(dump, *expected[place])))
    return np.array([key != expected[place] for key, place in zip(listed, order, strict=True)], bool)


def _name_and_path(dump: DumpSet, name: int, index: int) -> tuple[bytes, tuple[int, ...]]:
    return dump.names[name], index_path(dump, index)


def _keys(dump: DumpSet, name: Column, index: Column, *, is_indexed: bool) -> Column:
    """One number for each name and index. Until jaxlib 0.6.0 the list had no indices."""
    return name.astype(np.int64) * len(dump.indices) + (np.maximum(index, 0) if is_indexed else 0)


def _pairs(name: Column, index: Column, *, is_indexed: bool) -> list[tuple[int, int]]:
    """Names and indices, NONE where the list has no indices."""
    indices = np.maximum(index, 0) if is_indexed else np.full(len(name), NONE)
    return list(zip(name.tolist(), indices.tolist(), strict=True))


def _sizes(dump: DumpSet, *, is_indexed: bool) -> Column:
    """The sizes that the list should have, NONE where unknown.

    Lists without indices have the sizes of the whole shapes of the instructions.
    """
    return taken(dump.logical_bytes if is_indexed else dump.whole_bytes, dump.value_of_peak_buffer)


def _order(dump: DumpSet, tainted: Tainted, file: DumpFile) -> Iterator[Finding]:
    """Lists with cumulative sizes are sorted by size, others are in the order of the live ranges."""
    buffers = dump.peak_buffers
    if not len(buffers) or np.any(is_marked(tainted.names, buffers.name)):
        return
    if np.all(buffers.cumulative_bytes != NONE):
        order, keys = "by size", -buffers.size_bytes
    else:
        order, keys = "in the order of the live ranges", taken(dump.values.live_range, dump.value_of_peak_buffer)
        # That order proves nothing where one of them is uncertain.
        is_sure = tainted.is_liveness_sound and not np.any(is_marked(tainted.names, dump.live_ranges.name))
        if not is_sure or np.any(keys == NONE):
            return
    back = np.flatnonzero(keys != np.sort(keys)).tolist()
    for row in back[:1]:
        others = (row_place(file, buffers, other) for other in back[1 : 1 + MAXIMUM_RELATED])
        problem = Problem.PEAK_OUT_OF_ORDER(dump.label(int(buffers.name[row]), int(buffers.index[row])), order)
        yield error(
            row_place(file, buffers, row), problem, *(Related(other, Relation.OUT_OF_ORDER) for other in others)
        )


def _cumulative(dump: DumpSet, tainted: Tainted, file: DumpFile, found: set[int]) -> Iterator[Finding]:
    """Each cumulative size is the sum of the sizes up to its row. `found` are the starts of rows with a wrong size."""
    buffers = dump.peak_buffers
    sums, sizes = buffers.cumulative_bytes, buffers.size_bytes
    if not len(buffers) or np.any(sums == NONE):
        return
    unknown = file.columns.unknown_lines.start
    if not tainted.is_whole(file) and np.any((buffers.start[0] < unknown) & (unknown < buffers.start[-1])):
        # An unknown line may be a row.
        return
    expected = sizes.cumsum()
    if found:
        # Rows with a wrong size count with the size of their shape.
        known = taken(dump.logical_bytes, dump.value_of_peak_buffer)
        expected = np.where(known != NONE, known, sizes).cumsum()
    for row in np.flatnonzero(sums != expected)[:MAXIMUM_RELATED].tolist():
        if int(buffers.start[row]) not in found:
            yield error(row_place(file, buffers, row), Problem.CUMULATIVE_MISMATCH(sums[row], expected[row]))


# ---------------------------------------------------------------- the stack trace breakdown


def _stack_trace_total(dump: DumpSet, tainted: Tainted, file: DumpFile) -> Iterator[Finding]:
    """The header of the breakdown has the sum of the list of the peak."""
    headers, roots = file.columns.stack_trace_headers, dump.stack_traces.depth == 0
    listed = int(dump.peak_buffers.size_bytes.sum())
    if not len(headers) or not tainted.is_whole(file) or int(headers.size_bytes[0]) == listed:
        return
    frames = int(dump.stack_traces.total_bytes[roots].sum())
    rows = ("its frames add", frames) if np.any(roots) and frames != listed else ("the list of the peak adds", listed)
    problem = Problem.STACK_TRACE_MISMATCH("total of the breakdown", headers.size_bytes[0], *rows)
    yield error(row_place(file, headers, 0), problem)


def _stack_traces(dump: DumpSet, tainted: Tainted, file: DumpFile) -> Iterator[Finding]:
    """The total of a frame is the sum of its subtree, and the bytes that remain after it are right (HloStackTrace)."""
    tree, headers = dump.stack_traces, file.columns.stack_trace_headers
    if not len(tree) or not len(headers) or not tainted.is_whole(file) or np.any(tree.remaining_bytes == NONE):
        return
    count = len(tree)
    current, total, remaining = tree.current_bytes, tree.total_bytes, tree.remaining_bytes
    # The subtree of a frame ends before the next frame that is not deeper.
    end = np.full(count, count)
    open_frames: list[int] = []
    for row, depth in enumerate(tree.depth.tolist()):
        while open_frames and tree.depth[open_frames[-1]] >= depth:
            end[open_frames.pop()] = row
        open_frames.append(row)
    sums = np.append(0, current.cumsum())
    before = np.append(sum(total[tree.depth == 0].tolist()), remaining[:-1])
    wrong = (
        ("remaining size", remaining, "the frames below add", before - current),
        ("total of this frame", total, "it and the frames below it add", sums[end] - sums[:-1]),
    )
    for what, printed, frames, expected in wrong:
        # Report the first row only: one wrong row makes the next one look wrong, too.
        for row in np.flatnonzero(printed != expected)[:1].tolist():
            problem = Problem.STACK_TRACE_MISMATCH(what, printed[row], frames, expected[row])
            yield error(row_place(file, tree, row), problem)
            return
