"""Checks of the printed peak: its step, its list, and the tree of it by source."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

import numpy as np

from xla_lens.model.checks.doubts import Doubts, Marks, in_doubt
from xla_lens.model.checks.findings import MAXIMUM_RELATED, Code, Finding, Related, Severity, error
from xla_lens.model.hlo.dataflow import index_path
from xla_lens.model.memory.over_time import Memory
from xla_lens.model.memory.printed_peak import xla_peak_step
from xla_lens.model.places.places import row_place, schedule_place
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.lookup import taken
from xla_lens.syntax.columns import NONE, Column


def printed_peak(dump: DumpSet, memory: Memory, doubts: Doubts) -> Iterator[Finding]:
    """The step that is printed as the peak, and what is listed as live there."""
    file = dump.live
    if file is None or not len(dump.peaks) or len(dump.peaks) > 1:
        return
    step = int(dump.peaks.step[0])
    expected = xla_peak_step(dump) if doubts.is_timing_sound and not np.any(doubts.values) else None
    if expected is not None and expected != step and doubts.is_whole(file):
        doubts.is_timing_sound = False
        related = [Related(place, "step")] if (place := schedule_place(dump, dump.schedule_row(expected))) else []
        yield error(Code.PEAK_STEP_MISMATCH, row_place(file, dump.peaks, 0), *related, step=step, expected=expected)
        step = expected
    found = list(_list(dump, doubts, file, step)) or list(_order(dump, doubts, file))
    yield from found
    if all(finding.facts["what"] == "size" for finding in found):
        yield from _cumulative(dump, file, {finding.place.start for finding in found})
    if not found:
        yield from _stack_trace_total(dump, doubts, file)
    yield from _stack_traces(dump, doubts, file)
    if doubts.is_timing_sound and not np.any(doubts.values):
        yield from _understated(dump, memory, file)


def _understated(dump: DumpSet, memory: Memory, file: DumpFile) -> Iterator[Finding]:
    """The live bytes of the default memory space at the printed step against the most at any step."""
    space, step = memory.space(0), int(dump.peaks.step[0])
    if space is None or space.peak_step is None or space.live.at(step) >= space.peak_live_bytes:
        return
    scheduled = dump.schedule_row(space.peak_step)
    yield Finding(
        Code.PEAK_UNDERSTATED,
        Severity.INFORMATION,
        row_place(file, dump.peaks, 0),
        {
            "step": step,
            "live_bytes": space.live.at(step),
            "peak_step": space.peak_step,
            "peak_bytes": space.peak_live_bytes,
            "instruction": dump.instruction_at(space.peak_step) or "",
        },
        () if scheduled == NONE else (Related(row_place(file, dump.schedule, scheduled), "peak"),),
    )


# ---------------------------------------------------------------- the list


def _list(dump: DumpSet, doubts: Doubts, file: DumpFile, step: int) -> Iterator[Finding]:
    """What is live at the step against what is listed, and the sizes of the list."""
    buffers, ranges = dump.peak_buffers, dump.live_ranges
    is_indexed = int(np.any(buffers.index != NONE))
    value = dump.value_of_live_range
    live = np.flatnonzero((ranges.start_step <= step) & (step <= ranges.end_step))
    sure = ~in_doubt(doubts.names, ranges.name) & (~in_doubt(doubts.values, value) | (value == NONE))
    # What is in doubt may be listed or not.
    unsure = {*ranges.name[~sure].tolist(), *dump.values.name[doubts.values].tolist()}
    expected = _keys(ranges.name[live], ranges.index[live], is_indexed)
    listed = _keys(buffers.name, buffers.index, is_indexed)
    left = Counter(expected)
    sizes = _sizes(dump, is_indexed)
    is_wrong = (sizes != NONE) & (sizes != buffers.size_bytes)
    is_elsewhere = _is_out_of_place(dump, live, listed, expected)
    extra = []
    replaced = 0
    # Of two rows of one name, the one that has the size and the place is right.
    for row in np.lexsort((is_elsewhere, is_wrong)).tolist():
        key = listed[row]
        if left[key] > 0:
            left[key] -= 1
        elif key[0] not in unsure and not doubts.names[key[0]]:
            extra.append(row)
        else:
            replaced += 1
    missing = [key for key, count in left.items() if count > 0 and key[0] not in unsure and not doubts.names[key[0]]]
    rows_of: dict[tuple[int, int], list[int]] = {}
    for row, key in enumerate(listed):
        rows_of.setdefault(key, []).append(row)
    for row in extra:
        others = [other for other in rows_of[listed[row]][:2] if other != row]
        yield error(
            Code.PEAK_LIST_MISMATCH,
            row_place(file, buffers, row),
            *(Related(row_place(file, buffers, other), "first") for other in others[:1]),
            what="extra",
            value=dump.label(*listed[row]),
            step=step,
            is_twice=int(len(others) > 0),
        )
    # One that stands for another is one cause.
    if len(missing) > len(extra) + replaced and doubts.is_whole(file):
        rows = [int(live[expected.index(key)]) for key in missing[:MAXIMUM_RELATED]]
        yield error(
            Code.PEAK_LIST_MISMATCH,
            row_place(file, dump.peaks, 0),
            *(Related(row_place(file, ranges, row), "live range") for row in rows),
            what="missing",
            value=dump.label(*missing[0]),
            step=step,
            missing=len(missing),
        )
    if not extra and (not missing or not doubts.is_whole(file)):
        for row in np.flatnonzero(is_wrong & ~in_doubt(doubts.values, dump.value_of_peak_buffer)).tolist():
            yield error(
                Code.PEAK_LIST_MISMATCH,
                row_place(file, buffers, row),
                what="size",
                value=dump.label(int(buffers.name[row]), int(buffers.index[row])),
                size_bytes=int(buffers.size_bytes[row]),
                expected=int(sizes[row]),
            )


def _is_out_of_place(
    dump: DumpSet, live: Column, listed: list[tuple[int, int]], expected: list[tuple[int, int]]
) -> Marks:
    """For each row of the list whether another value belongs there; none if the list is too long or too short. What is
    `expected` are the keys of the rows of live ranges `live`.
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


