"""The index of the workspace: for each dump set, a summary to search and the findings to report.

The sets on disk are read one after another in worker threads; the event loop alone touches the index. Sets in memory
are taken from there, so that unsaved changes count.
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, TypeAlias

from xla_lens.files import SetFiles
from xla_lens.lsp.client import Client
from xla_lens.lsp.convert import Converter
from xla_lens.lsp.dump_set_state import DumpSetState
from xla_lens.lsp.dump_sets import DumpSets
from xla_lens.lsp.indexing import SET_LIMIT, IndexedSet, Progress, index, index_set
from xla_lens.lsp.tasks import BackgroundTasks, in_thread
from xla_lens.model.analysis import Analysis
from xla_lens.syntax.tree import Cancelled

_FRESH_SECONDS: Final = 5.0
"""How long the index is used without checking the disk again."""

_POLLING_SHARE: Final = 0.01
"""Maximum share of the time that checking the disk takes where no user waits for it."""

IndexedSets: TypeAlias = Mapping[Path, IndexedSet]
"""Sets by their keys."""


@dataclass(slots=True, eq=False)
class _Read:
    """One pass over the folders. `excluded` are the sets that were in memory at its start; `found` are the sets read so
    far, by their keys.
    """

    folders: tuple[Path, ...]
    excluded: frozenset[Path]
    found: dict[Path, IndexedSet] = field(default_factory=dict)
    progress: Progress | None = None
    check_seconds: float = 0.0
    """How long it took to find the sets and to see which have changed, before any was read."""
    ended: float = float("-inf")
    is_outdated: bool = False


class WorkspaceIndex:
    """The dump sets in the folders of the workspace, and those in memory."""

    def __init__(
        self, sets: DumpSets, client: Client, tasks: BackgroundTasks, on_truncated: Callable[[str], None]
    ) -> None:
        self.folders: tuple[Path, ...] = ()
        self.is_truncated = False
        """Whether the workspace has more sets than are indexed."""
        self._sets, self._client, self._tasks, self._on_truncated = sets, client, tasks, on_truncated
        self._known: IndexedSets = {}
        self._in_memory: dict[Path, tuple[int, IndexedSet]] = {}
        self._read: _Read | None = None
        self._task: asyncio.Task[None] | None = None
        self._is_closed = False

    def close(self) -> None:
        """Stop reading."""
        self._is_closed = True

    def invalidate(self) -> None:
        """Read the folders again when the index is used next: files have changed."""
        if self._read:
            self._read.is_outdated = True

    # ---------------------------------------------------------------- reading

    @property
    def is_reading(self) -> bool:
        """Whether a pass over the folders is in progress."""
        return self._task is not None and not self._task.done()

    def start_reading(self) -> bool:
        """Start a pass if the index may be stale. Return whether one is in progress."""
        if not self.is_reading and not (self._is_fresh() and self._is_current()):
            self._tasks.start(self.update())
            return True
        return self.is_reading

    async def update(self, *, is_polling: bool = False) -> None:
        """Wait until the index matches the disk as it was at most a few seconds ago. Where the server or the editor
        polls, that may be longer ago in a big workspace, which takes long to check.
        """
        is_read = self._is_fresh(is_polling=is_polling)
        while not (is_read and self._is_current()) and not self._is_closed:
            if not self.is_reading:
                self._task = asyncio.get_running_loop().create_task(self._read_folders())
            if self._task:
                await asyncio.shield(self._task)
            is_read = True

    def _is_fresh(self, *, is_polling: bool = False) -> bool:
        if self._read is None or self.is_reading:
            return False
        polling_seconds = self._read.check_seconds / _POLLING_SHARE if is_polling else 0.0
        return time.monotonic() - self._read.ended < max(_FRESH_SECONDS, polling_seconds)

    def _is_current(self) -> bool:
        """Whether the last pass covers the folders of the workspace, no file has changed since it began, and the sets
        that it excluded are still in memory or known.
        """
        read = self._read
        return (
            read is not None
            and not read.is_outdated
            and read.folders == self.folders
            and read.excluded <= self._keys_in_memory() | self._known.keys()
        )

    def _keys_in_memory(self) -> frozenset[Path]:
        return frozenset(state.key for state in self._sets)

    async def _read_folders(self) -> None:
        self._read = read = _Read(self.folders, self._keys_in_memory())
        started = time.monotonic()

        def report_progress(progress: Progress) -> None:
            # Called in a worker thread. The event loop only reads it.
            read.check_seconds = read.check_seconds or time.monotonic() - started
            read.progress = progress

        found = index(
            read.folders,
            self._known,
            left_out=read.excluded,
            convert=Converter({}, self._client.capabilities.encoding),
            is_cancelled=lambda: self._is_closed,
            report_progress=report_progress,
        )
        try:
            async with self._client.progress("Reading dump sets", measure=lambda: _measured(read.progress)):
                while indexed := await in_thread(next, found, None):
                    read.found[indexed.files.stem] = indexed
        except Cancelled:
            return
        self.is_truncated = read.progress is not None and read.progress.is_truncated
        if self.is_truncated:
            self._on_truncated(f"only the first {SET_LIMIT:,} dump sets of the workspace are indexed")
        # Sets in memory are listed as they were before while they are loaded.
        kept = {key: self._known[key] for key in read.excluded & self._known.keys()}
        self._known = kept | read.found
        read.ended = time.monotonic()

    # ---------------------------------------------------------------- the sets

    def keep(self, state: DumpSetState) -> None:
        """Keep the entry of a set that is evicted from memory, so that it is listed without being read again."""
        generation, indexed = self._in_memory.pop(state.key, (0, None))
        is_in_folders = any(map(state.key.is_relative_to, self.folders))
        if indexed and generation == state.generation and state.has_files and is_in_folders:
            self._known = {**self._known, state.key: replace(indexed, stamps=state.stamps)}

    async def sets(self) -> IndexedSets:
        """Return the sets indexed so far, by their keys. Waits for the sets in memory to be loaded."""
        for state in self._sets:
            await state.analysis_for(state.path)
        return await self.sets_now()

    async def sets_now(self) -> IndexedSets:
        """Return the sets indexed so far, by their keys."""
        found = {**self._known, **(self._read.found if self._read and self.is_reading else {})}
        states = list(self._sets)
        for state in states:
            if state.analysis and state.has_files:
                found[state.key] = await self._index_loaded(state, state.analysis)
        return found

    async def _index_loaded(self, state: DumpSetState, analysis: Analysis) -> IndexedSet:
        known = self._in_memory.get(state.key)
        if known and known[0] == state.generation:
            return known[1]
        files = SetFiles(state.key, {file.kind: Path(file.label) for file in analysis.dump.files})
        generation, convert = state.generation, Converter(state.open, self._client.capabilities.encoding)
        indexed = await in_thread(index_set, files, {}, analysis, convert)
        if state in self._sets:
            self._in_memory[state.key] = generation, indexed
        return indexed


def _measured(progress: Progress | None) -> tuple[str, int]:
    if progress is None:
        return "", 0
    percentage = 100 * progress.size_bytes // max(1, progress.all_bytes)
    return f"{progress.set_count:,} of {progress.all_sets:,}", percentage
