"""Advice: the actions that each rule finds on real dumps, and the peaks after them."""

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from byte_by_byte import peak_after
from samples import DUMPS, SHARED_DUMPS, analysis_of, module_of, needs_shared_dumps, never, on_all_dumps, on_each_dump
from xla_lens.advice.actions import Action, Advice, Certainty
from xla_lens.advice.advise import RULES, SUGGESTIONS, advise
from xla_lens.advice.codes import Rule
from xla_lens.advice.facts import Effect, Facts
from xla_lens.advice.functions import Functions
from xla_lens.advice.rules import cpu_scheduler, microbatches, rematerialize
from xla_lens.advice.subject import Batch, Call, Subject
from xla_lens.blocks.blocks import plain_text
from xla_lens.disk.loading import load_files
from xla_lens.disk.sets import find_set
from xla_lens.model.analysis import Analysis, analyse
from xla_lens.model.attribution.frames import Origin, Origins
from xla_lens.model.hlo.stack_frames import StackFrame
from xla_lens.model.memory.donation import outputs_of
from xla_lens.model.memory.edits import combined
from xla_lens.syntax.columns import NONE
from xla_lens.syntax.file_names import FileKind

GIB = 1 << 30
OOM = "tpu-v5e-oom-*/*/module_0000*-buffer-assignment.txt"


def _shared(pattern: str) -> Path:
    return next(SHARED_DUMPS.glob(pattern))


def _advice(pattern: str, budget_bytes: int | None = None) -> Advice:
    path = _shared(pattern)
    advice = advise(analysis_of(path), module_of(path), budget_bytes=budget_bytes)
    assert advice
    return advice


def _rules(advice: Advice) -> set[Rule]:
    return {action.rule for action in advice.actions}


def _first(advice: Advice, rule: Rule) -> Action:
    return next(action for action in advice.actions if action.rule is rule)


def test_each_rule_has_a_row() -> None:
    assert {row.rule for row in (*RULES, *SUGGESTIONS)} == {*Rule}


# ---------------------------------------------------------------- peaks


def _check_peaks(analysis: Analysis, advice: Advice | None) -> int:
    sizes = analysis.dump.values.size_bytes
    for action in advice.actions if advice else ():
        assert advice
        others = [advice.actions[row].edit for row in action.others]
        now, _ = peak_after(analysis.dump, 0, combined(others, sizes))
        after = peak_after(analysis.dump, 0, combined([*others, action.edit], sizes))
        assert (action.peak_bytes, action.peak_step) == after
        assert 0 <= action.saved_bytes == now - action.peak_bytes
        assert action.saved_needed_bytes > 0
        assert others or action.saved_needed_bytes == advice.needed_bytes - action.needed_bytes
        assert all(group.size_bytes > 0 and group.count >= len(group.values) > 0 for group in action.groups)
    if advice and advice.actions:
        edits = [advice.actions[row].edit for row in sorted(advice.together)]
        assert (advice.all_peak_bytes, advice.all_peak_step) == peak_after(analysis.dump, 0, combined(edits, sizes))
        # An action that adds less than a 40th to the others is not taken.
        assert advice.all_needed_bytes <= advice.actions[0].needed_bytes * 41 // 40
    return len(advice.actions) if advice else 0


@on_each_dump
def test_peaks_after_actions_equal_those_counted_byte_by_byte(path: Path) -> None:
    analysis = analysis_of(path)
    _check_peaks(analysis, advise(analysis, None))


def _is_sound(analysis: Analysis) -> list[Rule]:
    """Whether actions save what they say and are in order."""
    advice = advise(analysis, None, budget_bytes=1)
    if advice is None:
        return []
    # Those that save enough only with others come last.
    saved = [action.saved_needed_bytes for action in advice.actions if not action.others]
    assert saved == sorted(saved, reverse=True)
    assert not any(action.others for action in advice.actions[: len(saved)])
    assert all(action.saved_needed_bytes > 0 for action in advice.actions)
    assert 0 <= advice.all_peak_bytes <= advice.all_needed_bytes <= advice.needed_bytes
    assert advice.all_peak_bytes <= advice.peak_bytes
    assert advice.budget
    assert list(advice.budget.peaks) == sorted(advice.budget.peaks, reverse=True)
    return [*(action.rule for action in advice.actions), *(suggestion.rule for suggestion in advice.suggestions)]


