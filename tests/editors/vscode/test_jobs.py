"""The jobs of a user in a window without a mouse: how long each takes, and how many keys and entered texts.

`XLA_LENS_PICTURES=FOLDER` keeps a screenshot of each job, in a light, a dark and a high-contrast window, and a table of
all jobs. `XLA_LENS_VSIX` chooses another build to compare with: there, jobs may fail, which the table says.
"""

import contextlib
import gzip
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from editors.driving import wait_for
from editors.vscode.memory_map import Map
from editors.vscode.server import SECONDS, file_of
from editors.vscode.test_comparing import run_folder_and_script
from editors.vscode.test_source_lines import program_in
from editors.vscode.window import ACTIONS, ENTRIES, Error, OpenWindow, Window
from samples import SPLIT, TPU

_PICTURES = os.environ.get("XLA_LENS_PICTURES")
_IS_OTHER_BUILD = "XLA_LENS_VSIX" in os.environ and _PICTURES is not None

_LOOKS: dict[str, dict[str, Any]] = {
    "light": {"viewport": {"width": 1440, "height": 900}, "color_scheme": "light"},
    "dark": {"viewport": {"width": 1024, "height": 768}, "color_scheme": "dark"},
    "contrast": {"viewport": {"width": 1024, "height": 768}, "color_scheme": "dark", "forced_colors": "active"},
}
"""A large and two small windows. Without screenshots, the large one is tested."""

_MESSAGE = (
    "RESOURCE_EXHAUSTED: E1000: CompileTimeHbmOom: Ran out of memory on HBM, the total memory required for HLO "
    "temporaries (12.05M) exceeds available HBM (10.00M). HLO module: jit_roundtrip."
)


@dataclass
class _Jobs:
    """Does jobs in windows, and keeps what each takes."""

    folder: Path
    look: str
    count: int = 0
    """The keys and entered texts so far."""
    rows: list[dict[str, Any]] = field(default_factory=list)

    @contextlib.contextmanager
    def job(self, window: Window, name: str) -> Iterator[None]:
        """Do a job, whose name is also that of its picture."""
        before, start = self.count, time.monotonic()
        failure = ""
        try:
            yield
        except (AssertionError, Error, ValueError) as problem:
            if not _IS_OTHER_BUILD:
                raise
            failure = str(problem).partition("\n")[0][:80]
        seconds = time.monotonic() - start
        self.rows.append(
            {"job": name, "seconds": round(seconds, 1), "actions": self.count - before, "failure": failure}
        )
        if _PICTURES:
            window.page.wait_for_timeout(700)
            window.page.screenshot(path=self.folder / f"{name}.png")
            with (self.folder / "jobs.jsonl").open("a") as table:
                table.write(json.dumps(self.rows[-1]) + "\n")
        for _ in range(2):
            window.page.keyboard.press("Escape")


