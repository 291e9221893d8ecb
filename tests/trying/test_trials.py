"""Trials with a compiler of a few lines: what is tried, what is planned, and what an interrupt leaves."""

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from samples import DUMPS
from xla_lens.advice.actions import Advice, Certainty, Cost, PolicySaving
from xla_lens.advice.advise import advise
from xla_lens.advice.codes import Rule
from xla_lens.advice.measured import with_measured
from xla_lens.advice.subject import Call
from xla_lens.api import load, load_module
from xla_lens.blocks.blocks import plain_text
from xla_lens.blocks.text import section_lines
from xla_lens.disk.sets import SetFiles
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.trying.changes import NEEDS_FUNCTION, Change, Checkpoint, candidates
from xla_lens.trying.kept import tried_of
from xla_lens.trying.process import CannotTry, Limits, Measured, Program
from xla_lens.trying.table import trials_section, tried_changes, tried_module
from xla_lens.trying.trials import Attempt, Trials, planned, try_candidates

SWITCH = next(DUMPS.glob("tpu-7x-libtpu0.0.52/switch/*jit_sw.*-buffer-assignment.txt"))
CPU = next(DUMPS.glob("cpu-jaxlib0.10.2/donate_lora/*-buffer-assignment.txt"))

Compiler = Callable[[Change], int]


def _never(_change: Change, _path: Path) -> None: ...


def _sized(path: Path) -> tuple[DumpSet, Advice]:
    analysis = load(path)
    advice = advise(analysis, load_module(path))
    assert advice
    (donation,) = advice.actions
    wrapping = replace(
        donation,
        rule=Rule.REMATERIALIZE,
        what=("Wrap layer in jax.checkpoint",),
        cost=Cost.COMPUTE,
        call=Call("Block.layer", None),
        policy=PolicySaving("policy=jax.checkpoint_policies.dots_saveable", "products", 1),
        needed_bytes=donation.needed_bytes - 1,
    )
    others = (replace(wrapping, call=None), replace(donation, rule=Rule.LOGITS, what=("Compute the loss in chunks",)))
    return analysis.dump, replace(advice, actions=(donation, wrapping, *others))


def _tried(
    monkeypatch: pytest.MonkeyPatch, compiler: Compiler, *, path: Path = SWITCH, budget: int | None = None
) -> tuple[Trials, list[Change], Attempt, Advice]:
    compiled: list[Change] = []

    def measure(_program: Program, change: Change, _limits: Limits) -> Measured:
        compiled.append(change)
        needed = compiler(change)
        return Measured(needed, needed, 0, 100.0 + 20 * len(change.checkpoints), is_too_large=False)

    monkeypatch.setattr("xla_lens.trying.trials.measure", measure)
    dump, advice = _sized(path)
    attempt = Attempt(
        Program("tpu", "tpu7x:2x2x1", 1, {}, {}, _never, can_trace=True), dump, Limits(), lambda _words: None
    )
    return try_candidates(attempt, advice, advice.needed_bytes, budget), compiled, attempt, advice


def _compiler(advice: Advice, **saved: int) -> Compiler:
    """A compiler for which changes save some bytes, also together."""
    return lambda change: advice.needed_bytes - sum(size for name, size in saved.items() if getattr(change, name))


def test_each_action_is_a_candidate_and_flags_follow() -> None:
    dump, advice = _sized(SWITCH)
    found = [*candidates(dump, advice, {}, 1 << 30)]
    assert [candidate.action for candidate in found if candidate.policy is None] == [*range(len(advice.actions)), None]
    for candidate in found[:-1]:
        assert candidate.action is not None
        action = advice.actions[candidate.action]
        can_be_tried = action.rule is Rule.DONATE or (action.rule is Rule.REMATERIALIZE and action.call is not None)
        assert (candidate.change is not None) == can_be_tried
        if candidate.policy is None:
            assert candidate.estimated_bytes == action.needed_bytes
        if candidate.change is None:
            assert candidate.reason
    assert [candidate.change for candidate in found if candidate.change and candidate.change.checkpoints] == [
        Change(checkpoints=(Checkpoint("Block.layer", policy),)) for policy in (None, "dots_saveable")
    ]
    assert found[-1].change == Change(options={"xla_tpu_max_hbm_size_mib": "1024"})
    # A flag that the user has set stays.
    assert [*candidates(dump, advice, {"xla_tpu_max_hbm_size_mib": "1"}, 1 << 30)] == found[:-1]
    assert [*candidates(dump, None, {}, None)] == []


