"""Advice about what loops over steps and within layers save. The programs are those of `proving/frozen.py`, `programs/`
has their dumps, and what was measured is of the program as the advice changes it.
"""

from pathlib import Path

import pytest

from samples import analysis_of, extracted, module_of
from xla_lens.advice.advise import advise
from xla_lens.advice.codes import Rule
from xla_lens.blocks.blocks import plain_text

MIB = 1 << 20


def _actions(program: str, folder: Path) -> dict[Rule, tuple[str, float]]:
    """What each rule advises, and how many MiB that saves."""
    path = extracted(program, folder)
    advice = advise(analysis_of(path), module_of(path))
    assert advice
    return {action.rule: (plain_text(action.what), action.saved_needed_bytes / MIB) for action in advice.actions}


def test_a_loop_of_few_steps_is_taken_in_segments(tmp_path: Path) -> None:
    """Each segment begins with two fields, of which a step saves one."""
    what, saved_mib = _actions("rollout", tmp_path)[Rule.SEGMENTS]
    assert what == "Scan the 64 steps of the loop at frozen.py:115 in 8 segments, each in jax.checkpoint"
    assert saved_mib == pytest.approx(624, rel=0.15)


def test_a_loop_over_layers_is_not_taken_in_segments(tmp_path: Path) -> None:
    assert _actions("layers_in_loop", tmp_path).keys() == {Rule.REMATERIALIZE, Rule.MICROBATCHES}


def test_what_the_loop_of_a_layer_stacks_belongs_to_the_layer(tmp_path: Path) -> None:
    """For a GPU. The step of the loop is wrapped already."""
    _, saved_mib = _actions("decays", tmp_path)[Rule.REMATERIALIZE]
    assert saved_mib == pytest.approx(84, rel=0.15)


def test_a_sum_over_iterations_is_found_on_a_gpu(tmp_path: Path) -> None:
    """A GPU has the iterations last in the array that the loop stacks, as the same bytes. Of a program like this that
    takes a mean over 200 steps, 399 MiB were saved as estimated.
    """
    what, saved_mib = _actions("mean_over_time", tmp_path)[Rule.LOOP_OUTPUTS]
    assert what.startswith("Reduce or slice f32[200,1024,1024] in the body of the loop that stacks it")
    assert round(saved_mib) == 796
