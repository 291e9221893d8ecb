"""The capacity of the device, and what takes it, in words."""

import re
from typing import Final

from xla_lens.model.capacity import Capacity, CapacitySource, over_bytes
from xla_lens.model.chip import HBM_RELEASE
from xla_lens.model.memory.needed import reserved_parts
from xla_lens.model.memory.over_time import MemorySpace
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.warrants import Bound
from xla_lens.words import contract
from xla_lens.words.numbers import human, percent
from xla_lens.words.warrants import bounded_size

SETTING: Final = "xla-lens.device.memory"


def capacity_data(space: MemorySpace, capacity: Capacity | None) -> contract.Capacity | None:
    """Return a capacity as editors get it, None if it is unknown."""
    if capacity is None:
        return None
    over = over_bytes(space, capacity.size_bytes)
    return {
        "size_bytes": capacity.size_bytes,
        "source": f"{capacity.chip}, {source_text(capacity)}" if capacity.chip else source_text(capacity),
        "over_bytes": over,
    }


def source_text(capacity: Capacity) -> str:
    """Return what states a capacity."""
    return _SOURCES[capacity.source].format(file=re.split(r"[/\\]", capacity.file or "")[-1])


_SOURCES: Final = {
    CapacitySource.GIVEN: f"the setting {SETTING}",
    CapacitySource.FLAG: "xla_tpu_max_hbm_size_mib in {file}",
    CapacitySource.OOM_MESSAGE: "the out-of-memory message in {file}",
    CapacitySource.COMPILE_LOG: "the log {file}",
    CapacitySource.TARGET_CONFIG: "{file}: all memory of the GPU, of which the runtime keeps some",
    CapacitySource.LIBTPU: f"what libtpu {HBM_RELEASE} lets a program use",
}


def device_text(dump: DumpSet, space: MemorySpace, capacity: Capacity) -> str:
    """Return the chip, its capacity, what states it, and what takes it: ``TPU v5e: 15.75 GiB (the log train.log);
    arguments 18.70 GiB (118.7 %)``. Thread-local buffers, which the device need not hold, are left out.
    """
    parts = [
        f"{_WORDS[kind]} {bounded_size(size_bytes, space.reserved_bound)} ({percent(size_bytes, capacity.size_bytes)})"
        for kind, size_bytes in reserved_parts(dump, space.color)
        if kind in _WORDS and size_bytes * _SMALLEST_PART >= capacity.size_bytes
    ]
    needs = f"; {', '.join(parts)}" if parts and space.reserved_bound is not Bound.UNKNOWN else ""
    chip = f"{capacity.chip}: " if capacity.chip else ""
    return f"{chip}{human(capacity.size_bytes)} ({source_text(capacity)}){needs}"


_WORDS: Final = {"parameter": "arguments", "temp": "temporaries", "output": "outputs", "constant": "constants"}

_SMALLEST_PART: Final = 1000
"""Parts of less than one part of the capacity in so many are left out."""