def test_what_saves_only_after_others_is_tried_with_them() -> None:
    dump, advice = _sized(SWITCH)
    donation, wrapping, *_, logits = advice.actions
    found = [*candidates(dump, replace(advice, actions=(donation, replace(wrapping, others=(0,)), logits)), {}, None)]
    assert found[0].change
    assert found[1].change == found[0].change | Change(checkpoints=(Checkpoint("Block.layer", None),))
    found = [*candidates(dump, replace(advice, actions=(logits, replace(donation, others=(0,)))), {}, None)]
    assert [candidate.change for candidate in found] == [None, None]
    assert found[1].reason == "needs action 1, which cannot be tried"


def test_without_the_function_only_what_can_be_tried_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    _, compiled, attempt, advice = _tried(monkeypatch, lambda _change: 0)
    compiled.clear()
    told: list[str] = []
    attempt = replace(attempt, program=replace(attempt.program, can_trace=False), tell=told.append)
    trials = try_candidates(attempt, advice, advice.needed_bytes, 1 << 30)
    donation, flag = "Donate", "Compile with xla_tpu_max_hbm_size_mib=1024"
    assert [words.split(": ")[0] for words in told[:3]] == ["the program as it is", "1 of 2", "2 of 2"]
    assert told[1].startswith(f"1 of 2: {donation}")
    assert told[2] == f"2 of 2: {flag}"
    assert not any(change.is_traced for change in compiled)
    wrapping = [trial.reason for trial in trials.trials if trial.candidate.rule is Rule.REMATERIALIZE]
    assert wrapping[:2] == [NEEDS_FUNCTION] * 2


def test_changes_are_combined() -> None:
    one = Change(donated=(2, 0), checkpoints=(Checkpoint("f", None),), options={"a": "1"})
    two = Change(donated=(1, 2), narrowed=(3,), microbatches=4, batch_dimension=1)
    both = Change(
        donated=(0, 1, 2),
        narrowed=(3,),
        options={"a": "1"},
        checkpoints=(Checkpoint("f", None),),
        microbatches=4,
        batch_dimension=1,
    )
    assert one | two == both
    assert (one.is_traced, two.is_traced, Change(donated=(1,)).is_traced) == (True, True, False)


def test_a_plan_is_compiled_as_a_whole_the_free_changes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    _, advice = _sized(SWITCH)
    part = advice.needed_bytes // 10
    compiler = _compiler(advice, donated=part, checkpoints=3 * part)
    trials, compiled, attempt, _ = _tried(monkeypatch, compiler)
    assert compiled[0] == Change()
    assert trials.plan
    taken = [trials.trials[row].candidate.change for row in trials.plan.trials]
    assert [bool(change and change.donated) for change in taken] == [True, False]
    assert taken[0]
    assert taken[1]
    assert taken[0] | taken[1] in compiled
    assert [step.needed_bytes for step in trials.plan.steps] == [
        advice.needed_bytes - part,
        advice.needed_bytes - 4 * part,
    ]
    # Without the first, the plan is the second.
    again = planned(attempt, trials, trials.plan.trials[:1])
    assert again.plan
    assert again.plan.trials == trials.plan.trials[1:]
    assert again.plan.steps[-1].needed_bytes == advice.needed_bytes - 3 * part
    # With a budget that the first reaches, nothing else is done.
    enough, *_ = _tried(monkeypatch, compiler, budget=advice.needed_bytes - part)
    assert "A limit is a step, not a slope" in _text(enough)
    assert enough.plan
    assert (enough.plan.trials, enough.is_reached) == (trials.plan.trials[:1], True)
    far, *_ = _tried(monkeypatch, compiler, budget=part)
    assert far.is_reached is False
    assert "more than" in _text(far)


def _text(trials: Trials) -> str:
    return "\n".join(section_lines(trials_section(trials), 120))


