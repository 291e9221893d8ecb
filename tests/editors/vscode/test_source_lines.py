"""The memory of a Python file on its lines, and the ways between it and the dump."""

import os
import shutil
from pathlib import Path

from editors.driving import wait_for
from editors.vscode.memory_map import Map
from editors.vscode.server import SECONDS, file_of
from editors.vscode.window import ENTRIES, OpenWindow, Window
from samples import DUMPS

_LINE = 50
_LABEL = "██▉ 1.53 MiB (36.4 %)"


def program_in(workspace: Path) -> Path:
    """Copy the program into the workspace, as old as a file that the dump was compiled from."""
    path = workspace / "programs" / "programs.py"
    path.parent.mkdir()
    shutil.copy(DUMPS / "programs" / "programs.py", path)
    os.utime(path, (1e9, 1e9))
    return path


def _labels(window: Window) -> list[str]:
    """Return the labels at the ends of the visible lines, which are content of CSS."""
    script = """all => all.filter(e => e.checkVisibility()).map(e => getComputedStyle(e, "::after").content)
      .filter(text => text.includes("iB")).map(text => text.replace(/^"|"$/g, ""))"""
    found: list[str] = window.page.locator(".editor-instance .view-line span").evaluate_all(script)
    return found


def test_lines_of_python_show_their_memory(open_window: OpenWindow, workspace: Path) -> None:
    program = program_in(workspace)
    with open_window(workspace, program) as window:
        window.wait_for_text("Python")
        # No dump is open: those of the workspace are read, and that with the greatest peak counts.
        window.go_to(41)
        wait_for(lambda: _labels(window), lambda found: found == ["█████▋ 3.50 MiB (69.9 %)"], SECONDS)
        wait_for(window.marks, seconds=SECONDS)
        window.command("XLA Lens: Show Advice: What Would Lower the Peak")
        wait_for(window.active_tab, lambda name: name != program.name, SECONDS)
        # The dump that the user opens counts.
        window.open(file_of(workspace, "split", "-live-range"))
        window.wait_for_text("MiB live")
        window.open(program)
        window.go_to(_LINE)
        wait_for(lambda: _labels(window), lambda found: _LABEL in found, SECONDS)
        wait_for(window.status, lambda found: any("2.29 MiB" in text for text in found), SECONDS)
        title = "1.78 MiB of the 4.21 MiB host memory peak · jit_train_step"
        lenses = wait_for(window.lenses, lambda found: title in found, SECONDS)
        assert "Show Memory Map" in lenses
        assert "Clear" in lenses
        text = window.hover()
        assert "1.53 MiB · 36.4 % of the host memory peak · jit_train_step" in text
        assert "live until step" in text
        assert "Called from programs.py:" in text
        window.page.keyboard.press("Escape")
        # A new line above moves the label with its line.
        window.go_to(_LINE, 5)
        wait_for(lambda: window.page.locator(".quick-input-widget").is_hidden(), seconds=SECONDS)
        window.page.keyboard.press("Enter")
        wait_for(window.cursor, lambda place: place[0] == _LINE + 1, SECONDS)
        window.page.wait_for_timeout(1000)
        assert "1.53 MiB · 36.4 %" in window.hover()
        window.page.keyboard.press("Escape")
        # Saved after the dump was written: the label has the time of the dump.
        window.page.keyboard.press("Control+s")
        wait_for(
            lambda: _labels(window), lambda found: any(_LABEL + " · dump of 20" in text for text in found), SECONDS
        )
        # The buffers of the line stand out in the map.
        window.page.locator(".codelens-decoration a", has_text="Show Memory Map").first.click()
        shown = Map(window.page)
        # The map has the focus now.
        window.page.locator(".monaco-editor .view-lines").first.click()
        window.go_to(_LINE + 1)
        wait_for(lambda: shown.eval("map.state.picked?.values?.length ?? 0"), lambda count: count > 0, SECONDS)
        window.go_to(1)
        wait_for(lambda: shown.eval("map.state.picked"), lambda picked: picked is None, SECONDS)
        # And lead into the dump.
        window.go_to(_LINE + 1)
        window.ask("XLA Lens: Show Buffers of This Line")
        # Each entry has the op_name in its second line.
        wait_for(lambda: window.texts(ENTRIES), lambda found: found[::2] == ["dot", "ynn_fusion.1"], SECONDS)
        window.page.keyboard.press("Enter")
        wait_for(window.active_tab, lambda name: name.startswith("module_0000"), SECONDS)
        window.page.locator(".codelens-decoration a", has_text="Clear").first.click()
        wait_for(lambda: _labels(window), lambda found: not found, SECONDS)
