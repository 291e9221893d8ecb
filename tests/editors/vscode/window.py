"""Drives windows of VS Code in a headless browser that reaches only the server."""

import contextlib
import itertools
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

# Playwright is installed with the editors, not among the development dependencies.
site.addsitedir(sysconfig.get_path("purelib", vars={"base": str(ROOT / ".venv-editors")}))

from playwright.sync_api import Browser, Error, Frame, Keyboard, Locator, Page, sync_playwright

_LOOKS = {"viewport": {"width": 1280, "height": 800}, "color_scheme": "light", "reduced_motion": "reduce"}

OpenWindow: TypeAlias = Callable[..., contextlib.AbstractContextManager["Window"]]
"""The type of the fixture `open_window`, which opens a folder, and optionally a file in it, in a window."""

_ACTIVE = ".editor-group-container.active"


@contextlib.contextmanager
def browsing() -> Iterator[Browser]:
    """Return a browser that reaches only loopback."""
    program = os.environ.get("CHROMIUM", "chromium")
    found = shutil.which(program)
    assert found, f"{program} is missing: `make test-editors` installs it"
    with sync_playwright() as playwright:
        rules = "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1"
        browser = playwright.chromium.launch(executable_path=found, args=[rules])
        yield browser
        browser.close()


ACTIONS: tuple[tuple[type, str], ...] = (
    *((Locator, name) for name in ("click", "dblclick", "drag_to", "fill")),
    (Keyboard, "press"),
)
"""The methods by which tests click, press keys and enter texts."""

ENTRIES = ".quick-input-list .monaco-list-row .label-name"
"""The labels in the list that is open."""


