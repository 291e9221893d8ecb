"""Starts the server and connects it to one editor, over standard input and output or over a TCP port."""

import ipaddress
import logging
import os
import signal
import socket
import sys
from contextlib import suppress
from typing import Final

from xla_lens.lsp.server import Server

logger = logging.getLogger(__name__)

_FIRST: Final = b"content-"
"""What the first message of an editor begins with."""


class RemoteAddress(Exception):
    """Other machines can reach the address to listen on, and the user has not allowed that."""


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
    # The connection may break.
    with _accept_one(_listen(address, allow_remote=allow_remote)) as one, suppress(OSError):
        server.start_io(one.makefile("rb"), one.makefile("wb"))
    return server.exit_status


def _listen(address: tuple[str, int], *, allow_remote: bool) -> socket.socket:
    """Listen on an address, which must be one of this machine's loopback interface unless `allow_remote` is true.

    Raises `RemoteAddress`, and `OSError` if the address is unknown or in use.
    """
    host, port = address
    family, _, _, _, found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    if not ipaddress.ip_address(str(found[0]).partition("%")[0]).is_loopback:
        if not allow_remote:
            raise RemoteAddress
        logger.warning(
            "other machines can reach %s:%d, and the connection has neither a password nor encryption: the first "
            "client can read all dumps that you can read, and their source lines",
            host,
            port,
        )
    return socket.create_server((str(found[0]), int(found[1])), family=family)


def _accept_one(listening: socket.socket) -> socket.socket:
    """Wait for the first editor, and return the connection. From then on, nothing listens: another editor cannot
    connect.

    Closes connections that do not begin like a message of an editor: any web page can make a browser send requests to
    ports of this machine.
    """
    with listening:
        while True:
            connection, _ = listening.accept()
            with suppress(OSError):
                if _FIRST.startswith(connection.recv(len(_FIRST), socket.MSG_PEEK).lower() or b"-"):
                    return connection
            connection.close()
