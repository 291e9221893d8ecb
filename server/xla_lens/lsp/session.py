"""What the server knows: the documents that the editor has open, and the dump sets that they belong to.

The only mutable state of the server. Only the event loop touches it. A set is loaded in a worker thread; while an edit
is worked in, requests are answered from the last analysis, with places carried over the edits. What lies on disk is
looked at again and again: a set that has changed there is loaded again.
"""

import asyncio
import itertools
import logging
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

from xla_lens.files import LoadedFile, Stamp, stamps
from xla_lens.lsp.events import Events
from xla_lens.lsp.loading import load_set, set_files, set_key
from xla_lens.lsp.module_state import ModuleState
from xla_lens.lsp.opened import OpenDocument
from xla_lens.lsp.threads import in_thread
from xla_lens.lsp.visits import Visits
from xla_lens.model.analysis import Analysis
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.syntax.tree import Cancelled
from xla_lens.text.document import Document
from xla_lens.text.edits import Edit

logger = logging.getLogger(__name__)

_GENERATIONS: Final = itertools.count(1)

_SHORT: Final = 0.2
"""Seconds: a set that loads as quickly is waited for; of others the last analysis answers."""

_LONGEST_PAUSE: Final = 2.0
"""Seconds after an edit until a set is loaded again, at most."""


@dataclass(slots=True, eq=False)
class _Job:
    """A load that is under way, of the documents as they were open at its start."""

    open: dict[Path, OpenDocument]
    is_cancelled: bool = False


class DumpSetState:
    """A dump set that the editor shows something of. `path` is one of its files, and `key` tells it from others;
    `generation` tells its analysis from all others.
    """

    def __init__(self, key: Path, path: Path, events: Events) -> None:
        self.key = key
        self.path = path
        self.open: dict[Path, OpenDocument] = {}
        self.analysis: Analysis | None = None
        self.generation = 0
        self._answered: dict[str, set[Path]] = {}
        self._outdated: set[str] = set()
        self._events = events
        self._files: dict[Path, LoadedFile] = {}
        self._seen: dict[Path, Stamp] = {}
        self._is_stale = False
        self._hurry = asyncio.Event()
        self._job: _Job | None = None
        self._task: asyncio.Task[None] | None = None
        self._seconds = 0.0
        self._module = ModuleState()

    def add(self, opened: OpenDocument) -> None:
        """The editor has opened a document of the set. One that stands on disk just so is known already."""
        known = self._files.get(opened.path)
        if known and known.dump_file.document.data == opened.document.data:
            document = known.dump_file.document
            self.open[opened.path] = replace(opened, document=document, analysed=document)
            self._events.loaded(self)
        else:
            self.open[opened.path] = opened
            self.reload()

    def reload(self) -> None:
        """Loads the set again, now that something has changed."""
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
            # It would keep all that it worked on, and be kept by it.
            self._task = None
        self._module.close()

    async def analysis_for(self, path: Path) -> Analysis | None:
        """The analysis to answer from for a file: that of the text as it is now, if that does not take long or if there
        is no other; else the last one. None if there is none, or nothing of a dump.
        """
        opened = self.open.get(path)
        is_known = opened.analysed is not None if opened else self.analysis is not None
        if self._seconds < _SHORT or not is_known:
            await self.settled()
            opened = self.open.get(path)
        is_told = self.analysis is not None and self.analysis.dump.files
        return self.analysis if is_told and (not opened or opened.analysed) else None

    @property
    def is_loading(self) -> bool:
        """Whether it is being read, or its HLO module."""
        return (self._task is not None and not self._task.done()) or self._module.is_loading

    @property
    def module(self) -> HloModule | None:
        """The HLO module, None if there is none or none yet."""
        return self._module.module

    async def module_for(self, path: Path) -> HloModule | None:
        """The HLO module to answer from about a file of the set: about its own that of the text as it is now, if that
        does not take long.
        """
        opened, module = self.open.get(path), self.module
        is_own = module is not None and module.file.label == str(path)
        is_stale = opened and module and opened.document is not module.file.document
        is_known = opened and module and opened.analysed is module.file.document
        if module is None or (is_own and is_stale and not (is_known and self._module.seconds > _SHORT)):
            await self.settled()
            module = await self._module.ready()
        return module

    async def settled(self) -> None:
        """Waits until the analysis is that of the texts as they are now."""
        if self._task and not self._task.done():
            self._hurry.set()
            # If it is given up, that is no reason to give up who waits for it.
            await asyncio.wait((self._task,))

    def note_answer(self, method: str, path: Path) -> None:
        """A request about a file is answered from the analysis as it is now."""
        is_of_module = self.module is not None and self.module.file.label == str(path)
        if (self._task and not self._task.done()) or (is_of_module and self._module.is_loading):
            self._outdated.add(method)
        else:
            self._answered.setdefault(method, set()).add(path)

    def outdated(self) -> set[str]:
        """The requests that were answered from what has changed since, but for those that an editor makes again
        because it has itself changed the document that they are about. They are told once.
        """
        found, self._outdated = self._outdated, set()
        return found

    def file(self, path: Path) -> DumpFile | None:
        """A file of the set as it was analysed."""
        loaded = self._files.get(path)
        if loaded is None and self.module and self.module.file.label == str(path):
            return self.module.file
        return loaded.dump_file if loaded else None

    async def look(self) -> None:
        """Loads the set again if its files have changed on disk, once they do not change any more."""
        texts = {path: opened.document for path, opened in self.open.items()}
        found = await in_thread(lambda: stamps(set_files(self.path, texts), self._module.stamps))
        known = {path: loaded.stamp for path, loaded in self._files.items() if loaded.stamp} | self._module.stamps
        on_disk = {path: stamp for path, stamp in found.items() if path not in self.open}
        is_still, self._seen = on_disk == self._seen, on_disk
        if self._task and not self._task.done():
            return
        if self.analysis and is_still and on_disk != known:
            if gone := sorted(known.keys() - found.keys()):
                self._events.vanished(self, gone)
            self.reload()

    async def _load_until_fresh(self) -> None:
        while self._is_stale:
            if self.analysis is not None:
                await self._pause()
            self._is_stale = False
            try:
                await self._load()
            except Cancelled:
                pass
            except Exception:
                logger.exception("cannot load %s", self.key)
            finally:
                self._job = None

    async def _load(self) -> None:
        self._job = job = _Job(dict(self.open))
        texts = {path: opened.document for path, opened in job.open.items()}
        started = time.monotonic()
        async with self._events.loading(self):
            files, analysis = await in_thread(load_set, self.path, texts, self._files, lambda: job.is_cancelled)
        self._seconds = time.monotonic() - started
        self._files, self.analysis = files, analysis
        self.generation = next(_GENERATIONS)
        changed = {path for path, opened in self.open.items() if opened.analysed is not texts.get(path)}
        self._outdated |= {method for method, paths in self._answered.items() if paths - changed}
        self._answered.clear()
        for path in texts.keys() & files.keys():
            self._note_analysed(job, path, texts[path])
        self._events.loaded(self)
        self._module.reload(self.path, texts, partial(self._module_loaded, job))

    def _module_loaded(self, job: _Job) -> None:
        if self.module:
            self._note_analysed(job, Path(self.module.file.label), self.module.file.document)
            self._events.module_loaded(self)

    def _note_analysed(self, job: _Job, path: Path, document: Document) -> None:
        """A document was read as it was at the start of a load."""
        then, now = job.open.get(path), self.open.get(path)
        # One that was closed meanwhile and opened again has other edits.
        if then and now and then.opening is now.opening:
            edits = now.edits[len(then.edits) :]
            shown = now.document if edits else document
            self.open[path] = replace(now, document=shown, analysed=document, edits=edits)

    async def _pause(self) -> None:
        """Waits for more edits for as long as a load takes: typing should not start one load after another."""
        self._hurry.clear()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._hurry.wait(), min(self._seconds, _LONGEST_PAUSE))


