"""What runs inside the extension host of VS Code, in TypeScript: the tests in vscode-extension/test/host, all in one window."""

import json
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from editors.driving import wait_for
from editors.vscode.server import VSIX, VSCode, node, some_dumps
from editors.vscode.window import Browser, Window
from samples import ROOT

_TESTS = ROOT / "vscode-extension" / "test"
_SECONDS = 300


def _names() -> list[str]:
    """The names of all tests."""
    texts = [path.read_text() for path in sorted(_TESTS.glob("host/*.test.ts"))]
    return [name for text in texts for name in re.findall(r'^test\("([^"]+)"', text, re.MULTILINE)]


@pytest.fixture(scope="module")
def failures(browser: Browser, python: Path, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str | None]:
    """How each test failed, or `None`."""
    folder = tmp_path_factory.mktemp("host")
    tests, results = folder / "tests.js", folder / "results.json"
    subprocess.run([node(), _TESTS / "build.mjs", tests], check=True, timeout=60)
    environment = {"PATH": f"{python}:/usr/bin:/bin", "XLA_LENS_HOST_RESULTS": str(results)}
    server = VSCode(folder / "vscode", environment, {})
    server.install(VSIX)
    (extension,) = (server.folder / "extensions").glob("xla-lens*")
    paths = {"extensionDevelopmentPath": extension, "extensionTestsPath": tests}
    said: list[str] = []
    codes: list[int] = []
    functions = {
        "codeAutomationLog": lambda kind, arguments: said.append(f"{kind}: {arguments}"),
        "codeAutomationExit": lambda code, *_: codes.append(code),
    }
    with (
        server.listening("--disable-workspace-trust") as address,
        Window.opened(
            browser,
            server,
            address,
            some_dumps(folder / "workspace"),
            payload=paths,
            functions=functions,
            pictures=folder,
        ) as window,
    ):
        # What the page calls is heard while it is asked.
        wait_for(lambda: window.page.evaluate("true") and codes, seconds=_SECONDS)
        assert results.exists(), "\n".join(said)
    return json.loads(results.read_text())


@pytest.mark.parametrize("name", _names())
def test_in_the_extension_host(failures: Mapping[str, str | None], name: str) -> None:
    failure = failures[name]
    assert failure is None, failure


def test_none_is_left_out(failures: Mapping[str, str | None]) -> None:
    assert sorted(failures) == sorted(_names())
