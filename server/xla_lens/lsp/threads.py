"""Work in worker threads."""

import asyncio
import ctypes
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Final, ParamSpec, TypeVar

_P = ParamSpec("_P")
_T = TypeVar("_T")


async def in_thread(work: Callable[_P, _T], *arguments: _P.args, **options: _P.kwargs) -> _T:
    """What some work gives that is done in a worker thread. Whatever it raises comes out of here: asyncio alone would
    wait for ever after a `StopIteration`, which has another meaning to coroutines.
    """

    def run() -> _T:
        try:
            return work(*arguments, **options)
        except StopIteration as error:
            raise RuntimeError("nothing comes next") from error

    return await asyncio.to_thread(run)


_M_ARENA_MAX: Final = -8
"""Of glibc's `mallopt`."""


def share_memory() -> None:
    """Lets all threads share one heap, before there are any. glibc gives each its own, where what is freed stays."""
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)
