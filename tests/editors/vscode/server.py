"""VS Code as a server (code-server), isolated from the machine.

Profile, extensions and home folder are new. The environment names a proxy that does not exist, so that nothing
reaches the network.
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

VSIX = Path(os.environ.get("XLA_LENS_VSIX", ROOT / "vscode-extension" / "dist" / "xla-lens-linux-x64.vsix"))
"""The packaged extension."""

SECONDS = 60
"""Timeout of any single step in a window. A window runs several processes, which takes a while on two slow cores."""

_INSTALLED = Path(os.environ.get("XLA_LENS_VSCODE", ROOT / ".vscode-test"))
"""The folder into which install.sh has installed VS Code."""

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
"""Settings without distractions, and with the light or dark theme of the browser."""

_NOTHING_LISTENS = "http://127.0.0.1:9"


def node() -> Path:
    """Return the Node that VS Code runs on."""
    program = _INSTALLED / "node" / "bin" / "node"
    assert program.exists(), f"{program} is missing: `make test-editors` installs it"
    return program


def bare_python(folder: Path) -> Path:
    """Create a Python without any packages, and return the folder of its program."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True, timeout=SECONDS)
    asked = subprocess.run([folder / "bin" / "python3", "-c", "import numpy"], capture_output=True, check=False)
    assert b"No module named 'numpy'" in asked.stderr
    return folder / "bin"


def some_dumps(folder: Path) -> Path:
    """Fill a folder with a split dump, a dump in one file, one with an unknown name, and a file that is no dump."""
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
    (folder / "other" / "notes.txt").write_text("allocation 1: like a line of a dump, but this is none\n")
    return folder


def file_of(workspace: Path, folder: str, end: str) -> Path:
    """Return the only file of a folder whose name has an ending."""
    (path,) = (workspace / folder).glob(f"*{end}.txt")
    return path


class VSCode:
    """A server of VS Code with its own profile."""

    def __init__(self, folder: Path, environment: Mapping[str, str], **settings: Any) -> None:
        self.folder = folder
        self.log = folder / "server.log"
        self.address = ""
        """Host and port while the server runs."""
        for name in ("home", "tmp", "data/User"):
            (folder / name).mkdir(parents=True)
        (folder / "data" / "User" / "settings.json").write_text(json.dumps(_SETTINGS | settings))
        main = _INSTALLED / "server/node_modules/code-server/lib/vscode/out/server-main.js"
        assert main.exists(), f"{main} is missing: `make test-editors` installs it"
        self._command = [str(node()), str(main), "--accept-server-license-terms", "--disable-telemetry"]
        self._command += [f"--server-data-dir={folder}/server", f"--user-data-dir={folder}/data"]
        self._command += [f"--extensions-dir={folder}/extensions"]
        self._environment = {
            "HOME": f"{folder}/home",
            "LANG": "C.UTF-8",
            "PATH": "/usr/bin:/bin",
            "SHELL": "/bin/sh",
            "TMPDIR": f"{folder}/tmp",
            **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), _NOTHING_LISTENS),
            **environment,
        }

    def install(self, vsix: Path) -> Path:
        """Install an extension from a file, and return its folder."""
        assert vsix.exists(), f"{vsix} is missing: `make test-editors` builds it"
        folder = self.folder / "extensions"
        before = set(folder.glob("*/"))
        command = [*self._command, "--install-extension", str(vsix)]
        done = subprocess.run(
            command, env=self._environment, capture_output=True, text=True, timeout=SECONDS, check=False
        )
        assert "successfully installed" in done.stdout, done.stdout + done.stderr
        (extension,) = set(folder.glob("*/")) - before
        return extension

    @contextlib.contextmanager
    def running(self, *options: str) -> "Iterator[VSCode]":
        """Run the server with further options. No process of it remains at the end."""
        command = [*self._command, "--without-connection-token", "--force-disable-user-env", *options]
        command += ["--reconnection-grace-time", "2", "--host", "127.0.0.1", "--port", "0"]
        with self.log.open("wb") as log:
            process = subprocess.Popen(
                command, env=self._environment, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
            )
        try:
            listens = re.compile(r"^Extension host agent listening on (.+)$", re.MULTILINE)
            found = wait_for(lambda: listens.findall(self.log.read_text()))
            self.address = f"127.0.0.1:{found[0]}"
            yield self
        finally:
            self._end(process)

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        process.terminate()
        process.wait(SECONDS)
        left = self.processes()
        with contextlib.suppress(AssertionError):
            wait_for(self.processes, lambda found: not found)
            return
        for number in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        raise AssertionError(f"processes remain after VS Code has ended: {left}")

    def processes(self) -> dict[int, str]:
        """Return the command lines of all processes with this home folder."""
        mark = f"\0HOME={self._environment['HOME']}\0".encode()
        found = {}
        for process in Path("/proc").glob("[0-9]*"):
            # The process may have ended, or belong to another user.
            with contextlib.suppress(OSError):
                if mark in b"\0" + (process / "environ").read_bytes():
                    found[int(process.name)] = (process / "cmdline").read_text().replace("\0", " ").strip()
        return found

    def language_servers(self) -> list[str]:
        """Return the command lines of the running language servers."""
        return [
            command for command in self.processes().values() if "start.py" in command and command.endswith(" server")
        ]

    def extension_log(self) -> str:
        """Return the logs of the extension and its servers in all windows."""
        logs = sorted(self.folder.glob("data/logs/*/exthost*/*xla-lens*/*.log"))
        return "\n".join(path.read_text(errors="replace") for path in logs)
