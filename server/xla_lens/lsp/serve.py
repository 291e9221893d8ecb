"""Starts the server and connects it to one editor, over standard input and output or over a TCP port."""

import ipaddress
import logging
import os
import re
import signal
import socket
import sys
from contextlib import suppress
from typing import BinaryIO, Final, cast

from xla_lens.lsp.server import Server
from xla_lens.text.patterns import lazy_pattern
from xla_lens.text.printable import printable_line

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
        _serve(server, sys.stdin.buffer, output)
        return server.exit_status
    # The connection may break.
    with _accept_one(_listen(address, allow_remote=allow_remote)) as one, suppress(OSError):
        _serve(server, one.makefile("rb"), one.makefile("wb"))
    return server.exit_status


def _serve(server: Server, source: BinaryIO, output: BinaryIO) -> None:
    server.start_io(cast(BinaryIO, _Input(source)), cast(BinaryIO, _Output(output, server)))


class _Input:
    """What the editor sends, with the length of each message in the one form that pygls reads. The protocol takes its
    headers from HTTP: their names have no case, and blanks around the value do not count.
    """

    def __init__(self, source: BinaryIO) -> None:
        self._source = source
        self._has_warned = False

    def readline(self) -> bytes:
        """Read a line of a header. Empty at the end of the input, and where it cannot be known any more where a message
        ends.
        """
        line = self._source.readline(_LONGEST_HEADER)
        if length := _CONTENT_LENGTH.match(line):
            digits = line[length.end() :].strip()
            size = int(digits) if digits.isdigit() and len(digits) <= _MOST_DIGITS else _MOST_BYTES + 1
            if size > _MOST_BYTES:
                logger.error("Content-Length: %s: expected at most %d bytes", _shown(digits), _MOST_BYTES)
                return b""
            return b"Content-Length: %d\r\n" % size
        if line.strip() and not _HEADER.match(line) and not self._has_warned:
            self._has_warned = True
            logger.warning("ignored: not a header: %s", _shown(line))
        return line

    def read(self, size: int) -> bytes:
        """Read a message."""
        return self._source.read(size)


def _shown(text: bytes) -> str:
    return printable_line(text[:_MOST_SHOWN].decode("utf-8", "replace").rstrip())


_CONTENT_LENGTH: Final = lazy_pattern(rb"content-length[ \t]*:", re.IGNORECASE)
_HEADER: Final = lazy_pattern(rb"[\w-]+[ \t]*:")

_LONGEST_HEADER: Final = 1 << 16
_MOST_SHOWN: Final = 100

_MOST_BYTES: Final = 2 << 30
"""The most bytes of a message. The strings of editors in JavaScript are shorter."""

_MOST_DIGITS: Final = len(str(_MOST_BYTES))


class _Output:
    """The output of the server. Ends the process when its reader is gone."""

    def __init__(self, output: BinaryIO, server: Server) -> None:
        self._output, self._server = output, server

    def write(self, data: bytes) -> None:
        """Send a message."""
        try:
            self._output.write(data)
            self._output.flush()
        except ConnectionError:
            self._server.close()
            # Nothing can wake the thread that reads, and another process may keep the input open.
            os._exit(self._server.exit_status)

    def flush(self) -> None:
        """Do nothing: messages are sent at once."""

    def close(self) -> None:
        """Close the stream, for a reader that may be gone."""
        with suppress(OSError):
            self._output.close()


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