class Session:
    """All open documents and their sets."""

    def __init__(self, events: Events) -> None:
        self._events = events
        self._sets: dict[Path, DumpSetState] = {}
        self._opened: dict[str, tuple[DumpSetState, Path]] = {}
        self._visits = Visits(self._let_go)

    @property
    def sets(self) -> list[DumpSetState]:
        """The sets that have open documents."""
        return list(self._sets.values())

    def open(self, uri: str, path: Path, version: int, document: Document) -> None:
        """The editor has opened a document. Two addresses may be spellings of one: they share the document."""
        self.close(uri)
        shared = next((pair for pair in self._opened.values() if pair[1] == path), None)
        if shared:
            self._opened[uri] = shared
            before = shared[0].open[path].document.data
            if document.data != before:
                self.change(uri, version, document, [Edit(0, len(before), len(document.data))])
            return
        key = set_key(path, document)
        state = self._sets.get(key) or self._visits.take(key) or DumpSetState(key, path, self._events)
        self._sets[key] = state
        self._opened[uri] = state, path
        state.add(OpenDocument(uri, path, version, document, object()))

    def change(self, uri: str, version: int, document: Document, edits: list[Edit]) -> None:
        """The editor has changed an open document; `edits` say where."""
        state, path = self._opened[uri]
        opened = state.open[path]
        state.open[path] = replace(opened, version=version, document=document, edits=(*opened.edits, *edits))
        state.reload()

    def close(self, uri: str) -> None:
        """The editor has closed a document: what is on disk counts again."""
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
            state.close()
            self._events.closed(state)

    def find(self, uri: str) -> tuple[DumpSetState, Path] | None:
        """The set of an open document and its path, None if it is not open."""
        return self._opened.get(uri)

    def find_set(self, path: Path) -> DumpSetState | None:
        """The set that has a file and some open document, None if there is none."""
        return next((state for state in self._sets.values() if path in state.open or state.file(path)), None)

    def visit(self, key: Path, path: Path) -> DumpSetState:
        """The set of a file that is not open, as it is on disk, by its key. The last few of them are kept."""
        if key in self._sets:
            return self._sets[key]
        state = self._visits.get(key)
        if state is None:
            state = DumpSetState(key, path, self._events)
            state.reload()
        self._visits.keep(state)
        return state

    def _let_go(self, state: DumpSetState) -> None:
        state.close()
        self._events.let_go(state)

    def close_all(self) -> None:
        """Gives up all that is under way."""
        for state in (*self._sets.values(), *self._visits):
            state.close()

    async def look(self) -> None:
        """Looks what has changed on disk."""
        self._visits.tidy()
        for state in (*self._sets.values(), *self._visits):
            await state.look()
