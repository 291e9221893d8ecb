"""The time of the checks grows linearly with the number of values."""

import sys
from types import FrameType
from typing import Any

import pytest

from samples import analysis_of_text, slots_text
from xla_lens.model.analysis import Analysis, analyse
from xla_lens.model.checks.codes import Code


def _steps(analysis: Analysis) -> int:
    """The number of calls and lines that Python runs to analyze the files of a dump."""
    count = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        count += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        analyse(analysis.dump.files)
    finally:
        sys.settrace(before)
    return count


def _arena(count: int, *, overlapping: bool = False) -> Analysis:
    """An arena of values side by side, each live for three steps; or, if overlapping, in pairs on the same bytes."""
    slots = [(0, (number // 2 if overlapping else number) * 8, 8, number // 2, 3) for number in range(count)]
    return analysis_of_text(slots_text(slots).replace("size 99", f"size {count * 8}"))


@pytest.mark.parametrize("overlapping", [False, True])
def test_time_grows_linearly(overlapping: bool) -> None:
    small, big = (_arena(count, overlapping=overlapping) for count in (1_000, 2_000))
    found = [finding for finding in big.findings if finding.code is Code.OVERLAPPING_SLICES]
    assert bool(found) == overlapping
    assert _steps(big) < 2.3 * _steps(small)


@pytest.mark.slow
def test_arena_of_40_000_values_takes_linear_time() -> None:
    small, big = _arena(4_000), _arena(40_000)
    assert _steps(big) < 12 * _steps(small)
