"""Windows of VS Code, in a browser that nobody looks at, and that reaches no address but that of the server."""

import contextlib
import json
import os
import re
import shutil
import site
import sysconfig
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import quote

from editors.driving import wait_for
from editors.vscode.server import SECONDS, VSCode
from samples import ROOT

# It is with the editors, not with what most tests need.
site.addsitedir(sysconfig.get_path("purelib", vars={"base": str(ROOT / ".venv-editors")}))

from playwright.sync_api import Browser, Error, Locator, Page, sync_playwright

_LOOKS = {"viewport": {"width": 1280, "height": 800}, "color_scheme": "light", "reduced_motion": "reduce"}

OpenWindow: TypeAlias = Callable[..., contextlib.AbstractContextManager["Window"]]
"""What opens a folder, and maybe a file in it, in a window: the fixture `open_window`."""

_ACTIVE = ".editor-group-container.active"


@contextlib.contextmanager
def browsing() -> Iterator[Browser]:
    """A browser that reaches loopback only."""
    program = os.environ.get("CHROMIUM", "chromium")
    found = shutil.which(program)
    assert found, f"there is no {program}: make test-editors installs it"
    with sync_playwright() as playwright:
        rules = "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1"
        browser = playwright.chromium.launch(executable_path=found, args=[rules])
        yield browser
        browser.close()


class Window:
    """A window of VS Code."""

    def __init__(self, page: Page, server: VSCode) -> None:
        self.page = page
        self.server = server

    @classmethod
    @contextlib.contextmanager
    def opened(
        cls,
        browser: Browser,
        server: VSCode,
        folder: Path,
        file: Path | None = None,
        *,
        traces: Path,
        paths: Mapping[str, Path] | None = None,
        functions: Mapping[str, Callable[..., Any]] | None = None,
        **looks: Any,
    ) -> "Iterator[Window]":
        """A window on a folder, and on a file in it. `paths` are what else it is told, `functions` what it may call.

        After a failure a picture and the logs are among the traces.
        """
        context = browser.new_context(**(_LOOKS | looks))
        elsewhere: list[str] = []
        context.on("request", lambda request: _note_elsewhere(request.url, server.address, elsewhere))
        page = context.new_page()
        page.set_default_timeout(SECONDS * 1000)
        for name, function in (functions or {}).items():
            page.expose_function(name, function)
        told = {**(paths or {}), **({"openFile": file} if file else {})}
        payload = [[name, f"vscode-remote://{server.address}{quote(str(path))}"] for name, path in told.items()]
        window = cls(page, server)
        try:
            page.goto(f"http://{server.address}/?folder={quote(str(folder))}&payload={quote(json.dumps(payload))}")
            page.wait_for_selector(".monaco-workbench .statusbar-item", state="attached")
            yield window
        except BaseException as failure:
            window._leave_traces(failure, traces)
            raise
        finally:
            context.close()
        assert not elsewhere, elsewhere

    def _leave_traces(self, failure: BaseException, traces: Path) -> None:
        with contextlib.suppress(Error):
            self.page.screenshot(path=traces / "failure.png")
            failure.add_note(f"What it looked like: {traces / 'failure.png'}")
            failure.add_note(f"The window showed at the end:\n{self.text()[-2000:]}")
        log = self.server.extension_log()
        (traces / "extension.log").write_text(log)
        shutil.copy(self.server.log, traces / "server.log")
        failure.add_note(f"The log of the extension, whole in {traces}, at the end:\n{log[-2000:]}")

    # ------------------------------------------------------------ what a person sees

    def text(self) -> str:
        """All text of the window."""
        return plain(self.page.evaluate("document.body.innerText"))

    def wait_for_text(self, text: str) -> None:
        """Waits until a text is somewhere in the window."""
        wait_for(self.text, lambda shown: text in shown, SECONDS)

    def texts(self, selector: str) -> list[str]:
        """The texts of all elements that are on the screen, from top to bottom."""
        return _texts(self.page.locator(selector))

    def lines(self) -> list[str]:
        """The lines of text on the screen, with the hints in them."""
        return self.texts(".editor-instance .view-line")

    def wait_for_line(self, line: str) -> None:
        """Waits until a line of text looks so."""
        wait_for(self.lines, lambda lines: line in lines, SECONDS)

    def lenses(self) -> list[str]:
        """The code lenses on the screen."""
        return self.texts(f"{_ACTIVE} .codelens-decoration a")

    def tabs(self) -> list[str]:
        """The names on all tabs."""
        return self._names(".tabs-container .tab")

    def active_tab(self) -> str:
        """The name on the tab in front, of the group that has the focus."""
        return next(iter(self._names(f"{_ACTIVE} .tab.active")), "")

    def _names(self, selector: str) -> list[str]:
        return self.page.locator(selector).evaluate_all("all => all.map(e => e.dataset.resourceName ?? e.ariaLabel)")

    def status(self) -> list[str]:
        """What the status bar tells."""
        return [text for text in self.texts(".statusbar-item") if text]

    def cursor(self) -> tuple[int, int]:
        """The line and the column of the cursor, as the status bar tells them; zeros while it does not."""
        found = re.search(r"Ln (\d+), Col (\d+)", "\n".join(self.status()))
        return (int(found[1]), int(found[2])) if found else (0, 0)

    def notices(self) -> list[str]:
        """The notices on the screen."""
        return self.texts(".notifications-toasts .notification-list-item-message")

    def rows(self, view: str) -> list[str]:
        """The rows of a tree, which are on the screen, in a view whose name begins so."""
        rows = self.texts(f"{_view(view)} .monaco-list-row")
        return [" ".join(text.split()) for text in rows]

    # ------------------------------------------------------------ what a person does

    def command(self, title: str) -> None:
        """Runs a command from the palette."""
        self._pick("F1", f">{title}", title)

    def ask(self, title: str) -> None:
        """Runs a command from the palette that asks for more."""
        self._pick("F1", f">{title}", title, closes=False)

    def take(self, label: str) -> None:
        """Takes what has a label in the list that is open."""
        self.page.locator(".quick-input-list .monaco-list-row", has_text=label).first.click()

    def reload(self) -> None:
        """Starts the window again."""
        with self.page.expect_navigation():
            self.ask("Developer: Reload Window")

    def open(self, path: Path) -> None:
        """Opens a file by its path."""
        self._pick("Control+p", str(path), path.name)
        wait_for(self.active_tab, lambda name: name == path.name, SECONDS)

    def go_to(self, line: int, column: int = 1) -> None:
        """Puts the cursor somewhere in the text in front."""
        self._type("Control+g", f":{line}:{column}")
        self.page.keyboard.press("Enter")
        wait_for(self.cursor, lambda found: found == (line, column), SECONDS)

    def hover(self) -> str:
        """What is told of the place of the cursor."""

        def shown() -> str:
            texts = self.texts(".monaco-editor .monaco-hover .hover-contents")
            if not texts:
                self.page.keyboard.press("Control+k")
                self.page.keyboard.press("Control+i")
                self.page.wait_for_timeout(500)
            return "\n".join(texts)

        return wait_for(shown, lambda text: text and "Loading..." not in text, SECONDS)

    def has_rows(self, view: str, *starts: str) -> list[str]:
        """Waits until a tree has rows that begin so, in this order; gives those."""

        def found() -> list[str]:
            return [row for row in self.rows(view) if row.startswith(starts)]

        return wait_for(found, lambda rows: _begin(rows, starts), SECONDS)

    def row(self, view: str, label: str) -> Locator:
        """A row of a tree by a part of its text, for a click."""
        return self.page.locator(f"{_view(view)} .monaco-list-row", has_text=label).first

    def expand(self, view: str, label: str) -> None:
        """Opens a row of a tree, if it is not open already."""

        def is_open() -> bool:
            row = self.row(view, label)
            if row.get_attribute("aria-expanded") == "true":
                return True
            row.click()
            self.page.wait_for_timeout(500)
            return False

        wait_for(is_open, seconds=SECONDS)

    def _pick(self, key: str, text: str, label: str, *, closes: bool = True) -> None:
        """Picks what comes first for some text in the list that a key opens; it has to have a label."""

        entries = ".quick-input-list .monaco-list-row .label-name"

        def first() -> str:
            return next(iter(self.texts(entries)), "")

        def offered() -> bool:
            self._type(key, text)
            with contextlib.suppress(AssertionError):
                wait_for(first, lambda found: _title(found) == _title(label), seconds=3)
                return True
            # What is there later is not offered by itself.
            self.page.keyboard.press("Escape")
            return False

        wait_for(offered, seconds=SECONDS)
        self.page.keyboard.press("Enter")
        if closes:
            wait_for(lambda: self.page.locator(".quick-input-widget").is_hidden(), seconds=SECONDS)

    def _type(self, key: str, text: str) -> None:
        """Types a text into the box that a key opens."""
        box = self.page.locator(".quick-input-widget input.input")

        def typed() -> str:
            if not box.is_visible():
                self.page.keyboard.press(key)
                self.page.wait_for_timeout(200)
            with contextlib.suppress(Error):
                if box.input_value(timeout=1000) != text:
                    box.fill(text, timeout=1000)
                return box.input_value(timeout=1000)
            return ""

        wait_for(typed, lambda found: found == text, SECONDS)


