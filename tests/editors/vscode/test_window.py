"""What users see and do in a window of VS Code."""

import contextlib
from pathlib import Path

from editors.driving import wait_for
from editors.vscode.memory_map import Map
from editors.vscode.server import SECONDS, file_of
from editors.vscode.window import OpenWindow

_PEAK = "    36:ynn_fusion.14.21 MiB live ◀ peak"


def test_dump_has_hints_status_lenses_and_hovers(open_window: OpenWindow, workspace: Path) -> None:
    file = file_of(workspace, "split", "-live-range")
    with open_window(workspace, file) as window:
        window.wait_for_line("    0:params_0__0_.12.43 MiB live")
        wait_for(window.status, lambda texts: " 4.21 MiB of host memory" in texts, SECONDS)
        assert "XLA Dump" in window.status()
        wait_for(window.lenses, lambda lenses: lenses[:1] == ["host memory: needs 4.21 MiB, peak 4.21 MiB"], SECONDS)
        # A click on the status bar shows the answer, which leads to the peak.
        window.page.locator(".statusbar-item", has_text="MiB of host memory").click()
        wait_for(window.active_tab, lambda name: name == "jit_train_step-answer.md", SECONDS)
        window.command("XLA Lens: Go to Real Peak")
        wait_for(window.cursor, lambda place: place[0] == 39, SECONDS)
        window.wait_for_line(_PEAK)
        assert "show values live at the peak: 4.21 MiB of host memory" in wait_for(
            window.lenses, lambda lenses: len(lenses) > 0, SECONDS
        )
        # The steps near the peak are marked.
        wait_for(window.marks, seconds=SECONDS)
        text = window.hover()
        assert "of the host memory peak" in text, text
        assert "ynn_fusion.1" in text, text
        # Nothing that happened meanwhile has cleared them.
        assert window.marks()


def test_map_and_text_follow_each_other(open_window: OpenWindow, workspace: Path) -> None:
    with open_window(workspace, file_of(workspace, "split", "-live-range")) as window:
        window.wait_for_text("MiB live")
        window.go_to(51, 7)
        window.command("XLA Lens: Show Memory Map")
        map = Map(window.page)
        # The map selects the value under the cursor, at the step of its live range nearest to the peak.
        wait_for(lambda: map.eval("map.label(map.selected)"), lambda label: label == "copy.2", SECONDS)
        assert (map.eval("map.step"), map.eval("map.liveBytes")) == (33, 3337264)
        # The keys of the map work at once.
        map.wait_for("document.hasFocus()", True)
        map.press("ArrowRight")
        map.wait_for("map.step", 34)
        map.press("ArrowLeft")
        # A click selects only, so that a maximized editor stays one. A double click goes from the map to the text.
        before = window.texts(".active-line-number")
        map.click("dot")
        wait_for(lambda: map.eval("map.label(map.selected)"), lambda label: label == "dot", SECONDS)
        assert window.texts(".active-line-number") == before
        map.double_click("ynn_fusion.6")
        wait_for(lambda: map.eval("map.label(map.selected)"), lambda label: label == "ynn_fusion.6", SECONDS)
        wait_for(lambda: window.texts(".active-line-number"), lambda found: found == ["46"], SECONDS)
        assert map.eval("document.hasFocus()")
        # From the text to the map.
        window.page.locator(".view-lines").first.click()
        window.go_to(67, 7)
        wait_for(lambda: map.eval("map.label(map.selected)"), lambda label: label == "dot", SECONDS)
        window.go_to(20, 9)
        wait_for(lambda: map.eval("map.step"), lambda step: step == 17, SECONDS)


def test_map_says_that_its_files_were_deleted(open_window: OpenWindow, workspace: Path) -> None:
    file = file_of(workspace, "seed", "")
    with open_window(workspace, file) as window:
        window.command("XLA Lens: Show Memory Map")
        map = Map(window.page)
        assert map.find(".message").is_hidden()
        text, told = file.read_bytes(), map.find(f".message:has-text('{file.name} was deleted')")

        def is_told() -> bool:
            # VS Code begins to watch files some time after it has opened a folder.
            file.write_bytes(text)
            file.unlink()
            with contextlib.suppress(AssertionError):
                return wait_for(told.is_visible, seconds=5)
            return False

        wait_for(is_told, seconds=SECONDS)
        assert map.eval("map.drawnCount") > 0
        file.write_bytes(text)
        map.find(".message").wait_for(state="hidden")


def test_map_leads_to_source_lines_and_instructions(open_window: OpenWindow, workspace: Path) -> None:
    with open_window(workspace, file_of(workspace, "split", "-live-range"), color_scheme="dark") as window:
        window.wait_for_text("MiB live")
        window.go_to(51, 7)
        window.command("XLA Lens: Show Memory Map")
        map = Map(window.page)
        wait_for(lambda: map.eval("map.label(map.selected)"), lambda label: label == "copy.2", SECONDS)
        # The selection does not scroll the lists away from their first section.
        assert map.eval("document.querySelector('.lists').scrollTop") == 0
        # Clicks and keys that select leave a maximized map as it is.
        map.click("copy.2")
        # VS Code learns of the click a moment later, and would maximize the text before.
        wait_for(window.active_tab, lambda tab: tab.startswith("webview-xla-lens.memoryMap"), SECONDS)
        window.command("View: Toggle Maximize Editor Group")
        text = window.page.locator(".editor-instance .view-lines").first
        wait_for(text.is_visible, lambda shown: not shown, SECONDS)
        map.click("ynn_fusion.6")
        map.find('[data-list="live"] button').first.click()
        map.find('[data-list="legend"] button').first.click()
        assert not text.is_visible()
        window.command("View: Toggle Maximize Editor Group")
        wait_for(text.is_visible, seconds=SECONDS)
        # The source line of another machine: its file can be located.
        source = map.find('[data-list="legend"] [data-category*="/"]').first
        source.click()
        name = (source.get_attribute("data-category") or "").rpartition("/")[2].partition(":")[0]
        map.find('[data-action="source"]').click()
        wait_for(window.notices, lambda found: any(f"{name} is not in this workspace" in one for one in found), SECONDS)
        # The instruction of a value, and a link of its hover. Neither replaces the map.
        map.click("ynn_fusion.6")
        map.find('[data-action="hlo"]').click()
        wait_for(window.active_tab, lambda tab: tab.endswith("after_optimizations.txt"), SECONDS)
        map.find(".details a[data-href*=showAllocationHistory]").first.click()
        wait_for(window.active_tab, lambda tab: tab.startswith("jit_train_step-history-of-allocation"), SECONDS)
        assert map.eval("map.label(map.selected)") == "ynn_fusion.6"
