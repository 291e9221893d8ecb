"""How XLA finds the step that it prints as the peak (HloLiveRange::ComputePeakMemoryMoment).

It adds up shapes, not places: each value counts as the whole shape of the instruction that defines it, so that an
element of a tuple counts as the tuple's table of pointers; a value still counts one step after its end; and all memory
spaces count together. The first step with the greatest sum is printed, whatever is live there.
"""

from collections import Counter

import numpy as np

from xla_lens.model.dump_set import EMPTY_INDEX, DumpSet
from xla_lens.syntax.columns import NONE
from xla_lens.syntax.hlo import parse_shape


def counted_bytes(dump: DumpSet, step: int) -> int | None:
    """The bytes that XLA counts at a step when it looks for the peak. None if the shape of one of the values is not
    known.
    """
    values = dump.values
    rows = np.flatnonzero((values.live_range != NONE) & (values.start_step <= step) & (step <= values.end_step + 1))
    tuples = dump.values_at(values.name[rows], np.full_like(rows, EMPTY_INDEX))
    whole = np.where(values.index[rows] > EMPTY_INDEX, tuples, rows)
    is_whole = (whole != NONE) & (values.name[whole] == values.name[rows]) & (values.index[whole] <= EMPTY_INDEX)
    shapes: Counter[bytes | None] = Counter(map(dump.shape, whole[is_whole].tolist()))
    for name, elements in Counter(values.name[rows[~is_whole]].tolist()).items():
        instruction = dump.instruction(name)
        shapes[instruction.shape.encode() if instruction else None] += elements
    total = 0
    for text, count in shapes.items():
        shape = parse_shape(text) if text is not None else None
        if shape is None or shape.byte_size is None:
            return None
        total += count * shape.byte_size
    return total
