"""Processes that share the work of a command, so that it uses all cores."""

import gc
import os
import signal
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import suppress
from itertools import islice, repeat
from threading import Thread
from typing import Final, TypeVar

_AHEAD: Final = 4
"""The tasks that are given to each process at a time. No more results than these wait in memory."""

Task = TypeVar("Task")
Result = TypeVar("Result")


def core_count() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def results_of_processes(
    function: Callable[[Task], Result], tasks: Iterable[Task], process_count: int
) -> Generator[tuple[Result] | None, None, None]:
    """Yield what a function returns for each task, in their order. When a task fails, a process is killed or the system
    has no processes for us, yield None from there on: the caller does the rest, and sees why a task fails.

    The processes start at the first `next`, and end at the end or when the generator is closed.
    """
    with suppress(Exception):
        yield from _results(function, iter(tasks), process_count)
    yield from repeat(None)


def _results(
    function: Callable[[Task], Result], tasks: Iterator[Task], process_count: int
) -> Generator[tuple[Result], None, None]:
    # A command that loads one set does not wait for these.
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    # A fork would copy the state of libraries with threads. All systems have `spawn`.
    pool = ProcessPoolExecutor(process_count, get_context("spawn"), _begin, (gc.get_threshold(),))
    try:
        # A terminal interrupts all processes, but only the command may say so. They start here and inherit that.
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            waiting = deque(pool.submit(function, task) for task in islice(tasks, _AHEAD * process_count))
        finally:
            signal.signal(signal.SIGINT, before)
        while waiting:
            yield (waiting.popleft().result(),)
            waiting.extend(pool.submit(function, task) for task in islice(tasks, 1))
    finally:
        pool.shutdown(cancel_futures=True)


def _begin(threshold: tuple[int, int, int]) -> None:
    """Prepare a process that was started."""
    gc.set_threshold(*threshold)
    Thread(target=_end_with_command, daemon=True).start()


def _end_with_command() -> None:
    """End this process if the command is killed: it would wait for tasks for ever."""
    from multiprocessing import parent_process

    command = parent_process()
    assert command is not None, "a command started this process"
    command.join()
    os._exit(1)
