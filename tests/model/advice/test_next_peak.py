"""The peak without a value, compared with the live bytes of all other values."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from samples import analysis_of, analysis_of_text, on_all_dumps, on_each_dump, slots_text
from xla_lens.model.advice.next_peak import next_peaks
from xla_lens.model.advice.without import live_without, space_slots
from xla_lens.model.analysis import Analysis
from xla_lens.model.memory.over_time import covering
from xla_lens.syntax.columns import NONE

_NO_VALUES = np.zeros(0, np.int64)


def _check(analysis: Analysis, most: int, *, is_all: bool = False) -> None:
    """Compare a limited number of values in each memory space."""
    dump, memory = analysis.dump, analysis.memory
    for space in memory.spaces:
        again = live_without(dump, space.color, _NO_VALUES)
        assert (again.peak_step, again.peak_bytes) == (space.peak_step, space.peak_live_bytes)
        if space.peak_step is None:
            assert not len(next_peaks(dump, memory, space.color))
            continue
        wanted = np.sort(space_slots(dump, space.color).slots.value) if is_all else None
        peaks = next_peaks(dump, memory, space.color, wanted)
        live = covering(dump, space.peak_step, space.color) if wanted is None else wanted
        assert peaks.value.tolist() == live.tolist()
        for row in range(0, len(peaks), max(1, len(peaks) // most)):
            without = live_without(dump, space.color, peaks.value[row : row + 1])
            assert peaks.next_peak_bytes[row] == without.peak_bytes
            assert peaks.next_peak_step[row] == (NONE if without.peak_step is None else without.peak_step)
            assert peaks.freed_bytes[row] == space.peak_live_bytes - without.at(space.peak_step)


@on_each_dump
def test_next_peaks_match_the_live_bytes_without_the_value(path: Path) -> None:
    _check(analysis_of(path), 40)


def _check_some(analysis: Analysis) -> None:
    _check(analysis, 10 if len(analysis.dump.values) < 10_000 else 2)


@on_all_dumps(_check_some)
def test_next_peaks_on_all_dumps(of_all_dumps: Mapping[str, None]) -> None:
    assert len(of_all_dumps) == 286


_SLOTS = st.lists(
    st.tuples(st.integers(0, 1), st.integers(0, 9), st.integers(1, 6), st.integers(0, 9), st.integers(0, 5)),
    min_size=1,
    max_size=10,
)


@given(_SLOTS)
def test_next_peaks_of_random_slots(slots: list[tuple[int, int, int, int, int]]) -> None:
    _check(analysis_of_text(slots_text(slots)), 99)
    _check(analysis_of_text(slots_text(slots)), 99, is_all=True)
