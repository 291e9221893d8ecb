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
        assert problems == []

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

    def details(self) -> str:
        """Return the text of the pane of details."""
        return plain(self.find(".details .content").inner_text())

    def actions(self) -> list[str]:
        """Return the buttons of the pane of details."""
        return self.find(".details .actions button:visible").all_inner_texts()

    def drag_steps(self, first: int, last: int) -> None:
        """Drag over steps of the upper plot."""
        start, end = (self.eval(f"map.pointOfStep({step})") for step in (first, last))
        self.page.mouse.move(start["x"], start["y"])
        self.page.mouse.down()
        self.page.mouse.move(end["x"], end["y"], steps=4)
        self.page.mouse.up()

    def misplaced(self) -> list[str]:
        """Return the parts that overlap, are cut off, or are too small to use."""
        self._wait_for_frame()
        found: list[str] = self._frame.evaluate(_MISPLACED)
        return found

    def _plot(self, name: str) -> Locator:
        return self.find(f'canvas[data-picture="{name}"]')

    def _in_plot(self, name: str, x: float, y: float) -> "Position":
        corner = self._plot(name).evaluate("canvas => canvas.getBoundingClientRect()")
        return {"x": x - corner["x"], "y": y - corner["y"]}


_MISPLACED = """() => {
    const parts = [...document.querySelectorAll(
        "header > :not(label, .searching, .buttons), header select, header input, header button, .head > *, .plot, " +
        ".plot text, .note, .flame, .splitter, aside :is(h2, dt, dd, p, summary, button)")];
    const box = part => {
        let { left, top, right, bottom } = part.getBoundingClientRect();
        for (let outer = part.parentElement; outer; outer = outer.parentElement) {
            if (getComputedStyle(outer).overflowY === "visible") continue;
            const around = outer.getBoundingClientRect();
            [left, top] = [Math.max(left, around.left), Math.max(top, around.top)];
            [right, bottom] = [Math.min(right, around.right), Math.min(bottom, around.bottom)];
        }
        return { left, top, right, bottom };
    };
    const name = part => `${part.tagName} ${part.className.baseVal ?? part.className} ${part.textContent.slice(0, 30)}`;
    const isShown = ({ left, right, top, bottom }) => right - left > 1 && bottom - top > 1;
    const shown = parts.map(part => ({ part, ...box(part) })).filter(isShown);
    const problems = [];
    for (const [index, one] of shown.entries()) {
        for (const other of shown.slice(index + 1)) {
            const isInside = one.part.contains(other.part) || other.part.contains(one.part);
            // The bounds of a text are those of its line, whose room above and below letters stays empty.
            const slack = one.part.tagName === "text" && other.part.tagName === "text" ? 4 : 1;
            const width = Math.min(one.right, other.right) - Math.max(one.left, other.left);
            const height = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
            if (isInside || width <= 1 || height <= slack) continue;
            problems.push(`${name(one.part)} overlaps ${name(other.part)}`);
        }
        if (one.left < -1 || one.right > innerWidth + 1) problems.push(`${name(one.part)} is cut off`);
    }
    for (const text of document.querySelectorAll(".plot text")) {
        const [{ left, right }, plot] = [text.getBoundingClientRect(), text.closest(".plot").getBoundingClientRect()];
        if (left < plot.left - 1 || right > plot.right + 1) problems.push(`${name(text)} is cut off`);
    }
    for (const line of document.querySelectorAll("header output, .head label, .head button")) {
        if (line.scrollWidth > line.clientWidth + 1 && line.clientWidth) problems.push(`${name(line)} is cut off`);
    }
    for (const plot of document.querySelectorAll(".plot:not([hidden])")) {
        const { width, height } = plot.getBoundingClientRect();
        if (height && (height < 200 || width < 200)) problems.push(`${name(plot)} has ${width} x ${height} pixels`);
    }
    return [...new Set(problems)];
}"""


def _has_map(frame: "Frame") -> bool:
    # The frame may have been removed meanwhile.
    with contextlib.suppress(Error):
        return frame.evaluate("Boolean(window.xlaLensMap?.isReady)")
    return False
