"""Programs that look like what a rule is about and are not: its advice would break them or change what they learn.

The programs of `cpu-jaxlib0.10.2/trap_*` have the shapes that the rules look for: an array with a row and a column for
each example or position, a hidden layer as long as a vocabulary, an argument with many rows.
"""

from pathlib import Path

import pytest

from samples import DUMPS, SHARED_DUMPS, analysis_of, extracted, module_of, needs_shared_dumps
from xla_lens.advice.advise import advise
from xla_lens.advice.axes import Axes
from xla_lens.advice.facts import Facts
from xla_lens.blocks.blocks import plain_text
from xla_lens.model.attribution.frames import Origins


def _dump(program: str) -> Path:
    return next((DUMPS / "cpu-jaxlib0.10.2" / program).glob("*-buffer-assignment.txt"))


def _advice(path: Path, *, has_module: bool = True) -> dict[str, str]:
    """What each rule advises."""
    advice = advise(analysis_of(path), module_of(path) if has_module else None)
    return {action.rule.value: plain_text(action.what) for action in advice.actions} if advice else {}


_SPLIT = "Split the batch ({}) into 4 microbatches and add up their gradients"


@pytest.mark.parametrize(
    ("program", "advised"),
    [
        # One graph, whose edges exchange messages.
        (
            "trap_graph",
            {
                "messages": "Sum the messages of 2,048 edges (batch[1]) at a time, in jax.checkpoint in loss"
                " (called at traps.py:30)"
            },
        ),
        # A loss compares all examples with each other: in a product, or by differences.
        (
            "trap_contrastive",
            {"similarity": "Compare the examples in f32[512,512] in 8 chunks of rows in loss (called at traps.py:30)"},
        ),
        (
            "trap_distances",
            {
                "similarity": "Compare the examples in f32[1024,1024,8] in 8 chunks of rows in loss"
                " (called at traps.py:30)",
                "encoded-batch": "Encode 128 examples (batch[0]) at a time, in jax.checkpoint: all that is computed of "
                "each alone, before small.py:25 computes something from all of them",
            },
        ),
        # The result is a gradient of the batch itself.
        ("trap_gradient_of_batch", {}),
        # A scan takes the batch in parts already.
        ("trap_accumulating", {}),
        # Squares in a function named after attention, whose softmax is over a hidden layer.
        ("trap_square_mlp", {"microbatches": _SPLIT.format("batch[0]")}),
        # No token selects elements of the hidden layer.
        ("trap_wide_mlp", {"microbatches": _SPLIT.format("batch[0], batch[2] and batch[1]")}),
        (
            "trap_normalized",
            {
                "microbatches": _SPLIT.format("batch[0], batch[1] and batch[2]")
                + ". This changes the numbers slightly, because sums over the batch, such as those of normalization, "
                "are those of a part, which may be too small for them"
            },
        ),
    ],
)
def test_traps_get_no_harmful_advice(program: str, advised: dict[str, str]) -> None:
    assert _advice(_dump(program)) == advised


def test_without_a_module_nothing_tells_a_batch() -> None:
    assert _advice(_dump("trap_square_mlp"), has_module=False) == {}


def _axes(path: Path) -> tuple[Facts, Axes]:
    analysis = analysis_of(path)
    space = analysis.memory.space(0)
    assert space
    facts = Facts(Origins(analysis.dump, module_of(path)), space)
    assert facts.axes
    return facts, facts.axes


@needs_shared_dumps
@pytest.mark.parametrize("backend", ["tpu-v5e2x2-libtpu0.0.51", "cpu-jaxlib0.10.2", "gpu-h100-jaxlib0.10.2"])
def test_axes_of_a_transformer_are_followed_on_each_backend(backend: str) -> None:
    """Whether products are `dot`, calls of a library or convolutions with windows as long as the batch."""
    path = next((SHARED_DUMPS / backend / "transformer_train").glob("module_000[01]*-buffer-assignment.txt"))
    facts, axes = _axes(path)
    batch = facts.axis(4)
    assert batch
    assert not (axes.joined | axes.added) & batch
    # Scores of 4 examples and 4 heads for 32 by 32 positions.
    assert axes.scores & axes.exponentials & axes.weights == {4 * 4 * 32 * 32}
    # Of the arguments of optimizer steps, all have sums over the batch in them, and none has an axis of it.
    assert all(not result.axes & batch for result in axes.results)
    assert sum(bool((result.added | result.joined) & batch) for result in axes.results) > 60
    # The vocabulary, and no width of a layer, which is 64 or 256.
    assert 512 in axes.looked_up
    assert not axes.looked_up & {64, 256}


def test_an_axis_that_a_module_does_not_show_is_unknown(tmp_path: Path) -> None:
    path = _dump("trap_square_mlp")
    for file in path.parent.iterdir():
        # A product that names dimensions which its arrays lack.
        text = file.read_text().replace("lhs_contracting_dims={1}", "lhs_contracting_dims={7}")
        (tmp_path / file.name).write_text(text)
    assert _advice(tmp_path / path.name) == {}


@needs_shared_dumps
@pytest.mark.parametrize(
    ("folder", "names"),
    [
        # Products are calls of oneDNN.
        ("cpu-jaxlib0.4.30/transformer_train", "tokens"),
        # A reduce-scatter of parts that are no multiples is padded, and its ends are exchanged.
        ("tpu-v5p-big-libtpu0.0.51/llama3_8b_scan_L32", "batch"),
    ],
)
def test_the_batch_is_followed_through_what_xla_makes_of_products(folder: str, names: str) -> None:
    path = next((SHARED_DUMPS / folder).glob("module_0000*-buffer-assignment.txt"))
    assert _advice(path)["microbatches"] == _SPLIT.format(names)


@pytest.mark.parametrize("program", ["overlapping", "spread_out"])
def test_sums_of_a_loss_are_no_normalization(program: str, tmp_path: Path) -> None:
    """The net has batch normalization, and its loss is a quotient of sums over the batch, or the entropy of a mean over
    it: what comes of these sums reaches the examples in the backward pass alone.
    """
    assert "microbatches" not in _advice(extracted(program, tmp_path))


@pytest.mark.parametrize(
    ("program", "words"),
    [
        # The hour of each row, from its number.
        ("hours", ". Split the numbers of the examples, too, with which the program computes"),
        # What a loop makes of the rewards of all rows, through which no gradient goes.
        ("returns_of_rewards", ". Compute first, of the whole batch, what depends on several examples"),
    ],
)
def test_what_depends_on_the_places_of_examples_is_told(program: str, words: str, tmp_path: Path) -> None:
    assert words in _advice(extracted(program, tmp_path))["microbatches"]


def test_all_that_may_begin_as_donated_weights_is_told(tmp_path: Path) -> None:
    """Three trees are read in the forward pass. The frozen one is none of the layers of one model."""
    assert (
        "(teacher must not be params itself, mean must not be params itself"
        in _advice(extracted("consistent", tmp_path))["donate"]
    )
