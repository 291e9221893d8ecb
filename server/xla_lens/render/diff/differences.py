"""What makes two dumps hard to compare, in words."""

from xla_lens.model.diff.comparable import (
    Difference,
    FewMatches,
    Incomplete,
    NoLiveRanges,
    OtherBackend,
    OtherDevices,
    OtherParameters,
    Side,
)
from xla_lens.render.numbers import counted, human
from xla_lens.render.report.blocks import WIDEST_SHAPE, Inline, Name, Text


def is_serious(difference: Difference) -> bool:
    """Whether a comparison has to start with a difference, because its numbers may mean little."""
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
        case FewMatches(fraction):
            return (
                f"Hard to compare: only {100 * fraction:.1f} % of the bytes at the peaks belong to values that both "
                "dumps have. These may be different programs."
            )
        case NoLiveRanges(side):
            return f"{_whose(side)} no live ranges, so the change of the peak is unknown."
        case Incomplete(side):
            return f"{_whose(side)} missing or contradictory parts: run `xla-lens check` for the details."
        case OtherParameters():
            return _parameters(difference)


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
