"""The open documents, the dump sets that they belong to, and recently used sets without open documents.

A set stays in memory when its last document is closed: editors close a document to show another one in its place, and
users come back.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from xla_lens.lsp.documents import OpenDocument
from xla_lens.lsp.dump_set_state import DumpSetState, Events
from xla_lens.lsp.outputs import EditorDocument, Part, read_document, split_line
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
        self._documents: dict[str, EditorDocument] = {}
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
        for known, one in list(self._documents.items()):
            if known == uri or one.path == path:
                self.close_document(known)
        self._documents[uri], texts = read_document(uri, path, document)
        for part, text in zip(self._documents[uri].parts, texts, strict=True):
            self._open(uri, part, version, text)

    def _open(self, uri: str, part: Part, version: int, text: Document) -> None:
        state = (
            self._sets.get(part.key) or self._take_recent(part.key) or DumpSetState(part.key, part.path, self.events)
        )
        self._sets[part.key] = state
        state.add(OpenDocument(uri, part.path, version, text, object(), first_row=part.first_row))

    def change_document(self, uri: str, version: int, document: Document, edits: list[Edit]) -> None:
        """Replace the text of an open document. `edits` lead from the old text to the new one."""
        before = self._documents[uri]
        after, texts = read_document(uri, before.path, document)
        if (before.output is None) != (after.output is None):
            self.open_document(uri, before.path, version, document)
            return
        # A single file stays in its set.
        self._documents[uri] = after = after if after.output else before
        kept = {part.path for part in after.parts}
        self._close(before, [part for part in before.parts if part.path not in kept])
        for part, text in zip(after.parts, texts, strict=True):
            state = self._sets.get(part.key)
            opened = state.open.get(part.path) if state else None
            if state is None or opened is None:
                self._open(uri, part, version, text)
                continue
            state.open[part.path] = opened = replace(opened, version=version, first_row=part.first_row)
            if text.data != opened.document.data:
                whole = Edit(0, len(opened.document.data), len(text.data))
                made = (*opened.edits, *([whole] if after.output else edits))
                state.open[part.path] = replace(opened, document=text, edits=made)
                state.reload()
        if after.output:
            # The diagnostics of the other sets have moved.
            self.events.loaded(self._sets[after.parts[0].key])

    def close_document(self, uri: str) -> None:
        """Remove a document that the editor has closed. From now on the file on disk counts."""
        if document := self._documents.pop(uri, None):
            self._close(document, document.parts)

    def _close(self, document: EditorDocument, parts: Sequence[Part]) -> None:
        states = {part.key: self._sets[part.key] for part in parts}
        for part in parts:
            states[part.key].remove(part.path)
        closed = [state for state in states.values() if not state.open]
        for state in closed:
            del self._sets[state.key]
            if document.output:
                # It is on no disk, so it is of no more use.
                state.close()
            else:
                self._recent[state.key] = _Recent(state, time.monotonic(), is_awaited=False)
        for state in closed:
            self.events.closed(state)
            if document.output:
                self.events.evicted(state)

    def find(self, uri: str) -> tuple[DumpSetState, Path] | None:
        """Return the set of an open document and the document's path, None if it is not open. In the output of XLA, a
        line after ``#L`` selects the document.
        """
        whole, row = (uri, 0) if uri in self._documents else split_line(uri)
        document = self._documents.get(whole)
        if document is None or row is None or (document.output and whole == uri):
            return None
        part = document.at(row)
        return self._sets[part.key], part.path

    def text(self, uri: str) -> Document | None:
        """Return the text of an open document, None if it is not open."""
        document = self._documents.get(uri)
        if document is None or document.output:
            return document.output if document else None
        (part,) = document.parts
        return self._sets[part.key].open[part.path].document

    def output(self, uri: str) -> EditorDocument | None:
        """Return an open document that is the output of XLA, None if it is none."""
        document = self._documents.get(uri)
        return document if document and document.output else None

    def sets_of(self, uri: str) -> list[tuple[DumpSetState, Path]]:
        """Return the sets in an open document, in its order, each with a file in it. Empty if it is not open."""
        document = self._documents.get(uri)
        paths = {part.key: part.path for part in reversed(document.parts)} if document else {}
        return [(self._sets[key], path) for key, path in reversed(paths.items()) if key in self._sets]

    @property
    def versions(self) -> dict[str, int]:
        """The versions of all open documents by their URIs."""
        return {opened.uri: opened.version for opened in self.documents.values()}

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
