"""The program of `xla-lens run`: its environment, its signals, and a copy of its standard error."""

import itertools
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, Final

from xla_lens.cli import inside, tee
from xla_lens.cli.inside.sitecustomize import FLAGS, RUN, completed, quoted, user_flags
from xla_lens.cli.output import CannotRun

_FLAGS: Final = "--xla_dump_hlo_as_text=true --xla_dump_include_timestamp=true"
"""The names of dumps have timestamps, because processes that run no Python of their own environment share a folder with
the process that started them."""


def child_environment(environment: Mapping[str, str], folder: Path, only: str | None) -> dict[str, str]:
    """Return the environment in which a program dumps to a folder: all modules, or those whose names `only` matches."""
    ours = f"{_FLAGS} --xla_dump_hlo_module_re={quoted(only)}" if only else _FLAGS
    try:
        user = user_flags(environment.get("XLA_FLAGS", ""), ours)
    except OSError:
        # XLA reports that it cannot read the file that the variable names.
        return dict(environment)
    here = os.path.dirname(os.path.abspath(inside.__file__))
    return {
        **environment,
        # A program that JAX loads from its cache has no buffer assignment.
        "JAX_ENABLE_COMPILATION_CACHE": "false",
        RUN: str(folder),
        FLAGS: ours,
        "XLA_FLAGS": completed(user, ours, str(folder / "other-processes")),
        "PYTHONPATH": os.pathsep.join(filter(None, (here, environment.get("PYTHONPATH")))),
    }


def run_program(command: Sequence[str], environment: Mapping[str, str], log: Path) -> int:
    """Run a program to its end and return the exit status as a shell does, 128 + n after signal n. What the program
    writes to standard error is also written to a log.

    A separate process copies it (`tee.py`), so that the program continues if this process is killed. Signals to the
    whole process group, such as those from the keyboard, reach the program as well. This process survives them, and
    forwards only those that are sent to it alone. Raises `CannotStart`.
    """
    with _copied_to(log) as (streams, copier), _signals(copier) as forward_to:
        try:
            # A shell may have opened more files for the program.
            process = subprocess.Popen(command, env=environment, close_fds=False, **streams)
        except OSError as error:
            raise CannotStart(command[0], error) from error
        finally:
            for stream in {*streams.values()}:
                os.close(stream)
        forward_to(process)
        while process.returncode is None:
            # With a timeout, this looks again every 50 ms, and so handles a signal that arrives just before it waits.
            with suppress(subprocess.TimeoutExpired):
                process.wait(timeout=1.0)
    return 128 - process.returncode if process.returncode < 0 else process.returncode


class CannotStart(CannotRun):
    """A program cannot be started. `status` is the exit status that a shell has then."""

    def __init__(self, name: str, error: OSError) -> None:
        is_missing = isinstance(error, FileNotFoundError)
        is_script = name.endswith(".py") and os.path.isfile(name)
        super().__init__(
            f"{name}: {'command not found' if is_missing and not is_script else 'not an executable program'}"
            f"{f'; did you mean `xla-lens run python {name}`?' if is_script else ''}"
        )
        self.status = 127 if is_missing else 126


# ---------------------------------------------------------------- signals

_INTERRUPTS: Final = ("SIGINT", "SIGTERM", "SIGKILL")
"""What the program gets for the first, the second and any further interrupt that is sent to this process alone."""

_ANSWER: Final = 1.0
"""Seconds to wait for the copier to answer. While the reader of its output does not read, it is blocked and cannot."""

_QUESTIONS: Final = itertools.cycle(range(128, 256))
"""Bytes that the copier sends back. No signal has such a number."""


