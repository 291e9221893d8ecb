"""Work in worker threads."""

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

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
