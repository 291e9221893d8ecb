"""The program of `xla-lens run`: its environment, its signals, and a copy of its standard error."""

import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread
from typing import Any, BinaryIO, Final

from xla_lens.cli import inside
from xla_lens.cli.errors import CannotRun
from xla_lens.cli.inside.sitecustomize import FLAGS, RUN, completed, quoted, user_flags

_COMMAND_NOT_FOUND: Final = 127
_CANNOT_EXECUTE: Final = 126

_FLAGS: Final = "--xla_dump_hlo_as_text=true --xla_dump_include_timestamp=true"
"""The names of dumps have timestamps, because processes that run no Python of their own environment share a folder with
the process that started them."""

_NO_CACHE: Final = {"JAX_ENABLE_COMPILATION_CACHE": "false"}
"""A program that JAX loads from its cache has no buffer assignment."""


def child_environment(environment: Mapping[str, str], folder: Path, only: str | None) -> dict[str, str]:
    """Return the environment in which a program dumps to a folder. With `only`, XLA dumps the modules in whose names
    this regular expression has a match.
    """
    ours = f"{_FLAGS} --xla_dump_hlo_module_re={quoted(only)}" if only else _FLAGS
    try:
        user = user_flags(environment.get("XLA_FLAGS", ""), ours)
    except OSError:
        # XLA reports that it cannot read the file that the variable names.
        return dict(environment)
    here = os.path.dirname(os.path.abspath(inside.__file__))
    return {
        **environment,
        **_NO_CACHE,
        RUN: str(folder),
        FLAGS: ours,
        "XLA_FLAGS": completed(user, ours, str(folder / "other-processes")),
        "PYTHONPATH": os.pathsep.join(filter(None, (here, environment.get("PYTHONPATH")))),
    }


def run_program(command: Sequence[str], environment: Mapping[str, str], log: BinaryIO) -> int:
    """Run a program to its end and return the exit status as a shell does, 128 + n after signal n. What the program
    writes to standard error is also written to a log.

    The terminal sends its signals to both; this process survives them. It forwards those that are sent to it alone.
    Raises `CannotStart`.
    """
    with _signals() as forward_to, _copied_to(log) as streams:
        try:
            process = subprocess.Popen(command, env=environment, **streams)
        except OSError as error:
            raise CannotStart(command[0], error) from error
        finally:
            for stream in {*streams.values()}:
                os.close(stream)
        forward_to(process.pid)
        status: int = process.wait()
    return 128 - status if status < 0 else status


class CannotStart(CannotRun):
    """A program cannot be started. `status` is the exit status that a shell has then."""

    def __init__(self, name: str, error: OSError) -> None:
        is_missing = isinstance(error, FileNotFoundError)
        is_script = name.endswith(".py") and os.path.isfile(name)
        super().__init__(
            f"{name}: {'command not found' if is_missing and not is_script else 'not an executable program'}"
            f"{f'; did you mean `xla-lens run python {name}`?' if is_script else ''}"
        )
        self.status = _COMMAND_NOT_FOUND if is_missing else _CANNOT_EXECUTE


# ---------------------------------------------------------------- signals

_SURVIVED: Final = ("SIGINT", "SIGQUIT")
"""What the keyboard sends to the program, too."""

_FORWARDED: Final = ("SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2")


@contextmanager
def _signals() -> Iterator[Callable[[int], None]]:
    """Survive signals, and forward those for the program to the process that the given function names."""
    process: list[int] = []
    early: list[int] = []

    def forward(number: int, _: object) -> None:
        early.append(number)
        send()

    def send() -> None:
        while process and early:
            with suppress(OSError):
                os.kill(process[0], early.pop())

    def forward_to(pid: int) -> None:
        process.append(pid)
        send()

    handlers: dict[str, Callable[[int, object], None]] = {
        **dict.fromkeys(_SURVIVED, lambda *_: None),
        **dict.fromkeys(_FORWARDED, forward),
    }
    before: dict[int, Any] = {}
    for name, handler in handlers.items():
        number = getattr(signal, name, None)
        # A signal that is ignored, as below `nohup`, stays so for the program as well.
        if number is not None and signal.getsignal(number) != signal.SIG_IGN:
            before[number] = signal.signal(number, handler)
    try:
        yield forward_to
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


# ---------------------------------------------------------------- standard error

_LONGEST_LOG: Final = 64 << 20
_BLOCK: Final = 1 << 16
_LAST_WORDS: Final = 0.5
"""Seconds to wait for the end of standard error after the end of the program, which others may still hold open."""


@contextmanager
def _copied_to(log: BinaryIO) -> Iterator[dict[str, Any]]:
    """Yield the streams of a program whose standard error is copied to a log. The program closes them.

    They are a terminal if ours are. If standard output and standard error are the same file, both are copied, because
    what the program writes has to keep its order.
    """
    try:
        target = os.dup(2)
    except OSError:
        yield {}
        return
    reading, writing, before = _terminal(target) if hasattr(os, "openpty") and os.isatty(target) else (*os.pipe(), None)
    pump = Thread(target=_pump, args=(reading, target, log), daemon=True)
    pump.start()
    try:
        yield dict.fromkeys(("stdout", "stderr") if _is_same(1, 2) else ("stderr",), writing)
    finally:
        pump.join(_LAST_WORDS)
        if before is not None:
            signal.signal(signal.SIGWINCH, before)


def _is_same(one: int, other: int) -> bool:
    try:
        return os.path.sameopenfile(one, other)
    except OSError:
        return False


def _terminal(like: int) -> tuple[int, int, Any]:
    """Open a pseudo-terminal of the size of another, which passes on all bytes unchanged. Returns its two ends, and the
    handler of changes of its size before.
    """
    import termios

    reading, writing = os.openpty()
    attributes = termios.tcgetattr(like)
    output_flags = 1
    attributes[output_flags] &= ~termios.OPOST
    termios.tcsetattr(writing, termios.TCSANOW, attributes)

    def resize(*_: object) -> None:
        with suppress(OSError, termios.error):
            termios.tcsetwinsize(reading, termios.tcgetwinsize(like))

    resize()
    return reading, writing, signal.signal(signal.SIGWINCH, resize)


def _pump(reading: int, target: int, log: BinaryIO) -> None:
    """Copy what arrives to a file and to a log until the last process that writes has ended."""
    # The end of a pseudo-terminal is an error. If the target is gone, the program has to notice.
    with suppress(OSError, ValueError):
        while block := os.read(reading, _BLOCK):
            rest = memoryview(block)
            while rest:
                rest = rest[os.write(target, rest) :]
            if log.tell() > _LONGEST_LOG:
                log.seek(0)
                log.truncate()
            log.write(block)
            log.flush()
    os.close(reading)
