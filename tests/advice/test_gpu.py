"""Advice for GPUs, whose compiler fuses more and runs more asynchronously than the others. The programs are those of
`proving/`, compiled without a GPU; `programs/` has their dumps.
"""

from pathlib import Path

import pytest

from samples import analysis_of, extracted, module_of
from xla_lens.advice.advise import advise
from xla_lens.advice.codes import Rule
from xla_lens.blocks.blocks import plain_text
from xla_lens.model.attribution.frames import Origins
from xla_lens.model.hlo.stack_frames import StackFrame

MIB = 1 << 20


@pytest.mark.parametrize(
    ("program", "rule", "actual_mib"),
    [
        # The loop stores a slice in a fusion that runs asynchronously, into an array with another order of dimensions.
        ("spread", Rule.LOOP_OUTPUTS, 127.9),
        # What takes the levels apart and puts them together is in fusions.
        ("scanned_states", Rule.ASSOCIATIVE_SCAN, 110.1),
        # One fusion computes the results of all iterations.
        ("kernels", Rule.UNROLLED_LOOP, 383.9),
        # A loop over layers stacks the levels of each, and numbers their dimensions by their order in memory.
        ("states_in_layers", Rule.ASSOCIATIVE_SCAN, 740.6),
        # Each step differentiates the energy of all pairs.
        ("verlet", Rule.SIMILARITY, 55.9),
        # cuDNN computes the gradients of convolutions.
        ("conv_donated", Rule.MICROBATCHES, 293.0),
    ],
)
def test_programs_for_gpus_get_the_advice_of_others(
    program: str, rule: Rule, actual_mib: float, tmp_path: Path
) -> None:
    path = extracted(f"{program}_on_gpu", tmp_path)
    advice = advise(analysis_of(path), module_of(path))
    assert advice
    action = next((action for action in advice.actions if action.rule is rule), None)
    assert action
    assert actual_mib / 1.25 <= action.saved_needed_bytes / MIB <= actual_mib * 1.05


def test_products_of_two_batches_in_one_and_in_parts_do_not_mix_examples(tmp_path: Path) -> None:
    """Measured: 3,024 MiB. XLA puts the points inside and those of the border end to end, and divides sums with a
    padding.
    """
    path = extracted("residual_points_on_gpu", tmp_path)
    advice = advise(analysis_of(path), module_of(path))
    assert advice
    (action,) = advice.actions
    assert plain_text(action.what).startswith("Split the batch (batch[1], batch[0] and batch[2]) into 4 microbatches")
    assert action.saved_needed_bytes >> 20 == 3185


def test_what_a_loop_stores_asynchronously_has_the_line_of_what_computes_it(tmp_path: Path) -> None:
    path = extracted("spread_on_gpu", tmp_path)
    analysis = analysis_of(path)
    dump, origins = analysis.dump, Origins(analysis.dump, module_of(path))
    stack = dump.value_at(dump.name_number(b"while.6"), dump.index_number(b"{2}"))
    # The function that is scanned, not the call of `jax.lax.scan`.
    assert origins.of_value(stack).line == StackFrame("forward.py", 634, None, "spread.<locals>.f.<locals>.body")
