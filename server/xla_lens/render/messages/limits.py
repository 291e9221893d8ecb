"""Messages about the limits that a user sets."""

from typing import Final, assert_never

from xla_lens.model.checks.problems import (
    LimitProblem,
    MemoryAboveLimit,
    MemoryUnknown,
    PeakAboveLimit,
    PeakUnknown,
)
from xla_lens.render.memory_spaces import space_name
from xla_lens.render.numbers import exact, exact_as_given

_PARTIAL: Final = "the dump is incomplete or contradicts itself"


def limit_message(problem: LimitProblem) -> str:
    """The message of a problem with a limit."""
    match problem:
        case MemoryAboveLimit(space, size_bytes, limit_bytes):
            return (
                f"The program needs {exact(size_bytes)} of {space_name(space)}, more than the limit of "
                f"{exact_as_given(limit_bytes)}. This is the largest allocation."
            )
        case PeakAboveLimit(space, peak_bytes, peak_step, limit_bytes):
            return (
                f"{exact(peak_bytes)} of {space_name(space)} are live at step {peak_step}, more than the limit of "
                f"{exact_as_given(limit_bytes)}."
            )
        case MemoryUnknown(limit_bytes, is_partial):
            why = _PARTIAL if is_partial else "the dump has no allocations"
            return f"The needed bytes cannot be compared with the limit of {exact_as_given(limit_bytes)}: {why}."
        case PeakUnknown(limit_bytes, is_partial):
            why = _PARTIAL if is_partial else "the dump has no live ranges or no allocations"
            return f"The peak cannot be compared with the limit of {exact_as_given(limit_bytes)}: {why}."
    assert_never(problem)
