"""The titles of code lenses."""

from collections.abc import Sequence
from typing import Final

from xla_lens.features.lenses import (
    FillLens,
    LensFacts,
    LimitLens,
    LiveLens,
    PeakLens,
    RealPeakLens,
    ShareLens,
    SpacePeak,
    SummaryLens,
    UsesLens,
)
from xla_lens.model.memory.printed_peak import DEFAULT_COLOR
from xla_lens.model.tables.backend import SpaceId
from xla_lens.model.warrants import COMPLETE, Bound, Quantity, Warrants
from xla_lens.render.memory_spaces import space_name
from xla_lens.render.numbers import counted, human, percent
from xla_lens.render.warrants import bounded, bounded_size, short_reason

_MOST_SPACES: Final = 3


def lens_title(facts: LensFacts, warrants: Warrants = COMPLETE) -> str:
    """Return the title of a lens, with bounds and the reason where `warrants` say that numbers are not exact:
    ``HBM: needs 4.22 MiB, peak ≥ 3.57 MiB · dump is cut off``.
    """
    warrant = warrants.of(Quantity.LIVE)
    bound, reason = warrant.bound, short_reason(warrant)
    why = f", {reason}" if reason else ""
    match facts:
        case SummaryLens():
            return _summary(facts, warrants)
        case LimitLens(limit):
            return f"lenses for the {limit:,} largest only"
        case FillLens(size, peak, values):
            is_known = peak is not None and warrants.of(Quantity.LIVE, Quantity.RESERVED).is_exact
            fill = f"{percent(peak or 0, size)} live at once, " if is_known else ""
            return f"{fill}{counted(values, 'value')}"
        case UsesLens(uses, instructions):
            use_bound = warrants.of(Quantity.USES).bound
            if not uses:
                return "no uses" if use_bound is Bound.EXACT else f"no known uses, {short_reason(warrants)}"
            return bounded(f"{counted(uses, 'use')} in {counted(instructions, 'instruction')}", use_bound)
        case ShareLens(space, size, peak):
            if bound is Bound.EXACT:
                return f"{percent(size, peak)} of the {space_name(space)} peak"
            return f"part of the {space_name(space)} peak, {bounded_size(peak, bound)}{why}"
        case PeakLens(live):
            return f"show values live at the peak: {_sizes(live, bound)}{why}"
        case LiveLens(live):
            return f"show values live here: {_sizes(live, bound)}{why}"
        case RealPeakLens(space, step, live):
            return f"real {space_name(space)} peak: {bounded_size(live, bound)} at step {step}{why}"


def _summary(facts: SummaryLens, warrants: Warrants) -> str:
    shown = sorted(facts.spaces, key=lambda space: (space.space.color != DEFAULT_COLOR, -space.needed_bytes))
    parts = [_space(space, warrants) for space in shown[:_MOST_SPACES]]
    more = len(shown) - _MOST_SPACES
    parts += [counted(more, "more memory space")] if more > 0 else []
    parts += [counted(facts.findings, "finding")] if facts.findings else []
    reason = short_reason(warrants)
    parts += [reason] if reason else []
    return " · ".join(parts) or "summary"


def _space(space: SpacePeak, warrants: Warrants) -> str:
    live, reserved = warrants.of(Quantity.LIVE).bound, warrants.of(Quantity.RESERVED).bound
    capacity = f" of {human(space.capacity_bytes)}" if space.capacity_bytes is not None else ""
    over = " (does not fit)" if space.is_over else ""
    peak = f", peak {bounded_size(space.peak_bytes, live)}" if space.peak_step is not None else ""
    return f"{space_name(space.space)}: needs {bounded_size(space.needed_bytes, reserved)}{capacity}{over}{peak}"


def _sizes(live: Sequence[tuple[SpaceId, int]], bound: Bound) -> str:
    biggest = sorted(live, key=lambda entry: entry[1], reverse=True)
    sizes = ", ".join(f"{bounded_size(size, bound)} of {space_name(space)}" for space, size in biggest[:_MOST_SPACES])
    more = len(biggest) - _MOST_SPACES
    return (sizes or "nothing") + (f" and {counted(more, 'more memory space')}" if more > 0 else "")
