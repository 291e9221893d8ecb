"""`textDocument/hover`."""

from lsprotocol import types as lsp

from xla_lens.features.hlo.hover import InstructionFacts
from xla_lens.features.hlo.hover import hover as hlo_hover_facts
from xla_lens.features.hover import hover as hover_facts
from xla_lens.lsp.snapshot import HloSnapshot, Snapshot
from xla_lens.model.places.mentions import Mention, Role, Value
from xla_lens.render.diff.other import other_line
from xla_lens.render.hlo import hlo_hover_markdown
from xla_lens.render.hover import hover_markdown
from xla_lens.render.markdown import without_marks


def hover(snapshot: Snapshot, params: lsp.HoverParams) -> lsp.Hover | None:
    """Explain what the dump file mentions at a position."""
    mention = snapshot.mention(params.position)
    if mention is None:
        return None
    markdown = hover_markdown(hover_facts(snapshot.analysis, snapshot.module, mention), snapshot.analysis.warrants)
    return _hover(snapshot, _compared(snapshot, mention, markdown), mention.start, mention.end)


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
    value = _compared(snapshot, meant, value) if meant and value else value
    return _hover(snapshot, hlo_hover_markdown(facts, value), mention.start, mention.end)


def _compared(snapshot: Snapshot, mention: Mention, markdown: str) -> str:
    """The hover of a value with a line about the other dump of the active comparison, after the title."""
    if snapshot.compared is None or not isinstance(mention.target, Value):
        return markdown
    other = snapshot.compared.other(mention.target.row)
    if other is None:
        return markdown
    title, _, rest = markdown.partition("\n\n")
    return "\n".join((title, "", f"- {other_line(other)}", *([rest] if rest else [])))


def _hover(snapshot: Snapshot, markdown: str, start: int, end: int) -> lsp.Hover:
    if snapshot.capabilities.has_markdown:
        content = lsp.MarkupContent(lsp.MarkupKind.Markdown, markdown)
    else:
        content = lsp.MarkupContent(lsp.MarkupKind.PlainText, without_marks(markdown))
    return lsp.Hover(content, snapshot.convert.range(snapshot.file, start, end))
