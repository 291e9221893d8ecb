"""The names of memory spaces."""

import re
from typing import Final

from xla_lens.model.tables.backend import Backend, SpaceId

_NAMES: Final = {
    SpaceId(0, Backend.CPU): "host memory",
    SpaceId(0, Backend.GPU): "HBM",
    SpaceId(1, Backend.GPU): "collective memory",
    SpaceId(5, Backend.GPU): "host memory",
    SpaceId(0, Backend.TPU): "HBM",
    SpaceId(1, Backend.TPU): "VMEM",
    SpaceId(2, Backend.TPU): "SMEM",
    SpaceId(5, Backend.TPU): "host memory",
}
"""The known colors of each backend. XLA has no such table.

Color 5 is host memory, `Layout::kHostMemorySpace`, although memory usage reports call it ``cmem``: in all dumps that
have it, the program keeps arrays in `pinned_host`.
"""

_WORDS: Final = {"hbm": "HBM", "vmem": "VMEM", "smem": "SMEM", "host": "host memory", "collective": "collective memory"}
_PRINTED: Final = {"default": 0, "vmem": 1, "smem": 2, "hbm": 3, "host": 4, "cmem": 5}
"""The names in memory usage reports (`GetMemorySpaceName`)."""

_NUMBER: Final = re.compile(r"(?:color_|memory space )?(\d{1,9})")


def space_name(space: SpaceId) -> str:
    """Return the name of a memory space: ``HBM``, or ``memory space 5`` where the number has no known meaning."""
    return _NAMES.get(space, f"memory space {space.color}")


def parse_spaces(text: str) -> frozenset[SpaceId]:
    """Return the memory spaces that a text may mean: ``vmem``, ``7``, a name that XLA prints in memory usage reports,
    or what `space_name` returns, in any case. Empty if it is none of these. A number means that color on each backend.
    """
    text = re.sub(r"[\s_-]+", " ", text.strip().lower()).removesuffix(" memory").replace("color ", "color_")
    number = _NUMBER.fullmatch(text)
    color = int(number[1]) if number else _PRINTED.get(text)
    printed = {SpaceId(color, backend) for backend in (*Backend, None)} if color is not None else set()
    return frozenset(printed | {space for space, name in _NAMES.items() if name == _WORDS.get(text)})
