"""Findings about parameters and outputs in edited headers."""

import re

import pytest

from goldens import SWAP, check, findings_text
from samples import analysis_of_text


def test_reports_wrong_parameter_shape() -> None:
    check(
        SWAP,
        [("parameter 0, shape |f32[100]|", "parameter 0, shape |f32[200]|")],
        """
error[shape-mismatch] The header of allocation 0 gives its parameter the shape `f32[200]`, but none of its values
has it.
allocation 0: size 400, parameter 0, shape |f32[200]| at ShapeIndex {}, maybe-live-out:
^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
    )


def test_reports_wrong_output_shape() -> None:
    check(
        SWAP,
        [("|(f32[100], f32[100])|", "|(f32[100], f32[200])|")],
        """
error[shape-mismatch] The header of allocation 2 gives the output the shape `(f32[100], f32[200])`, but none of its
values has it.
allocation 2: size 16, output shape is |(f32[100], f32[200])|, maybe-live-out:
^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
    )


def test_reports_wrong_parameter_number() -> None:
    check(
        SWAP,
        [("parameter 1, shape", "parameter 0, shape")],
        """
error[parameter-mismatch] Allocation 1 is marked as parameter 0 at index {}, but holds no value of `parameter(0)` at
that index.
allocation 1: size 400, parameter 0, shape |f32[100]| at ShapeIndex {}, maybe-live-out:
^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
    )


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (
            0,
            """
error[parameter-mismatch] Allocations 0 and 1 are both marked as parameter 0 at index {}. Each is in one allocation.
allocation 1: size 400, parameter 0, shape |f32[100]| at ShapeIndex {}, maybe-live-out:
^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- Other occurrence
allocation 0: size 400, parameter 0, shape |f32[100]| at ShapeIndex {}, maybe-live-out:
^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
        ),
        (
            5,
            """
error[parameter-mismatch] Allocation 1 is marked as parameter 5, but no allocation holds parameter 1. XLA numbers
parameters without gaps.
allocation 1: size 400, parameter 5, shape |f32[100]| at ShapeIndex {}, maybe-live-out:
^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
        ),
    ],
)
def test_reports_wrong_parameter_number_without_quotes(number: int, expected: str) -> None:
    text = re.sub(r"\n from instruction:.*", "", SWAP.read_text())
    assert not findings_text(analysis_of_text(text))
    edited = text.replace("parameter 1, shape", f"parameter {number}, shape")
    assert findings_text(analysis_of_text(edited)) == expected.strip("\n")
