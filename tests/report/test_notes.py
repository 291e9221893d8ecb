"""What the names mean that frameworks give to arguments, and names that several buffers share."""

from types import SimpleNamespace
from typing import Any

import pytest

from xla_lens.advice.op_names import common_name
from xla_lens.report.notes import argument_notes


def origins(text: str) -> Any:
    """The origins of a module that is some text, of which only that is read."""
    return SimpleNamespace(module=SimpleNamespace(data=text.encode()))


@pytest.mark.parametrize(
    ("text", "module", "argument", "words"),
    [
        ("/site-packages/flax/nnx/graphlib.py", "jit_step", "opt.states", "`nnx.to_flat_state(nnx.state(opt))`"),
        ("/site-packages/keras/src/backend/jax/trainer.py", "jit_train_step", "state[2]", "`state[2]` (of the opt"),
        ("/site-packages/equinox/_jit.py", "jit_step", "dynamic_nodonate", "that it does not donate"),
        ("", "jit_step", "flat_args[0]", "`jax.tree.leaves`"),
        ("", "jit_scan", "args[*]", "a `scan` outside of `jax.jit` takes"),
    ],
)
def test_a_name_of_a_framework_is_explained(text: str, module: str, argument: str, words: str) -> None:
    (note,) = argument_notes(origins(text), module, ["batch", argument])
    assert words in note


@pytest.mark.parametrize("argument", ["opt.states", "state[2]", "dynamic_nodonate", "args[0]", "state.params", ""])
def test_a_name_of_the_user_is_not(argument: str) -> None:
    assert not [*argument_notes(origins("/home/user/train.py"), "jit_step", [argument])]


@pytest.mark.parametrize(
    ("names", "common"),
    [
        (["opt_state[0].nu['w']"], "opt_state[0].nu['w']"),
        (["opt_state[0].nu['w1']", "opt_state[0].nu['w2']"], "opt_state[0].nu['w*']"),
        (["state[1]['block_00']['Dense_0']", "state[1]['block_11']['Dense_0']"], "state[1]['block_*']['Dense_0']"),
        (["jit(f)/layer_1/add", "jit(f)/layer_2/mul"], "jit(f)/layer_*/add"),
        ([None], None),
        (["a_1/b", None], "a_1/b"),
    ],
)
def test_buffers_share_a_name_up_to_the_numbers_that_differ(names: list[str | None], common: str | None) -> None:
    assert common_name(names) == common