@pytest.fixture(params=_LOOKS if _PICTURES else ["light"])
def jobs(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> _Jobs:
    """Return jobs in a look, whose clicks, keys and entered texts are counted."""
    folder = Path(_PICTURES) / request.param if _PICTURES else tmp_path
    folder.mkdir(parents=True, exist_ok=True)
    made = _Jobs(folder, request.param)

    def counted(method: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(*arguments: Any, **named: Any) -> Any:
            made.count += 1
            return method(*arguments, **named)

        return wrapper

    for kind, name in ACTIONS:
        monkeypatch.setattr(kind, name, counted(getattr(kind, name)))
    return made


def _tab(window: Window, end: str) -> None:
    wait_for(window.active_tab, lambda name: name.endswith(end), SECONDS)


def _entries(window: Window, text: str) -> None:
    """Wait until the open list has an entry."""
    wait_for(lambda: window.texts(ENTRIES), lambda found: any(text in one for one in found), SECONDS)


def test_jobs_in_a_dump(open_window: OpenWindow, workspace: Path, jobs: _Jobs) -> None:
    file, press = file_of(workspace, "split", "-live-range"), "Control+Shift+"
    with open_window(workspace, file, **_LOOKS[jobs.look]) as window:
        keys = window.page.keyboard
        with jobs.job(window, "cold start"):
            wait_for(window.status, lambda texts: " 4.21 MiB of host memory" in texts, SECONDS)
        with jobs.job(window, "real peak"):
            window.command("XLA Lens: Go to Real Peak")
            wait_for(window.cursor, lambda place: place[0] == 39, SECONDS)
        with jobs.job(window, "hover"):
            assert "of the host memory peak" in window.hover()
        with jobs.job(window, "live at the peak"):
            window.command("XLA Lens: Show Live Values at This Step")
            _tab(window, "jit_train_step-live-set-at-36.txt")
        window.open(file)
        window.go_to(51, 7)
        with jobs.job(window, "definition"):
            keys.press("F12")
            _tab(window, "-values.txt")
        window.open(file)
        window.go_to(51, 7)
        with jobs.job(window, "peek references"):
            keys.press("Shift+F12")
            window.page.locator(".peekview-widget .monaco-list-row").first.wait_for()
        with jobs.job(window, "outline and breadcrumbs"):
            keys.press(f"{press}o")
            _entries(window, "BufferLiveRange")
        with jobs.job(window, "workspace symbols"):
            keys.press("Control+t")
            window.box.fill("#ynn_fusion.5")
            _entries(window, "ynn_fusion.5")
        with jobs.job(window, "value by size"):
            window.ask("XLA Lens: Find Value...")
            window.box.fill(">1MiB dot")
            _entries(window, "dot")
        window.go_to(51, 7)
        with jobs.job(window, "actions at the cursor"):
            keys.press("Control+.")
            _entries(window, "Show")
        with jobs.job(window, "call hierarchy"):
            keys.press("Shift+Alt+h")
            # The view takes the keyboard once it has found them.
            window.page.locator(".monaco-list-row.focused", has_text="copy.2").wait_for()
        with jobs.job(window, "answer"):
            window.command("XLA Lens: Show Answer: Where the Memory Goes and What to Do")
            _tab(window, "jit_train_step-answer.md")
            window.on_page("h2", "What to do")
        with jobs.job(window, "advice"):
            window.tab_to("a.button", "Advice")
            keys.press("Enter")
            _tab(window, "jit_train_step-advice.md")
        with jobs.job(window, "report"):
            window.tab_to("a.button", "Report")
            keys.press("Enter")
            _tab(window, "jit_train_step-report.md")
        with jobs.job(window, "copied report"):
            window.command("XLA Lens: Copy Report as Markdown")
            wait_for(window.status, lambda texts: any("Copied the report" in text for text in texts), SECONDS)
        with jobs.job(window, "saved map"):
            window.ask("XLA Lens: Save Memory Map as HTML...")
            box = window.box
            wait_for(box.input_value, lambda path: path.endswith("-memory-map.html"), SECONDS)
            keys.press("Enter")
            wait_for(lambda: [*file.parent.glob("*.html")], seconds=SECONDS)
        with jobs.job(window, "seed with a meaningless name"):
            window.open(file_of(workspace, "seed", ""))
            wait_for(window.status, lambda texts: any("580.0 KiB" in text for text in texts), SECONDS)


def test_jobs_in_the_map(open_window: OpenWindow, workspace: Path, jobs: _Jobs) -> None:
    with open_window(workspace, **_LOOKS[jobs.look]) as window:
        # A window that is opened with a file opens it again when it is reloaded.
        window.open(file_of(workspace, "split", "-live-range"))
        window.wait_for_text("MiB live")
        with jobs.job(window, "map"):
            window.command("XLA Lens: Show Memory Map")
            map = Map(window.page)
        with jobs.job(window, "map to text"):
            map.press("/")
            map.find('[data-control="search"]').fill("ynn_fusion.6")
            map.press("Enter", "Escape", "Enter")
            wait_for(lambda: window.texts(".active-line-number"), lambda found: found == ["46"], SECONDS)
        with jobs.job(window, "text to map"):
            map.press("Control+1")
            window.go_to(67, 7)
            wait_for(lambda: map.eval("map.label(map.selected)"), lambda label: label == "dot", SECONDS)
        with jobs.job(window, "map by keys"):
            map.press("Alt+m")
            wait_for(lambda: map.eval("document.hasFocus()"), seconds=SECONDS)
            map.press("p")
            map.wait_for("map.step", 36)
            map.press("ArrowLeft")
            map.wait_for("map.step", 35)
        with jobs.job(window, "map search"):
            map.press("/")
            map.find('[data-control="search"]').fill(">1MiB")
            wait_for(lambda: map.find(".count").inner_text(), lambda text: "buffers" in text, SECONDS)
        map.find('[data-control="search"]').fill("")
        with jobs.job(window, "map range"):
            map.press("Escape", "b", "ArrowRight", "ArrowRight", "e")
            map.wait_for("map.state.range", [35, 37])
            map.find("h2:has-text('from step 35')").wait_for()
        with jobs.job(window, "flame graph"):
            map.press("Escape", "f")
            map.find('[data-frame="0"]:focus').wait_for()
        with jobs.job(window, "reload window"):
            window.reload()
            Map(window.page)


def test_jobs_in_a_workspace(open_window: OpenWindow, workspace: Path, jobs: _Jobs) -> None:
    program = program_in(workspace)
    packed = workspace / "packed"
    packed.mkdir()
    for path in SPLIT.parent.glob("module_0000*"):
        (packed / f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
    damaged = workspace / "damaged" / TPU.name
    shutil.copytree(TPU.parent, damaged.parent)
    damaged.write_text(damaged.read_text().replace("size 4194304", "size 1194304", 1))
    (workspace / ".vscode").mkdir()
    settings = workspace / ".vscode" / "settings.json"
    settings.write_text(json.dumps({"xla-lens.device.memory": "lots"}))
    with open_window(workspace, program, **_LOOKS[jobs.look]) as window:
        with jobs.job(window, "bad setting"):
            wait_for(window.notices, lambda found: any("expected a size" in text for text in found), SECONDS)
        with jobs.job(window, "tree"):
            window.command("XLA Lens: Focus on XLA Memory View")
            wait_for(lambda: window.rows("XLA Memory"), lambda rows: len(rows) >= 4, SECONDS)
            # The focus was on what an empty view says, and is gone with it.
            window.command("XLA Lens: Focus on XLA Memory View")
            window.arrow_to("XLA Memory", "jit_matmul_bias_relu")
            window.page.keyboard.press("ArrowRight")
            wait_for(
                lambda: window.rows("XLA Memory"), lambda rows: any("5.00 MiB at step" in row for row in rows), SECONDS
            )
        with jobs.job(window, "python lines"):
            window.open(program)
            window.go_to(41)
            wait_for(window.lenses, lambda found: any("MiB" in lens for lens in found), SECONDS)
        with jobs.job(window, "damaged dump"):
            window.open(damaged)
            keys = window.page.keyboard
            keys.press("Control+Shift+m")
            window.page.locator(".markers-panel .monaco-list-row").first.wait_for()
        window.command("View: Toggle Panel Visibility")
        with jobs.job(window, "compressed dump"):
            window.open(next(packed.glob("*-live-range.txt.gz")))
            wait_for(window.status, lambda texts: any("4.21 MiB of host memory" in text for text in texts), SECONDS)
        with jobs.job(window, "dump that changes"):
            live = file_of(workspace, "split", "-live-range")
            window.open(live)
            window.wait_for_text("MiB live")
            text = live.read_text()

            def changes() -> bool:
                # VS Code begins to watch files some time after it has opened a folder.
                live.write_text(text.replace("    dot{}:35-37", "    dot{}:37-37"))
                window.page.wait_for_timeout(1500)
                return any("contradictory dump" in one for one in window.status())

            wait_for(changes, seconds=SECONDS)
            live.write_text(text)
        with (
            jobs.job(window, "second window"),
            open_window(workspace / "single", file_of(workspace, "single", "-buffer-assignment")) as other,
        ):
            wait_for(other.status, lambda texts: any("5.00 MiB of" in text for text in texts), SECONDS)


def test_jobs_after_a_failure_and_a_run(open_window: OpenWindow, tmp_path: Path, jobs: _Jobs) -> None:
    workspace = tmp_path / "workspace"
    program = run_folder_and_script(workspace)
    shutil.copytree(TPU.parent, workspace / "failed")
    log = workspace / "failed" / "error.txt"
    log.write_text(f"step 1\n{_MESSAGE}\n")
    with open_window(workspace, **_LOOKS[jobs.look]) as window:
        window.open(log)
        with jobs.job(window, "log to plan"):
            wait_for(window.lenses, seconds=SECONDS)
            window.command("XLA Lens: Explain Out-of-Memory Message (OOM)")
            _tab(window, "error.txt-explained.md")
            window.on_page("td", "Donate")
        with jobs.job(window, "reload of the page of a log"):
            window.reload()
            window.on_page("h1", "HBM ran out when XLA compiled jit_roundtrip")
        with jobs.job(window, "run"):
            window.open(program)
            window.command("XLA Lens: Run Python File and Show Memory")
            _tab(window, "jit_roundtrip-answer.md")
            window.on_page("li", "1 more × f32[1024,1024]")
        with jobs.job(window, "compare with the previous run"):
            window.tab_to("a", "What changed")
            window.page.keyboard.press("Enter")
            window.wait_for_text("HBM peak 8.00 MiB → 12.00 MiB")
        with jobs.job(window, "compared maps"):
            window.command("XLA Lens: Show Memory Map")
            map = Map(window.page)
            wait_for(lambda: map.eval("map.state.colorBy"), lambda found: found == "change", SECONDS)
            map.press("/")
            map.find('[data-control="search"]').fill("copy-start.1")
            map.press("Enter")
            wait_for(map.details, lambda text: "old dump" in text, SECONDS)


def test_jobs_with_the_walkthrough(open_window: OpenWindow, tmp_path: Path, jobs: _Jobs) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    with open_window(empty, **_LOOKS[jobs.look]) as window, jobs.job(window, "walkthrough to the sample"):
        window.command("XLA Lens: Focus on XLA Memory View")
        window.tab_to(".monaco-button", "Learn How to Get Dumps")
        window.page.keyboard.press("Enter")
        window.tab_to(".getting-started-step .monaco-button", "Open Sample Dump")
        window.page.keyboard.press("Enter")
        window.wait_for_line("    0:params_0__0_.12.43 MiB live")
