"""What findings say: the numbers, the rule, and what it usually means."""

from xla_lens.model.findings import Code, Finding
from xla_lens.render.numbers import counted, human


def message(finding: Finding) -> str:
    """The message of a finding, plain text on one line."""
    facts = finding.facts
    match finding.code:
        case Code.SYNTAX:
            return _syntax(finding)
        case Code.TRUNCATED_DUMP:
            return _truncated(str(facts["what"]))
        case Code.SLICE_OUT_OF_BOUNDS:
            end = int(facts["offset"]) + int(facts["size_bytes"])
            if end < int(facts["offset"]) or int(facts["offset"]) < 0:
                return f"{facts['value']} has a negative size or offset."
            return (
                f"{facts['value']} takes bytes {facts['offset']:,} to {end:,} of allocation {facts['allocation']}, "
                f"which has {facts['allocation_bytes']:,}. A value always lies inside of its allocation."
            )
        case Code.OVERLAPPING_SLICES:
            return (
                f"{facts['value']} and {facts['other']} share bytes {facts['start_byte']:,} to {facts['end_byte']:,} "
                f"of allocation {facts['allocation']} and are both live from step {facts['start_step']} to "
                f"{facts['end_step']}. One would overwrite the other."
            )
        case Code.TOTAL_MISMATCH:
            total, reserved = int(facts["total_bytes"]), int(facts["reserved_bytes"])
            return (
                f"The total is {total:,} bytes, but the {counted(int(facts['allocations']), 'allocation')} add "
                f"up to {reserved:,}: {human(abs(total - reserved))} {'less' if reserved < total else 'more'} than the "
                "total."
            )
        case Code.DUPLICATE_VALUE:
            first = f"; the first time it is {facts['first']}" if facts["first"] != facts["name"] else ""
            return f"Value {facts['id']} ({facts['name']}) is here a second time{first}. An id has one place only."
        case Code.UNKNOWN_INSTRUCTION:
            return (
                f"{facts['name']} is not in the instruction sequence, though it defines, shows or reads a value that "
                f"has a live range ({counted(int(facts['mentions']), 'mention')}). Only scheduled instructions do."
            )


def related_message(what: str) -> str:
    """What stands at a related place of a finding."""
    return {
        "allocation": "The allocation",
        "overlapped": "The value that was there before",
        "first": "The first time",
        "mention": "Also mentioned here",
    }[what]


def _truncated(what: str) -> str:
    missing = {
        "line": "in the middle of a line",
        "slices": "before the last values of the allocations, which the used values tell of",
        "value": "in the middle of a value",
        "values": "before the last values, of which the buffer assignment tells",
        "live ranges": "before the live ranges",
        "stack traces": "in the middle of the stack traces",
        "peak": "before all that is live at the peak is listed",
    }[what]
    return f"The file ends {missing}: cut off, so that what is told here may be wrong."


def _syntax(finding: Finding) -> str:
    facts = finding.facts
    match facts["what"]:
        case "empty":
            return "The file is empty."
        case "nothing":
            return "Nothing in this file is part of a dump."
        case "part":
            return "This part of the line is unknown: edited, or from a newer release of XLA."
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
