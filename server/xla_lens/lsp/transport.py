"""Messages of the Language Server Protocol over two streams of bytes.

One thread reads and one writes, so that neither a client that is slow nor one that sends much at once stops the event
loop. What a client may have under way is bounded: when too much waits on either side, the reader does not read on.
"""

import asyncio
import json
import re
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, BinaryIO, Final

_LENGTH: Final = re.compile(rb"content-length[ \t]*:[ \t]*(\d{1,18})[ \t]*\r?\n", re.IGNORECASE)
"""Wherever it stands in a line: before it may be the rest of a message that is longer than it was said to be."""

LONGEST_MESSAGE: Final = 1 << 31
"""Bytes: no client means a message as long as that."""

_LONGEST_LINE: Final = 1 << 16
_CHUNK: Final = 1 << 24

_UNHANDLED: Final = 1_000
"""Messages that have been read and not been handled, at most."""

_UNWRITTEN: Final = 1 << 26
"""Bytes that wait for the client to read them, above which nothing of it is read."""


class Malformed(Exception):
    """What a client sent is no message. Says in one line why."""


class Transport:
    """A connection to a client. `receive` and `fail` are called on the event loop for each message, in order, and for
    what is none; `end` once, when the client is gone.
    """

    def __init__(
        self,
        source: BinaryIO,
        sink: BinaryIO,
        receive: Callable[[Any], None],
        fail: Callable[[Malformed], None],
        end: Callable[[], None],
    ) -> None:
        self._source, self._sink = source, sink
        self._receive, self._fail, self._end = receive, fail, end
        self._loop = asyncio.get_running_loop()
        self._unhandled = threading.BoundedSemaphore(_UNHANDLED)
        self._unwritten = 0
        self._has_room = threading.Condition()
        self._outgoing: SimpleQueue[bytes | None] = SimpleQueue()
        self._writer = threading.Thread(target=self._write, name="writer", daemon=True)
        self._writer.start()
        threading.Thread(target=self._read, name="reader", daemon=True).start()

    def write(self, data: bytes) -> None:
        """Sends a message with its header, when the client is ready to read it."""
        with self._has_room:
            self._unwritten += len(data)
        self._outgoing.put(data)

    def close(self) -> None:
        """Sends nothing more than what waits to be sent."""
        self._outgoing.put(None)

    def flush(self, seconds: float) -> None:
        """Waits until all is sent after `close`, for so long at most."""
        self._writer.join(seconds)

    def _write(self) -> None:
        try:
            while (data := self._outgoing.get()) is not None:
                self._sink.write(data)
                self._sink.flush()
                with self._has_room:
                    self._unwritten -= len(data)
                    self._has_room.notify_all()
        except (OSError, ValueError):
            self._call(self._end)

    def _read(self) -> None:
        try:
            while self._read_one():
                with self._has_room:
                    self._has_room.wait_for(lambda: self._unwritten < _UNWRITTEN)
        except (OSError, ValueError):
            pass
        self._call(self._end)

    def _read_one(self) -> bool:
        try:
            body = read_body(self._source)
            if body is None:
                return False
            message = _json(body)
        except Malformed as error:
            self._deliver(self._fail, error)
        else:
            self._deliver(self._receive, message)
        return True

    def _deliver(self, handle: Callable[[Any], None], message: Any) -> None:
        self._unhandled.acquire()
        self._call(self._handled, handle, message)

    def _handled(self, handle: Callable[[Any], None], message: Any) -> None:
        self._unhandled.release()
        handle(message)

    def _call(self, callback: Callable[..., None], *arguments: Any) -> None:
        try:
            self._loop.call_soon_threadsafe(callback, *arguments)
        except RuntimeError:
            # The loop has ended, and with it all interest in the client.
            self._outgoing.put(None)


def read_body(source: BinaryIO) -> bytes | None:
    """The body of the next message, None at the end. Raises `Malformed` for what is none; what comes after it can be
    read all the same.
    """
    length, is_empty = None, True
    while line := source.readline(_LONGEST_LINE):
        if found := _LENGTH.search(line):
            length = int(found[1])
        elif line.strip():
            is_empty = False
        elif length is not None:
            return _read_exactly(source, length)
        elif not is_empty:
            raise Malformed("a header without a length")
    return None


def _read_exactly(source: BinaryIO, length: int) -> bytes | None:
    if length > LONGEST_MESSAGE:
        raise Malformed(f"a message of {length:,} bytes")
    chunks = []
    while length:
        # What is announced may never come, so that there is no buffer made for all of it.
        chunk = source.read(min(length, _CHUNK))
        if not chunk:
            return None
        chunks.append(chunk)
        length -= len(chunk)
    return b"".join(chunks)


def _json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Malformed(f"not JSON: {error}") from error
