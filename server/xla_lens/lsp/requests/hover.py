"""`textDocument/hover`."""

from lsprotocol import types as lsp

from xla_lens.features.hlo.hover import InstructionFacts
from xla_lens.features.hlo.hover import hover as hlo_hover_facts
from xla_lens.features.hover import hover as hover_facts
from xla_lens.lsp.snapshot import HloSnapshot, Snapshot
from xla_lens.model.places.mentions import Mention, Role
from xla_lens.render.hlo import hlo_hover_markdown
from xla_lens.render.hover import hover_markdown
from xla_lens.render.markdown import without_marks


def hover(snapshot: Snapshot, params: lsp.HoverParams) -> lsp.Hover | None:
    """Explain what the dump file mentions at a position."""
    mention = snapshot.mention(params.position)
    if mention is None:
        return None
    markdown = hover_markdown(hover_facts(snapshot.analysis, snapshot.module, mention), snapshot.analysis.warrants)
    return _hover(snapshot, markdown, mention.start, mention.end)


def hlo_hover(snapshot: HloSnapshot, params: lsp.HoverParams) -> lsp.Hover | None:
    """Explain what the HLO module mentions at a position, with the hover of its value in the dump."""
    mention = snapshot.hlo_mention(params.position)
    if mention is None:
        return None
    facts = hlo_hover_facts(snapshot.analysis, snapshot.module, mention)
    target = facts.target if isinstance(facts, InstructionFacts) else None
    meant = Mention(target, Role.INSTRUCTION_TEXT, mention.start, mention.end) if target else None
    meaning = hover_facts(snapshot.analysis, snapshot.module, meant) if meant else None
    value = hover_markdown(meaning, snapshot.analysis.warrants) if meaning else None
    return _hover(snapshot, hlo_hover_markdown(facts, value), mention.start, mention.end)


def _hover(snapshot: Snapshot, markdown: str, start: int, end: int) -> lsp.Hover:
    if snapshot.capabilities.has_markdown:
        content = lsp.MarkupContent(lsp.MarkupKind.Markdown, markdown)
    else:
        content = lsp.MarkupContent(lsp.MarkupKind.PlainText, without_marks(markdown))
    return lsp.Hover(content, snapshot.convert.range(snapshot.file, start, end))
