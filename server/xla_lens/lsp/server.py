"""The language server: one handler a request, each from a position to plain data and back.

A handler takes the analysis and the place in it, and then does not wait any more: what it answers from cannot change
under it. No handler knows anything of dumps, and none takes longer than its feature.
"""

import logging
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Final

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, lsp_method
from pygls.uris import to_fs_path

from xla_lens.features.hints import hints
from xla_lens.features.hover import hover
from xla_lens.features.navigation import declaration, definition, type_definition
from xla_lens.features.references import references
from xla_lens.features.symbols import document_symbols
from xla_lens.lsp.convert import Converter
from xla_lens.lsp.session import DumpSetState, Session
from xla_lens.model.analysis import Analysis
from xla_lens.model.dump_set import DumpSet
from xla_lens.model.members import Member
from xla_lens.model.mentions import Mention, mention_at
from xla_lens.model.places import Place
from xla_lens.render.hover import hover_markdown
from xla_lens.text.document import Document
from xla_lens.text.edits import Edit, backward
from xla_lens.text.positions import Encoding, encode, to_offset

LIMIT: Final = 10_000
"""Places in one answer, at most."""

SYMBOL_LIMIT: Final = 1_000
"""Entries below one part of an outline, at most: editors draw all of it at once."""

SWITCH_SECONDS: Final = 0.001
"""How long a thread keeps the interpreter when another wants it."""

DIAGNOSTIC_LIMIT: Final = 1_000
"""Diagnostics of one file, at most: editors show no more."""


class XlaLensServer(LanguageServer):
    """The server and its session."""

    def __init__(self) -> None:
        super().__init__("xla-lens", version("xla-lens"), protocol_cls=_Protocol)
        self.session = Session(self._publish)
        self._published: dict[Path, set[str]] = {}

    @property
    def encoding(self) -> Encoding:
        """The unit of columns that client and server have agreed on."""
        return Encoding(self.workspace.position_encoding or Encoding.UTF16)

    def _publish(self, state: DumpSetState) -> None:
        """Sends the diagnostics of a set; none for a set without open documents."""
        convert = Converter(state, self.encoding)
        diagnostics: dict[str, list[lsp.Diagnostic]] = {opened.uri: [] for opened in state.open.values()}
        versions = {opened.uri: opened.version for opened in state.open.values()}
        for finding in state.analysis.findings if state.analysis and state.open else ():
            found = diagnostics.setdefault(convert.uri(finding.place.member), [])
            if len(found) < DIAGNOSTIC_LIMIT:
                found.append(convert.diagnostic(finding))
        before = self._published.pop(state.key, set())
        if state.open:
            self._published[state.key] = set(diagnostics)
        for uri in sorted(before - diagnostics.keys()):
            diagnostics[uri] = []
        for uri, found in diagnostics.items():
            self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, found, versions.get(uri)))


class _Protocol(LanguageServerProtocol):
    """Keeps documents in the session instead of pygls's workspace, whose documents are too slow for dumps."""

    _server: XlaLensServer

    @lsp_method(lsp.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: lsp.DidOpenTextDocumentParams) -> None:
        item = params.text_document
        self._server.session.open(item.uri, _path(item.uri), item.version, Document(encode(item.text)))

    @lsp_method(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: lsp.DidChangeTextDocumentParams) -> None:
        uri = params.text_document.uri
        found = self._server.session.find(uri)
        if found is None:
            return
        document, edits = found[1].document, []
        for change in params.content_changes:
            text = encode(change.text)
            start, end = 0, len(document.data)
            if isinstance(change, lsp.TextDocumentContentChangePartial):
                start = self._offset(document, change.range.start)
                end = max(start, self._offset(document, change.range.end))
            edits.append(Edit(start, end, len(text)))
            document = document.replaced(start, end, text)
        self._server.session.change(uri, params.text_document.version, document, edits)

    @lsp_method(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: lsp.DidCloseTextDocumentParams) -> None:
        self._server.session.close(params.text_document.uri)

    def _offset(self, document: Document, position: lsp.Position) -> int:
        return to_offset(document, position.line, position.character, self._server.encoding)


def _path(uri: str) -> Path:
    """The path of a file; an address that is none stands for itself, and nothing is on disk beside it."""
    return Path(to_fs_path(uri) or uri)


