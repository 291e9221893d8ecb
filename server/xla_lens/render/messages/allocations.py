"""Messages about allocations and the slices in them."""

from typing import assert_never

from xla_lens.model.checks.problems import (
    AllocationProblem,
    AllocationSizeMismatch,
    AllocationSpaceMismatch,
    AllocationWithoutKind,
    DuplicateAllocation,
    ExclusiveKinds,
    HumanSizeMismatch,
    LayoutSpaceMismatch,
    MisalignedSlice,
    NegativeSlice,
    NoOutput,
    OutputNotLiveOut,
    OverlappingSlices,
    RenumberedAllocation,
    ReusedArena,
    SecondOutput,
    SharedReadOnlyParameter,
    SizeBelowShape,
    SliceOutOfBounds,
    SliceSpaceMismatch,
    ThreadLocalLiveRange,
    TotalMismatch,
    UnexpectedOffset,
    UsedValueSpaceMismatch,
)
from xla_lens.render.messages.words import byte_count, byte_range, numbered_space, quoted, quoted_shape, steps
from xla_lens.render.numbers import counted, human
from xla_lens.syntax.columns import Kind


def allocation_message(problem: AllocationProblem) -> str:
    """The message of a problem with an allocation or a slice."""
    match problem:
        case DuplicateAllocation(allocation):
            return f"Allocation {allocation} is defined twice. XLA uses each number once."
        case RenumberedAllocation(allocation, expected):
            return f"Allocation {allocation} stands where allocation {expected} belongs. XLA numbers them without gaps."
        case AllocationWithoutKind(allocation):
            return (
                f"Allocation {allocation} has no kind. XLA marks each allocation as `parameter`, `output`, "
                "`maybe-live-out`, `constant`, `thread-local` or `preallocated-temp`."
            )
        case ExclusiveKinds(allocation, kinds):
            return (
                f"Allocation {allocation} is marked {_kinds(kinds)}. `constant`, `thread-local` and "
                "`preallocated-temp` exclude all other kinds."
            )
        case OutputNotLiveOut(allocation):
            return (
                f"Allocation {allocation} holds the output but is not marked `maybe-live-out`. The output is live at "
                "the end of the program."
            )
        case SharedReadOnlyParameter(allocation, values):
            return (
                f"Allocation {allocation} holds {values:,} values, although it is a parameter that is not marked "
                "`maybe-live-out`. XLA overwrites a parameter only if it was donated to an output."
            )
        case ThreadLocalLiveRange(allocation):
            return (
                f"Allocation {allocation} is thread-local but holds values with live ranges. Thread-local values are "
                "not scheduled."
            )
        case SecondOutput(allocation, output):
            return (
                f"Allocation {allocation} has an output shape, and so has allocation {output}. A program has one "
                "output: several results are elements of one tuple."
            )
        case NoOutput():
            return "No allocation has an output shape. One allocation holds the result of the program."
        case NegativeSlice(value, offset, size_bytes):
            return f"`{value}` has size {size_bytes:,} and offset {offset:,}. Neither can be negative."
        case SliceOutOfBounds(value, offset, size_bytes, allocation, allocation_bytes):
            return (
                f"`{value}` ends at byte {offset + size_bytes:,}, but allocation {allocation} has "
                f"{byte_count(allocation_bytes)}. A value outside of its allocation overwrites other memory."
            )
        case MisalignedSlice(value, offset, alignment):
            return f"`{value}` starts at offset {offset:,}. XLA aligns values to {alignment} bytes or more."
        case UnexpectedOffset(value, offset, allocation):
            return (
                f"`{value}` starts at offset {offset:,} of allocation {allocation}, which is not a preallocated-temp. "
                "In all other allocations values start at offset 0."
            )
        case OverlappingSlices():
            return _overlap(problem)
        case AllocationSpaceMismatch(allocation, space, value_space):
            return (
                f"Allocation {allocation} is in {numbered_space(space)}, but its values are in "
                f"{numbered_space(value_space)}."
            )
        case SliceSpaceMismatch(value, space, allocation, allocation_space):
            return (
                f"`{value}` is in {numbered_space(space)}, but allocation {allocation} is in "
                f"{numbered_space(allocation_space)}. A value is in the memory space of its allocation."
            )
        case ReusedArena(value, space, allocation, allocation_space):
            return (
                f"`{value}` is in {numbered_space(space)}, but allocation {allocation} is in "
                f"{numbered_space(allocation_space)}. XLA releases of 2026 reuse arenas in this way."
            )
        case UsedValueSpaceMismatch(value, space, slice_space):
            return (
                f"`{value}` is in {numbered_space(space)} here, but in {numbered_space(slice_space)} in its allocation."
            )
        case LayoutSpaceMismatch(value, layout_space, space):
            return (
                f"The layout of `{value}` is for {numbered_space(layout_space)}, but the value is in "
                f"{numbered_space(space)}."
            )
        case SizeBelowShape(value, shape, size_bytes, shape_bytes):
            return (
                f"`{value}` has {byte_count(size_bytes)}, but its shape {quoted_shape(shape)} needs "
                f"{byte_count(shape_bytes)}. Padding can only add bytes."
            )
        case TotalMismatch(total_bytes, reserved_bytes, allocations):
            difference = human(abs(total_bytes - reserved_bytes))
            return (
                f"The printed total is {byte_count(total_bytes)}, but the {counted(allocations, 'allocation')} add up "
                f"to {byte_count(reserved_bytes)}, {difference} {'less' if reserved_bytes < total_bytes else 'more'}."
            )
        case AllocationSizeMismatch(allocation, allocation_bytes, needed_bytes, total_bytes):
            return (
                f"Allocation {allocation} has {byte_count(allocation_bytes)}, but its values need "
                f"{byte_count(needed_bytes)}. With that size, all allocations add up to the printed total of "
                f"{byte_count(total_bytes)}."
            )
        case HumanSizeMismatch(size_bytes, printed, expected):
            return f"{byte_count(size_bytes)} are {expected}, but the dump prints {printed}."
    assert_never(problem)


def _kinds(kinds: Kind) -> str:
    """The kinds of an allocation, as its header spells them: `constant` and `preallocated-temp`."""
    *most, last = (quoted((kind.name or "").lower().replace("_", "-")) for kind in kinds)
    return f"{', '.join(most)} and {last}" if most else last


def _overlap(problem: OverlappingSlices) -> str:
    first, second = quoted(problem.value), quoted(problem.other)
    more = problem.overlaps - 1
    others = f" {first} also overlaps {counted(more, 'other value')}." if more else ""
    return (
        f"{first} and {second} overlap: both are live at {steps(problem.start_step, problem.end_step)} and occupy "
        f"{byte_range(problem.start_byte, problem.end_byte)} of allocation {problem.allocation}. Writing one "
        f"overwrites the other.{others}"
    )