def _texts(found: Locator) -> list[str]:
    script = """all => all.filter(e => e.checkVisibility({visibilityProperty: true}))
      .map(e => [e.getBoundingClientRect().top, e.innerText]).sort((a, b) => a[0] - b[0]).map(each => each[1])"""
    return [plain(text) for text in found.evaluate_all(script)]


def plain(text: str) -> str:
    """Without the spaces that do not break, and the marks without width, which VS Code writes."""
    return re.sub("[\u200b-\u200f\u2060\ufeff]", "", text.replace("\u00a0", " "))


def _title(label: str) -> str:
    """A command without its category."""
    return label.rpartition(": ")[2]


def _begin(texts: list[str], starts: tuple[str, ...]) -> bool:
    return len(texts) == len(starts) and all(map(str.startswith, texts, starts))


def _view(name: str) -> str:
    return f'.pane:has(.pane-header[aria-label^="{name}"])'


def _note_elsewhere(url: str, address: str, elsewhere: list[str]) -> None:
    """Notes an address that is not that of the server."""
    own = (f"http://{address}/", f"ws://{address}/", f"blob:http://{address}/", "data:")
    # VS Code looks for its own extensions in the first; the second never leaves the browser: files for webviews.
    virtual = r"https://[^/]+/vscode/gallery/|https://vscode-remote[^/]*\.vscode-resource\.vscode-cdn\.net/"
    if not url.startswith(own) and not re.match(virtual, url):
        elsewhere.append(url)
