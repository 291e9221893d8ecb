"""What findings say: the numbers, the rule, and what it usually means."""

from xla_lens.model.findings import Code, Finding
from xla_lens.render.numbers import counted, human


def message(finding: Finding) -> str:
    """The message of a finding, plain text on one line."""
    facts = finding.facts
    match finding.code:
        case Code.SYNTAX:
            return _syntax(finding)
        case Code.SLICE_OUT_OF_BOUNDS:
            end = int(facts["offset"]) + int(facts["size_bytes"])
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
                f"up to {reserved:,}: {human(abs(total - reserved))} {'less' if reserved < total else 'more'}."
            )
        case Code.DUPLICATE_VALUE:
            return f"Value {facts['id']} is here a second time. A value has one place only."
        case Code.UNKNOWN_INSTRUCTION:
            return (
                f"{facts['name']} is not in the instruction sequence, though it has to do with a value that has a "
                f"live range ({counted(int(facts['mentions']), 'mention')}). Only scheduled instructions define or "
                "use such values."
            )


def related_message(what: str) -> str:
    """What stands at a related place of a finding."""
    return {
        "allocation": "The allocation",
        "overlapped": "The value that was there before",
        "first": "The first time",
        "mention": "Also mentioned here",
    }[what]


def _syntax(finding: Finding) -> str:
    match finding.facts["what"]:
        case "empty":
            return "The file is empty."
        case "nothing":
            return "Nothing in this file is part of a dump."
        case "part":
            return "This part of the line is unknown: edited, or from a newer release of XLA."
        case "module":
            return (
                f"{finding.facts['name']} belongs to another module than what is before. Only the first module in a "
                "file is read: save each to a file of its own."
            )
        case _:
            lines = int(finding.facts["lines"])
            subject = "This line is" if lines == 1 else f"These {lines:,} lines are"
            return f"{subject} no part of a dump: cut off, edited, or printed by something else."
