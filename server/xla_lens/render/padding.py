"""The causes of padding as text."""

from xla_lens.model.advice.padding import Cause, PaddingPart
from xla_lens.render.numbers import human


def padding_part(part: PaddingPart) -> str:
    """Return one cause of padding with its bytes: ``dimension 1 from 1 to 128: 508 B``."""
    return f"{padding_cause(part)}: {human(part.size_bytes)}"


def padding_cause(part: PaddingPart) -> str:
    """Return one cause of padding: ``dimension 1 from 1 to 128``."""
    rounded = f"from {part.length:,} to {part.padded_length:,}"
    return {
        Cause.DIMENSION: f"dimension {part.dimension} {rounded}",
        Cause.MISSING_DIMENSION: f"the tile's own dimension {rounded}",
        Cause.TAIL: f"elements {rounded}",
        Cause.SLICE: "the slice is larger than its layout requires",
    }[part.cause]
