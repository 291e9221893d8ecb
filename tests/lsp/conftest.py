"""What the tests of the server share: the process, which does not outlive its test."""

from collections.abc import AsyncIterator

import pytest_asyncio

from lsp.wire import Process


@pytest_asyncio.fixture
async def server() -> AsyncIterator[Process]:
    """The server as a process, not yet initialized."""
    process = await Process.start()
    yield process
    await process.kill()
