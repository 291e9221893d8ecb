"""The causes of padding as text."""

from xla_lens.model.advice.padding import Cause, PaddingPart
from xla_lens.render.numbers import human


def padding_part(part: PaddingPart) -> str:
    """Return one cause of padding with its bytes: ``dimension 1 from 1 to 128: 508 B``."""
    rounded = f"from {part.length:,} to {part.padded_length:,}"
    what = {
        Cause.DIMENSION: f"dimension {part.dimension} {rounded}",
        Cause.MISSING_DIMENSION: f"the tile's own dimension {rounded}",
        Cause.TAIL: f"elements {rounded}",
        Cause.SLICE: "the slice is larger than its layout requires",
    }[part.cause]
    return f"{what}: {human(part.size_bytes)}"
