"""Live bytes counted without the sweep, as an oracle."""

import numpy as np

from xla_lens.model.memory.edits import Edit, Piece
from xla_lens.model.tables.backend import Backend
from xla_lens.model.tables.dump_set import DumpSet


def live_after(dump: DumpSet, color: int, edit: Edit) -> dict[int, int]:
    """The live bytes of a memory space after an edit, at each step where they may change."""
    values, found, new = dump.values, list[tuple[int, int, int, int]](), list[Piece]()
    columns = (values.allocation, values.offset, values.size_bytes, values.start_step, values.end_step)
    for value, row in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
        allocation, offset, size, start, end = row
        if allocation < 0 or not 0 <= start <= end or _space(dump, allocation) != color:
            continue
        place = (allocation << 45) + offset
        for piece in edit.get(value, (Piece(start, end, size),)):
            if piece.moved_to is None:
                place_end = place + min(piece.size_bytes, size)
                found.append((place, place_end, max(piece.start_step, start), min(piece.end_step, end)))
            elif piece.start_step <= piece.end_step:
                new.append(piece)
    # Each new buffer is at bytes of its own.
    new += edit.get(-1, ())
    for number, piece in enumerate(new):
        place = (1 << 60) + (number << 45)
        found.append((place, place + piece.size_bytes, piece.start_step, piece.end_step))
    low, high, first, last = np.array(sorted(found), np.int64).reshape(-1, 4).T
    live = {}
    for step in np.unique(np.append(first, last + 1)).tolist():
        here = (first <= step) & (step <= last)
        covered_up_to = np.maximum.accumulate(np.append(0, high[here]))[:-1]
        live[step] = int(np.maximum(0, high[here] - np.maximum(low[here], covered_up_to)).sum())
    return live


def _space(dump: DumpSet, allocation: int) -> int:
    """The color of the memory space of an allocation. On a GPU, all but host memory (5) is the device's (0)."""
    color = dump.allocations.color.item(allocation)
    return 0 if dump.backend is Backend.GPU and color != 5 else color


def peak_after(dump: DumpSet, color: int, edit: Edit) -> tuple[int, int | None]:
    """The peak of a memory space after an edit and its first step, None if nothing is live."""
    live = live_after(dump, color, edit)
    most = max(live.values(), default=0)
    return most, min((step for step in live if live[step] == most), default=None) if most else None
