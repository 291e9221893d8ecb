"""Takes the screenshots of both READMEs and of the walkthrough of the extension. `make screenshots` keeps them."""

import hashlib
import os
import re
import tarfile
from pathlib import Path

import pytest

from editors.driving import wait_for
from editors.vscode.memory_map import Map, written_page
from editors.vscode.server import SECONDS, file_of
from editors.vscode.test_source_lines import program_in
from editors.vscode.window import Browser, OpenWindow, Window
from samples import ROOT, SHARED_DUMPS

_IS_KEPT = bool(os.environ.get("XLA_LENS_SCREENSHOTS"))

_LLAMA = SHARED_DUMPS / "big" / "tpu-v5p-big-libtpu0.0.51--llama3_8b_unroll_L32.tar.xz"
_LLAMA_STATE = "colorBy=%22source%22&steps=%5B600%2C9600%5D"
"""Colored by source; the forward and the backward pass fill the plots."""

_MAX_README_BYTES = 300_000


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_screenshots_can_be_taken(open_window: OpenWindow, workspace: Path, tmp_path: Path, scheme: str) -> None:
    folder = _folder("vscode-extension/media/screenshots", tmp_path)
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
        window.has_rows(
            "XLA Memory", "5.00 MiB jit_matmul_bias_relu", "4.21 MiB jit_train_step", "580.0 KiB 001_491faa5ce21a17c6"
        )
        window.expand("XLA Memory", "jit_train_step")
        window.expand("XLA Memory", "MiB host memory")
        window.has_rows("XLA Memory", "By source line", "1.53 MiB programs.py:50")
        window.command("XLA Lens: Go to Real Peak")
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


@pytest.mark.skipif(not _LLAMA.exists(), reason=f"needs {_LLAMA}: set XLA_LENS_DUMPS to the collection of dumps")
def test_screenshot_of_the_memory_map_of_llama(browser: Browser, tmp_path: Path) -> None:
    with tarfile.open(_LLAMA) as archive:
        archive.extractall(tmp_path, filter="data")
    (dump,) = tmp_path.glob("*/*/module_0000*-live-range.txt")
    page = written_page(dump, tmp_path)
    picture = _folder("docs/images", tmp_path) / "memory-map.png"
    looks = {"viewport": {"width": 1120, "height": 780}, "device_scale_factor": 1.3, "color_scheme": "light"}
    with Map.of_file(browser, page, fragment=_LLAMA_STATE, **looks) as map:
        assert map.eval("map.state.colorBy") == "source"
        map.page.screenshot(path=picture, animations="disabled")
        text = map.page.inner_text("body")
    assert 10_000 < picture.stat().st_size < _MAX_README_BYTES
    # By this, a test tells whether the picture is older than the report below it.
    needed, live = (re.search(rf"\b{name}\s+(\S+ GiB)", text) for name in ("needed", "live"))
    assert needed
    assert live
    digest = hashlib.sha256(picture.read_bytes()).hexdigest()
    picture.with_suffix(".txt").write_text(f"{digest}\nneeds {needed[1]}, peak {live[1]}\n", encoding="utf-8")


def test_screenshot_of_a_python_file(open_window: OpenWindow, workspace: Path, tmp_path: Path) -> None:
    picture = _folder("docs/images", tmp_path) / "python-lines.png"
    program = program_in(workspace)
    with open_window(workspace, file_of(workspace, "split", "-live-range"), color_scheme="light") as window:
        window.wait_for_text("MiB live")
        window.open(program)
        window.command("XLA Lens: Show Memory on Source Lines")
        window.command("View: Toggle Primary Side Bar Visibility")
        window.go_to(50)
        wait_for(
            window.lenses, lambda found: any("of the 4.21 MiB host memory peak" in lens for lens in found), SECONDS
        )
        assert "Called from programs.py:" in window.hover()
        window.page.screenshot(path=picture, animations="disabled")
    assert 10_000 < picture.stat().st_size < _MAX_README_BYTES


def _folder(name: str, tmp_path: Path) -> Path:
    """Return a folder of the project if the screenshots are kept, else one that is thrown away."""
    folder = (ROOT if _IS_KEPT else tmp_path) / name
    folder.mkdir(parents=True, exist_ok=True)
    return folder
