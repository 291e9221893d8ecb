"""Two dumps that users compare in a window of VS Code."""

import shutil
from pathlib import Path
from typing import Final

from editors.driving import wait_for
from editors.vscode.memory_map import Map
from editors.vscode.server import SECONDS
from editors.vscode.window import OpenWindow
from samples import DUMPS

_PROGRAM: Final = "host_offload"
_OLD: Final = DUMPS / "tpu-v5p-jaxlib0.6.2-libtpu0.0.17.1" / _PROGRAM
_NEW: Final = DUMPS / "tpu-v5e2x2-libtpu0.0.51" / _PROGRAM


_SCRIPT: Final = """
import shutil, subprocess
flags = subprocess.run(["sh", "-c", 'printf %s "$XLA_FLAGS"'], capture_output=True, text=True).stdout
shutil.copytree("{dumps}", flags.rpartition("--xla_dump_to=")[2])
"""


def run_folder_and_script(workspace: Path) -> Path:
    """Fill a folder with the dumps of a run, and with a script whose run writes others, which is returned."""
    shutil.copytree(_OLD, workspace / "xla-dumps" / "train-20260101-120000" / "process-1")
    program = workspace / "train.py"
    program.write_text(_SCRIPT.format(dumps=_NEW))
    return program


def test_a_run_is_compared_with_the_previous_one(open_window: OpenWindow, tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    program = run_folder_and_script(workspace)
    with open_window(workspace, program) as window:
        window.wait_for_text("shutil.copytree")
        window.command("XLA Lens: Run Python File and Show Memory")
        text = "jit_roundtrip needs 4.02 MiB more than the previous run."
        wait_for(window.notices, lambda notices: text in notices, SECONDS)
        # The notification stays for some seconds only.
        window.page.locator(".notifications-toasts .monaco-button", has_text="Compare with Previous").click()
        window.wait_for_text("HBM peak 8.00 MiB → 12.00 MiB, +4.00 MiB (+50.0 %)")
        window.command("XLA Lens: Focus on XLA Memory View")
        wait_for(
            lambda: window.rows("XLA Memory"),
            lambda rows: any(row.startswith("12.05 MiB jit_roundtrip") for row in rows),
            SECONDS,
        )
        runs = window.has_rows("XLA Memory", "train · ", "train · ")
        assert "12.05 MiB" in runs[0]
        assert runs[1].startswith("train · 2026-01-01 12:00:00"), runs
        assert "8.03 MiB" in runs[1], runs


def test_modules_of_the_tree_are_compared(open_window: OpenWindow, tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    for name, dumps in (("old", _OLD), ("new", _NEW)):
        shutil.copytree(dumps, workspace / name)
    values = next(workspace.glob("new/*-buffer-assignment.txt"))
    with open_window(workspace, values) as window:
        window.wait_for_text("BufferAssignment:")
        window.command("XLA Lens: Focus on XLA Memory View")
        old, new = "8.03 MiB", "12.05 MiB"
        window.has_rows("XLA Memory", f"{new} jit_roundtrip", f"{old} jit_roundtrip")
        for size, label in ((old, "Select for Compare"), (new, "Compare with Selected")):
            window.choose("XLA Memory", size, label)
        wait_for(window.active_tab, lambda name: name == "comparison.txt", SECONDS)
        window.wait_for_text("HBM peak 8.00 MiB → 12.00 MiB, +4.00 MiB (+50.0 %)")
        (title, *_) = window.lines()
        assert title.startswith("jit_roundtrip: HBM peak "), title
        window.command("XLA Lens: Show Memory Map")
        map = Map(window.page)
        wait_for(lambda: map.eval("map.isReady && map.state.colorBy"), lambda found: found == "change", SECONDS)
        assert map.eval("map.liveBytes") == 12 << 20
        # A double click goes to the value in both dumps.
        map.double_click("copy-start.1{0}")
        tabs = {file.name for file in workspace.rglob("*-buffer-assignment.txt")}
        wait_for(window.tabs, lambda names: tabs <= {*names}, SECONDS)
        window.open(values)
        wait_for(window.lenses, lambda found: any(lens.startswith("was ") for lens in found), SECONDS)
        window.command("XLA Lens: End Comparison")
        wait_for(window.lenses, lambda found: found and not any(lens.startswith("was ") for lens in found), SECONDS)
        # The palette offers the other compilation of the program first.
        window.ask("XLA Lens: Compare with...")
        window.take("jit_roundtrip")
        wait_for(window.active_tab, lambda name: name == "comparison.txt", SECONDS)
        wait_for(window.notices, lambda notices: notices == [], SECONDS)
