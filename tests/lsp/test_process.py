"""The server as a process: how it starts, and how it exits whatever happens to the editor."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from cli.test_cli import run
from lsp.wire import FULL, InProcess, Process, eventually, framed
from samples import SEED
from xla_lens.lsp import server as server_module

_URI = SEED.as_uri()
_PLACE = {"textDocument": {"uri": _URI}, "position": {"line": 1, "character": 3}}
_OPEN = {"uri": _URI, "languageId": "xla-dump", "version": 1, "text": SEED.read_text()}


# ---------------------------------------------------------------- the editor exits


async def test_server_exits_at_the_end_of_input_inside_a_message(server: Process) -> None:
    await server.initialize()
    server.write(framed({"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument": _OPEN}})[:-9])
    server.hang_up()
    status, errors = await server.ended()
    assert (status, len(errors.splitlines())) == (1, 1)
    assert "ignored: JSONDecodeError" in errors


async def test_server_exits_when_the_editor_process_is_gone() -> None:
    """Even if another process keeps the standard input open."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as editor:
        server = await Process.start()
        await server.initialize(processId=editor.pid)
        server.notify("textDocument/didOpen", {"textDocument": _OPEN})
        assert await server.request("textDocument/hover", _PLACE)
        editor.kill()
    assert await server.ended() == (1, "")


