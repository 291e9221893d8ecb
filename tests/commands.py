"""Commands as people and programs run them, in this process."""

import json
import os
from contextlib import redirect_stderr, redirect_stdout
from io import BytesIO, TextIOWrapper
from typing import Any
from unittest.mock import patch

import msgspec

from xla_lens.cli.main import main


class _TerminalStream(TextIOWrapper):
    def isatty(self) -> bool:
        return True


def on_terminal(width: int, *arguments: object, **variables: str) -> tuple[int, str, str]:
    """Run a command whose output is a terminal of this width, with these variables and no others that matter to it."""
    kept = {name: text for name, text in os.environ.items() if name in ("PATH", "HOME", "PYTHONPATH")}
    terminal = {"TERM": "xterm-256color", "COLUMNS": str(width)}
    with patch.dict(os.environ, {**kept, **terminal, **variables}, clear=True):
        return _run(_TerminalStream(BytesIO(), "utf-8", newline=""), *arguments)


def run(*arguments: object) -> tuple[int, str, str]:
    """Run a command, and return its exit status, its output and its errors."""
    return _run(_stream(), *arguments)


def _run(out: TextIOWrapper, *arguments: object) -> tuple[int, str, str]:
    err = _stream()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            status = main([*map(str, arguments)])
        except SystemExit as exit_:
            status = int(exit_.code or 0)
    return status, _text(out), _text(err)


def _stream() -> TextIOWrapper:
    return TextIOWrapper(BytesIO(), "utf-8", newline="")


def _text(stream: TextIOWrapper) -> str:
    stream.seek(0)
    return stream.read()


def printed(*arguments: object) -> str:
    """The output of a command that succeeds and prints no errors."""
    status, out, err = run(*arguments)
    assert (status, err) == (0, "")
    return out


def printed_json(*arguments: object) -> Any:
    """The JSON that a command prints, whatever its exit status."""
    _, out, err = run(*arguments, "--output-format", "json")
    assert not err
    return json.loads(out)


def as_printed(data: Any) -> Any:
    """What a reader gets of the objects that a command prints as JSON."""
    return json.loads(msgspec.json.encode(data))
