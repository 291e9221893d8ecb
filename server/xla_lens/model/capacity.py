"""How much memory the device has, and whether a program fits.

The capacity is never guessed. The user states it, or a file beside the dump does: a flag of the compiler, what the
compiler logged about the same module, or the chip that it compiled for.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Final, NamedTuple

from msgspec import Struct

from xla_lens.model.chip import Chip
from xla_lens.model.memory.over_time import MemorySpace
from xla_lens.model.memory.printed_peak import DEFAULT_COLOR
from xla_lens.model.tables.backend import Backend
from xla_lens.model.warrants import Bound
from xla_lens.syntax.compile_log import read_compile_log
from xla_lens.text.patterns import lazy_pattern


class CapacitySource(StrEnum):
    """What states a capacity."""

    GIVEN = "given"
    """The user, in a setting or an option."""
    FLAG = "flag"
    """The flag `xla_tpu_max_hbm_size_mib` of the compiler for TPUs."""
    OOM_MESSAGE = "oom-message"
    """An out-of-memory message of the compiler, which prints what programs may use, in two decimals."""
    COMPILE_LOG = "compile-log"
    """What the compiler for TPUs logs about a program that fits: what programs may use, in two decimals."""
    TARGET_CONFIG = "target-config"
    """The GPU that XLA compiled for. This is all its memory, of which the runtime reserves some."""
    LIBTPU = "libtpu"
    """The TPU that XLA compiled for, and what libtpu lets programs use of its memory (`chip.HBM`)."""


class Capacity(Struct, frozen=True):
    """The bytes of the default memory space of the device. `file` is the path of the file that states them, or that
    names the chip, None if the user does. `chip` is the name of the chip, None if it is unknown.
    """

    size_bytes: int
    source: CapacitySource
    file: str | None = None
    chip: str | None = None


def main_space(spaces: Sequence[MemorySpace]) -> MemorySpace | None:
    """Return the main memory of the device among some memory spaces, the first one if it is not among them, None if
    there are none.
    """
    return next((space for space in spaces if space.id.color == DEFAULT_COLOR), next(iter(spaces), None))


def given_capacity(size_bytes: int | None, chip: str | None = None) -> Capacity | None:
    """Return the capacity that the user states, None without one."""
    return Capacity(size_bytes, CapacitySource.GIVEN, None, chip) if size_bytes is not None else None


class LoggedSize(NamedTuple):
    """The size of HBM that a program may use, as a log states it. `module` is None if the log does not name it."""

    module: str | None
    size_bytes: int
    source: CapacitySource


def logged_sizes(log: bytes) -> Iterator[LoggedSize]:
    """Yield the sizes of HBM that a log states, of programs that fit and of those that do not."""
    # Compiles the patterns of all messages, for which a dump without a log does not have to wait.
    from xla_lens.syntax.oom import read_oom_log

    for message in read_oom_log([log]).messages:
        if message.hbm_capacity:
            yield LoggedSize(message.module, message.hbm_capacity.size_bytes, CapacitySource.OOM_MESSAGE)
    for program in read_compile_log(log):
        yield LoggedSize(program.module, program.hbm_capacity.size_bytes, CapacitySource.COMPILE_LOG)


def logged_capacity(sizes: Iterable[LoggedSize], module: str | None, file: str) -> Capacity | None:
    """Return the capacity that a log states for a module, None if it states none, or several."""
    found = [size for size in sizes if size.module in (None, module)]
    is_one = len({size.size_bytes for size in found}) == 1
    return Capacity(found[0].size_bytes, found[0].source, file) if is_one else None


_MAX_HBM: Final = lazy_pattern(r"^xla_tpu_max_hbm_size_mib:\s*([1-9]\d{0,8})\s*$", re.MULTILINE)


def flag_capacity(environment: str, file: str) -> Capacity | None:
    """Return the limit that a flag sets, None if the flags of the compiler for TPUs set none."""
    match = _MAX_HBM.search(environment)
    return Capacity(int(match[1]) << 20, CapacitySource.FLAG, file) if match else None


def chip_capacity(chip: Chip, source: CapacitySource, file: str) -> Capacity | None:
    """Return the capacity of a chip, None if it is unknown."""
    return Capacity(chip.memory_bytes, source, file) if chip.memory_bytes else None


def capacity_of(space: MemorySpace, *candidates: Capacity | None) -> Capacity | None:
    """Return the first known capacity. Only the default memory space has one, and not in dumps for the CPU, where it
    is the host's memory.
    """
    if space.id.color != DEFAULT_COLOR or space.id.backend is Backend.CPU:
        return None
    return next((capacity for capacity in candidates if capacity), None)


def over_bytes(space: MemorySpace, limit_bytes: int) -> int | None:
    """Return by how much a program exceeds a budget or the device, 0 if it fits, None if the dump does not tell. The
    device must provide the needed bytes for as long as the program runs.
    """
    if space.reserved_bound is Bound.EXACT:
        return max(0, space.needed_bytes - limit_bytes)
    if space.reserved_bound is Bound.AT_MOST:
        if space.needed_bytes <= limit_bytes:
            return 0
        return max(0, (space.surely_needed_bytes or 0) - limit_bytes) or None
    # What is live at once must be provided, too. Bounds can prove that the program does not fit, but not that it does.
    known = [
        size_bytes
        for size_bytes, bound in ((space.needed_bytes, space.reserved_bound), (space.peak_live_bytes, space.live_bound))
        if bound is not Bound.UNKNOWN
    ]
    over = max(known, default=0) - limit_bytes
    return over if over > 0 else None
