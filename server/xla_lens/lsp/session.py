"""What the server knows: the documents that the editor has open, and the dump sets that they belong to.

The only mutable state of the server. Only the event loop touches it. A set is loaded in a worker thread; while an edit
is worked in, requests are answered from the last analysis, with places carried over the edits.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from xla_lens.files import LoadedFile, NotADump, SetFiles, find_set, load_files
from xla_lens.model.analysis import Analysis, analyse
from xla_lens.model.members import Member, kind_of_content
from xla_lens.syntax.file_names import MemberKind, split_name
from xla_lens.syntax.tree import Cancelled
from xla_lens.text.document import Document
from xla_lens.text.edits import Edit

logger = logging.getLogger(__name__)

_SHORT: Final = 0.2
"""Seconds: a set that loads as quickly is waited for; of others the last analysis answers."""

_LONGEST_PAUSE: Final = 2.0
"""Seconds after an edit until a set is loaded again, at most."""


@dataclass(slots=True, eq=False)
class OpenDocument:
    """A document that the editor has open. `edits` are those since `analysed`, the text that the last analysis is of;
    None if there is none of it.
    """

    uri: str
    path: Path
    version: int
    document: Document
    analysed: Document | None = None
    edits: list[Edit] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class _Job:
    """A load that is under way: of which texts, and how many edits are in them."""

    texts: dict[Path, Document]
    edits: dict[Path, int]
    is_cancelled: bool = False


class DumpSetState:
    """A dump set with open documents."""

    def __init__(self, key: Path, publish: "Callable[[DumpSetState], None]") -> None:
        self.key = key
        self.open: dict[Path, OpenDocument] = {}
        self.analysis: Analysis | None = None
        self._publish = publish
        self._files: dict[Path, LoadedFile] = {}
        self._is_stale = False
        self._hurry = asyncio.Event()
        self._job: _Job | None = None
        self._task: asyncio.Task[None] | None = None
        self._seconds = 0.0

    def add(self, opened: OpenDocument) -> None:
        """The editor has opened a document of the set. One that stands on disk just so is known already."""
        self.open[opened.path] = opened
        known = self._files.get(opened.path)
        if known and known.member.document.data == opened.document.data:
            opened.document = opened.analysed = known.member.document
            self._publish(self)
        else:
            self.reload()

    def reload(self) -> None:
        """Loads the set again, now that a document has changed."""
        self._is_stale = True
        if self._job:
            self._job.is_cancelled = True
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._load_until_fresh())

    def close(self) -> None:
        """Gives up what is under way."""
        if self._job:
            self._job.is_cancelled = True
        if self._task:
            self._task.cancel()

    async def analysis_for(self, opened: OpenDocument) -> Analysis | None:
        """The analysis to answer from: that of the text as it is now, if that does not take long or if there is no
        other; else the last one. None if there is none.
        """
        if self._task and not self._task.done() and (opened.analysed is None or self._seconds < _SHORT):
            self._hurry.set()
            await asyncio.shield(self._task)
        return self.analysis if opened.analysed else None

    def member(self, path: Path) -> Member | None:
        """A file of the set as it was analysed."""
        loaded = self._files.get(path)
        return loaded.member if loaded else None

    async def _load_until_fresh(self) -> None:
        while self._is_stale:
            if self.analysis is not None:
                await self._pause()
            self._is_stale = False
            self._job = job = _Job(
                {path: opened.document for path, opened in self.open.items()},
                {path: len(opened.edits) for path, opened in self.open.items()},
            )
            started = time.monotonic()
            try:
                files, analysis = await asyncio.to_thread(_load, job, self._files)
            except Cancelled:
                continue
            except Exception:
                logger.exception("cannot load %s", self.key)
                continue
            finally:
                self._job = None
            self._seconds = time.monotonic() - started
            self._files, self.analysis = files, analysis
            for path, opened in self.open.items():
                if path in job.texts and path in files:
                    opened.analysed = job.texts[path]
                    del opened.edits[: job.edits[path]]
            self._publish(self)

    async def _pause(self) -> None:
        """Waits for more edits for as long as a load takes: typing should not start one load after another."""
        self._hurry.clear()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._hurry.wait(), min(self._seconds, _LONGEST_PAUSE))


class Session:
    """All open documents and their sets. `publish` is called when a set has been loaded, and when it is closed: then it
    has no open documents any more.
    """

    def __init__(self, publish: Callable[[DumpSetState], None]) -> None:
        self._publish = publish
        self._sets: dict[Path, DumpSetState] = {}
        self._opened: dict[str, tuple[DumpSetState, OpenDocument]] = {}

    def open(self, uri: str, path: Path, version: int, document: Document) -> None:
        """The editor has opened a document. Two addresses may be spellings of one: they share the document."""
        self.close(uri)
        shared = next((pair for pair in self._opened.values() if pair[1].path == path), None)
        if shared:
            self._opened[uri] = shared
            before = shared[1].document.data
            if document.data != before:
                self.change(uri, version, document, [Edit(0, len(before), len(document.data))])
            return
        key = _key(path, document)
        state = self._sets.setdefault(key, DumpSetState(key, self._publish))
        opened = OpenDocument(uri, path, version, document)
        self._opened[uri] = state, opened
        state.add(opened)

    def change(self, uri: str, version: int, document: Document, edits: list[Edit]) -> None:
        """The editor has changed an open document; `edits` say where."""
        state, opened = self._opened[uri]
        opened.version, opened.document = version, document
        opened.edits += edits
        state.reload()

    def close(self, uri: str) -> None:
        """The editor has closed a document: what is on disk counts again."""
        if uri not in self._opened:
            return
        state, opened = self._opened.pop(uri)
        if any(other is opened for _, other in self._opened.values()):
            return
        state.open.pop(opened.path, None)
        if state.open:
            state.reload()
        else:
            del self._sets[state.key]
            state.close()
            self._publish(state)

    def find(self, uri: str) -> tuple[DumpSetState, OpenDocument] | None:
        """An open document and its set, None if it is not open."""
        return self._opened.get(uri)


def _key(path: Path, document: Document) -> Path:
    """What tells sets apart: the stem of the files' names, or a path that stands alone."""
    stem, kind = split_name(path.name)
    if kind or kind_of_content(document.data) is MemberKind.HLO:
        return path.parent / stem
    return path


def _load(job: _Job, known: Mapping[Path, LoadedFile]) -> tuple[dict[Path, LoadedFile], Analysis]:
    """Loads the set of some open documents; runs in a worker thread."""
    path = min(job.texts, key=lambda path: split_name(path.name)[1] is None)
    try:
        files = find_set(path, job.texts)
    except NotADump:
        kind = kind_of_content(job.texts[path].data)
        files = SetFiles(path, {} if kind is MemberKind.HLO else {MemberKind.BUFFER_ASSIGNMENT: path})
    loaded = load_files(files, job.texts, known, lambda: job.is_cancelled)
    return loaded, analyse(file.member for file in loaded.values())
