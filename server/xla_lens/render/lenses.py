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
from xla_lens.model.tables.backend import SpaceId
from xla_lens.render.memory_spaces import space_name
from xla_lens.render.numbers import counted, human, percent

_MOST_SPACES: Final = 3


def lens_title(facts: LensFacts) -> str:
    """Return the title of a lens."""
    match facts:
        case SummaryLens():
            return _summary(facts)
        case LimitLens(limit):
            return f"lenses for the {limit:,} largest only"
        case FillLens(size, peak, values):
            fill = f"{percent(peak, size)} live at once, " if peak is not None else ""
            return f"{fill}{counted(values, 'value')}"
        case UsesLens(uses, instructions):
            return f"{counted(uses, 'use')} in {counted(instructions, 'instruction')}" if uses else "no uses"
        case ShareLens(space, size, peak):
            return f"{percent(size, peak)} of the {space_name(space)} peak"
        case PeakLens(live):
            return f"show values live at the peak: {_sizes(live)}"
        case LiveLens(live):
            return f"show values live here: {_sizes(live)}"
        case RealPeakLens(space, step, live):
            return f"real {space_name(space)} peak: {human(live)} at step {step}"


def _summary(facts: SummaryLens) -> str:
    biggest = sorted(facts.spaces, key=lambda space: space.reserved_bytes, reverse=True)
    parts = [_space(space) for space in biggest[:_MOST_SPACES]]
    more = len(biggest) - _MOST_SPACES
    parts += [counted(more, "more memory space")] if more > 0 else []
    parts += [counted(facts.findings, "finding")] if facts.findings else []
    return " · ".join(parts) or "summary"


def _space(space: SpacePeak) -> str:
    peak = f"peak {human(space.peak_bytes)}, " if space.peak_step is not None else ""
    return f"{space_name(space.space)}: {peak}reserved {human(space.reserved_bytes)}"


def _sizes(live: Sequence[tuple[SpaceId, int]]) -> str:
    biggest = sorted(live, key=lambda entry: entry[1], reverse=True)
    sizes = ", ".join(f"{human(size)} of {space_name(space)}" for space, size in biggest[:_MOST_SPACES])
    more = len(biggest) - _MOST_SPACES
    return (sizes or "nothing") + (f" and {counted(more, 'more memory space')}" if more > 0 else "")
