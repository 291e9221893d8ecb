"""Fixtures of the tests of VS Code: a browser and a server with the extension. Each test opens its own window."""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from editors.vscode.server import VSIX, VSCode, bare_python, some_dumps
from editors.vscode.window import Browser, OpenWindow, Window, browsing


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Return a browser."""
    with browsing() as browser:
        yield browser


@pytest.fixture(scope="session")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a PATH with a Python that has no packages."""
    return f"{bare_python(tmp_path_factory.mktemp('python') / 'bare')}:/usr/bin:/bin"


@pytest.fixture(scope="session")
def vscode(tmp_path_factory: pytest.TempPathFactory, path: str) -> Iterator[VSCode]:
    """Return a running server with the extension, in which all workspaces are trusted."""
    server = VSCode(tmp_path_factory.mktemp("vscode"), {"PATH": path})
    server.install(VSIX)
    with server.running("--disable-workspace-trust"):
        yield server


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """Return a folder with some dumps."""
    return some_dumps(tmp_path / "workspace")


@pytest.fixture
def open_window(browser: Browser, vscode: VSCode, tmp_path: Path) -> OpenWindow:
    """Return a function that opens a folder, and optionally a file in it, in a window."""

    def opened(folder: Path, file: Path | None = None, **looks: Any) -> AbstractContextManager[Window]:
        return Window.opened(browser, vscode, folder, file, traces=tmp_path, **looks)

    return opened
