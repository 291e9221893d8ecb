"""What a memory space needs: the bytes that the device must provide for a program.

The *needed bytes* of a memory space are the sizes of its allocations without the thread-local ones, which are in
registers or on stacks. They are the arguments, outputs and temporaries of `compiled.memory_analysis()`, where the
bytes of donated arguments count once, and constants, which that leaves out. The peak of the live bytes is usually
lower: an output without a donated argument has its allocation before anything is written to it, and temporaries have
gaps between them.
"""

from collections.abc import Iterable

import numpy as np
from msgspec import Struct

from xla_lens.model.memory.over_time import Memory, MemorySpace
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.kinds import KIND_NAMES, allocation_kinds, is_thread_local
from xla_lens.model.warrants import Bound
from xla_lens.syntax.columns import Column, Kind


class ProgramBytes(Struct, frozen=True):
    """The bytes of a memory space as `compiled.memory_analysis()` counts them. `aliased_bytes` are allocations of
    donated arguments that hold outputs: they count as arguments and as outputs.
    """

    argument_bytes: int
    output_bytes: int
    temporary_bytes: int
    aliased_bytes: int


def program_bytes(dump: DumpSet, color: int) -> ProgramBytes:
    """Return the bytes of arguments, outputs and temporaries in a memory space."""
    return ProgramBytes(
        argument_bytes=kind_bytes(dump, color, Kind.PARAMETER),
        output_bytes=kind_bytes(dump, color, Kind.MAYBE_LIVE_OUT),
        temporary_bytes=kind_bytes(dump, color, Kind.PREALLOCATED_TEMP),
        aliased_bytes=kind_bytes(dump, color, Kind.PARAMETER | Kind.MAYBE_LIVE_OUT),
    )


def kind_bytes(dump: DumpSet, color: int, kind: Kind) -> int:
    """Return the bytes of the allocations of a kind in a memory space."""
    table = dump.allocations
    is_of_kind = (np.maximum(table.kind, 0) & int(kind)) == int(kind)
    return sum(table.size_bytes[is_of_kind & (dump.allocation_spaces == color)].tolist())


def thread_local_bytes(spaces: Iterable[MemorySpace]) -> int:
    """Return the reserved bytes that the device need not provide, of those memory spaces in which they are exact."""
    known = [space for space in spaces if space.reserved_bound is Bound.EXACT]
    return sum(space.reserved_bytes - space.needed_bytes for space in known)


def reserved_parts(dump: DumpSet, color: int) -> tuple[tuple[str, int], ...]:
    """Return the reserved bytes of a memory space by the kind of the allocation, without kinds that have none. They add
    up to the reserved bytes.
    """
    return _by_kind(dump, np.where(dump.allocation_spaces == color, dump.allocations.size_bytes, 0))


def color_parts(dump: DumpSet, color: int) -> tuple[tuple[str, int], ...]:
    """Return `reserved_parts` of the allocations of one color."""
    return _by_kind(dump, np.where(dump.allocations.color == color, dump.allocations.size_bytes, 0))


def not_live_parts(dump: DumpSet, memory: Memory, space: MemorySpace) -> tuple[tuple[str, int], ...]:
    """Return the bytes that a memory space needs but that are not live at its peak, by the kind of the allocation. They
    add up to the needed bytes minus the peak; the thread-local ones, which are live but not needed, are negative.
    """
    is_here, changes = dump.allocation_spaces == space.color, memory.changes
    bytes_now = np.where(is_here, dump.allocations.size_bytes, 0)
    bytes_now[is_thread_local(dump)] = 0
    if space.peak_step is not None:
        is_counted = (changes.steps <= space.peak_step) & is_here[changes.allocation]
        np.subtract.at(bytes_now, changes.allocation[is_counted], changes.deltas[is_counted])
    return _by_kind(dump, bytes_now)


def _by_kind(dump: DumpSet, sizes: Column) -> tuple[tuple[str, int], ...]:
    rows = np.flatnonzero(sizes)
    kinds, sizes = allocation_kinds(dump)[rows], sizes[rows]
    sums = ((name, sum(sizes[kinds == kind].tolist())) for kind, name in enumerate(KIND_NAMES))
    return tuple((name, size_bytes) for name, size_bytes in sums if size_bytes)
