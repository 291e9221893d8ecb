"""The live bytes of a step by source line. Each byte counts for the value that owns it (`model/attribution/owned.py`),
and each value for the user frame that made its instruction: the innermost call outside of libraries. No line makes the
parameters of the program; they count for their argument.
"""

from collections import defaultdict
from typing import TypeAlias

import numpy as np

from xla_lens.model.attribution.frames import origins
from xla_lens.model.attribution.owned import owned_bytes
from xla_lens.model.attribution.parameters import argument_names
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
    """The bytes of one source line, or of the parameters below one name, such as ``state[1]``.

    `frame` has no column. `argument` is the name of parameters that have no line (`argument_of`). Both are None for the
    values without a source. `values` are rows of `DumpSet.values` and `stacks` the call stacks that lead to the line,
    both by size, largest first.
    """

    frame: StackFrame | None
    argument: str | None
    size_bytes: int
    values: tuple[int, ...]
    stacks: tuple[StackBytes, ...]

    @property
    def is_known(self) -> bool:
        """Whether the values have a line or an argument."""
        return self.frame is not None or self.argument is not None


@dataclass(frozen=True, slots=True)
class BytesByLine:
    """The lines and arguments by size, largest first, then the values without a source. They add up to the live bytes.

    `unresolved_bytes` of them have a source that only the HLO module contains, but the module is missing or lacks it.
    """

    lines: tuple[LineBytes, ...]
    unresolved_bytes: int


def bytes_by_line(dump: DumpSet, module: HloModule | None, step: int, color: int) -> BytesByLine:
    """Return the bytes that are live in a memory space at a step, by source line or argument. Values that own no
    byte are left out.
    """
    values, owned = owned_bytes(dump, step, color)
    order = np.lexsort((values, -owned))
    values, owned = values[order], owned[order]
    names = dump.values.name[values].tolist()
    found = origins(dump, module, names)
    arguments = argument_names(dump, module, values)
    rows: defaultdict[_Key, list[tuple[int, int, tuple[StackFrame, ...]]]] = defaultdict(list)
    unresolved_bytes = 0
    for value, size_bytes, name in zip(values.tolist(), owned.tolist(), names, strict=True):
        if size_bytes:
            line = found[name].line
            key = line, None if line else arguments.get(value)
            rows[key].append((value, size_bytes, found[name].frames))
            unresolved_bytes += size_bytes * found[name].is_unresolved
    lines = [_line(*key, line_rows) for key, line_rows in rows.items()]
    return BytesByLine(tuple(sorted(lines, key=lambda line: (not line.is_known, -line.size_bytes))), unresolved_bytes)


_Key: TypeAlias = tuple[StackFrame | None, str | None]


def _line(
    frame: StackFrame | None, argument: str | None, rows: list[tuple[int, int, tuple[StackFrame, ...]]]
) -> LineBytes:
    sizes: defaultdict[tuple[StackFrame, ...], int] = defaultdict(int)
    for _, size_bytes, frames in rows:
        sizes[frames] += size_bytes
    stacks = (StackBytes(frames, size_bytes) for frames, size_bytes in sizes.items() if frames)
    return LineBytes(
        frame=frame,
        argument=argument,
        size_bytes=sum(sizes.values()),
        values=tuple(value for value, _, _ in rows),
        stacks=tuple(sorted(stacks, key=lambda stack: -stack.size_bytes)),
    )
