"""Starts the server and connects it to a client.

The types of lsprotocol take longer to import than everything before the answer to `initialize`. They are imported in a
worker thread after that answer, and the next messages wait for them.
"""

import asyncio
import gc
import linecache
import logging
import os
import sys
from typing import BinaryIO, Final

from xla_lens.lsp.server import Server
from xla_lens.lsp.tasks import share_heap
from xla_lens.lsp.transport import Transport

SWITCH_SECONDS: Final = 0.0002
"""Maximum time that a thread runs before the interpreter switches to another."""

_FLUSH_SECONDS: Final = 1.0
"""How long the client may take to read the last messages."""


def serve(address: tuple[str, int] | None, *, allow_remote: bool = False) -> int:
    """Run the server and return its exit status. It talks over standard input and output, or to the first client that
    connects to `address`. Raises `OSError` if it cannot listen there, and `RemoteAddress` if other machines could
    connect and `allow_remote` is false.
    """
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    # Building a long answer allocates many objects, none of them garbage. With the default thresholds, that would
    # trigger full collections, and each takes longer than the answer.
    gc.set_threshold(50_000, 20, 20)
    share_heap()
    # A message passes through several threads. During a load, each handover waits this long.
    sys.setswitchinterval(SWITCH_SECONDS)
    if address is None:
        # Duplicates: prints of other code go to standard error, and the interpreter does not wait for the reader thread
        # when it exits.
        source, sink = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
        os.dup2(2, 1)
        return asyncio.run(run(source, sink))
    # Imported here, because editors that use standard input and output wait for these imports.
    from xla_lens.lsp.tcp import accept_one, listen

    with listen(address, allow_remote=allow_remote) as listening, accept_one(listening) as connection:
        return asyncio.run(run(connection.makefile("rb"), connection.makefile("wb")))


async def run(source: BinaryIO, sink: BinaryIO) -> int:
    """Run the server on two streams until the client asks it to exit or is gone. Return the exit status."""
    server, ended = Server(), asyncio.Event()
    protocol = server.protocol
    transport = Transport(source, sink, protocol.receive, protocol.receive_malformed, ended.set)
    protocol.writer, protocol.activity = transport, transport.activity
    protocol.on_exit = ended.set

    def prepare() -> None:
        transport.pause()
        imported = asyncio.ensure_future(asyncio.to_thread(_import_types))
        imported.add_done_callback(lambda _: transport.resume())

    protocol.on_start = prepare
    try:
        await ended.wait()
    finally:
        server.close()
    await protocol.finish_requests()
    transport.close()
    await asyncio.to_thread(transport.flush, _FLUSH_SECONDS)
    return protocol.exit_status


def _import_types() -> None:
    # Modules are never garbage: keep the collector from scanning them, now and later. But attrs makes each class twice,
    # which leaves 9 MB of garbage, and keeps the source of their methods for debuggers, another 2 MB.
    gc.disable()
    import xla_lens.lsp.converter  # noqa: F401

    linecache.clearcache()
    gc.collect(0)
    gc.freeze()
    gc.enable()
