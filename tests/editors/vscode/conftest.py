"""What tests of VS Code share: one browser, and one server with the extension installed. Each test has a window of its own."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from editors.vscode.server import VSIX, VSCode, bare_python, some_dumps
from editors.vscode.window import Browser, Window, browsing


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A browser."""
    with browsing() as browser:
        yield browser


@pytest.fixture(scope="session")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a Python that has no packages."""
    return bare_python(tmp_path_factory.mktemp("python") / "bare")


@pytest.fixture(scope="session")
def vscode(tmp_path_factory: pytest.TempPathFactory, python: Path) -> Iterator[tuple[VSCode, str]]:
    """A server with the extension and a Python without packages; its address."""
    server = VSCode(tmp_path_factory.mktemp("vscode"), {"PATH": f"{python}:/usr/bin:/bin"}, {})
    server.install(VSIX)
    with server.listening("--disable-workspace-trust") as address:
        yield server, address


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A folder with some dumps."""
    return some_dumps(tmp_path / "workspace")


@pytest.fixture
def open_window(browser: Browser, vscode: tuple[VSCode, str], tmp_path: Path) -> Any:
    """A function that opens a folder, and maybe a file in it, in a window; to be used in a `with`."""

    def opened(folder: Path, file: Path | None = None, **options: Any) -> Any:
        return Window.opened(browser, *vscode, folder, file, pictures=tmp_path, **options)

    return opened
