"""Which argument is the first moment of an optimizer."""

import pytest

from xla_lens.advice.rules.optimizer_state import first_moment_of


@pytest.mark.parametrize(
    ("path", "tree"),
    [
        ("opt_state[0].mu['layer']['kernel']", "opt_state[0].mu"),
        ("opt_state[1][0].trace['kernel']", "opt_state[1][0].trace"),
        ("state['m']['w']", "state['m']"),
        ("momentum['w1']", "momentum"),
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