@on_all_dumps(_is_sound)
def test_rules_that_need_no_module_are_found_in_the_collection(of_all_dumps: Mapping[str, list[Rule]]) -> None:
    found = {rule for rules in of_all_dumps.values() for rule in rules}
    # The others need the HLO module, which shows what an axis of an array is.
    assert {Rule.DONATE, Rule.REMATERIALIZE, Rule.OPTIMIZER_STATE, Rule.CPU_SCHEDULER} <= found
    assert not found & {Rule.ATTENTION_SCORES, Rule.LOGITS, Rule.MICROBATCHES}
    assert sum(not rules for rules in of_all_dumps.values()) > 50


# ---------------------------------------------------------------- a program that does not fit


@needs_shared_dumps
def test_arguments_alone_exceed_the_budget() -> None:
    advice = _advice(OOM, int(15.75 * GIB))
    # The headers of the buffer assignment, read line by line.
    sizes = re.findall(r"^allocation \d+: size (\d+), .*parameter \d+, ", _shared(OOM).read_text(), re.MULTILINE)
    assert advice.argument_bytes == sum(map(int, sizes)) == 20077666816
    assert [(tree.name, tree.count, tree.is_idle) for tree in advice.arguments[:3]] == [
        ("state[1]", 12, True),
        ("state[2]", 12, True),
        ("state[0]", 12, False),
    ]
    assert advice.budget
    assert advice.budget.do_arguments_exceed
    assert advice.budget.divide_arguments_by == 2
    # The gradients of all layers are live with the arguments, which no rule changes.
    assert not advice.budget.is_reached
    assert advice.actions[advice.budget.actions[0]].rule is Rule.REMATERIALIZE


@needs_shared_dumps
def test_xla_repeats_what_does_not_fit_and_a_policy_keeps_products() -> None:
    advice = _advice(OOM)
    text = next(_shared(OOM).parent.glob("*live-range.txt")).read_text()
    assert advice.rematerialized == len(re.findall(r"^ +\d+:.*\.remat", text, re.MULTILINE)) == 39
    action = _first(_advice("gpu-h100-jaxlib0.10.2/transformer_train/*-buffer-assignment.txt"), Rule.REMATERIALIZE)
    assert action.policy
    assert 0 < action.policy.saved_needed_bytes < action.saved_needed_bytes


