"""What findings about the form of a dump say."""

from typing import Final

from xla_lens.model.checks.findings import Code
from xla_lens.render.messages.words import Facts, Wording


def _syntax(facts: Facts) -> str:
    match facts["what"]:
        case "empty":
            return "The file is empty."
        case "nothing":
            return "Nothing in this file is part of a dump."
        case "part":
            return "This part of the line is unknown: edited, or from a newer release of XLA."
        case "order":
            return f"Number {facts['after']} stands after {facts['before']}. XLA prints them in ascending order."
        case "live range order":
            return (
                f"{facts['value']} stands after {facts['other']}, though its value has the lower id. Live ranges are "
                "in the order of the ids."
            )
        case "module":
            return (
                f"{facts['name']} belongs to another module than what is before. Only the first module in a "
                "file is read: save each to a file of its own."
            )
        case "header":
            lines = int(facts["lines"])
            subject = "This line stands" if lines == 1 else f"This line and {lines - 1:,} more of its kind stand"
            return f"{subject} without a header before: `{facts['header']}` is missing."
        case "allocations":
            first, last = int(facts["first"]), int(facts["last"])
            subject = f"Allocation {first} is" if first == last else f"Allocations {first} to {last} are"
            return f"{subject} missing before this one. XLA numbers allocations without gaps."
        case _:
            lines = int(facts["lines"])
            subject = "This line is" if lines == 1 else f"These {lines:,} lines are"
            return f"{subject} no part of a dump: cut off, edited, or printed by something else."


def _truncated(facts: Facts) -> str:
    missing = {
        "line": "in the middle of a line",
        "slices": "before the last values of the allocations, which the used values tell of",
        "value": "in the middle of a value",
        "values": "before the last values, of which the buffer assignment tells",
        "live ranges": "before the live ranges",
        "stack traces": "in the middle of the stack traces",
        "peak": "before all that is live at the peak is listed",
        "tables": "in the middle of the tables",
    }[str(facts["what"])]
    return f"The file ends {missing}: cut off, so that what is told here may be wrong."


WORDINGS: Final[Wording] = {
    Code.SYNTAX: _syntax,
    Code.TRUNCATED_DUMP: _truncated,
}
