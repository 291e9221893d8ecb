"""Messages about the structure of files."""

from typing import assert_never

from xla_lens.model.checks.problems import (
    AllocationOutOfOrder,
    Cut,
    EmptyFile,
    LiveRangeOutOfOrder,
    MissingAllocations,
    MissingHeader,
    NoDumpLines,
    SecondModule,
    SizesTooLarge,
    StructureProblem,
    TruncatedFile,
    UnknownLinePart,
    UnknownLines,
    UnreadableFile,
    ValueOutOfOrder,
)


def structure_message(problem: StructureProblem) -> str:
    """The message of a problem in the structure of a file."""
    match problem:
        case EmptyFile():
            return "The file is empty."
        case UnreadableFile(reason):
            return f"This file {reason}."
        case NoDumpLines():
            return "No line of this file belongs to an XLA memory dump."
        case UnknownLines(1, ()):
            return (
                "This line does not belong to a dump: another program or a newer release of XLA printed it. "
                "Nothing is missing without it."
            )
        case UnknownLines(lines, ()):
            return (
                f"These {lines:,} lines do not belong to a dump: another program or a newer release of XLA printed "
                "them. Nothing is missing without them."
            )
        case UnknownLines(1):
            return "This line of the dump is damaged. It is cut off or was edited, and what it said is missing."
        case UnknownLines(lines):
            return (
                f"These {lines:,} lines of the dump are damaged. They are cut off or were edited, and what they said "
                "is missing."
            )
        case UnknownLinePart(None):
            return (
                "XLA Lens does not know this part of the line, and reads the rest. A newer release of XLA printed it."
            )
        case UnknownLinePart():
            return "This part of the line is damaged. It was edited, and what it said is missing."
        case SecondModule(name):
            return (
                f"`{name}` belongs to a second module. Of a file with the name of a dump file, editors show the first "
                "module; `xla-lens report` shows all. With `--xla_dump_to=DIR`, each has files of its own."
            )
        case MissingHeader(header, lines):
            rows = "this line" if lines == 1 else f"this line and {lines - 1:,} more of its kind"
            return f"The header `{header}` is missing before {rows}."
        case MissingAllocations(first, last):
            missing = f"Allocation {first} is" if first == last else f"Allocations {first}\N{EN DASH}{last} are"
            return f"{missing} missing before this one. XLA numbers allocations without gaps."
        case AllocationOutOfOrder(allocation, previous):
            return f"Allocation {allocation} follows allocation {previous}. XLA prints allocations in ascending order."
        case ValueOutOfOrder(value, previous):
            return f"Value {value} follows value {previous}. XLA prints values in ascending order of their ids."
        case LiveRangeOutOfOrder(value, number, previous, previous_number):
            return (
                f"`{value}` (value {number}) follows `{previous}` (value {previous_number}). XLA prints live ranges in "
                "ascending order of value ids."
            )
        case SizesTooLarge(sizes):
            return (
                f"These {sizes:,} sizes add up to more than 64 bits can hold, of which this one is the largest. No "
                "device has that much memory, so sums of them are not shown."
            )
        case TruncatedFile(cut):
            return f"The file ends {_end(cut)}. It was cut off, so other results for this dump may be wrong."
    assert_never(problem)


def _end(cut: Cut) -> str:
    match cut:
        case Cut.LINE:
            return "in the middle of a line"
        case Cut.ALLOCATIONS:
            return "before the last allocations"
        case Cut.LAST_ALLOCATION:
            return "before the last values of the last allocation"
        case Cut.SLICES:
            return "before the last values of the allocations, which the used values list"
        case Cut.USED_VALUE:
            return "in the middle of a used value"
        case Cut.USED_VALUES:
            return "before the last used values, which the buffer assignment lists"
        case Cut.LIVE_RANGES:
            return "before the live ranges"
        case Cut.PEAK_LIST:
            return "before the end of the list of values live at the peak"
        case Cut.STACK_TRACES:
            return "in the middle of the stack traces"
        case Cut.REPORT_TABLES:
            return "in the middle of the tables"
        case Cut.MODULE:
            return "before the end of the entry computation"
    assert_never(cut)
