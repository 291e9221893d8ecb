"""Exceptions in worker threads."""

import asyncio

import pytest

from xla_lens.lsp.tasks import in_thread


async def test_exceptions_leave_the_worker_thread() -> None:
    def raise_it(error: Exception) -> None:
        raise error

    with pytest.raises(ValueError, match="wrong"):
        await in_thread(raise_it, ValueError("wrong"))
    with pytest.raises(RuntimeError):
        await asyncio.wait_for(in_thread(next, iter(())), 5)
    assert await in_thread(max, 1, 2) == 2
