"""Which argument is the first moment of an optimizer."""

import gzip
from pathlib import Path

import pytest

from samples import analysis_of, module_of
from xla_lens.advice.actions import Action
from xla_lens.advice.advise import advise
from xla_lens.advice.codes import Rule
from xla_lens.advice.rules.optimizer_state import first_moment_of
from xla_lens.blocks.blocks import plain_text


@pytest.mark.parametrize(
    ("path", "tree"),
    [
        ("opt_state[0].mu['layer']['kernel']", "opt_state[0].mu"),
        ("opt_state[1][0].trace['kernel']", "opt_state[1][0].trace"),
        ("state['m']['w']", "state['m']"),
        ("momentum['w1']", "momentum"),
        ("momentum['mu']", "momentum"),
        ("optimizer.exp_avg[3]", "optimizer.exp_avg"),
        # The second moment, a sum of squares, an average of the weights, and names that begin alike.
        ("opt_state[0].nu['kernel']", ""),
        ("opt_state[0].sum_of_squares['kernel']", ""),
        ("opt_state[0].v_row['kernel']", ""),
        ("ema['kernel']", ""),
        ("params['mu_proj']['kernel']", ""),
        ("model.mlp.kernel", ""),
        ("m['kernel']", ""),
    ],
)
def test_first_moments_are_known_by_their_names(path: str, tree: str) -> None:
    assert first_moment_of(path) == tree


def _advised(program: str, folder: Path, *, name: bytes = b"", other: bytes = b"") -> Action:
    """What is advised for a program, with another name in place of one."""
    for path in (Path(__file__).parent / "programs" / program).glob("*.gz"):
        (folder / path.stem).write_bytes(gzip.decompress(path.read_bytes()).replace(name, other))
    path = next(folder.glob("*-buffer-assignment.txt"))
    advice = advise(analysis_of(path), module_of(path))
    assert advice
    return next(action for action in advice.actions if action.rule is Rule.OPTIMIZER_STATE)


def test_moments_that_xla_copies_before_the_backward_pass_are_known(tmp_path: Path) -> None:
    """XLA for CPUs copies donated arguments at the start. `programs/lion` is a step of `optax.lion`, which needs 24.5
    MiB less with `mu_dtype=jnp.bfloat16`.
    """
    action = _advised("lion", tmp_path)
    assert plain_text(action.what) == "Keep opt_state[0].mu, the first moment of the optimizer, in bfloat16"
    assert action.snippet
    assert action.snippet.startswith("optimizer = optax.lion(learning_rate, mu_dtype=jnp.bfloat16)")
    assert 24.5 / 1.5 <= action.saved_needed_bytes / (1 << 20) <= 24.5 * 1.5


def test_old_and_new_moments_of_a_state_that_is_not_donated_get_smaller(tmp_path: Path) -> None:
    """`programs/slow_weights` needs 0.75 MiB less with `mu_dtype=jnp.bfloat16`."""
    action = _advised("slow_weights", tmp_path)
    assert plain_text(action.what) == "Keep state.fast_state[0].mu, the first moment of the optimizer, in bfloat16"
    assert 0.75 / 1.5 <= action.saved_needed_bytes / (1 << 20) <= 0.75 * 1.5


def test_what_was_in_the_buffers_of_new_moments_finds_another_place(tmp_path: Path) -> None:
    """On a CPU, the buffers of outputs hold activations before. `programs/undonated_moments` needs 1 MiB less with its
    moments in bfloat16: half of each of four, old and new. The activations move to the buffers of other outputs.
    """
    action = _advised("undonated_moments", tmp_path)
    assert plain_text(action.what) == "Keep momentum, the first moment of the optimizer, in bfloat16"
    assert action.saved_needed_bytes == 1 << 20


def test_a_weight_with_the_name_of_a_first_moment_is_none(tmp_path: Path) -> None:
    """The encoder of a variational model computes `mu`, so its weights and their second moments have that name, too."""
    action = _advised("undonated_moments", tmp_path, name=b"[\\'w1\\']", other=b"[\\'mu\\']")
    assert plain_text(action.what) == "Keep momentum, the first moment of the optimizer, in bfloat16"
    assert action.saved_needed_bytes == 1 << 20


@pytest.mark.parametrize(
    ("program", "name", "snippet"),
    [
        # `optax.radam` cannot be told the type, and another optimizer would train another way.
        ("rectified_adam", "o[0].mu", None),
        # `optax.rmsprop` cannot either, but the part that keeps the moment can.
        (
            "root_mean_squares",
            "o[2].trace",
            "optax.trace(momentum, accumulator_dtype=jnp.bfloat16)  # in optax.chain",
        ),
    ],
)
def test_the_code_keeps_the_optimizer(program: str, name: str, snippet: str | None, tmp_path: Path) -> None:
    """On a TPU, only the new moments are live at the peak, in the buffers of the arguments."""
    action = _advised(program, tmp_path)
    assert plain_text(action.what) == f"Keep {name}, the first moment of the optimizer, in bfloat16"
    assert (action.snippet or "").startswith(snippet or "")
    assert (action.snippet is None) == (snippet is None)
