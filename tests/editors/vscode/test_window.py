"""What users see and do in a window of VS Code."""

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
        wait_for(window.status, lambda texts: " 4.21 MiB peak of 4.22 MiB" in texts, SECONDS)
        assert "XLA Dump" in window.status()
        wait_for(window.lenses, lambda lenses: lenses[:1] == ["host memory: peak 4.21 MiB, reserved 4.22 MiB"], SECONDS)
        # A click on the status bar goes to the peak.
        window.page.locator(".statusbar-item", has_text="MiB peak of").click()
        wait_for(window.cursor, lambda place: place[0] == 39, SECONDS)
        window.wait_for_line(_PEAK)
        assert "show values live at the peak: 4.21 MiB of host memory" in wait_for(
            window.lenses, lambda lenses: len(lenses) > 0, SECONDS
        )
        text = window.hover()
        assert "of the host memory peak" in text, text
        assert "ynn_fusion.1" in text, text


def test_problem_leads_to_the_real_peak(open_window: OpenWindow, workspace: Path) -> None:
    file = file_of(workspace, "split", "-live-range")
    with open_window(workspace, file) as window:
        window.wait_for_text("MiB live")
        window.command("Problems: Focus on Problems View")
        (name, problem, related) = wait_for(lambda: window.rows("Problems"), lambda rows: len(rows) == 3, SECONDS)
        assert name.startswith(file.name)
        assert problem.startswith("The printed peak is not the real one: 3.96 MiB of host memory are live")
        assert related.endswith("Real peak")
        window.row("Problems", "Real peak").click()
        wait_for(window.cursor, lambda place: place[0] == 39, SECONDS)


def test_tree_leads_from_modules_to_values(open_window: OpenWindow, workspace: Path) -> None:
    with open_window(workspace, file_of(workspace, "split", "-live-range")) as window:
        window.wait_for_text("MiB live")
        window.command("XLA Lens: Focus on XLA Memory View")
        # Greatest peak first.
        modules = window.has_rows("XLA Memory", "jit_matmul_bias_relu", "jit_train_step", "001_491faa5ce21a17c6")
        assert [row[-8:] for row in modules] == ["5.00 MiB", "4.21 MiB", "80.0 KiB"]
        window.expand("XLA Memory", "jit_train_step")
        window.has_rows("XLA Memory", "host memory", "Allocations30 allocations", "Files5")
        # Expanding a memory space goes to its peak and lists what is live there, largest first.
        window.expand("XLA Memory", "host memory")
        wait_for(window.cursor, lambda place: place[0] == 39, SECONDS)
        window.has_rows("XLA Memory", "params_0__0_.11.53 MiB · 36.3 %", "dot1.53 MiB · 36.3 %")
        window.row("XLA Memory", "dot1.53 MiB").click()
        window.wait_for_line("<244 dot @0>")


def test_tree_follows_the_cursor(open_window: OpenWindow, workspace: Path) -> None:
    with open_window(workspace, file_of(workspace, "split", "-live-range")) as window:
        window.wait_for_text("MiB live")
        window.command("XLA Lens: Focus on XLA Memory View")
        window.has_rows("XLA Memory", "jit_matmul_bias_relu", "jit_train_step", "001_491faa5ce21a17c6")
        window.page.locator(".editor-group-container.active .view-lines").click()
        window.go_to(67, 7)
        selected = '.monaco-list[aria-label="XLA Memory"] .monaco-list-row.selected'
        wait_for(lambda: window.texts(selected), lambda rows: any("1.53 MiB" in row for row in rows), SECONDS)


def test_map_and_text_follow_each_other(open_window: OpenWindow, workspace: Path) -> None:
    with open_window(workspace, file_of(workspace, "split", "-live-range")) as window:
        window.wait_for_text("MiB live")
        window.go_to(51, 7)
        window.command("XLA Lens: Show Memory Map")
        map = Map(window.page)
        # The map selects the value under the cursor, at the step of its live range nearest to the peak.
        wait_for(lambda: map.eval("map.label(map.selected)"), lambda label: label == "copy.2", SECONDS)
        assert (map.eval("map.step"), map.eval("map.liveBytes")) == (33, 3337264)
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


def test_details_of_the_map_are_the_hovers_of_the_text(open_window: OpenWindow, workspace: Path) -> None:
    with open_window(workspace, file_of(workspace, "split", "-live-range")) as window:
        window.wait_for_text("MiB live")
        window.go_to(51, 7)
        of_value = window.hover()
        window.go_to(20, 6)
        of_step = window.hover()
        window.command("XLA Lens: Show Memory Map")
        map = Map(window.page)
        assert map.hover_value("copy.2").split() == of_value.split()
        assert map.hover_step(17).split() == of_step.split()
        text = map.hover_allocation("dot", 0)
        assert "at the host memory peak, step 36" in text
        assert text.endswith("Nothing is live here.")


def test_map_follows_the_cursor_in_a_page(open_window: OpenWindow, workspace: Path) -> None:
    """The keys of dumps work in pages too."""
    with open_window(workspace, file_of(workspace, "split", "-live-range")) as window:
        window.wait_for_text("MiB live")
        window.go_to(20, 9)
        window.page.keyboard.press("Alt+l")
        wait_for(window.active_tab, lambda name: name == "live-set-at-17.txt", SECONDS)
        row = next(number for number, line in enumerate(window.lines(), 1) if "copy.2" in line)
        column = window.lines()[row - 1].index("copy.2") + 1
        window.go_to(row, column)
        window.page.keyboard.press("Alt+m")
        map = Map(window.page)
        wait_for(lambda: map.eval("map.label(map.selected)"), lambda label: label == "copy.2", SECONDS)
        wait_for(window.status, lambda texts: " 4.21 MiB peak of 4.22 MiB" in texts, SECONDS)
        titles = window.page.locator(".editor-group-container .editor-actions .action-label")
        wait_for(
            lambda: titles.evaluate_all("all => all.map(e => e.ariaLabel)"),
            lambda found: any(name.startswith("Show Memory Map") for name in found),
            SECONDS,
        )


def test_dump_with_an_unknown_name_is_recognized_by_content(open_window: OpenWindow, workspace: Path) -> None:
    with open_window(workspace, file_of(workspace, "seed", "")) as window:
        wait_for(window.status, lambda texts: "XLA Dump" in texts and " 580.0 KiB peak of 580.0 KiB" in texts, SECONDS)
        window.open(workspace / "other" / "notes.txt")
        wait_for(window.status, lambda texts: "Plain Text" in texts, SECONDS)
