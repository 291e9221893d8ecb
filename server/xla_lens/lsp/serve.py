"""How the server starts and ends."""

import asyncio
import gc
import logging
import os
import socket
import sys
from collections.abc import Callable
from functools import partial
from typing import Any, BinaryIO, Final

from lsprotocol import types as lsp

from xla_lens.lsp.methods import METHODS
from xla_lens.lsp.server import XlaLensServer
from xla_lens.lsp.threads import share_memory
from xla_lens.lsp.transport import Transport

SWITCH_SECONDS: Final = 0.001
"""How long a thread keeps the interpreter when another wants it."""

_LAST_WORDS: Final = 1.0
"""Seconds in which the client may still read what was sent before the end."""


def create_server() -> XlaLensServer:
    """The server with its handlers, not yet connected to anything."""
    server = XlaLensServer()
    for method, options in METHODS.items():
        server.feature(method, options)(_handler(server, method))
    server.feature(lsp.WORKSPACE_DID_CHANGE_CONFIGURATION)(partial(_settings_changed, server))
    server.feature(lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES)(partial(_files_changed, server))
    return server


def serve(address: tuple[str, int] | None) -> int:
    """Runs the server, on standard input and output or for one editor that connects to `address`, until it is told to
    exit or the connection ends; gives the exit status. Raises `OSError` if it cannot listen there.
    """
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    # It logs each error that is an answer to a client, with all of its calls.
    logging.getLogger("pygls").setLevel(logging.CRITICAL)
    # What an answer is made of is no garbage yet when there is much of it, and to look for some among all that is known
    # of a dump takes longer than the answer.
    gc.set_threshold(50_000, 20, 20)
    share_memory()
    # Each message passes between threads several times. Beside a load, each pass waits for this long.
    sys.setswitchinterval(SWITCH_SECONDS)
    if address is None:
        # Copies of its own: what else writes to standard output goes elsewhere, and the interpreter's end does not wait
        # for the thread that reads.
        source, sink = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
        os.dup2(2, 1)
        return asyncio.run(run(source, sink))
    with socket.create_server(address) as listening:
        connection, _ = listening.accept()
    with connection:
        return asyncio.run(run(connection.makefile("rb"), connection.makefile("wb")))


async def run(source: BinaryIO, sink: BinaryIO) -> int:
    """Runs the server on two streams; gives the exit status."""
    server, ended = create_server(), asyncio.Event()
    protocol = server.protocol
    transport = Transport(source, sink, protocol.receive, protocol.refuse, ended.set)
    protocol.set_writer(transport)
    protocol.on_exit = ended.set
    try:
        await ended.wait()
    finally:
        server.close()
    await protocol.answer_all()
    transport.close()
    await asyncio.to_thread(transport.flush, _LAST_WORDS)
    return protocol.exit_status


def _handler(server: XlaLensServer, method: str) -> Callable[[Any], Any]:
    async def handler(params: Any) -> Any:
        return await server.answer(method, params)

    return handler


def _settings_changed(server: XlaLensServer, params: lsp.DidChangeConfigurationParams) -> None:
    if server.client.has_settings:
        server.start(server.pull_settings())
    else:
        server.take_settings(params.settings)


def _files_changed(server: XlaLensServer, _params: lsp.DidChangeWatchedFilesParams) -> None:
    server.files_changed()
