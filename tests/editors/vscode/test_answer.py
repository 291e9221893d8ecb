"""The answer page: what fits, what takes the memory and what to do, with buttons for everything else."""

import os
import shutil
from pathlib import Path

from editors.driving import wait_for
from editors.vscode.server import SECONDS
from editors.vscode.window import OpenWindow, Window
from samples import TPU

_MESSAGE = (
    "RESOURCE_EXHAUSTED: E1000: CompileTimeHbmOom: Ran out of memory on HBM, the total memory required for HLO "
    "temporaries (12.05M) exceeds available HBM (10.00M). HLO module: jit_roundtrip."
)


def _tabs(window: Window) -> list[str]:
    return window.texts(".tabs-container .tab .label-name")


def test_status_bar_leads_to_the_answer_and_that_to_everything(open_window: OpenWindow, tmp_path: Path) -> None:
    shutil.copytree(TPU.parent, tmp_path / "work" / "dumps")
    log = tmp_path / "work" / "dumps" / "error.txt"
    log.write_text(f"step 1\n{_MESSAGE}\n")
    with open_window(tmp_path / "work", tmp_path / "work" / "dumps" / TPU.name, viewport=_SMALL) as window:
        wait_for(window.status, lambda texts: any("12.05 MiB of 10.00 MiB HBM" in text for text in texts), SECONDS)
        window.page.locator(".statusbar-item", has_text="12.05 MiB").click()
        wait_for(window.active_tab, lambda name: name == "jit_roundtrip-answer.md", SECONDS)
        window.on_page("p", "does not fit the device: 2.05 MiB too much")
        _keep(window, "answer")
        # The first action is in view in a small window.
        action = window.on_page("td", "1.")
        box = action.bounding_box()
        assert box
        assert box["y"] < _SMALL["height"]
        window.on_page("a.button", "Flame Graph").click()
        wait_for(lambda: _tabs(window), lambda tabs: "Memory Map: jit_roundtrip" in tabs, SECONDS)
        window.on_page(".flame button", "HBM peak")
        _keep(window, "flame")
        window.on_page("a.button", "Advice").click()
        wait_for(window.active_tab, lambda name: name == "jit_roundtrip-advice.md", SECONDS)
        # The page about a log has the same buttons, which are about its dump.
        window.open(log)
        window.command("XLA Lens: Explain Out-of-Memory Message (OOM)")
        wait_for(window.active_tab, lambda name: name == "error.txt-explained.md", SECONDS)
        window.on_page("h1", "HBM ran out when XLA compiled jit_roundtrip")
        window.on_page("a.button", "Answer").click()
        wait_for(window.active_tab, lambda name: name == "jit_roundtrip-answer.md", SECONDS)


_SMALL = {"width": 1024, "height": 768}


def _keep(window: Window, name: str) -> None:
    """Take a screenshot to look at if the environment names a folder for it."""
    if folder := os.environ.get("XLA_LENS_PICTURES"):
        window.page.screenshot(path=f"{folder}/{name}.png")