def _keys(name: Column, index: Column, is_indexed: int) -> list[tuple[int, int]]:
    """Until jaxlib 0.6.0 the list had no indices."""
    indices = np.maximum(index, 0) if is_indexed else np.full(len(name), NONE)
    return list(zip(name.tolist(), indices.tolist(), strict=True))


def _sizes(dump: DumpSet, is_indexed: int) -> Column:
    """The sizes that the list should have, NONE where that is not known. Entries without an index have the size of the
    whole shape of the instruction, others that of the element.
    """
    return taken(dump.logical_bytes if is_indexed else dump.whole_bytes, dump.value_of_peak_buffer)


def _order(dump: DumpSet, doubts: Doubts, file: DumpFile) -> Iterator[Finding]:
    """Lists with sums are sorted by size, name and index; those before are in the order of the live ranges."""
    buffers = dump.peak_buffers
    if not len(buffers) or np.any(in_doubt(doubts.names, buffers.name)):
        return
    if np.all(buffers.cumulative_bytes != NONE):
        keys = [
            (-size, *_name_and_path(dump, name, index))
            for size, name, index in zip(
                buffers.size_bytes.tolist(), buffers.name.tolist(), buffers.index.tolist(), strict=True
            )
        ]
        back = [row for row, (key, sorted_key) in enumerate(zip(keys, sorted(keys), strict=True)) if key != sorted_key]
    else:
        place = taken(dump.values.live_range, dump.value_of_peak_buffer)
        back = np.flatnonzero(place != np.sort(place)).tolist() if np.all(place != NONE) else []
    for row in back[:1]:
        yield error(
            Code.PEAK_LIST_MISMATCH,
            row_place(file, buffers, row),
            *(Related(row_place(file, buffers, other), "displaced") for other in back[1 : 1 + MAXIMUM_RELATED]),
            what="order",
            value=dump.label(int(buffers.name[row]), int(buffers.index[row])),
        )


