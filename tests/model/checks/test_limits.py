"""Findings about dumps that exceed a limit."""

from goldens import SWAP, finding_lines
from samples import analysis_of, analysis_of_text
from xla_lens.model.analysis import Analysis
from xla_lens.model.checks.limits import over_limits


def _text(analysis: Analysis, max_memory_bytes: int | None, max_peak_bytes: int | None) -> str:
    found = over_limits(analysis.dump, analysis.memory, max_memory_bytes, max_peak_bytes)
    return "\n".join(line for finding in found for line in finding_lines(finding))


def test_values_at_the_limits_pass() -> None:
    analysis = analysis_of(SWAP)
    (space,) = analysis.memory.spaces
    assert space.peak_live_bytes
    assert not _text(analysis, space.needed_bytes, space.peak_live_bytes)
    assert not _text(analysis, None, None)


def test_reports_peak_above_limit() -> None:
    assert (
        _text(analysis_of(SWAP), None, 100)
        == """\
error[max-peak] 1.2 KiB (1,200 bytes) of host memory are live at step 1, more than the limit of 100 B.
    1:copy"""
    )


def test_reports_needed_bytes_above_limit() -> None:
    assert (
        _text(analysis_of(SWAP), 1000, None)
        == """\
error[max-memory] The program needs 1.6 KiB (1,616 bytes) of host memory, more than the limit of 1000 B. This is the
largest allocation.
allocation 3: size 800, preallocated-temp:"""
    )


def test_unknown_sizes_fail() -> None:
    assert (
        _text(analysis_of_text("Total bytes used: 1616 (1.6KiB)\n\n"), 1000, 100)
        == """\
error[max-memory] The needed bytes cannot be compared with the limit of 1000 B: the dump has no allocations.
Total bytes used: 1616 (1.6KiB)

error[max-peak] The peak cannot be compared with the limit of 100 B: the dump has no live ranges or no allocations.
Total bytes used: 1616 (1.6KiB)
"""
    )


def test_a_lower_bound_below_the_limit_is_no_proof() -> None:
    text = SWAP.read_text()
    cut = analysis_of_text(text[: text.index("  Live ranges at ") - 20])
    (space,) = cut.memory.spaces
    assert 0 < space.peak_live_bytes < 5000
    assert "incomplete" in _text(cut, None, 5000)
    assert not _text(cut, 5000, None)
    # Where even the lower bound is above the limit, so is the peak.
    assert "are live at step" in _text(cut, None, space.peak_live_bytes - 1)
