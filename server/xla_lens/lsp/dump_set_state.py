"""One dump set: its open documents, its files as they were loaded, its analysis and its HLO module.

A set is loaded in a worker thread, in three steps: the files of the dump with their analysis, the HLO module, and the
findings of the dump against its module. Requests wait for the step that they need. While a load is in progress, the
last analysis answers requests; positions are mapped over the edits since. The files on disk are polled, and a set that
has changed there is loaded again.
"""

import asyncio
import itertools
import logging
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from enum import IntEnum
from functools import partial
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from xla_lens.disk.loading import LoadedFile, is_being_written, load_module, load_set, stamps
from xla_lens.disk.reading import Stamp
from xla_lens.disk.sets import CACHED, SetFiles, is_cached_module, set_files
from xla_lens.disk.tried import tried_stamp
from xla_lens.lsp.documents import OpenDocument, texts_of
from xla_lens.lsp.tasks import in_thread
from xla_lens.model.analysis import Analysis
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.syntax.file_names import split_name
from xla_lens.syntax.standard_output import has_files
from xla_lens.syntax.tree import Cancelled
from xla_lens.text.document import Document, IsCancelled, ReportProgress

logger = logging.getLogger(__name__)

_GENERATIONS: Final = itertools.count(1)

_SHORT_LOAD: Final = 0.2
"""Maximum duration in seconds of loads that requests wait for. During longer loads, the last analysis answers."""

_LONGEST_DEBOUNCE: Final = 2.0
"""Maximum number of seconds between an edit and the next load."""

_OUTPUT: Final = "This is the output of --xla_dump_to=-, which `xla-lens report` reads."


class Events:
    """What happens to dump sets. Does nothing; the server has a subclass that does something."""

    def loaded(self, dump_set: "DumpSetState") -> None:
        """A set or its HLO module was loaded, or a document of a loaded set was opened."""

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


class _Step(IntEnum):
    """The steps of a load."""

    ANALYSED = 1
    MODULE_READ = 2
    CHECKED = 3
    """The analysis has the findings of the dump against its module, if there is one."""


class _Load(Struct, eq=False):
    """A load in progress, the open documents at its start, and the last step that is done, 0 if none is."""

    open: dict[Path, OpenDocument]
    step: int = 0
    is_cancelled: bool = False
    done: float = 0.0
    """The fraction of the files that is read. A worker thread sets it, the event loop reads it."""

    @property
    def hooks(self) -> tuple[IsCancelled, ReportProgress]:
        """What functions that load call: whether the load is cancelled, and to report the fraction that is done."""
        return lambda: self.is_cancelled, partial(setattr, self, "done")


