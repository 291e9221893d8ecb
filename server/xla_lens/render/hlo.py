"""Hovers and call hierarchy items of HLO modules as text."""

from collections.abc import Iterator
from typing import Final

from xla_lens.features.hlo.call_hierarchy import Item
from xla_lens.features.hlo.hover import ComputationFacts, ElementFacts, InstructionFacts
from xla_lens.render.command_links import NO_LINKS, CommandLinks
from xla_lens.render.markdown import code
from xla_lens.render.numbers import counted, human, shortened
from xla_lens.render.sources import call_chain, source_suffix
from xla_lens.syntax.columns import NONE

_MAX_SHAPE_LENGTH: Final = 160


def hlo_hover_markdown(
    facts: InstructionFacts | ComputationFacts, value: str | None, links: CommandLinks = NO_LINKS
) -> str:
    """Return a hover as Markdown. `value` is the hover of the value in the dump, None if there is none. Text from the
    dump is escaped as code.
    """
    match facts:
        case InstructionFacts():
            return value if value and not facts.elements else "\n".join(_instruction(facts, value, links))
        case ComputationFacts():
            return "\n".join(_computation(facts))


def hlo_item_detail(item: Item) -> str:
    """Return the detail beside the name of an item: ``entry · 12 instructions``, ``fusion · 4.0 KiB · in main``."""
    if item.instruction_count is not None:
        return ("entry · " if item.is_entry else "") + counted(item.instruction_count, "instruction")
    parts = [item.opcode or "?"]
    if item.size_bytes is not None:
        parts.append(human(item.size_bytes))
    return " · ".join((*parts, f"in {item.computation.decode('utf-8', 'replace')}"))


def _instruction(facts: InstructionFacts, value: str | None, links: CommandLinks) -> Iterator[str]:
    if value:
        yield value
    else:
        source = source_suffix(facts.frames, links)
        yield f"{code(facts.name)}, {code(facts.opcode or '?')} in {code(facts.computation)}{source}"
        yield ""
        if facts.shape is not None:
            yield f"- shape {code(shortened(facts.shape, _MAX_SHAPE_LENGTH))}"
        if facts.has_dump and facts.target is None and not facts.elements:
            yield "- has no buffer of its own"
        if facts.op_name:
            yield f"- op_name {code(facts.op_name)}"
        yield from call_chain(facts.frames, links)
    if facts.elements:
        yield f"- {counted(facts.element_count, 'value')}:"
        yield from (f"  - {_element(element)}" for element in facts.elements)
    if facts.element_count > len(facts.elements):
        yield f"  - and {facts.element_count - len(facts.elements):,} more"


def _element(facts: ElementFacts) -> str:
    place = f", at offset {facts.offset:,} of allocation {facts.allocation}" if facts.allocation != NONE else ""
    live = f", live {facts.live[0]}–{facts.live[1]}" if facts.live else ""
    return f"{code(facts.label)} {human(facts.size_bytes)}{place}{live}"


def _computation(facts: ComputationFacts) -> Iterator[str]:
    kind = "entry computation" if facts.is_entry else "computation"
    yield f"{code(facts.name)}, {kind} of {counted(facts.instructions, 'instruction')}"
    yield ""
    if facts.root:
        yield f"- root {code(facts.root)}"
    if facts.callers:
        more = facts.caller_count - len(facts.callers)
        others = f" and {more:,} more" if more else ""
        yield f"- called by {', '.join(map(code, facts.callers))}{others}"
