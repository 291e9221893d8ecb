"""Hovers as Markdown: what a dump set knows about what a place mentions.

A hover leads with name, size, share of the peak and source line, then op_name, calls and live range, then placement.
Text from the dump is escaped as code, so that it cannot become a link or markup.
"""

from collections.abc import Callable, Iterator

from xla_lens.features.hover.hlo import computation_lines, element_lines, instruction_lines
from xla_lens.features.hover.memory import allocation_lines, peak_lines, scheduled_lines, step_lines
from xla_lens.features.hover.values import value_lines
from xla_lens.features.hover.words import Context
from xla_lens.model.analysis import Analysis
from xla_lens.model.hlo.mentions import HloComputation, HloInstruction, HloMention, meaning_of, values_of
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.places.mentions import Allocation, Instruction, Mention, Peak, Step, Target, Value
from xla_lens.model.warrants import Cause, Quantity
from xla_lens.render.command_links import NO_LINKS, CommandLinks
from xla_lens.render.warrants import reasons
from xla_lens.syntax.columns import NONE


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
            return "\n".join(computation_lines(module, row))
        case HloInstruction(row, index):
            name = module.name(row)
            values = values_of(analysis.dump, name) if not index else []
            elements = values if len(values) > 1 else []
            meaning = meaning_of(analysis.dump, name, index)
            if meaning is None or (isinstance(meaning, Instruction) and elements):
                lines = instruction_lines(analysis.dump, module, mention.target, links)
            else:
                lines = _dump_lines(context, meaning, NONE)
            return "\n".join((*lines, *element_lines(analysis.dump, elements)))


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
    if found := "; ".join(reasons(gap for gap in gaps if gap.cause is not Cause.MISSING)):
        yield f"- incomplete: {found}"
