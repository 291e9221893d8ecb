"""One dump set: its open documents, its files as they were loaded, and its analysis.

A set is loaded in a worker thread. While a load is in progress, the last analysis answers requests; positions are
mapped over the edits since. The files on disk are polled, and a set that has changed there is loaded again.
"""

import asyncio
import itertools
import logging
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Final

from xla_lens.files import LoadedFile, Stamp, is_being_written, is_cached_module, load_set, set_files, stamps
from xla_lens.lsp.documents import OpenDocument
from xla_lens.lsp.module_state import ModuleLoad, ModuleState
from xla_lens.lsp.tasks import in_thread
from xla_lens.model.analysis import Analysis
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.syntax.tree import Cancelled
from xla_lens.text.document import Document

logger = logging.getLogger(__name__)

_GENERATIONS: Final = itertools.count(1)

_SHORT_LOAD: Final = 0.2
"""Maximum duration in seconds of loads that requests wait for. During longer loads, the last analysis answers."""

_LONGEST_DEBOUNCE: Final = 2.0
"""Maximum number of seconds between an edit and the next load."""


class Events:
    """What happens to dump sets. Does nothing; the server has a subclass that does something."""

    def loaded(self, dump_set: "DumpSetState") -> None:
        """A set was loaded, or a document of a loaded set was opened."""

    def module_loaded(self, dump_set: "DumpSetState") -> None:
        """The HLO module of a set was loaded."""

    def closed(self, dump_set: "DumpSetState") -> None:
        """The last open document of a set was closed. The set stays in memory."""

    def evicted(self, dump_set: "DumpSetState") -> None:
        """A set without open documents was removed from memory."""

    def files_deleted(self, paths: list[Path]) -> None:
        """Files of a set are no longer on disk."""

    def loading(self, what: str, done: Callable[[], float]) -> AbstractAsyncContextManager[None]:
        """Return a context manager that is entered around a load. `done` returns the fraction that is done."""
        del what, done
        return nullcontext()

    def let_go_first(self) -> None:
        """Block a worker thread for a moment while requests are handled."""


@dataclass(slots=True, eq=False)
class _Load:
    """A load in progress, the open documents at its start, and the files that are read so far."""

    open: dict[Path, OpenDocument]
    files: dict[Path, DumpFile] = field(default_factory=dict)
    is_cancelled: bool = False
    done: float = 0.0
    """The fraction that is done. A worker thread sets it, the event loop reads it."""


