"""The capacity of the device, and what takes it, in words."""

import re
from typing import Final

from xla_lens.model.capacity import Capacity, CapacitySource, Space, over_bytes
from xla_lens.render import contract
from xla_lens.syntax.columns import NONE

SETTING: Final = "xla-lens.device.memory"


def capacity_data(space: Space, capacity: Capacity | None) -> contract.Capacity | None:
    """Return a capacity as editors get it, None if it is unknown."""
    if capacity is None:
        return None
    over = over_bytes(space, capacity)
    return {
        "sizeBytes": capacity.size_bytes,
        "source": source_text(capacity),
        "overBytes": NONE if over is None else over,
    }


def source_text(capacity: Capacity) -> str:
    """Return what states a capacity."""
    file = re.split(r"[/\\]", capacity.file or "")[-1]
    match capacity.source:
        case CapacitySource.GIVEN:
            return f"the setting {SETTING}"
        case CapacitySource.OOM_MESSAGE:
            return f"the out-of-memory message in {file}"
        case CapacitySource.TARGET_CONFIG:
            return f"{file}: all memory of the GPU, of which the runtime keeps some"
