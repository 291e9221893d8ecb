"""The choice of the Python that runs the server."""

import json
import re
import sys
import zipfile
from pathlib import Path

import pytest

from editors.driving import wait_for
from editors.vscode.server import SECONDS, VSIX, VSCode, file_of
from editors.vscode.window import Browser, Window

_API = """
exports.activate = () => ({
  environments: {
    getActiveEnvironmentPath: () => ({ path: "chosen" }),
    resolveEnvironment: async ({ path }) => ({ executable: { uri: { fsPath: path === "chosen" ? PYTHON : "" } } }),
  },
});
"""
"""The part of the documented API of the Python extension that is used."""


def _python_extension(folder: Path, python: Path) -> Path:
    """Create a fake Python extension in which an interpreter is selected."""
    manifest = {
        "name": "python",
        "publisher": "ms-python",
        "version": "2026.1.0",
        "engines": {"vscode": "^1.91.0"},
        "main": "./index.js",
        "activationEvents": [],
    }
    vsix = folder / "python.vsix"
    with zipfile.ZipFile(vsix, "w") as archive:
        archive.writestr("extension/package.json", json.dumps(manifest))
        archive.writestr("extension/index.js", _API.replace("PYTHON", json.dumps(str(python))))
    return vsix


@pytest.mark.parametrize("chosen_by", ["the Python extension", "the setting", "the PATH"])
def test_setting_precedes_path_and_python_extension(
    browser: Browser, path: str, workspace: Path, tmp_path: Path, chosen_by: str
) -> None:
    for name in ("extension", "setting"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "python3").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
        (tmp_path / name / "python3").chmod(0o755)
    settings = {"xla-lens.server.python": str(tmp_path / "setting" / "python3")} if chosen_by == "the setting" else {}
    # The Python extension is only asked if there is no Python on the PATH.
    (tmp_path / "empty").mkdir()
    programs = str(tmp_path / "empty") if chosen_by == "the Python extension" else path
    server = VSCode(tmp_path / "vscode", {"PATH": programs}, **settings)
    server.install(VSIX)
    server.install(_python_extension(tmp_path, tmp_path / "extension" / "python3"))
    file = file_of(workspace, "split", "-live-range")
    with (
        server.running("--disable-workspace-trust"),
        Window.opened(browser, server, workspace, file, traces=tmp_path) as window,
    ):
        window.wait_for_text("MiB live")
        wanted = {
            "the Python extension": str(tmp_path / "extension" / "python3"),
            "the setting": str(tmp_path / "setting" / "python3"),
            "the PATH": "python3",
        }[chosen_by]
        # On a busy machine, VS Code starts extensions before it has read the settings. Once it has, the server starts
        # again.
        wait_for(lambda: _interpreters(server)[-1:], lambda last: last == [wanted], SECONDS)
        if chosen_by == "the PATH":
            # Programs run with the interpreter of the Python extension all the same.
            program, which = workspace / "which.py", workspace / "which.txt"
            program.write_text(f"import pathlib, sys\npathlib.Path({str(which)!r}).write_text(sys.executable)\n")
            window.open(program)
            window.command("XLA Lens: Run Python File and Show Memory")
            assert wait_for(lambda: which.exists() and which.read_text(), seconds=SECONDS) == sys.executable


def _interpreters(server: VSCode) -> list[str]:
    """The interpreters that the extension has started servers with, as its log names them."""
    return re.findall(r"\[info\] (\S+): CPython 3\.", server.extension_log())
