"""Which instructions of an HLO module run before others in any schedule: what these are computed from."""

from collections.abc import Mapping
from typing import Final

from xla_lens.model.hlo.module import HloModule
from xla_lens.syntax.columns import NONE

_VIEWS: Final = frozenset((b"bitcast", b"get-tuple-element", b"tuple"))


def read_before_written(module: HloModule, writers: Mapping[int, int]) -> set[int]:
    """Return the parameters of the entry computation of which every other reader has to run before the instruction
    that is to write over them. `writers` are these instructions by the parameters, rows of the module.
    """
    bit_of = {writer: 1 << number for number, writer in enumerate(dict.fromkeys(writers.values()))}
    bits = {row: bit_of[writer] for row, writer in writers.items()}
    rows = module.instructions_of(module.entry) if module.entry != NONE else range(0)
    counts = module.forms.operand_count.clip(0)
    ends = counts.cumsum()[rows.start : rows.stop]
    starts, operands = (ends - counts[rows.start : rows.stop]).tolist(), module.forms.operands.tolist()
    is_view = [opcode in _VIEWS for opcode in module.sources.opcodes]
    opcodes, every = module.sources.opcode.tolist(), (1 << len(bit_of)) - 1
    # Of what computes nothing else from an instruction, the bits of those that all users lead to are the same.
    leading, common = dict[int, int](), dict[int, int]()
    for row, start, end in zip(reversed(rows), reversed(starts), ends.tolist()[::-1], strict=True):
        own = leading.get(row, 0) | bit_of.get(row, 0)
        passed = common.get(row, every) if is_view[opcodes[row]] else own
        for operand in operands[start:end]:
            leading[operand] = leading.get(operand, 0) | own
            common[operand] = common.get(operand, every) & passed
    return {row for row, bit in bits.items() if common.get(row, every) & bit}