@needs_shared_dumps
def test_microbatches_take_a_part_of_all_but_weights_and_add_sums_of_gradients() -> None:
    path = _shared("cpu-jaxlib0.10.2/transformer_train/module_0000*-buffer-assignment.txt")
    action = _first(_advice(str(path.relative_to(SHARED_DUMPS))), Rule.MICROBATCHES)
    dump = analysis_of(path).dump
    sums, outputs = action.edit[NONE], {*outputs_of(dump)}
    ((start, end),) = {piece[:2] for piece in sums}
    assert start == 0 < end <= (dump.last_step or 0)
    # Where an argument is not donated, the sum of its gradients has the buffer that the output takes after it.
    moved = [piece.moved_to for piece in sums if piece.moved_to is not None]
    assert len(moved) == len({*moved})
    assert {dump.values.allocation.item(output) for output in outputs}.issuperset(moved)
    added = sum(piece.size_bytes for piece in sums)
    parameters = [
        value for value, opcode in enumerate(map(dump.opcode, dump.values.name.tolist())) if opcode == b"parameter"
    ]
    assert 0 < added < sum(dump.values.size_bytes[parameters].tolist())
    for value, pieces in action.edit.items():
        size = dump.values.size_bytes.item(value)
        if value in outputs:
            assert [(piece.start_step, piece.size_bytes) for piece in pieces] == [(end + 1, size)]
        elif value != NONE:
            assert [piece.size_bytes for piece in pieces] == [size // 4]
            assert value not in parameters


@needs_shared_dumps
def test_wrapping_a_layer_is_one_action_with_all_that_the_loop_saves_but_its_input() -> None:
    action = _first(_advice(OOM), Rule.REMATERIALIZE)
    group = action.groups[0]
    assert (group.count, group.shape, group.size_bytes) == (64, "bf16[4,2048,14336]", 14 * GIB)
    assert group.line
    assert (group.line.file.rpartition("/")[2], group.line.line) == ("big_programs.py", 31)
    assert action.call
    assert (action.call.function, action.call.frame and action.call.frame.line) == ("llama_layer", 41)
    # bf16[4,2048,1024] of each layer, sharded, is what one layer passes to the next, and what attention passes to the
    # other half of the layer. One of both stays saved.
    gone = [one for one in action.groups if one.shape == "bf16[4,2048,1024]"]
    assert sum(one.count for one in gone) == 32
    # One of 32 layers is left while the loop of the backward pass reads it.
    saved = [one for one in action.groups if one.count % 32 == 0]
    assert action.saved_bytes == sum(one.size_bytes for one in saved) * 31 // 32


@needs_shared_dumps
def test_a_buffer_has_the_same_shape_in_all_actions() -> None:
    shapes: dict[int, set[str]] = {}
    for action in _advice("flags/tpu-gpt/default/module_0000*-buffer-assignment.txt").actions:
        for group in action.groups:
            for value in group.values:
                shapes.setdefault(value, set()).add(group.shape)
    assert shapes
    assert {len(found) for found in shapes.values()} == {1}


# ---------------------------------------------------------------- rules


@needs_shared_dumps
@pytest.mark.parametrize(
    ("donating", "plain", "is_exact"),
    [
        ("tpu-v5e2x2*/mlp_train/module_0000*-buffer-assignment.txt", "module_0013*-buffer-assignment.txt", True),
        ("cpu-jaxlib0.12*/mlp_train/module_0000*-buffer-assignment.txt", "module_0002*-buffer-assignment.txt", True),
        ("gpu-h100-jaxlib0.10.2/mlp_train/module_0001*-buffer-assignment.txt", "module_0664*-assignment.txt", False),
    ],
)
def test_donation_lowers_the_peak_towards_that_of_the_donating_program(
    donating: str, plain: str, is_exact: bool
) -> None:
    """The same program, compiled with `donate_argnums` and without."""
    twin = analysis_of(_shared(donating)).memory.space(0)
    advice = _advice(str(Path(donating).parent / plain))
    assert twin
    donations = [action for action in advice.actions if action.rule is Rule.DONATE]
    dump = analysis_of(_shared(str(Path(donating).parent / plain))).dump
    after, _ = peak_after(dump, 0, combined([action.edit for action in donations], dump.values.size_bytes))
    assert after >= twin.peak_live_bytes if not is_exact else abs(after - twin.peak_live_bytes) < 4096
    assert donations
    saved_bytes = max(action.saved_needed_bytes + action.needed_bytes for action in donations) - twin.needed_bytes
    assert all(saved_bytes < 1.5 * action.saved_needed_bytes < 2.25 * saved_bytes for action in donations)
    assert Rule.DONATE not in _rules(_advice(donating))


_EACH_RULE = """
donate           estimated f32[784,512]        tpu-v5e2x2*/mlp_train/module_0013    tpu-v5e2x2*/mlp_train/module_0000
rematerialize    estimated bf16[64,2048,1792]  tpu-v5p-big-*/*/module_0000          cpu-*0.10.2/kvcache*/module_0000
optimizer-state  estimated f32[512,64]         cpu-*0.4.30/transformer_train/module cpu-*0.12*/mlp_train/module_0000
attention-scores estimated f32[64,2048,2048,4] tpu-v5p-big-*/*/module_0000          gpu-*0.10.2/transformer_train/module
microbatches     estimated f32[16,128,64]      gpu-*0.10.2/transformer_train/module cpu-*0.10.2/kvcache*/module_0000
logits           estimated f32[4,64,1000]      cpu-*0.10.2/*_train_remat/module     cpu-*0.10.2/scan_rnn/module_0000
"""


@needs_shared_dumps
@pytest.mark.parametrize("line", _EACH_RULE.strip().split("\n"), ids=lambda line: line.split()[0])
def test_a_rule_finds_the_shape_in_one_dump_and_nothing_in_another(line: str) -> None:
    name, certainty, shape, having, lacking = line.split()
    action = _first(_advice(f"{having}*-buffer-assignment.txt"), Rule(name))
    assert (action.groups[0].shape, action.certainty) == (shape, Certainty(certainty))
    assert Rule(name) not in _rules(_advice(f"{lacking}*-buffer-assignment.txt"))


@needs_shared_dumps
def test_gathered_weights_are_live_when_they_are_needed() -> None:
    """The same program with the latency-hiding scheduler and without."""
    without = analysis_of(_shared("flags/gpu-fsdp/no_latency_hiding/*-buffer-assignment.txt")).memory.space(0)
    advice = _advice("flags/gpu-fsdp/default/*-buffer-assignment.txt")
    action = _first(advice, Rule.GATHERED_WEIGHTS)
    assert without
    saved_bytes = advice.needed_bytes - without.needed_bytes
    assert saved_bytes / 1.5 < action.saved_needed_bytes < saved_bytes * 1.5
    assert Rule.GATHERED_WEIGHTS not in _rules(_advice("flags/gpu-fsdp/no_latency_hiding/*-buffer-assignment.txt"))
    assert Rule.GATHERED_WEIGHTS not in _rules(_advice("gpu-h100-jaxlib0.10.2/transformer_train/*-assignment.txt"))


@needs_shared_dumps
def test_another_schedule_is_suggested_where_temporaries_are_most_of_a_big_peak() -> None:
    (suggestion,) = _advice("flags/cpu-vit/default/*-buffer-assignment.txt").suggestions
    assert suggestion.rule is Rule.CPU_SCHEDULER
    assert "0.56 to 0.99" in suggestion.measured
    assert not _advice("cpu-jaxlib0.10.2/transformer_train/module_0000*-buffer-assignment.txt").suggestions
    assert not _advice("flags/tpu-gpt/default/*-buffer-assignment.txt").suggestions


_MLP = "cpu-jaxlib0.12.0.1/mlp_train/module_0000*-buffer-assignment.txt"
_FLAGS = "  # with static_argnums=(2,) if its second argument is a flag such as train, not given as a keyword"
_STATIC = (
    "with static_argnums for arguments that are no arrays, such as a number of heads, and functools.partial for such "
    "keywords"
)
_NAMED = 'with name="{}_0" and so on where it has none: its parameters would get other names'
_FLAX = "/venv/lib/python3.13/site-packages/flax/linen/linear.py"


@needs_shared_dumps
@pytest.mark.parametrize(
    ("frames", "call"),
    [
        (
            [(_FLAX, "Dense.__call__"), ("train.py", "Block.__call__"), (_FLAX, "wrapped"), ("train.py", "loss")],
            Call("Block.__call__", StackFrame("train.py", 7, None, "loss"), "flax.linen.remat"),
        ),
        ([("model.py", "mlp"), ("train.py", "loss")], Call("mlp", StackFrame("train.py", 7, None, "loss"))),
        # `flax.linen.remat` takes only modules and their methods.
        (
            [(_FLAX, "Dense.__call__"), ("train.py", "fit.<locals>.loss"), ("train.py", "fit")],
            Call("fit.<locals>.loss", StackFrame("train.py", 7, None, "fit")),
        ),
    ],
)
def test_function_to_wrap_is_the_innermost_one_of_the_program(
    monkeypatch: pytest.MonkeyPatch, frames: list[tuple[str, str]], call: Call
) -> None:
    path = _shared(OOM)
    analysis, module = analysis_of(path), module_of(path)
    space = analysis.memory.space(0)
    assert space
    facts = Facts(Origins(analysis.dump, module), space)
    value = next(iter(facts.owned))
    stack = tuple(StackFrame(file, 7, None, function) for file, function in frames)
    monkeypatch.setattr(facts.origins, "of_value", lambda _: Origin(None, stack, None, is_unresolved=False))
    found = Functions(facts).call([Effect(value)], facts.owned, is_part=False)
    assert found == call
    assert found.name == call.function.removesuffix(".__call__").rpartition(".")[2]


@pytest.mark.parametrize(
    ("function", "checkpoint", "code"),
    [
        ("block", "jax.checkpoint", f"block = jax.checkpoint(block)  # {_STATIC}"),
        # These wrap a class, a method, or an object: another one would wrap the constructor.
        ("Block.__call__", "flax.linen.remat", f"Block = flax.linen.remat(Block){_FLAGS}; {_NAMED.format('Block')}"),
        ("Block.__call__", "flax.nnx.remat", f"Block.__call__ = flax.nnx.remat(Block.__call__){_FLAGS}"),
        (
            "Block.__call__",
            "equinox.filter_checkpoint",
            "Block.__call__ = equinox.filter_checkpoint(Block.__call__)",
        ),
        (
            "Block.__call__",
            "haiku.remat",
            "y = haiku.remat(block)(x)  # where block is the Block that is called; in the function that is transformed",
        ),
        # As a function of the class, it would take the object for an argument.
        (
            "make.<locals>.Net.decode",
            "jax.checkpoint",
            f"y = jax.checkpoint(net.decode)(x)  # where net is the Net whose decode is called; {_STATIC}",
        ),
        ("Net.decode", "flax.linen.remat", f"Net.decode = flax.linen.remat(Net.decode){_FLAGS}"),
    ],
)
def test_the_code_wraps_what_the_framework_can_wrap(function: str, checkpoint: str, code: str) -> None:
    analysis = analysis_of(next(DUMPS.glob(_MLP)))
    subject = Subject(analysis.dump, (), Call(function, None, checkpoint), checkpoint, "jax.jit", "step", None, None)
    assert rematerialize.ROW.snippet(subject) == code


def test_the_batch_has_no_name_if_equinox_gives_all_arguments_the_same() -> None:
    batch = Batch(("dynamic_nodonate",), 8)
    subject = Subject(
        analysis_of(next(DUMPS.glob(_MLP))).dump, (), None, "jax.checkpoint", "equinox.filter_jit", "step", batch, None
    )
    assert plain_text(microbatches.ROW.what(subject)).startswith("Split the batch into 4 microbatches")


@pytest.mark.parametrize(
    ("jit", "code"),
    [
        ("jax.jit", "step = jax.jit(step, compiler_options={"),
        # `nnx.jit` takes no such options, and `jax.jit` in its place would stop the training without any error.
        ("nnx.jit", 'os.environ["XLA_FLAGS"] = "--xla_cpu_scheduler_type='),
        ("equinox.filter_jit", 'os.environ["XLA_FLAGS"] = "--xla_cpu_scheduler_type='),
    ],
)
def test_the_schedule_is_set_where_the_framework_takes_it(jit: str, code: str) -> None:
    subject = Subject(analysis_of(next(DUMPS.glob(_MLP))).dump, (), None, "jax.checkpoint", jit, "step", None, None)
    assert cpu_scheduler.ROW.snippet(subject).startswith(code)


def test_no_advice_on_an_incomplete_dump() -> None:
    path = next(DUMPS.glob(_MLP))
    files = load_files(find_set(path), {}, {}, never)
    assert advise(analyse(file.dump_file for file in files.values()), None)
    incomplete = [file.dump_file for file in files.values() if file.dump_file.kind is not FileKind.VALUES]
    assert advise(analyse(incomplete), None) is None


# ---------------------------------------------------------------- values on the host


@needs_shared_dumps
@pytest.mark.parametrize(
    ("pattern", "is_worth_a_try"),
    [
        ("tpu-tpu7x-libtpu0.0.52/offload_train/*-buffer-assignment.txt", True),
        ("tpu-v5p-libtpu0.0.52/offload_activations/*-buffer-assignment.txt", True),
        ("tpu-v5e2x2-libtpu0.0.51/host_offload/*jit_remat_off*-buffer-assignment.txt", True),
        # Optimizer state, which no program can compute again.
        ("tpu-v5e2x2-libtpu0.0.51/host_offload/*jit_opt_off*-buffer-assignment.txt", False),
        ("tpu-v5e-libtpu0.0.52/offload_state/*-buffer-assignment.txt", False),
        # Nothing was measured on a GPU.
        ("gpu-h100-jaxlib0.12.0.1/offload_state/*-buffer-assignment.txt", False),
    ],
)
def test_what_is_offloaded_for_the_backward_pass_is_worth_a_try(pattern: str, *, is_worth_a_try: bool) -> None:
    rules = {suggestion.rule for suggestion in _advice(pattern).suggestions}
    assert (Rule.OFFLOADED_VALUES in rules) == is_worth_a_try


def test_a_round_trip_to_the_host_is_nothing_to_compute_again() -> None:
    (path,) = DUMPS.glob("tpu-v5e2x2-libtpu0.0.51/host_offload/*-buffer-assignment.txt")
    advice = advise(analysis_of(path), module_of(path))
    assert advice
    assert advice.suggestions == ()
