"""Takes the screenshots of the extension's README and walkthrough. `make screenshots` keeps them."""

import os
from pathlib import Path

import pytest

from editors.driving import wait_for
from editors.vscode.memory_map import Map
from editors.vscode.server import SECONDS, file_of
from editors.vscode.window import OpenWindow, Window

_KEPT = os.environ.get("XLA_LENS_SCREENSHOTS")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_screenshots_can_be_taken(open_window: OpenWindow, workspace: Path, tmp_path: Path, scheme: str) -> None:
    folder = Path(_KEPT) if _KEPT else tmp_path / "screenshots"
    folder.mkdir(parents=True, exist_ok=True)
    file = file_of(workspace, "split", "-live-range")

    def keep(window: Window, name: str) -> None:
        window.page.mouse.move(1, 1)
        window.page.wait_for_timeout(500)
        picture = folder / f"{name}-{scheme}.png"
        window.page.screenshot(path=picture, animations="disabled")
        assert picture.stat().st_size > 10_000

    with open_window(workspace, file, color_scheme=scheme) as window:
        window.wait_for_text("MiB live")
        window.command("XLA Lens: Focus on XLA Memory View")
        window.has_rows("XLA Memory", "jit_matmul_bias_relu", "jit_train_step", "001_491faa5ce21a17c6")
        window.expand("XLA Memory", "jit_train_step")
        window.expand("XLA Memory", "Memory space 0 default")
        wait_for(window.cursor, lambda place: place[0] == 39, SECONDS)
        keep(window, "text")
        window.go_to(67, 7)
        window.hover()
        keep(window, "hover")
        window.page.keyboard.press("Escape")
        window.command("View: Toggle Primary Side Bar Visibility")
        window.command("XLA Lens: Show Memory Map")
        Map(window.page)
        keep(window, "map")
