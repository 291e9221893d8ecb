"""Hovers as Markdown: what a dump set knows about what a place mentions.

A hover leads with name, size, share of the peak and source line, then op_name, calls and live range, then placement.
Text from the dump is escaped as code, so that it cannot become a link or markup.
"""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Final

import numpy as np

from xla_lens.features.hover.memory import allocation_lines, peak_lines, scheduled_lines, step_lines
from xla_lens.features.hover.values import element_lines, value_lines
from xla_lens.features.hover.words import LONGEST_SHAPE, Context
from xla_lens.model.analysis import Analysis
from xla_lens.model.hlo.mentions import HloComputation, HloInstruction, HloMention, meaning_of, references_to, values_of
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.places.mentions import Allocation, Instruction, Mention, Peak, Step, Target, Value
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.warrants import Cause, Quantity
from xla_lens.render.command_links import NO_LINKS, CommandLinks
from xla_lens.render.markdown import code
from xla_lens.render.numbers import counted, shortened
from xla_lens.render.sources import call_chain, source_suffix
from xla_lens.render.warrants import reasons
from xla_lens.syntax.columns import NONE
from xla_lens.text.positions import decode


def hover(
    analysis: Analysis,
    module: HloModule | None,
    mention: Mention | HloMention,
    links: CommandLinks = NO_LINKS,
    note: Callable[[int], str | None] = lambda _: None,
) -> str:
    """Return the hover of what a dump file or its HLO module mentions. `links` and `note` are those of `Context`."""
    context = Context(analysis, module, links, note)
    if isinstance(mention, Mention):
        return "\n".join(_dump_lines(context, mention.target, mention.name))
    if module is None:
        return ""
    match mention.target:
        case HloComputation(row):
            return "\n".join(_computation_lines(module, row))
        case HloInstruction(row, index):
            name = module.name(row)
            meaning = meaning_of(analysis.dump, name, index)
            values = values_of(analysis.dump, name) if not index and not isinstance(meaning, Value) else []
            values = values if len(values) > 1 else []
            if meaning and not values:
                return "\n".join(_dump_lines(context, meaning, NONE))
            lines = _instruction_lines(analysis.dump, module, mention.target, links)
            return "\n".join((*lines, *element_lines(analysis.dump, np.array(values, np.int64), links)))


def _dump_lines(context: Context, target: Target, name: int) -> Iterator[str]:
    analysis, links = context.analysis, context.links
    relies_on: tuple[Quantity, ...] = (Quantity.LIVE,)
    match target:
        case Value(row):
            relies_on = (Quantity.LIVE, Quantity.SOURCES, Quantity.USES)
            yield from value_lines(context, row, name)
        case Allocation(row):
            relies_on = (Quantity.LIVE, Quantity.RESERVED)
            yield from allocation_lines(analysis, row, links)
        case Step(step):
            yield from step_lines(analysis, step, links)
        case Instruction(row):
            relies_on = ()
            yield from scheduled_lines(analysis.dump, row)
        case Peak(row):
            relies_on = (Quantity.LIVE, Quantity.RESERVED, Quantity.PRINTED_PEAK)
            yield from peak_lines(analysis, row)
    gaps = analysis.warrants.of(*relies_on).gaps
    if found := reasons(gap for gap in gaps if gap.cause is not Cause.MISSING):
        yield f"- incomplete: {found}"


# ---------------------------------------------------------------- HLO modules

_MAX_CALLERS: Final = 8


def _instruction_lines(dump: DumpSet, module: HloModule, target: HloInstruction, links: CommandLinks) -> Iterator[str]:
    """What an instruction is, without anything that the dump knows of it."""
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


def _computation_lines(module: HloModule, row: int) -> Iterator[str]:
    """The size of a computation, its root and its callers."""
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