@dataclass(frozen=True, slots=True)
class _Context:
    """What a request is about: a file as it was analysed, and how to convert what is found in it."""

    analysis: Analysis
    member: Member
    convert: Converter
    offset: Callable[[lsp.Position], int]

    def mention(self, position: lsp.Position) -> Mention | None:
        return mention_at(self.analysis.dump, self.member, self.offset(position))


async def _context(server: XlaLensServer, uri: str) -> _Context | None:
    """The context of a request, None for a document that is not open or holds nothing of a dump."""
    found = server.session.find(uri)
    if found is None:
        return None
    state, opened = found
    analysis = await state.analysis_for(opened)
    member = state.member(opened.path)
    if analysis is None or member is None:
        return None

    def offset(position: lsp.Position) -> int:
        here = to_offset(opened.document, position.line, position.character, server.encoding)
        return backward(opened.edits, here)

    return _Context(analysis, member, Converter(state, server.encoding), offset)


def create_server() -> XlaLensServer:
    """The server with its handlers, not yet connected to anything."""
    server = XlaLensServer()
    server.feature(lsp.TEXT_DOCUMENT_HOVER)(_hover)
    server.feature(lsp.TEXT_DOCUMENT_DEFINITION)(_navigation(lambda dump, mention: definition(dump, mention, LIMIT)))
    server.feature(lsp.TEXT_DOCUMENT_DECLARATION)(_navigation(declaration))
    server.feature(lsp.TEXT_DOCUMENT_TYPE_DEFINITION)(_navigation(type_definition))
    server.feature(lsp.TEXT_DOCUMENT_REFERENCES)(_references)
    server.feature(lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL)(_document_symbol)
    server.feature(lsp.TEXT_DOCUMENT_INLAY_HINT)(_inlay_hint)
    return server


def serve(address: tuple[str, int] | None) -> int:
    """Runs the server, on standard input and output or for one editor that connects to `address`, until it is told to
    exit or the connection ends; gives the exit status.
    """
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    # Each message passes between threads several times. Beside a load, each pass waits for this long.
    sys.setswitchinterval(SWITCH_SECONDS)
    server = create_server()
    if address:
        server.start_tcp(*address)
    else:
        server.start_io()
    return 0


async def _hover(server: XlaLensServer, params: lsp.HoverParams) -> lsp.Hover | None:
    context = await _context(server, params.text_document.uri)
    mention = context.mention(params.position) if context else None
    if context is None or mention is None:
        return None
    markdown = hover_markdown(hover(context.analysis, mention))
    return lsp.Hover(
        lsp.MarkupContent(lsp.MarkupKind.Markdown, markdown),
        context.convert.range(context.member, mention.start, mention.end),
    )


def _navigation(feature: Callable[[DumpSet, Mention], list[Place]]) -> Callable[..., object]:
    async def handler(server: XlaLensServer, params: lsp.TextDocumentPositionParams) -> list[lsp.Location] | None:
        context = await _context(server, params.text_document.uri)
        mention = context.mention(params.position) if context else None
        if context is None or mention is None:
            return None
        return [context.convert.location(place) for place in feature(context.analysis.dump, mention)] or None

    return handler


async def _references(server: XlaLensServer, params: lsp.ReferenceParams) -> list[lsp.Location] | None:
    context = await _context(server, params.text_document.uri)
    mention = context.mention(params.position) if context else None
    if context is None or mention is None:
        return None
    places = references(context.analysis.dump, mention.target, LIMIT)
    return [context.convert.location(place) for place in places]


async def _document_symbol(server: XlaLensServer, params: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol] | None:
    context = await _context(server, params.text_document.uri)
    if context is None:
        return None
    symbols = document_symbols(context.analysis.dump, context.member, SYMBOL_LIMIT)
    return [context.convert.symbol(context.member, symbol) for symbol in symbols]


async def _inlay_hint(server: XlaLensServer, params: lsp.InlayHintParams) -> list[lsp.InlayHint] | None:
    context = await _context(server, params.text_document.uri)
    if context is None:
        return None
    start, end = context.offset(params.range.start), context.offset(params.range.end)
    found = hints(context.analysis, context.member, start, end, LIMIT)
    return [context.convert.hint(context.member, hint) for hint in found]
