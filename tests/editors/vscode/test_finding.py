"""Finding values, and the lines of the program that they come from, with the keyboard alone."""

import contextlib
import json
import shutil
from pathlib import Path
from typing import Any

from editors.driving import wait_for
from editors.vscode.memory_map import Map
from editors.vscode.server import SECONDS, file_of
from editors.vscode.window import ENTRIES, Error, OpenWindow, Window
from samples import TPU


def _fill(window: Window, text: str) -> None:
    """Type into the open list."""
    box = window.box
    wait_for(box.is_visible, seconds=SECONDS)
    box.fill(text)


def _choose_file(window: Window, path: Path) -> None:
    """Enter a path into VS Code's own file picker, which takes it only after it has read the folder."""
    box = window.box

    def is_closed() -> bool:
        with contextlib.suppress(Error):
            if box.is_visible() and box.input_value(timeout=1000) != str(path):
                box.fill(str(path), timeout=1000)
            window.page.wait_for_timeout(1000)
            if box.is_visible():
                window.page.keyboard.press("Enter")
                window.page.wait_for_timeout(1000)
        return not box.is_visible()

    wait_for(box.is_visible, seconds=SECONDS)
    wait_for(is_closed, seconds=SECONDS)


def _found_symbols(window: Window, query: str, first: str) -> list[str]:
    """Return the first entries of the editor's own list of symbols, once it has an entry."""
    window.page.keyboard.press("Control+t")
    _fill(window, f"#{query}")
    found = wait_for(lambda: window.texts(ENTRIES), lambda entries: first in entries, SECONDS)
    window.page.keyboard.press("Escape")
    return found


def test_values_are_found_by_filters(open_window: OpenWindow, workspace: Path) -> None:
    looks = {"viewport": {"width": 800, "height": 600}, "color_scheme": "dark", "forced_colors": "active"}
    with open_window(workspace, file_of(workspace, "split", "-live-range"), **looks) as window:
        window.wait_for_text("MiB live")
        window.ask("XLA Lens: Find Value...")
        _fill(window, "dot >1MiB")
        expected = ["dot", "programs.py:50 in mlp_apply · temp · jit_train_step · split"]
        wait_for(lambda: window.texts(ENTRIES), lambda found: found == expected, SECONDS)
        sizes = window.texts(".quick-input-list .monaco-list-row .label-description")
        assert sizes == ["1.53 MiB · 36.3 % of the host memory peak"]
        window.page.keyboard.press("ArrowDown")
        window.page.keyboard.press("Enter")
        wait_for(window.cursor, lambda place: place[0] == 84, SECONDS)
        assert window.active_tab().endswith("-buffer-assignment.txt")
        # VS Code filters symbols by their names once more, but passes only the first word of a query to the server.
        for query, first in {
            "fusion.5": "ynn_fusion.5",
            ">1MiB": "dot  >1MiB",
            "<4KiB": "copy.5  <4KiB",
        }.items():
            assert first in _found_symbols(window, query, first)


def test_missing_sources_are_located(open_window: OpenWindow, workspace: Path, tmp_path: Path) -> None:
    sources = tmp_path / "elsewhere" / "programs"
    sources.mkdir(parents=True)
    for name in ("programs.py", "run_progs.py"):
        (sources / name).write_text("".join(f"# line {number} of {name}\n" for number in range(1, 100)))
    with open_window(workspace, file_of(workspace, "split", "-live-range")) as window:
        window.wait_for_text("MiB live")
        window.go_to(67, 7)
        window.ask("XLA Lens: Go to Python Source")
        wait_for(lambda: window.texts(ENTRIES), lambda found: len(found) == 4, SECONDS)
        window.page.keyboard.press("Enter")
        notice = "programs.py is not in this workspace. The dump names it /home/user/programs/programs.py."
        wait_for(window.notices, lambda found: found == [notice], SECONDS)
        window.ask("Notifications: Accept Notification Primary Action")
        _choose_file(window, sources / "programs.py")
        wait_for(window.active_tab, lambda name: name == "programs.py", SECONDS)
        wait_for(window.cursor, lambda place: place == (50, 13), SECONDS)
        settings = json.loads((workspace / ".vscode" / "settings.json").read_text())
        assert settings == {"xla-lens.sources.pathMapping": {"/home/user": str(tmp_path / "elsewhere")}}
        # The other files of that root are found, too.
        window.open(file_of(workspace, "split", "-live-range"))
        window.go_to(67, 7)
        window.ask("XLA Lens: Go to Python Source")
        wait_for(lambda: window.texts(ENTRIES), lambda found: len(found) == 4, SECONDS)
        _fill(window, "run_progs")
        window.page.keyboard.press("Enter")
        wait_for(window.active_tab, lambda name: name == "run_progs.py", SECONDS)
        wait_for(window.cursor, lambda place: place[0] == 54, SECONDS)
        assert window.notices() == []


