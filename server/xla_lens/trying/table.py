"""What was tried, in words: a table of what was estimated and what is measured, and the best plan."""

from collections.abc import Iterable, Iterator
from typing import Final

from xla_lens.advice.measured import change_text
from xla_lens.blocks.blocks import Inline, Section, Table, Text, joined, table
from xla_lens.disk.tried import dump_digest
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.trying.changes import MEMORY_LIMIT
from xla_lens.trying.process import Measured
from xla_lens.trying.trials import INTERRUPTED, Trial, Trials
from xla_lens.trying.tried_json import PlannedChanges, TriedChange, TriedModule
from xla_lens.words.numbers import as_given, capitalized, enumerated, human

TITLE: Final = "What was tried, each change alone"

_NOTE: Final = (
    "Each change was compiled, and nothing was executed. FLOPs are those of matrix products and convolutions, in each "
    "iteration of a loop."
)


def trials_section(trials: Trials) -> Section:
    """Return the table of what was tried, and the plan in sentences."""
    return Section(TITLE, (*_before(trials), _table(trials), *_limits(trials), *_reasons(trials), *_plan(trials)))


def _before(trials: Trials) -> Iterator[Text]:
    if trials.before is None:
        yield f"Nothing is measured: {trials.reason}."
        return
    needed = trials.before.needed_bytes
    words = f"The program as it is needs {human(needed)} (measured)"
    if needed != trials.dump_needed_bytes:
        words += f"; in the dump, it needs {human(trials.dump_needed_bytes)}, so this compiler is another one"
    yield f"{words}. {_NOTE}"


def _table(trials: Trials) -> Table:
    rows = (tuple(_row(trials, number, trial)) for number, trial in enumerate(trials.trials, 1))
    return table(" | <change | estimated | measured | saves | FLOPs | <", rows)


def _row(trials: Trials, number: int, trial: Trial) -> Iterator[Text]:
    estimated, measured = trial.candidate.estimated_bytes, trial.measured
    saved = trials.saved_bytes(trial)
    yield f"{number}"
    yield trial.what
    yield human(estimated) if estimated is not None else ""
    yield human(measured.needed_bytes) if measured else "not tried"
    yield human(saved) if saved is not None else ""
    yield _factor(trials, measured)
    yield "the compiler ran out of memory" if measured and measured.is_too_large else ""


def _factor(trials: Trials, measured: Measured | None) -> str:
    factor = trials.flops_factor(measured)
    return "" if factor is None else f"× {factor:.2f}"


def _limits(trials: Trials) -> Iterator[Text]:
    """What to expect of a limit of the compiler's memory that was tried."""
    flags = (trial.candidate.flag for trial in trials.trials if trial.measured)
    if any(flag and flag.startswith(MEMORY_LIMIT) for flag in flags):
        yield "A limit is a step, not a slope, and one below what the program needs can also make it larger."


def _reasons(trials: Trials) -> Iterator[Text]:
    """Why changes are not tried, one sentence for each reason."""
    numbers: dict[str, list[str]] = {}
    for number, trial in enumerate(trials.trials, 1):
        if trial.measured is None and trials.before is not None and trial.reason != INTERRUPTED:
            numbers.setdefault(trial.reason, []).append(f"{number}")
    for reason, of_reason in numbers.items():
        yield f"Not tried: {enumerated(of_reason)}. {capitalized(reason)}."


def _plan(trials: Trials) -> Iterator[Text]:
    if trials.before is None:
        return
    size = as_given(trials.budget_bytes) if trials.budget_bytes is not None else ""
    if trials.plan is None and not (trials.is_interrupted and not trials.is_reached):
        fits = f"fits into {size} already" if trials.is_reached else "needs less after none of these changes"
        yield f"The program {fits}."
    elif trials.plan:
        last = trials.plan.steps[-1]
        numbers = joined((f"{row + 1}" for row in trials.plan.trials), ", ")
        which = ("Change ", *numbers) if len(trials.plan.trials) == 1 else ("Changes ", *numbers, " together")
        compiled = "" if len(trials.plan.trials) == 1 else ", compiled as a whole"
        flops = _factor(trials, last)
        cost = f" with FLOPs {flops}" if flops else ""
        words: list[Inline] = [*which, f": the program needs {human(last.needed_bytes)} (measured{compiled}){cost}."]
        if size and trials.is_reached:
            words.append(f" That fits into {size}.")
        elif size and trials.budget_bytes is not None:
            words.append(f" That is still {human(last.needed_bytes - trials.budget_bytes)} more than {size}.")
        yield tuple(words)
    if trials.is_interrupted:
        yield "Interrupted: what was measured until then is kept."


# ---------------------------------------------------------------- JSON


def tried_changes(trials: Trials) -> list[TriedChange]:
    """Return what was tried, one object for each change."""
    return [
        TriedChange(
            change=change_text(trial.what),
            rule=trial.candidate.rule,
            policy=trial.candidate.policy,
            flag=trial.candidate.flag,
            certainty=trial.certainty,
            estimated_needed_bytes=trial.candidate.estimated_bytes,
            needed_bytes=trial.measured.needed_bytes if trial.measured else None,
            saved_needed_bytes=trials.saved_bytes(trial),
            peak_bytes=trial.measured.peak_bytes if trial.measured else None,
            peak_step=trial.measured.peak_step if trial.measured else None,
            flops_factor=trials.flops_factor(trial.measured),
            reason=trial.reason or None,
        )
        for trial in trials.trials
    ]


def tried_module(trials: Trials, dump: DumpSet, module: str, files: Iterable[str]) -> TriedModule:
    """Return what was tried on the module of a dump."""
    plan = None
    if trials.plan:
        plan = PlannedChanges(
            changes=[*trials.plan.trials],
            needed_bytes=[step.needed_bytes for step in trials.plan.steps],
            flops_factor=trials.flops_factor(trials.plan.steps[-1]),
        )
    return TriedModule(
        module=module,
        files=[*files],
        dump_digest=dump_digest(dump.files),
        needed_bytes=trials.dump_needed_bytes,
        measured_needed_bytes=trials.before.needed_bytes if trials.before else None,
        reason=trials.reason or None,
        changes=tried_changes(trials),
        plan=plan,
        # A `Size` keeps what the user wrote, for text.
        budget_bytes=None if trials.budget_bytes is None else int(trials.budget_bytes),
        is_reached=trials.is_reached,
        is_interrupted=trials.is_interrupted,
    )
