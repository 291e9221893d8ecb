"""Advice to divide weights and optimizer state of which each device has all. `programs/` has dumps of the programs."""

from pathlib import Path

import pytest

from samples import analysis_of, extracted, module_of
from xla_lens.advice.actions import Action, Cost
from xla_lens.advice.advise import advise
from xla_lens.advice.codes import Rule
from xla_lens.blocks.blocks import plain_text

MIB = 1 << 20


def _action(program: str, folder: Path) -> Action | None:
    path = extracted(program, folder)
    advice = advise(analysis_of(path), module_of(path))
    assert advice
    return next((action for action in advice.actions if action.rule is Rule.REPLICATED_STATE), None)


@pytest.mark.parametrize(
    ("program", "names", "actual_mib"),
    [
        # A scan over layers stacks their gradients.
        ("replicated_scanned", "state and params", 2523.0),
        # Nothing is donated: the outputs are divided, too, and what was in their buffers finds other places.
        ("replicated_kept", "state and params", 596.0),
        # For a TPU.
        ("replicated_few", "params and state", 702.0),
        # For a GPU; two models are trained in turn.
        ("replicated_gan", "G, D, sd and 1 more", 260.0),
    ],
)
def test_state_that_all_devices_have_is_divided(program: str, names: str, actual_mib: float, tmp_path: Path) -> None:
    action = _action(program, tmp_path)
    assert action
    words = f"Divide {names} among the 8 devices, each of which has all of them (FSDP)"
    assert plain_text(action.what) == words
    assert action.cost is Cost.COMMUNICATION
    assert action.factor == 8
    assert action.snippet
    assert "jax.tree.map(divided, " in action.snippet
    assert actual_mib / 1.35 <= action.saved_needed_bytes / MIB <= actual_mib * 1.25


@pytest.mark.parametrize(
    "program",
    [
        # Four groups of two devices divide the layers: with weights divided by four more, it needed 49 MiB more.
        "tensor_parallel",
        "divided_weights",
        # XLA gathers examples instead of the weights of experts, and saved an eighth of what that would.
        "replicated_experts",
        # The program says itself what is gathered.
        "shard_mapped",
    ],
)
def test_state_that_is_divided_is_left_alone(program: str, tmp_path: Path) -> None:
    assert _action(program, tmp_path) is None


def test_moments_that_are_divided_already_are_not_divided_again(tmp_path: Path) -> None:
    action = _action("divided_moments", tmp_path)
    assert action
    assert plain_text(action.what) == "Divide params among the 8 devices, each of which has all of it (FSDP)"
