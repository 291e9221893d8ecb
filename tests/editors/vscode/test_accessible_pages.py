"""The answer and the pages that it leads to have names, contrast and roles for everyone, in every look.

In the frame of VS Code, axe does not come to an end. So the pages are checked outside of it, with the text, the styles
and the colors that they have there.
"""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from editors.driving import wait_for
from editors.vscode.axe import axe_problems
from editors.vscode.server import SECONDS
from editors.vscode.window import Browser, OpenWindow, Page, Window
from samples import DUMPS, SPLIT, TPU, analysis_of
from xla_lens.disk.sets import find_set
from xla_lens.disk.tried import dump_digest, tried_path

_LOOKS: dict[str, dict[str, Any]] = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "contrast": {"color_scheme": "dark", "forced_colors": "active"},
}
_MESSAGE = (
    "RESOURCE_EXHAUSTED: E1000: CompileTimeHbmOom: Ran out of memory on HBM, the total memory required for HLO "
    "temporaries ({needed}) exceeds available HBM ({available}). HLO module: {module}."
)
_LORA = next(DUMPS.glob("cpu-jaxlib0.10.2/donate_lora/*-buffer-assignment.txt"))
_MLP = next(DUMPS.glob("tpu-v5e2x2-libtpu0.0.51/mlp_train/*-buffer-assignment.txt"))
_OLD = next(DUMPS.glob("tpu-v5p-jaxlib0.6.2-libtpu0.0.17.1/host_offload/*-buffer-assignment.txt"))

_BROKEN_WORDS = """[...document.querySelectorAll("th, td, td a")].flatMap(element => {
    const [text] = element.childNodes;
    if (!(text instanceof Text)) return [];
    return [...text.data.matchAll(/[^\\s–-]+/g)].flatMap(({0: word, index}) => {
        const range = document.createRange();
        range.setStart(text, index);
        range.setEnd(text, index + word.length);
        return range.getClientRects().length > 1 ? [word] : [];
    });
})"""
"""The words in tables that a line breaks in the middle."""

_HALF_OF_SMALL_WINDOW: Final = 400


def _copied(dump: Path, folder: Path) -> Path:
    shutil.copytree(dump.parent, folder)
    return folder / dump.name


def _tried(dump: Path) -> None:
    """Keep a measured saving beside a dump, as `xla-lens try` does."""
    analysis = analysis_of(dump)
    needed = analysis.memory.spaces[0].needed_bytes
    change: dict[str, Any] = {
        "change": "Donate adapters if nothing uses it after the call",
        "rule": "donate",
        "policy": None,
        "flag": None,
    }
    change |= {"needed_bytes": needed - 2048, "peak_bytes": needed - 2048, "peak_step": 3}
    tried = {"needed_bytes": needed, "measured_needed_bytes": needed, "changes": [change], "plan": None}
    tried["dump_digest"] = dump_digest(analysis.dump.files)
    tried_path(find_set(dump).stem).write_text(json.dumps(tried))


def _workspace(folder: Path) -> dict[str, tuple[Path, str]]:
    """Fill a folder with dumps of all kinds: by name, each with a text that its answer contains."""
    fits = _copied(SPLIT, folder / "fits")
    measured = _copied(_LORA, folder / "measured")
    _tried(measured)
    over = _copied(_MLP, folder / "over")
    message = _MESSAGE.format(needed="3.00M", available="2.70M", module="jit_train_step")
    (folder / "over" / "error.txt").write_text(f"{message}\n")
    _copied(_OLD, folder / "xla-dumps" / "train-20260101-120000" / "process-1")
    compared = _copied(TPU, folder / "xla-dumps" / "train-20260102-120000" / "process-1")
    return {
        "compared": (compared, "What changed"),
        "fits": (fits, "None of the rules finds anything"),
        "measured": (measured, "(measured)"),
        "over": (over, "× as many"),
    }


@pytest.fixture
def outside(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Page]:
    """Return a page outside of VS Code, with the look of the test."""
    context = browser.new_context(**_LOOKS[request.getfixturevalue("look")], bypass_csp=True)
    yield context.new_page()
    context.close()


@pytest.mark.parametrize("look", _LOOKS)
def test_pages_are_accessible(open_window: OpenWindow, tmp_path: Path, outside: Page, look: str) -> None:
    workspace = tmp_path / "workspace"
    answers = _workspace(workspace)
    problems: dict[str, list[tuple[str, str, list[str]]]] = {}

    def check(window: Window, name: str, text: str) -> None:
        html = window.on_page("body", text).evaluate("body => document.documentElement.outerHTML")
        outside.set_content(f"<!DOCTYPE html>{html}")
        # A frame is transparent: below it is the editor.
        outside.add_style_tag(content=":root { background: var(--vscode-editor-background); }")
        if found := axe_problems(outside):
            problems[name] = found
        outside.set_viewport_size({"width": _HALF_OF_SMALL_WINDOW, "height": 700})
        assert outside.evaluate(_BROKEN_WORDS) == []
        # The tables of the report have more columns than fit.
        if name != "Report":
            assert outside.evaluate("document.documentElement.scrollWidth") <= _HALF_OF_SMALL_WINDOW
        outside.set_viewport_size({"width": 1280, "height": 720})

    with open_window(workspace, **_LOOKS[look]) as window:
        for name, (dump, text) in answers.items():
            window.open(dump)
            wait_for(window.status, lambda texts: any("iB of" in one or "MiB HBM" in one for one in texts), SECONDS)
            window.command("XLA Lens: Show Answer: Where the Memory Goes and What to Do")
            check(window, name, text)
        for page, text in (("Advice", "What would lower"), ("Report", "peak by source line")):
            window.on_page("a.button", page).click()
            check(window, page, text)
        window.open(workspace / "over" / "error.txt")
        window.command("XLA Lens: Explain Out-of-Memory Message (OOM)")
        check(window, "log", "HBM ran out")
    assert problems == {}
