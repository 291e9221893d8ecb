"""Drive a real editor in a terminal of its own, set up as in docs/editors.md, with the server of this checkout.

The command `xla-lens` on the PATH of the editor starts the server and records the messages of both sides.
"""

import contextlib
import fcntl
import json
import os
import pty
import re
import shlex
import shutil
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest

from samples import ROOT

_CANCELLED = -32800
"""The error code of requests that the editor has cancelled."""

SECONDS = 30
"""Timeout of every single wait."""

_HEADER = re.compile(rb"(?:[\w-]+: [^\r\n]*\r\n)*?Content-Length: (\d+)\r\n(?:[^\r\n]+\r\n)*\r\n")

_T = TypeVar("_T")


def wait_for(ask: Callable[[], _T], is_right: Callable[[_T], object] = bool, seconds: float = SECONDS) -> _T:
    """Poll until the answer is right, and return it."""
    end = time.monotonic() + seconds
    while not is_right(answer := ask()):
        assert time.monotonic() < end, f"still {answer!r} after {seconds} s"
        time.sleep(0.03)
    return answer


def installed(program: str) -> str:
    """Return the path of a program. Skip the test without it, except in `make test-editors`, which installs it."""
    path = shutil.which(program)
    if not path and "XLA_LENS_TEST_EDITORS" not in os.environ:
        pytest.skip(f"needs {program}: `make test-editors` installs it")
    assert path, f"{program} is missing after `make test-editors` has installed the editors"
    return path


def setup_blocks(editor: str) -> list[tuple[str, str]]:
    """Return the language and the text of each code block in the editor's set-up in docs/editors.md."""
    text = (ROOT / "docs" / "editors.md").read_text()
    section = re.search(rf"^### {re.escape(editor)}\n(.*?)^##", text, re.MULTILINE | re.DOTALL)
    assert section, f"docs/editors.md has no section on {editor}"
    return re.findall(r"^```(\w+)\n(.*?)^```$", section.group(1), re.MULTILINE | re.DOTALL)


def setup_block(editor: str, language: str) -> str:
    """Return the only code block in `language` in the editor's set-up in docs/editors.md."""
    (block,) = (text for found, text in setup_blocks(editor) if found == language)
    return block


@dataclass(frozen=True)
class Dump:
    """A dump set in a folder of its own."""

    folder: Path

    def file(self, end: str) -> Path:
        """The file with this name ending."""
        (path,) = self.folder.glob(f"*-{end}.txt")
        return path


