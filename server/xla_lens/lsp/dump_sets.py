"""The open documents, the dump sets that they belong to, and recently used sets without open documents.

A set stays in memory when its last document is closed: editors close a document to show another one in its place, and
users come back.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from xla_lens.files import set_key
from xla_lens.lsp.documents import OpenDocument
from xla_lens.lsp.dump_set_state import DumpSetState, Events
from xla_lens.text.document import Document
from xla_lens.text.edits import Edit

_CACHE_SIZE: Final = 8
"""Maximum number of sets without open documents that are kept. The disk is polled for each of them."""

_CACHE_BYTES: Final = 512 << 20
"""Maximum size of their files. A set takes about twice the size of its files in memory."""

_CACHE_SECONDS: Final = 600.0
"""How long such a set is kept after its last use."""

_GRACE_SECONDS: Final = 5.0
"""How long such a set is kept in any case, because another of its files may be opened next. The first load of a set
continues that long after its last document was closed.
"""


@dataclass(slots=True, eq=False)
class _Recent:
    """A set without open documents, and when it was used last. `is_awaited` is whether a request may wait for it."""

    state: DumpSetState
    used: float
    is_awaited: bool


class DumpSets:
    """All open documents and all dump sets in memory. Those with the keys that `kept` returns stay there."""

    def __init__(self, kept: Callable[[], frozenset[Path]] = frozenset) -> None:
        self.events = Events()
        self.kept = kept
        self._sets: dict[Path, DumpSetState] = {}
        self._documents: dict[str, tuple[Path, Path]] = {}
        """By the URI of each open document: the key of its set, and its path."""
        self._recent: dict[Path, _Recent] = {}

    @property
    def open(self) -> list[DumpSetState]:
        """The sets that have open documents."""
        return list(self._sets.values())

    @property
    def recent(self) -> list[DumpSetState]:
        """The sets in memory that have no open documents."""
        return [recent.state for recent in self._recent.values()]

    @property
    def documents(self) -> dict[Path, OpenDocument]:
        """All open documents by their paths."""
        return {path: opened for state in self._sets.values() for path, opened in state.open.items()}

    # ---------------------------------------------------------------- documents

    def open_document(self, uri: str, path: Path, version: int, document: Document) -> None:
        """Add a document that the editor has opened, in place of one with another URI of the same path."""
        for known, (_, other) in list(self._documents.items()):
            if known == uri or other == path:
                self.close_document(known)
        key = set_key(path, document)
        self._documents[uri] = key, path
        state = self._sets.get(key) or self._take_recent(key) or DumpSetState(key, path, self.events)
        self._sets[key] = state
        state.add(OpenDocument(uri, path, version, document, object()))

    def change_document(self, uri: str, version: int, document: Document, edits: list[Edit]) -> None:
        """Replace the text of an open document, which stays in its set. `edits` lead from the old text to the new
        one.
        """
        key, path = self._documents[uri]
        state, opened = self._sets[key], self._sets[key].open[path]
        state.open[path] = opened = replace(opened, version=version)
        if document.data != opened.document.data:
            state.open[path] = replace(opened, document=document, edits=(*opened.edits, *edits))
            state.reload()

    def close_document(self, uri: str) -> None:
        """Remove a document that the editor has closed. From now on the file on disk counts."""
        if uri not in self._documents:
            return
        key, path = self._documents.pop(uri)
        state = self._sets[key]
        state.remove(path)
        if not state.open:
            del self._sets[key]
            self._recent[key] = _Recent(state, time.monotonic(), is_awaited=False)
            self.events.closed(state)

    def find(self, uri: str) -> tuple[DumpSetState, Path] | None:
        """Return the set of an open document and the document's path, None if it is not open."""
        if uri not in self._documents:
            return None
        key, path = self._documents[uri]
        return self._sets[key], path

    def text(self, uri: str) -> Document | None:
        """Return the text of an open document, None if it is not open."""
        found = self.find(uri)
        return found[0].open[found[1]].document if found else None

    def find_set(self, path: Path) -> DumpSetState | None:
        """Return the set with open documents that contains a file, None if there is none."""
        return next((state for state in self._sets.values() if path in state.open or state.file(path)), None)

    # ---------------------------------------------------------------- sets without open documents

    def load(self, key: Path, path: Path) -> DumpSetState:
        """Return the set of a file that need not be open, and load it from disk unless it is in memory."""
        if key in self._sets:
            return self._sets[key]
        state = self._take_recent(key)
        if state is None:
            state = DumpSetState(key, path, self.events)
            state.reload()
        self._recent[key] = _Recent(state, time.monotonic(), is_awaited=True)
        self._evict()
        return state

    def _take_recent(self, key: Path) -> DumpSetState | None:
        recent = self._recent.pop(key, None)
        return recent.state if recent else None

    def _evict(self) -> None:
        """Remove sets from the cache that are of no use any more, and the oldest until it is within its limits."""
        count, size_bytes = len(self._recent), sum(recent.state.size_bytes for recent in self._recent.values())
        # The last used is the last.
        for recent in list(self._recent.values()):
            state, idle_seconds = recent.state, time.monotonic() - recent.used
            if state.key in self.kept() or (state.is_loading and (recent.is_awaited or state.has_files)):
                continue
            is_useless = idle_seconds > _CACHE_SECONDS or not state.has_files
            is_too_much = count > _CACHE_SIZE or size_bytes > _CACHE_BYTES
            if (is_useless and not state.is_loading) or (idle_seconds > _GRACE_SECONDS and (is_useless or is_too_much)):
                count, size_bytes = count - 1, size_bytes - state.size_bytes
                del self._recent[state.key]
                state.close()
                self.events.evicted(state)

    # ---------------------------------------------------------------- all sets

    def __iter__(self) -> Iterator[DumpSetState]:
        return iter((*self.open, *self.recent))

    async def poll(self) -> None:
        """Load sets again that have changed on disk, and evict sets from the cache."""
        self._evict()
        for state in self:
            await state.poll()

    def close(self) -> None:
        """Cancel all loads."""
        for state in self:
            state.close()