def test_pages_are_readable_and_explanations_rendered(open_window: OpenWindow, workspace: Path) -> None:
    with open_window(workspace, file_of(workspace, "split", "-live-range")) as window:
        window.wait_for_text("MiB live")
        assert window.texts(".tabs-container .tab .label-name") == ["jit_train_step · live ranges"]
        window.go_to(67, 7)
        window.command("XLA Lens: Show Live Values at This Step")
        wait_for(window.active_tab, lambda name: name == "jit_train_step-live-set-at-35.txt", SECONDS)
        # The name of a value has the hover of the dump.
        rows = wait_for(window.lines, lambda found: any("  dot  " in line for line in found), SECONDS)
        row = next(number for number, line in enumerate(rows, 1) if "  dot  " in line)
        window.go_to(row, rows[row - 1].index("dot") + 2)
        assert window.hover().startswith("dot · 1.53 MiB · 36.3 % of the host memory peak")
        window.page.keyboard.press("Escape")
        # The title of a section stays in view.
        size = window.page.viewport_size
        window.page.set_viewport_size({"width": 1280, "height": 420})
        window.go_to(len(rows))
        sticky = ".sticky-widget .sticky-line-content"
        (title,) = wait_for(lambda: window.texts(sticky), lambda found: len(found) == 1, SECONDS)
        assert title.startswith("Live in host memory: 4.21 MiB in 12 values")
        window.page.set_viewport_size(size)
        # The report and the explanation of a finding are rendered.
        window.command("XLA Lens: Show Report")
        wait_for(window.active_tab, lambda name: name == "jit_train_step-report.md", SECONDS)
        _wait_for_heading(window, "h1", "jit_train_step")
        wait_for(window.status, lambda texts: " 4.21 MiB of host memory" in texts, SECONDS)
        window.command("Problems: Focus on Problems View")
        window.page.locator("a", has_text="peak-understated").first.click()
        wait_for(window.active_tab, lambda name: name == "peak-understated.md", SECONDS)
        _wait_for_heading(window, "h1", "peak-understated")
        # What explanations advise to run is on the PATH of terminals.
        window.command("Terminal: Create New Terminal")
        target = workspace / "version.txt"

        def version() -> str:
            # The shell starts some time after the terminal is visible.
            window.page.locator(".terminal .xterm-helper-textarea").focus()
            window.page.keyboard.type(f"xla-lens --version > {target}\n")
            window.page.wait_for_timeout(3000)
            return target.read_text() if target.exists() else ""

        wait_for(version, lambda text: text.startswith("xla-lens "), SECONDS)


def test_advice_says_what_to_do_and_leads_there(open_window: OpenWindow, workspace: Path) -> None:
    shutil.copytree(TPU.parent, workspace / "tpu")
    file = file_of(workspace, "tpu", "-live-range")
    with open_window(workspace, file) as window:
        window.wait_for_text("MiB live")
        window.command("XLA Lens: Show Memory Map")
        Map(window.page)
        assert "Show Advice: What Would Lower the Peak" in str(window.offered("advice"))
        # The map has the focus. The advice must not cover it.
        window.command("XLA Lens: Show Advice: What Would Lower the Peak")
        wait_for(window.active_tab, lambda name: name == "jit_roundtrip-advice.md", SECONDS)
        _wait_for_heading(window, "h3", "1. ")
        shown = window.page.locator(".tabs-container .tab.active").all_inner_texts()
        assert [name.replace("\n", "").partition(":")[0].strip() for name in shown] == [
            "jit_roundtrip-advice.md",
            "Memory Map",
        ]

        def frame() -> Any:
            return next((frame for frame in window.page.frames if _headings(frame, "h3")), None)

        page = wait_for(frame, seconds=SECONDS)
        # Beside the map, all of the text is in view, the first action without scrolling.
        width, visible = page.evaluate("[document.body.scrollWidth, document.documentElement.clientWidth]")
        assert width <= visible
        top = page.evaluate("document.querySelector('h3').getBoundingClientRect().top")
        assert top < page.evaluate("innerHeight")
        # The editor may have drawn the page again meanwhile.
        window.on_page("a", "Show in the memory map").click()
        map = Map(window.page)
        wait_for(lambda: map.eval("map.state.picked?.values?.length"), seconds=SECONDS)
        window.on_page("a", "xla-lens explain").click()
        wait_for(window.active_tab, lambda name: name.endswith(".md") and "advice" not in name, SECONDS)


def _wait_for_heading(window: Window, selector: str, text: str) -> None:
    """Wait until a rendered page has a heading."""

    def shown() -> bool:
        return any(text in heading for frame in window.page.frames for heading in _headings(frame, selector))

    wait_for(shown, seconds=SECONDS)


def _headings(frame: Any, selector: str) -> list[str]:
    # Webviews are replaced while they load.
    with contextlib.suppress(Error):
        return list(frame.locator(selector).all_inner_texts())
    return []
