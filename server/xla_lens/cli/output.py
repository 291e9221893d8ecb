"""Standard output: its encoding, JSON, and errors."""

import codecs
import io
import json
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, TextIO

from xla_lens.cli.errors import CannotRun

_SIMILAR: Final = {
    **dict.fromkeys("█▉▊▋▌", "#"),
    **dict.fromkeys("▍▎▏", " "),
    **{
        "…": "...",
        "–": "-",
        "−": "-",
        "─": "-",
        "│": "|",
        "×": "x",
        "≥": ">=",
        "≤": "<=",
        "→": "->",
        "←": "<-",
        "·": "-",
    },
    **{"▲": "^", "’": "'"},
}
"""What stands for a character that the encoding of standard output lacks."""


def prepare_output() -> None:
    """Print what the encoding of standard output lacks as similar characters, and names of files byte by byte."""
    _set_errors("xla-lens")


def open_output(path: Path) -> TextIO:
    """Open the file that gets the output. Raises `CannotRun`."""
    try:
        return path.open("w", encoding="utf-8", errors="xla-lens")
    except OSError as error:
        raise CannotRun(f"{path}: cannot be written: {error.strerror or error}. Choose another file") from error


def print_json(data: Any) -> None:
    """Print JSON, which is ASCII unless the output is UTF-8."""
    # `backslashreplace` writes the bytes of a file name that are not UTF-8 as JSON escapes them.
    _set_errors("backslashreplace")
    is_unicode = (getattr(sys.stdout, "encoding", None) or "utf-8").lower().replace("-", "") == "utf8"
    print(json.dumps(data, indent=2, ensure_ascii=not is_unicode))


def print_page(page: str) -> None:
    """Print an HTML page, which is UTF-8 as its head says, whatever the encoding of standard output."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="replace")
    print(page)


def print_error(message: str) -> None:
    """Print a line on standard error, if that is possible."""
    if sys.stderr is not None:
        with suppress(OSError):
            print(message, file=sys.stderr)


def discard_output() -> None:
    """Discard what is still to be written to standard output, so that the interpreter does not try at its exit."""
    if sys.stdout is not None:
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _set_errors(handler: str) -> None:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=handler)


def _similar(error: UnicodeError) -> tuple[str | bytes, int]:
    """Encode one character that the encoding lacks."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    character = error.object[error.start]
    after = error.start + 1
    if "\udc80" <= character <= "\udcff":
        # A byte in the name of a file.
        return bytes([ord(character) - 0xDC00]), after
    return _SIMILAR.get(character, "?"), after


codecs.register_error("xla-lens", _similar)
