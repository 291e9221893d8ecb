"""Drive Emacs with keys and query it in Lisp."""

import contextlib
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from editors.driving import SECONDS, Home, Terminal, installed, setup_block, wait_for


class Emacs:
    """A running Emacs."""

    def __init__(self, home: Home, terminal: Terminal) -> None:
        self.home = home
        self.type = terminal.type
        self._socket = home.folder / "run" / "emacs"

    @classmethod
    @contextlib.contextmanager
    def running(cls, home: Home, folder: Path, more: str = "") -> "Iterator[Emacs]":
        """Start Emacs with the configuration in docs/editors.md, followed by `more`, and quit it afterwards."""
        program = installed(os.environ.get("EMACS", "emacs"))
        # Emacs would compile its libraries again in each new home.
        home.write(".emacs.d/early-init.el", "(setq native-comp-deferred-compilation nil)")
        home.write(".emacs.d/init.el", setup_block("Emacs", "elisp") + more)
        home.write("server.el", f'(setq server-socket-dir "{home.folder}/run" server-name "emacs") (server-start)')
        with Terminal.running([program, "-nw", "-l", home.folder / "server.el"], home, folder) as terminal:
            emacs = cls(home, terminal)
            wait_for(emacs._is_up)
            yield emacs
            home.wait_for_answers()
            # Emacs may exit before it answers.
            with contextlib.suppress(AssertionError):
                emacs._evaluate("(run-at-time 0 nil #'kill-emacs)")
            terminal.wait()
        home.wait_for_exit()

    def _is_up(self) -> bool:
        """Whether Emacs accepts commands."""
        try:
            return self.lisp("t")
        except AssertionError:
            return False

    def lisp(self, code: str) -> Any:
        """Evaluate Lisp in the current buffer, and return the result as from JSON."""
        # Emacs writes the result to a file, because the output of emacsclient may be incomplete.
        answer = self.home.folder / "run" / "answer.json"
        code = f"(with-selected-window (frame-selected-window) {code})"
        code = f"(let ((answer (json-encode {code}))) (with-temp-file {json.dumps(str(answer))} (insert answer)))"
        self._evaluate(f"(let ((coding-system-for-write 'utf-8)) {code} nil)")
        return json.loads(answer.read_text())

    def _evaluate(self, code: str) -> None:
        done = subprocess.run(
            ["emacsclient", "-s", str(self._socket), "--eval", code],
            env=self.home.environment,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr

    def command(self, name: str) -> None:
        """Run a command with `M-x`."""
        self.type(f"\033x{name}\r")

    def open(self, path: Path) -> None:
        """Open a file, and wait for the server."""
        self.type(f"\033:(find-file {json.dumps(str(path))})\r")
        wait_for(lambda: self.lisp('(or buffer-file-name "")'), lambda name: name == str(path))
        self.wait_for_server()

    def wait_for_server(self) -> None:
        """Wait until eglot manages the current buffer."""
        wait_for(lambda: self.lisp("(if (bound-and-true-p eglot--managed-mode) t :json-false)"))

    def go_to(self, line: str, word: str) -> None:
        """Put the cursor on the first occurrence of `word` in `line`, which occurs once in the file. The last step is a
        key press, because Emacs updates the echo area after a motion.
        """
        rows = [row for row, found in enumerate(self.lines()) if found == line]
        assert len(rows) == 1, f"{line!r} occurs {len(rows)} times in the file"
        column = line.index(word)
        self.lisp(f"(progn (goto-line {rows[0] + 1}) (move-to-column {column + 1}) nil)")
        self.type("\x02")
        wait_for(lambda: self.lisp("(current-column)"), lambda found: found == column)

    def lines(self) -> list[str]:
        """The lines of the current buffer."""
        return self.text("(current-buffer)").split("\n")

    def text(self, buffer: str) -> str:
        """The text of a buffer, empty if there is no such buffer."""
        return self.lisp(
            f"(if (get-buffer {buffer})"
            f' (with-current-buffer {buffer} (buffer-substring-no-properties (point-min) (point-max))) "")'
        )

    def here(self) -> tuple[str, str, str]:
        """The position of the cursor: the end of the file name, the line, and its text from the cursor on."""
        name, line, rest = self.lisp(
            "(list (buffer-name) (buffer-substring-no-properties (line-beginning-position) (line-end-position))"
            " (buffer-substring-no-properties (point) (line-end-position)))"
        )
        return name.rpartition("optimizations-")[2], line, rest
