"""The memory map, in a window of VS Code or as a page by itself."""

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
    # It is where the window has found it.
    from playwright.sync_api import Frame, Position


def written_page(dump: Path, folder: Path) -> Path:
    """The page that `xla-lens report` writes for a dump."""
    file = folder / "map.html"
    command: list[str | Path] = [sys.executable, "-m", "xla_lens", "report", dump, "--output-format", "html"]
    with file.open("wb") as page:
        subprocess.run(command, stdout=page, check=True, timeout=SECONDS)
    return file


class Map:
    """The memory map in a page, and what it tells of itself (vscode-extension/map/testHandle.ts)."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self._frame = wait_for(lambda: [frame for frame in page.frames if _has_map(frame)], seconds=SECONDS)[0]

    @classmethod
    @contextlib.contextmanager
    def of_file(cls, browser: Browser, file: Path, **looks: Any) -> "Iterator[Map]":
        """The map in an HTML file, in a browser of its own in which nothing may go wrong."""
        context = browser.new_context(**({"viewport": {"width": 1280, "height": 800}} | looks))
        problems: list[str] = []
        context.on("console", lambda said: problems.append(said.text))
        context.on("weberror", lambda failed: problems.append(str(failed.error)))
        page = context.new_page()
        page.set_default_timeout(SECONDS * 1000)
        try:
            page.goto(file.as_uri())
            yield cls(page)
        finally:
            context.close()
        assert not problems

    def wait_for(self, expression: str, expected: Any) -> None:
        """Waits until an expression gives something."""
        wait_for(lambda: self.tells(expression), lambda told: told == expected, SECONDS)

    def press(self, *keys: str) -> None:
        """Presses keys, where the focus is."""
        for key in keys:
            self.page.keyboard.press(key)

    def find(self, selector: str) -> Locator:
        """Elements of the page, when what was done before has been drawn."""
        self._wait_for_frame()
        return self._frame.locator(selector)

    def _wait_for_frame(self) -> None:
        self._frame.evaluate("new Promise(done => requestAnimationFrame(() => setTimeout(done)))")

    def tells(self, expression: str) -> Any:
        """What an expression gives, such as `map.step`, when what was done before has been drawn."""
        self._wait_for_frame()
        return self._frame.evaluate(f"(map => {expression})(window.xlaLensMap)")

    def value(self, label: str) -> int:
        """The row of the value that has a label; waits for it."""
        search = f"Array.from({{length: 1000}}, (_, value) => map.label(value)).indexOf({json.dumps(label)})"
        return wait_for(lambda: self.tells(search), lambda row: row >= 0, SECONDS)

    def choose(self, control: str, label: str) -> None:
        """Chooses in one of the lists above the pictures, such as `space`."""
        self.find(f'[data-control="{control}"]').select_option(label=label)

    def click(self, label: str) -> None:
        """Clicks on the rectangle of a value."""
        self._picture("values").click(position=self._in_picture("values", *self.point(label)))

    def hover_value(self, label: str) -> str:
        """What is told of a value when the pointer is on its rectangle."""
        return self._hover("values", *self.point(label))

    def hover_step(self, step: int) -> str:
        """What is told of a step when the pointer is on the curve."""
        point = self.tells(f"map.pointOfStep({step})")
        return self._hover("curve", point["x"], point["y"])

    def hover_allocation(self, label: str, step: int) -> str:
        """What is told of the allocation of a value when the pointer is on its bytes, while they are free."""
        return self._hover("values", self.tells(f"map.pointOfStep({step})")["x"], self.point(label)[1])

    def point(self, label: str) -> tuple[Any, Any]:
        """The middle of the rectangle of a value, in the window."""
        box = self.box(label)
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    def box(self, label: str) -> dict[str, float]:
        """The edges of the rectangle of a value, in the window."""
        found: dict[str, float] = self.tells(f"map.boxOf({self.value(label)})")
        return found

    def _hover(self, picture: str, x: float, y: float) -> str:
        self._picture(picture).hover(position=self._in_picture(picture, x, y))
        tooltip = self.find(".tooltip[data-described]")
        tooltip.wait_for()
        return plain(tooltip.inner_text())

    def _picture(self, name: str) -> Locator:
        return self.find(f'canvas[data-picture="{name}"]')

    def _in_picture(self, name: str, x: float, y: float) -> "Position":
        corner = self._picture(name).evaluate("canvas => canvas.getBoundingClientRect()")
        return {"x": x - corner["x"], "y": y - corner["y"]}


def _has_map(frame: "Frame") -> bool:
    # It may be gone meanwhile.
    with contextlib.suppress(Error):
        return frame.evaluate("Boolean(window.xlaLensMap?.isReady)")
    return False
