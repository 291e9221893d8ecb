"""Messages about values, their positions and their uses."""

from typing import assert_never

from xla_lens.model.checks.problems import (
    DefinitionMismatch,
    DuplicateUse,
    DuplicateValue,
    ForeignLiveRanges,
    ForeignQuote,
    ForeignSlices,
    ForeignUsedValues,
    MissingPosition,
    MissingQuote,
    PhiMismatch,
    RepeatedPosition,
    RepeatedQuote,
    SharedPosition,
    SliceIdMismatch,
    SliceNameMismatch,
    UnassignedValue,
    UnassignedValues,
    UndefinedLiveRange,
    UndefinedValue,
    UsedNameMismatch,
    ValueProblem,
    View,
)
from xla_lens.render.messages.words import and_others


def value_message(problem: ValueProblem) -> str:
    """The message of a problem with a value."""
    match problem:
        case DuplicateValue(number, name, first_name) if name == first_name:
            return f"`{name}` (value {number}) is listed twice. Each id belongs to one value."
        case DuplicateValue(number, name, first_name):
            return f"`{first_name}` and `{name}` have the same id, {number}. Each id belongs to one value."
        case SliceNameMismatch(number, name, used_name):
            return (
                f"Value {number} is named `{name}` in its allocation, but `{used_name}` in the used values, which "
                "define it."
            )
        case SliceIdMismatch(name, number, used_number):
            return f"`{name}` has id {number} in its allocation, but id {used_number} in the used values."
        case PhiMismatch(name, is_phi_in_allocation):
            here, there = ("", " not") if is_phi_in_allocation else (" not", "")
            return f"`{name}` is{here} marked `(phi)` in its allocation, but is{there} in the used values."
        case MissingQuote(value):
            return f"`{value}` quotes no instruction, unlike the other values of the dump."
        case RepeatedQuote(value):
            return f"`{value}` quotes its instruction twice."
        case ForeignQuote(name, quoted_name):
            return f"`{name}` quotes the instruction `{quoted_name}`. A value quotes the instruction that defines it."
        case DefinitionMismatch(name, position):
            return (
                f"The first position of `{name}` is `{position}`. A value's first position is the instruction that "
                "defines it and has its name."
            )
        case MissingPosition(name):
            return f"`{name}` has no position. A value has at least that of the instruction that defines it."
        case View(name):
            return f"`{name}` has no allocation. It is an address into another buffer and has no bytes of its own."
        case UndefinedLiveRange(name):
            return f"`{name}` has a live range, but the dump has no value of this name and index."
        case ForeignUsedValues(missing, total):
            return f"This file belongs to another dump: {missing:,} of its {total:,} used values are in no allocation."
        case ForeignLiveRanges(missing, total):
            return f"This file belongs to another dump: {missing:,} of its {total:,} live ranges are of unknown values."
        case ForeignSlices(name, missing):
            return (
                f"{and_others(name, missing - 1, 'value')} of the allocations are missing from the used values. The "
                "files belong to different dumps."
            )
        case UndefinedValue(number, name):
            return f"`{name}` (value {number}) is in an allocation, but missing from the used values."
        case UsedNameMismatch(number, name, slice_name):
            return (
                f"Value {number} is named `{name}` in the used values, but `{slice_name}` in its allocation and in "
                "its first position."
            )
        case UnassignedValues(name, missing):
            return (
                f"{and_others(name, missing - 1, 'used value')} are in no allocation. The files belong to different "
                "dumps."
            )
        case UnassignedValue(number, name):
            return f"`{name}` (value {number}) is in no allocation. Each used value occupies bytes of one allocation."
        case RepeatedPosition(value, position):
            return f"`{value}` lists the position `{position}` twice."
        case SharedPosition(position, value, other):
            return f"`{position}` is a position of both `{value}` and `{other}`. A position holds one value."
        case DuplicateUse(value, user, operand):
            return f"`{value}` lists its use as operand {operand} of `{user}` twice."
    assert_never(problem)