@contextmanager
def _signals(copier: socket.socket | None) -> Iterator[Callable[["subprocess.Popen[bytes]"], None]]:
    """Survive signals, and forward those that reach this process alone. Yields a function that takes the program. The
    copier, which is in the same process group, reports each signal that it gets.
    """
    programs: list[subprocess.Popen[bytes]] = []
    early: list[int] = []
    reported: list[int] = []
    interrupts = iter(_INTERRUPTS)

    def receive(number: int, _: object) -> None:
        if not programs:
            early.append(number)
        elif not (copier and _is_reported(copier, number, reported)):
            forward(number)

    def forward(number: int) -> None:
        if number == signal.SIGINT:
            number = getattr(signal, next(interrupts, _INTERRUPTS[-1]))
        with suppress(OSError):
            programs[0].send_signal(number)

    def forward_to(program: "subprocess.Popen[bytes]") -> None:
        programs.append(program)
        while early:
            forward(early.pop(0))

    before: dict[int, Any] = {}
    for name in tee.FORWARDED:
        number = getattr(signal, name, None)
        # A signal that is ignored, as under `nohup`, stays ignored, also by the program.
        if number is not None and signal.getsignal(number) != signal.SIG_IGN:
            before[number] = signal.signal(number, receive)
    try:
        yield forward_to
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _is_reported(copier: socket.socket, number: int, reported: list[int]) -> bool:
    """Whether the copier got a signal as well. `reported` collects the bytes that it sends."""
    given_up = time.monotonic() + _ANSWER
    question = next(_QUESTIONS)
    with suppress(OSError):
        copier.send(bytes([question]))
        while number not in reported and question not in reported:
            if not select.select([copier], [], [], max(0, given_up - time.monotonic()))[0]:
                return False
            reported += copier.recv(64) or [question]
    if number not in reported:
        return False
    reported.remove(number)
    return True


# ---------------------------------------------------------------- standard error


@contextmanager
def _copied_to(log: Path) -> Iterator[tuple[dict[str, Any], socket.socket | None]]:
    """Yield the streams of a program whose standard error is copied to a log, and a socket to the process that copies.
    The caller closes the streams. At the end, wait until all that the program wrote has been passed on.

    The streams are a terminal if ours are. If standard output and standard error are the same file, both are copied, to
    keep the order of what the program writes. If nothing can be copied, as on Windows, the program writes to our
    streams.
    """
    try:
        writing, copier = _copier(log)
    except OSError:
        yield {}, None
        return
    with copier:
        streams = {"stderr": writing}
        with suppress(OSError):
            streams |= {"stdout": writing} if os.path.sameopenfile(1, 2) else {}
        yield streams, copier
        with suppress(OSError, KeyboardInterrupt):
            copier.shutdown(socket.SHUT_WR)
            while copier.recv(64):
                # Ignore the last signals.
                pass


def _copier(log: Path) -> tuple[int, socket.socket]:
    """Start the process that copies, and return what it copies from and a socket to it. Raises `OSError`."""
    if sys.stderr is None or not sys.executable or not hasattr(socket, "AF_UNIX"):
        raise OSError
    with _opened(log) as file:
        reading, writing = _terminal() if os.isatty(2) else os.pipe()
        ours, theirs = socket.socketpair()
        # Signals that arrive before the copier is ready stay pending until it handles them.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, [getattr(signal, name) for name in tee.FORWARDED])
        try:
            subprocess.Popen(
                [sys.executable, "-I", "-S", tee.__file__, str(theirs.fileno())],
                stdin=reading,
                stdout=2,
                stderr=file,
                pass_fds=(theirs.fileno(),),
            )
        except OSError:
            theirs.shutdown(socket.SHUT_RDWR)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            os.close(reading)
            theirs.close()
    if not ours.recv(1):
        os.close(writing)
        ours.close()
        raise OSError
    return writing, ours


def _opened(log: Path) -> BinaryIO:
    try:
        return log.open("ab")
    except OSError:
        # The disk may be full. What the program writes is passed on nevertheless.
        return open(os.devnull, "ab")


def _terminal() -> tuple[int, int]:
    """Open a pseudo-terminal like the one on standard error that passes all bytes on unchanged. Return its two ends."""
    # Windows has no such module.
    import termios

    reading, writing = os.openpty()
    input_flags, output_flags, *others = termios.tcgetattr(2)
    termios.tcsetattr(writing, termios.TCSANOW, [input_flags, output_flags & ~termios.OPOST, *others])
    termios.tcsetwinsize(writing, termios.tcgetwinsize(2))
    return reading, writing
