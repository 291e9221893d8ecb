"""What findings about the peak and the memory usage report say."""

from typing import Final

from xla_lens.model.checks.findings import Code
from xla_lens.render.messages.words import Facts, Wording, shape_text
from xla_lens.render.numbers import counted, human


def _peak_step_mismatch(facts: Facts) -> str:
    return (
        f"The peak is printed at step {facts['step']}, but XLA's rule gives step {facts['expected']}: the first at "
        "which the whole shapes of all values live there or one step before add up to the most."
    )


def _peak_list_mismatch(facts: Facts) -> str:
    match facts["what"]:
        case "missing":
            more = int(facts["missing"]) - 1
            others = f" and {counted(more, 'other')}" if more else ""
            is_live = "are live" if more else "is live"
            return f"{facts['value']}{others} {is_live} at step {facts['step']}, but not in this list."
        case "extra" if facts["is_twice"]:
            return f"{facts['value']} is in this list a second time."
        case "extra":
            return f"{facts['value']} is in this list, but not live at step {facts['step']}."
        case "size":
            return (
                f"{facts['value']} is listed with {facts['size_bytes']:,} bytes; its shape has {facts['expected']:,}."
            )
        case _:
            return f"{facts['value']} is out of order: the list is sorted."


def _cumulative_mismatch(facts: Facts) -> str:
    return f"The sizes up to here add up to {facts['expected']:,} bytes, not {facts['cumulative_bytes']:,}."


def _stack_trace_mismatch(facts: Facts) -> str:
    match facts["what"]:
        case "header":
            return f"The breakdown is of {facts['size_bytes']:,} bytes, the list adds up to {facts['expected']:,}."
        case "total":
            return (
                f"{facts['frame']} has a total of {facts['total_bytes']:,} bytes, but it and what is below add up to "
                f"{facts['expected']:,}."
            )
        case _:
            return (
                f"After {facts['frame']}, with {facts['current_bytes']:,} bytes, {facts['expected']:,} remain, not "
                f"{facts['remaining_bytes']:,}."
            )


def _peak_understated(facts: Facts) -> str:
    live, peak = int(facts["live_bytes"]), int(facts["peak_bytes"])
    instruction = f" ({facts['instruction']})" if facts["instruction"] else ""
    return (
        f"This is not the peak: {human(live)} of the default memory space are live at step {facts['step']}, but "
        f"{human(peak)} at step {facts['peak_step']}{instruction}. XLA adds up shapes to find the step, not places."
    )


def _report_mismatch(facts: Facts) -> str:
    what = str(facts["what"])
    match what:
        case "total":
            return f"The report says {facts['printed']:,} bytes, but the allocations add up to {facts['expected']:,}."
        case "space":
            return (
                f"The report says {facts['printed']:,} bytes for memory space {facts['color']}; its allocations add up "
                f"to {facts['expected']:,}."
            )
        case "color":
            expected = f"where {facts['expected']} belongs" if int(facts["expected"]) >= 0 else "which is one too many"
            return f"The report tells of memory space {facts['color']} here, {expected}."
        case "allocation":
            if int(facts["expected"]) < 0:
                return f"The report tells of allocation {facts['allocation']} here, which is one too many."
            return (
                f"The report tells of allocation {facts['allocation']} here, where {facts['expected']} belongs: the "
                "biggest come first."
            )
        case "header":
            return (
                f"The buffer assignment has another header for allocation {facts['allocation']}: `{facts['expected']}`"
            )
        case "cumulative" | "rest":
            name = "up to here" if what == "cumulative" else "that are smaller"
            return f"The allocations {name} add up to {facts['expected']}, not {facts['printed']}."
        case "offset":
            return f"No value of allocation {facts['allocation']} is at offset {facts['offset']:,}."
        case "offset twice":
            return f"Offset {facts['offset']:,} is in this table a second time."
        case "order":
            return "This row is out of order: the biggest come first."
        case "rows":
            return (
                f"This table tells of {counted(int(facts['printed']), 'offset')}, but the values of allocation "
                f"{facts['allocation']} are at {facts['expected']:,}."
            )
    name = {
        "size": "biggest value at offset {offset:,} has",
        "sum": "sizes up to here add up to",
        "values": "number of values at offset {offset:,} is",
        "shapes": "values at offset {offset:,} are",
    }[what].format(**facts)
    printed, expected = (shape_text(facts[part]) for part in ("printed", "expected"))
    return f"In allocation {facts['allocation']} the {name} {expected}, not {printed}."


WORDINGS: Final[Wording] = {
    Code.PEAK_STEP_MISMATCH: _peak_step_mismatch,
    Code.PEAK_LIST_MISMATCH: _peak_list_mismatch,
    Code.CUMULATIVE_MISMATCH: _cumulative_mismatch,
    Code.STACK_TRACE_MISMATCH: _stack_trace_mismatch,
    Code.PEAK_UNDERSTATED: _peak_understated,
    Code.REPORT_MISMATCH: _report_mismatch,
}
