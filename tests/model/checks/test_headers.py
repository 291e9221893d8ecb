"""What is found in what headers say of parameters and of the output."""

import re

import pytest

from goldens import SWAP, check, findings_text
from samples import analysis_of_text


def test_the_shape_of_a_parameter() -> None:
    check(
        SWAP,
        [("parameter 0, shape |f32[100]|", "parameter 0, shape |f32[200]|")],
        """
error[shape-mismatch] Allocation 0 says that its parameter is f32[200], but no value in it is.
allocation 0: size 400, parameter 0, shape |f32[200]| at ShapeIndex {}, maybe-live-out:
^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
    )


def test_the_shape_of_the_output() -> None:
    check(
        SWAP,
        [("|(f32[100], f32[100])|", "|(f32[100], f32[200])|")],
        """
error[shape-mismatch] Allocation 2 says that the output is (f32[100], f32[200]), but no value in it is.
allocation 2: size 16, output shape is |(f32[100], f32[200])|, maybe-live-out:
^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
    )


def test_a_parameter_that_is_another() -> None:
    check(
        SWAP,
        [("parameter 1, shape", "parameter 0, shape")],
        """
error[parameter-mismatch] Allocation 1 is said to be parameter 0 at index {}, but the value in it is not made by
parameter(0) at that index.
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
error[parameter-mismatch] Allocation 1 is said to be parameter 0 at index {}, but another is that as well.
allocation 1: size 400, parameter 0, shape |f32[100]| at ShapeIndex {}, maybe-live-out:
^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
-- The first time
allocation 0: size 400, parameter 0, shape |f32[100]| at ShapeIndex {}, maybe-live-out:
^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
        ),
        (
            5,
            """
error[parameter-mismatch] Allocation 1 is said to be parameter 5 at index {}, but there is no parameter 1.
Parameters are numbered 0, 1, 2 ...
allocation 1: size 400, parameter 5, shape |f32[100]| at ShapeIndex {}, maybe-live-out:
^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
        ),
    ],
)
def test_parameters_of_a_dump_that_quotes_no_instructions(number: int, expected: str) -> None:
    text = re.sub(r"\n from instruction:.*", "", SWAP.read_text())
    assert not findings_text(analysis_of_text(text))
    edited = text.replace("parameter 1, shape", f"parameter {number}, shape")
    assert findings_text(analysis_of_text(edited)) == expected.strip("\n")
