"""Drive a real editor in a terminal of its own, set up as in docs/editors.md, with the server of this checkout.

The editor finds a command `xla-lens` on its PATH. It starts the server, and records what both say to each other.
"""

import contextlib
import fcntl
import json
import os
import pty
import re
import shlex
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

from samples import ROOT

_CANCELLED = -32800
"""The code of what the editor itself has cancelled."""

SECONDS = 30
"""How long anything may take at most."""

_HEADER = re.compile(rb"(?:[\w-]+: [^\r\n]*\r\n)*?Content-Length: (\d+)\r\n(?:[^\r\n]+\r\n)*\r\n")

_T = TypeVar("_T")


def wait_for(ask: Callable[[], _T], is_right: Callable[[_T], object] = bool, seconds: float = SECONDS) -> _T:
    """Asks again and again until the answer is right; gives it."""
    end = time.monotonic() + seconds
    while not is_right(answer := ask()):
        assert time.monotonic() < end, f"still {answer!r} after {seconds} s"
        time.sleep(0.03)
    return answer


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
        """The file of the set whose name ends so."""
        (path,) = self.folder.glob(f"*-{end}.txt")
        return path


class Home:
    """A home folder with nothing in it but what a test puts there, and the command `xla-lens`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._said = folder / "said"
        # A login has these folders already.
        for name in ("bin", "said", "run", ".config", ".local/share"):
            (folder / name).mkdir(parents=True, mode=0o700)
        self._write_command(folder / "bin" / "xla-lens")
        # Each server keeps it open for writing. Reading tells whether there is one.
        os.mkfifo(self._said / "alive")
        self._alive = os.open(self._said / "alive", os.O_RDONLY | os.O_NONBLOCK)
        self.environment = {
            "HOME": str(folder),
            "LANG": "C.UTF-8",
            "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
            # One that nobody asks what it can do, and waits for the answer.
            "TERM": "vt100",
            "XDG_RUNTIME_DIR": str(folder / "run"),
        }

    def _write_command(self, path: Path) -> None:
        server = os.environ.get("XLA_LENS") or f"{shlex.quote(sys.executable)} -m xla_lens"
        said = shlex.quote(str(self._said))
        search = os.environ.get("PYTHONPATH", "")
        path.write_text(
            "#!/bin/sh\n"
            f"exec 9>{said}/alive\n"
            f"PYTHONPATH={shlex.quote(search)}; export PYTHONPATH\n"
            f'tee {said}/$$.in | {server} "$@" 2>>{said}/errors | tee {said}/$$.out\n'
        )
        path.chmod(0o755)

    def write(self, name: str, text: str) -> Path:
        """Writes a file."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def paste(self, block: str, folder: Path) -> None:
        """Runs a block of shell commands in a folder, as a person would who pastes it."""
        subprocess.run(["sh", "-eu", "-c", block], cwd=folder, env=self.environment, check=True, timeout=120)

    # What is said is recorded only after the other has got it.

    def sent(self, method: str) -> list[dict[str, Any]]:
        """What the editor has said to its servers in a method; waits until there is something."""
        return wait_for(lambda: [said for said in self._read("*.in") if said.get("method") == method])

    def answers(self, method: str) -> list[Any]:
        """What the servers have answered to all requests of a method; waits for it."""
        asked = [said["id"] for said in self.sent(method)]

        def results() -> list[Any]:
            found = {said["id"]: said.get("result") for said in self._read("*.out") if "id" in said}
            return [found[number] for number in asked if number in found]

        return wait_for(results, lambda found: len(found) == len(asked))

    def told(self, method: str) -> list[dict[str, Any]]:
        """What the servers have said by themselves in a method; waits until there is something."""
        return wait_for(lambda: [said["params"] for said in self._read("*.out") if said.get("method") == method])

    def wait_for_answers(self) -> None:
        """Waits until all requests of the editor are answered."""

        def unanswered() -> set[Any]:
            asked = {said["id"] for said in self._read("*.in") if "method" in said and "id" in said}
            return asked - {said.get("id") for said in self._read("*.out") if "method" not in said}

        wait_for(unanswered, lambda left: not left)

    def wait_for_the_end(self) -> None:
        """Waits until no server runs any more."""

        def is_over() -> bool:
            try:
                return os.read(self._alive, 1) == b""
            except BlockingIOError:
                return False

        wait_for(is_over)

    def close(self) -> None:
        """To be called at the end."""
        os.close(self._alive)

    def complaints(self) -> str:
        """What went wrong in the servers: errors that they answered, and what they wrote to standard error."""
        errors = self._said / "errors"
        failures = [said["error"] for said in self._read("*.out") if "error" in said]
        answers = [json.dumps(failure) for failure in failures if failure["code"] != _CANCELLED]
        return "\n".join([*answers, errors.read_text() if errors.exists() else ""]).strip()

    def _read(self, pattern: str) -> Iterator[dict[str, Any]]:
        for path in sorted(self._said.glob(pattern)):
            data = path.read_bytes()
            while header := _HEADER.match(data):
                end = header.end() + int(header.group(1))
                if end > len(data):
                    break
                yield json.loads(data[header.end() : end])
                data = data[end:]


class Terminal:
    """A terminal of 120 columns and 40 rows with a program in it. Nobody looks at it."""

    def __init__(self, command: list[str | Path], home: Home, folder: Path) -> None:
        self._shown = bytearray()
        self._keyboard, self._inside = pty.openpty()
        fcntl.ioctl(self._inside, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        # The leader of a session that opens a terminal gets it as its own.
        terminal = ["sh", "-c", 'exec "$@" <"$0" >"$0" 2>&1', os.ttyname(self._inside), *command]
        self._process = subprocess.Popen(terminal, cwd=folder, env=home.environment, start_new_session=True)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @classmethod
    @contextlib.contextmanager
    def running(cls, command: list[str | Path], home: Home, folder: Path) -> "Iterator[Terminal]":
        """Runs a program in a terminal of its own."""
        terminal = cls(command, home, folder)
        try:
            yield terminal
        except BaseException as failure:
            failure.add_note(f"The terminal showed at the end:\n{terminal._shown[-2000:].decode(errors='replace')!r}")
            raise
        finally:
            terminal._close()

    def type(self, keys: str) -> None:
        """Types keys."""
        os.write(self._keyboard, keys.encode())

    def wait(self) -> None:
        """Waits until the program has ended well."""
        assert self._process.wait(SECONDS) == 0

    def _read(self) -> None:
        # It gives an error once nobody has the terminal any more.
        with contextlib.suppress(OSError):
            while part := os.read(self._keyboard, 1 << 16):
                self._shown.extend(part)

    def _close(self) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._inside)
        self._reader.join(SECONDS)
        os.close(self._keyboard)
