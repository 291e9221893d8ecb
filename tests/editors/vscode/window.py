"""Windows of VS Code, in a browser that nobody looks at, and that reaches no address but that of the server."""

import contextlib
import json
import os
import re
import shutil
import site
import sysconfig
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from editors.driving import wait_for
from editors.vscode.server import SECONDS, VSCode
from samples import ROOT

# It is with the editors, not with what most tests need.
site.addsitedir(sysconfig.get_path("purelib", vars={"base": str(ROOT / ".venv-editors")}))

from playwright.sync_api import Browser, Page, sync_playwright


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
        address: str,
        folder: Path,
        file: Path | None = None,
        *,
        payload: Mapping[str, str] | None = None,
        functions: Mapping[str, Callable[..., Any]] | None = None,
        pictures: Path | None = None,
        **options: Any,
    ) -> "Iterator[Window]":
        """A window on a folder, and on a file in it. A failure leaves a picture of it and its logs in a folder."""
        size = {"width": 1280, "height": 800}
        context = browser.new_context(
            **({"viewport": size, "color_scheme": "light", "reduced_motion": "reduce"} | options)
        )
        elsewhere: list[str] = []
        context.on("request", lambda request: _note_elsewhere(request.url, address, elsewhere))
        page = context.new_page()
        page.set_default_timeout(SECONDS * 1000)
        for name, function in (functions or {}).items():
            page.expose_function(name, function)
        remote = f"vscode-remote://{address}"
        pairs = [*((name, value.replace("REMOTE", remote)) for name, value in (payload or {}).items())]
        if file:
            pairs.append(("openFile", f"{remote}{quote(str(file))}"))
        window = cls(page, server)
        try:
            page.goto(f"http://{address}/?folder={quote(str(folder))}&payload={quote(json.dumps(pairs))}")
            page.wait_for_selector(".monaco-workbench .statusbar-item", state="attached")
            yield window
        except BaseException as failure:
            window._tell(failure, pictures)
            raise
        finally:
            context.close()
        # The galleries of extensions and of models, which it asks in vain.
        assert not elsewhere, elsewhere

    def _tell(self, failure: BaseException, pictures: Path | None) -> None:
        if pictures:
            with contextlib.suppress(Exception):
                self.page.screenshot(path=pictures / "failure.png")
                failure.add_note(f"What it looked like: {pictures / 'failure.png'}")
        with contextlib.suppress(Exception):
            failure.add_note(f"The window showed at the end:\n{self.text()[-3000:]}")
        log = self.server.extension_log()
        if pictures:
            (pictures / "extension.log").write_text(log)
            shutil.copy(self.server.log, pictures / "server.log")
        failure.add_note(f"The log of the extension at the end:\n{log[-3000:]}")

    # ------------------------------------------------------------ what a person sees

    def text(self) -> str:
        """All text of the window."""
        return _plain(self.page.evaluate("document.body.innerText"))

    def wait_for_text(self, text: str) -> None:
        """Waits until a text is somewhere in the window."""
        wait_for(self.text, lambda shown: text in shown, SECONDS)

    def texts(self, selector: str) -> list[str]:
        """The texts of all elements that a selector finds and a person can see."""
        script = "all => all.filter(e => e.offsetParent !== null).map(e => e.innerText)"
        return [_plain(text) for text in self.page.locator(selector).evaluate_all(script)]

    def lines(self) -> list[str]:
        """The lines of the text in the active editor that are on the screen, with the hints in them."""
        script = """all => all.map(e => [e.getBoundingClientRect().top, e.textContent]).sort((a, b) => a[0] - b[0])
          .map(([_, text]) => text)"""
        editor = ".editor-group-container.active .editor-instance .view-line"
        return [_plain(text) for text in self.page.locator(editor).evaluate_all(script)]

    def wait_for_line(self, line: str) -> None:
        """Waits until a line of the active editor looks so."""
        wait_for(self.lines, lambda lines: line in lines, SECONDS)

    def lenses(self) -> list[str]:
        """The code lenses on the screen."""
        return self.texts(".editor-group-container.active .codelens-decoration > a")

    def tabs(self) -> list[str]:
        """The names on the tabs."""
        return self._names(".tabs-container .tab")

    def active_tab(self) -> str:
        """The name on the tab in front, in the group that has the focus."""
        return (self._names(".editor-group-container.active .tab.active") or [""])[0]

    def _names(self, selector: str) -> list[str]:
        return self.page.locator(selector).evaluate_all("all => all.map(e => e.dataset.resourceName)")

    def status(self) -> list[str]:
        """What the status bar tells."""
        return [text for text in self.texts(".statusbar-item") if text]

    def cursor(self) -> tuple[int, int]:
        """The line and the column of the cursor, as the status bar tells them; zeros while it does not."""
        found = re.search(r"Ln (\d+), Col (\d+)", "\n".join(self.status()))
        return (int(found[1]), int(found[2])) if found else (0, 0)

    def notices(self) -> list[str]:
        """The notices that are on the screen."""
        return self.texts(".notifications-toasts .notification-list-item-message")

    def rows(self, view: str) -> list[str]:
        """The rows of a tree that are on the screen, by the label that the tree has for screen readers."""
        rows = self.page.locator(f'[role="tree"][aria-label="{view}"] .monaco-list-row')
        script = """all => all.map(e => [e.getBoundingClientRect().top, e.innerText]).sort((a, b) => a[0] - b[0])
          .map(([_, text]) => text)"""
        return [" ".join(_plain(text).split()) for text in rows.evaluate_all(script)]

    # ------------------------------------------------------------ what a person does

    def command(self, title: str) -> None:
        """Runs a command from the palette."""
        self._pick("F1", ">", title, title)

    def open(self, path: Path) -> None:
        """Opens a file by its path."""
        self._pick("Control+p", "", str(path), path.name)
        wait_for(self.active_tab, lambda name: name == path.name, SECONDS)

    def _pick(self, key: str, before: str, text: str, label: str) -> None:
        entries = ".quick-input-widget .quick-input-list .monaco-list-row"

        def offer() -> list[str]:
            box = self.page.locator(".quick-input-widget input.input")
            if not box.is_visible():
                self.page.keyboard.press(key)
            with contextlib.suppress(Exception):
                if box.input_value(timeout=2000) != before + text:
                    box.fill(before + text, timeout=2000)
            return self.texts(f"{entries} .label-name")

        wait_for(
            offer, lambda found: bool(found) and found[0].rpartition(": ")[2] == label.rpartition(": ")[2], SECONDS
        )
        self.page.keyboard.press("Enter")
        wait_for(lambda: self.page.locator(".quick-input-widget").is_hidden(), seconds=SECONDS)

    def go_to(self, line: int, column: int = 1) -> None:
        """Puts the cursor somewhere."""

        def ask() -> str:
            box = self.page.locator(".quick-input-widget input.input")
            if not box.is_visible():
                self.page.keyboard.press("Control+g")
            with contextlib.suppress(Exception):
                box.fill(f":{line}:{column}", timeout=2000)
                return box.input_value(timeout=2000)
            return ""

        wait_for(ask, lambda asked: asked == f":{line}:{column}", SECONDS)
        self.page.keyboard.press("Enter")
        wait_for(self.cursor, lambda found: found == (line, column), SECONDS)

    def hover(self) -> str:
        """What is told of the place of the cursor."""
        box = ".monaco-editor .monaco-hover:not(.hidden) .hover-contents"
        end = time.monotonic() + SECONDS
        while not (shown := [text for text in self.texts(box) if "Loading..." not in text]):
            assert time.monotonic() < end, "no hover"
            if not self.page.locator(box).first.is_visible():
                self.page.keyboard.press("Control+k")
                self.page.keyboard.press("Control+i")
            self.page.wait_for_timeout(300)
        return "\n".join(shown)


def _plain(text: str) -> str:
    """What VS Code writes with spaces that do not break, and marks that have no width."""
    return re.sub("[\u200b-\u200f\u2060\ufeff]", "", text.replace("\u00a0", " "))


def _note_elsewhere(url: str, address: str, elsewhere: list[str]) -> None:
    """Notes an address that is not that of the server."""
    known = (f"http://{address}/", f"ws://{address}/", f"blob:http://{address}/", "data:", "vscode-webview:")
    # VS Code itself asks for extensions there, whether or not one is installed.
    if not url.startswith((*known, "https://open-vsx.org/")):
        elsewhere.append(url)
