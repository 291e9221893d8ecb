"""Worker threads and background tasks."""

import asyncio
import logging
from asyncio import to_thread as in_thread
from collections.abc import Coroutine
from typing import Any

__all__ = ["BackgroundTasks", "in_thread"]

logger = logging.getLogger(__name__)


class BackgroundTasks:
    """Tasks that nobody awaits. Their exceptions are logged."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    def start(self, work: Coroutine[Any, Any, Any]) -> None:
        """Start a coroutine."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._end)

    def cancel(self) -> None:
        """Cancel all tasks that are running."""
        for task in self._tasks:
            task.cancel()

    def _end(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()):
            logger.error("a background task failed", exc_info=error)
