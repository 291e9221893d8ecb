"""The dump sets of the workspace, open or not: what is needed to find something in them, and their diagnostics; and its
source files.

Read when it is first asked for, in a worker thread, and looked through again when it is asked for later. What the
editor has open counts instead of the disk.
"""

import asyncio
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from lsprotocol import types as lsp

from xla_lens.files import SetFiles
from xla_lens.lsp.convert import Converter
from xla_lens.lsp.diagnostics import tell_left_out
from xla_lens.lsp.progress import progress
from xla_lens.lsp.session import DumpSetState
from xla_lens.lsp.sources import SourceFinder
from xla_lens.lsp.sync import uri_of
from xla_lens.lsp.threads import in_thread
from xla_lens.model.analysis import Analysis
from xla_lens.syntax.tree import Cancelled
from xla_lens.workspace import SET_LIMIT, Indexed, Progress, index, index_set

if TYPE_CHECKING:
    from xla_lens.lsp.server import XlaLensServer

_LASTS: Final = 5.0
"""Seconds for which what was read is taken as it is on disk."""

IndexedSet: TypeAlias = Indexed[lsp.Diagnostic]


class WorkspaceIndex:
    """The sets in the folders of the workspace, and those that are open."""

    def __init__(self, server: "XlaLensServer") -> None:
        self._server = server
        self._known: dict[Path, IndexedSet] = {}
        self._found: dict[Path, IndexedSet] = {}
        self._open: dict[Path, tuple[int, IndexedSet]] = {}
        self._answered: Mapping[Path, IndexedSet] | None = None
        self._progress: Progress | None = None
        self._task: asyncio.Task[None] | None = None
        self._folders: list[Path] = []
        self._left_out: frozenset[Path] = frozenset()
        self._read_at = float("-inf")
        self._is_forgotten = False
        self._is_cancelled = False
        self.is_cut = False
        """Whether there are more sets than are read."""
        self.sources = SourceFinder(server)

    def close(self) -> None:
        """Gives up what is under way."""
        self._is_cancelled = True

    def forget(self) -> None:
        """Files in the folders have changed: what was read is not as it is on disk any more."""
        self._is_forgotten = True
        self.sources.forget()

    @property
    def is_reading(self) -> bool:
        """Whether sets are being read."""
        return self._task is not None and not self._task.done()

    def start_reading(self) -> bool:
        """Has the sets read if they may not be as they are on disk any more; whether that is under way."""
        if not self.is_reading and not (self._is_fresh() and self._is_of_now()):
            self._server.start(self.read())
            return True
        return self.is_reading

    async def read(self) -> None:
        """Waits until all sets are read as they are on disk now, or were a few seconds ago."""
        is_read = self._is_fresh()
        while not (is_read and self._is_of_now()) and not self._is_cancelled:
            if self._task is None or self._task.done():
                self._task = asyncio.get_running_loop().create_task(self._read())
            await asyncio.shield(self._task)
            is_read = True

    def note_answer(self) -> None:
        """A request is answered from the sets as they were read."""
        self._answered = self._known

    def is_answer_outdated(self) -> bool:
        """Whether a request was answered from what has changed since; told once."""
        if self._answered is None:
            return False
        keys = (self._answered.keys() | self._known.keys()) - self._open_keys()
        is_outdated = any(self._answered.get(key) is not self._known.get(key) for key in keys)
        self._answered = None if is_outdated else self._answered
        return is_outdated

    async def sets(self) -> Mapping[Path, IndexedSet]:
        """The sets that have been read up to now, by their stems. Those that are open are waited for."""
        for state in self._server.session.sets:
            await state.analysis_for(state.path)
        return await self.sets_now()

    async def sets_now(self) -> Mapping[Path, IndexedSet]:
        """The sets that have been read up to now, by their stems."""
        found = dict(self._known if not self.is_reading else {**self._known, **self._found})
        states = self._server.session.sets
        for state in states:
            if state.analysis and state.analysis.dump.files:
                found[state.key] = await self._of_open(state, state.analysis)
        self._open = {state.key: self._open[state.key] for state in states if state.key in self._open}
        return found

    def diagnostics(self, indexed: IndexedSet) -> dict[str, list[lsp.Diagnostic]]:
        """The diagnostics of a set that is not open, by the addresses of its files. What the set would have to be
        loaded for, such as the limits of the user, is not among them.
        """
        ignored = self._server.settings.ignored_codes
        left_out = {uri_of(Path(label)): found.count - len(found.told) for label, found in indexed.findings.items()}
        tell_left_out(self._server, left_out)
        return {
            uri_of(Path(label)): [diagnostic for diagnostic in found.told if diagnostic.code not in ignored]
            for label, found in indexed.findings.items()
        }

    def _is_fresh(self) -> bool:
        return not self.is_reading and time.monotonic() - self._read_at < _LASTS

    def _is_of_now(self) -> bool:
        """Whether nobody has told of changes since it was begun to read, nor closed what was open then."""
        is_right = self._folders == self._server.folders and self._left_out <= self._open_keys()
        return is_right and not self._is_forgotten

    def _open_keys(self) -> frozenset[Path]:
        """The sets that the editor has open: they are in memory already."""
        return frozenset(state.key for state in self._server.session.sets)

    async def _read(self) -> None:
        self._found, self._is_forgotten = {}, False
        self._folders, self._left_out = self._server.folders, self._open_keys()
        async with progress(self._server, "Reading dump sets", told=self._told):
            try:
                await in_thread(self._read_all)
            except Cancelled:
                return
        self.is_cut = self._progress is not None and self._progress.is_cut
        if self.is_cut:
            self._server.tell_cut("workspace", "", f"{SET_LIMIT:,} of its dump sets are read, and the others left out")
        self._known, self._found, self._progress = self._found, {}, None
        self._read_at = time.monotonic()

    def _read_all(self) -> None:
        """Runs in a worker thread."""
        for indexed in index(
            self._folders,
            dict(self._known),
            left_out=self._left_out,
            encoding=self._server.client.encoding,
            tell=Converter({}, self._server.client).diagnostic,
            is_cancelled=lambda: self._is_cancelled,
            report_progress=self._follow,
        ):
            self._found[indexed.files.stem] = indexed

    def _follow(self, now: Progress) -> None:
        self._progress = now

    def _told(self) -> tuple[str, int] | None:
        now = self._progress
        if now is None:
            return "", 0
        return f"{now.set_count:,} of {now.all_sets:,}", 100 * now.size_bytes // max(1, now.all_bytes)

    async def _of_open(self, state: DumpSetState, analysis: Analysis) -> IndexedSet:
        known = self._open.get(state.key)
        if known and known[0] == state.generation:
            return known[1]
        files = SetFiles(state.key, {file.kind: Path(file.label) for file in analysis.dump.files})
        generation, convert = state.generation, Converter(state.open, self._server.client)
        indexed = await in_thread(index_set, files, {}, analysis, self._server.client.encoding, convert.diagnostic)
        self._open[state.key] = generation, indexed
        return indexed
