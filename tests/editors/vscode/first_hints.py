"""Measures how long VS Code takes to show the first inlay hints of the largest dump after its file is opened.

    PYTHONPATH=tests python -m editors.vscode.first_hints [FILE]

Needs what `make test-editors` installs. Measures in an open window: first without a server, then with the server and
the set in memory.
"""

import contextlib
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from editors.driving import wait_for
from editors.vscode.server import VSIX, VSCode, bare_python
from editors.vscode.window import Window, browsing
from samples import SHARED_DUMPS, big_dumps

_STARTS = 3
_MOST_SECONDS = 300


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as name, biggest_dump(Path(name)) as file, browsing() as browser:
        path = f"{bare_python(Path(name) / 'python')}:/usr/bin:/bin"
        empty = Path(name) / "empty"
        empty.mkdir()
        for start in range(_STARTS):
            server = VSCode(Path(name) / f"vscode-{start}", {"PATH": path})
            server.install(VSIX)
            with (
                server.running("--disable-workspace-trust"),
                Window.opened(browser, server, empty, traces=Path(name)) as window,
            ):
                window.page.wait_for_timeout(5000)
                first = _seconds(window, file)
                window.command("View: Close All Editors")
                print(f"{file.name}: hints after {first:.1f} s, again after {_seconds(window, file):.1f} s", flush=True)


@contextlib.contextmanager
def biggest_dump(folder: Path) -> Iterator[Path]:
    """Return the file to measure: the argument of the command line, or else the live ranges of the largest set."""
    if len(sys.argv) > 1:
        yield Path(sys.argv[1]).resolve()
    elif SHARED_DUMPS.is_dir():
        yield next(big_dumps(folder / "big").glob("*/llama3_70b*/module_0000*-live-range.txt"))
    else:
        sys.exit("pass a FILE: the collection of dumps is not available")


def _seconds(window: Window, file: Path) -> float:
    """Return the seconds from pressing Enter to the first hint on the screen."""
    window.page.keyboard.press("Control+p")
    box = window.page.locator(".quick-input-widget input.input")
    box.fill(str(file))
    # The labels of dumps are not the names of their files, but only one file has this path.
    entry = ".quick-input-list .monaco-list-row .label-name"
    wait_for(lambda: window.texts(entry), lambda found: len(found) == 1)
    start = time.perf_counter()
    window.page.keyboard.press("Enter")
    script = """() => new Promise(done => { const look = () => [...document.querySelectorAll('.view-line')]
      .some(line => /[KMGT]iB live/.test(line.textContent.replaceAll('\\u00a0', ' '))) ? done() : setTimeout(look, 10);
      look(); })"""
    window.page.set_default_timeout(_MOST_SECONDS * 1000)
    window.page.evaluate(script)
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
