"""Rules that compute a part of a loop or of a batch at a time, on small programs: those of `proving/programs.py`, and
some that look like them.

`programs/` has the dumps, compressed:

- `recurrent`, `state_space` and `mapped_spectrum` are of those kinds in `proving/programs.py`, small.
- `wavelets`: the gradient of a pyramid that halves 1,024 positions seven times.
- `updated_cache`: `jax.vmap` over 32 rows of a donated argument, which is returned with new contents.
- `layered`: a train step whose scan is over 12 layers.
- `both_ways`, `kernel_means`, `recalled`, `experts_one`, `preferred`, `time_first` and `private_images`, and the traps
  `kernel_regression`, `transported`, `independent`, `soft_experts` and `image_pairs`, are those of
  `proving/compared.py`, small.
- `trained_through` is a trap of `proving/forward.py`: the body of its loop is a lambda. `exposures` is from there, too.
- `mapped_kernel`: a train step for a TPU whose layers call a kernel of Pallas, mapped by `jax.vmap` over 64 examples.
"""

import re
from pathlib import Path

import pytest

from samples import analysis_of, extracted, module_of
from xla_lens.advice.actions import Cost
from xla_lens.advice.advise import advise
from xla_lens.advice.codes import Rule
from xla_lens.advice.facts import Facts
from xla_lens.api import load_module
from xla_lens.blocks.blocks import plain_text
from xla_lens.model.attribution.frames import Origins

_RULES = {Rule.SEGMENTS, Rule.ASSOCIATIVE_SCAN, Rule.MAPPED_BATCH, Rule.SIMILARITY, Rule.ONE_HOT}


