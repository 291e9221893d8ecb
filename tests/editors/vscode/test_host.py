"""Runs the tests in vscode-extension/test/host inside the extension host of VS Code, all in one window."""

import json
import re
import subprocess
from collections.abc import Mapping

import pytest

from editors.driving import wait_for
from editors.vscode.server import SECONDS, VSIX, VSCode, node, some_dumps
from editors.vscode.window import Browser, Window
from samples import ROOT

_TESTS = ROOT / "vscode-extension" / "test"


def _names() -> list[str]:
    """Return the names of all tests."""
    texts = [path.read_text() for path in sorted(_TESTS.glob("host/*.test.ts"))]
    return [name for text in texts for name in re.findall(r'^test\("([^"]+)"', text, re.MULTILINE)]


@pytest.fixture(scope="module")
def failures(browser: Browser, path: str, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str | None]:
    """Run all tests, and return how each failed, `None` for success."""
    folder = tmp_path_factory.mktemp("host")
    tests, results = folder / "tests.js", folder / "results.json"
    subprocess.run([node(), _TESTS / "build.mjs", tests], check=True, timeout=SECONDS)
    server = VSCode(folder / "vscode", {"PATH": path, "XLA_LENS_HOST_RESULTS": str(results)})
    paths = {"extensionDevelopmentPath": server.install(VSIX), "extensionTestsPath": tests}
    output: list[str] = []
    codes: list[int] = []
    functions = {
        "codeAutomationLog": lambda kind, texts: output.append(f"{kind}: {texts}"),
        "codeAutomationExit": lambda code, *_: codes.append(code),
    }
    dumps = some_dumps(folder / "workspace")
    with (
        server.running("--disable-workspace-trust", "--enable-smoke-test-driver"),
        Window.opened(browser, server, dumps, traces=folder, paths=paths, functions=functions) as window,
    ):
        # Playwright calls the exposed functions only while it waits for the page.
        wait_for(lambda: window.page.evaluate("true") and codes, seconds=10 * SECONDS)
        assert results.exists(), "\n".join(output)
    return json.loads(results.read_text())


@pytest.mark.parametrize("name", _names())
def test_in_the_extension_host(failures: Mapping[str, str | None], name: str) -> None:
    failure = failures[name]
    assert failure is None, failure


def test_all_tests_ran(failures: Mapping[str, str | None]) -> None:
    assert sorted(failures) == sorted(_names())
