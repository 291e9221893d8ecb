"""The HLO module of a dump set. It is loaded after the other files, so that requests about those need not wait."""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from xla_lens.files import LoadedModule, Stamp, load_module, set_files
from xla_lens.lsp.tasks import in_thread
from xla_lens.model.hlo.module import HloModule
from xla_lens.syntax.tree import Cancelled
from xla_lens.text.document import Document

logger = logging.getLogger(__name__)

_GRACE: Final = 0.1
"""Seconds in which the editor's first requests are answered before the module is read, unless one of them needs it."""

_PATIENCE: Final = 5.0
"""Seconds for which a load waits in all while requests are answered: both need the interpreter's lock."""


@dataclass(frozen=True, slots=True, eq=False)
class ModuleLoad:
    """A load of the module of the set of a file. `texts` are the documents that are open in the editor."""

    path: Path
    texts: Mapping[Path, Document]
    progress: AbstractAsyncContextManager[None]
    """Entered around the load."""
    on_loaded: Callable[[], None]
    let_go_first: Callable[[], None]
    """Blocks a worker thread for a moment while requests are handled."""


class ModuleState:
    """The HLO module of one set, and the load in progress. Only the event loop touches it."""

    def __init__(self) -> None:
        self._loaded: LoadedModule | None = None
        self._task: asyncio.Task[None] | None = None
        self._load: ModuleLoad | None = None
        self._is_wanted = asyncio.Event()
        self.seconds = 0.0
        """Duration of the last load."""
        self.done = 0.0
        """The fraction of the load in progress that is done. A worker thread sets it, the event loop reads it."""

    @property
    def module(self) -> HloModule | None:
        """The module, None if there is none or it is not loaded yet."""
        return self._loaded.module if self._loaded else None

    @property
    def path(self) -> Path | None:
        """The path of the module's file, None if there is no module."""
        return Path(self._loaded.module.file.label) if self._loaded else None

    @property
    def stamps(self) -> dict[Path, Stamp]:
        """The stamp of the module's file, if it was read from disk."""
        loaded, path = self._loaded, self.path
        return {path: loaded.stamp} if loaded and path and loaded.stamp else {}

    @property
    def is_loading(self) -> bool:
        """Whether a load is in progress."""
        return self._task is not None and not self._task.done()

    def reload(self, load: ModuleLoad) -> None:
        """Load the module again, unless it is unchanged. Cancels a load in progress."""
        self.close()
        self._task = asyncio.get_running_loop().create_task(self._read(load))

    def close(self) -> None:
        """Cancel the load in progress."""
        self._load = None
        if self._task:
            self._task.cancel()
            # The task and the set refer to each other: break the cycle.
            self._task = None

    async def ready(self) -> HloModule | None:
        """Wait until no load is in progress and return the module."""
        while self._task and self.is_loading:
            self._is_wanted.set()
            # Not awaited directly: cancelling the load must not cancel the waiting request.
            await asyncio.wait((self._task,))
        return self.module

    async def _read(self, load: ModuleLoad) -> None:
        self._load = load
        patience = _PATIENCE

        def is_cancelled() -> bool:
            """Let requests go first, unless one of them waits for the module."""
            nonlocal patience
            if patience > 0 and not self._is_wanted.is_set():
                before = time.monotonic()
                load.let_go_first()
                patience -= time.monotonic() - before
            return self._load is not load

        def read() -> LoadedModule | None:
            report = partial(setattr, self, "done")
            return load_module(set_files(load.path, load.texts), load.texts, known, is_cancelled, report)

        try:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._is_wanted.wait(), _GRACE)
            started = time.monotonic()
            known, self.done = self._loaded, 0.0
            async with load.progress:
                loaded = await in_thread(read)
        except Cancelled:
            return
        except Exception:
            logger.exception("cannot load the HLO module of %s", load.path)
            return
        finally:
            self._is_wanted.clear()
        if self._load is load:
            self._loaded, self.seconds = loaded, time.monotonic() - started - (_PATIENCE - patience)
            load.on_loaded()
