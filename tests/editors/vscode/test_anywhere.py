"""The extension under adverse conditions: no network, no Python, untrusted workspaces, large files, many dumps."""

import contextlib
import json
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from editors.driving import wait_for
from editors.vscode.memory_map import Map
from editors.vscode.server import SECONDS, VSIX, VSCode, file_of
from editors.vscode.window import Browser, OpenWindow, Window

_OVER_50_MIB = 51 << 20


@contextlib.contextmanager
def _forwarded(path: Path) -> Iterator[str]:
    """Forward a port on loopback to a Unix socket, and return its address."""

    def hand_on(source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while part := source.recv(1 << 16):
                target.sendall(part)
        for side in (source, target):
            with contextlib.suppress(OSError):
                side.shutdown(socket.SHUT_RDWR)

    def connect(client: socket.socket) -> None:
        with client, socket.socket(socket.AF_UNIX) as server:
            server.connect(str(path))
            back = threading.Thread(target=hand_on, args=(server, client))
            back.start()
            hand_on(client, server)
            back.join()

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=connect, args=(listener.accept()[0],), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=accept, daemon=True).start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)


def test_extension_works_without_network_and_packages(
    browser: Browser, path: str, workspace: Path, tmp_path: Path
) -> None:
    """VS Code runs in a network namespace without addresses, with a Python that has no packages."""
    isolated = ("unshare", "--net", "--map-root-user")
    if subprocess.run([*isolated, "true"], capture_output=True, check=False).returncode:
        pytest.skip("needs the right to create a network namespace: run as root or allow unprivileged `unshare --net`")
    program = path.partition(":")[0] + "/python3"
    asked = subprocess.run([program, "-c", "import numpy"], capture_output=True, text=True, check=False)
    assert "No module named 'numpy'" in asked.stderr
    server = VSCode(tmp_path / "vscode", {"PATH": path})
    server.install(VSIX)
    # Paths of Unix sockets are limited to about 100 bytes.
    link = Path("/tmp") / f"xla-lens-{tmp_path.parent.name}-{tmp_path.name}"
    link.unlink(missing_ok=True)
    link.symlink_to(tmp_path)
    file = file_of(workspace, "split", "-live-range")
    try:
        with (
            server.running("--disable-workspace-trust", f"--socket-path={link}/socket", prefix=isolated),
            _forwarded(link / "socket") as server.address,
            Window.opened(browser, server, workspace, file, traces=tmp_path) as window,
        ):
            window.wait_for_line("    0:params_0__0_.12.43 MiB live")
            window.command("XLA Lens: Show Memory Map")
            assert Map(window.page).eval("map.liveBytes") == 4419632
            (running,) = server.language_servers()
            assert running.startswith(f"{program} -I -S "), running
    finally:
        link.unlink()


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
