"""`cpu-scheduler`: XLA for CPUs schedules for speed, so more temporaries are live at once."""

from typing import Final

from xla_lens.advice.actions import Cost
from xla_lens.advice.codes import Rule
from xla_lens.advice.facts import Facts
from xla_lens.advice.rule_row import SuggestionRow
from xla_lens.advice.subject import Subject
from xla_lens.model.tables.backend import Backend

_LEAST_BYTES: Final = 64 << 20
"""A program with a lower peak was not measured."""

_TEMPORARY_PART: Final = 2
"""The temporaries at the peak are at least the peak divided by this: a schedule moves nothing else."""


def cpu_scheduler(facts: Facts) -> bool:
    """Return whether most of the peak of a program for a CPU is what the schedule moves."""
    peak_bytes = facts.space.peak_live_bytes
    if facts.dump.backend is not Backend.CPU or peak_bytes < _LEAST_BYTES:
        return False
    temporaries = sum(size for value, size in facts.owned.items() if facts.is_computed(value))
    return temporaries * _TEMPORARY_PART >= peak_bytes


def _snippet(subject: Subject) -> str:
    # `nnx.jit` takes no options of the compiler. `jax.jit` in its place would train nothing, and fail with Equinox.
    if subject.jit != "jax.jit":
        return f'os.environ["XLA_FLAGS"] = "--{_OPTION}={_SCHEDULER}"  # with the other flags, before JAX is imported'
    return f"{subject.program} = jax.jit({subject.program}, compiler_options={{{_OPTION!r}: {_SCHEDULER!r}}})"


_OPTION: Final = "xla_cpu_scheduler_type"
_SCHEDULER: Final = "CPU_SCHEDULER_TYPE_MEMORY_OPTIMIZED"

ROW: Final = SuggestionRow(
    rule=Rule.CPU_SCHEDULER,
    applies=cpu_scheduler,
    what="Let XLA schedule for memory instead of concurrency",
    snippet=_snippet,
    flag=f"{_OPTION}={_SCHEDULER}",
    measured=(
        "The dump does not tell what it saves. Of 24 programs that were measured, 20 then needed 0.56 to 0.99 of what "
        "they did, and four as much or more, up to 1.2 times. None that was timed ran slower."
    ),
    cost=Cost.NOTHING,
)
