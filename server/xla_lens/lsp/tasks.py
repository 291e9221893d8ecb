"""Worker threads and background tasks."""

import asyncio
import logging
import threading
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec, TypeVar

_P = ParamSpec("_P")
_T = TypeVar("_T")

logger = logging.getLogger(__name__)


async def in_thread(work: Callable[_P, _T], *arguments: _P.args, **options: _P.kwargs) -> _T:
    """Run a function in a worker thread and return its result.

    A `StopIteration` is raised here as `RuntimeError`: `asyncio.to_thread` alone would never return, because a
    coroutine cannot raise `StopIteration`.
    """

    def run() -> _T:
        try:
            return work(*arguments, **options)
        except StopIteration as error:
            raise RuntimeError("StopIteration in a worker thread") from error

    return await asyncio.to_thread(run)


class BackgroundTasks:
    """Tasks that nobody awaits. Their exceptions are logged."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Start a coroutine."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._end)

    def cancel(self) -> None:
        """Cancel all tasks that are running."""
        for task in self._tasks:
            task.cancel()

    def _end(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()):
            logger.error("a background task failed", exc_info=error)


class Activity:
    """How many requests are being handled. Work that can wait lets them go first, because each handover between threads
    takes long while another one needs the interpreter's lock.
    """

    def __init__(self) -> None:
        self._count = 0
        self._is_idle = threading.Event()
        self._is_idle.set()

    @property
    def is_idle(self) -> bool:
        """Whether nothing is being handled."""
        return self._is_idle.is_set()

    def begin(self) -> None:
        """Count one more, on the event loop. Each `begin` needs an `end`."""
        self._count += 1
        self._is_idle.clear()

    def end(self) -> None:
        """Count one less."""
        self._count -= 1
        if not self._count:
            self._is_idle.set()

    def await_end(self, seconds: float) -> None:
        """Block a worker thread until nothing is being handled, at most for some seconds."""
        self._is_idle.wait(seconds)
