"""A capture in a notebook: executed by nbconvert, and looked at in a browser. `make screenshots` keeps its picture."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from editors.vscode.memory_map import Map
from editors.vscode.window import Browser
from samples import ROOT

_PYTHON = ROOT / ".venv-jax" / "bin" / "python"

_CELLS = (
    """\
import jax, jax.numpy as jnp, xla_lens

def loss(weights, x):
    for weight in weights:
        x = jnp.tanh(x @ weight)
    return (x**2).mean()

@jax.jit
def train_step(weights, x):
    return jax.tree.map(lambda w, g: w - g, weights, jax.grad(loss)(weights, x))

weights = [jax.ShapeDtypeStruct((512, 512), jnp.float32)] * 4
x = jax.ShapeDtypeStruct((1024, 512), jnp.float32)
capture = xla_lens.capture(train_step, weights, x)
capture
""",
    "capture.live_at_peak[:5]",
    "print(f'({int(capture.peak()):,} bytes)')",
)

_LONGEST = 400_000
"""Maximum characters of the notebook with everything in it."""


@pytest.fixture(scope="module")
def notebook(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a notebook that was executed."""
    path = tmp_path_factory.mktemp("notebook") / "memory.ipynb"
    cells: list[dict[str, object]] = [
        {"cell_type": "code", "id": f"c{n}", "execution_count": None, "metadata": {}, "outputs": [], "source": source}
        for n, source in enumerate(_CELLS)
    ]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    path.write_text(json.dumps({"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}))
    _convert(path, "notebook", "--execute", "--inplace")
    return path


def _convert(path: Path, form: str, *options: str) -> Path:
    environment = {
        **{name: text for name, text in os.environ.items() if name not in ("XLA_FLAGS", "PYTHONDONTWRITEBYTECODE")},
        "PYTHONPATH": f"{ROOT / 'server'}:{ROOT / 'grammar' / 'python'}",
        "JAX_PLATFORMS": "cpu",
    }
    command = [str(_PYTHON), "-m", "nbconvert", "--to", form, *options, str(path)]
    done = subprocess.run(command, env=environment, check=False, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return path.with_suffix(f".{form}")


_OFFLINE = [f"--HTMLExporter.{name}_url=" for name in ("mathjax", "jquery", "require_js")]


def test_picture_is_drawn(browser: Browser, notebook: Path) -> None:
    page = _convert(notebook, "html", *_OFFLINE)
    view = browser.new_page(viewport={"width": 1280, "height": 800})
    problems: list[str] = []
    view.on("console", lambda message: problems.append(message.text))
    view.on("pageerror", lambda failure: problems.append(str(failure)))
    view.goto(page.as_uri())
    summary = view.locator(".xla-lens").first
    assert re.search(r"^jit_train_step\s+It needs \d+\.\d\d MiB of host memory", summary.inner_text())
    aligned = "element => getComputedStyle(element).textAlign"
    assert summary.locator("td.text").first.evaluate(aligned) == "left"
    assert summary.locator("td.number").first.evaluate(aligned) == "right"
    if os.environ.get("XLA_LENS_SCREENSHOTS"):
        view.set_viewport_size({"width": 1180, "height": 1700})
        Map(view)
        summary.screenshot(path=ROOT / "docs" / "images" / "notebook.png", animations="disabled")
    # The browser draws nothing that is out of view.
    frame = summary.locator("iframe")
    frame.scroll_into_view_if_needed()
    map = Map(view)
    size = frame.bounding_box()
    assert size
    assert size["width"] > 1000
    assert size["height"] >= 600
    assert map.eval("map.drawnCount") > 10
    (peak,) = re.findall(r"\(([\d,]+) bytes\)", view.locator("pre").last.inner_text())
    assert map.eval("map.liveBytes") == int(peak.replace(",", ""))
    # The map has no rights in the page around it, and its keys work all the same.
    assert map.eval("[window.origin, location.href]") == ["null", "about:srcdoc"]
    frame.click(position={"x": 400, "y": 300})
    map.press("Home")
    map.wait_for("map.step", 0)
    assert len(view.locator(".xla-lens").last.locator("tr").all()) == 1 + 5
    assert problems == []
    view.close()


def test_notebook_stays_small(notebook: Path) -> None:
    assert notebook.stat().st_size < _LONGEST


def test_a_notebook_that_is_not_trusted_keeps_the_summary(browser: Browser, notebook: Path) -> None:
    page = _convert(notebook, "html", *_OFFLINE, "--HTMLExporter.sanitize_html=True")
    view = browser.new_page()
    view.goto(page.as_uri())
    assert view.locator("iframe").count() == 0
    assert " of host memory." in view.inner_text("body")
    assert "Live at the host memory peak" in view.inner_text("body")
    view.close()
