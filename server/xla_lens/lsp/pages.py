"""Pages: virtual documents, such as a report, with links into the files of a dump set.

The URI of a page consists of a scheme of its own, the path of the set and the name of the page::

    xla-lens:/dumps/module_0001.jit_f.cpu_after_optimizations/live-set-at-120.txt
"""

from pathlib import Path
from typing import Final, TypeAlias
from urllib.parse import quote, unquote

from lsprotocol import types as lsp
from msgspec import Struct

from xla_lens.editor.page_kinds import Page, page_name
from xla_lens.editor.pages import Link
from xla_lens.lsp.capabilities import PAGE_SCHEME
from xla_lens.lsp.documents import OpenDocument, file_path
from xla_lens.lsp.dump_set_state import DumpSetState
from xla_lens.syntax.file_names import module_name
from xla_lens.text.document import Document
from xla_lens.text.encoding import Encoding
from xla_lens.text.positions import decode, to_offset, to_position

_COMPARISON: Final = "comparison.txt"
_EXPLAINED: Final = "-explained.md"

_CACHE_SIZE: Final = 30
"""Number of pages that are kept, and refreshed in the editor when their set changes."""

Generations: TypeAlias = tuple[tuple[DumpSetState, int], ...]
"""Some sets, and the generation of each."""


class RenderedPage(Struct, frozen=True, eq=False):
    """A page, rendered from the analyses of some sets that each had a generation: of one set, or of two that are
    compared. `encoding` is that of its positions.
    """

    sources: Generations
    document: Document
    links: tuple[Link, ...]
    encoding: Encoding

    def link_at(self, position: lsp.Position) -> Link | None:
        """Return the link at a position, None if there is none."""
        offset = to_offset(self.document, position.line, position.character, self.encoding)
        return next((link for link in self.links if link.start <= offset <= link.end), None)

    def range_of(self, link: Link) -> lsp.Range:
        """Return where a link is."""
        start, end = (lsp.Position(*to_position(self.document, at, self.encoding)) for at in (link.start, link.end))
        return lsp.Range(start, end)

    @property
    def lines(self) -> list[str]:
        """The lines of the text."""
        return decode(self.document.data).split("\n")

    @property
    def is_current(self) -> bool:
        """Whether the page shows the current analyses."""
        return all(state.generation == generation for state, generation in self.sources)

    @property
    def open(self) -> dict[Path, OpenDocument]:
        """The open documents of the sets."""
        return {path: opened for state, _ in self.sources for path, opened in state.open.items()}

    def beside(self, link: Link) -> list[Link]:
        """Return the other links of a line: in a comparison, they lead to the same thing in the other dump."""
        document, row = self.document, self.document.row(link.start)
        by_place = {each_link.place: each_link for each_link in self.links if document.row(each_link.start) == row}
        by_place.pop(link.place)
        return list(by_place.values())


class PageCache:
    """The pages that the editor has read most recently, without those of sets that are no longer in memory."""

    def __init__(self) -> None:
        self.explanations: dict[str, tuple[RenderedPage, Path | None]] = {}
        """The pages about logs, by their URIs without escapes, each with the key of the set that it is about."""
        self.pages: dict[str, RenderedPage] = {}
        """The rendered pages by URI."""

    def add(self, uri: str, page: RenderedPage) -> None:
        """Add a page that the editor reads."""
        self.pages.pop(uri, None)
        self.pages[uri] = page
        while len(self.pages) > _CACHE_SIZE:
            del self.pages[next(iter(self.pages))]

    def drop(self, state: DumpSetState) -> None:
        """Drop the pages of a set that is no longer in memory."""
        self.pages = {
            uri: page for uri, page in self.pages.items() if all(source is not state for source, _ in page.sources)
        }

    @property
    def stale(self) -> list[str]:
        """The URIs of the pages that the editor has read from another generation of a set."""
        return [uri for uri, page in self.pages.items() if not page.is_current]


def page_uri(key: Path, page: Page) -> str:
    """Return the URI of a page of a set."""
    return f"{_set_uri(key)}/{quote(page_name(page, module_name(key.name)))}"


def explanation_uri(log: Path) -> str:
    """Return the URI of the page about the out-of-memory messages of a log."""
    return f"{_set_uri(log if log.is_absolute() else Path(log.name))}{_EXPLAINED}"


def log_of_explanation(uri: str) -> Path:
    """Return the path of the log that a page is about."""
    return Path(file_path(f"file://{uri.partition(':')[2].removesuffix(_EXPLAINED)}"))


def is_explanation(uri: str) -> bool:
    """Whether a URI is that of a page about a log."""
    return uri.startswith(f"{PAGE_SCHEME}:") and uri.endswith(_EXPLAINED)


def comparison_uri(old: Path, new: Path) -> str:
    """Return the URI of the page that compares two sets: a page of the new one, with the old one as its query."""
    return f"{_set_uri(new)}/{_COMPARISON}?{quote(old.as_posix())}"


def old_key_of_comparison(uri: str) -> Path | None:
    """Return the key of the old set of a comparison, None if the URI is not that of a comparison."""
    page, _, query = uri.partition("?")
    return Path(unquote(query)) if page.endswith(f"/{_COMPARISON}") and query else None


def set_key_of_page(uri: str) -> Path | None:
    """Return the key of the set that the URI of a page names, None if it is not the URI of a page."""
    folder = uri.partition("?")[0].rpartition("/")[0]
    if not folder.startswith(f"{PAGE_SCHEME}:"):
        return None
    return Path(file_path(f"file://{folder.partition(':')[2]}"))


def _set_uri(key: Path) -> str:
    path = key.as_posix()
    return f"{PAGE_SCHEME}:{quote(path if path.startswith('/') else f'/{path}')}"
