"""The labels of inlay hints."""

from xla_lens.features.hints import HintFacts, LiveBytesHint, LiveRangeHint, PeakHint, SizeHint
from xla_lens.model.memory.printed_peak import DEFAULT_COLOR
from xla_lens.model.warrants import COMPLETE, Quantity, Warrants
from xla_lens.render.memory_spaces import space_name
from xla_lens.render.numbers import apart, human
from xla_lens.render.warrants import bounded, bounded_size, short_reason


def hint_label(facts: HintFacts, warrants: Warrants = COMPLETE) -> str:
    """Return the label of a hint: ``≥ 3.57 MiB live, dump is cut off`` where `warrants` say so."""
    live_warrant = warrants.of(Quantity.LIVE)
    bound, reason = live_warrant.bound, short_reason(live_warrant)
    why = f", {reason}" if reason else ""
    match facts:
        case LiveBytesHint(live, peaks):
            if len(live) == 1 and live[0][0].color == DEFAULT_COLOR:
                return f"{bounded_size(live[0][1], bound)} live{why}" + (" ◀ peak" if peaks else "")
            label = ", ".join(f"{space_name(space)} {bounded_size(size, bound)}" for space, size in live) + why
            return label + (f" ◀ peak of {', '.join(map(space_name, peaks))}" if peaks else "")
        case LiveRangeHint(start, end):
            return f"live {start}–{end}"
        case SizeHint(size):
            return human(size)
        case PeakHint(space, live, step, peak):
            here = bounded(apart(live, peak), bound)
            return f"real {space_name(space)} peak: {bounded_size(peak, bound)} at step {step} ({here} here){why}"
