"""Messages about memory usage reports."""

from typing import assert_never

from xla_lens.model.checks.problems import (
    ForeignReport,
    ReportAllocationOrder,
    ReportAllocationUnknown,
    ReportColumn,
    ReportCumulative,
    ReportHeader,
    ReportOffsetTwice,
    ReportOffsetUnused,
    ReportProblem,
    ReportRemaining,
    ReportRowCount,
    ReportRowMismatch,
    ReportRowOrder,
    ReportSpaceOrder,
    ReportSpaceTotal,
    ReportSpaceUnused,
    ReportTotal,
)
from xla_lens.render.messages.words import byte_count, numbered_space, quoted_shape
from xla_lens.render.numbers import counted


def report_message(problem: ReportProblem) -> str:
    """The message of a problem in a memory usage report."""
    match problem:
        case ForeignReport(differences):
            return (
                f"The memory usage report and the allocations differ in {differences:,} places. They are of different "
                "compilations: copy all files of one compilation."
            )
        case ReportTotal(printed_bytes, reserved_bytes):
            return (
                f"The report prints a total of {byte_count(printed_bytes)}, but the allocations add up to "
                f"{byte_count(reserved_bytes)}."
            )
        case ReportSpaceTotal(space, printed_bytes, reserved_bytes):
            return (
                f"The report prints a total of {byte_count(printed_bytes)} for {numbered_space(space)}, but its "
                f"allocations add up to {byte_count(reserved_bytes)}."
            )
        case ReportSpaceOrder(space, expected):
            return f"The report lists {numbered_space(space)} in the place of {numbered_space(expected)}."
        case ReportSpaceUnused(space, spaces):
            count = counted(spaces, "memory space")
            return f"The report lists {numbered_space(space)}, but the allocations are in {count}."
        case ReportAllocationOrder(allocation, expected):
            return (
                f"The report lists allocation {allocation} in the place of allocation {expected}. The largest "
                "allocations come first."
            )
        case ReportAllocationUnknown(allocation, allocations):
            return (
                f"The report lists allocation {allocation} after all {counted(allocations, 'allocation')} of the "
                "buffer assignment."
            )
        case ReportHeader(allocation, expected):
            return f"The header of allocation {allocation} is not that of the buffer assignment: `{expected}`"
        case ReportCumulative(printed, expected):
            return f"The allocations up to here add up to {expected}, but the report prints {printed}."
        case ReportRemaining(printed, expected):
            return f"The allocations below add up to {expected}, but the report prints {printed}."
        case ReportOffsetUnused(allocation, offset):
            return f"The report lists offset {offset:,} of allocation {allocation}, but no value starts there."
        case ReportOffsetTwice(allocation, offset):
            return f"The table of allocation {allocation} lists offset {offset:,} twice."
        case ReportRowOrder(allocation):
            return f"This row is out of order. In the table of allocation {allocation}, the largest sizes come first."
        case ReportRowCount(allocation, printed, offsets):
            return (
                f"The table of allocation {allocation} has {counted(printed, 'offset')}, but its values start at "
                f"{offsets:,}."
            )
        case ReportRowMismatch():
            return _row(problem)
    assert_never(problem)


def _row(problem: ReportRowMismatch) -> str:
    place = f"at offset {problem.offset:,} of allocation {problem.allocation}"
    printed, expected = problem.printed, problem.expected
    match problem.column:
        case ReportColumn.CUMULATIVE_SIZE:
            rows = f"rows of allocation {problem.allocation} up to here"
            return f"The {rows} add up to {expected}, but the report prints {printed}."
        case ReportColumn.SIZE:
            return f"The largest value {place} has {expected}, but the report prints {printed}."
        case ReportColumn.VALUES:
            return f"The number of values {place} is {expected}, but the report prints {printed}."
        case ReportColumn.SHAPES:
            shapes = f"{quoted_shape(expected)}, but the report prints {quoted_shape(printed)}"
            return f"The values {place} have the shapes {shapes}."
    assert_never(problem.column)
