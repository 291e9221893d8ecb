"""Requests about pages: their text, and the answers that lead back to the dump."""

from pathlib import Path
from typing import Final

from lsprotocol import types as lsp

from xla_lens.blocks.blocks import EditorCommand, Explanation, FileLine, InMap, LinkTarget
from xla_lens.disk.package_files import explanation_path
from xla_lens.editor.hover import hover as hover_of
from xla_lens.editor.pages import Link, page_sections
from xla_lens.lsp.documents import uri_of
from xla_lens.lsp.pages import is_explanation
from xla_lens.lsp.requests.annotations import source_link
from xla_lens.lsp.requests.hover import command_links, content
from xla_lens.lsp.requests.out_of_memory import restore_explanation
from xla_lens.lsp.snapshot import PageSnapshot
from xla_lens.lsp.state import State
from xla_lens.model.hlo.stack_frames import StackFrame
from xla_lens.model.places.entities import Entity, entity_target
from xla_lens.model.places.mentions import Mention
from xla_lens.syntax.tables import MentionRole
from xla_lens.text.positions import decode
from xla_lens.words.command_links import CommandLinks

_UNKNOWN: Final = "There is no such page, or its dump is neither open nor in the workspace.\n"


async def text_document_content(state: State, params: lsp.TextDocumentContentParams) -> lsp.TextDocumentContentResult:
    """The text of a page, or why there is none."""
    page = await state.page(params.uri)
    if page is None and is_explanation(params.uri):
        await restore_explanation(state, params.uri)
        page = await state.page(params.uri)
    return lsp.TextDocumentContentResult(decode(page.document.data) if page else _UNKNOWN)


def hover(snapshot: PageSnapshot, params: lsp.HoverParams) -> lsp.Hover | None:
    """Explain what the page names at a position, as in the dump."""
    page, capabilities = snapshot.page, snapshot.capabilities
    link = page.link_at(params.position)
    if link is None or link.place is None or not isinstance(link.target, Entity):
        return None
    analysis = snapshot.sets[0 if link.target.is_old else -1]
    target = entity_target(analysis.dump, link.target) if analysis else None
    if analysis is None or target is None:
        return None
    mention = Mention(target, MentionRole.USED_VALUE, link.start, link.end)
    links = command_links(snapshot.convert.uri(link.place.file), capabilities)
    markdown = hover_of(analysis, mention, links)
    return lsp.Hover(content(markdown, capabilities), page.range_of(link))


async def definition(snapshot: PageSnapshot, params: lsp.DefinitionParams) -> list[lsp.Location] | None:
    """Where the link at a position of a page leads: to a line of the program, or to a place in the dump and, in a
    comparison, its counterpart in the other dump.
    """
    link = snapshot.page.link_at(params.position)
    if link is None:
        return None
    uri, row = "", 0
    match link.target:
        case Explanation(code):
            uri = explanation_path(code).as_uri()
        case StackFrame(file, line):
            if (source := await snapshot.find_source(file)) is None:
                return None
            uri, row = uri_of(source), max((line or 1) - 1, 0)
    if uri:
        start = lsp.Position(row, 0)
        return [lsp.Location(uri, lsp.Range(start, start))]
    others = snapshot.page.beside(link) if len(snapshot.page.sources) > 1 else []
    return [snapshot.convert.location(each.place) for each in (link, *others) if each.place] or None


def document_link(snapshot: PageSnapshot, params: lsp.DocumentLinkParams) -> list[lsp.DocumentLink]:
    """The links of a page. Links to source files get their target from `documentLink/resolve`."""

    def link_to(link: Link) -> lsp.DocumentLink:
        where = snapshot.page.range_of(link)
        match link.target:
            case StackFrame():
                return lsp.DocumentLink(where, **source_link(link.target, snapshot.capabilities))
            case Explanation(code):
                uri = explanation_path(code).as_uri()
            case EditorCommand(name, step, path):
                uri = CommandLinks(Path(path).as_uri() if path else params.text_document.uri).about_dump(name, step)
            case FileLine(path, line):
                uri = f"{Path(path).as_uri()}#L{line}"
            case InMap(values, name):
                uri = CommandLinks(params.text_document.uri).values(values, name)
            case tuple():
                uri = CommandLinks(params.text_document.uri).values(link.target)
            case _:
                uri = snapshot.convert.line_uri(link.place) if link.place else ""
        return lsp.DocumentLink(where, uri)

    def leads_nowhere(target: LinkTarget) -> bool:
        return isinstance(target, FileLine) and not Path(target.path).is_absolute()

    return [link_to(link) for link in snapshot.page.links if not leads_nowhere(link.target)]


def document_symbol(snapshot: PageSnapshot, _params: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol]:
    """The sections of a page."""
    lines, found = snapshot.page.lines, list[lsp.DocumentSymbol]()
    for first, last in page_sections(lines):
        start, end = lsp.Position(first, 0), lsp.Position(last + 1, 0)
        ranges = lsp.Range(start, end), lsp.Range(start, start)
        found.append(lsp.DocumentSymbol(lines[first], lsp.SymbolKind.Namespace, *ranges))
    return found


def folding_range(snapshot: PageSnapshot, _params: lsp.FoldingRangeParams) -> list[lsp.FoldingRange]:
    """The sections of a page."""
    return [lsp.FoldingRange(first, last) for first, last in page_sections(snapshot.page.lines)]
