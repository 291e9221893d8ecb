"""Pass on what the program of `xla-lens run` writes, and copy it to a log.

This is a process of its own, so that the program can write on when `xla-lens run` is killed. It reads standard input,
passes all bytes on to standard output, and appends them to standard error, which is the log. Nothing that happens to
the log stops it. The argument is a socket to `xla-lens run`:

- It gets a zero byte when this process is ready.
- The number of each signal that arrives here is sent there. What reached both processes went to the whole process
  group, and so to the program as well. A byte from there is sent back, after the signals that arrived before it.
- When the program has ended, `xla-lens run` closes its side for writing. When all that the program wrote has been
  passed on, this process closes the socket. It runs on while other processes write to the same stream.

The file runs by its path without the package, and imports only the standard library.
"""

import errno
import os
import select
import signal
import socket
import sys
from contextlib import suppress

TOLD = ("SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM", "SIGUSR1", "SIGUSR2")
"""The signals that `xla-lens run` forwards if they reached it alone."""

_IGNORED = ("SIGTSTP", "SIGTTOU", "SIGTTIN", "SIGALRM", "SIGXCPU", "SIGPIPE", "SIGXFSZ")

_LONGEST_LOG = 64 << 20
_BLOCK = 1 << 16

_LARGEST_PIPE = 1 << 20
"""What the program can have written before its end that has not been read yet."""


def main(wrapper: socket.socket) -> None:
    """Pass on everything until the last process that writes has ended, or until nobody reads any more."""
    _handle_signals(wrapper)
    sources: list[int | socket.socket] = [0, wrapper]
    rest = _LARGEST_PIPE
    while True:
        ready, _, _ = select.select(sources, [], [])
        if wrapper in ready:
            if byte := wrapper.recv(1):
                wrapper.send(byte)
            elif 0 not in ready or rest < 0:
                wrapper.close()
                sources.remove(wrapper)
            else:
                rest -= _BLOCK
        if 0 not in ready:
            continue
        try:
            block = os.read(0, _BLOCK)
        except OSError:
            # So a pseudo-terminal ends.
            return
        if not block or not _pass_on(block):
            return
        _log(block)


def _pass_on(block: bytes) -> bool:
    """Write a block to standard output. Returns whether somebody is still there to read it: if not, the program has to
    notice. Of a full disk it is not told, because a pipe can only break.
    """
    left = memoryview(block)
    while left:
        try:
            left = left[os.write(1, left) :]
        except BlockingIOError:
            # Another process has made the file non-blocking.
            select.select([], [1], [])
        except OSError as error:
            return error.errno != errno.EPIPE and not (error.errno == errno.EIO and os.isatty(1))
    return True


def _log(block: bytes) -> None:
    with suppress(OSError):
        if os.fstat(2).st_size > _LONGEST_LOG:
            os.ftruncate(2, 0)
        os.write(2, block)


def _handle_signals(wrapper: socket.socket) -> None:
    def tell(number: int, _: object) -> None:
        with suppress(OSError):
            wrapper.send(bytes([number]), socket.MSG_DONTWAIT)

    for name in TOLD:
        signal.signal(getattr(signal, name), tell)
    for name in _IGNORED:
        signal.signal(getattr(signal, name), signal.SIG_IGN)
    if os.isatty(0):
        signal.signal(signal.SIGWINCH, _resize)
        _resize()
    # They were blocked until there was somebody to handle them.
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    wrapper.send(b"\0")


def _resize(*_: object) -> None:
    """Give the terminal of the program the size of the user's."""
    import fcntl
    import termios

    with suppress(OSError):
        fcntl.ioctl(0, termios.TIOCSWINSZ, fcntl.ioctl(1, termios.TIOCGWINSZ, bytes(8)))


if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv[1])))
