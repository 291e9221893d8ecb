"""The extension under adverse conditions: untrusted workspaces and large files."""

import json
from pathlib import Path

from editors.driving import wait_for
from editors.vscode.memory_map import Map
from editors.vscode.server import SECONDS, VSIX, VSCode, file_of
from editors.vscode.window import Browser, OpenWindow, Window

_OVER_50_MIB = 51 << 20


def test_python_of_an_untrusted_workspace_does_not_run(
    browser: Browser, path: str, workspace: Path, tmp_path: Path
) -> None:
    trap, sprung = tmp_path / "trap", tmp_path / "sprung"
    trap.write_text(f'#!/bin/sh\ntouch {sprung}\nexec python3 "$@"\n')
    trap.chmod(0o755)
    (workspace / ".vscode").mkdir()
    (workspace / ".vscode" / "settings.json").write_text(json.dumps({"xla-lens.server.python": str(trap)}))
    server = VSCode(tmp_path / "vscode", {"PATH": path}, **{"security.workspace.trust.startupPrompt": "never"})
    server.install(VSIX)
    with (
        server.running(),
        Window.opened(
            browser, server, workspace, file_of(workspace, "split", "-live-range"), traces=tmp_path
        ) as window,
    ):
        window.wait_for_line("    0:params_0__0_.12.43 MiB live")
        assert any("Restricted Mode" in text for text in window.status()), window.status()
        assert len(server.language_servers()) == 1
        assert not sprung.exists()


def test_set_of_a_file_over_50_mib_is_available(open_window: OpenWindow, workspace: Path) -> None:
    """VS Code gives extensions no text of such a file. The server reads it from disk."""
    values = file_of(workspace, "split", "-values")
    text, mark = values.read_text(), ", metadata={"
    # Instructions of kernels contain long texts.
    kernel = f', backend_config="{"x" * (_OVER_50_MIB // text.count(mark))}"'
    values.write_text(text.replace(mark, kernel + mark))
    assert values.stat().st_size > 50 << 20
    with open_window(workspace, values) as window:
        wait_for(window.status, lambda texts: " 4.21 MiB of host memory" in texts, SECONDS)
        # VS Code shows a notification of its own as well.
        text = "VS Code gives extensions no text of files over 50.00 MiB"
        notices = wait_for(window.notices, lambda notices: any(text in notice for notice in notices), SECONDS)
        assert any("The real peak of host memory is 4.21 MiB." in notice for notice in notices), notices
        window.page.locator(".notification-list-item-buttons-container >> text=Open the live-range file").click()
        window.wait_for_line("    0:params_0__0_.12.43 MiB live")
        window.open(values)
        window.command("XLA Lens: Focus on XLA Memory View")
        window.has_rows(
            "XLA Memory", "5.00 MiB jit_matmul_bias_relu", "4.21 MiB jit_train_step", "580.0 KiB 001_491faa5ce21a17c6"
        )
        window.command("XLA Lens: Show Memory Map")
        assert Map(window.page).eval("map.liveBytes") == 4419632