@pytest.mark.parametrize(
    ("program", "rule", "cost", "what", "saved_kib"),
    [
        # Not `cell`, which the body of the loop calls and which computes most of what it stacks.
        ("recurrent", Rule.SEGMENTS, Cost.COMPUTE, "Scan the 256 steps of the loop at programs.py:304 in 16", 190),
        (
            "state_space",
            Rule.ASSOCIATIVE_SCAN,
            Cost.COMPUTE,
            "Compute the associative scan in 16 chunks in scanned",
            1713,
        ),
        # An eighth is left of f32[32,1024] and c64[32,513].
        ("mapped_spectrum", Rule.MAPPED_BATCH, Cost.TIME, "Map over 4 examples at a time instead of all in", 224),
        ("both_ways", Rule.SIMILARITY, Cost.COMPUTE, "Compare the examples in f32[512,512] in 8 chunks of", 2688),
        # Half of the rows are those of drawn numbers, which no argument has.
        (
            "kernel_means",
            Rule.SIMILARITY,
            Cost.COMPUTE,
            "Compare the examples in f32[512,512,32] in 8 chunks of",
            59136,
        ),
        # Without a backward pass, nothing is computed again.
        ("recalled", Rule.SIMILARITY, Cost.TIME, "Compare the examples in s32[1024,1024] in 8 chunks of", 10752),
        ("experts_one", Rule.ONE_HOT, Cost.CODE, "Scatter tokens to experts and gather the results instead of", 8640),
    ],
)
def test_a_part_at_a_time_is_advised(
    program: str, rule: Rule, cost: Cost, what: str, saved_kib: int, tmp_path: Path
) -> None:
    path = extracted(program, tmp_path)
    advice = advise(analysis_of(path), module_of(path))
    assert advice
    (action,) = (action for action in advice.actions if action.rule in _RULES)
    assert (action.rule, action.cost, action.saved_needed_bytes // 1024) == (rule, cost, saved_kib)
    assert plain_text(action.what).startswith(what)


@pytest.mark.parametrize(
    "program",
    [
        "wavelets",
        "updated_cache",
        "layered",
        "kernel_regression",
        "transported",
        "independent",
        "soft_experts",
        "preferred",
    ],
)
def test_programs_that_look_alike_get_no_such_advice(program: str, tmp_path: Path) -> None:
    path = extracted(program, tmp_path)
    advice = advise(analysis_of(path), module_of(path))
    assert advice
    assert not _RULES & {action.rule for action in advice.actions}


@pytest.mark.parametrize(
    ("program", "rule", "what"),
    [
        # Chosen and rejected answers go through the model together: twice as many tokens as each argument has.
        ("preferred", Rule.LOGITS, "Compute logits and loss in 8 chunks in of_sequences"),
        (
            "time_first",
            Rule.MICROBATCHES,
            "Split the batch (dimension 1 of ys and xs) into 4 microbatches and add up their gradients",
        ),
        # The gradient of a convolution of each example is one in groups.
        ("private_images", Rule.MICROBATCHES, "Split the batch (images and labels) into 4 microbatches"),
        # For a TPU, with filters that are zero but for those of the example.
        ("private_strides", Rule.MICROBATCHES, "Split the batch (labels and images) into 4 microbatches"),
        # Convolutions of each feature: a TPU divides the positions, and cuDNN computes the gradients in groups.
        ("convolved_states", Rule.MICROBATCHES, "Split the batch (batch[0]) into 4 microbatches"),
        ("convolved_states_gpu", Rule.MICROBATCHES, "Split the batch (batch[0]) into 4 microbatches"),
        # To wrap the function around a loop would not free what the loop saves.
        ("trained_through", Rule.REMATERIALIZE, "Wrap the step of the loop at forward.py:161 in jax.checkpoint"),
    ],
)
def test_what_to_change_is_found_where_it_is_not_obvious(program: str, rule: Rule, what: str, tmp_path: Path) -> None:
    path = extracted(program, tmp_path)
    advice = advise(analysis_of(path), module_of(path))
    assert advice
    (action,) = (action for action in advice.actions if action.rule is rule)
    assert plain_text(action.what).startswith(what)


def test_a_step_that_is_linear_in_what_it_carries_saves_it_in_a_checkpoint(tmp_path: Path) -> None:
    """Of 264 MiB, a checkpoint around the step saves 128."""
    path = extracted("diffused", tmp_path)
    advice = advise(analysis_of(path), module_of(path))
    assert advice
    saved = {action.rule: action.saved_needed_bytes >> 20 for action in advice.actions}
    assert saved[Rule.REMATERIALIZE] == 125
    assert saved[Rule.SEGMENTS] > saved[Rule.REMATERIALIZE]


def test_a_gradient_sums_over_no_dimension_of_a_frozen_model(tmp_path: Path) -> None:
    """Else its rows would be examples, if nothing else is known to be a batch."""
    path = extracted("preferred", tmp_path)
    analysis = analysis_of(path)
    space = analysis.memory.space(0)
    assert space
    facts = Facts(Origins(analysis.dump, module_of(path)), space)
    assert facts.axes
    # 4 pairs of answers, and layers of 128 and 512.
    assert [bool(facts.axes.trained_sums & facts.axis(length)) for length in (4, 128, 512)] == [True, False, False]
    assert facts.axis(128)
    assert facts.axis(512)


def test_the_rows_of_an_image_are_no_batch(tmp_path: Path) -> None:
    path = extracted("image_pairs", tmp_path)
    advice = advise(analysis_of(path), module_of(path))
    assert advice
    assert Rule.MICROBATCHES not in {action.rule for action in advice.actions}


def test_rows_are_not_compared_in_chunks_if_the_program_returns_the_similarity(tmp_path: Path) -> None:
    path = extracted("both_ways", tmp_path)
    module = next(path.parent.glob("*_optimizations.txt"))
    text = module.read_text()
    # The result that was the loss is the similarity now.
    similarity = re.search(r"  %(\S+) = f32\[512,512\]\S* fusion\(", text)
    assert similarity
    text = re.sub(
        r"(ROOT %tuple\S* = \(.*), f32\[\]\)( tuple\(.*), %\S+\)", rf"\1, f32[512,512])\2, %{similarity[1]})", text
    )
    module.write_text(text)
    advice = advise(analysis_of(path), load_module(path))
    assert advice
    assert not _RULES & {action.rule for action in advice.actions}


@pytest.mark.parametrize(("joining", "saved_mib"), [(b" add(", [641]), (b" maximum(", [])])
def test_iterations_whose_results_a_fusion_adds_up_are_independent(
    joining: bytes, saved_mib: list[int], tmp_path: Path
) -> None:
    """The fusion that adds up what a net predicts for six images divides the sum, and is named after that."""
    path = extracted("exposures", tmp_path)
    module = next(tmp_path.glob("*after_optimizations.txt"))
    functions, entry, main = module.read_bytes().partition(b"\nENTRY ")
    module.write_bytes(functions.replace(b" add(", joining) + entry + main)
    advice = advise(analysis_of(path), load_module(path))
    assert advice
    loops = [action for action in advice.actions if action.rule is Rule.UNROLLED_LOOP]
    assert [action.saved_needed_bytes >> 20 for action in loops] == saved_mib


@pytest.mark.parametrize(("mapped", "saved_mib"), [(b"vmap(", [758]), (b"other(", [])])
def test_examples_stay_apart_in_kernels_that_vmap_maps(mapped: bytes, saved_mib: list[int], tmp_path: Path) -> None:
    """The changed program needs 895 MiB less. Without `vmap`, the kernel may compare the examples with each other."""
    path = extracted("mapped_kernel", tmp_path)
    module = next(tmp_path.glob("*after_optimizations.txt"))
    module.write_bytes(module.read_bytes().replace(b"vmap(", mapped))
    advice = advise(analysis_of(path), load_module(path))
    assert advice
    parts = [action for action in advice.actions if action.rule is Rule.MICROBATCHES]
    assert [action.saved_needed_bytes >> 20 for action in parts] == saved_mib
