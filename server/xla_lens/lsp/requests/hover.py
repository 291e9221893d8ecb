"""`textDocument/hover`."""

from lsprotocol import types as lsp

from xla_lens.editor.hover import hover as hover_of
from xla_lens.lsp.client import ClientCapabilities
from xla_lens.lsp.snapshot import Snapshot
from xla_lens.model.hlo.mentions import HloMention
from xla_lens.model.places.mentions import Allocation, Mention, Value
from xla_lens.model.places.places import Place
from xla_lens.words.command_links import NO_LINKS, CommandLinks
from xla_lens.words.markdown import without_marks
from xla_lens.words.terms import term_at


def hover(snapshot: Snapshot, params: lsp.HoverParams) -> lsp.Hover | None:
    """Explain what a dump file or an HLO module mentions at a position, below what the term there means. The hover of a
    value explains its name, and that of an allocation its kind.
    """
    position, texts = params.position, []
    mention = snapshot.mention(position)
    term = term_at(snapshot.dump, snapshot.file.document, snapshot.offset(position))
    if term and mention and (term.is_in_name or isinstance(mention.target, Allocation)):
        term = None
    if term:
        texts.append(term.markdown)
    if mention:
        links = command_links(snapshot.uri, snapshot.capabilities)
        texts.append(hover_of(snapshot.analysis, mention, links, lambda row: _compared(snapshot, row)))
    at = term or mention
    if at is None:
        return None
    if mention and snapshot.capabilities.has_command_uris:
        texts.append(_footer(snapshot, mention, position))
    markdown = "\n\n---\n\n".join(texts)
    return lsp.Hover(
        content(markdown, snapshot.capabilities), snapshot.convert.range(Place(snapshot.file, at.start, at.end))
    )


def _footer(snapshot: Snapshot, mention: Mention | HloMention, position: lsp.Position) -> str:
    """What can be done here. VS Code offers no code actions in files that are read-only, as dumps are."""
    links = command_links(snapshot.uri, snapshot.capabilities)
    target = mention.target
    in_map = [links.in_map("Show in the memory map", target.row)] if isinstance(target, Value) else []
    return " · ".join([*in_map, links.actions("Actions…", position.line, position.character)])


def _compared(snapshot: Snapshot, value: int) -> str | None:
    """What a value is in the other dump of the active comparison."""
    if not (active := snapshot.compared):
        return None
    from xla_lens.diff.values import other_line, other_value

    other = other_value(active.comparison, value, is_old=active.is_old)
    return other_line(other) if other else None


def command_links(uri: str, capabilities: ClientCapabilities) -> CommandLinks:
    """Return the links of a hover that run commands about a document. There are none if the editor runs no commands."""
    return CommandLinks(uri) if capabilities.has_command_uris else NO_LINKS


def content(markdown: str, capabilities: ClientCapabilities) -> lsp.MarkupContent:
    """Return a hover as the editor renders it."""
    formats = capabilities.get("text_document.hover.content_format")
    if not formats or lsp.MarkupKind.Markdown in formats:
        return lsp.MarkupContent(lsp.MarkupKind.Markdown, markdown)
    return lsp.MarkupContent(lsp.MarkupKind.PlainText, without_marks(markdown))
