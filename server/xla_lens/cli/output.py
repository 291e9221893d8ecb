"""The output of commands: printable text, errors, and files."""

import errno
import io
import os
import stat
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, TextIO, cast

from xla_lens.text.printable import printable, printable_line


class CannotRun(Exception):
    """A command cannot run. The message is one line: the input, the problem and the next step."""


class _Printable:
    """A text stream on which only printable text arrives, except for what is written to `unfiltered`."""

    def __init__(self, unfiltered: TextIO) -> None:
        self.unfiltered = unfiltered

    def __getattr__(self, name: str) -> Any:
        return getattr(self.unfiltered, name)

    def write(self, text: str) -> int:
        """Write a text without its control characters."""
        return self.unfiltered.write(printable(text))


@contextmanager
def printable_output() -> Iterator[None]:
    """Replace control characters in all output, which is UTF-8 whatever the locale is."""
    before = sys.stdout, sys.stderr
    for stream in before:
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="replace")
    sys.stdout, sys.stderr = (stream and _filtered(stream) for stream in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def _filtered(stream: TextIO) -> TextIO:
    return cast(TextIO, _Printable(stream))


def unfiltered(stream: TextIO) -> TextIO:
    """Return the stream for the escape sequences of XLA Lens itself."""
    return stream.unfiltered if isinstance(stream, _Printable) else stream


def print_lines(lines: Iterable[str]) -> None:
    """Print each text as one line, whatever names are in it."""
    print_unfiltered(map(printable_line, lines))


def print_unfiltered(lines: Iterable[str]) -> None:
    """Print the lines of an HTML page, or lines with escape sequences, whose texts are printable already."""
    unfiltered(sys.stdout).writelines(f"{line}\n" for line in lines)


def print_error(message: str) -> None:
    """Print a line on standard error that begins with our name, if that is possible."""
    if sys.stderr is not None:
        with suppress(OSError):
            print(printable_line(f"xla-lens: {message}"), file=sys.stderr)


# ---------------------------------------------------------------- files


def check_output(path: Path) -> None:
    """Check that output can be written to a file, without changing it. Raises `CannotRun`."""
    with _writing(path):
        try:
            is_unfit, problem = stat.S_ISDIR(path.stat().st_mode), errno.EISDIR
        except FileNotFoundError:
            path = Path(os.path.realpath(path)).parent
            is_unfit, problem = not stat.S_ISDIR(path.stat().st_mode), errno.ENOTDIR
        if not is_unfit:
            is_unfit, problem = not os.access(path, os.W_OK), errno.EACCES
        if is_unfit:
            raise OSError(problem, os.strerror(problem))


@contextmanager
def open_output(path: Path) -> Iterator[TextIO]:
    """Yield a stream whose text replaces a file at the end, in one step. If anything fails, the file stays as it is.
    A file that is not regular, such as a FIFO, gets the text as it comes. Raises `CannotRun`.
    """
    check_output(path)
    with _writing(path):
        stream = _open_special(path)
    if stream is None:
        text = io.StringIO()
        yield _filtered(text)
        with _writing(path):
            _replace(path, text.getvalue())
        return
    try:
        with stream:
            yield _filtered(stream)
    except OSError as error:
        if error.filename is not None or isinstance(error, BrokenPipeError):
            # The error is about an input, or the reader of a pipe has closed it.
            raise
        raise _not_written(path, error) from error


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _not_written(path, error) from error


def _not_written(path: Path, error: OSError) -> CannotRun:
    return CannotRun(f"{path}: cannot be written: {error.strerror or error}. Choose another file")


def _open_special(path: Path) -> TextIO | None:
    """Open a file that cannot be replaced: a FIFO, a device, or the file behind standard output or standard error. None
    for other files, and if there is no file.
    """
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    target: Path | int = path
    for descriptor in (1, 2):
        # `/dev/stdout` may be a file to which others have written before.
        with suppress(OSError):
            if os.path.samestat(found, os.fstat(descriptor)):
                target = os.dup(descriptor)
                break
    if target is path and stat.S_ISREG(found.st_mode):
        return None
    return open(target, "w", encoding="utf-8", errors="replace")


def _replace(path: Path, text: str) -> None:
    """Replace a file, or the file that a link leads to. Keeps its permissions."""
    target = os.path.realpath(path)
    before = os.stat(target) if os.path.exists(target) else None
    beside = os.path.join(os.path.dirname(target), f".xla-lens-{os.getpid()}-{time.time_ns()}.tmp")
    try:
        try:
            with open(beside, "x", encoding="utf-8", errors="replace") as stream:
                stream.write(text)
            if before:
                os.chmod(beside, stat.S_IMODE(before.st_mode))
                if hasattr(os, "chown"):
                    os.chown(beside, before.st_uid, before.st_gid)
            os.replace(beside, target)
        except OSError as error:
            if before is None or error.errno not in _IN_PLACE:
                raise
            with open(target, "w", encoding="utf-8", errors="replace") as stream:
                stream.write(text)
    finally:
        with suppress(OSError):
            os.unlink(beside)


_IN_PLACE: Final = (errno.EACCES, errno.EPERM, errno.EROFS, errno.EBUSY)
"""Errors of files that can be written but not replaced: the folder is read-only, or somebody else owns the file."""
