"""The extension on machines, and in workspaces, that are not as one would like them."""

import contextlib
import json
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from editors.driving import wait_for
from editors.vscode.memory_map import Map
from editors.vscode.server import SECONDS, VSIX, VSCode, file_of, some_dumps
from editors.vscode.window import Browser, OpenWindow, Window
from samples import DUMPS

_OVER_50_MIB = 51 << 20


@contextlib.contextmanager
def _forwarded(path: Path) -> Iterator[str]:
    """An address on loopback from which all is handed on to a socket in the file system."""

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


def test_no_network_and_no_packages(browser: Browser, path: str, workspace: Path, tmp_path: Path) -> None:
    """A fresh profile, in a network of its own without any address, with a Python that has nothing installed."""
    cut_off = ("unshare", "--net", "--map-root-user")
    if subprocess.run([*cut_off, "true"], capture_output=True, check=False).returncode:
        pytest.skip("needs the right to make a network of its own (unshare --net)")
    program = path.partition(":")[0] + "/python3"
    asked = subprocess.run([program, "-c", "import numpy"], capture_output=True, text=True, check=False)
    assert "No module named 'numpy'" in asked.stderr
    server = VSCode(tmp_path / "vscode", {"PATH": path})
    server.install(VSIX)
    # Sockets have short names.
    link = Path("/tmp") / f"xla-lens-{tmp_path.parent.name}-{tmp_path.name}"
    link.unlink(missing_ok=True)
    link.symlink_to(tmp_path)
    file = file_of(workspace, "split", "-live-range")
    try:
        with (
            server.running("--disable-workspace-trust", f"--socket-path={link}/socket", prefix=cut_off),
            _forwarded(link / "socket") as server.address,
            Window.opened(browser, server, workspace, file, traces=tmp_path) as window,
        ):
            window.wait_for_line("    0:params_0__0_.12.43 MiB live")
            window.command("XLA Lens: Show Memory Map")
            assert Map(window.page).tells("map.liveBytes") == 4419632
            (running,) = server.language_servers()
            assert running.startswith(f"{program} -I -S "), running
    finally:
        link.unlink()


@pytest.mark.parametrize(
    ("python", "told"),
    [
        (None, "there is none on the PATH"),
        ("#!/bin/sh\nprintf 'cpython\\n3.9\\n0\\n\\n'\n", "there is only CPython 3.9"),
    ],
    ids=["none", "too old"],
)
def test_no_python(browser: Browser, workspace: Path, tmp_path: Path, python: str | None, told: str) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    if python:
        (programs / "python3").write_text(python)
        (programs / "python3").chmod(0o755)
    server = VSCode(tmp_path / "vscode", {"PATH": str(programs)})
    server.install(VSIX)
    with (
        server.running("--disable-workspace-trust"),
        Window.opened(
            browser, server, workspace, file_of(workspace, "split", "-live-range"), traces=tmp_path
        ) as window,
    ):
        expected = (
            f"XLA Lens needs CPython 3.11 to 3.14 on this machine, and {told}. "
            "Install one, or tell where it is in the setting xla-lens.server.python."
        )
        wait_for(window.notices, lambda notices: notices == [expected], SECONDS)
        # Once is enough.
        window.open(file_of(workspace, "single", "-buffer-assignment"))
        window.command("XLA Lens: Focus on XLA Memory View")
        window.page.wait_for_timeout(2000)
        assert window.notices() == [expected]


def test_a_workspace_that_is_not_trusted(browser: Browser, path: str, workspace: Path, tmp_path: Path) -> None:
    """A Python that the workspace names is not run; the server that comes with the extension is."""
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


def test_a_file_over_50_mib(open_window: OpenWindow, workspace: Path) -> None:
    """VS Code gives extensions no text of it. The set is there all the same."""
    values = file_of(workspace, "split", "-values")
    text, mark = values.read_text(), ", metadata={"
    # As it is with kernels, whose text is in their instruction.
    kernel = f', backend_config="{"x" * (_OVER_50_MIB // text.count(mark))}"'
    values.write_text(text.replace(mark, kernel + mark))
    assert values.stat().st_size > 50 << 20
    with open_window(workspace, values) as window:
        wait_for(window.status, lambda told: " 4.21 MiB peak of 4.22 MiB" in told, SECONDS)
        # VS Code has a notice of its own, too.
        told = "VS Code gives extensions no text of files over 50.00 MiB, and this one has "
        notices = wait_for(window.notices, lambda notices: any(told in notice for notice in notices), SECONDS)
        assert any("its true peak is 4.21 MiB" in notice for notice in notices), notices
        window.page.locator(".notification-list-item-buttons-container >> text=Open the live-range file").click()
        window.wait_for_line("    0:params_0__0_.12.43 MiB live")
        window.open(values)
        window.command("XLA Lens: Focus on XLA Memory View")
        window.has_rows("XLA Memory", "jit_matmul_bias_relu", "jit_train_step", "001_491faa5ce21a17c6")
        window.command("XLA Lens: Show Memory Map")
        assert Map(window.page).tells("map.liveBytes") == 4419632


def test_300_sets(open_window: OpenWindow, tmp_path: Path) -> None:
    """All of them are in the tree, the worst first."""
    folder = some_dumps(tmp_path / "workspace")
    dumps = sorted(DUMPS.glob("cpu-jaxlib0.4.20/donation/*-buffer-assignment.txt"))
    for number in range(297):
        target = (
            folder
            / f"run_{number // 10}"
            / f"module_{number:04}.jit_f{number}.cpu_after_optimizations-buffer-assignment.txt"
        )
        target.parent.mkdir(exist_ok=True)
        shutil.copy(dumps[number % len(dumps)], target)
    with open_window(folder) as window:
        window.command("XLA Lens: Focus on XLA Memory View")
        rows = '.monaco-list[aria-label="XLA Memory"] .monaco-list-row'
        count = f"document.querySelector('{rows}')?.ariaSetSize"
        wait_for(lambda: window.page.evaluate(count), lambda found: found == "300", 2 * SECONDS)
        assert [row[:8] for row in window.rows("XLA Memory")[:2]] == ["jit_matm", "jit_trai"]
