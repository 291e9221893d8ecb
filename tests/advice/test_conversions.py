"""Advice to pass arguments in bfloat16 that a program only reads in that. The programs are those of
`proving/frozen.py`; `programs/` has their dumps.
"""

from pathlib import Path

import pytest

from samples import analysis_of, extracted, module_of
from xla_lens.advice.actions import Action, Cost
from xla_lens.advice.advise import advise
from xla_lens.advice.codes import Rule
from xla_lens.blocks.blocks import plain_text

MIB = 1 << 20


def _converted(path: Path) -> Action | None:
    advice = advise(analysis_of(path), module_of(path))
    assert advice
    return next((action for action in advice.actions if action.rule is Rule.CONVERTED_ARGUMENTS), None)


@pytest.mark.parametrize(
    ("program", "what", "exception", "actual_mib"),
    [
        # For a GPU. The scales of normalizations are read in float32.
        (
            "taught",
            "Pass those arrays of batch in bfloat16 that the program only reads in that type",
            "x.ndim >= 2 else x",
            112,
        ),
        # For a TPU, which converts the layers of a loop before it, without an op_name. The scales are stacked, too.
        (
            "answering",
            "Pass those arrays of params in bfloat16 that the program only reads in that type",
            "params['layers']['scale'] stay in float32",
            192,
        ),
    ],
)
def test_arguments_that_are_only_converted_are_passed_in_bfloat16(
    program: str, what: str, exception: str, actual_mib: float, tmp_path: Path
) -> None:
    action = _converted(extracted(program, tmp_path))
    assert action
    assert plain_text(action.what) == what
    assert action.cost is Cost.NOTHING
    assert action.snippet
    assert exception in action.snippet
    assert actual_mib / 1.05 <= action.saved_needed_bytes / MIB <= actual_mib * 1.05


@pytest.mark.parametrize(
    "program",
    [
        # Looked up in bfloat16, and compared in float32 with what the program makes.
        "tied_words",
        # The program returns gradients, which have the type of the weights.
        "gradients_of_all",
        # A TPU converts the factors of products in float32, and does so before a loop.
        "encoded_triplets",
    ],
)
def test_other_arguments_stay_in_float32(program: str, tmp_path: Path) -> None:
    assert _converted(extracted(program, tmp_path)) is None
