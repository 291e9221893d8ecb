"""A TCP port on which the server waits for one editor, and refuses all others."""

import ipaddress
import json
import logging
import socket
import threading
from contextlib import suppress
from typing import Any, Final

from xla_lens.lsp.errors import ErrorCode, RemoteAddress
from xla_lens.lsp.transport import Malformed, read_body

logger = logging.getLogger(__name__)

_REFUSAL: Final = "XLA Lens already serves another editor on this port. Start a server of its own for each editor."

_REFUSAL_SECONDS: Final = 5.0
"""How long a refused editor may take to send its first message, and to read the answer."""

_LONGEST_FIRST_MESSAGE: Final = 1 << 20


def listen(address: tuple[str, int], *, allow_remote: bool) -> socket.socket:
    """Listen on an address, which must be one of this machine's loopback interface unless `allow_remote` is true.

    Raises `RemoteAddress`, and `OSError` if the address is unknown or in use.
    """
    host, port = address
    family, _, _, _, found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    if not ipaddress.ip_address(str(found[0]).partition("%")[0]).is_loopback:
        if not allow_remote:
            raise RemoteAddress
        logger.warning(
            "other machines can reach %s:%d, and there is no password and no encryption: whoever connects first can "
            "read all dumps that you can read, and their source lines",
            host,
            port,
        )
    return socket.create_server((str(found[0]), int(found[1])), family=family)


def accept_one(listening: socket.socket) -> socket.socket:
    """Wait for the first editor, and return the connection. From then on, a thread refuses all others."""
    connection, _ = listening.accept()
    threading.Thread(target=_refuse_others, args=(listening,), name="refusals", daemon=True).start()
    return connection


def _refuse_others(listening: socket.socket) -> None:
    with suppress(OSError):
        while True:
            connection, _ = listening.accept()
            logger.warning("refused a second editor")
            with connection, suppress(OSError, ValueError, RecursionError, Malformed):
                connection.settimeout(_REFUSAL_SECONDS)
                # Closing a connection with unread bytes would discard the answer.
                first = read_body(connection.makefile("rb"), _LONGEST_FIRST_MESSAGE)
                connection.sendall(_refusal(json.loads(first) if first else None))


def _refusal(request: Any) -> bytes:
    """The error response to the first request of an editor."""
    number = request.get("id") if isinstance(request, dict) else None
    error = {"code": ErrorCode.REQUEST_FAILED, "message": _REFUSAL, "data": {"retry": False}}
    body = json.dumps({"jsonrpc": "2.0", "id": number, "error": error}).encode()
    return b"Content-Length: %d\r\n\r\n" % len(body) + body
