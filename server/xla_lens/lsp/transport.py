"""Messages over two byte streams.

One thread reads and one writes, so that neither a slow client nor a flood of messages blocks the event loop. Memory is
bounded: when too much waits on either side, the reader stops reading.
"""

import asyncio
import re
import threading
from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from typing import Any, BinaryIO, Final

from xla_lens.lsp.long_messages import decode
from xla_lens.lsp.tasks import Activity

_LENGTH: Final = re.compile(rb"content-length[ \t]*:[ \t]*(\d{1,18})[ \t]*\r?\n", re.IGNORECASE)

_HTTP: Final = re.compile(rb"[A-Z]+ \S+ HTTP/")

_LONGEST_MESSAGE: Final = 1 << 31
"""Maximum length of a message in bytes. No client sends longer ones."""

_LONGEST_LINE: Final = 1 << 16
_CHUNK: Final = 1 << 24

_UNHANDLED: Final = 1_000
"""Maximum number of messages that have been read but not handled."""

_WAITING: Final = 1 << 26
"""Maximum number of bytes that may wait to be handled or written. While more wait, nothing is read."""


class Malformed(Exception):
    """The client sent bytes that are not a message. The text is one line and says why."""


class BadHeader(Malformed):
    """The header does not give the length of the message, so the start of the next one is unknown."""


class Transport:
    """A connection to a client. `receive` is called on the event loop for each message, in order, `fail` for each
    malformed one, and `end` once, when the client is gone or sends a bad header. All of them wait while the connection
    is paused.
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
        self.activity = Activity()
        """The messages that are being handled or written."""
        self._loop = asyncio.get_running_loop()
        self._unhandled = threading.BoundedSemaphore(_UNHANDLED)
        self._waiting = 0
        self._may_read = threading.Condition()
        self._is_paused = False
        self._postponed: list[Callable[[], None]] = []
        self._outgoing: SimpleQueue[bytes | None] = SimpleQueue()
        self._writer = threading.Thread(target=self._write, name="writer", daemon=True)
        self._writer.start()
        threading.Thread(target=self._read, name="reader", daemon=True).start()

    def write(self, data: bytes) -> None:
        """Queue a message with its header. Does not block."""
        self.activity.begin()
        with self._may_read:
            self._waiting += len(data)
        self._outgoing.put(data)

    def pause(self) -> None:
        """Stop reading, and postpone what has been read already. Call this and `resume` on the event loop."""
        self._is_paused = True

    def resume(self) -> None:
        """Continue after `pause`."""
        with self._may_read:
            self._is_paused = False
            self._may_read.notify_all()
        postponed, self._postponed = self._postponed, []
        for handle in postponed:
            handle()

    def close(self) -> None:
        """Stop writing after the messages that are queued."""
        self._outgoing.put(None)

    def flush(self, seconds: float) -> None:
        """Block until everything queued before `close` is written, or the time is up."""
        self._writer.join(seconds)

    def _write(self) -> None:
        try:
            while (data := self._outgoing.get()) is not None:
                self._sink.write(data)
                self._sink.flush()
                self._end_waiting(len(data))
                self.activity.end()
        except (OSError, ValueError):
            self._call(self._end)

    def _read(self) -> None:
        try:
            while self._read_one():
                with self._may_read:
                    self._may_read.wait_for(lambda: self._waiting < _WAITING and not self._is_paused)
        except (OSError, ValueError):
            pass
        self._call(self._unless_paused, self._end)

    def _read_one(self) -> bool:
        """Read and deliver one message. Return whether another may follow."""
        try:
            body = read_body(self._source)
            if body is None:
                return False
            message = _json(body)
        except Malformed as error:
            self._deliver(self._fail, error, 0)
            return not isinstance(error, BadHeader)
        self._deliver(self._receive, message, len(body))
        return True

    def _deliver(self, handle: Callable[[Any], None], message: Any, size: int) -> None:
        self.activity.begin()
        self._unhandled.acquire()
        with self._may_read:
            self._waiting += size
        self._call(self._unless_paused, partial(self._handle, handle, message, size))

    def _unless_paused(self, handle: Callable[[], None]) -> None:
        if self._is_paused:
            self._postponed.append(handle)
        else:
            handle()

    def _handle(self, handle: Callable[[Any], None], message: Any, size: int) -> None:
        self._unhandled.release()
        self._end_waiting(size)
        try:
            handle(message)
        finally:
            self.activity.end()

    def _end_waiting(self, size: int) -> None:
        with self._may_read:
            self._waiting -= size
            self._may_read.notify_all()

    def _call(self, callback: Callable[..., None], *arguments: Any) -> None:
        try:
            self._loop.call_soon_threadsafe(callback, *arguments)
        except RuntimeError:
            # The event loop is closed: nothing more can be sent.
            self._outgoing.put(None)


def read_body(source: BinaryIO, longest: int = _LONGEST_MESSAGE) -> bytes | None:
    """Return the body of the next message, None at the end of the stream. Raises `BadHeader`, also if the body has more
    than `longest` bytes.
    """
    length, is_empty = None, True
    while line := source.readline(_LONGEST_LINE):
        if found := _LENGTH.match(line):
            length = int(found[1])
        elif _HTTP.match(line):
            # Any page in a browser can make it send requests to ports of this machine.
            raise BadHeader("the client speaks HTTP")
        elif line.strip():
            is_empty = False
        elif length is not None and length > longest:
            raise BadHeader(f"a message of {length:,} bytes is too long")
        elif length is not None:
            return _read_exactly(source, length)
        elif not is_empty:
            raise BadHeader("the header has no Content-Length")
    return None


def _read_exactly(source: BinaryIO, length: int) -> bytes | None:
    chunks = []
    while length:
        # Read in chunks: the announced bytes may never arrive, so do not allocate for all of them.
        chunk = source.read(min(length, _CHUNK))
        if not chunk:
            return None
        chunks.append(chunk)
        length -= len(chunk)
    return b"".join(chunks)


def _json(body: bytes) -> Any:
    try:
        return decode(body)
    except (ValueError, RecursionError) as error:
        raise Malformed(f"not JSON: {error}") from error
