"""What the tree and the status bar show while the server cannot run, reads dumps, or has nothing to read."""

import sys
from pathlib import Path

from editors.driving import wait_for
from editors.vscode.server import SECONDS, VSIX, VSCode, file_of
from editors.vscode.window import Browser, Window

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
