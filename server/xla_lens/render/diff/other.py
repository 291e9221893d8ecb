"""What a value is in the other dump of a comparison, in the words of lenses and hovers."""

from typing import Final

from xla_lens.features.diff.values import OtherValue
from xla_lens.model.diff.changes import Change, ValueClass
from xla_lens.render.markdown import code
from xla_lens.render.numbers import counted, human, shortened

_MAX_SHAPE: Final = 160


def other_title(other: OtherValue) -> str:
    """Return the title of a lens: ``was 1.50 GiB, lived 30 steps less``."""
    return _text(other, shortened(other.shape or "", _MAX_SHAPE))


def other_line(other: OtherValue) -> str:
    """Return the line of a hover, as Markdown."""
    dump = "old dump" if other.is_old else "new dump"
    if other.label is None:
        return f"compared: {_text(other, '')}"
    shape = code(shortened(other.shape or "", _MAX_SHAPE))
    sure = "" if other.is_sure else ", an uncertain match"
    return f"compared: {_text(other, shape)} ({code(other.label)} in the {dump}{sure})"


def _text(other: OtherValue, shape: str) -> str:
    was, lived = ("was", "lived") if other.is_old else ("now", "lives")
    match other.value_class:
        case ValueClass.ADDED:
            return "not in the old dump"
        case ValueClass.REMOVED:
            return "not in the new dump"
        case ValueClass.UNCHANGED:
            return "unchanged"
    parts = []
    if other.change & Change.SIZE and other.size_bytes is not None:
        parts.append(f"{was} {human(other.size_bytes)}")
    elif other.change & (Change.SHAPE | Change.LAYOUT) and shape:
        parts.append(f"{was} {shape}")
    elif other.change & (Change.PADDING | Change.MEMORY_SPACE):
        parts.append(f"{was} {'in another memory space' if other.change & Change.MEMORY_SPACE else 'padded otherwise'}")
    if other.longer_by:
        parts.append(f"{lived} {counted(abs(other.longer_by), 'step')} {'longer' if other.longer_by > 0 else 'less'}")
    elif other.change & Change.LIVE_RANGE:
        parts.append(f"{lived} at other steps")
    return ", ".join(parts)
