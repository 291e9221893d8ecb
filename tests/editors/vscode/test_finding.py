"""Finding values, and the lines of the program that they come from, with the keyboard alone."""

import json
from pathlib import Path

from editors.driving import wait_for
from editors.vscode.server import SECONDS, file_of
from editors.vscode.window import OpenWindow, Window

_ENTRIES = ".quick-input-list .monaco-list-row .label-name"


def _fill(window: Window, text: str) -> None:
    """Type into the open list."""
    box = window.page.locator(".quick-input-widget input.input")
    wait_for(box.is_visible, seconds=SECONDS)
    box.fill(text)


def _found_symbols(window: Window, query: str, first: str) -> list[str]:
    """Return the first entries of the editor's own list of symbols, once it has an entry."""
    window.page.keyboard.press("Control+t")
    _fill(window, f"#{query}")
    found = wait_for(lambda: window.texts(_ENTRIES), lambda entries: first in entries, SECONDS)
    window.page.keyboard.press("Escape")
    return found


def test_values_are_found_by_filters(open_window: OpenWindow, workspace: Path) -> None:
    looks = {"viewport": {"width": 800, "height": 600}, "color_scheme": "dark", "forced_colors": "active"}
    with open_window(workspace, file_of(workspace, "split", "-live-range"), **looks) as window:
        window.wait_for_text("MiB live")
        window.ask("XLA Lens: Find Value...")
        _fill(window, "module:train peak: >1MiB kind:value")
        expected = ["params_0__0_.1", "parameter · jit_train_step · split"]
        expected += ["dot", "programs.py:50 in mlp_apply · temp · jit_train_step · split"]
        wait_for(lambda: window.texts(_ENTRIES), lambda found: found == expected, SECONDS)
        sizes = window.texts(".quick-input-list .monaco-list-row .label-description")
        assert sizes == 2 * ["1.53 MiB · 36.3 % of the host memory peak"]
        window.page.keyboard.press("ArrowDown")
        window.page.keyboard.press("Enter")
        wait_for(window.cursor, lambda place: place[0] == 84, SECONDS)
        assert window.active_tab().endswith("-buffer-assignment.txt")
        # VS Code filters symbols by their names once more, but passes only the first word of a query to the server.
        for query, first in {
            "fusion.5": "ynn_fusion.5",
            ">1MiB": "dot  >1MiB",
            "<4KiB": "copy.5  <4KiB",
            "peak:": "dot  peak:",
            "temp:": "dot  temp:",
            "module:train": "dot  module:train",
            "kind:allocation": "allocation 29  kind:allocation",
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
        wait_for(lambda: window.texts(_ENTRIES), lambda found: len(found) == 4, SECONDS)
        window.page.keyboard.press("Enter")
        notice = "programs.py is not in this workspace. The dump names it /home/user/programs/programs.py."
        wait_for(window.notices, lambda found: found == [notice], SECONDS)
        window.ask("Notifications: Accept Notification Primary Action")
        _fill(window, str(sources / "programs.py"))
        # The picker checks the path.
        window.page.wait_for_timeout(1000)
        window.page.keyboard.press("Enter")
        wait_for(window.active_tab, lambda name: name == "programs.py", SECONDS)
        wait_for(window.cursor, lambda place: place == (50, 13), SECONDS)
        settings = json.loads((workspace / ".vscode" / "settings.json").read_text())
        assert settings == {"xla-lens.sources.pathMapping": {"/home/user": str(tmp_path / "elsewhere")}}
        # The other files of that root are found, too.
        window.open(file_of(workspace, "split", "-live-range"))
        window.go_to(67, 7)
        window.ask("XLA Lens: Go to Python Source")
        wait_for(lambda: window.texts(_ENTRIES), lambda found: len(found) == 4, SECONDS)
        _fill(window, "run_progs")
        window.page.keyboard.press("Enter")
        wait_for(window.active_tab, lambda name: name == "run_progs.py", SECONDS)
        wait_for(window.cursor, lambda place: place[0] == 54, SECONDS)
        assert window.notices() == []
