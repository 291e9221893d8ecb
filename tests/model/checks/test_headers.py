"""Findings about parameters and outputs in edited headers."""

import re

import pytest

from goldens import SWAP, findings_text
from samples import analysis_of_text


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (
            0,
            """
error[parameter-mismatch] Allocations 0 and 1 are both marked as parameter 0 at index {}. Each is in one allocation.
allocation 1: size 400, parameter 0, shape |f32[100]| at ShapeIndex {}, maybe-live-out:
-- Other occurrence
allocation 0: size 400, parameter 0, shape |f32[100]| at ShapeIndex {}, maybe-live-out:
""",
        ),
        (
            5,
            """
error[parameter-mismatch] Allocation 1 is marked as parameter 5, but no allocation holds parameter 1. XLA numbers
parameters without gaps.
allocation 1: size 400, parameter 5, shape |f32[100]| at ShapeIndex {}, maybe-live-out:
""",
        ),
    ],
)
def test_reports_wrong_parameter_number_without_quotes(number: int, expected: str) -> None:
    text = re.sub(r"\n from instruction:.*", "", SWAP.read_text())
    assert not findings_text(analysis_of_text(text))
    edited = text.replace("parameter 1, shape", f"parameter {number}, shape")
    assert findings_text(analysis_of_text(edited)) == expected.strip("\n")
