"""Starts the server and connects it to a client."""

import logging
import os
import signal
import sys
from contextlib import suppress

from xla_lens.lsp.server import Server


def serve(address: tuple[str, int] | None, *, allow_remote: bool = False) -> int:
    """Run the server and return its exit status. It talks over standard input and output, or to the first client that
    connects to `address`. Raises `OSError` if it cannot listen there, and `RemoteAddress` if other machines could
    connect and `allow_remote` is false.
    """
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    # pygls would wait for the thread that reads.
    signal.signal(signal.SIGINT, lambda *_: os._exit(128 + signal.SIGINT))
    server = Server()
    if address is None:
        # A duplicate: whatever is printed by mistake goes to standard error.
        output = os.fdopen(os.dup(1), "wb")
        os.dup2(2, 1)
        server.start_io(sys.stdin.buffer, output)
        return server.exit_status
    # Imported here, because editors that use standard input and output wait for these imports.
    from xla_lens.lsp.tcp import accept_one, listen

    # The connection may break.
    with listen(address, allow_remote=allow_remote) as listening, accept_one(listening) as one, suppress(OSError):
        server.start_io(one.makefile("rb"), one.makefile("wb"))
    return server.exit_status
