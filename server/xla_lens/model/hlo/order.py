"""Which instructions of an HLO module run before others in any schedule: what these are computed from. And when XLA for
CPUs runs an instruction that it adds.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from xla_lens.model.hlo.module import HloModule
from xla_lens.syntax.columns import NONE

VIEWS: Final = frozenset((b"bitcast", b"get-tuple-element", b"tuple"))
"""Instructions that compute nothing, but show their operands in another form."""


class BeforeWritten(NamedTuple):
    """Parameters by what surely runs before an instruction writes over them: `read` are those of which every other
    reader does, `computed_from` those from which the instruction is computed.
    """

    read: set[int]
    computed_from: set[int]


def before_written(module: HloModule, writers: Mapping[int, int]) -> BeforeWritten:
    """Return what surely runs before instructions write over parameters of the entry computation. `writers` are these
    instructions by the parameters, rows of the module.
    """
    bit_of = {writer: 1 << number for number, writer in enumerate(dict.fromkeys(writers.values()))}
    rows = module.instructions_of(module.entry) if module.entry != NONE else range(0)
    counts = module.forms.operand_count.clip(0)
    ends = counts.cumsum()[rows.start : rows.stop]
    starts, operands = (ends - counts[rows.start : rows.stop]).tolist(), module.forms.operands.tolist()
    is_view = [opcode in VIEWS for opcode in module.sources.opcodes]
    opcodes, all_writers = module.sources.opcode.tolist(), (1 << len(bit_of)) - 1
    writing = [0] * (len(opcodes) + 1)
    for row, bit in bit_of.items():
        writing[row] = bit
    # The writers that an instruction leads to, and those that all of its readers lead to or are, as sets of bits.
    leads_to, readers_lead_to = writing.copy(), [all_writers] * len(writing)
    # Operands come before what reads them. Unknown ones (NONE) are in the last cell.
    for row, start, end in zip(reversed(rows), reversed(starts), ends.tolist()[::-1], strict=True):
        own = leads_to[row]
        of_reader = readers_lead_to[row] if is_view[opcodes[row]] else own
        for operand in operands[start:end]:
            leads_to[operand] |= own
            readers_lead_to[operand] &= of_reader
    return BeforeWritten(
        {row for row, writer in writers.items() if readers_lead_to[row] & bit_of[writer]},
        {row for row, writer in writers.items() if leads_to[row] & bit_of[writer]},
    )


def post_order(module: HloModule) -> dict[int, int]:
    """Return the places of the instructions of the entry computation in the order in which XLA visits them from the
    root: an instruction after its operands, and the first operand first (HloComputation::MakeInstructionPostOrder).
    """
    rows = module.instructions_of(module.entry) if module.entry != NONE else range(0)
    root = module.root(module.entry) if rows else NONE
    counts = module.forms.operand_count[: rows.stop].clip(0)
    ends, operands = counts.cumsum().tolist(), module.forms.operands.tolist()
    starts = [0, *ends]
    places, waiting = dict[int, int](), [root] if root != NONE else []
    is_passed = [False] * len(starts)
    while waiting:
        row = waiting[-1]
        if not is_passed[row]:
            is_passed[row] = True
            waiting += [
                each for each in operands[starts[row] : ends[row]][::-1] if each != NONE and not is_passed[each]
            ]
            continue
        waiting.pop()
        if row not in places:
            places[row] = len(places)
    return places


def queued_behind(module: HloModule, rows: Sequence[int]) -> list[int] | None:
    """Return for some instructions of the entry computation the row before which another one runs that waits for this
    instruction only. None if XLA did not run the instructions in the order in which they become ready, as it does on
    CPUs unless it schedules for memory (`BFScheduler`).
    """
    entry = module.instructions_of(module.entry) if module.entry != NONE else range(0)
    counts = module.forms.operand_count[entry.start : entry.stop].clip(0)
    first = module.forms.operand_count[: entry.start].clip(0).sum()
    waiting = np.flatnonzero(counts)
    starts = first + (counts.cumsum() - counts)[waiting]
    if not len(starts):
        return None
    operands = module.forms.operands[: first + counts.sum()]
    ready = np.maximum.reduceat(operands, starts)
    if (np.diff(ready) < 0).any():
        return None
    behind = np.append(waiting + entry.start, entry.stop - 1)
    found: list[int] = behind[ready.searchsorted(rows, "right")].tolist()
    return found
