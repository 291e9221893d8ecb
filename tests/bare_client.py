"""A bare client of the language server, with no more of its own than it takes to measure."""

from collections import deque
from collections.abc import Mapping
from typing import Any

from lsp.wire import Process


class Client(Process):
    """Speaks with a server of its own. It checks nothing, and keeps nothing of what was said."""

    @classmethod
    async def begin(cls, capabilities: Mapping[str, Any] | None = None) -> "Client":
        """Starts the server."""
        client = await cls.start(stderr=None)
        assert isinstance(client, Client)
        keep_nothing: Any = deque(maxlen=0)
        client.messages = keep_nothing
        await client.initialize(capabilities or {})
        return client

    def check(self, message: Mapping[str, Any]) -> None:
        """That takes time."""

    def check_received(self, message: Mapping[str, Any], method: str | None) -> None:
        """That takes time."""

    async def answer(self, number: int | str) -> Any:
        """Waits for as long as it takes."""
        message = await self._waiting[number]
        del self._waiting[number]
        return message["result"]

    async def stop(self) -> None:
        """Ends the server."""
        await self.request("shutdown")
        self.notify("exit")
        await self.ended()
