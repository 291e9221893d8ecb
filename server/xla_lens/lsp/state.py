"""The state of the server.

`State` owns everything that changes: open documents, dump sets, the index of the workspace, pages, settings, and what
was sent to the editor. Only the event loop touches it. Worker threads receive immutable values and return new ones.
"""

import asyncio
import os
from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Final, TypeAlias
from urllib.parse import unquote

from lsprotocol import types as lsp
from msgspec.structs import replace

from xla_lens.disk.reading import DamagedFile
from xla_lens.disk.sets import NotADump, find_set, is_output
from xla_lens.editor.page_kinds import HistoryPage, Page, page_of_name
from xla_lens.editor.pages import PageText
from xla_lens.lsp.capabilities import PAGE_SCHEME
from xla_lens.lsp.client import Client
from xla_lens.lsp.comparisons import Compared, Comparisons
from xla_lens.lsp.convert import Converter
from xla_lens.lsp.documents import ContentChange, OpenDocuments, SourceDocuments, is_source, path_of, uri_of
from xla_lens.lsp.dump_set_state import DumpSetState
from xla_lens.lsp.dump_sets import DumpSets
from xla_lens.lsp.index import IndexedSets, WorkspaceIndex
from xla_lens.lsp.pages import Generations, PageCache, RenderedPage, old_key_of_comparison, set_key_of_page
from xla_lens.lsp.settings import Settings, read_settings
from xla_lens.lsp.snapshot import PageSnapshot, Snapshot, SourceSnapshot
from xla_lens.lsp.sources import Sources, dump_time, memory_of
from xla_lens.lsp.tasks import BackgroundTasks, in_thread
from xla_lens.model.hlo.module import HloModule
from xla_lens.syntax.file_names import COMPRESSED, SUFFIXES
from xla_lens.text.document import Document
from xla_lens.text.positions import encode

_Rendering: TypeAlias = tuple[Generations, Callable[[], PageText]]
"""The sets of a page, and the function that renders it in a worker thread."""

_USER_INITIATED: Final = (
    lsp.TEXT_DOCUMENT_DEFINITION,
    lsp.TEXT_DOCUMENT_REFERENCES,
    lsp.CALL_HIERARCHY_INCOMING_CALLS,
    lsp.CALL_HIERARCHY_OUTGOING_CALLS,
)
"""Requests that editors send only for an action of the user, who may then see a message about the answer."""

_MOST_OTHERS: Final = 3
"""Open dumps that an action offers to compare with."""

Shown: TypeAlias = dict[str, tuple[list[lsp.Diagnostic], int | None]]
"""By URI: diagnostics, and the version of the document."""


