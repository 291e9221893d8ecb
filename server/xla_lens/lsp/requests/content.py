"""Pages: virtual documents that show more of a dump set than its files do, each line linked back into them.

The address of a page is that of the set, in a scheme of its own, and the name of the page::

    xla-lens:/dumps/module_0001.jit_f.cpu_after_optimizations/live-set-at-120.txt
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

from lsprotocol import types as lsp
from pygls.uris import from_fs_path, to_fs_path

from xla_lens.features.report.pages import page_facts
from xla_lens.lsp.convert import Converter
from xla_lens.lsp.methods import PAGE_SCHEME
from xla_lens.lsp.reach import state_in_reach
from xla_lens.lsp.threads import in_thread
from xla_lens.model.analysis import Analysis
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.places.entities import entity_place
from xla_lens.model.places.pages import Page, ReportPage, SummaryPage, page_name, page_of_name
from xla_lens.render.pages import PageLink, PageText, page_text
from xla_lens.syntax.file_names import SUFFIXES
from xla_lens.text.document import Document
from xla_lens.text.encoding import Encoding
from xla_lens.text.positions import decode, encode, to_offset, to_position

if TYPE_CHECKING:
    from xla_lens.lsp.server import XlaLensServer
    from xla_lens.lsp.session import DumpSetState

_KEPT: Final = 30
"""Pages that are kept, and of which an editor is told when they have changed."""

_UNKNOWN: Final = "There is no such page, or its dump is neither open nor in the workspace.\n"


@dataclass(frozen=True, slots=True, eq=False)
class ShownPage:
    """A page as it was made of the analysis of a set that has a `generation`."""

    state: "DumpSetState"
    generation: int
    document: Document
    links: tuple[PageLink, ...]

    def link_at(self, position: lsp.Position, encoding: Encoding) -> PageLink | None:
        """The link at a position, None if there is none."""
        offset = to_offset(self.document, position.line, position.character, encoding)
        return next((link for link in self.links if link.start <= offset <= link.end), None)


def page_uri(key: Path, page: Page) -> str:
    """The address of a page of a set."""
    return f"{_set_uri(key)}/{page_name(page)}"


def _set_uri(key: Path) -> str:
    address = from_fs_path(key.as_posix()) or ""
    return f"{PAGE_SCHEME}:{address.removeprefix('file://')}"


async def read_content(server: "XlaLensServer", params: lsp.TextDocumentContentParams) -> lsp.TextDocumentContentResult:
    """The text of a page."""
    page = await shown_page(server, params.uri)
    return lsp.TextDocumentContentResult(decode(page.document.data) if page else _UNKNOWN)


async def answer_in_page(server: "XlaLensServer", method: str, uri: str, params: Any) -> Any:
    """The answer to a request about a page: where its lines lead to."""
    page = await shown_page(server, uri)
    if page is None:
        return None
    convert = Converter(page.state.open, server.client)
    if method == lsp.TEXT_DOCUMENT_DOCUMENT_LINK:
        return [lsp.DocumentLink(_range(server, page, link), convert.address(link.target)) for link in page.links]
    if method in _JUMPS:
        link = page.link_at(params.position, server.client.encoding)
        return [convert.location(link.target)] if link else None
    return None


_JUMPS: Final = (
    lsp.TEXT_DOCUMENT_DEFINITION,
    lsp.TEXT_DOCUMENT_DECLARATION,
    lsp.TEXT_DOCUMENT_TYPE_DEFINITION,
    lsp.TEXT_DOCUMENT_IMPLEMENTATION,
)


def _range(server: "XlaLensServer", page: ShownPage, link: PageLink) -> lsp.Range:
    start, end = (
        lsp.Position(*to_position(page.document, offset, server.client.encoding)) for offset in (link.start, link.end)
    )
    return lsp.Range(start, end)


async def shown_page(server: "XlaLensServer", uri: str) -> ShownPage | None:
    """A page by its address; None if there is no such page, or if its set is neither open nor in the workspace."""
    page = page_of_name(uri.rpartition("/")[2])
    state = state_of_page(server, uri)
    if page is None or state is None:
        return None
    analysis = await state.analysis_for(state.path)
    if analysis is None:
        return None
    known = server.pages.get(uri)
    if known and known.generation == state.generation:
        return known
    generation = state.generation
    module = await state.module_for(state.path) if isinstance(page, ReportPage | SummaryPage) else None
    made = await in_thread(_make, analysis, module, page)
    shown = ShownPage(state, generation, Document(encode(made.text)), made.links)
    server.shown.pop(uri, None)
    server.shown[uri] = state.key, generation
    server.pages[uri] = shown
    while len(server.shown) > _KEPT:
        first = next(iter(server.shown))
        del server.shown[first]
        server.pages.pop(first, None)
    return shown


def _make(analysis: Analysis, module: HloModule | None, page: Page) -> PageText:
    return page_text(page_facts(analysis, page, module=module), lambda entity: entity_place(analysis.dump, entity))


def state_of_page(server: "XlaLensServer", uri: str) -> "DumpSetState | None":
    """The set that a page is of; None for what is no page, or if its set is neither open nor in the workspace."""
    address = uri.rpartition("/")[0]
    if not address.startswith(f"{PAGE_SCHEME}:"):
        return None
    # Editors escape more of an address than there is need to.
    for state in server.session.sets:
        if unquote(_set_uri(state.key)) == unquote(address):
            return state
    key = Path(to_fs_path(f"file://{address.partition(':')[2]}") or "")
    return next((found for path in _files(key) if (found := state_in_reach(server, path))), None)


def _files(key: Path) -> Iterator[Path]:
    """The files that may tell that there is a set."""
    yield key
    yield from (key.with_name(key.name + suffix) for suffix in SUFFIXES.values())