def _cumulative(dump: DumpSet, file: DumpFile, found: set[int]) -> Iterator[Finding]:
    """Each sum is the one before and the size; one that is wrong leaves the next right."""
    buffers = dump.peak_buffers
    sums, sizes = buffers.cumulative_bytes, buffers.size_bytes
    if not len(buffers) or np.any(sums == NONE):
        return
    expected = sizes.cumsum()
    if found:
        # The sizes of the list, not what its rows were changed to.
        known = taken(dump.logical_bytes, dump.value_of_peak_buffer)
        expected = np.where(known != NONE, known, sizes).cumsum()
    for row in np.flatnonzero(sums != expected)[:MAXIMUM_RELATED].tolist():
        if int(buffers.start[row]) not in found:
            yield error(
                Code.CUMULATIVE_MISMATCH,
                row_place(file, buffers, row),
                cumulative_bytes=int(sums[row]),
                expected=int(expected[row]),
            )


# ---------------------------------------------------------------- the tree


def _stack_trace_total(dump: DumpSet, doubts: Doubts, file: DumpFile) -> Iterator[Finding]:
    headers, roots = file.columns.stack_trace_headers, dump.stack_traces.depth == 0
    listed = int(dump.peak_buffers.size_bytes.sum())
    if not len(headers) or not doubts.is_whole(file) or int(headers.size_bytes[0]) == listed:
        return
    if np.any(roots) and int(dump.stack_traces.total_bytes[roots].sum()) != listed:
        listed = int(dump.stack_traces.total_bytes[roots].sum())
    yield error(
        Code.STACK_TRACE_MISMATCH,
        row_place(file, headers, 0),
        what="header",
        size_bytes=int(headers.size_bytes[0]),
        expected=listed,
    )


_TREE: Final = "total", "current", "remaining"


def _stack_traces(dump: DumpSet, doubts: Doubts, file: DumpFile) -> Iterator[Finding]:
    """The bytes of each frame against those below it, and what is left against what was before (HloStackTrace)."""
    tree, headers = dump.stack_traces, file.columns.stack_trace_headers
    if not len(tree) or not len(headers) or not doubts.is_whole(file) or np.any(tree.remaining_bytes == NONE):
        return
    count = len(tree)
    current, total, remaining = tree.current_bytes, tree.total_bytes, tree.remaining_bytes
    # A frame's subtree is all that follows and is deeper.
    last = np.full(count, count)
    open_frames: list[int] = []
    for row, depth in enumerate(tree.depth.tolist()):
        while open_frames and tree.depth[open_frames[-1]] >= depth:
            last[open_frames.pop()] = row
        open_frames.append(row)
    sums = np.append(0, current.cumsum())
    before = np.append(sum(total[tree.depth == 0].tolist()), remaining[:-1])
    is_current_wrong = before - current != remaining
    if np.any(is_current_wrong):
        # What is left tells which bytes a frame has; one wrong rest is followed by another.
        for row in np.flatnonzero(is_current_wrong)[:1].tolist():
            yield _tree_finding(dump, file, row, "remaining", int(before[row] - current[row]))
        return
    for row in np.flatnonzero(total != sums[last] - sums[:-1])[:1].tolist():
        yield _tree_finding(dump, file, row, "total", int(sums[last[row]] - sums[row]))


def _tree_finding(dump: DumpSet, file: DumpFile, row: int, what: str, expected: int) -> Finding:
    tree = dump.stack_traces
    return error(
        Code.STACK_TRACE_MISMATCH,
        row_place(file, tree, row),
        what=what,
        frame=file.document.data[tree.name_start[row] : tree.name_end[row]].decode("utf-8", "replace"),
        total_bytes=int(tree.total_bytes[row]),
        current_bytes=int(tree.current_bytes[row]),
        remaining_bytes=int(tree.remaining_bytes[row]),
        expected=expected,
    )