class DumpSetState:
    """One dump set. `key` identifies it, `path` is one of its files, and `generation` identifies its analysis."""

    def __init__(self, key: Path, path: Path, events: Events) -> None:
        self.key = key
        self.path = path
        self.open: dict[Path, OpenDocument] = {}
        self.analysis: Analysis | None = None
        self.generation = 0
        self.used = 0.0
        """When the set was used last, by `time.monotonic`."""
        self.is_awaited = False
        """Whether a request may wait for the set although it has no open documents."""
        self.is_being_written = False
        """Whether findings are held back because another program seems to be writing the files."""
        self.why_empty = ""
        """Why the set has no numbers, if it is no dump but looks like one."""
        self._events = events
        self._files: dict[Path, LoadedFile] = {}
        self._own: Analysis | None = None
        """The analysis without the findings against the module."""
        self._module: LoadedFile | None = None
        self._seconds = 0.0
        """How long the last load of the files took."""
        self._module_seconds: float | None = None
        """How long the last load of the module took, None if there was none."""
        self._seen: dict[Path, Stamp] = {}
        self._tried: Stamp | None = None
        """The stamp of the file that keeps what was tried, None if there is none."""
        self._is_stale = False
        self._skip_debounce = asyncio.Event()
        self._load: _Load | None = None
        self._task: asyncio.Task[None] | None = None
        self._next_step: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._is_closed = False

    # ---------------------------------------------------------------- documents

    def add(self, opened: OpenDocument) -> None:
        """Add a document that the editor has opened. Loads the set unless it has the same text or is reading it."""
        self.open[opened.path] = opened
        if self._match_opened(opened.path):
            self._events.loaded(self)
        elif not self._load or self._load.step or self._load.is_cancelled or opened.path in self._load.open:
            self.reload()
        # Else the file is being read from disk, most likely with the same text. The end of the load compares them.

    def remove(self, path: Path) -> None:
        """Remove a document that the editor has closed: from now on the file on disk counts. Compares the two after the
        load in progress.
        """
        del self.open[path]
        if self._load and not self._load.step:
            self._is_stale = True
        else:
            self.reload()

    def reload(self) -> None:
        """Load the set again, after a change. Cancels a load in progress."""
        self._is_stale = True
        if self._load:
            self._load.is_cancelled = True
        if self._task and self._load and self._load.step:
            # What its thread still does concerns the module only, so the next load need not wait for that.
            self._task.cancel()
            self._task = self._load = None
        if not self.is_loading and not self._is_closed:
            self._task = asyncio.get_running_loop().create_task(self._load_until_fresh())

    def close(self) -> None:
        """Cancel the load in progress. From now on nothing is loaded."""
        self._is_closed = True
        if self._task:
            self._task.cancel()
            # The task and the set refer to each other: break the cycle.
            self._task = None

    # ---------------------------------------------------------------- the analysis and the HLO module

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

    async def module_for(self, path: Path) -> HloModule | None:
        """Return the HLO module that answers a request about a file, None if there is none. For the module's own file,
        that is the module of the current text if it loads fast.
        """
        opened, seconds = self.open.get(path), self._module_seconds
        is_new = seconds is None or (opened is not None and opened.analysed is None)
        if is_new or (self.is_module(path) and seconds is not None and seconds < _SHORT_LOAD):
            await self._reached(_Step.MODULE_READ)
        return self.module

    async def loaded_for(self, path: Path) -> Analysis | None:
        """Return what `analysis_for` returns, after waiting for the HLO module like `module_for`."""
        await self.analysis_for(path)
        await self.module_for(path)
        # The set may have been loaded again while its module was awaited.
        return await self.analysis_for(path)

    @property
    def module(self) -> HloModule | None:
        """The HLO module, None if there is none or it is not loaded yet."""
        return self._module.module if self._module else None

    def is_module(self, path: Path) -> bool:
        """Whether a file is the HLO module of the set."""
        return self.module is not None and self.module.file.label == str(path)

    def file(self, path: Path) -> DumpFile | None:
        """Return a file of the set as it was loaded, None if it is not part of the set."""
        loaded = self._loaded.get(path)
        return loaded.dump_file if loaded else None

    @property
    def _loaded(self) -> dict[Path, LoadedFile]:
        """The files that are loaded, HLO module included. A file of the dump may also be read as a module."""
        module = {Path(self._module.dump_file.label): self._module} if self._module else {}
        return {**module, **self._files}

    @property
    def has_files(self) -> bool:
        """Whether the set is loaded and has files."""
        return self.analysis is not None and len(self.analysis.dump.files) > 0

    @property
    def size_bytes(self) -> int:
        """The size of the files that are loaded, HLO module included."""
        return sum(len(loaded.dump_file.document.data) for loaded in self._loaded.values())

    @property
    def stamps(self) -> dict[Path, Stamp]:
        """The stamps of the files that were read from disk."""
        return {path: loaded.stamp for path, loaded in self._loaded.items() if loaded.stamp}

    # ---------------------------------------------------------------- waiting for a load

    @property
    def is_loading(self) -> bool:
        """Whether the set or its HLO module is being loaded."""
        return self._task is not None and not self._task.done()

    def _is_before(self, step: _Step) -> bool:
        """Whether a load is in progress that has not done a step with the current texts."""
        return self.is_loading and (self._is_stale or self._load is None or self._load.step < step)

    async def _reached(self, step: _Step) -> None:
        """Wait until a step is done with the current texts."""
        while self._task and self._is_before(step):
            self._skip_debounce.set()
            # Not awaited directly: cancelling the load must not cancel the waiting request.
            await asyncio.wait((self._task, self._next_step), return_when=asyncio.FIRST_COMPLETED)

    async def settled(self) -> None:
        """Wait until the analysis is that of the current texts."""
        await self._reached(_Step.ANALYSED)

    async def checked(self) -> None:
        """Wait until the analysis also has the findings of the dump against its HLO module, if there is one."""
        await self._reached(_Step.CHECKED)

    # ---------------------------------------------------------------- loading

    async def poll(self) -> None:
        """Load the set again if its files have changed on disk since the last load and have stopped changing."""
        texts, known = texts_of(self.open), self.stamps
        found, tried = await in_thread(lambda: (stamps(set_files(self.path, texts), known), tried_stamp(self.key)))
        on_disk = {path: stamp for path, stamp in found.items() if path not in self.open}
        is_still, self._seen = on_disk == self._seen, on_disk
        if known != self.stamps or self.is_loading or self._is_closed:
            return
        analysis = self.analysis
        if analysis and is_still and (on_disk != known or tried != self._tried):
            if deleted := sorted(known.keys() - found.keys()):
                self._events.files_deleted(deleted)
            self.reload()
        elif self.is_being_written and analysis:
            is_written = await in_thread(is_being_written, analysis, may_be_edited=True)
            if not is_written and self.analysis is analysis and not self._is_closed:
                self.is_being_written = False
                self._events.loaded(self)

    async def _load_until_fresh(self) -> None:
        while self._is_stale:
            if self.analysis is not None:
                await self._debounce()
            self._is_stale, self._load = False, _Load(dict(self.open))
            load = self._load
            try:
                for step, run in zip(_Step, (self._load_files, self._load_module, self._check_module), strict=True):
                    await run(load)
                    load.step = step
                    self._next_step.set_result(None)
                    self._next_step = asyncio.get_running_loop().create_future()
                    if self._is_stale:
                        break
            except Cancelled:
                pass
            except Exception:
                logger.exception("cannot load %s", self.key)
            finally:
                # If this task is cancelled, the thread goes on until it sees that.
                load.is_cancelled = True
                # While this task waits before the next load, `reload` must not cancel it: `asyncio.wait_for` of
                # Python 3.11 can swallow that, and two tasks would load. Another task may have begun the next load.
                if self._load is load:
                    self._load = None

    async def _load_files(self, load: _Load) -> None:
        texts, known, before, started = texts_of(load.open), self._files, self._own, time.monotonic()

        def read() -> tuple[dict[Path, LoadedFile], Analysis, Stamp | None, bool, str]:
            found, why_empty, tried = set_files(self.path, texts), "", tried_stamp(self.key)
            others = [path for path in found.paths.values() if path in texts and split_name(path.name)[1] is None]
            if any(has_files(texts[path].data) for path in others):
                found, why_empty = SetFiles(self.path, {}), _OUTPUT
            files, analysis = load_set(found, texts, known, *load.hooks, before=before)
            if not files and is_cached_module(self.path):
                why_empty = f"This module was {CACHED}."
            if analysis is not before:
                analysis.prepare()
            return files, analysis, tried, is_being_written(analysis, may_be_edited=True), why_empty

        async with self._events.loading(self.key.name, lambda: load.done):
            files, analysis, tried, is_written, why_empty = await in_thread(read)
        # All at once: a request that came in between would see the new files with the last analysis.
        self._files, self._tried, self.is_being_written, self.why_empty = files, tried, is_written, why_empty
        if analysis is not self._own:
            self._seconds = time.monotonic() - started
            self._own = self.analysis = replace(analysis, module=self.module)
            self.generation = next(_GENERATIONS)
        for path in texts.keys() & files.keys():
            # The same text as before keeps its document.
            self._set_analysed(load, path, files[path].dump_file.document)
        for path in self.open.keys() - texts.keys():
            self._is_stale |= not self._match_opened(path)
        self._events.loaded(self)

    async def _load_module(self, load: _Load) -> None:
        texts, known, started = texts_of(load.open), self._module, time.monotonic()

        def read_module() -> LoadedFile | None:
            loaded = load_module(set_files(self.path, texts), texts, known, *load.hooks)
            if loaded and loaded.module:
                loaded.module.prepare(load.hooks[0])
            return loaded

        load.done = 0.0
        async with self._events.loading(f"the HLO module {self.key.name}", lambda: load.done):
            loaded = await in_thread(read_module)
        if load.is_cancelled:
            raise Cancelled
        self._module, self._module_seconds = loaded, time.monotonic() - started
        own, analysis = self._own, self.analysis
        if own and analysis and own.module is not self.module:
            self._own = replace(own, module=self.module)
            self.analysis = self._own if analysis is own else replace(analysis, module=self.module)
        if loaded:
            self._set_analysed(load, Path(loaded.dump_file.label), loaded.dump_file.document)
            self._events.loaded(self)

    async def _check_module(self, load: _Load) -> None:
        """Add the findings of the dump against its module to the analysis."""
        own, module = self._own, self.module
        if own is None or module is None:
            return

        def check() -> tuple[Analysis, bool]:
            analysis = own.with_module(module, load.hooks[0])
            return analysis, is_being_written(analysis, may_be_edited=True)

        analysis, is_written = await in_thread(check)
        if analysis is not self.analysis and not load.is_cancelled:
            self.is_being_written |= is_written
            self.analysis, self.generation = analysis, next(_GENERATIONS)
            self._events.loaded(self)

    def _match_opened(self, path: Path) -> bool:
        """Compare a document that was opened with its file, and take that as its analysed text if they are equal."""
        opened, loaded = self.open[path], self._files.get(path)
        if loaded is None or loaded.dump_file.document.data != opened.document.data:
            return False
        document = loaded.dump_file.document
        self.open[path] = replace(opened, document=document, analysed=document, edits=())
        return True

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