class DumpSetState:
    """One dump set. `key` identifies it, `path` is one of its files, and `generation` identifies its analysis."""

    def __init__(self, key: Path, path: Path, events: Events) -> None:
        self.key = key
        self.path = path
        self.open: dict[Path, OpenDocument] = {}
        self.analysis: Analysis | None = None
        self.generation = 0
        self.is_being_written = False
        """Whether findings are held back because another program seems to be writing the files."""
        self.is_from_cache = False
        """Whether the set is only an HLO module that was loaded from JAX's compilation cache."""
        self._answered: dict[str, set[Path]] = {}
        self._outdated: set[str] = set()
        self._events = events
        self._files: dict[Path, LoadedFile] = {}
        self._seen: dict[Path, Stamp] = {}
        self._is_stale = False
        self._skip_debounce = asyncio.Event()
        self._load: _Load | None = None
        self._next_file: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._task: asyncio.Task[None] | None = None
        self._seconds = 0.0
        self._module = ModuleState()
        self._own: Analysis | None = None
        self._evidence: asyncio.Task[None] | None = None
        self._is_closed = False

    # ---------------------------------------------------------------- documents

    def add(self, opened: OpenDocument) -> None:
        """Add a document that the editor has opened. If its text is already loaded or being loaded, nothing is loaded
        again.
        """
        known = self._files.get(opened.path)
        if known and known.dump_file.document.data == opened.document.data:
            document = known.dump_file.document
            self.open[opened.path] = replace(opened, document=document, analysed=document)
            self._events.loaded(self)
        elif self._load and not self._load.is_cancelled and opened.path not in self._load.open:
            # The file is being read from disk, most likely with the same text. The end of the load compares them.
            self.open[opened.path] = opened
        else:
            self.open[opened.path] = opened
            self.reload()

    def remove(self, path: Path) -> None:
        """Remove a document that the editor has closed: from now on the file on disk counts. Compares the two after the
        load in progress.
        """
        del self.open[path]
        self._load_again()

    def reload(self) -> None:
        """Load the set again, after a change. Cancels a load in progress."""
        if self._load:
            self._load.is_cancelled = True
        self._load_again()

    def _load_again(self) -> None:
        self._is_stale = True
        if not self._is_loading_files and not self._is_closed:
            self._task = asyncio.get_running_loop().create_task(self._load_until_fresh())

    def close(self) -> None:
        """Cancel the loads in progress. From now on nothing is loaded."""
        self._is_closed = True
        if self._load:
            self._load.is_cancelled = True
        if self._task:
            self._task.cancel()
            # The task and the set refer to each other: break the cycle.
            self._task = None
        self._module.close()
        if self._evidence:
            self._evidence.cancel()
            self._evidence = None

    # ---------------------------------------------------------------- the analysis and the HLO module

    async def file_before_analysis(self, path: Path) -> DumpFile | None:
        """Return the file of an open document as soon as its current text is read, long before its set is analysed.
        None if the document is already analysed, or is not a dump file.
        """
        while self._task and not self._task.done() and (opened := self.open.get(path)) and opened.analysed is None:
            file = self._load.files.get(path) if self._load else None
            if file and file.document.data == opened.document.data:
                return file
            self._skip_debounce.set()
            await asyncio.wait((self._task, self._next_file), return_when=asyncio.FIRST_COMPLETED)
        return None

    async def analysis_for(self, path: Path) -> Analysis | None:
        """Return the analysis that answers a request about a file: that of the current text if loads are short or there
        is no other, else the last one. None if there is none, or if the file is not part of a dump.
        """
        opened = self.open.get(path)
        is_known = opened.analysed is not None if opened else self.analysis is not None
        if self._seconds < _SHORT_LOAD or not is_known:
            await self.settled()
            opened = self.open.get(path)
        return self.analysis if self.has_files and (not opened or opened.analysed) else None

    async def loaded_for(self, path: Path) -> tuple[Analysis | None, HloModule | None]:
        """Return what `analysis_for` and `module_for` return, both as they are at the same moment: the set may be
        loaded again while its module is awaited.
        """
        await self.analysis_for(path)
        await self.module_for(path)
        return await self.analysis_for(path), self.module

    @property
    def module(self) -> HloModule | None:
        """The HLO module, None if there is none or it is not loaded yet."""
        return self._module.module

    async def module_for(self, path: Path) -> HloModule | None:
        """Return the HLO module that answers a request about a file. For the module's own file, that is the module of
        the current text if it loads fast.
        """
        opened, module = self.open.get(path), self.module
        is_stale = opened and module and opened.document is not module.file.document
        is_known = opened and module and opened.analysed is module.file.document
        is_slow = is_known and self._module.seconds > _SHORT_LOAD
        is_new = module is None and (self.analysis is None or (opened is not None and opened.analysed is None))
        if is_new or (self.is_module(path) and is_stale and not is_slow):
            await self.settled()
        elif module:
            return module
        return await self._module.ready()

    def is_module(self, path: Path) -> bool:
        """Whether a file is the HLO module of the set."""
        return self._module.path == path

    def file(self, path: Path) -> DumpFile | None:
        """Return a file of the set as it was loaded, None if it is not part of the set."""
        loaded = self._files.get(path)
        if loaded is None and self.module and self.is_module(path):
            return self.module.file
        return loaded.dump_file if loaded else None

    @property
    def has_files(self) -> bool:
        """Whether the set is loaded and has files."""
        return self.analysis is not None and len(self.analysis.dump.files) > 0

    @property
    def size_bytes(self) -> int:
        """The size of the files that are loaded, HLO module included."""
        files = [loaded.dump_file for loaded in self._files.values()] + ([self.module.file] if self.module else [])
        return sum(len(file.document.data) for file in files)

    @property
    def stamps(self) -> dict[Path, Stamp]:
        """The stamps of the files that were read from disk."""
        return {path: loaded.stamp for path, loaded in self._files.items() if loaded.stamp} | self._module.stamps

    @property
    def is_loading(self) -> bool:
        """Whether the set or its HLO module is being loaded."""
        return self._is_loading_files or self._module.is_loading

    @property
    def _is_loading_files(self) -> bool:
        return self._task is not None and not self._task.done()

    async def settled(self) -> None:
        """Wait until the analysis is that of the current texts."""
        while self._task and not self._task.done():
            self._skip_debounce.set()
            # Not awaited directly: cancelling the load must not cancel the waiting request.
            await asyncio.wait((self._task,))

    async def checked(self) -> None:
        """Wait until the analysis also has the findings of the dump against its HLO module, if there is one."""
        await self.settled()
        await self._module.ready()
        if self._evidence:
            await asyncio.wait((self._evidence,))

    # ---------------------------------------------------------------- stale answers

    def record_answer(self, method: str, path: Path) -> None:
        """Record that a request about a file is answered from the current analysis."""
        if self._is_loading_files or (self.is_module(path) and self._module.is_loading):
            self._outdated.add(method)
        else:
            self._answered.setdefault(method, set()).add(path)

    def take_outdated(self) -> set[str]:
        """Return the requests whose answers are stale since the last call. Requests about a document that the editor
        has changed are left out, because the editor repeats those by itself.
        """
        outdated, self._outdated = self._outdated, set()
        return outdated

    # ---------------------------------------------------------------- loading

    async def poll(self) -> None:
        """Load the set again if its files have changed on disk since the last load and have stopped changing."""
        texts = {path: opened.document for path, opened in self.open.items()}
        known, modules = self.stamps, self._module.stamps
        found = await in_thread(lambda: stamps(set_files(self.path, texts), modules))
        on_disk = {path: stamp for path, stamp in found.items() if path not in self.open}
        is_still, self._seen = on_disk == self._seen, on_disk
        is_outdated = known != self.stamps
        if is_outdated or self._is_loading_files or self._is_closed:
            return
        analysis = self.analysis
        if analysis and is_still and on_disk != known:
            if deleted := sorted(known.keys() - found.keys()):
                self._events.files_deleted(deleted)
            self.reload()
        elif self.is_being_written and analysis:
            is_written = await in_thread(is_being_written, analysis, may_be_edited=True)
            if not is_written and self.analysis is analysis and not self._is_closed:
                self.is_being_written = False
                self._changed()

    async def _load_until_fresh(self) -> None:
        while self._is_stale:
            if self.analysis is not None:
                await self._debounce()
            self._is_stale = False
            try:
                await self._load_once()
            except Cancelled:
                pass
            except Exception:
                logger.exception("cannot load %s", self.key)
            finally:
                if self._load:
                    # If this task is cancelled, the thread goes on until it sees that.
                    self._load.is_cancelled = True
                self._load = None

    async def _load_once(self) -> None:
        self._load = load = _Load(dict(self.open))
        texts = {path: opened.document for path, opened in load.open.items()}
        loop = asyncio.get_running_loop()

        def report_file(file: DumpFile) -> None:
            loop.call_soon_threadsafe(self._file_read, load, file)

        def read() -> tuple[dict[Path, LoadedFile], Analysis]:
            files, analysis = load_set(
                set_files(self.path, texts),
                texts,
                known,
                lambda: load.is_cancelled,
                partial(setattr, load, "done"),
                before=before,
                report_file=report_file,
            )
            if analysis is not before:
                analysis.prepare()
            return files, analysis

        known, before, started = self._files, self._own, time.monotonic()
        async with self._events.loading(self.key.name, lambda: load.done):
            files, analysis = await in_thread(read)
        is_written = await in_thread(is_being_written, analysis, may_be_edited=True)
        is_from_cache = not files and await in_thread(is_cached_module, self.path)
        # All at once: a request that came in between would see the new files with the last analysis.
        self._files, self.is_being_written, self.is_from_cache = files, is_written, is_from_cache
        if analysis is not self._own:
            self._seconds = time.monotonic() - started
            self._own = self.analysis = analysis
            self.generation = next(_GENERATIONS)
            changed = {path for path, opened in self.open.items() if opened.analysed is not texts.get(path)}
            self._outdated |= {method for method, paths in self._answered.items() if paths - changed}
            self._answered.clear()
        for path in texts.keys() & files.keys():
            # The same text as before keeps its document.
            self._set_analysed(load, path, files[path].dump_file.document)
        for path in self.open.keys() - texts.keys():
            self._match_opened(path)
        self._events.loaded(self)
        progress = self._events.loading(f"the HLO module {self.key.name}", lambda: self._module.done)
        on_loaded = partial(self._module_loaded, load)
        self._module.reload(ModuleLoad(self.path, texts, progress, on_loaded, self._events.let_go_first))

    def _file_read(self, load: _Load, file: DumpFile) -> None:
        load.files[Path(file.label)] = file
        self._next_file.set_result(None)
        self._next_file = asyncio.get_running_loop().create_future()

    def _module_loaded(self, load: _Load) -> None:
        if self.module:
            self._set_analysed(load, Path(self.module.file.label), self.module.file.document)
            self._events.module_loaded(self)
            if self._own:
                check = self._check_module(self._own, self.module)
                self._evidence = asyncio.get_running_loop().create_task(check)

    async def _check_module(self, own: Analysis, module: HloModule) -> None:
        """Add the findings of the dump against its module to the analysis."""

        def is_outdated() -> bool:
            return self._own is not own or self.module is not module

        def is_cancelled() -> bool:
            """Let requests go first."""
            self._events.let_go_first()
            return is_outdated()

        try:
            analysis = await in_thread(own.with_module, module, is_cancelled)
        except Cancelled:
            return
        except Exception:
            logger.exception("cannot check %s against its HLO module", self.key)
            return
        if analysis is self.analysis:
            return
        is_written = await in_thread(is_being_written, analysis, may_be_edited=True)
        if not is_outdated():
            self.is_being_written |= is_written
            self.analysis, self.generation = analysis, next(_GENERATIONS)
            self._changed()

    def _changed(self) -> None:
        """Publish findings that have changed without a load."""
        self._outdated |= self._answered.keys()
        self._answered.clear()
        self._events.loaded(self)

    def _match_opened(self, path: Path) -> None:
        """Compare a document that was opened during a load with its file. If they differ, load again."""
        opened, loaded = self.open[path], self._files.get(path)
        if loaded and loaded.dump_file.document.data == opened.document.data:
            document = loaded.dump_file.document
            self.open[path] = replace(opened, document=document, analysed=document)
        else:
            self._is_stale = True

    def _set_analysed(self, load: _Load, path: Path, document: Document) -> None:
        """Record that an open document was analysed as it was at the start of a load."""
        then, now = load.open.get(path), self.open.get(path)
        # The edits of a document that was closed and opened again in between do not lead from `then` to `now`.
        if then and now and then.opening is now.opening:
            edits = now.edits[len(then.edits) :]
            shown = now.document if edits else document
            self.open[path] = replace(now, document=shown, analysed=document, edits=edits)

    async def _debounce(self) -> None:
        """Wait as long as a load takes, so that typing does not start one load after another."""
        self._skip_debounce.clear()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._skip_debounce.wait(), min(self._seconds, _LONGEST_DEBOUNCE))
