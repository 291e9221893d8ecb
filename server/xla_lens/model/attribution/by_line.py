"""Which lines of a program the bytes of a step come from: each byte counts for the value that owns it, see
`model/attribution/owned.py`, and each value for the innermost call outside of libraries that made its instruction.
"""

from collections import defaultdict
from dataclasses import dataclass, replace

import numpy as np

from xla_lens.model.attribution.owned import owned_bytes
from xla_lens.model.attribution.sources import frames_of
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.hlo.stack_frames import StackFrame, own_frame
from xla_lens.model.tables.dump_set import DumpSet


@dataclass(frozen=True, slots=True)
class StackBytes:
    """The bytes of one chain of calls, the innermost first."""

    frames: tuple[StackFrame, ...]
    size_bytes: int


@dataclass(frozen=True, slots=True)
class LineBytes:
    """A line of the program: of `frame` no column is told, and it is None for all values that have no source. `values`
    are rows of `DumpSet.values`, `stacks` the chains of calls that lead there; both have the most bytes first.
    """

    frame: StackFrame | None
    size_bytes: int
    values: tuple[int, ...]
    stacks: tuple[StackBytes, ...]


@dataclass(frozen=True, slots=True)
class Lines:
    """The bytes of a step by line, the most first and what has no source last; they add up to the live bytes.
    `unresolved_bytes` of them have a source that only an HLO module can tell, and none is there or it does not.
    """

    lines: tuple[LineBytes, ...]
    unresolved_bytes: int


def lines_at(dump: DumpSet, module: HloModule | None, step: int, color: int) -> Lines:
    """The lines that the bytes which are live in a memory space at a step come from. Values that own no byte are left
    out.
    """
    values, owned = owned_bytes(dump, step, color)
    order = np.lexsort((values, -owned))
    values, owned = values[order], owned[order]
    names = dump.values.name[values].tolist()
    stacks = {name: frames_of(dump, module, name) for name in dict.fromkeys(names)}
    found: defaultdict[StackFrame | None, list[tuple[int, int, tuple[StackFrame, ...]]]] = defaultdict(list)
    unresolved_bytes = 0
    for value, size_bytes, name in zip(values.tolist(), owned.tolist(), names, strict=True):
        if size_bytes:
            own = own_frame(stacks[name])
            found[replace(own, column=None) if own else None].append((value, size_bytes, stacks[name]))
            unresolved_bytes += size_bytes * (own is None and _names_a_frame(dump, name))
    lines = [_line(frame, rows) for frame, rows in found.items()]
    return Lines(tuple(sorted(lines, key=lambda line: (line.frame is None, -line.size_bytes))), unresolved_bytes)


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


def _names_a_frame(dump: DumpSet, name: int) -> bool:
    instruction = dump.instruction(name)
    return instruction is not None and instruction.stack_frame_id is not None
