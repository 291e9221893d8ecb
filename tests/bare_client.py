"""A bare client of the language server, with no more of its own than it takes to measure."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any


class Client:
    """Speaks with a server of its own."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self._number = 0
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._reader = asyncio.create_task(self._read())

    @classmethod
    async def start(cls, capabilities: dict[str, Any] | None = None) -> "Client":
        pipe = asyncio.subprocess.PIPE
        command = (sys.executable, "-m", "xla_lens", "server")
        client = cls(await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, limit=1 << 30))
        await client.request("initialize", {"processId": None, "rootUri": None, "capabilities": capabilities or {}})
        client.notify("initialized", {})
        return client

    async def stop(self) -> None:
        await self.request("shutdown", None)
        self.notify("exit", None)
        await self.process.wait()
        self._reader.cancel()

    def notify(self, method: str, params: Any) -> None:
        self._send({"method": method, "params": params})

    async def request(self, method: str, params: Any) -> Any:
        self._number += 1
        answer = self._waiting[self._number] = asyncio.get_running_loop().create_future()
        self._send({"id": self._number, "method": method, "params": params})
        return await answer

    def resident_bytes(self) -> int:
        """The resident memory of the server now; and its highest, with `VmHWM`."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return max(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith(("VmRSS", "VmHWM")))

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self.process.stdin
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)

    async def _read(self) -> None:
        reader = self.process.stdout
        assert reader
        while header := await reader.readline():
            if header.lower().startswith(b"content-length:"):
                length = int(header.split(b":")[1])
                while (await reader.readline()).strip():
                    pass
                message = json.loads(await reader.readexactly(length))
                if "method" not in message and not self._waiting[message["id"]].cancelled():
                    self._waiting.pop(message["id"]).set_result(message)
