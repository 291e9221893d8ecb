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

VSIX = Path(os.environ.get("XLA_LENS_VSIX", ROOT / "vscode-extension" / "dist" / "xla-lens-linux-x64.vsix"))
"""The extension as people get it."""

SECONDS = 60
"""How long anything in a window may take at most: each has some processes, for two slow cores."""

_INSTALLED = Path(os.environ.get("XLA_LENS_VSCODE", ROOT / ".vscode-test"))
"""Where VS Code is, as install.sh leaves it."""

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
    program = _INSTALLED / "node" / "bin" / "node"
    assert program.exists(), f"there is no {program}: make test-editors installs it"
    return program


def bare_python(folder: Path) -> Path:
    """Makes a Python that has no packages at all; gives the folder of the program."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True, timeout=SECONDS)
    return folder / "bin"


def some_dumps(folder: Path) -> Path:
    """Fills a folder: a dump in three files and its HLO module, one in one file, one under an odd name, and no dump."""
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


def file_of(workspace: Path, folder: str, end: str) -> Path:
    """The file of a folder of a workspace whose name ends so."""
    (path,) = (workspace / folder).glob(f"*{end}.txt")
    return path


class VSCode:
    """A server of VS Code with a profile of its own."""

    def __init__(self, folder: Path, environment: Mapping[str, str], **settings: Any) -> None:
        self.folder = folder
        self.log = folder / "server.log"
        self.address = ""
        """Host and port, while it runs."""
        for name in ("home", "tmp", "data/User"):
            (folder / name).mkdir(parents=True)
        (folder / "data" / "User" / "settings.json").write_text(json.dumps(_SETTINGS | settings))
        main = _INSTALLED / "server/node_modules/code-server/lib/vscode/out/server-main.js"
        assert main.exists(), f"there is no {main}: make test-editors installs it"
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
        """Installs an extension from a file; gives its folder."""
        assert vsix.exists(), f"there is no {vsix}: make test-editors builds it"
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
    def running(self, *options: str, prefix: tuple[str, ...] = ()) -> "Iterator[VSCode]":
        """Runs it with some more options, below some command. Nothing of it is left at the end."""
        command = [*prefix, *self._command, "--without-connection-token", "--force-disable-user-env", *options]
        command += ["--reconnection-grace-time", "2"]
        if not any(option.startswith("--socket-path") for option in options):
            command += ["--host", "127.0.0.1", "--port", "0"]
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
        raise AssertionError(f"these run on after VS Code has ended: {left}")

    def processes(self) -> dict[int, str]:
        """The command lines of all processes that have been started with this home folder."""
        mark = f"\0HOME={self._environment['HOME']}\0".encode()
        found = {}
        for process in Path("/proc").glob("[0-9]*"):
            # It may be gone, or be nobody's.
            with contextlib.suppress(OSError):
                if mark in b"\0" + (process / "environ").read_bytes():
                    found[int(process.name)] = (process / "cmdline").read_text().replace("\0", " ").strip()
        return found

    def language_servers(self) -> list[str]:
        """The command lines of the language servers that run."""
        return [command for command in self.processes().values() if command.endswith("start.py server")]

    def extension_log(self) -> str:
        """What the extension and its servers have logged, in all windows."""
        logs = sorted(self.folder.glob("data/logs/*/exthost*/*xla-lens*/*.log"))
        return "\n".join(path.read_text(errors="replace") for path in logs)
