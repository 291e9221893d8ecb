"""The live bytes of a step by source line. Each byte counts for the value that owns it (`model/attribution/owned.py`),
and each value for the user frame of its origin (`model/attribution/frames.py`), which is the innermost call outside of
libraries. No line makes the parameters of the program; they count for their argument.
"""

from collections import defaultdict
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from xla_lens.model.attribution.frames import Origin, Origins
from xla_lens.model.attribution.owned import owned_bytes
from xla_lens.model.attribution.parameters import arguments_of
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.hlo.stack_frames import StackFrame
from xla_lens.model.tables.dump_set import DumpSet


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
    both by size, largest first. The source of `derived_bytes` is derived from the data flow.
    """

    frame: StackFrame | None
    argument: str | None
    size_bytes: int
    values: tuple[int, ...]
    stacks: tuple[StackBytes, ...]
    derived_bytes: int

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


def bytes_by_line(
    dump: DumpSet, module: HloModule | None, step: int, color: int, *, through_loops: bool = True
) -> BytesByLine:
    """Return the bytes that are live in a memory space at a step, by source line or argument. Values that own no
    byte are left out. Without `through_loops`, what a loop carries counts for the line of the loop.
    """
    return lines_at(Origins(dump, module, through_loops=through_loops), step, color)


def lines_at(origins: Origins, step: int, color: int) -> BytesByLine:
    """Return what `bytes_by_line` does, from origins that other parts of a report share."""
    dump = origins.dump
    values, owned = owned_bytes(dump, step, color)
    order = np.lexsort((values, -owned))
    values, owned = values[order], owned[order]
    owners = list(zip(values.tolist(), owned.tolist(), strict=True))
    arguments = arguments_of(origins, [value for value, size_bytes in owners if size_bytes])
    rows: defaultdict[_Key, list[_Row]] = defaultdict(list)
    unresolved_bytes = 0
    for value, size_bytes in zip(values.tolist(), owned.tolist(), strict=True):
        if size_bytes:
            origin = origins.of_value(value)
            rows[origin.line, None if origin.line else arguments.get(value)].append((value, size_bytes, origin))
            unresolved_bytes += size_bytes * origin.is_unresolved
    lines = [_line(*key, line_rows) for key, line_rows in rows.items()]
    return BytesByLine(tuple(sorted(lines, key=lambda line: (not line.is_known, -line.size_bytes))), unresolved_bytes)


_Key: TypeAlias = tuple[StackFrame | None, str | None]
_Row: TypeAlias = tuple[int, int, Origin]
"""A value, its bytes and its origin."""


def _line(frame: StackFrame | None, argument: str | None, rows: list[_Row]) -> LineBytes:
    sizes: defaultdict[tuple[StackFrame, ...], int] = defaultdict(int)
    for _, size_bytes, origin in rows:
        sizes[origin.frames] += size_bytes
    stacks = (StackBytes(frames, size_bytes) for frames, size_bytes in sizes.items() if frames)
    return LineBytes(
        frame=frame,
        argument=argument,
        size_bytes=sum(sizes.values()),
        values=tuple(value for value, _, _ in rows),
        stacks=tuple(sorted(stacks, key=lambda stack: -stack.size_bytes)),
        derived_bytes=sum(size_bytes for _, size_bytes, origin in rows if origin.derived),
    )
