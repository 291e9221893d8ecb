"""Which instructions of an HLO module run before others in any schedule: what these are computed from."""

from collections.abc import Mapping
from typing import Final

from xla_lens.model.hlo.module import HloModule
from xla_lens.syntax.columns import NONE

VIEWS: Final = frozenset((b"bitcast", b"get-tuple-element", b"tuple"))
"""Instructions that compute nothing, but show their operands in another form."""


def read_before_written(module: HloModule, writers: Mapping[int, int]) -> set[int]:
    """Return the parameters of the entry computation of which every other reader has to run before the instruction
    that is to write over them. `writers` are these instructions by the parameters, rows of the module.
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
    return {row for row, writer in writers.items() if readers_lead_to[row] & bit_of[writer]}
