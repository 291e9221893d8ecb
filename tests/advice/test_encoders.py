"""Advice to encode examples in parts before a loss compares them. The programs are those of `proving/encoded.py`, and
some of users; `programs/` has their dumps.
"""

from pathlib import Path

import pytest

from samples import analysis_of, extracted, module_of
from xla_lens.advice.actions import Action, Cost
from xla_lens.advice.advise import advise
from xla_lens.advice.codes import Rule
from xla_lens.blocks.blocks import plain_text

MIB = 1 << 20


def _encoded(path: Path) -> Action | None:
    advice = advise(analysis_of(path), module_of(path))
    assert advice
    return next((action for action in advice.actions if action.rule is Rule.ENCODED_BATCH), None)


_WAY = (
    " at a time, in jax.checkpoint: all that is computed of each alone, before {} computes something from all of them"
)


@pytest.mark.parametrize(
    ("program", "examples", "line", "actual_mib"),
    [
        # On a CPU; features of two domains, whose covariances are compared.
        ("domains", "2,048 examples (batch[2], batch[0] and batch[1])", "encoded.py:56", 1118.0),
        # For a TPU; what a loop has encoded is compared in VMEM.
        ("recordings", "64 examples (batch[0])", "encoded.py:130", 640.0),
        # Edges, whose messages are added up at nodes.
        ("messages", "16,384 examples (batch[1], batch[2] and batch[3])", "encoded.py:158", 842.7),
        # Each of eight devices has 8,192 examples.
        (
            "shared_domains",
            "1,024 examples of each device (data[1] and data[0])",
            "/home/user/programs/e5.py:40",
            543.5,
        ),
        # Points of a grid, whose neighbors a padding moves to their places, in a fusion with the line after that.
        ("laplacian", "2,048 examples (grid)", "/home/user/programs/b4.py:36", 340.0),
        # Dropout draws numbers for each example.
        ("dropped_views", "1,024 examples (batch[0])", "encoded.py:183", 375.5),
    ],
)
def test_examples_are_encoded_in_parts_before_they_are_compared(
    program: str, examples: str, line: str, actual_mib: float, tmp_path: Path
) -> None:
    action = _encoded(extracted(program, tmp_path))
    assert action
    is_drawn = program == "dropped_views"
    changes = ". This changes the numbers slightly, because other random numbers are drawn" * is_drawn
    assert plain_text(action.what) == f"Encode {examples}{_WAY.format(line)}{changes}"
    assert action.cost is Cost.COMPUTE
    assert action.snippet
    # Else each device would encode all examples of a part.
    assert ("swapaxes" in action.snippet) == ("of each device" in examples)
    assert actual_mib / 1.25 <= action.saved_needed_bytes / MIB <= actual_mib * 1.1


@pytest.mark.parametrize(
    "program",
    [
        # Each layer looks at neighbors.
        "graph_layers",
        # The rows of an image are no examples: convolutions look at the rows beside them.
        "one_image",
        # The sums of the gradients of parts would take more than that saves: 741 MiB more.
        "wide_features",
        # Examples of these are independent to the end.
        "layered",
        "time_first",
    ],
)
def test_what_looks_like_encoders_is_not_encoded_in_parts(program: str, tmp_path: Path) -> None:
    assert _encoded(extracted(program, tmp_path)) is None