def test_what_saves_nothing_is_not_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    dump, advice = _sized(SWITCH)
    trials, *_ = _tried(monkeypatch, lambda _: advice.needed_bytes + 7)
    assert trials.plan is None
    assert "The program needs less after none of these changes." in _text(trials)
    trials, *_ = _tried(monkeypatch, lambda _: advice.needed_bytes, budget=advice.needed_bytes)
    assert f"{dump.space_id(0).name}" == "HBM"
    assert "already." in _text(trials)


def test_measured_rows_replace_those_of_the_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    _, advice = _sized(SWITCH)
    saved = advice.needed_bytes // 10
    trials, *_ = _tried(monkeypatch, _compiler(advice, donated=saved, checkpoints=-500))
    analysis = load(SWITCH)
    files = SetFiles(Path("dump"), {})
    tried = tried_of(tried_module(trials, analysis.dump, "jit_sw", ()), files)
    measured = with_measured(advice, tried)
    for old, new in zip(advice.actions, measured.actions, strict=True):
        expected = {Rule.DONATE: saved, Rule.REMATERIALIZE: -500}.get(old.rule)
        if expected is None or (old.rule is Rule.REMATERIALIZE and old.call is None):
            assert new is old
        else:
            assert (new.certainty, new.saved_needed_bytes) == (Certainty.MEASURED, expected)
            assert new.needed_bytes == advice.needed_bytes - expected
    policy = measured.actions[1].policy
    assert policy
    assert (policy.certainty, policy.saved_needed_bytes) == (Certainty.MEASURED, -500)
    assert measured.tried
    assert [*map(plain_text, measured.tried.taken)] == ["action 1"]
    assert measured.tried.taken_needed_bytes == advice.needed_bytes - saved
    for other in (replace(tried, is_stale=True), replace(tried, measured_needed_bytes=1)):
        left = with_measured(advice, other)
        assert left.actions == advice.actions
        assert left.tried
        assert left.tried.taken == ()


def test_an_interrupt_keeps_what_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    _, advice = _sized(SWITCH)

    def compiler(change: Change) -> int:
        if change.checkpoints:
            raise KeyboardInterrupt
        return advice.needed_bytes - 1000 * bool(change.donated)

    trials, *_ = _tried(monkeypatch, compiler)
    assert trials.is_interrupted
    assert "Interrupted: what was measured until then is kept." in _text(trials)
    # What was not tried may save something.
    assert "none of these changes" not in _text(trials)
    first = next(row for row, trial in enumerate(trials.trials) if trial.candidate.change and trial.reason)
    assert all(trial.measured or trial.reason for trial in trials.trials)
    assert all(trial.measured is None for trial in trials.trials[first:])

    # Also before anything is measured.
    def stop(_: Change) -> int:
        raise KeyboardInterrupt

    trials, *_ = _tried(monkeypatch, stop)
    assert (trials.is_interrupted, trials.before, trials.plan) == (True, None, None)
    assert "Nothing is measured: interrupted." in _text(trials)


def test_what_cannot_be_compiled_says_why_and_stays_estimated(monkeypatch: pytest.MonkeyPatch) -> None:
    _, advice = _sized(SWITCH)

    def compiler(change: Change) -> int:
        if change.checkpoints:
            raise CannotTry("stopped after 3 s, the limit of time")
        return advice.needed_bytes

    trials, *_ = _tried(monkeypatch, compiler)
    rows = tried_changes(trials)
    assert [row.certainty for row in rows] == ["measured", *["estimated"] * 4]
    assert "Stopped after 3 s, the limit of time." in _text(trials)

    def broken(_: Change) -> int:
        raise CannotTry("its Python has no jax")

    trials, compiled, *_ = _tried(monkeypatch, broken)
    assert compiled == [Change()]
    assert "Nothing is measured: its Python has no jax." in _text(trials)
    assert not trials.is_interrupted


def test_the_text_has_each_number_of_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    _, advice = _sized(CPU)
    trials, *_ = _tried(monkeypatch, lambda change: advice.needed_bytes + (2 << 20) * bool(change.donated), path=CPU)
    assert [row.change for row in tried_changes(trials)] == [plain_text(trial.what) for trial in trials.trials]
    text = _text(trials)
    assert "-2.00 MiB  × 1.00" in text
    assert "xla_cpu_scheduler_type=CPU_SCHEDULER_TYPE_MEMORY_OPTIMIZED" in text
