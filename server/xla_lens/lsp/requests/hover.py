"""`textDocument/hover`."""

from lsprotocol import types as lsp

from xla_lens.features.hlo.hover import InstructionFacts
from xla_lens.features.hlo.hover import hover as hlo_hover_facts
from xla_lens.features.hover import hover as hover_facts
from xla_lens.features.hover.glossary import Term, term_at
from xla_lens.lsp.capabilities import ClientCapabilities
from xla_lens.lsp.snapshot import HloSnapshot, Snapshot
from xla_lens.model.analysis import Analysis
from xla_lens.model.hlo.mentions import HloMention
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.places.mentions import Allocation, Mention, Role, Value
from xla_lens.render.command_links import NO_LINKS, CommandLinks
from xla_lens.render.diff.other import other_line
from xla_lens.render.glossary import term_markdown
from xla_lens.render.hlo import hlo_hover_markdown
from xla_lens.render.hover import hover_markdown
from xla_lens.render.markdown import without_marks


def hover(snapshot: Snapshot, params: lsp.HoverParams) -> lsp.Hover | None:
    """Explain what a dump file or an HLO module mentions at a position, and the term there. An instruction of a module
    is explained with its value in the dump.
    """
    if not isinstance(snapshot, HloSnapshot):
        mention = snapshot.mention(params.position)
        return _hover(snapshot, params.position, _markdown(snapshot, mention) if mention else None, mention)
    named = snapshot.hlo_mention(params.position)
    if named is None:
        return _hover(snapshot, params.position, None, None)
    facts = hlo_hover_facts(snapshot.analysis, snapshot.module, named)
    target = facts.target if isinstance(facts, InstructionFacts) else None
    meant = Mention(target, Role.INSTRUCTION_TEXT, named.start, named.end) if target else None
    links = command_links(snapshot.uri, snapshot.capabilities)
    markdown = hlo_hover_markdown(facts, _markdown(snapshot, meant) if meant else None, links)
    return _hover(snapshot, params.position, markdown, named)


def _markdown(snapshot: Snapshot, mention: Mention) -> str:
    """The hover of a mention; of a value with a line about the other dump of the active comparison, after the title."""
    markdown = mention_markdown(snapshot.analysis, snapshot.module, mention, snapshot.uri, snapshot.capabilities)
    if snapshot.compared is None or not isinstance(mention.target, Value):
        return markdown
    other = snapshot.compared.other(mention.target.row)
    if other is None:
        return markdown
    title, _, rest = markdown.partition("\n\n")
    return "\n".join((title, "", f"- {other_line(other)}", *([rest] if rest else [])))


def _hover(
    snapshot: Snapshot, position: lsp.Position, markdown: str | None, mention: Mention | HloMention | None
) -> lsp.Hover | None:
    """The hover of a mention, below what the term at the position means. The hover of a value explains its name, and
    that of an allocation its kind.
    """
    term = term_at(snapshot.analysis.dump, snapshot.file.document, snapshot.offset(position))
    if term and mention and (term.term is Term.REMAT or isinstance(mention.target, Allocation)):
        term = None
    at = term or mention
    if at is None:
        return None
    text = "\n\n---\n\n".join(filter(None, (term_markdown(term) if term else None, markdown)))
    return lsp.Hover(content(text, snapshot.capabilities), snapshot.convert.range(snapshot.file, at.start, at.end))


def mention_markdown(
    analysis: Analysis, module: HloModule | None, mention: Mention, uri: str, capabilities: ClientCapabilities
) -> str:
    """Return the hover of a mention in a document."""
    facts = hover_facts(analysis, module, mention)
    return hover_markdown(facts, analysis.warrants, command_links(uri, capabilities))


def command_links(uri: str, capabilities: ClientCapabilities) -> CommandLinks:
    """Return the links of a hover that run commands about a document. There are none if the editor runs no commands."""
    return CommandLinks(uri) if capabilities.has_command_uris else NO_LINKS


def content(markdown: str, capabilities: ClientCapabilities) -> lsp.MarkupContent:
    """Return a hover as the editor renders it."""
    if capabilities.has_markdown:
        return lsp.MarkupContent(lsp.MarkupKind.Markdown, markdown)
    return lsp.MarkupContent(lsp.MarkupKind.PlainText, without_marks(markdown))
