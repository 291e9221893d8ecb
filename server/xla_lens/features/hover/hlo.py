"""The hover of a computation, and of an instruction that is not in the dump, in an HLO module."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from xla_lens.features.hover.words import LONGEST_SHAPE
from xla_lens.model.hlo.mentions import HloComputation, HloInstruction, references_to, values_of
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.render.command_links import CommandLinks
from xla_lens.render.markdown import code
from xla_lens.render.numbers import counted, human, shortened
from xla_lens.render.sources import call_chain, source_suffix
from xla_lens.syntax.columns import NONE
from xla_lens.text.positions import decode

_MAX_ELEMENTS: Final = 12
_MAX_CALLERS: Final = 8


def instruction_lines(dump: DumpSet, module: HloModule, target: HloInstruction, links: CommandLinks) -> Iterator[str]:
    """Yield what an instruction is, without anything that the dump knows of it."""
    row = target.row
    instruction, metadata = module.instruction(row), module.metadata(row)
    frames, name = module.frames(metadata), module.name(row)
    opcode, label = decode(instruction.opcode) if instruction else "?", decode(name + target.index)
    computation = decode(module.computation_name(module.computation_of(row)))
    yield f"{code(label)}, {code(opcode)} in {code(computation)}{source_suffix(frames, links)}"
    yield ""
    if instruction:
        yield f"- shape {code(shortened(decode(instruction.shape), LONGEST_SHAPE))}"
    if dump.files and (target.index or len(values_of(dump, name)) < 2):
        yield "- has no buffer of its own"
    if op_name := metadata.get("op_name"):
        yield f"- op_name {code(op_name)}"
    yield from call_chain(frames, links)


def element_lines(dump: DumpSet, elements: Sequence[int]) -> Iterator[str]:
    """Yield the first of several values of an instruction, rows of `DumpSet.values`. Nothing without any."""
    if elements:
        yield f"- {counted(len(elements), 'value')}:"
    for value in elements[:_MAX_ELEMENTS]:
        values, row = dump.values, int(dump.values.allocation[value])
        index = int(dump.allocations.index[row]) if row != NONE else NONE
        place = f", at offset {int(values.offset[value]):,} of allocation {index}" if index != NONE else ""
        is_timed = values.live_range[value] != NONE
        live = f", live {values.start_step[value]}–{values.end_step[value]}" if is_timed else ""
        yield f"  - {code(dump.value_label(value))} {human(int(values.size_bytes[value]))}{place}{live}"
    if len(elements) > _MAX_ELEMENTS:
        yield f"  - and {len(elements) - _MAX_ELEMENTS:,} more"


def computation_lines(module: HloModule, row: int) -> Iterator[str]:
    """Yield the size of a computation, its root and its callers."""
    kind = "entry computation" if module.columns.computations.is_entry[row] else "computation"
    count = counted(len(module.instructions_of(row)), "instruction")
    yield f"{code(decode(module.computation_name(row)))}, {kind} of {count}"
    yield ""
    if (root := module.root(row)) != NONE:
        yield f"- root {code(decode(module.name(root)))}"
    callers = {module.instruction_at(use.start): None for use in references_to(module, HloComputation(row))}
    if callers:
        names = ", ".join(code(decode(module.name(caller))) for caller in islice(callers, _MAX_CALLERS))
        more = len(callers) - _MAX_CALLERS
        yield f"- called by {names}{f' and {more:,} more' if more > 0 else ''}"
