"""What the tree and the status bar show while the server cannot run, reads dumps, or has nothing to read."""

import shutil
import sys
from pathlib import Path

from editors.driving import wait_for
from editors.vscode.server import SECONDS, VSIX, VSCode, file_of
from editors.vscode.window import Browser, OpenWindow, Window

_MODULES = ("5.00 MiB jit_matmul_bias_relu", "4.21 MiB jit_train_step", "580.0 KiB")

_WELCOME = ".pane .welcome-view-content"


def test_tree_says_why_the_server_does_not_run(browser: Browser, workspace: Path, tmp_path: Path) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    server = VSCode(tmp_path / "vscode", {"PATH": str(programs)})
    server.install(VSIX)
    file = file_of(workspace, "split", "-live-range")
    with (
        server.running("--disable-workspace-trust"),
        Window.opened(browser, server, workspace, file, traces=tmp_path) as window,
    ):
        wait_for(window.status, lambda texts: " XLA Lens: no Python" in texts, SECONDS)
        window.command("XLA Lens: Focus on XLA Memory View")
        (welcome,) = wait_for(lambda: window.texts(_WELCOME), lambda texts: len(texts) == 1, SECONDS)
        assert [line for line in welcome.splitlines() if line] == [
            "XLA Lens found no Python that can run its server. It needs CPython 3.11 to 3.14 on this machine.",
            "Choose an Interpreter",
            "Show Log",
            "Try Again",
        ]
        (programs / "python3").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
        (programs / "python3").chmod(0o755)
        window.page.locator(f"{_WELCOME} a", has_text="Try Again").click()
        window.has_rows("XLA Memory", *_MODULES)
        wait_for(window.status, lambda texts: any("4.21 MiB of host memory" in text for text in texts), SECONDS)
        window.wait_for_text("MiB live")
        assert len(server.language_servers()) == 1


def test_set_stays_in_the_tree_and_its_problems_go_when_its_files_are_closed(
    open_window: OpenWindow, workspace: Path, tmp_path: Path
) -> None:
    # A set outside of the workspace is known only because its file is open.
    outside = tmp_path / "outside"
    outside.mkdir()
    for path in file_of(workspace, "split", "-live-range").parent.iterdir():
        shutil.copy(path, outside)
    shutil.rmtree(workspace / "split")
    live, assignment = (next(outside.glob(f"*-{kind}.txt")) for kind in ("live-range", "buffer-assignment"))
    with open_window(workspace, live) as window:
        window.wait_for_text("MiB live")
        window.command("XLA Lens: Focus on XLA Memory View")
        window.has_rows("XLA Memory", *_MODULES)
        window.command("Problems: Focus on Problems View")
        wait_for(lambda: window.rows("Problems"), lambda rows: len(rows) == 3, SECONDS)
        # Records the number of rows whenever it changes.
        window.page.evaluate("""() => { window.counts = []; window.counting = setInterval(() => {
          const rows = document.querySelectorAll('.monaco-list[aria-label="XLA Memory"] .monaco-list-row').length;
          if (window.counts.at(-1) !== rows) window.counts.push(rows); }, 5) }""")
        # Replaces the editor of the other file, which is a preview.
        window.open(assignment)
        window.wait_for_text("allocation 0: size")
        window.command("View: Close All Editors")
        wait_for(lambda: window.rows("Problems"), lambda rows: rows == [], SECONDS)
        window.has_rows("XLA Memory", *_MODULES)
        assert window.page.evaluate("clearInterval(window.counting), window.counts") == [3]
