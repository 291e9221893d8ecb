"""Messages about the schedule and live ranges."""

from typing import assert_never

from xla_lens.model.checks.problems import (
    DuplicateLiveRange,
    EarlyEnd,
    InvalidLiveRange,
    MaxMismatch,
    MisnamedInstruction,
    MissingLiveRange,
    MissingStep,
    ParameterEnd,
    ParameterStart,
    ScheduledTwice,
    ScheduleProblem,
    StepsOutOfOrder,
    SwappedInstructions,
    UnscheduledInstruction,
    WrongStart,
    WrongStep,
)
from xla_lens.render.messages.words import steps
from xla_lens.render.numbers import counted


def schedule_message(problem: ScheduleProblem) -> str:
    """The message of a problem with the schedule or a live range."""
    match problem:
        case MaxMismatch(maximum, instructions):
            return (
                f"The header prints `max {maximum}`, but the schedule has {counted(instructions, 'instruction')}. "
                "`max` is their number."
            )
        case StepsOutOfOrder(name, step, row, rows):
            return (
                f"`{name}` has step {step}, but is listed where step {row} belongs. {counted(rows, 'row')} are out of "
                "order."
            )
        case ScheduledTwice(name, step, first_step):
            where = f"at step {step}" if step == first_step else f"at steps {first_step} and {step}"
            return f"`{name}` is scheduled twice, {where}. An instruction runs once."
        case MissingStep(missing, step, name):
            return f"Step {missing} is missing before step {step} (`{name}`)."
        case WrongStep(name, step, expected):
            return f"`{name}` has step {step}, but is listed where step {expected} belongs."
        case SwappedInstructions(name, step, other, other_step):
            return (
                f"`{name}` (step {step}) and `{other}` (step {other_step}) are swapped: their live ranges and uses fit "
                "each other's step."
            )
        case MisnamedInstruction(name, missing_name, mentions):
            return (
                f"`{name}` appears nowhere else in the dump, and `{missing_name}`, which becomes live at this step and "
                f"has {counted(mentions, 'mention')}, is not scheduled. One of the names is wrong."
            )
        case UnscheduledInstruction(name, mentions):
            return (
                f"`{name}` defines, passes on or reads a value in {counted(mentions, 'line')}, but is not in the "
                "instruction sequence."
            )
        case InvalidLiveRange(value, start_step, end_step) if start_step > end_step:
            return f"The live range of `{value}` ends at step {end_step}, before it starts at step {start_step}."
        case InvalidLiveRange(value, start_step, end_step, last_step):
            return f"`{value}` is live at {steps(start_step, end_step)}, but the schedule has {steps(0, last_step)}."
        case DuplicateLiveRange(value):
            return f"`{value}` has two live ranges. A value has one."
        case MissingLiveRange(value, step):
            return (
                f"`{value}` has no live range, although its instruction is scheduled at step {step}. Live bytes and "
                "peaks do not count it."
            )
        case WrongStart(value, start_step, step):
            return f"`{value}` is live from step {start_step}, but its instruction runs at step {step}."
        case ParameterStart(value, start_step):
            return f"`{value}` is live from step {start_step}, but a read-only parameter is live from step 0."
        case EarlyEnd(value, end_step, use_step, user):
            return f"`{value}` is live until step {end_step}, but `{user}` reads it at step {use_step}."
        case ParameterEnd(value, end_step, last_step):
            return (
                f"`{value}` is live until step {end_step}, but a read-only parameter is live until the last step, "
                f"{last_step}."
            )
    assert_never(problem)
