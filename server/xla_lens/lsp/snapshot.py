"""Snapshots: the state that answers a request about a document. It does not change while a handler runs."""

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TypeVar

from lsprotocol import types as lsp
from msgspec import Struct

from xla_lens.editor.source_memory import SourceMemory
from xla_lens.lsp.client import ClientCapabilities
from xla_lens.lsp.comparisons import ActiveComparison
from xla_lens.lsp.convert import Converter
from xla_lens.lsp.pages import RenderedPage
from xla_lens.lsp.settings import Settings
from xla_lens.model.analysis import Analysis
from xla_lens.model.hlo.mentions import HloMention, hlo_mention_at
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.places.mentions import Mention, mention_at
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.syntax.columns import Column
from xla_lens.text.document import Document, Span
from xla_lens.text.edits import TextEdit, backward
from xla_lens.text.positions import to_offset

_T = TypeVar("_T")


class Snapshot(Struct, frozen=True):
    """A file of a dump set, or its HLO module, as it was analysed.

    `edits` lead from that file to `document`, the editor's current text. `on_truncated` is called with a
    text for the user when an answer is truncated.
    `compared` is the active comparison, if it is about this set. `others` are the URIs and paths of dumps to compare it
    with.
    """

    uri: str
    file: DumpFile
    convert: Converter
    document: Document
    edits: tuple[TextEdit, ...]
    capabilities: ClientCapabilities
    settings: Settings
    on_truncated: Callable[[str], None]
    analysis: Analysis
    compared: ActiveComparison | None
    others: Mapping[str, Path]

    @property
    def dump(self) -> DumpSet:
        """The dump set."""
        return self.analysis.dump

    @property
    def module(self) -> HloModule | None:
        """The HLO module of the set, None if there is none or it is not loaded yet."""
        return self.analysis.module

    @property
    def is_module(self) -> bool:
        """Whether the file is the HLO module of the set."""
        return self.module is not None and self.file is self.module.file

    def mention(self, position: lsp.Position) -> Mention | HloMention | None:
        """Return what is mentioned at a position, None if nothing is."""
        if self.module and self.is_module:
            return hlo_mention_at(self.module, self.offset(position))
        return mention_at(self.analysis.dump, self.file, self.offset(position))

    def offset(self, position: lsp.Position) -> int:
        """Return the offset in the file of a position in the editor's text."""
        encoding = self.capabilities.encoding
        return backward(self.edits, to_offset(self.document, position.line, position.character, encoding))

    def span(self, where: lsp.Range) -> Span:
        """Return the bytes at a range."""
        return self.offset(where.start), self.offset(where.end)

    def truncate(self, found: list[_T], limit: int, what: str) -> list[_T]:
        """Truncate a list to `limit`. Callers fetch `limit + 1` items so that truncation can be detected. `what` names
        the items in the message to the user.
        """
        if len(found) > limit:
            self.on_truncated(f"more than {limit:,} {what}: the first {limit:,} are shown")
        return found[:limit]


class PageSnapshot(Struct, frozen=True):
    """A page of a dump set, or of the old and the new set of a comparison: its last set is that of the page.

    `find_source` finds the source file that a dump names by a path, None if it is not here.
    """

    page: RenderedPage
    sets: tuple[Analysis | None, ...]
    convert: Converter
    capabilities: ClientCapabilities
    find_source: Callable[[str], Awaitable[Path | None]]


class SourceSnapshot(Struct, frozen=True):
    """A file of the program, and its memory. `rows` are where the lines that the dump names are in `document`, the
    current text. `newer_than` is the time of the dump if the file was saved since.
    """

    memory: SourceMemory
    document: Document
    rows: Column
    newer_than: float | None
    capabilities: ClientCapabilities
