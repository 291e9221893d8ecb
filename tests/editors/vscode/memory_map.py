"""Drives the memory map, in a window of VS Code or as a standalone page."""

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from editors.driving import wait_for
from editors.vscode.server import SECONDS
from editors.vscode.window import Browser, Error, Locator, Page, plain

if TYPE_CHECKING:
    from playwright.sync_api import Frame, Position


def written_page(dump: Path, folder: Path, *others: Path) -> Path:
    """Write the HTML page of one or more dumps with `xla-lens report`."""
    file = folder / "map.html"
    command: list[str | Path] = [sys.executable, "-m", "xla_lens", "report", dump, *others, "--output-format", "html"]
    with file.open("wb") as page:
        subprocess.run(command, stdout=page, check=True, timeout=SECONDS)
    return file


class Map:
    """The memory map in a page, read through its test handle (vscode-extension/map/testHandle.ts)."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self._frame = wait_for(lambda: [frame for frame in page.frames if _has_map(frame)], seconds=SECONDS)[0]

    @classmethod
    @contextlib.contextmanager
    def of_file(cls, browser: Browser, file: Path, fragment: str = "", **looks: Any) -> "Iterator[Map]":
        """Open an HTML file in a browser context of its own, with a saved state as fragment of its URL.

        Any message on the console is a failure.
        """
        context = browser.new_context(**({"viewport": {"width": 1280, "height": 800}} | looks))
        problems: list[str] = []
        context.on("console", lambda message: problems.append(message.text))
        context.on("weberror", lambda failure: problems.append(str(failure.error)))
        page = context.new_page()
        page.set_default_timeout(SECONDS * 1000)
        try:
            page.goto(f"{file.as_uri()}#{fragment}")
            yield cls(page)
        finally:
            context.close()
        assert not problems

    def wait_for(self, expression: str, expected: Any) -> None:
        """Wait until an expression has a value."""
        wait_for(lambda: self.eval(expression), lambda value: value == expected, SECONDS)

    def press(self, *keys: str) -> None:
        """Press keys."""
        for key in keys:
            self.page.keyboard.press(key)

    def find(self, selector: str) -> Locator:
        """Return elements of the page, after pending changes have been drawn."""
        self._wait_for_frame()
        return self._frame.locator(selector)

    def _wait_for_frame(self) -> None:
        self._frame.evaluate("new Promise(done => requestAnimationFrame(() => setTimeout(done)))")

    def eval(self, expression: str) -> Any:
        """Return the value of an expression such as `map.step`, after pending changes have been drawn."""
        self._wait_for_frame()
        return self._frame.evaluate(f"(map => {expression})(window.xlaLensMap)")

    def value(self, label: str) -> int:
        """Wait for a value by its label, and return its row."""
        search = f"Array.from({{length: 1000}}, (_, value) => map.label(value)).indexOf({json.dumps(label)})"
        return wait_for(lambda: self.eval(search), lambda row: row >= 0, SECONDS)

    def choose(self, control: str, label: str) -> None:
        """Choose an option in a list of the toolbar, such as `space`."""
        self.find(f'[data-control="{control}"]').select_option(label=label)

    def click(self, label: str) -> None:
        """Click the rectangle of a value."""
        self._plot("values").click(position=self._in_plot("values", *self.point(label)))

    def double_click(self, label: str) -> None:
        """Double-click the rectangle of a value."""
        self._plot("values").dblclick(position=self._in_plot("values", *self.point(label)))

    def point(self, label: str) -> tuple[Any, Any]:
        """Return the center of the rectangle of a value, in window coordinates."""
        box = self.box(label)
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    def box(self, label: str) -> dict[str, float]:
        """Return the bounds of the rectangle of a value, in window coordinates."""
        found: dict[str, float] = self.eval(f"map.boxOf({self.value(label)})")
        return found

    def _hover(self, picture: str, x: float, y: float) -> str:
        self._plot(picture).hover(position=self._in_plot(picture, x, y))
        pane = self.find(".details[data-described] .content")
        pane.wait_for()
        return plain(pane.inner_text())

    def details(self) -> str:
        """Return the text of the pane of details."""
        return plain(self.find(".details .content").inner_text())

    def actions(self) -> list[str]:
        """Return the buttons of the pane of details."""
        return self.find(".details .actions button:visible").all_inner_texts()

    def _plot(self, name: str) -> Locator:
        return self.find(f'canvas[data-picture="{name}"]')

    def _in_plot(self, name: str, x: float, y: float) -> "Position":
        corner = self._plot(name).evaluate("canvas => canvas.getBoundingClientRect()")
        return {"x": x - corner["x"], "y": y - corner["y"]}


def _has_map(frame: "Frame") -> bool:
    # The frame may have been removed meanwhile.
    with contextlib.suppress(Error):
        return frame.evaluate("Boolean(window.xlaLensMap?.isReady)")
    return False
