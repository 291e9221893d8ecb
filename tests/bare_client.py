"""A client of the language server that does as little work as possible, for measurements."""

from collections import deque
from collections.abc import Mapping
from typing import Any

from lsp.wire import Process


class Client(Process):
    """A client with a server of its own. It neither checks nor keeps messages."""

    @classmethod
    async def started(cls, capabilities: Mapping[str, Any] | None = None) -> "Client":
        """Start a server and initialize it."""
        client = await cls.start(stderr=None)
        assert isinstance(client, Client)
        keep_nothing: Any = deque(maxlen=0)
        client.messages = keep_nothing
        await client.initialize(capabilities or {})
        return client

    async def answer(self, number: int | str) -> Any:
        """Return the result of a request, without a timeout."""
        message = await self._waiting[number]
        del self._waiting[number]
        return message["result"]

    async def stop(self) -> None:
        """Shut the server down."""
        await self.request("shutdown")
        self.notify("exit")
        await self.ended()
