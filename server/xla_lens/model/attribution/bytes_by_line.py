"""The live bytes of a step by source line. Each byte counts for the value that owns it (`model/attribution/owned.py`),
and each value for the user frame that made its instruction: the innermost call outside of libraries.
"""

from collections import defaultdict

import numpy as np

from xla_lens.model.attribution.frames import origins
from xla_lens.model.attribution.owned import owned_bytes
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.hlo.stack_frames import StackFrame
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.records import dataclass


@dataclass(frozen=True, slots=True)
class StackBytes:
    """The bytes of one call stack, innermost frame first."""

    frames: tuple[StackFrame, ...]
    size_bytes: int


@dataclass(frozen=True, slots=True)
class LineBytes:
    """The bytes of one source line.

    `frame` has no column, and is None for the values without a source. `values` are rows of `DumpSet.values` and
    `stacks` the call stacks that lead to the line, both by size, largest first.
    """

    frame: StackFrame | None
    size_bytes: int
    values: tuple[int, ...]
    stacks: tuple[StackBytes, ...]


@dataclass(frozen=True, slots=True)
class BytesByLine:
    """The lines by size, largest first, then the values without a source. They add up to the live bytes.

    `unresolved_bytes` of them have a source that only the HLO module contains, but the module is missing or lacks it.
    """

    lines: tuple[LineBytes, ...]
    unresolved_bytes: int


def bytes_by_line(dump: DumpSet, module: HloModule | None, step: int, color: int) -> BytesByLine:
    """Return the bytes that are live in a memory space at a step, by source line. Values that own no byte are left
    out.
    """
    values, owned = owned_bytes(dump, step, color)
    order = np.lexsort((values, -owned))
    values, owned = values[order], owned[order]
    names = dump.values.name[values].tolist()
    found = origins(dump, module, names)
    rows: defaultdict[StackFrame | None, list[tuple[int, int, tuple[StackFrame, ...]]]] = defaultdict(list)
    unresolved_bytes = 0
    for value, size_bytes, name in zip(values.tolist(), owned.tolist(), names, strict=True):
        if size_bytes:
            rows[found[name].line].append((value, size_bytes, found[name].frames))
            unresolved_bytes += size_bytes * found[name].is_unresolved
    lines = [_line(frame, line_rows) for frame, line_rows in rows.items()]
    return BytesByLine(tuple(sorted(lines, key=lambda line: (line.frame is None, -line.size_bytes))), unresolved_bytes)


def _line(frame: StackFrame | None, rows: list[tuple[int, int, tuple[StackFrame, ...]]]) -> LineBytes:
    sizes: defaultdict[tuple[StackFrame, ...], int] = defaultdict(int)
    for _, size_bytes, frames in rows:
        sizes[frames] += size_bytes
    stacks = (StackBytes(frames, size_bytes) for frames, size_bytes in sizes.items() if frames)
    return LineBytes(
        frame=frame,
        size_bytes=sum(sizes.values()),
        values=tuple(value for value, _, _ in rows),
        stacks=tuple(sorted(stacks, key=lambda stack: -stack.size_bytes)),
    )
