"""The open documents, the dump sets that they belong to, and recently used sets without open documents.

A set stays in memory when its last document is closed: editors close a document to show another one in its place, and
users come back.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from xla_lens.disk.sets import set_key
from xla_lens.lsp.documents import ContentChange, OpenDocument, apply_changes
from xla_lens.lsp.dump_set_state import DumpSetState, Events
from xla_lens.text.document import Document
from xla_lens.text.edits import TextEdit
from xla_lens.text.encoding import Encoding

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


class DumpSets:
    """All open documents and all dump sets in memory. Those with the keys that `kept` returns stay there."""

    def __init__(self, kept: Callable[[], frozenset[Path]] = frozenset) -> None:
        self.events = Events()
        self.kept = kept
        self._sets: dict[Path, DumpSetState] = {}
        """By key. The last used is the last."""
        self._documents: dict[str, tuple[DumpSetState, Path]] = {}
        """By the URI of each open document: its set and its path."""
        self._copies: dict[str, OpenDocument] = {}
        """Other open documents of files that are open under several URIs, by theirs. Each has a text of its own. Their
        sets have the document that was opened or changed last.
        """

    def __iter__(self) -> Iterator[DumpSetState]:
        return iter((*self.open, *self.recent))

    @property
    def open(self) -> list[DumpSetState]:
        """The sets that have open documents."""
        return [state for state in self._sets.values() if state.open]

    @property
    def recent(self) -> list[DumpSetState]:
        """The sets in memory that have no open documents."""
        return [state for state in self._sets.values() if not state.open]

    @property
    def documents(self) -> dict[Path, OpenDocument]:
        """All open documents by their paths."""
        return {path: opened for state in self._sets.values() for path, opened in state.open.items()}

    # ---------------------------------------------------------------- documents

    def open_document(self, uri: str, path: Path, version: int, document: Document) -> None:
        """Add a document that the editor has opened."""
        self.close_document(uri)
        known = next((state for state, other in self._documents.values() if other == path), None)
        key = set_key(path, document)
        state = known or self._sets.get(key) or DumpSetState(key, path, self.events)
        if not state.open:
            self._use(state)
        self._documents[uri] = state, path
        if other := state.open.get(path):
            self._copies[other.uri] = other
        state.add(OpenDocument(uri, path, version, document, object()))

    def change_document(self, uri: str, version: int, changes: Sequence[ContentChange], encoding: Encoding) -> None:
        """Change the text of a document, which stays in its set. Does nothing if it is not open."""
        if found := self._documents.get(uri):
            state, path = found
            if state.open[path].uri != uri:
                self._copies[state.open[path].uri] = state.open[path]
                self._show(state, uri)
            opened = state.open[path]
            document, edits = apply_changes(opened.document, changes, encoding)
            state.open[path] = opened = replace(opened, version=version)
            if document.data != opened.document.data:
                state.open[path] = replace(opened, document=document, edits=(*opened.edits, *edits))
                state.reload()

    def _show(self, state: DumpSetState, uri: str) -> None:
        """Make another document of a file that of its set."""
        copy = self._copies.pop(uri)
        before = state.open[copy.path]
        edits = before.edits
        if copy.document.data != before.document.data:
            edits = (*edits, TextEdit(0, len(before.document.data), len(copy.document.data)))
            state.reload()
        shown = replace(before, uri=copy.uri, version=copy.version, document=copy.document, edits=edits)
        state.open[copy.path] = shown

    def close_document(self, uri: str) -> None:
        """Remove a document that the editor has closed. Unless the file is open under another URI, the file on disk
        counts from now on.
        """
        self._copies.pop(uri, None)
        if found := self._documents.pop(uri, None):
            state, path = found
            others = [other for other, (_, known) in self._documents.items() if known == path]
            if not others:
                state.remove(path)
            elif state.open[path].uri == uri:
                self._show(state, others[-1])
            if not state.open:
                self._use(state)
                self.events.closed(state)

    def find(self, uri: str) -> tuple[DumpSetState, Path] | None:
        """Return the set of an open document and the document's path, None if it is not open, or if its file is also
        open under another URI with another text.
        """
        found = self._documents.get(uri)
        if found is None:
            return None
        state, path = found
        shown = state.open[path]
        is_shown = shown.uri == uri or shown.document.data == self._copies[uri].document.data
        return found if is_shown else None

    def find_set(self, path: Path) -> DumpSetState | None:
        """Return the set with open documents that contains a file, None if there is none."""
        return next((state for state in self.open if path in state.open or state.file(path)), None)

    # ---------------------------------------------------------------- sets without open documents

    def load(self, key: Path, path: Path) -> DumpSetState:
        """Return the set of a file that need not be open, and load it from disk unless it is in memory."""
        state = self._sets.get(key)
        if state is None:
            state = DumpSetState(key, path, self.events)
            state.reload()
        if not state.open:
            self._use(state)
            state.is_awaited = True
            self._evict()
        return state

    def _use(self, state: DumpSetState) -> None:
        self._sets.pop(state.key, None)
        self._sets[state.key] = state
        state.used, state.is_awaited = time.monotonic(), False

    def _evict(self) -> None:
        """Remove sets from the cache that are of no use any more, and the oldest until it is within its limits."""
        recent = self.recent
        count, size_bytes = len(recent), sum(state.size_bytes for state in recent)
        for state in recent:
            if state.key in self.kept() or (state.is_loading and (state.is_awaited or state.has_files)):
                continue
            idle_seconds = time.monotonic() - state.used
            is_useless = idle_seconds > _CACHE_SECONDS or not state.has_files
            is_too_much = count > _CACHE_SIZE or size_bytes > _CACHE_BYTES
            if (is_useless and not state.is_loading) or (idle_seconds > _GRACE_SECONDS and (is_useless or is_too_much)):
                count, size_bytes = count - 1, size_bytes - state.size_bytes
                del self._sets[state.key]
                state.close()
                self.events.evicted(state)

    # ---------------------------------------------------------------- all sets

    async def poll(self) -> None:
        """Load sets again that have changed on disk, and evict sets from the cache."""
        self._evict()
        for state in self:
            await state.poll()

    def close(self) -> None:
        """Cancel all loads."""
        for state in self:
            state.close()
