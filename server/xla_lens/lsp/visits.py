"""Dump sets of which no document is open, read from the disk for a command or a page: the last few are kept for what is
asked next, and for a while.
"""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from xla_lens.lsp.session import DumpSetState

_KEPT: Final = 2
"""Sets that are kept."""

_LASTS: Final = 600.0
"""Seconds after which one that nothing was asked of is let go."""


class Visits:
    """The sets by their keys. `let_go` is called for each that is kept no longer."""

    def __init__(self, let_go: "Callable[[DumpSetState], None]") -> None:
        self._let_go = let_go
        self._visits: dict[Path, tuple[DumpSetState, float]] = {}

    def __iter__(self) -> "Iterator[DumpSetState]":
        return iter([state for state, _ in self._visits.values()])

    def get(self, key: Path) -> "DumpSetState | None":
        """A set that is kept, None if it is not."""
        return self._visits[key][0] if key in self._visits else None

    def take(self, key: Path) -> "DumpSetState | None":
        """A set that something is opened of now: it is not kept here any more. None if it is not here."""
        return self._visits.pop(key, (None,))[0]

    def keep(self, state: "DumpSetState") -> None:
        """Something is asked of a set."""
        self._visits.pop(state.key, None)
        self._visits[state.key] = state, time.monotonic()
        self.tidy()

    def tidy(self) -> None:
        """Lets sets go. Who waits for one that is being read shall have it."""
        oldest = time.monotonic() - _LASTS
        idle = [(state, at) for state, at in self._visits.values() if not state.is_loading]
        count = len(self._visits)
        for state, at in idle:
            if count > _KEPT or at < oldest:
                count -= 1
                del self._visits[state.key]
                self._let_go(state)