class Window:
    """A window of VS Code."""

    def __init__(self, page: Page, server: VSCode) -> None:
        self.page = page
        self.server = server

    def on_page(self, selector: str, text: str = "") -> Locator:
        """Wait for an element of a rendered page, and return it."""

        def found() -> list[Locator]:
            every = []
            for frame in self.page.frames:
                # A page that is replaced has no frame for a moment.
                with contextlib.suppress(Error):
                    one = frame.locator(selector, has_text=text)
                    every += [one.first] if one.count() else []
            return every

        return wait_for(found, seconds=SECONDS)[-1]

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
        """Open a folder, and optionally a file in it.

        `paths` are additional entries of the payload, `functions` are exposed to the page. After a failure, a
        screenshot and the logs are in `traces`.
        """
        context = browser.new_context(**(_LOOKS | looks))
        elsewhere: list[str] = []
        context.on("request", lambda request: _note_elsewhere(request.url, server.address, elsewhere))
        page = context.new_page()
        page.set_default_timeout(SECONDS * 1000)
        for name, function in (functions or {}).items():
            page.expose_function(name, function)
        entries = {**(paths or {}), **({"openFile": file} if file else {})}
        payload = [[name, f"vscode-remote://{server.address}{quote(str(path))}"] for name, path in entries.items()]
        window = cls(page, server)
        try:
            page.goto(f"http://{server.address}/?folder={quote(str(folder))}&payload={quote(json.dumps(payload))}")
            page.wait_for_selector(".monaco-workbench .statusbar-item", state="attached")
            if file:
                # An editor that opens takes the keyboard, also from the palette, whose text would end in the file.
                page.wait_for_selector(f"{_ACTIVE} .editor-instance :focus", state="attached")
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
            failure.add_note(f"Screenshot: {traces / 'failure.png'}")
            failure.add_note(f"The text of the window ends with:\n{self.text()[-2000:]}")
        log = self.server.extension_log()
        (traces / "extension.log").write_text(log)
        shutil.copy(self.server.log, traces / "server.log")
        failure.add_note(f"The log of the extension (complete in {traces}) ends with:\n{log[-2000:]}")

    # ------------------------------------------------------------ visible content

    @property
    def box(self) -> Locator:
        """The box for the palette's commands, names of files and other short inputs."""
        return self.page.locator(".quick-input-widget input.input")

    def text(self) -> str:
        """Return all text of the window."""
        return plain(self.page.evaluate("document.body.innerText"))

    def wait_for_text(self, text: str) -> None:
        """Wait until the window contains a text."""
        wait_for(self.text, lambda shown: text in shown, SECONDS)

    def texts(self, selector: str) -> list[str]:
        """Return the texts of all visible elements, from top to bottom."""
        return _texts(self.page.locator(selector))

    def lines(self) -> list[str]:
        """Return the visible lines of text with their inlay hints."""
        return self.texts(".editor-instance .view-line")

    def wait_for_line(self, line: str) -> None:
        """Wait until a line of text is visible."""
        wait_for(self.lines, lambda lines: line in lines, SECONDS)

    def lenses(self) -> list[str]:
        """Return the visible code lenses."""
        return self.texts(f"{_ACTIVE} .codelens-decoration a")

    def tabs(self) -> list[str]:
        """Return the names of all tabs."""
        return self._names(".tabs-container .tab")

    def active_tab(self) -> str:
        """Return the name of the active tab in the active group."""
        return next(iter(self._names(f"{_ACTIVE} .tab.active")), "")

    def _names(self, selector: str) -> list[str]:
        return self.page.locator(selector).evaluate_all("all => all.map(e => e.dataset.resourceName ?? e.ariaLabel)")

    def status(self) -> list[str]:
        """Return the texts of the status bar."""
        return [text for text in self.texts(".statusbar-item") if text]

    def marks(self) -> int:
        """Return how many lines have a mark of heat in the gutter."""
        marks = self.page.locator(".margin-view-overlays .cgmr, .glyph-margin-widgets .cgmr")
        images = "all => all.filter(e => getComputedStyle(e).backgroundImage.includes('svg')).length"
        count: int = marks.evaluate_all(images)
        return count

    def cursor(self) -> tuple[int, int]:
        """Return the line and the column of the cursor from the status bar; zeros while it does not show them."""
        found = re.search(r"Ln (\d+), Col (\d+)", "\n".join(self.status()))
        return (int(found[1]), int(found[2])) if found else (0, 0)

    def notices(self) -> list[str]:
        """Return the visible notifications."""
        return self.texts(".notifications-toasts .notification-list-item-message")

    def rows(self, view: str) -> list[str]:
        """Return the visible rows of a tree, in the view whose name starts with `view`."""
        rows = self.texts(f"{_view(view)} .monaco-list-row")
        return [" ".join(text.split()) for text in rows]

    # ------------------------------------------------------------ actions

    def command(self, title: str) -> None:
        """Run a command from the palette."""
        self._pick("F1", f">{title}", title)

    def ask(self, title: str) -> None:
        """Run a command from the palette that asks for further input."""
        self._pick("F1", f">{title}", title, closes=False)

    def offered(self, words: str) -> list[str]:
        """Return the commands that the palette offers for some words."""
        self._type("F1", f">{words}")
        found = wait_for(
            lambda: self.texts(ENTRIES), lambda entries: any("XLA Lens" in one for one in entries), SECONDS
        )
        self.page.keyboard.press("Escape")
        return [entry.partition("\n")[0] for entry in found]

    def take(self, label: str) -> None:
        """Choose an entry of the open list by its label."""
        self.page.locator(".quick-input-list .monaco-list-row", has_text=label).first.click()

    def reload(self) -> None:
        """Reload the window."""
        with self.page.expect_navigation():
            self.ask("Developer: Reload Window")

    def tab_to(self, selector: str, text: str = "") -> None:
        """Press Tab until an element has the focus, as those do who have no mouse."""
        self.on_page(selector, text)
        for _ in range(_MOST_TABS):
            self.page.keyboard.press("Tab")
            if any(_has_focus(frame, selector, text) for frame in self.page.frames):
                return
        raise AssertionError(f"{_MOST_TABS} times Tab do not lead to {selector} {text}")

    def arrow_to(self, view: str, label: str) -> None:
        """Press the arrow key in a tree that has the focus until a row with a text is reached. While dumps are found,
        rows move: the search begins again at the first one.
        """
        focused = self.page.locator(f"{_view(view)} .monaco-list-row.focused", has_text=label)
        keys = itertools.cycle(["Home", *["ArrowDown"] * 12])

        def is_there() -> bool:
            if focused.count():
                return True
            self.page.keyboard.press(next(keys))
            return False

        wait_for(is_there, seconds=SECONDS)

    def open(self, path: Path) -> None:
        """Open a file by its path."""

        def opened() -> bool:
            # The labels of dumps are not the names of their files: the list is the one for this path once it changes.
            self._type("Control+p", "")
            self.page.wait_for_timeout(500)
            before = self.texts(ENTRIES)
            self._type("Control+p", str(path))
            with contextlib.suppress(AssertionError):
                wait_for(lambda: self.texts(ENTRIES), lambda entries: entries and entries != before, seconds=3)
            self.page.wait_for_timeout(300)
            with contextlib.suppress(AssertionError, Error):
                self._enter()
                wait_for(self.active_tab, lambda name: name == path.name, seconds=5)
                return True
            return False

        wait_for(opened, seconds=SECONDS)

    def go_to(self, line: int, column: int = 1) -> None:
        """Move the cursor in the active editor."""

        def moved() -> bool:
            self._type("Control+g", f":{line}:{column}")
            with contextlib.suppress(AssertionError, Error):
                wait_for(lambda: self.texts(ENTRIES), lambda found: str(line) in "".join(found[:1]), seconds=3)
                self._enter()
                wait_for(self.cursor, lambda found: found == (line, column), seconds=3)
                return True
            return False

        wait_for(moved, seconds=SECONDS)

    def hover(self) -> str:
        """Return the hover at the cursor."""

        def shown() -> str:
            texts = self.texts(".monaco-editor .monaco-hover .hover-contents")
            if not texts:
                self.page.keyboard.press("Control+k")
                self.page.keyboard.press("Control+i")
                self.page.wait_for_timeout(500)
            return "\n".join(texts)

        return wait_for(shown, lambda text: text and "Loading..." not in text, SECONDS)

    def has_rows(self, view: str, *starts: str) -> list[str]:
        """Wait until a tree has rows with these starts, in this order, and return those."""

        def found() -> list[str]:
            return [row for row in self.rows(view) if row.startswith(starts)]

        return wait_for(found, lambda rows: _begin(rows, starts), SECONDS)

    def row(self, view: str, label: str) -> Locator:
        """Return a row of a tree by a part of its text."""
        return self.page.locator(f"{_view(view)} .monaco-list-row", has_text=label).first

    def expand(self, view: str, label: str) -> None:
        """Expand a row of a tree unless it is expanded."""

        def is_open() -> bool:
            row = self.row(view, label)
            if row.get_attribute("aria-expanded") == "true":
                return True
            row.click()
            self.page.wait_for_timeout(500)
            return False

        wait_for(is_open, seconds=SECONDS)

    def choose(self, view: str, row: str, label: str) -> None:
        """Choose an entry of the context menu of a row. Opens the menu again if it lacks the entry, because the command
        before has not enabled it yet, or if a refresh of the view has closed it.
        """
        entry = self.page.locator(".context-view .action-label", has_text=label).first

        def chosen() -> bool:
            with contextlib.suppress(Error):
                self.row(view, row).click(button="right", timeout=3000)
                entry.wait_for(timeout=3000)
                # VS Code ignores a click directly after the one that opened the menu.
                self.page.wait_for_timeout(500)
                entry.click(timeout=3000)
                entry.wait_for(state="detached", timeout=3000)
                return True
            self.page.keyboard.press("Escape")
            return False

        wait_for(chosen, seconds=SECONDS)

    def _pick(self, key: str, text: str, label: str, *, closes: bool = True) -> None:
        """Choose the first entry for a text in the list that a key opens, once it has the label."""

        def first() -> str:
            return next(iter(self.texts(ENTRIES)), "")

        def chosen() -> bool:
            self._type(key, text)
            with contextlib.suppress(AssertionError, Error):
                wait_for(first, lambda found: _title(found) == _title(label), seconds=3)
                self._enter()
                return True
            # The list does not add entries that become available later.
            self.page.keyboard.press("Escape")
            return False

        wait_for(chosen, seconds=SECONDS)
        if closes:
            wait_for(lambda: self.page.locator(".quick-input-widget").is_hidden(), seconds=SECONDS)

    def _type(self, key: str, text: str) -> None:
        """Enter a text into the box that a key opens, and nowhere else: an editor may take the keyboard meanwhile."""
        enter = "(box, text) => { box.value = text; box.dispatchEvent(new Event('input', {bubbles: true})) }"

        def typed() -> str:
            if not self.box.is_visible():
                self.page.keyboard.press(key)
                self.page.wait_for_timeout(200)
            with contextlib.suppress(Error):
                if self.box.input_value(timeout=1000) != text:
                    self.box.evaluate(enter, text, timeout=1000)
                return self.box.input_value(timeout=1000)
            return ""

        wait_for(typed, lambda found: found == text, SECONDS)

    def _enter(self) -> None:
        """Accept what is in the box; an error if an editor or a view that took the keyboard has closed it, which would
        get the key.
        """
        self.box.focus(timeout=1000)
        if not self.box.evaluate("box => box === document.activeElement", timeout=1000):
            raise Error("The box has been closed.")
        self.page.keyboard.press("Enter")


