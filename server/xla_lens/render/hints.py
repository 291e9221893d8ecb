"""The labels of inlay hints."""

from xla_lens.features.hints import HintFacts, LiveBytesHint, LiveRangeHint, PeakHint, SizeHint
from xla_lens.model.memory.printed_peak import DEFAULT_COLOR
from xla_lens.render.memory_spaces import space_name
from xla_lens.render.numbers import human


def hint_label(facts: HintFacts) -> str:
    """Return the label of a hint."""
    match facts:
        case LiveBytesHint(live, peaks):
            if len(live) == 1 and live[0][0].color == DEFAULT_COLOR:
                return f"{human(live[0][1])} live" + (" ◀ peak" if peaks else "")
            label = ", ".join(f"{space_name(space)} {human(size)}" for space, size in live)
            return label + (f" ◀ peak of {', '.join(map(space_name, peaks))}" if peaks else "")
        case LiveRangeHint(start, end):
            return f"live {start}–{end}"
        case SizeHint(size):
            return human(size)
        case PeakHint(space, live, step, peak):
            return f"real {space_name(space)} peak: {human(peak)} at step {step} ({human(live)} here)"
