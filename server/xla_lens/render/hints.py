"""The labels of inlay hints."""

from xla_lens.features.hints import AllocationHint, HintFacts, LiveBytesHint, PeakHint, SizeHint, SlotHint
from xla_lens.model.memory.printed_peak import DEFAULT_COLOR
from xla_lens.model.warrants import COMPLETE, Bound, Quantity, Warrants
from xla_lens.render.memory_spaces import space_name
from xla_lens.render.numbers import apart, human, percent, signed
from xla_lens.render.warrants import bounded, bounded_size, short_reason


def hint_label(facts: HintFacts, warrants: Warrants = COMPLETE) -> str:
    """Return the label of a hint: ``≥ 3.57 MiB live, dump is cut off`` where `warrants` say so."""
    live_warrant = warrants.of(Quantity.LIVE)
    bound, reason = live_warrant.bound, short_reason(live_warrant)
    why = f", {reason}" if reason else ""
    match facts:
        case LiveBytesHint(live, changes, peaks):
            levels = [_level(size, change, bound) for (_, size), change in zip(live, changes, strict=True)]
            if len(live) == 1 and live[0][0].color == DEFAULT_COLOR:
                return f"{levels[0]} live{why}" + (" ◀ peak" if peaks else "")
            named = (f"{space_name(space)} {level}" for (space, _), level in zip(live, levels, strict=True))
            return ", ".join(named) + why + (f" ◀ peak of {', '.join(map(space_name, peaks))}" if peaks else "")
        case SlotHint(size, peak, live):
            shown = human(size) if size is not None else ""
            part = f"{share} of the peak" if (share := _share(size, peak)) else ""
            return " · ".join(filter(None, (shown, part, f"live {live[0]}–{live[1]}" if live else "")))
        case AllocationHint(size, space, live, peak):
            part = f" · {share} of the {space_name(space)} peak" if (share := _share(live, peak)) else ""
            return f"{human(size)}{part}"
        case SizeHint(size):
            return human(size)
        case PeakHint(space, live, step, peak):
            here = bounded(apart(live, peak), bound)
            return f"real {space_name(space)} peak: {bounded_size(peak, bound)} at step {step} ({here} here){why}"


def _share(part: int | None, peak: int | None) -> str:
    """Return a share of a peak; empty if it is unknown or too small to matter."""
    share = percent(part, peak) if part is not None and peak else ""
    return "" if share == percent(0, 1) else share


def _level(size_bytes: int, change: int, bound: Bound) -> str:
    """A number of live bytes after its change: ``+64.00 GiB → 1.41 TiB``."""
    return f"{signed(change)} → {bounded_size(size_bytes, bound)}" if change else bounded_size(size_bytes, bound)