class Home:
    """An empty home folder with the command `xla-lens`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._record = folder / "record"
        # A login creates these folders.
        for name in ("bin", "record", "run", ".config", ".local/share"):
            (folder / name).mkdir(parents=True, mode=0o700)
        self._write_command(folder / "bin" / "xla-lens")
        # Each server keeps this pipe open for writing, so that a read shows whether one is running.
        os.mkfifo(self._record / "alive")
        self._alive = os.open(self._record / "alive", os.O_RDONLY | os.O_NONBLOCK)
        self.environment = {
            "HOME": str(folder),
            "LANG": "C.UTF-8",
            "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
            # Editors do not query its capabilities, and so do not wait for an answer.
            "TERM": "vt100",
            "XDG_RUNTIME_DIR": str(folder / "run"),
        }

    def _write_command(self, path: Path) -> None:
        server = os.environ.get("XLA_LENS") or f"{shlex.quote(sys.executable)} -m xla_lens"
        record = shlex.quote(str(self._record))
        search = os.environ.get("PYTHONPATH", "")
        path.write_text(
            "#!/bin/sh\n"
            f"exec 9>{record}/alive\n"
            f"PYTHONPATH={shlex.quote(search)}; export PYTHONPATH\n"
            f'tee {record}/$$.in | {server} "$@" 2>>{record}/errors | tee {record}/$$.out\n'
        )
        path.chmod(0o755)

    def write(self, name: str, text: str) -> Path:
        """Write a file below the home folder."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def paste(self, block: str, folder: Path) -> None:
        """Run a block of shell commands in a folder, as if pasted into a terminal."""
        subprocess.run(["sh", "-eu", "-c", block], cwd=folder, env=self.environment, check=True, timeout=120)

    # A message is recorded only after the other side has received it.

    def sent(self, method: str) -> list[dict[str, Any]]:
        """The messages of a method from the editor to its servers. Waits until there are some."""
        return wait_for(lambda: [message for message in self._read("*.in") if message.get("method") == method])

    def answers(self, method: str) -> list[Any]:
        """The results of all requests of a method. Waits for them."""
        asked = [message["id"] for message in self.sent(method)]

        def results() -> list[Any]:
            found = {answer["id"]: answer.get("result") for answer in self._read("*.out") if "id" in answer}
            return [found[number] for number in asked if number in found]

        return wait_for(results, lambda found: len(found) == len(asked))

    def received(self, method: str) -> list[dict[str, Any]]:
        """The parameters of notifications from the servers. Waits until there are some."""
        return wait_for(
            lambda: [message["params"] for message in self._read("*.out") if message.get("method") == method]
        )

    def wait_for_answers(self) -> None:
        """Wait until all requests of the editor are answered."""

        def unanswered() -> set[Any]:
            asked = {request["id"] for request in self._read("*.in") if "method" in request and "id" in request}
            return asked - {answer.get("id") for answer in self._read("*.out") if "method" not in answer}

        wait_for(unanswered, lambda left: not left)

    def wait_for_exit(self) -> None:
        """Wait until all servers have exited."""

        def is_over() -> bool:
            try:
                return os.read(self._alive, 1) == b""
            except BlockingIOError:
                return False

        wait_for(is_over)

    def close(self) -> None:
        """Release the pipe; call this last."""
        os.close(self._alive)

    def errors(self) -> str:
        """The error responses of the servers, and their output on standard error."""
        errors = self._record / "errors"
        failures = [message["error"] for message in self._read("*.out") if "error" in message]
        answers = [json.dumps(failure) for failure in failures if failure["code"] != _CANCELLED]
        return "\n".join([*answers, errors.read_text() if errors.exists() else ""]).strip()

    def _read(self, pattern: str) -> Iterator[dict[str, Any]]:
        for path in sorted(self._record.glob(pattern)):
            data = path.read_bytes()
            while header := _HEADER.match(data):
                end = header.end() + int(header.group(1))
                if end > len(data):
                    break
                yield json.loads(data[header.end() : end])
                data = data[end:]


class Terminal:
    """A hidden terminal of 120 columns and 40 rows that runs a program."""

    def __init__(self, command: list[str | Path], home: Home, folder: Path) -> None:
        self._shown = bytearray()
        self._keyboard, self._inside = pty.openpty()
        fcntl.ioctl(self._inside, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        # A session leader that opens a terminal makes it its controlling terminal.
        terminal = ["sh", "-c", 'exec "$@" <"$0" >"$0" 2>&1', os.ttyname(self._inside), *command]
        self._process = subprocess.Popen(terminal, cwd=folder, env=home.environment, start_new_session=True)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @classmethod
    @contextlib.contextmanager
    def running(cls, command: list[str | Path], home: Home, folder: Path) -> "Iterator[Terminal]":
        """Run a program in a terminal of its own."""
        terminal = cls(command, home, folder)
        try:
            yield terminal
        except BaseException as failure:
            failure.add_note(f"The terminal showed at the end:\n{terminal._shown[-2000:].decode(errors='replace')!r}")
            raise
        finally:
            terminal._close()

    def type(self, keys: str) -> None:
        """Type keys."""
        os.write(self._keyboard, keys.encode())

    def wait(self) -> None:
        """Wait until the program has exited with status 0."""
        assert self._process.wait(SECONDS) == 0

    def _read(self) -> None:
        # The read fails once no process has the terminal open.
        with contextlib.suppress(OSError):
            while part := os.read(self._keyboard, 1 << 16):
                self._shown.extend(part)

    def _close(self) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._inside)
        self._reader.join(SECONDS)
        os.close(self._keyboard)
