"""Try changes one by one, then the best of them together, and keep what is measured if the user interrupts."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import reduce
from operator import or_
from types import MappingProxyType
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from xla_lens.advice.actions import Advice, Certainty, Cost
from xla_lens.blocks.blocks import Inlines, plain_text
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.syntax.columns import Rows
from xla_lens.trying.changes import Candidate, Change, candidates
from xla_lens.trying.process import CannotTry, Limits, Measured, Program, measure


class Trial(Struct, frozen=True):
    """What became of a candidate: `measured`, or None and the `reason` in one line."""

    candidate: Candidate
    measured: Measured | None
    reason: str

    @property
    def what(self) -> Inlines:
        """What is changed."""
        return self.candidate.what

    @property
    def certainty(self) -> Certainty:
        """Whether what the program needs after it is measured."""
        return Certainty.MEASURED if self.measured else Certainty.ESTIMATED


class TriedPlan(Struct, frozen=True):
    """Changes that are taken together: `trials` are rows of `Trials.trials` in their order, and `steps` is what the
    program needs after each and all before it. The last was compiled with all of them.
    """

    trials: Rows
    steps: tuple[Measured, ...]


class Trials(Struct, frozen=True):
    """What a compiler says about changes of a program.

    `before` is the program as it is, compiled in the same way; None with `reason` if that failed, and then nothing is
    measured. In the dump, it needs `dump_needed_bytes`. `plan` is the best of the changes that were tried, as far as
    the budget asks for them; None if none saves memory.
    """

    before: Measured | None
    reason: str
    dump_needed_bytes: int
    trials: tuple[Trial, ...]
    plan: TriedPlan | None
    budget_bytes: int | None
    is_interrupted: bool

    @property
    def is_reached(self) -> bool | None:
        """Whether the plan, or the program as it is, fits into the budget; None without one."""
        found = self.plan.steps[-1] if self.plan else self.before
        return None if self.budget_bytes is None or found is None else fits(found, self.budget_bytes)

    def saved_bytes(self, trial: Trial) -> int | None:
        """By how much less the program needs after a change, None if that is not measured."""
        if self.before is None or trial.measured is None:
            return None
        return self.before.needed_bytes - trial.measured.needed_bytes

    def flops_factor(self, measured: Measured | None) -> float | None:
        """By which factor the floating-point operations grow, None if that is unknown."""
        if self.before is None or measured is None or not self.before.flops or measured.flops is None:
            return None
        return measured.flops / self.before.flops


def fits(measured: Measured, budget_bytes: int) -> bool:
    """Return whether a program fits into a budget."""
    return measured.needed_bytes <= budget_bytes


class Attempt(Struct, frozen=True):
    """A program to try changes on, and how: `tell` is called with what is being compiled, before it is."""

    program: Program
    dump: DumpSet
    limits: Limits
    tell: Callable[[str], None]

    def measure(self, words: str, change: Change) -> tuple[Measured | None, str]:
        """Compile the program with a change. Return what it needs, or None and the reason."""
        self.tell(words)
        try:
            return measure(self.program, change, self.limits), ""
        except CannotTry as error:
            return None, str(error)


INTERRUPTED: Final = "interrupted"
"""Why a change was not tried when the user interrupts."""

LEAST_SHARE: Final = 200
"""A plan takes only changes that save at least what the program needs divided by this."""


def try_candidates(
    attempt: Attempt,
    advice: Advice | None,
    needed_bytes: int,
    budget_bytes: int | None,
    flags: Mapping[str, str] = MappingProxyType({}),
) -> Trials:
    """Try what advice says, and flags of the compiler. An interrupt from the keyboard ends that early."""
    program = attempt.program
    found = [*candidates(attempt.dump, advice, program.options, budget_bytes, flags, can_trace=program.can_trace)]
    trials = [Trial(candidate, None, candidate.reason or INTERRUPTED) for candidate in found]
    result = Trials(None, INTERRUPTED, needed_bytes, tuple(trials), None, budget_bytes, is_interrupted=True)
    try:
        before, reason = attempt.measure("the program as it is", Change())
        result = replace(result, before=before, reason=reason)
        if before is None:
            words = "the program as it is cannot be compiled"
            trials = [replace(trial, reason=trial.candidate.reason or words) for trial in trials]
            return replace(result, trials=tuple(trials), is_interrupted=False)
        changes = {row: candidate.change for row, candidate in enumerate(found) if candidate.change is not None}
        for number, (row, change) in enumerate(changes.items(), 1):
            words = f"{number} of {len(changes)}: {plain_text(found[row].what)}"
            trials[row] = Trial(found[row], *attempt.measure(words, change))
            result = replace(result, trials=tuple(trials))
        return planned(attempt, replace(result, is_interrupted=False))
    except KeyboardInterrupt:
        return result


def planned(attempt: Attempt, trials: Trials, without: Collection[int] = ()) -> Trials:
    """Return trials with the plan that takes none of some rows. Each step of a plan is compiled. Without a budget, it
    goes as far as it saves memory.
    """
    steps: list[tuple[int, Measured]] = []
    try:
        for step in _steps(attempt, trials, without):
            steps = step
    except KeyboardInterrupt:
        trials = replace(trials, is_interrupted=True)
    rows, measured = zip(*steps, strict=True) if steps else ((), ())
    return replace(trials, plan=TriedPlan(rows, measured) if steps else None)


def _steps(attempt: Attempt, trials: Trials, without: Collection[int]) -> Iterator[list[tuple[int, Measured]]]:
    """Yield the plan after each change that lowers what the program needs: the free ones first, then those that cost
    the fewest operations, each followed by those that save most.
    """
    assert trials.before is not None, "only what was measured is planned"
    steps, best = list[tuple[int, Measured]](), trials.before
    for row in _cheapest_first(trials, without):
        if trials.budget_bytes is not None and fits(best, trials.budget_bytes):
            return
        trial = trials.trials[row]
        # Two ways to do the same are not done both.
        kept = [(other, measured) for other, measured in steps if not _is_same(trials.trials[other], trial)]
        found = trial.measured
        if kept:
            changes = [_change(trials.trials[other]) for other in (*(other for other, _ in kept), row)]
            words = f"{len(changes)} changes together, the last: {plain_text(trial.what)}"
            found, _ = attempt.measure(words, reduce(or_, changes))
        if found is not None and found.needed_bytes < best.needed_bytes:
            steps, best = [*kept, (row, found)], found
            yield steps


def _is_same(one: Trial, other: Trial) -> bool:
    return one.candidate.action is not None and one.candidate.action == other.candidate.action


def _change(trial: Trial) -> Change:
    assert trial.candidate.change is not None, "only a change is measured"
    return trial.candidate.change


def _cheapest_first(trials: Trials, without: Collection[int]) -> Sequence[int]:
    def cost(row: int) -> tuple[int, float, int]:
        trial = trials.trials[row]
        factor = round(trials.flops_factor(trial.measured) or 1.0, 2)
        return [*Cost].index(trial.candidate.cost), factor, -(trials.saved_bytes(trial) or 0)

    least = max(1, (trials.before.needed_bytes if trials.before else 0) // LEAST_SHARE)
    helping = (row for row, trial in enumerate(trials.trials) if (trials.saved_bytes(trial) or 0) >= least)
    return sorted((row for row in helping if row not in without), key=cost)
