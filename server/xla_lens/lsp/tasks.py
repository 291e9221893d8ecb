"""Worker threads and background tasks."""

import asyncio
import ctypes
import logging
import sys
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, Final, ParamSpec, TypeVar

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


_M_ARENA_MAX: Final = -8
"""Option of glibc's `mallopt`."""


def share_heap() -> None:
    """Let all threads share one heap; call this before starting any. By default glibc gives each thread a heap of its
    own and keeps freed memory there.
    """
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)
