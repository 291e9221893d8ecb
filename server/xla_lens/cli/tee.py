"""Pass on what the program of `xla-lens run` writes, and copy it to a log.

This runs as a separate process, so that the program can keep writing if `xla-lens run` is killed. It passes standard
input on to standard output, and appends a copy to standard error, which is the log. Errors of the log do not stop it.
The argument is the descriptor of a socket to `xla-lens run`:

- This process sends a zero byte when it is ready, and the number of each signal that it gets. A signal that both
  processes get was sent to the whole process group, and so to the program as well.
- This process sends back each byte that it receives, after the numbers of the signals that arrived before it.
- `xla-lens run` closes its side for writing when the program has ended. This process closes the socket when it has
  passed on all that the program wrote. It continues while other processes write to the same stream.

The file is run by its path without the package, and imports only the standard library.
"""

import errno
import os
import select
import signal
import socket
import sys
from contextlib import suppress

FORWARDED = ("SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM", "SIGUSR1", "SIGUSR2")
"""The signals that `xla-lens run` forwards if no other process of its group gets them."""

_IGNORED = ("SIGTSTP", "SIGTTOU", "SIGTTIN", "SIGALRM", "SIGXCPU", "SIGPIPE", "SIGXFSZ")

_LONGEST_LOG = 64 << 20
_BLOCK = 1 << 16

_LARGEST_PIPE = 1 << 20
"""Maximum number of bytes that the program can have left in the pipe when it ended."""


def main(wrapper: socket.socket) -> None:
    """Pass on everything until all processes that write have ended, or until standard output is closed."""
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
            # This is how a pseudo-terminal ends.
            return
        if not block or not _pass_on(block):
            return
        with suppress(OSError):
            if os.fstat(2).st_size > _LONGEST_LOG:
                os.ftruncate(2, 0)
            os.write(2, block)


def _pass_on(block: bytes) -> bool:
    """Write a block to standard output. Return False if its reader is gone: this process then ends, so that the pipe of
    the program breaks as well. Other errors, such as a full disk, are ignored: a pipe has no way to report them.
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


def _handle_signals(wrapper: socket.socket) -> None:
    def report(number: int, _: object) -> None:
        with suppress(OSError):
            wrapper.send(bytes([number]), socket.MSG_DONTWAIT)

    for name in FORWARDED:
        signal.signal(getattr(signal, name), report)
    for name in _IGNORED:
        signal.signal(getattr(signal, name), signal.SIG_IGN)
    if os.isatty(0):
        signal.signal(signal.SIGWINCH, _resize)
        _resize()
    # `xla-lens run` blocked them until they have handlers.
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    wrapper.send(b"\0")


def _resize(*_: object) -> None:
    """Give the program's terminal the size of the user's terminal."""
    # Windows has no such modules.
    import fcntl
    import termios

    with suppress(OSError):
        fcntl.ioctl(0, termios.TIOCSWINSZ, fcntl.ioctl(1, termios.TIOCGWINSZ, bytes(8)))


if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv[1])))
