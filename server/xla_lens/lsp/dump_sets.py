"""The open documents, the dump sets that they belong to, and recently used sets without open documents."""

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from xla_lens.lsp.documents import OpenDocument
from xla_lens.lsp.dump_set_state import DumpSetState, Events
from xla_lens.lsp.loading import set_key
from xla_lens.text.document import Document
from xla_lens.text.edits import Edit

_CACHE_SIZE: Final = 2
"""Number of sets without open documents that are kept for the next command or page."""

_CACHE_SECONDS: Final = 600.0
"""How long such a set is kept after its last use."""


class DumpSets:
    """All open documents and all dump sets in memory."""

    def __init__(self) -> None:
        self.events = Events()
        self.kept: frozenset[Path] = frozenset()
        """The keys of sets that stay in memory although they have no open documents: those that are compared."""
        self._sets: dict[Path, DumpSetState] = {}
        self._opened: dict[str, tuple[DumpSetState, Path]] = {}
        self._recent: dict[Path, tuple[DumpSetState, float]] = {}

    @property
    def open(self) -> list[DumpSetState]:
        """The sets that have open documents."""
        return list(self._sets.values())

    @property
    def recent(self) -> list[DumpSetState]:
        """The sets in the cache of recently used sets, which have no open documents."""
        return [state for state, _ in self._recent.values()]

    @property
    def uris(self) -> dict[Path, str]:
        """The URIs of all open documents by their paths."""
        return {opened.path: opened.uri for state in self._sets.values() for opened in state.open.values()}

    # ---------------------------------------------------------------- documents

    def open_document(self, uri: str, path: Path, version: int, document: Document) -> None:
        """Add a document that the editor has opened. Two URIs may denote the same file: they share the document."""
        self.close_document(uri)
        shared = next((pair for pair in self._opened.values() if pair[1] == path), None)
        if shared:
            self._opened[uri] = shared
            before = shared[0].open[path].document.data
            if document.data != before:
                self.change_document(uri, version, document, [Edit(0, len(before), len(document.data))])
            return
        key = set_key(path, document)
        state = self._sets.get(key) or self._recent.pop(key, (None,))[0] or DumpSetState(key, path, self.events)
        self._sets[key] = state
        self._opened[uri] = state, path
        state.add(OpenDocument(uri, path, version, document, object()))

    def change_document(self, uri: str, version: int, document: Document, edits: list[Edit]) -> None:
        """Replace the text of an open document. `edits` lead from the old text to the new one."""
        state, path = self._opened[uri]
        opened = state.open[path]
        state.open[path] = replace(opened, version=version, document=document, edits=(*opened.edits, *edits))
        state.reload()

    def close_document(self, uri: str) -> None:
        """Remove a document that the editor has closed. From now on the file on disk counts."""
        if uri not in self._opened:
            return
        state, path = self._opened.pop(uri)
        if (state, path) in self._opened.values():
            return
        state.open.pop(path)
        if state.open:
            state.reload()
        else:
            del self._sets[state.key]
            self.events.closed(state)
            if state.key in self.kept:
                self._recent[state.key] = state, time.monotonic()
                state.reload()
            else:
                state.close()

    def find(self, uri: str) -> tuple[DumpSetState, Path] | None:
        """Return the set of an open document and the document's path, None if it is not open."""
        return self._opened.get(uri)

    def find_set(self, path: Path) -> DumpSetState | None:
        """Return the set with open documents that contains a file, None if there is none."""
        return next((state for state in self._sets.values() if path in state.open or state.file(path)), None)

    # ---------------------------------------------------------------- sets without open documents

    def load(self, key: Path, path: Path) -> DumpSetState:
        """Return the set of a file that need not be open, and load it from disk unless it is in memory."""
        if key in self._sets:
            return self._sets[key]
        state = self._recent.pop(key, (None,))[0]
        if state is None:
            state = DumpSetState(key, path, self.events)
            state.reload()
        self._recent[key] = state, time.monotonic()
        self._evict()
        return state

    def _evict(self) -> None:
        """Remove old sets from the cache. A set that is being loaded stays, because a request waits for it."""
        oldest = time.monotonic() - _CACHE_SECONDS
        is_kept = self.kept.__contains__
        idle = [(state, used) for state, used in self._recent.values() if not (state.is_loading or is_kept(state.key))]
        count = len(self._recent)
        for state, used in idle:
            if count > _CACHE_SIZE or used < oldest:
                count -= 1
                del self._recent[state.key]
                state.close()
                self.events.evicted(state)

    # ---------------------------------------------------------------- all sets

    def __iter__(self) -> Iterator[DumpSetState]:
        return iter((*self.open, *self.recent))

    async def poll(self) -> None:
        """Load sets again that have changed on disk, and remove old ones from the cache."""
        self._evict()
        for state in self:
            await state.poll()

    def close(self) -> None:
        """Cancel all loads."""
        for state in self:
            state.close()
