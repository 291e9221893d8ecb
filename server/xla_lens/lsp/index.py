"""The index of the workspace: for each dump set, a summary to search and the findings to report.

The sets on disk are loaded one after another in worker threads, and at most one is in memory at a time; the event loop
alone touches the index. Sets in memory are taken from there, so that unsaved changes count.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from lsprotocol import types as lsp
from msgspec import Struct, field
from msgspec.structs import replace

from xla_lens.disk.loading import load_module_or_finding, load_set, stamps
from xla_lens.disk.reading import OVERVIEW_SHARE, Stamp
from xla_lens.disk.sets import SetFiles, walk_sets
from xla_lens.lsp.client import Client
from xla_lens.lsp.convert import Converter
from xla_lens.lsp.dump_set_state import DumpSetState
from xla_lens.lsp.dump_sets import DumpSets
from xla_lens.lsp.tasks import BackgroundTasks, in_thread
from xla_lens.model.analysis import Analysis
from xla_lens.model.capacity import Capacity, capacity_of, main_space, over_bytes
from xla_lens.model.checks.problems import Finding
from xla_lens.model.summary import SetSummary, summarise
from xla_lens.syntax.tree import Cancelled
from xla_lens.text.document import IsCancelled

logger = logging.getLogger(__name__)

# ---------------------------------------------------------------- one pass over the folders, in a worker thread

SET_LIMIT: Final = 5_000
"""Maximum number of indexed dump sets in a workspace."""

FINDING_LIMIT: Final = 1_000
"""Maximum number of findings kept for one file. Editors show no more."""


class FileFindings(Struct, frozen=True, eq=False):
    """The first findings of a file, and the number of all its findings. Findings are converted at once: each keeps the
    texts of its set in memory.
    """

    shown: tuple[lsp.Diagnostic, ...]
    count: int


class IndexedSet(Struct, frozen=True, eq=False):
    """The index entry of a dump set. `stamps` are those of its files when they were loaded. `findings` has an entry for
    the label of each file, also for files without findings.
    """

    files: SetFiles
    stamps: Mapping[Path, Stamp]
    summary: SetSummary
    findings: Mapping[str, FileFindings]


class Progress(NamedTuple):
    """The progress of indexing, in sets and in bytes of their files. `is_truncated` is whether there are more than
    `SET_LIMIT` sets, so that some are not indexed.
    """

    set_count: int
    all_sets: int
    size_bytes: int
    all_bytes: int
    is_truncated: bool

    @property
    def shown(self) -> tuple[str, int]:
        """What a progress bar shows: a message and a percentage."""
        percentage = 100 * self.size_bytes // max(1, self.all_bytes)
        return f"{self.set_count:,} of {self.all_sets:,}", percentage


def index(
    folders: Iterable[Path],
    known: Mapping[Path, IndexedSet],
    *,
    left_out: Collection[Path] = (),
    convert: Converter,
    is_cancelled: IsCancelled,
    report_progress: Callable[[Progress], None],
) -> Iterator[IndexedSet]:
    """Index the dump sets in some folders and their subfolders: those with the biggest files first, as these are most
    likely the worst. Entries in `known`, by the stem of their files, are yielded again if the files have not changed.
    Entries in `known` that are not yielded are gone.

    Raises `Cancelled`.
    """
    walked = (files for files in walk_sets(folders, is_cancelled) if files.stem not in left_out)
    found = list(islice(walked, SET_LIMIT + 1))
    is_truncated = len(found) > SET_LIMIT
    stamped = sorted(
        ((files, stamps(files, files.paths.values())) for files in found[:SET_LIMIT]), key=lambda pair: -_size(pair[1])
    )
    size_bytes, all_bytes = 0, sum(_size(stamp) for _, stamp in stamped)
    for number, (files, stamp) in enumerate(stamped):
        report_progress(Progress(number, len(stamped), size_bytes, all_bytes, is_truncated))
        before = known.get(files.stem)
        if before and before.stamps == stamp and before.files.paths == files.paths:
            yield before
        elif indexed := _load(files, stamp, convert, is_cancelled):
            yield indexed
        size_bytes += _size(stamp)
    report_progress(Progress(len(stamped), len(stamped), all_bytes, all_bytes, is_truncated))


def index_set(files: SetFiles, stamp: Mapping[Path, Stamp], analysis: Analysis, convert: Converter) -> IndexedSet:
    """Return the index entry of a loaded dump set."""
    found: dict[str, list[Finding]] = {file.label: [] for file in analysis.dump.files}
    for finding in analysis.findings:
        # A finding may be in the HLO module, which is no file of the dump.
        found.setdefault(finding.place.file.label, []).append(finding)
    findings = {
        label: FileFindings(tuple(map(convert.diagnostic, of_file[:FINDING_LIMIT])), len(of_file))
        for label, of_file in found.items()
    }
    return IndexedSet(files, stamp, summarise(analysis, convert.encoding), findings)


def worst_first(sets: Iterable[IndexedSet], given: Capacity | None) -> list[IndexedSet]:
    """Sort dump sets: first those that do not fit their device, then by what they need of its main memory, which
    editors show. `given` is the capacity that the user states.
    """

    def worst(set_summary: SetSummary) -> tuple[int, int]:
        space = main_space(set_summary.spaces)
        if space is None:
            return 0, 0
        capacity = capacity_of(space, given, set_summary.capacity)
        over = over_bytes(space, capacity.size_bytes) if capacity else None
        return -(over or 0), -space.needed_bytes

    return sorted(sets, key=lambda each: (*worst(each.summary), each.summary.module, each.files.stem))


def _load(
    files: SetFiles, stamp: Mapping[Path, Stamp], convert: Converter, is_cancelled: IsCancelled
) -> IndexedSet | None:
    """Load a set and return its index entry, None if it is gone or fails to load, which is logged and stops nothing."""
    if is_cancelled():
        raise Cancelled
    try:
        loaded, analysis = load_set(files, {}, {}, is_cancelled, share=OVERVIEW_SHARE)
        if not any(file.stamp for file in loaded.values()):
            return None
        analysis = load_module_or_finding(files, {}, analysis, is_cancelled, share=OVERVIEW_SHARE)
        return index_set(files, stamp, analysis.with_module(analysis.module, is_cancelled), convert)
    except Cancelled:
        raise
    except Exception:
        logger.exception("cannot index %s", files.stem)
        return None


def _size(stamp: Mapping[Path, Stamp]) -> int:
    return sum(size_bytes for _, size_bytes in stamp.values())


# ---------------------------------------------------------------- the index, on the event loop

_FRESH_SECONDS: Final = 5.0
"""How long the index is used without checking the disk again."""

_POLLING_SHARE: Final = 0.01
"""Maximum share of the time that checking the disk takes where no user waits for it."""

IndexedSets: TypeAlias = Mapping[Path, IndexedSet]
"""Sets by their keys."""


class _Read(Struct, eq=False):
    """One pass over the folders. `excluded` are the sets in memory at its start, `found` those read so far, by key."""

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
            async with self._client.progress(
                "Reading dump sets", measure=lambda: read.progress.shown if read.progress else ("", 0)
            ):
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
