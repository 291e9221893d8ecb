"""How much memory the device has, and whether a program fits.

The capacity is never guessed. The user states it, or a file beside the dump does: an out-of-memory message of the same
module, or the description of the GPU that XLA compiled for. No text of a TPU dump names the generation of the chip.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from xla_lens.model.memory.over_time import MemorySpace
from xla_lens.model.memory.printed_peak import DEFAULT_COLOR
from xla_lens.model.tables.backend import Backend
from xla_lens.model.warrants import Bound

if TYPE_CHECKING:
    from xla_lens.syntax.oom import OomMessage


class CapacitySource(StrEnum):
    """What states a capacity."""

    GIVEN = "given"
    """The user, in a setting or an option."""
    OOM_MESSAGE = "oom-message"
    """An out-of-memory message of the compiler, which prints what programs may use, in two decimals."""
    TARGET_CONFIG = "target-config"
    """The GPU that XLA compiled for. This is all its memory, of which the runtime reserves some."""


@dataclass(frozen=True, slots=True)
class Capacity:
    """The bytes of the default memory space of the device. `file` is the path of the file that states them, None if
    the user does.
    """

    size_bytes: int
    source: CapacitySource
    file: str | None = None


def main_space(spaces: Sequence[MemorySpace]) -> MemorySpace | None:
    """Return the main memory of the device among some memory spaces, the first one if it is not among them, None if
    there are none.
    """
    return next((space for space in spaces if space.id.color == DEFAULT_COLOR), next(iter(spaces), None))


def given_capacity(size_bytes: int | None) -> Capacity | None:
    """Return the capacity that the user states, None without one."""
    return Capacity(size_bytes, CapacitySource.GIVEN) if size_bytes is not None else None


def stated_capacity(messages: "Iterable[OomMessage]", module: str | None, file: str) -> Capacity | None:
    """Return the capacity in the messages of a file about a module, None if they state none, or several."""
    sizes = {
        message.hbm_capacity.size_bytes
        for message in messages
        if message.hbm_capacity and (message.module is None or message.module == module)
    }
    return Capacity(sizes.pop(), CapacitySource.OOM_MESSAGE, file) if len(sizes) == 1 else None


def capacity_of(space: MemorySpace, *candidates: Capacity | None) -> Capacity | None:
    """Return the first known capacity. Only the default memory space has one, and not in dumps for the CPU, where it
    is the host's memory.
    """
    if space.id.color != DEFAULT_COLOR or space.id.backend is Backend.CPU:
        return None
    return next((one for one in candidates if one), None)


def over_bytes(space: MemorySpace, limit_bytes: int) -> int | None:
    """Return by how much a program exceeds a budget or the device, 0 if it fits, None if the dump does not tell. The
    device must provide the needed bytes for as long as the program runs.
    """
    if space.reserved_bound is Bound.EXACT:
        return max(0, space.needed_bytes - limit_bytes)
    # What is live at once must be provided, too. Bounds can prove that the program does not fit, but not that it does.
    known = [
        size_bytes
        for size_bytes, bound in ((space.needed_bytes, space.reserved_bound), (space.peak_live_bytes, space.live_bound))
        if bound is not Bound.UNKNOWN
    ]
    over = max(known, default=0) - limit_bytes
    return over if over > 0 else None


_MEMORY: Final = re.compile(rb"\bdevice_memory_size:\s*(\d{1,18})\b")


def device_memory(text: bytes) -> int | None:
    """Return all bytes of the GPU's memory from a `FlagFile.TARGET_CONFIG`, None if the text does not have them."""
    match = _MEMORY.search(text)
    return int(match[1]) if match and int(match[1]) else None
