"""Which arguments the advice donates: those that outputs are computed from, never those that merely have their shape.

The programs of `cpu-jaxlib0.10.2/donate_*` are traps: donated by its shape, an argument would be deleted that the
program still uses.
"""

import shutil
from pathlib import Path

import pytest
from msgspec import structs

from samples import DUMPS, analysis_of, module_of
from xla_lens.advice.actions import Action
from xla_lens.advice.advise import advise
from xla_lens.advice.codes import Rule
from xla_lens.advice.rules import donate
from xla_lens.advice.subject import Subject
from xla_lens.api import find_donation
from xla_lens.blocks.blocks import plain_text

_REFERENCE = "  # if ref_params begins as params, let it be jax.tree.map(jnp.copy, params)"


def _dump(program: str) -> Path:
    return next((DUMPS / "cpu-jaxlib0.10.2" / program).glob("*-buffer-assignment.txt"))


def _donation(path: Path, *, has_module: bool = True) -> Action | None:
    advice = advise(analysis_of(path), module_of(path) if has_module else None)
    assert advice
    return next((action for action in advice.actions if action.rule is Rule.DONATE), None)


@pytest.mark.parametrize(
    ("program", "names"),
    [
        # A frozen reference model is used again in the next step.
        ("donate_preference", "'params', 'momentum'"),
        # The loss has the distance from it, so that the new weights are computed from both element by element.
        ("donate_near_reference", "'params',"),
        ("donate_lora", "'adapters',"),
        # The averaged weights make the target, too.
        ("donate_averaged", "'params', 'ema'"),
        ("donate_target_only", "'target',"),
        # The decay of the weights is in their gradients, which are no weights.
        ("donate_gradients", None),
        # Both donated, XLA copies both.
        ("donate_swap", None),
    ],
)
def test_only_what_outputs_are_updates_of_is_donated(program: str, names: str | None) -> None:
    path = _dump(program)
    function = program.removeprefix("donate_")
    wanted = f"{function} = jax.jit({function}, donate_argnames=({names}))" if names else None
    # Without a backward pass or the state of an optimizer, the caller may need what is updated.
    if needed := {"donate_target_only": "target", "donate_lora": "adapters"}.get(program):
        wanted = f"{wanted}  # if nothing uses {needed} after the call"
    if program == "donate_averaged":
        wanted = f"{wanted}  # if ema begins as params, let it be jax.tree.map(jnp.copy, params)"
    if program == "donate_preference":
        wanted = f"{wanted}{_REFERENCE}"
    if program == "donate_near_reference":
        wanted = f"{wanted}  # if nothing uses params after the call; {_REFERENCE.removeprefix('  # ')}"
    action = _donation(path)
    assert (action.snippet if action else None) == wanted


@pytest.mark.parametrize(("program", "is_average"), [("donate_averaged", True), ("donate_preference", False)])
def test_an_average_of_the_weights_has_to_begin_as_a_copy(program: str, is_average: bool) -> None:
    """Donated as the weights themselves, it would make the first call fail. Moments begin as zeros."""
    action = _donation(_dump(program))
    assert action
    assert ("(ema must not be params itself)" in plain_text(action.what)) == is_average
    assert (
        "# if ema begins as params, let it be jax.tree.map(jnp.copy, params)" in (action.snippet or "")
    ) == is_average


@pytest.mark.parametrize(
    ("program", "names"),
    [
        ("donate_preference", "'params', 'momentum'"),
        ("donate_averaged", "'params', 'ema'"),
        # Nothing shows what fusions compute, so either argument may be the one that is updated.
        ("donate_near_reference", None),
        ("donate_target_only", None),
        ("donate_gradients", None),
    ],
)
def test_without_a_module_only_what_the_last_fusion_surely_updates_is_donated(program: str, names: str | None) -> None:
    action = _donation(_dump(program), has_module=False)
    wanted = f"step = jax.jit(step, donate_argnames=({names}))" if names else None
    if program == "donate_preference":
        wanted = f"{wanted}{_REFERENCE}"
    if program == "donate_averaged":
        wanted = f"{wanted}  # if nothing uses them after the call"
    assert (action.snippet if action else None) == wanted


