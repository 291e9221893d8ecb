"""What a value is in the other dump of a comparison, in the words of lenses and hovers."""

from typing import Final

from xla_lens.features.diff.values import OtherValue
from xla_lens.model.diff.changes import Change, ValueClass
from xla_lens.model.diff.matching import Confidence
from xla_lens.render.markdown import code
from xla_lens.render.numbers import counted, human, shortened
from xla_lens.render.report.values import shape_text
from xla_lens.syntax.columns import NONE

_MAX_SHAPE: Final = 160


def other_title(other: OtherValue) -> str:
    """Return the title of a lens: ``was 1.50 GiB, lived 30 steps less``."""
    return _text(other, _shape(other))


def other_line(other: OtherValue) -> str:
    """Return the line of a hover, as Markdown."""
    if other.value == NONE:
        return f"compared: {_text(other, '')}"
    is_sure = other.compared.values.confidence[other.row] > Confidence.LOW
    where = f"in the {'old' if other.is_old else 'new'} dump{'' if is_sure else ', an uncertain match'}"
    return f"compared: {_text(other, code(_shape(other)))} ({code(other.dump.value_label(other.value))} {where})"


def _shape(other: OtherValue) -> str:
    return shortened(shape_text(other.dump, other.value), _MAX_SHAPE) if other.value != NONE else ""


_ONE_SIDED: Final = {
    ValueClass.ADDED: "not in the old dump",
    ValueClass.REMOVED: "not in the new dump",
    ValueClass.UNCHANGED: "unchanged",
}


def _text(other: OtherValue, shape: str) -> str:
    values = other.compared.values
    value_class, change = ValueClass(int(values.value_class[other.row])), Change(int(values.change[other.row]))
    if value_class in _ONE_SIDED:
        return _ONE_SIDED[value_class]
    was, lived = ("was", "lived") if other.is_old else ("now", "lives")
    longer_by = int(values.longer_by[other.row]) * (-1 if other.is_old else 1)
    size_bytes = int(other.dump.values.size_bytes[other.value])
    parts = []
    if change & Change.SIZE and size_bytes != NONE:
        parts.append(f"{was} {human(size_bytes)}")
    elif change & (Change.SHAPE | Change.LAYOUT) and shape:
        parts.append(f"{was} {shape}")
    elif change & Change.MEMORY_SPACE:
        parts.append(f"{was} in another memory space")
    elif change & Change.PADDING:
        parts.append(f"{was} padded otherwise")
    if longer_by:
        parts.append(f"{lived} {counted(abs(longer_by), 'step')} {'longer' if longer_by > 0 else 'less'}")
    elif change & Change.LIVE_RANGE:
        parts.append(f"{lived} at other steps")
    return ", ".join(parts)
