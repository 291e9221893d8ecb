"""Allocation histories, compared with a count of every byte and with the live bytes of all dumps."""

import numpy as np
import pytest

from samples import analysis_of_text, on_dumps
from xla_lens.model.analysis import Analysis
from xla_lens.model.memory.allocation_history import Intervals, allocation_history, arenas
from xla_lens.syntax.columns import NONE


@on_dumps
def test_free_bytes_are_the_bytes_that_are_not_live(analysis: Analysis) -> None:
    dump, memory = analysis.dump, analysis.memory
    counted = 0
    for row in range(len(dump.allocations)):
        history, size = allocation_history(dump, memory, row), int(dump.allocations.size_bytes[row])
        live = memory.allocation(row)
        counted += len(history.value)
        order = list(zip(history.offset.tolist(), history.start_step.tolist(), history.value.tolist(), strict=True))
        assert order == sorted(order)
        values = dump.values_of_allocation(row)
        assert sorted(history.value.tolist()) == sorted(values.tolist())
        for step, free in (
            (history.peak_step, history.free_at(history.peak_step)),
            (history.space_peak_step, history.free_at(history.space_peak_step)),
        ):
            assert (step is None) == (free is None)
            if step is not None and free is not None:
                assert free.total == size - live.at(step)
        if history.idle_bytes is not None:
            assert history.idle_bytes == size - live.peak_bytes >= history.never_used.total
        else:
            # No real dump mixes values with and without a live range.
            assert np.all(history.start_step == NONE)
    assert counted == np.count_nonzero(dump.values.allocation != NONE)
    for arena in arenas(dump, memory):
        steps = arena.full_size_steps
        assert arena.fragmentation is None or 0 <= arena.fragmentation <= 1
        assert np.all(steps.start[1:] > steps.end[:-1])
        for value in arena.reaching.tolist():
            place = int(steps.start.searchsorted(dump.values.start_step[value], "right")) - 1
            assert steps.end[place] > dump.values.end_step[value]


def _text(intervals: Intervals | None) -> list[tuple[int, int]] | None:
    return intervals if intervals is None else list(zip(intervals.start.tolist(), intervals.end.tolist(), strict=True))


_DUMP = """BufferAssignment:
allocation 0: size 100, preallocated-temp:
 value: <1 a @0> (size=20,offset=0): u8[20]{0}
 value: <2 b @0> (size=20,offset=40): u8[20]{0}
 value: <3 c @0> (size=30,offset=60): u8[30]{0}
 value: <4 d @0> (size=10,offset=0): u8[10]{0}
 value: <5 e @0> (size=30,offset=60): u8[30]{0}
allocation 1: size 8, thread-local:
 value: <6 t @0> (size=4,offset=0): f32[]
allocation 2: size 7, maybe-live-out:

Total bytes used: 115 (115B)

Used values:

HloLiveRange (max 9):
  InstructionSequence:
    0:a
    1:b
    2:c
    3:d
    7:e
  BufferLiveRange:
    a{}:0-2
    b{}:1-3
    c{}:2-4
    d{}:3-3
    e{}:7-8
"""


def test_history_of_an_arena() -> None:
    analysis = analysis_of_text(_DUMP)
    history = allocation_history(analysis.dump, analysis.memory, 0)
    assert analysis.dump.values.id[history.value].tolist() == [1, 4, 2, 3, 5]
    assert history.end_offset.tolist() == [20, 10, 60, 90, 90]
    assert (history.peak_step, history.peak_bytes, history.space_peak_step) == (2, 70, 2)
    assert (
        _text(history.free_at(history.peak_step))
        == _text(history.free_at(history.space_peak_step))
        == [(20, 40), (90, 100)]
    )
    assert _text(history.never_used) == [(20, 40), (90, 100)]
    assert (history.never_used.total, history.idle_bytes) == (30, 30)
    (arena,) = arenas(analysis.dump, analysis.memory)
    assert (arena.size_bytes, arena.peak_bytes) == (100, 70)
    assert arena.fragmentation == pytest.approx(0.3)
    assert analysis.dump.values.id[arena.reaching].tolist() == [3, 5]
    assert _text(arena.full_size_steps) == [(2, 5), (7, 9)]


def test_idle_bytes_are_unknown_without_live_ranges() -> None:
    analysis = analysis_of_text(_DUMP)
    history = allocation_history(analysis.dump, analysis.memory, 1)
    assert (history.start_step.tolist(), history.end_step.tolist()) == ([NONE], [NONE])
    assert (history.peak_step, history.peak_bytes, history.free_at(history.peak_step), history.idle_bytes) == (
        None,
        0,
        None,
        None,
    )
    assert _text(history.free_at(history.space_peak_step)) == [(0, 8)]
    assert _text(history.never_used) == [(4, 8)]


def test_slices_out_of_bounds_are_clipped() -> None:
    analysis = analysis_of_text(_DUMP.replace("size 100", "size 70"))
    history = allocation_history(analysis.dump, analysis.memory, 0)
    assert _text(history.free_at(history.peak_step)) == [(20, 40)]
    assert history.idle_bytes == 0
