"""VS Code as a server, with nothing in it but what a test puts there.

Profile, extensions and home folder are new; the environment tells of a proxy that is not there.
"""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from editors.driving import wait_for
from samples import DUMPS, ROOT, SEED, SPLIT

INSTALLED = Path(os.environ.get("XLA_LENS_VSCODE", ROOT / ".vscode-test"))
"""Where VS Code is, as tests/editors/vscode/install.sh leaves it."""

VSIX = Path(os.environ.get("XLA_LENS_VSIX", ROOT / "vscode-extension" / "dist" / "xla-lens-linux-x64.vsix"))
"""The extension as people get it."""

SECONDS = 60
"""How long anything in a window may take at most: each has some processes, for two slow cores."""

_SETTINGS = {
    "chat.disableAIFeatures": True,
    "extensions.autoCheckUpdates": False,
    "extensions.autoUpdate": False,
    "files.autoSave": "off",
    "telemetry.telemetryLevel": "off",
    "window.autoDetectColorScheme": True,
    "workbench.editorLargeFileConfirmation": 1024,
    "workbench.secondarySideBar.defaultVisibility": "hidden",
    "workbench.startupEditor": "none",
}
"""A quiet VS Code, which takes dark or light from the browser."""

_NOTHING_LISTENS = "http://127.0.0.1:9"


def node() -> Path:
    """The Node that VS Code runs on."""
    program = INSTALLED / "node" / "bin" / "node"
    assert program.exists(), f"there is no {program}: make test-editors installs it"
    return program


def bare_python(folder: Path) -> Path:
    """A folder with a Python that has no packages at all; gives the folder of the program."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True, timeout=SECONDS)
    return folder / "bin"


def some_dumps(folder: Path) -> Path:
    """Fills a folder with a dump in three files and its HLO module, one in one file, one under an odd name, and no dump."""
    sources = {
        "split": SPLIT.parent.glob("module_0000*"),
        "single": DUMPS.glob("gpu-h100-jaxlib0.4.38/matmul/*"),
        "seed": [SEED],
    }
    for name, paths in sources.items():
        (folder / name).mkdir(parents=True)
        for path in paths:
            shutil.copy(path, folder / name)
    (folder / "other").mkdir()
    (folder / "other" / "notes.txt").write_text("allocation 1: what a dump may say, but this is none\n")
    return folder


class VSCode:
    """A running server of VS Code with a profile of its own."""

    def __init__(self, folder: Path, environment: Mapping[str, str], settings: Mapping[str, Any]) -> None:
        self.folder = folder
        self.log = folder / "server.log"
        for name in ("home", "tmp", "data/User"):
            (folder / name).mkdir(parents=True)
        (folder / "data" / "User" / "settings.json").write_text(json.dumps(_SETTINGS | settings))
        main = INSTALLED / "server/node_modules/code-server/lib/vscode/out/server-main.js"
        assert main.exists(), f"there is no {main}: make test-editors installs it"
        self._command = [node(), main, "--accept-server-license-terms", "--disable-telemetry"]
        self._command += ["--server-data-dir", folder / "server", "--user-data-dir", folder / "data"]
        self._command += ["--extensions-dir", folder / "extensions"]
        self._environment = {
            "HOME": str(folder / "home"),
            "LANG": "C.UTF-8",
            "PATH": "/usr/bin:/bin",
            "SHELL": "/bin/sh",
            "TMPDIR": str(folder / "tmp"),
            **{name: _NOTHING_LISTENS for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")},
            **environment,
        }

    def install(self, vsix: Path) -> None:
        """Installs an extension from a file."""
        assert vsix.exists(), f"there is no {vsix}: make test-editors builds it"
        command = [*self._command, "--install-extension", vsix]
        done = subprocess.run(
            command, env=self._environment, capture_output=True, text=True, timeout=SECONDS, check=False
        )
        assert "successfully installed" in done.stdout, done.stdout + done.stderr

    @contextlib.contextmanager
    def listening(self, *options: str, prefix: tuple[str, ...] = ()) -> Iterator[str]:
        """Runs it with some more options, below some command; gives its host and port. Nothing of it is left at the end."""
        command = [*prefix, *self._command, "--without-connection-token", "--force-disable-user-env"]
        command += ["--enable-smoke-test-driver", "--reconnection-grace-time", "2", *options]
        if "--socket-path" not in options:
            command += ["--host", "127.0.0.1", "--port", "0"]
        with self.log.open("wb") as log:
            process = subprocess.Popen(
                command, env=self._environment, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
            )
        try:
            (found,) = wait_for(
                lambda: re.findall(r"^Extension host agent listening on (.+)$", self.log.read_text(), re.M)
            )
            yield f"127.0.0.1:{found}"
        finally:
            process.terminate()
            process.wait(SECONDS)
            left = self._processes()
            with contextlib.suppress(AssertionError):
                wait_for(self._processes, lambda left: not left)
            for number in self._processes():
                os.kill(number, signal.SIGKILL)
            assert not self._processes(), left

    def _processes(self) -> dict[int, str]:
        """The processes that have been started with this home folder, but for those that have ended."""
        mark = f"\0HOME={self.folder / 'home'}\0".encode()
        found = {}
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if mark in b"\0" + (process / "environ").read_bytes():
                    found[int(process.name)] = (process / "cmdline").read_text().replace("\0", " ")
        return found

    def language_servers(self) -> list[str]:
        """The command lines of the language servers that run."""
        return [command for command in self._processes().values() if "xla_lens" in command]

    def extension_log(self) -> str:
        """What the extension and its server have logged in all windows."""
        logs = sorted(self.folder.glob("data/logs/*/exthost*/*xla-lens*/*.log"))
        return "\n".join(f"== {path.name}\n{path.read_text(errors='replace')}" for path in logs)
