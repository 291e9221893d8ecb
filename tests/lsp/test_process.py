"""The server as a process: how it starts and how it ends."""

import asyncio
import json
import socket
import sys
from asyncio import StreamReader, StreamWriter
from typing import Any

import pytest

_SERVER = (sys.executable, "-m", "xla_lens", "server")


async def _send(writer: StreamWriter, **message: Any) -> None:
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    writer.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    await writer.drain()


async def _receive(reader: StreamReader) -> Any:
    length = 0
    while (line := await reader.readline()).strip():
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])
    return json.loads(await reader.readexactly(length))


async def _initialize(reader: StreamReader, writer: StreamWriter, **general: Any) -> Any:
    params = {"processId": None, "rootUri": None, "capabilities": {"general": general}}
    await _send(writer, id=1, method="initialize", params=params)
    answer = await asyncio.wait_for(_receive(reader), 20)
    await _send(writer, method="initialized", params={})
    return answer["result"]


async def _shutdown(reader: StreamReader, writer: StreamWriter) -> None:
    await _send(writer, id=2, method="shutdown")
    assert (await asyncio.wait_for(_receive(reader), 20))["result"] is None
    await _send(writer, method="exit")


async def _start(*arguments: str) -> asyncio.subprocess.Process:
    pipe = asyncio.subprocess.PIPE
    return await asyncio.create_subprocess_exec(*_SERVER, *arguments, stdin=pipe, stdout=pipe, stderr=pipe)


async def test_it_says_what_it_can_and_ends_when_told() -> None:
    process = await _start()
    assert process.stdin
    assert process.stdout
    result = await _initialize(process.stdout, process.stdin)
    capabilities = result["capabilities"]
    assert result["serverInfo"]["name"] == "xla-lens"
    assert {
        "hoverProvider",
        "definitionProvider",
        "declarationProvider",
        "typeDefinitionProvider",
        "referencesProvider",
        "documentSymbolProvider",
        "inlayHintProvider",
    } <= capabilities.keys()
    assert capabilities["textDocumentSync"]["change"] == 2
    assert not {"renameProvider", "documentFormattingProvider"} & capabilities.keys()
    await _shutdown(process.stdout, process.stdin)
    _, errors = await asyncio.wait_for(process.communicate(), 20)
    assert (process.returncode, errors) == (0, b"")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
async def test_it_counts_columns_as_the_client_prefers(encoding: str) -> None:
    process = await _start()
    assert process.stdin
    assert process.stdout
    result = await _initialize(process.stdout, process.stdin, positionEncodings=[encoding, "utf-16"])
    assert result["capabilities"]["positionEncoding"] == encoding
    await _shutdown(process.stdout, process.stdin)
    await asyncio.wait_for(process.communicate(), 20)


async def test_it_ends_when_the_editor_is_gone() -> None:
    process = await _start()
    assert process.stdin
    assert process.stdout
    await _initialize(process.stdout, process.stdin)
    process.stdin.close()
    await asyncio.wait_for(process.wait(), 20)


async def test_it_can_listen_on_a_port() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = await _start("--tcp", f"127.0.0.1:{port}")
    for _ in range(100):
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            break
        except ConnectionRefusedError:
            await asyncio.sleep(0.1)
    assert (await _initialize(reader, writer))["serverInfo"]["name"] == "xla-lens"
    await _shutdown(reader, writer)
    await asyncio.wait_for(process.communicate(), 20)
    writer.close()


async def test_a_port_that_is_taken_is_said_in_one_line() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        process = await _start("--tcp", f"127.0.0.1:{taken.getsockname()[1]}")
        _, errors = await asyncio.wait_for(process.communicate(), 20)
    assert process.returncode == 2
    assert len(errors.splitlines()) == 1
    assert b"cannot listen on 127.0.0.1" in errors
