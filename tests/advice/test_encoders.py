"""What is encoded of each example before examples are compared, on programs of `proving/encoded.py` in `programs/`."""

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


@pytest.mark.parametrize(
    ("program", "what", "actual_mib"),
    [
        # On a CPU; features of two domains, whose covariances are compared.
        (
            "domains",
            "Encode 2,048 examples (batch[2], batch[0] and batch[1]) at a time, in jax.checkpoint, before "
            "encoded.py:56 computes something from all of them",
            1118.0,
        ),
        # For a TPU; what a loop has encoded is compared in VMEM.
        (
            "recordings",
            "Encode 64 examples (batch[0]) at a time, in jax.checkpoint, before encoded.py:130 computes something from "
            "all of them",
            640.0,
        ),
        # Edges, whose messages are added up at nodes.
        (
            "messages",
            "Encode 16,384 examples (batch[1], batch[2] and batch[3]) at a time, in jax.checkpoint, before "
            "encoded.py:158 computes something from all of them",
            842.7,
        ),
        # Each of eight devices has 8,192 examples.
        (
            "shared_domains",
            "Encode 1,024 examples of each device (data[1] and data[0]) at a time, in jax.checkpoint, before "
            "/home/user/programs/e5.py:40 computes something from all of them",
            543.5,
        ),
        # Dropout draws numbers for each example.
        (
            "dropped_views",
            "Encode 1,024 examples (batch[0]) at a time, in jax.checkpoint, before encoded.py:183 computes something "
            "from all of them. This changes the numbers slightly, because other random numbers are drawn",
            375.5,
        ),
    ],
)
def test_examples_are_encoded_in_parts_before_they_are_compared(
    program: str, what: str, actual_mib: float, tmp_path: Path
) -> None:
    action = _encoded(extracted(program, tmp_path))
    assert action
    assert plain_text(action.what) == what
    assert action.cost is Cost.COMPUTE
    assert action.snippet
    # Else each device would encode all examples of a part.
    is_of_device = "swapaxes" in action.snippet
    assert is_of_device == ("of each device" in what)
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