_MOST_TABS = 60
"""How often a user would press Tab at most."""


def _has_focus(frame: Frame, selector: str, text: str) -> bool:
    # The frame may be replaced meanwhile.
    with contextlib.suppress(Error):
        focused = frame.locator(f"{selector}:focus", has_text=text)
        return bool(focused.count())
    return False


def _texts(found: Locator) -> list[str]:
    script = """all => all.filter(e => e.checkVisibility({visibilityProperty: true}))
      .map(e => [e.getBoundingClientRect().top, e.innerText]).sort((a, b) => a[0] - b[0]).map(each => each[1])"""
    return [plain(text) for text in found.evaluate_all(script)]


def plain(text: str) -> str:
    """Return a text without the non-breaking spaces and zero-width characters that VS Code adds."""
    return re.sub("[\u200b-\u200f\u2060\ufeff]", "", text.replace("\u00a0", " "))


def _title(label: str) -> str:
    """Return the title of a command without its category."""
    return label.rpartition(": ")[2]


def _begin(texts: list[str], starts: tuple[str, ...]) -> bool:
    return len(texts) == len(starts) and all(map(str.startswith, texts, starts))


def _view(name: str) -> str:
    return f'.pane:has(.pane-header[aria-label^="{name}"])'


def _note_elsewhere(url: str, address: str, elsewhere: list[str]) -> None:
    """Record a request that does not go to the server."""
    own = (f"http://{address}/", f"ws://{address}/", f"blob:http://{address}/", "data:")
    # The first is the gallery of VS Code's own extensions. The second serves webviews, and never leaves the browser.
    virtual = r"https://[^/]+/vscode/gallery/|https://vscode-remote[^/]*\.vscode-resource\.vscode-cdn\.net/"
    if not url.startswith(own) and not re.match(virtual, url):
        elsewhere.append(url)
