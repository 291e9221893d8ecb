"""Programs in other styles than those of the other tests: `programs/` has the dumps, small and compressed.

- `nearest` and `paths` are of `proving/forward.py`, and `selective` of `proving/compared.py`.
- `checkpointed`, `wrapped`, `adversarial`, `strided`, `translation`, `sharpness` and `private` are of
  `proving/traps.py`.
- `states`: the step of a module of Flax NNX with dropout, which also has counts and keys of random numbers.
- `transformed`: a scan over layers in a function that Haiku transforms.
"""

import gzip
from pathlib import Path

import pytest

from samples import analysis_of, module_of
from xla_lens.advice.actions import Advice
from xla_lens.advice.advise import advise
from xla_lens.blocks.blocks import plain_text

_PROGRAMS = Path(__file__).parent / "programs"


def _advice(program: str, folder: Path) -> Advice:
    for path in (_PROGRAMS / program).glob("*.gz"):
        (folder / path.stem).write_bytes(gzip.decompress(path.read_bytes()))
    path = next(folder.glob("*-buffer-assignment.txt"))
    advice = advise(analysis_of(path), module_of(path))
    assert advice
    return advice


def _text(advice: Advice, rule: str) -> str:
    """What a rule advises, with its code; empty if it advises nothing."""
    actions = [action for action in advice.actions if action.rule == rule]
    return " ".join(f"{plain_text(action.what)} {action.snippet}" for action in actions)


@pytest.mark.parametrize(
    ("program", "rule", "text"),
    [
        # No `vmap`: the module shows that each result is computed from one row.
        ("nearest", "mapped-batch", "Map over 8 examples at a time instead of all in near"),
        # The function is named though the loop around it stacks what it computes.
        ("selective", "rematerialize", "Wrap step"),
        # `jax.checkpoint` does not know the parameters of Haiku, also where its functions are in no module.
        ("transformed", "rematerialize", "layer = haiku.remat(layer)"),
        # What the loop makes of noise is no new version of it.
        ("paths", "loop-outputs", "Reduce or slice f32[16,512]"),
        # The second model is differentiated with the first one as updated.
        ("adversarial", "microbatches", "gradients, one model after the other. This changes the numbers slightly"),
        ("adversarial", "microbatches", "because other random numbers are drawn"),
        # An average that keeps one half of an argument is its update.
        ("adversarial", "donate", "donate_argnames=('maker', 'judge', 'judge_state', 'maker_state')"),
        # `nnx.jit` returns all states of a module, also those that it does not change.
        ("states", "donate", "states = nnx.jit(states, donate_argnames=('model',))"),
        ("strided", "microbatches", "because normalization over the batch sees a part of it"),
        ("translation", "microbatches", "because each part is divided by sums over it, such as its number of targets"),
        # Two tables and what computes the logits, each with two moments.
        ("translation", "logits", "Compute logits and loss in 8 chunks"),
    ],
)
def test_advice(program: str, rule: str, text: str, tmp_path: Path) -> None:
    assert text in _text(_advice(program, tmp_path), rule)


@pytest.mark.parametrize(
    ("program", "rule"),
    [
        ("checkpointed", "rematerialize"),
        ("wrapped", "rematerialize"),
        ("sharpness", "microbatches"),
        ("paths", "loop-state"),
    ],
)
def test_what_is_not_advised(program: str, rule: str, tmp_path: Path) -> None:
    advice = _advice(program, tmp_path)
    assert advice.actions or program == "sharpness"
    assert not _text(advice, rule)


def test_noise_on_the_gradients_does_not_depend_on_the_batch(tmp_path: Path) -> None:
    text = _text(_advice("private", tmp_path), "microbatches")
    assert "Split the batch (x and y)" in text
    assert "random" not in text


def test_a_wrapped_step_still_saves_what_the_loop_carries(tmp_path: Path) -> None:
    """Of three stacks of 256 KiB on one line, one has the state at the start of each step."""
    (action,) = (action for action in _advice("selective", tmp_path).actions if action.rule == "rematerialize")
    assert action.saved_needed_bytes // 1024 == 608
