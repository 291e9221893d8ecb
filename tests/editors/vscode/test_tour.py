"""What a person does on the first day: from the walkthrough to a map that is shared."""

import shutil
from functools import partial
from pathlib import Path

from editors.driving import wait_for
from editors.vscode.memory_map import Map
from editors.vscode.server import SECONDS, file_of
from editors.vscode.window import Browser, OpenWindow
from samples import SPLIT, TPU

_TRUE_PEAK_BYTES = 4419632


def _space(map: Map) -> str:
    """What the map tells of the memory space that it shows."""
    return map.tells("""document.querySelector('[data-control="space"]').selectedOptions[0].text""")


def test_the_walkthrough_and_the_sample(open_window: OpenWindow, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    with open_window(empty, viewport={"width": 1600, "height": 900}) as window:
        window.command("XLA Lens: Focus on XLA Memory View")
        window.page.locator("text=How to Get Dumps").click()
        steps = window.page.locator(".getting-started-step")
        wait_for(steps.count, lambda count: count == 5, SECONDS)
        for number in range(4):
            steps.nth(number).locator(".step-title").click()
            picture = ".getting-started-media img"
            width = f"document.querySelector('{picture}')?.naturalWidth"
            wait_for(partial(window.page.evaluate, width), seconds=SECONDS)
        steps.nth(0).locator(".step-title").click()
        assert "`" not in steps.nth(0).inner_text()
        steps.nth(0).locator("text=Open Sample Dump").click()
        window.wait_for_line("    0:params_0__0_.12.43 MiB live")
        wait_for(window.status, lambda told: " 4.21 MiB peak of 4.22 MiB" in told, SECONDS)


def test_a_map_comes_back_and_keeps_up(open_window: OpenWindow, workspace: Path) -> None:
    file = file_of(workspace, "split", "-live-range")
    with open_window(workspace) as window:
        window.open(file)
        window.wait_for_text("MiB live")
        window.command("XLA Lens: Show Memory Map")
        map = Map(window.page)
        map.click("copy.2")
        # With its allocation, as the cursor is on it now.
        wait_for(lambda: map.tells("map.state.marked"), lambda row: row >= 0, SECONDS)
        map.choose("colours", "source")
        kept = wait_for(lambda: map.tells("map.state"), lambda state: state["colouredBy"] == "source", SECONDS)
        # It is kept a moment later.
        window.page.wait_for_timeout(500)
        window.reload()
        map = Map(window.page)
        assert map.tells("map.state") == kept
        assert _space(map) == "default: 4.21 MiB of 4.22 MiB"
        # Another program writes the file: dot is not live any more where the peak was.
        text = file.read_text().replace("    dot{}:35-37", "    dot{}:37-37")

        def written() -> str:
            # VS Code does not watch the file at once when it has started anew.
            file.write_text(text)
            window.page.wait_for_timeout(2000)
            return _space(map)

        wait_for(written, lambda told: told == "default: 4.06 MiB of 4.22 MiB", SECONDS)
        wait_for(window.status, lambda told: " 4.06 MiB peak of 4.22 MiB" in told, SECONDS)
        assert map.tells("map.state") == kept
        window.wait_for_line("    30:dot.14.06 MiB live ◀ peak")


def test_a_map_is_saved_and_another_file_opened(browser: Browser, open_window: OpenWindow, workspace: Path) -> None:
    file = file_of(workspace, "split", "-live-range")
    with open_window(workspace, file) as window:
        window.wait_for_text("MiB live")
        window.ask("XLA Lens: Save Memory Map as HTML...")
        box = window.page.locator(".quick-input-widget input.input")
        wait_for(box.input_value, lambda path: path.endswith("_optimizations-memory-map.html"), SECONDS)
        window.page.keyboard.press("Enter")
        (saved,) = wait_for(lambda: [*file.parent.glob("*.html")], seconds=SECONDS)
        wait_for(
            window.status, lambda told: any(f"The memory map is in {saved.name}" in text for text in told), SECONDS
        )
        with Map.of_file(browser, saved) as map:
            map.wait_for("map.liveBytes", _TRUE_PEAK_BYTES)
        # The other files of the dump, which is not the page.
        window.ask("XLA Lens: Open Another File of This Dump...")
        labels = ".quick-input-list .monaco-list-row .label-name"
        kinds = ["buffer-assignment", "values", "memory-usage-report", "hlo"]
        wait_for(lambda: window.texts(labels), lambda found: found[::2] == kinds, SECONDS)
        window.take("-values.txt")
        wait_for(window.active_tab, lambda name: name.endswith("-values.txt"), SECONDS)


def test_several_memory_spaces_and_no_schedule(open_window: OpenWindow, tmp_path: Path) -> None:
    """With high contrast, too."""
    folder = tmp_path / "spaces"
    shutil.copytree(TPU.parent, folder / "tpu")
    (folder / "bare").mkdir()
    shutil.copy(SPLIT, folder / "bare")
    with open_window(folder, color_scheme="dark", forced_colors="active") as window:
        window.command("XLA Lens: Focus on XLA Memory View")
        modules = window.has_rows("XLA Memory", "jit_roundtrip", "jit_train_step")
        assert modules == ["jit_roundtrip12.00 MiB", "jit_train_step4.22 MiB reserved"]
        window.expand("XLA Memory", "jit_train_step")
        window.has_rows("XLA Memory", "Memory space 0 default4.22 MiB reserved", "Allocations30 allocations", "Files1")
        window.row("XLA Memory", "jit_train_step").click()
        window.expand("XLA Memory", "jit_roundtrip")
        spaces = ["0 default12.00 MiB at step 8", "1 vmem4.00 MiB at step 1", "2 smem8 B at step 3"]
        spaces += ["5 cmem4.00 MiB at step 3"]
        window.has_rows("XLA Memory", *(f"Memory space {space}" for space in spaces), "Allocations6", "Files5")
        window.row("XLA Memory", "jit_roundtrip").hover()
        window.page.locator('.monaco-list-row .action-label[aria-label^="Show Memory Map"]').first.click()
        map = Map(window.page)
        assert map.tells("document.documentElement.dataset.contrast") == "more"
        assert (_space(map), map.tells("map.drawnCount")) == ("default: 12.00 MiB of 12.05 MiB", 7)
        map.choose("space", "vmem: 4.00 MiB of 4.00 MiB")
        wait_for(lambda: map.tells("[map.color, map.liveBytes]"), lambda told: told == [1, 4 << 20], SECONDS)
