"""The HLO module of a set as the server knows it. It is loaded after the dump, which nobody has to wait longer for."""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from xla_lens.files import LoadedModule, Stamp
from xla_lens.lsp.loading import load_module_of
from xla_lens.lsp.threads import in_thread
from xla_lens.model.hlo.module import HloModule
from xla_lens.syntax.tree import Cancelled
from xla_lens.text.document import Document

logger = logging.getLogger(__name__)


class ModuleState:
    """The module of one set. Only the event loop touches it."""

    def __init__(self) -> None:
        self._known: LoadedModule | None = None
        self._task: asyncio.Task[None] | None = None
        self._load: object = None
        self.seconds = 0.0
        """How long the last load took."""

    @property
    def module(self) -> HloModule | None:
        """The module as it was last read, None if there is none or none yet."""
        return self._known.module if self._known else None

    @property
    def stamps(self) -> dict[Path, Stamp]:
        """The stamp of the module's file, if it was read from the disk."""
        known = self._known
        return {Path(known.module.file.label): known.stamp} if known and known.stamp else {}

    @property
    def is_loading(self) -> bool:
        """Whether it is being read again."""
        return self._task is not None and not self._task.done()

    def reload(self, path: Path, texts: Mapping[Path, Document], loaded: Callable[[], None]) -> None:
        """Reads the module of the set of a file again, if it has changed. `loaded` is called when that is done."""
        self.close()
        self._task = asyncio.get_running_loop().create_task(self._read(path, texts, loaded))

    def close(self) -> None:
        """Gives up what is under way."""
        self._load = None
        if self._task:
            self._task.cancel()
            # It would keep all that it worked on, and be kept by it.
            self._task = None

    async def ready(self) -> HloModule | None:
        """The module, as soon as it is read."""
        while self._task and self.is_loading:
            # If it is given up, that is no reason to give up who waits for it: another may have taken its place.
            await asyncio.wait((self._task,))
        return self.module

    async def _read(self, path: Path, texts: Mapping[Path, Document], loaded: Callable[[], None]) -> None:
        self._load = load = object()
        started = time.monotonic()
        try:
            known = await in_thread(load_module_of, path, texts, self._known, lambda: self._load is not load)
        except Cancelled:
            return
        except Exception:
            logger.exception("cannot load the HLO module of %s", path)
            return
        if self._load is load:
            self._known, self.seconds = known, time.monotonic() - started
            loaded()
