"""What findings about the schedule and live ranges say."""

from typing import Final

from xla_lens.model.checks.findings import Code
from xla_lens.render.messages.words import Facts, Wording
from xla_lens.render.numbers import counted


def _schedule_mismatch(facts: Facts) -> str:
    match facts["what"]:
        case "max":
            return (
                f"The header says max {facts['maximum']}, but {counted(int(facts['steps']), 'instruction')} "
                "are scheduled. `max` is their number."
            )
        case "order":
            return (
                f"{facts['name']} has step {facts['step']}, but stands where {facts['row']} belongs: "
                f"{counted(int(facts['displaced']), 'row')} are out of order."
            )
        case "twice":
            return f"{facts['name']} is scheduled a second time. An instruction runs at one step."
        case "gap":
            return f"Step {facts['expected']} is missing before step {facts['step']} ({facts['name']})."
        case "number":
            return f"{facts['name']} has step {facts['step']}, where {facts['expected']} belongs."
        case _:
            return (
                f"{facts['name']} and {facts['other']} stand at each other's step: the live ranges and uses "
                "of their values say so."
            )


def _unknown_instruction(facts: Facts) -> str:
    mentions = counted(int(facts["mentions"]), "mention")
    if facts["what"] == "schedule":
        return (
            f"{facts['name']} has to do with nothing, and {facts['other']}, whose value starts at this step, is not "
            f"scheduled ({mentions}): one name stands for the other."
        )
    return (
        f"{facts['name']} is not in the instruction sequence, though it defines, shows or reads a value "
        f"({mentions}). Only instructions that are there do."
    )


def _invalid_live_range(facts: Facts) -> str:
    start, end, last = int(facts["start_step"]), int(facts["end_step"]), int(facts["last_step"])
    if start > end:
        return f"{facts['value']} is live from step {start} to {end}: the end is before the start."
    return f"{facts['value']} is live from step {start} to {end}, but the steps are 0 to {last}."


def _duplicate_live_range(facts: Facts) -> str:
    return f"{facts['value']} has a second live range here. A value has one."


def _missing_live_range(facts: Facts) -> str:
    return f"{facts['value']} has no live range, though its instruction is scheduled."


def _live_range_start(facts: Facts) -> str:
    if facts["what"] == "parameter":
        return (
            f"{facts['value']} starts at step {facts['start_step']}. A parameter that is read only is live from 0 on."
        )
    return (
        f"{facts['value']} is live from step {facts['start_step']} on, but its instruction {facts['instruction']} "
        f"runs at step {facts['step']}."
    )


def _live_range_end(facts: Facts) -> str:
    if facts["what"] == "parameter":
        return (
            f"{facts['value']} ends at step {facts['end_step']}. A parameter that is read only is live until the end, "
            f"{facts['last_step']}."
        )
    return (
        f"{facts['value']} is live until step {facts['end_step']}, but {facts['instruction']} still reads it at step "
        f"{facts['step']}."
    )


WORDINGS: Final[Wording] = {
    Code.SCHEDULE_MISMATCH: _schedule_mismatch,
    Code.UNKNOWN_INSTRUCTION: _unknown_instruction,
    Code.INVALID_LIVE_RANGE: _invalid_live_range,
    Code.DUPLICATE_LIVE_RANGE: _duplicate_live_range,
    Code.MISSING_LIVE_RANGE: _missing_live_range,
    Code.LIVE_RANGE_START: _live_range_start,
    Code.LIVE_RANGE_END: _live_range_end,
}
