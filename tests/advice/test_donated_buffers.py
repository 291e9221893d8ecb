"""What donating arguments saves on a CPU: which output JAX writes over which argument, which copies XLA makes, and
where these find a place.

Each dump is of a small step of `dumps/donated_NAME_cpu`, compiled with jaxlib 0.12.0.1 without donation. The number
beside it is what the same step needs with `donate_argnames` as advised, compiled again:

- `descent`: gradient descent. The gradients of the layers below read weights that are updated already.
- `average_first`: the average of the weights is returned before the weights, so JAX writes it over the weights.
- `every_second`: gradients are added up, and weights, momentum and sum are selected by a condition.
- `scaled`: a step of Adam that is left out if a gradient overflows. Fusions of several outputs read each moment.
- `master_weights`: the weights in bfloat16 are cast from those in float32, which the state has.
- `beam_caches`: caches are read in the order of the beams that survive.
- `shifted_queue`: a queue is shifted, which cannot be done in place.
"""

from pathlib import Path

import pytest

from xla_lens.advice.actions import Action, Advice
from xla_lens.advice.advise import advise
from xla_lens.advice.codes import Rule
from xla_lens.api import load, load_module

_DUMPS = Path(__file__).parent / "dumps"


def _advice(name: str) -> Advice:
    (path,) = (_DUMPS / f"donated_{name}_cpu").glob("*-buffer-assignment.txt")
    advice = advise(load(path), load_module(path))
    assert advice
    return advice


def _donation(advice: Advice) -> Action | None:
    return next((action for action in advice.actions if action.rule is Rule.DONATE), None)


@pytest.mark.parametrize(
    ("name", "arguments", "needed_after"),
    [
        ("descent", "'params',", 753_688),
        ("every_second", "'params', 'momentum', 'total'", 549_020),
        ("scaled", "'params', 'square', 'mean'", 762_070),
        ("master_weights", "'state', 'params'", 438_344),
    ],
)
def test_the_program_then_needs_what_is_predicted(name: str, arguments: str, needed_after: int) -> None:
    action = _donation(_advice(name))
    assert action
    assert action.snippet
    assert f"donate_argnames=({arguments})" in action.snippet
    # Single numbers share bytes in other ways.
    assert abs(action.needed_bytes - needed_after) < 100


@pytest.mark.parametrize(
    ("name", "arguments", "needed_after"),
    [
        ("average_first", "'params', 'ema'", 417_840),
        # XLA copies each cache after its elements are moved, which also frees the bytes of a temporary.
        ("beam_caches", "'keys', 'values'", 1_583_172),
    ],
)
def test_no_more_is_said_to_be_saved_than_is(name: str, arguments: str, needed_after: int) -> None:
    advice = _advice(name)
    action = _donation(advice)
    assert action
    assert action.snippet
    assert f"donate_argnames=({arguments})" in action.snippet
    saved_bytes = advice.needed_bytes - needed_after
    assert saved_bytes * 0.45 < action.saved_needed_bytes <= saved_bytes


def test_what_xla_copies_as_a_whole_is_not_donated() -> None:
    advice = _advice("shifted_queue")
    # With the queue donated, the program needs 1,064,984 bytes, too.
    assert advice.needed_bytes == 1_064_984
    assert _donation(advice) is None
