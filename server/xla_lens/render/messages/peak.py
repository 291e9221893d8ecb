"""Messages about the printed peak."""

from typing import assert_never

from xla_lens.model.checks.problems import (
    CumulativeMismatch,
    FrameRemaining,
    FrameTotal,
    PeakOutOfOrder,
    PeakProblem,
    PeakStepMismatch,
    PeakUnderstated,
    PeakValueNotLive,
    PeakValueSize,
    PeakValuesMissing,
    PeakValueTwice,
    StackTraceTotal,
)
from xla_lens.render.memory_spaces import space_name
from xla_lens.render.messages.words import and_others, byte_count
from xla_lens.render.numbers import apart, human


def peak_message(problem: PeakProblem) -> str:
    """The message of a problem with the printed peak, its list, or its stack trace breakdown."""
    match problem:
        case PeakStepMismatch(step, expected_step):
            return (
                f"The peak is printed at step {step}, but XLA's rule gives step {expected_step}: the first step at "
                "which the shapes of all values live there or one step before have the largest sum."
            )
        case PeakValuesMissing(value, missing, step):
            verb = "is" if missing == 1 else "are"
            return f"{and_others(value, missing - 1, 'value')} {verb} live at step {step}, but missing from this list."
        case PeakValueNotLive(value, step):
            return f"`{value}` is in this list, but is not live at step {step}."
        case PeakValueTwice(value):
            return f"`{value}` is in this list twice."
        case PeakValueSize(value, size_bytes, shape_bytes):
            return f"`{value}` is listed with {byte_count(size_bytes)}, but its shape has {byte_count(shape_bytes)}."
        case PeakOutOfOrder(value, is_by_size):
            order = "by size, name and index" if is_by_size else "in the order of the live ranges"
            return f"`{value}` is out of order. XLA prints this list {order}."
        case CumulativeMismatch(cumulative_bytes, expected_bytes):
            return (
                f"The cumulative size is {byte_count(cumulative_bytes)}, but the rows up to here add up to "
                f"{byte_count(expected_bytes)}."
            )
        case StackTraceTotal(printed_bytes, expected_bytes, is_sum_of_frames):
            source = "its frames add" if is_sum_of_frames else "the list of the peak adds"
            return f"The breakdown is of {byte_count(printed_bytes)}, but {source} up to {byte_count(expected_bytes)}."
        case FrameTotal(frame, total_bytes, expected_bytes):
            return (
                f"`{frame}` has a total of {byte_count(total_bytes)}, but it and the frames below add up to "
                f"{byte_count(expected_bytes)}."
            )
        case FrameRemaining(frame, current_bytes, remaining_bytes, expected_bytes):
            return (
                f"After the {byte_count(current_bytes)} of `{frame}`, {byte_count(expected_bytes)} remain, but the "
                f"dump prints {remaining_bytes:,}."
            )
        case PeakUnderstated(space, step, live_bytes, peak_step, peak_bytes, instruction):
            where = f" (`{instruction}`)" if instruction else ""
            return (
                f"The printed peak is not the real one: {human(live_bytes)} of {space_name(space)} are live at step "
                f"{step}, but {apart(peak_bytes, live_bytes)} at step {peak_step}{where}. XLA adds up shapes to find "
                "the step, not allocated bytes."
            )
    assert_never(problem)
