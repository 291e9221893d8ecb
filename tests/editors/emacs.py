"""Emacs, driven by keys and asked in Lisp."""

import contextlib
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from editors.driving import SECONDS, Home, Terminal, setup_block, wait_for


class Emacs:
    """A running Emacs."""

    def __init__(self, home: Home, terminal: Terminal) -> None:
        self.home = home
        self.type = terminal.type
        self._socket = home.folder / "run" / "emacs"

    @classmethod
    @contextlib.contextmanager
    def running(cls, home: Home, folder: Path) -> "Iterator[Emacs]":
        """An Emacs with the configuration in docs/editors.md."""
        program = os.environ.get("EMACS", "emacs")
        assert shutil.which(program), f"there is no {program}: make test-editors installs it"
        # It would compile its libraries anew in each new home.
        home.write(".emacs.d/early-init.el", "(setq native-comp-deferred-compilation nil)")
        home.write(".emacs.d/init.el", setup_block("Emacs", "elisp"))
        home.write("server.el", f'(setq server-socket-dir "{home.folder}/run" server-name "emacs") (server-start)')
        with Terminal.running([program, "-nw", "-l", home.folder / "server.el"], home, folder) as terminal:
            emacs = cls(home, terminal)
            wait_for(emacs._is_up)
            yield emacs
            home.wait_for_answers()
            # It may be gone before it has answered.
            with contextlib.suppress(AssertionError):
                emacs._evaluate("(run-at-time 0 nil #'kill-emacs)")
            terminal.wait()
        home.wait_for_the_end()

    def _is_up(self) -> bool:
        """Whether it has started."""
        try:
            return self.lisp("t")
        except AssertionError:
            return False

    def lisp(self, code: str) -> Any:
        """What some Lisp gives in the buffer that is shown, as JSON has it."""
        # Through a file: what emacsclient prints may be torn.
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
        """Runs a command as a person does."""
        self.type(f"\033x{name}\r")

    def open(self, path: Path) -> None:
        """Opens a file, and waits for the server."""
        self.type(f"\033:(find-file {json.dumps(str(path))})\r")
        wait_for(lambda: self.lisp('(or buffer-file-name "")'), lambda name: name == str(path))
        self.wait_for_server()

    def wait_for_server(self) -> None:
        """Waits until the server serves the file that is shown."""
        wait_for(lambda: self.lisp("(if (bound-and-true-p eglot--managed-mode) t :json-false)"))

    def go_to(self, line: str, word: str) -> None:
        """Puts the cursor on the first of some words in a line that stands once in the file, the last step by key: what
        Emacs shows at rest it shows after a motion.
        """
        rows = [row for row, found in enumerate(self.lines()) if found == line]
        assert len(rows) == 1, f"{line!r} stands {len(rows)} times in the file"
        column = line.index(word)
        self.lisp(f"(progn (goto-line {rows[0] + 1}) (move-to-column {column + 1}) nil)")
        self.type("\x02")
        wait_for(lambda: self.lisp("(current-column)"), lambda found: found == column)

    def lines(self) -> list[str]:
        """The file that is shown."""
        return self.text("(current-buffer)").split("\n")

    def text(self, buffer: str) -> str:
        """The text of a buffer; none if there is no such buffer."""
        return self.lisp(
            f"(if (get-buffer {buffer})"
            f' (with-current-buffer {buffer} (buffer-substring-no-properties (point-min) (point-max))) "")'
        )

    def here(self) -> tuple[str, str, str]:
        """Where the cursor is: the end of the file's name, the line, and the rest of it from the cursor on."""
        name, line, rest = self.lisp(
            "(list (buffer-name) (buffer-substring-no-properties (line-beginning-position) (line-end-position))"
            " (buffer-substring-no-properties (point) (line-end-position)))"
        )
        return name.rpartition("optimizations-")[2], line, rest