@pytest.mark.parametrize(
    ("file", "jit"),
    [
        # With `jax.jit`, a program of NNX would not be trained any more, without any error.
        ("/flax/nnx/transforms/compilation.py", "nnx.jit"),
        ("/keras/src/backend/jax/trainer.py", None),
        ("/train.py", "jax.jit"),
    ],
)
def test_the_code_is_that_of_the_framework(tmp_path: Path, file: str, jit: str | None) -> None:
    path = _dump("donate_preference")
    shutil.copytree(path.parent, tmp_path, dirs_exist_ok=True)
    module = next(tmp_path.glob("*_optimizations.txt"))
    text = module.read_text().replace("/home/user/programs/donations.py", f"/lib/site-packages{file}")
    module.write_text(text)
    action = _donation(tmp_path / path.name)
    assert action
    copied = "nnx.clone(params)" if jit == "nnx.jit" else "jax.tree.map(jnp.copy, params)"
    code = f"preference = {jit}(preference, donate_argnames=('params', 'momentum'))"
    assert action.snippet == (jit and f"{code}  # if ref_params begins as params, let it be {copied}")


def test_without_a_module_nnx_is_known_by_the_names_of_arguments(tmp_path: Path) -> None:
    path = _dump("donate_preference")
    for file in path.parent.iterdir():
        text = file.read_text().replace('op_name="params', 'op_name="model.states[0]')
        (tmp_path / file.name).write_text(text)
    action = _donation(tmp_path / path.name, has_module=False)
    assert action
    code = "step = nnx.jit(step, donate_argnames=('model', 'momentum'))"
    assert action.snippet == f"{code}  # if ref_params begins as model.states[0], let it be nnx.clone(model)"


def test_equinox_keeps_the_first_argument(tmp_path: Path) -> None:
    path = _dump("donate_preference")
    for file in path.parent.iterdir():
        text = (
            file.read_text()
            .replace('op_name="params', 'op_name="dynamic_nodonate[0]')
            .replace('op_name="momentum', 'op_name="dynamic_nodonate[1]')
        )
        (tmp_path / file.name).write_text(text.replace("/home/user/programs/donations.py", "/equinox/_jit.py"))
    action = _donation(tmp_path / path.name)
    assert action
    assert action.snippet
    assert action.snippet.startswith('preference = equinox.filter_jit(preference, donate="all-except-first")')
    assert "".join(map(str, action.what)) == "Donate the arguments that are updated"


def test_an_argument_with_a_part_that_stays_is_not_donated_as_a_whole(tmp_path: Path) -> None:
    """The frozen weights may be in the same argument as those that are trained."""
    path = _dump("donate_preference")
    for file in path.parent.iterdir():
        text = file.read_text().replace('op_name="ref_params[', "op_name=\"params[\\'frozen\\'][")
        (tmp_path / file.name).write_text(text)
    action = _donation(tmp_path / path.name)
    assert action
    apart = "  # and params['w1'] and params['w2'] as arguments of their own"
    assert action.snippet == f"preference = jax.jit(preference, donate_argnames=('momentum',)){apart}"
    title = plain_text(action.what)
    assert "Donate" in title
    assert "params['w1']" in title


def test_an_argument_is_donated_as_a_whole_if_the_program_returns_the_rest_of_it_anew() -> None:
    """The counters of an optimizer may fit no output, as on a CPU where these are computed elsewhere."""
    path = _dump("donate_averaged")
    action, dump = _donation(path), analysis_of(path).dump
    assert action
    first, *rest = (value for group in action.groups for value in group.values)
    groups = (structs.replace(action.groups[0], values=(first,)),)
    subject = Subject(dump, groups, None, "jax.checkpoint", "jax.jit", "averaged", None, None, is_training=True)
    assert donate.ROW.snippet(subject) is None
    subject = structs.replace(subject, updated=frozenset(map(dump.values.allocation.item, rest)))
    assert donate.ROW.snippet(subject) == (
        "averaged = jax.jit(averaged, donate_argnames=('params',))  # if nothing uses params after the call"
    )


@pytest.mark.parametrize("program", ["donate_preference", "donate_near_reference", "donate_gradients", "donate_swap"])
def test_the_donation_of_reports_is_that_of_the_advice(program: str) -> None:
    path, action = _dump(program), _donation(_dump(program))
    missed = find_donation(analysis_of(path).dump, module_of(path)).missed
    advised = {value for group in action.groups for value in group.values} if action else set()
    assert {row.parameter for row in missed} >= advised
    names = {analysis_of(path).dump.value_label(row.parameter) for row in missed}
    assert not [name for name in names if "ref" in name]