class State:
    """All mutable state of the server."""

    def __init__(self, client: Client, tasks: BackgroundTasks) -> None:
        self.client = client
        self.tasks = tasks
        self.settings = Settings()
        self.comparisons = Comparisons()
        self.sets = DumpSets(self.comparisons.kept)
        self.index = WorkspaceIndex(self.sets, client, tasks, lambda text: self.report_truncated("workspace", "", text))
        self.source_documents = SourceDocuments()
        self.sources = Sources(self.sets, self.index, lambda: (self.settings.path_mapping, self.index.folders))
        self.pages = PageCache()
        self.published: dict[Path, Shown] = {}
        """By the key of a set: the diagnostics that are published about its files."""
        self.indexed: IndexedSets = {}
        """The sets of the workspace whose diagnostics are published while they have no open documents."""
        self.loads: dict[Path, tuple[frozenset[str], int, HloModule | None]] = {}
        """By the key of a set: the URIs, the generation and the HLO module of the last `didLoad`."""
        self.truncations: set[tuple[str, str]] = set()
        """The methods and URIs of the truncated answers that were logged."""
        self.is_updating = False
        """Whether the diagnostics of sets without open documents are being published."""
        self.written: list[Path] = []
        """Files with answers. The editor deletes each when it has read it."""
        self._named: set[Path] = set()
        self._setting_errors: list[str] = []

    def close(self) -> None:
        """Cancel everything in progress."""
        self.sets.close()
        self.index.close()
        for path in self.written:
            path.unlink(missing_ok=True)

    # ---------------------------------------------------------------- settings, folders, files on disk

    def apply_settings(self, given: Any) -> None:
        """Replace the settings by those in some JSON. The user sees a message for each invalid one, once."""
        self.settings, errors = read_settings(given)
        for error in errors:
            if error not in self._setting_errors:
                self.client.show_message(lsp.MessageType.Warning, error)
        self._setting_errors = errors

    def set_folders(self, uris: list[str]) -> None:
        """Replace the folders of the workspace."""
        self.index.folders = tuple(path_of(uri) for uri in uris if uri.startswith("file:"))

    def files_changed(self) -> None:
        """React to a notification that files have changed on disk."""
        self.index.invalidate()
        self.sources.invalidate()
        self.tasks.start(self.sets.poll())

    # ---------------------------------------------------------------- documents

    def did_open(self, item: lsp.TextDocumentItem) -> None:
        """Add a document. Pages are left out: some editors report those, too."""
        if is_source(item):
            self.source_documents.did_open(item)
        elif not is_page(item.uri):
            self.sets.open_document(item.uri, path_of(item.uri), item.version, Document(encode(item.text)))

    def did_change(self, item: lsp.VersionedTextDocumentIdentifier, changes: Sequence[ContentChange]) -> None:
        """Change a document. Does nothing if it is not open."""
        encoding = self.client.capabilities.encoding
        if item.uri in self.source_documents:
            self.source_documents.did_change(item.uri, changes, encoding)
        else:
            self.sets.change_document(item.uri, item.version, changes, encoding)

    def did_close(self, uri: str) -> None:
        """Remove a document. Does nothing if it is not open."""
        self.sets.close_document(uri)
        self.source_documents.pop(uri, None)

    # ---------------------------------------------------------------- access to sets and pages

    async def set_for_command(self, path: Path) -> DumpSetState | None:
        """Return the set of a file that a command names. It may be anywhere on disk, because the user asked for it.
        None if the file is not part of a dump.
        """
        if state := self.sets.find_set(path):
            return state
        try:
            files = await in_thread(find_set, path)
            # A log has several modules, which are told apart only while it is open.
            if await in_thread(is_output, files):
                return None
        except (NotADump, DamagedFile, OSError):
            return None
        self._named.add(files.stem)
        # The file may have been opened in the meantime.
        return self.sets.find_set(path) or self.sets.load(files.stem, path)

    def set_for_page(self, uri: str) -> DumpSetState | None:
        """Return the set of a page: one that is open, in the workspace, or was named by a command. Else None, so that a
        link cannot make the server read arbitrary files.
        """
        explained = self.pages.explanations.get(unquote(uri))
        key = explained[1] if explained else set_key_of_page(uri)
        return self.set_of_key(key) if key else None

    def set_of_key(self, key: Path) -> DumpSetState | None:
        """Return the set with a key, None as above."""
        # The path in the URI of a page is absolute, even for a document without a file.
        known = next((state for state in self.sets if key in (state.key, Path("/", state.key))), None)
        if known and (known.open or key in self._named | self.comparisons.kept()):
            return known
        suffixes = ["", *(suffix + end for end in ("", *COMPRESSED) for suffix in SUFFIXES.values())]
        path = next((path for suffix in suffixes if key.name and os.path.isfile(path := Path(f"{key}{suffix}"))), None)
        folders = map(os.path.realpath, self.index.folders)
        if path and (key in self._named or any(map(Path(os.path.realpath(path)).is_relative_to, folders))):
            return self.sets.load(key, path)
        return None

    async def page(self, uri: str) -> RenderedPage | None:
        """Return a page, None if there is none with this URI or one of its sets is not accessible. If a set of a
        comparison cannot be read, the page says so.
        """
        if explained := self.pages.explanations.get(unquote(uri)):
            # It stays as it is when its set is loaded again.
            known_set = self.set_for_page(uri)
            return replace(explained[0], sources=((known_set, known_set.generation),) if known_set else ())
        old_key = old_key_of_comparison(uri)
        page = None if old_key else page_of_name(uri.rpartition("/")[2])
        while state := self.set_for_page(uri):
            old = self.set_of_key(old_key) if old_key else None
            found = await self._comparison(old, state) if old else await self._page(state, page) if page else None
            if found is None:
                return None
            if (known := self.pages.pages.get(uri)) and known.is_current:
                return known
            (sources, render), device_memory = found, self.settings.device_memory
            text = await in_thread(render)
            document, encoding = Document(encode(text.text)), self.client.capabilities.encoding
            rendered = RenderedPage(sources, document, text.links, encoding)
            # A load makes the editor read only those pages again that are kept.
            if rendered.is_current and device_memory == self.settings.device_memory:
                self.pages.add(uri, rendered)
                for one, _ in sources:
                    if one not in self.sets:
                        self.pages.drop(one)
                return rendered
        return None

    async def _page(self, state: DumpSetState, page: Page) -> _Rendering | None:
        analysis = await state.analysis_for(state.path)
        if analysis and not isinstance(page, HistoryPage):
            analysis = await state.loaded_for(state.path)
        if analysis is None:
            return None
        known, has_map = analysis.on_device(self.settings.device_memory), self.client.capabilities.has_command_uris

        code_of = self.sources.code_of(dump_time(known))

        def render() -> PageText:
            # Reports and advice take 100 ms to import, for which the first answers would wait.
            from xla_lens.editor.page_text import page_text

            return page_text(known, page, has_map=has_map, code_of=code_of)

        return ((state, state.generation),), render

    async def _comparison(self, old: DumpSetState, new: DumpSetState) -> _Rendering:
        from xla_lens.editor.comparison_page import comparison_page, unreadable_text

        if compared := await self.comparisons.of(old, new):
            return compared.sources, partial(comparison_page, compared.diff)
        text = unreadable_text([state.path.name for state in (old, new) if not state.has_files])
        return ((old, old.generation), (new, new.generation)), partial(PageText, text, ())

    # ---------------------------------------------------------------- comparisons

    async def compared(self, uri: str) -> Compared | None:
        """Return the comparison that a page shows, None if there is none or one of its sets cannot be read."""
        old_key, new = old_key_of_comparison(uri), self.set_for_page(uri)
        old = self.set_of_key(old_key) if old_key else None
        return await self.comparisons.of(old, new) if old and new else None

    # ---------------------------------------------------------------- snapshots

    async def snapshot(
        self, method: str, uri: str, *, is_for_sources: bool, needs_module: bool
    ) -> Snapshot | PageSnapshot | SourceSnapshot | None:
        """Take the snapshot that answers a request about a document, None if that is not open or no part of a dump. A
        file of the program has one only for requests that are answered for such files (`is_for_sources`).
        """
        if is_page(uri):
            if (page := await self.page(uri)) is None:
                return None
            sets = tuple(state.analysis for state, _ in page.sources)
            return PageSnapshot(page, sets, self.converter(page.open), self.client.capabilities, self.sources.find)
        if uri in self.source_documents:
            return await self._source_snapshot(uri) if is_for_sources else None
        return await self._file_snapshot(method, uri, needs_module=needs_module)

    def converter(self, opened: OpenDocuments) -> Converter:
        """Return a converter of places in the files of a set that has some open documents."""
        capabilities = self.client.capabilities
        largest = capabilities.extra("largestFileBytes")
        return Converter(opened, capabilities.encoding, largest if isinstance(largest, int) else None)

    async def _source_snapshot(self, uri: str) -> SourceSnapshot | None:
        """Take a snapshot of a file of the program, None if the user does not want it or no set in memory names it."""
        path, is_on = path_of(uri), self.settings.source_lines
        naming = await self.sources.naming(path, None, is_search=False) if is_on else []
        memory = await memory_of(naming[0], path, None) if naming else None
        # The document and the settings may have changed in the meantime.
        opened = self.source_documents.get(uri)
        if memory is None or opened is None or not self.settings.source_lines:
            return None
        rows, newer_than, _ = opened.at(naming[0].dump_time)
        return SourceSnapshot(memory, opened.document, rows, newer_than, self.client.capabilities)

    async def _file_snapshot(self, method: str, uri: str, *, needs_module: bool) -> Snapshot | None:
        found = self.sets.find(uri)
        if found is None:
            return None
        state, path = found
        analysis = await state.analysis_for(path)
        if analysis is None or state.is_module(path) or needs_module:
            analysis = await state.loaded_for(path)
        # The document may have been closed in the meantime.
        if self.sets.find(uri) != found or (analysis is None and not state.is_module(path)):
            return None
        return self.snapshot_now(state, path, self._on_truncated(method, uri))

    def snapshot_now(self, state: DumpSetState, path: Path, on_truncated: Callable[[str], None]) -> Snapshot | None:
        """Take a snapshot of a file of a set as it is now. None if the file has not been analysed."""
        file, opened = state.file(path), state.open.get(path)
        if state.analysis is None or file is None:
            return None
        capabilities, uri = self.client.capabilities, opened.uri if opened else uri_of(path)
        return Snapshot(
            uri,
            file,
            self.converter(state.open),
            *((opened.document, opened.edits) if opened else (file.document, ())),
            capabilities,
            self.settings,
            on_truncated,
            state.analysis,
            self.comparisons.of_analysis(state.analysis),
            self._others(state),
        )

    def _on_truncated(self, method: str, uri: str) -> Callable[[str], None]:
        loop = asyncio.get_running_loop()

        def on_truncated(text: str) -> None:
            # Handlers may run in worker threads.
            loop.call_soon_threadsafe(self.report_truncated, method, uri, text)

        return on_truncated

    def _others(self, state: DumpSetState) -> dict[str, Path]:
        """The URIs and paths of dumps to compare a set with: the selected one, or else open ones."""
        if selected := self.comparisons.selected:
            found = self.sets.find(selected)
            return {selected: found[1] if found else path_of(selected)}
        others = (next(iter(other.open.values())) for other in self.sets.open if other is not state)
        return {opened.uri: opened.path for opened in islice(others, _MOST_OTHERS)}

    # ---------------------------------------------------------------- truncated answers

    def report_truncated(self, method: str, uri: str, text: str) -> None:
        """Report that an answer is truncated: in a message if the user has made the request, else in the log, once for
        each method and document.
        """
        if method in _USER_INITIATED:
            self.client.show_message(lsp.MessageType.Info, text)
        elif (method, uri) not in self.truncations:
            self.truncations.add((method, uri))
            what = f"{method}, {uri}" if uri else method
            self.client.log_message(lsp.MessageType.Info, f"{what}: {text}")


def is_page(uri: str) -> bool:
    """Whether a URI is that of a page."""
    return uri.startswith(f"{PAGE_SCHEME}:")
