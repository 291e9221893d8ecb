"""What makes two dumps hard to compare, in words."""

from collections.abc import Sequence
from typing import Final

from xla_lens.model.diff.comparable import (
    Difference,
    FewMatches,
    Incomplete,
    NoLiveRanges,
    OtherBackend,
    OtherCompiler,
    OtherDevices,
    OtherFlags,
    OtherParameters,
    Side,
    Unreadable,
)
from xla_lens.render.numbers import counted, human
from xla_lens.render.report.blocks import LONGEST_NAME, WIDEST_SHAPE, Inline, Name, Text


def is_serious(difference: Difference) -> bool:
    """Whether a comparison has to start with a difference, because its numbers may mean little, or because it explains
    them.
    """
    if isinstance(difference, FewMatches):
        return not difference.has_same_parameters
    return not isinstance(difference, OtherParameters)


def difference_text(difference: Difference) -> Text:
    """A difference in one sentence."""
    match difference:
        case OtherBackend(old, new):
            return (
                f"Hard to compare: the old dump is for {old.upper()}, the new one for {new.upper()}, and each backend "
                "fuses and places buffers by its own rules."
            )
        case OtherDevices(old, new):
            return (
                f"Hard to compare: the old module is compiled for {counted(old, 'device')}, the new one for "
                f"{counted(new, 'device')}. Sizes are those of one device."
            )
        case FewMatches(fraction, has_same_parameters):
            if has_same_parameters:
                return f"Only {100 * fraction:.1f} % of the bytes at the peaks belong to values that both dumps have."
            return (
                f"Hard to compare: only {100 * fraction:.1f} % of the bytes at the peaks belong to values that both "
                "dumps have. These may be different programs."
            )
        case NoLiveRanges(side):
            return f"{_whose(side)} no live ranges, so the change of the peak is unknown."
        case Unreadable(file, reason):
            return (Name(file, widest=None), f" {reason}.")
        case Incomplete(side):
            return f"{_whose(side)} missing or contradictory parts: run `xla-lens check` for the details."
        case OtherCompiler(old, new):
            return f"Compiler: libtpu of changelist {old} before, {new} now."
        case OtherFlags(flags):
            return _flags(flags)
        case OtherParameters():
            return _parameters(difference)


_MAX_FLAGS: Final = 3


def _flags(flags: Sequence[tuple[str, str | None, str | None]]) -> Text:
    found: list[Inline] = ["Flags: "]
    for number, (name, old, new) in enumerate(flags[:_MAX_FLAGS]):
        values = (Name(value, widest=LONGEST_NAME) if value else "default" for value in (old, new))
        before, after = values
        found += [", " * (number > 0), Name(name, widest=None), " ", before, " → ", after]
    if len(flags) > _MAX_FLAGS:
        found.append(f", and {counted(len(flags) - _MAX_FLAGS, 'other')}")
    return (*found, ".")


def _whose(side: Side) -> str:
    return "Both dumps have" if side is Side.BOTH else f"The {side.value} dump has"


def _parameters(one: OtherParameters) -> Text:
    counts = (
        f"Other parameters: {one.old_count:,} with {human(one.old_bytes)} before, "
        f"{one.new_count:,} with {human(one.new_bytes)} now; the first that differs is parameter {one.first}, "
    )
    return (counts, *_shape(one.old_shape), " before, ", *_shape(one.new_shape), " now.")


def _shape(shape: str | None) -> tuple[Inline, ...]:
    return (Name(shape, widest=WIDEST_SHAPE),) if shape is not None else ("none",)