@pytest.mark.parametrize("number", [0, -1, -(2**31), 2**31 - 1])
async def test_invalid_process_id_of_the_editor_is_ignored(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    monkeypatch.setattr(server_module, "_POLL_SECONDS", 0.0)
    editor, ended, polls = InProcess(), list[int](), list[None]()
    monkeypatch.setattr(os, "_exit", ended.append)
    await editor.initialize(processId=number)
    editor.notify("textDocument/didOpen", {"textDocument": _OPEN})
    sets = editor.server.state.sets
    monkeypatch.setattr(sets, "_evict", lambda: polls.append(None))
    await eventually(lambda: len(polls) > 3)
    assert not ended
    assert await editor.request("textDocument/hover", _PLACE)
    await editor.stop()


_ENDLESS = """
import sys, time
from xla_lens.disk import loading
from xla_lens.syntax.tree import Cancelled
def analyse(dump, is_cancelled, *rest):
    while not is_cancelled():
        time.sleep(0.01)
    raise Cancelled
loading.analyse = analyse
from xla_lens.cli.main import main
sys.exit(main(["server"]))
"""
"""A server whose loads end only when they are cancelled."""


@pytest_asyncio.fixture
async def loading() -> AsyncIterator[Process]:
    """A server that is loading a dump."""
    server = await Process.start(command=(sys.executable, "-c", _ENDLESS))
    await server.initialize(FULL)
    server.notify("textDocument/didOpen", {"textDocument": _OPEN})
    await server.until(lambda: "begin" in str(server.received("$/progress")))
    yield server
    await server.kill()


@pytest.mark.parametrize(
    ("way", "status"), [("exit", 0), ("hang up", 1), (signal.SIGTERM, -signal.SIGTERM), (signal.SIGINT, 130)]
)
async def test_server_exits_during_a_load(loading: Process, way: str | signal.Signals, status: int) -> None:
    if way == "exit":
        await loading.request("shutdown")
        loading.notify("exit")
    elif isinstance(way, signal.Signals):
        loading.process.send_signal(way)
    else:
        loading.hang_up()
    assert await loading.ended() == (status, "")


# ---------------------------------------------------------------- slow editors


async def test_editor_that_reads_late_gets_all_responses(server: Process) -> None:
    await server.initialize()
    server.notify("textDocument/didOpen", {"textDocument": _OPEN})
    server.pause_reading()
    numbers = [server.ask("textDocument/hover", _PLACE) for _ in range(500)]
    server.resume_reading()
    for number in numbers:
        assert await server.answer(number)
    await server.stop()


# ---------------------------------------------------------------- TCP


async def test_server_exits_when_the_connection_breaks() -> None:
    server = await Process.connect()
    await server.initialize()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(server.address)
    # The first editor does not notice the second.
    server.notify("textDocument/didOpen", {"textDocument": _OPEN})
    assert await server.request("textDocument/hover", _PLACE)
    for _ in range(300):
        server.ask("textDocument/hover", _PLACE)
    server.reset()
    status, errors = await server.ended()
    assert (status, "Traceback" in errors) == (1, False)


def test_port_in_use_is_reported_in_one_line() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        status, _, errors = run("server", "--tcp", f"127.0.0.1:{taken.getsockname()[1]}")
    assert status == 2
    assert len(errors.splitlines()) == 1
    assert re.search(r"127\.0\.0\.1:\d+: cannot listen: ", errors)


@pytest.mark.parametrize("host", ["0.0.0.0", "[::]", "192.0.2.1"])
def test_addresses_that_other_machines_can_reach_are_refused(host: str) -> None:
    status, _, errors = run("server", "--tcp", f"{host}:2087")
    assert status == 2
    assert errors == (
        f"xla-lens: {host.strip('[]')}:2087: other machines can reach this address, and whoever connects can read all "
        "dumps that you can read. Use 127.0.0.1:2087, or add --allow-remote\n"
    )


async def test_allowing_remote_editors_warns_of_the_risk() -> None:
    server = await Process.connect("0.0.0.0", "--allow-remote")
    assert (await server.initialize())["serverInfo"]["name"] == "xla-lens"
    await server.request("shutdown")
    server.notify("exit")
    status, errors = await server.ended()
    assert status == 0
    assert re.fullmatch(r"WARNING .*: other machines can reach 0\.0\.0\.0:\d+, .* can read all dumps .*\n", errors)


# ---------------------------------------------------------------- headers


@pytest.mark.parametrize(
    "header",
    [
        "content-length: %d\r\n\r\n",
        "CONTENT-LENGTH:%d \r\n\r\n",
        "Content-Length: %d\n\n",
        "Content-Type: application/vscode-jsonrpc; charset=utf-8\r\ncontent-length:\t%d\r\n\r\n",
        "something printed by a shell\nContent-Length: 000%d\r\n\r\n",
    ],
)
async def test_headers_are_read_as_those_of_http(header: str) -> None:
    server = await Process.start()

    def post(message: object) -> None:
        body = json.dumps(message).encode()
        server.write((header % len(body)).encode() + body)

    server._post = post
    await server.initialize()
    await server.request("shutdown")
    server.notify("exit")
    status, errors = await server.ended()
    # A warning is logged once.
    warning = "WARNING xla_lens.lsp.serve: ignored: not a header: something printed by a shell\n"
    assert (status, errors) == (0, warning if "shell" in header else "")


@pytest.mark.parametrize("length", ["99999999999999", "9" * 9999, "-2", "x\33[1m", ""])
async def test_server_ends_where_a_header_cannot_be_right(length: str) -> None:
    server = await Process.start()
    await server.initialize()
    server.write(f"Content-Length: {length}\r\n\r\n{{}}".encode())
    status, errors = await server.ended()
    shown = length[:100].replace("\33", "\N{REPLACEMENT CHARACTER}")
    assert (status, errors) == (
        1,
        f"ERROR xla_lens.lsp.serve: Content-Length: {shown}: expected at most 2147483648 bytes\n",
    )


async def test_server_ends_when_nobody_reads_its_output() -> None:
    """Even if another process keeps the standard input open."""
    reading, writing = os.pipe()
    server = await Process.start(stdout=writing)
    server._source.feed_eof()
    os.close(writing)
    server.send_unchecked({"jsonrpc": "2.0", "method": "$/setTrace", "params": {"value": "off"}})
    os.close(reading)
    server.ask("initialize", {"processId": None, "rootUri": None, "capabilities": {}})
    assert await server.ended() == (1, "")
