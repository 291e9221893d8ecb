"""Files of the program that dumps name: where they are, which sets name them, and what a set says about one."""

import os
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from xla_lens.disk.reading import file_time, read_source
from xla_lens.disk.source_files import find_source
from xla_lens.editor.source_memory import PeakByLine, SourceMemory, peak_by_line, source_memory
from xla_lens.lsp.dump_set_state import DumpSetState
from xla_lens.lsp.dump_sets import DumpSets
from xla_lens.lsp.index import WorkspaceIndex
from xla_lens.lsp.tasks import in_thread
from xla_lens.model.analysis import Analysis
from xla_lens.model.hlo.stack_frames import StackFrame
from xla_lens.text.paths import PathMapping

_Context: TypeAlias = tuple[PathMapping, tuple[Path, ...]]

_MOST_SEARCHED: Final = 8
"""Maximum number of sets of the workspace to load in search of one that names a file."""


class NamedFiles(NamedTuple):
    """A dump set, its peak by source line, and the files here that the lines are in, with their paths in the dump."""

    dump_set: DumpSetState
    peak: PeakByLine
    files: Mapping[Path, Collection[str]]
    dump_time: float


class Sources:
    """Finds the files of the program that dumps name, and the sets that name one. `context` returns where to search:
    the user's mapping of folders, and the folders of the workspace, whose files are listed at the first search.
    """

    def __init__(self, sets: DumpSets, index: WorkspaceIndex, context: Callable[[], _Context]) -> None:
        self._sets, self._index, self._context = sets, index, context
        self._known: dict[Path, tuple[object, NamedFiles | None]] = {}
        """What each set names, with all that this depends on."""
        self._version = object()

    def invalidate(self) -> None:
        """Find all files again: files have changed."""
        self._version = object()

    async def find(self, path: str) -> Path | None:
        """Return the file that a dump names by a path, None if it is not here."""
        return await in_thread(find_source, path, *self._context(), self._version)

    def code_of(self, dump_time: float) -> Callable[[StackFrame], str]:
        """Return a function that reads a line of the program from disk, in a worker thread: empty if the file is not
        here, or has changed since `dump_time`.
        """
        context = (*self._context(), self._version)

        def code(frame: StackFrame) -> str:
            found = find_source(frame.file, *context)
            if found is None or frame.line is None or file_time(found) > dump_time:
                return ""
            try:
                lines = read_source(found).split("\n")
            except OSError:
                return ""
            return lines[frame.line - 1].strip() if 0 < frame.line <= len(lines) else ""

        return code

    async def named(self) -> list[NamedFiles]:
        """Return the sets in memory that name files of the program, that with the greatest peak first. Waits for those
        that are loaded for the first time.
        """
        states = list(self._sets)
        for state in states:
            if state.analysis is None:
                await state.settled()
        self._known = {state.key: self._known[state.key] for state in states if state.key in self._known}
        found = [named for state in states if state.has_files and (named := await self._named(state))]
        return sorted(found, key=lambda memory: -memory.peak.space.peak_live_bytes)

    async def naming(self, path: Path, preferred: DumpSetState | None, *, is_search: bool) -> list[NamedFiles]:
        """Return the sets that name a file, the preferred one first, then that with the greatest peak. With
        `is_search`, sets of the workspace are loaded if none in memory names it.
        """
        real = await in_thread(_real, path)
        found = [one for one in await self.named() if real in one.files]
        if not found and is_search:
            found = await self._search(real)
        return sorted(found, key=lambda memory: memory.dump_set is not preferred)

    async def _search(self, path: Path) -> list[NamedFiles]:
        await self._index.update()
        sets = (await self._index.sets_now()).values()
        worst = sorted(
            sets, key=lambda indexed: -max((space.peak_live_bytes for space in indexed.summary.spaces), default=0)
        )
        for one in worst[:_MOST_SEARCHED]:
            state = self._sets.load(one.files.stem, next(iter(one.files.paths.values())))
            await state.analysis_for(state.path)
            named = await self._named(state) if state.has_files else None
            if named and path in named.files:
                return [named]
        return []

    async def _named(self, state: DumpSetState) -> NamedFiles | None:
        await state.module_for(state.path)
        analysis, context = state.analysis, (*self._context(), self._version)
        if analysis is None:
            return None

        def named_files() -> NamedFiles | None:
            if (peak := peak_by_line(analysis)) is None:
                return None
            files: dict[Path, set[str]] = {}
            for name in sorted(peak.files):
                if found := find_source(name, *context):
                    files.setdefault(_real(found), set()).add(name)
            return NamedFiles(state, peak, files, dump_time(analysis))

        key = state.generation, analysis.module, context
        known = self._known.get(state.key)
        if known is None or known[0] != key:
            known = self._known[state.key] = key, await in_thread(named_files)
        return known[1]


def dump_time(analysis: Analysis) -> float:
    """Return when the first file of a dump was written, 0 if that is unknown."""
    return min((file_time(Path(file.label)) for file in analysis.dump.files), default=0.0)


async def memory_of(named_files: NamedFiles, path: Path, text: str | None) -> SourceMemory:
    """Return what a set says about a file that it names. `text` is what the file contained at that time, if known."""
    # A link on the way to the file may have changed.
    names = named_files.files.get(await in_thread(_real, path), ())
    return await in_thread(source_memory, named_files.peak, names, text)


def _real(path: Path) -> Path:
    try:
        return Path(os.path.realpath(path))
    except (OSError, ValueError):
        return path
