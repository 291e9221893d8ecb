"""A tour from the walkthrough to a shared map."""

from functools import partial
from pathlib import Path

from editors.driving import wait_for
from editors.vscode.memory_map import Map
from editors.vscode.server import SECONDS, file_of
from editors.vscode.window import Browser, OpenWindow

_REAL_PEAK_BYTES = 4419632


def _space(map: Map) -> str:
    """Return the tooltip of the list of memory spaces, which says what the shown one needs and its peak."""
    return map.eval("""document.querySelector('[data-control="space"]').closest("label").title""")


def test_walkthrough_opens_the_sample(open_window: OpenWindow, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    with open_window(empty, viewport={"width": 1600, "height": 900}) as window:
        window.command("XLA Lens: Focus on XLA Memory View")
        window.page.locator("text=Learn How to Get Dumps").click()
        steps = window.page.locator(".getting-started-step")
        wait_for(steps.count, lambda count: count == 8, SECONDS)
        for number in (0, 1, 2, 3):
            steps.nth(number).locator(".step-title").click()
            picture = ".getting-started-media img"
            width = f"document.querySelector('{picture}')?.naturalWidth"
            wait_for(partial(window.page.evaluate, width), seconds=SECONDS)
        steps.nth(0).locator(".step-title").click()
        assert "`" not in steps.nth(0).inner_text()
        steps.nth(0).locator("text=Open Sample Dump").click()
        window.wait_for_line("    0:params_0__0_.12.43 MiB live")
        # The sample is beside the walkthrough.
        assert steps.nth(1).is_visible()
        wait_for(window.status, lambda texts: " 4.21 MiB of host memory" in texts, SECONDS)


def test_map_survives_a_window_reload_and_follows_file_changes(open_window: OpenWindow, workspace: Path) -> None:
    file = file_of(workspace, "split", "-live-range")
    with open_window(workspace) as window:
        window.open(file)
        window.wait_for_text("MiB live")
        window.command("XLA Lens: Show Memory Map")
        map = Map(window.page)
        map.double_click("copy.2")
        # The cursor is on the value now, so that its allocation is marked as well.
        wait_for(lambda: map.eval("map.state.marked"), lambda row: row >= 0, SECONDS)
        map.choose("color-by", "kind")
        saved = wait_for(lambda: map.eval("map.state"), lambda state: state["colorBy"] == "kind", SECONDS)
        # The page saves its state after a delay.
        window.page.wait_for_timeout(500)
        window.reload()
        map = Map(window.page)
        assert map.eval("map.state") == saved
        assert _space(map) == "host memory: needs 4.21 MiB, peak 4.21 MiB"
        # Another program rewrites the file: dot is live only after the step that defines it, so the peak is unknown.
        whole = file.read_text()

        def space_after(text: str) -> str:
            # After a reload, it takes a while until VS Code watches the file.
            file.write_text(text)
            window.page.wait_for_timeout(2000)
            return _space(map)

        broken = whole.replace("    dot{}:35-37", "    dot{}:37-37")
        wait_for(lambda: space_after(broken), lambda text: text == "host memory: needs 4.21 MiB, peak unknown", SECONDS)
        wait_for(window.status, lambda texts: " 4.21 MiB of host memory · contradictory dump" in texts, SECONDS)
        wait_for(lambda: space_after(whole), lambda text: text == "host memory: needs 4.21 MiB, peak 4.21 MiB", SECONDS)
        wait_for(window.status, lambda texts: " 4.21 MiB of host memory" in texts, SECONDS)
        assert map.eval("map.state") == saved
        window.wait_for_line("    36:ynn_fusion.14.21 MiB live ◀ peak")


def test_map_is_saved_as_html_and_another_file_opened(
    browser: Browser, open_window: OpenWindow, workspace: Path
) -> None:
    file = file_of(workspace, "split", "-live-range")
    with open_window(workspace, file) as window:
        window.wait_for_text("MiB live")
        window.ask("XLA Lens: Save Memory Map as HTML...")
        box = window.box
        wait_for(box.input_value, lambda path: path.endswith("_optimizations-memory-map.html"), SECONDS)
        window.page.keyboard.press("Enter")
        (saved,) = wait_for(lambda: [*file.parent.glob("*.html")], seconds=SECONDS)
        wait_for(
            window.status, lambda texts: any(f"Saved the memory map to {saved.name}" in text for text in texts), SECONDS
        )
        with Map.of_file(browser, saved) as map:
            map.wait_for("map.liveBytes", _REAL_PEAK_BYTES)
        # The HTML page is no file of the dump.
        window.ask("XLA Lens: Open Another File of This Dump...")
        labels = ".quick-input-list .monaco-list-row .label-name"
        kinds = ["buffer-assignment", "values", "memory-usage-report", "hlo"]
        wait_for(lambda: window.texts(labels), lambda found: found[::2] == kinds, SECONDS)
        window.take("-values.txt")
        wait_for(window.active_tab, lambda name: name.endswith("-values.txt"), SECONDS)
