"""Comparisons of two dump sets: the one that is active, and the last one that was computed.

While a comparison is active, lenses and hovers say what a value was in the other dump, and both sets stay in memory.
The modules that compare are imported when somebody compares, so that the server answers sooner.
"""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from xla_lens.diff.options import DEFAULT_DIFF_TOP, DiffOptions
from xla_lens.disk.device import read_flags
from xla_lens.disk.sets import SetFiles
from xla_lens.lsp.dump_set_state import DumpSetState
from xla_lens.lsp.tasks import in_thread
from xla_lens.model.analysis import Analysis

if TYPE_CHECKING:
    from xla_lens.diff.compare import Diff
    from xla_lens.model.diff.comparable import DiffSide
    from xla_lens.model.diff.comparison import Comparison

Keys = tuple[Path, Path]
"""The keys of the old and of the new set of a comparison."""


class Compared(NamedTuple):
    """A comparison of two sets that had some generations."""

    sources: tuple[tuple[DumpSetState, int], tuple[DumpSetState, int]]
    diff: "Diff"


class Comparisons:
    """The comparisons of the server. Only the event loop touches it."""

    def __init__(self) -> None:
        self.active: Keys | None = None
        """The comparison that lenses and hovers show."""
        self.wanted: Keys | None = None
        """The comparison that becomes the active one when it is computed."""
        self.selected: str | None = None
        """The URI of the dump that the next comparison is with."""
        self._last: Compared | None = None
        self._lock = asyncio.Lock()

    async def of(self, old: DumpSetState, new: DumpSetState) -> Compared | None:
        """Return the comparison of the current analyses of two sets, None if one of them cannot be read. At most one
        is computed at a time, and only the last one is kept.
        """
        from xla_lens.diff.compare import diff

        async with self._lock:
            first, second = await _side(old), await _side(new)
            if first is None or second is None:
                self._last = None
                return None
            (one, old_generation), (other, new_generation) = first, second
            sources = (old, old_generation), (new, new_generation)
            if not self._last or self._last.sources != sources:
                # Free the memory of the last one first.
                self._last = None
                options = DiffOptions(DEFAULT_DIFF_TOP)
                self._last = Compared(sources, await in_thread(diff, one, other, options))
            return self._last

    async def start(self, old: DumpSetState, new: DumpSetState) -> Compared | None:
        """Compare two sets, and make that the active comparison unless one of them cannot be read."""
        self.wanted = wanted = old.key, new.key
        compared = None
        try:
            compared = await self.of(old, new)
        finally:
            # The user may have ended the comparison or started another one in the meantime.
            if self.wanted is wanted:
                self.wanted = None
                self.active = wanted if compared else self.active
        return compared

    def kept(self) -> frozenset[Path]:
        """Return the keys of the sets that are compared or shall be, which stay in memory."""
        return frozenset((*(self.active or ()), *(self.wanted or ())))

    def of_analysis(self, analysis: Analysis) -> "ActiveComparison | None":
        """Return the active comparison as seen from one of its dumps, None if it is not computed or of others."""
        last = self._last
        compared = last.diff.comparison if last else None
        if last and compared and tuple(state.key for state, _ in last.sources) == self.active:
            for side, other, is_old in ((compared.new, 0, False), (compared.old, 1, True)):
                if side.memory is analysis.memory:
                    return ActiveComparison(compared, is_old, last.sources[other][0])
        return None

    def end(self) -> None:
        """End the active comparison."""
        self.active = self.wanted = self._last = None


class ActiveComparison(NamedTuple):
    """The active comparison as seen from one of its dumps, and the set of the other one."""

    comparison: "Comparison"
    is_old: bool
    other_set: DumpSetState


async def _side(state: DumpSetState) -> "tuple[DiffSide, int] | None":
    """Return a set as a side of a comparison, and its generation. None if it cannot be read."""
    from xla_lens.model.diff.comparable import DiffSide

    # Both at once: the set may be loaded again while the other side is awaited.
    analysis, generation = await state.loaded_for(state.path), state.generation
    if analysis is None:
        return None
    files = {file.kind: Path(file.label).as_posix() for file in analysis.dump.files}
    if module := analysis.module:
        files[module.file.kind] = Path(module.file.label).as_posix()
    flags = await in_thread(read_flags, SetFiles(state.key, {}))
    return DiffSide(analysis, files, flags), generation
