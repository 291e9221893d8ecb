"""The memory map as a standalone page, as `xla-lens report --output-format html` writes it."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from editors.vscode.axe import axe_problems
from editors.vscode.memory_map import Map, written_page
from editors.vscode.window import Browser
from samples import DUMPS, SPLIT, TPU, analysis_of

_COMPARED = [
    next(DUMPS.glob(f"{target}/host_offload/*-buffer-assignment.txt"))
    for target in ("tpu-v5p-jaxlib0.6.2-libtpu0.0.17.1", "tpu-v5e2x2-libtpu0.0.51")
]

_PEAK, _LAST = 36, 40
"""Steps of the training step."""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the page of a training step."""
    return written_page(SPLIT, tmp_path_factory.mktemp("page"))


@pytest.fixture(scope="module")
def file_of_several_spaces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the page of a program with several memory spaces."""
    return written_page(TPU, tmp_path_factory.mktemp("spaces"))


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the page of two dumps that are compared."""
    file = tmp_path_factory.mktemp("compared") / "comparison.html"
    command: list[str | Path] = [sys.executable, "-m", "xla_lens", "diff", *_COMPARED, "--output-format", "html"]
    file.write_bytes(subprocess.run(command, capture_output=True, check=True, timeout=60).stdout)
    return file


@pytest.fixture
def map(browser: Browser, file: Path) -> Iterator[Map]:
    """Open the page of a training step."""
    with Map.of_file(browser, file) as map:
        yield map


def test_pointer_zooms_pans_and_selects(map: Map) -> None:
    x, y = map.point("ynn_fusion.6")
    mouse = map.page.mouse
    # The wheel zooms around the pointer.
    mouse.move(x, y)
    mouse.wheel(0, -60)
    map.wait_for("map.state.steps !== null", True)
    assert map.point("ynn_fusion.6") == (pytest.approx(x, abs=2), y)
    map.page.keyboard.down("Shift")
    mouse.wheel(0, -60)
    map.page.keyboard.up("Shift")
    map.wait_for("map.state.bytes !== null", True)
    assert map.point("ynn_fusion.6") == (pytest.approx(x, abs=2), pytest.approx(y, abs=2))
    # Dragging pans.
    mouse.move(x, y)
    mouse.down()
    mouse.move(x + 30, y + 20, steps=4)
    mouse.up()
    assert map.point("ynn_fusion.6") == (pytest.approx(x + 30, abs=2), pytest.approx(y + 20, abs=2))
    assert map.eval("map.selected") == -1
    map.find('[data-action="reset"]').click()
    assert map.eval("[map.state.steps, map.state.bytes]") == [None, None]
    # A click selects a value.
    map.click("ynn_fusion.6")
    map.wait_for("map.label(map.selected)", "ynn_fusion.6")


def test_source_line_is_picked_and_copied_with_keys_alone(map: Map) -> None:
    """Colors are by source line, because this dump has some."""
    button = map.find('.legend [data-category*="/"]').first
    source = button.get_attribute("data-category")
    button.focus()
    map.press("Space")
    map.wait_for("map.state.picked", {"by": "source", "name": source})
    assert button.get_attribute("aria-pressed") == "true"
    # The legend and the pane say how much of the peak it is.
    size, share = (button.locator(name).inner_text() for name in (".size", ".share"))
    assert f"{size}, {share} of the peak" in map.details()
    assert source
    assert source in map.details()
    assert map.actions() == ["Copy path", "Solo", "Largest", "Clear"]
    map.page.evaluate("navigator.clipboard.writeText = async text => { window.copied = text; }")
    map.press("l")
    assert map.eval("window.copied") == source
    # N goes through its buffers, the largest first.
    map.press("n")
    sizes = [map.find('[data-list="live"] [aria-current] .size').inner_text()]
    assert sizes == [map.find('[data-list="live"] .size').nth(0).inner_text()]
    assert map.eval("map.selected") >= 0
    assert map.actions() == ["Copy path", "Same line", "Allocation"]
    whole = map.eval("map.drawnCount")
    map.press("s")
    assert map.eval("map.drawnCount") < whole
    map.press("s", "Escape", "Escape")
    assert map.eval("[map.selected, map.state.picked]") == [-1, None]


def test_pane_shows_what_is_under_the_pointer_or_selected(map: Map) -> None:
    assert map.details().splitlines()[0].startswith("Peak of host memory")
    map.page.mouse.move(*map.point("ynn_fusion.6"))
    pointed = map.details()
    assert pointed.splitlines()[0] == "ynn_fusion.6"
    for fact in ("256.0 KiB", "steps 12", "to 32", "jit(train_step)/jvp()/dot_general", "shares its bytes"):
        assert fact in pointed
    # What is under the pointer does not cover the picture, and the wheel still zooms there.
    map.page.mouse.wheel(0, -60)
    map.wait_for("map.state.steps !== null", True)
    map.page.mouse.move(2, 2)
    assert "Peak of host memory" in map.details()
    map.press("0")
    map.click("dot")
    map.page.mouse.move(2, 2)
    assert map.details().splitlines()[0] == "dot"
    # The pane has a height of its own: the lists below stay where they are.
    assert map.eval("document.querySelector('.lists').scrollTop") == 0
    map.find('[data-action="pick"]').click()
    assert map.eval("map.state.picked.by") == "source"


def test_capacity_is_a_line_and_the_excess_is_striped(browser: Browser, tmp_path: Path) -> None:
    folder = tmp_path / "dump"
    shutil.copytree(TPU.parent, folder)
    (folder / "error.txt").write_text(
        "RESOURCE_EXHAUSTED: E1000: CompileTimeHbmOom: Ran out of memory on HBM, the total memory required for HLO "
        "temporaries (12.00M) exceeds available HBM (8.00M). HLO module: jit_roundtrip.\n"
    )
    with Map.of_file(browser, written_page(folder, tmp_path)) as map:
        lines = map.find("line.limit.over")
        assert lines.count() == 2
        assert "limit" in (map.find(".plot-curve svg").text_content() or "")
        for fact in ("8.00 MiB (the out-of-memory message in error.txt)", "150.6 % of the limit", "over the limit"):
            assert fact in map.details()
        striped = map.eval("map.colorsAtPeak()")
    with Map.of_file(browser, written_page(TPU, tmp_path)) as map:
        assert map.find("line.limit").count() == 0
        # Above the line, stripes of another color.
        assert len(striped) == len(map.eval("map.colorsAtPeak()")) + 1


def test_tables_show_the_content_of_the_plots(map: Map) -> None:
    map.find('[data-action="curve-table"]').click()
    map.find('[data-action="values-table"]').click()
    rows = map.find('[data-table="curve"] tbody tr').all_inner_texts()
    at_peak = [text for text in rows if text.startswith(f"{_PEAK}\t")]
    assert at_peak == [f"{_PEAK}\tynn_fusion.1\t4.21 MiB\t+2.0 KiB"]
    values = '[data-table="values"] tbody tr'
    assert [text.split("\t")[:2] for text in map.find(values).all_inner_texts()[:2]] == [
        ["params_0__0_.1", "1.53 MiB"],
        ["dot", "1.53 MiB"],
    ]
    map.find(values).nth(1).click()
    assert map.eval("map.label(map.selected)") == "dot"


@pytest.mark.parametrize(
    "looks",
    [{"color_scheme": "light"}, {"color_scheme": "dark"}, {"forced_colors": "active"}],
    ids=["light", "dark", "forced colors"],
)
@pytest.mark.parametrize("view", ["plots", "tables", "keys", "picked", "narrow", "flame", "range"])
def test_page_is_accessible(browser: Browser, file_of_several_spaces: Path, looks: dict[str, str], view: str) -> None:
    """axe finds no problem in names, contrast, roles and keyboard operation."""
    widths = {"picked": 800, "narrow": 320}
    size = {"width": widths.get(view, 1280), "height": 800}
    with Map.of_file(browser, file_of_several_spaces, bypass_csp=True, viewport=size, **looks) as map:
        if view == "tables":
            map.find('[data-action="curve-table"]').click()
            map.find('[data-action="values-table"]').click()
        elif view == "keys":
            map.press("?")
        elif view == "picked":
            map.choose("color-by", "source")
            map.find('[data-list="legend"] button').first.click()
        elif view == "narrow":
            map.press("ArrowDown")
        elif view == "flame":
            map.find('[data-action="values-flame"]').click()
        elif view == "range":
            map.drag_steps(0, 20)
        assert axe_problems(map.page) == []


_FRAMES = "[...document.querySelectorAll('[data-frame]')].map(e => e.title)"


def test_flame_graph_zooms_opens_lines_and_describes(map: Map) -> None:
    map.find('[data-action="values-flame"]').click()
    frames = map.eval(_FRAMES)
    assert frames[0] == "host memory peak, step 36 · 4.21 MiB"
    called = next(title for title in frames if title.startswith("programs.py:50 in "))
    bar = map.find(f'[title="{called}"]').first
    bar.hover()
    name, size = called.split(" · ")
    assert map.details().splitlines()[0] == name
    assert size in map.details()
    whole = map.find('[data-frame="0"]').bounding_box()
    map.page.evaluate("navigator.clipboard.writeText = async text => { window.copied = text; }")
    bar.dblclick()
    # The bar fills the graph, below those that call it.
    zoomed = map.find(f'[title="{called}"]').bounding_box()
    assert zoomed
    assert whole
    assert zoomed["width"] == pytest.approx(whole["width"], abs=1)
    assert map.eval("window.copied").endswith(f"/{name}")
    map.find('[data-frame="0"]').click()
    assert map.eval(_FRAMES) == frames
    # With keys alone: to the callee, zoom there, and back.
    map.find('[data-frame="0"]').focus()
    map.press("ArrowDown", "Enter")
    assert map.eval("document.activeElement.title") == frames[1]
    map.press("Escape")
    assert map.eval(_FRAMES) == frames
    # A search makes bars stand out, and a value is selected with a click.
    map.find('[data-control="search"]').fill("programs.py:50")
    map.find(".flame .faint").first.wait_for()
    map.find('.flame [title^="dot "]').click()
    assert map.eval("map.label(map.selected)") == "dot"


@pytest.mark.parametrize(
    "looks", [{"color_scheme": "light"}, {"color_scheme": "dark"}, {"forced_colors": "active"}], ids=str
)
@pytest.mark.parametrize("is_compared", [False, True], ids=["one dump", "two dumps"])
def test_nothing_overlaps_at_any_width(
    browser: Browser, file_of_several_spaces: Path, compared: Path, looks: dict[str, str], is_compared: bool
) -> None:
    with Map.of_file(browser, compared if is_compared else file_of_several_spaces, **looks) as map:
        for width in (420, 522, 640, 720, 900, 1120, 1440, 2560):
            map.page.set_viewport_size({"width": width, "height": 790})
            map.press("p")
            map.find(".plot").first.wait_for()
            assert (width, map.misplaced()) == (width, [])
            # The details are in view from the start.
            pane = map.find(".details").bounding_box()
            assert pane
            assert pane["height"] > 150
        map.find('[data-control="search"]').fill("a")
        map.find("output:has-text('of the peak')").wait_for()
        for width in (420, 522, 1440):
            map.page.set_viewport_size({"width": width, "height": 790})
            assert (width, map.misplaced()) == (width, [])


def test_panes_are_resized_and_folded(map: Map) -> None:
    height = map.eval("document.querySelector('.plot-curve').clientHeight")
    bar = map.find('[data-splitter="curve"]')
    box = bar.bounding_box()
    assert box
    mouse = map.page.mouse
    mouse.move(box["x"] + 50, box["y"] + 3)
    mouse.down()
    mouse.move(box["x"] + 50, box["y"] + 63)
    mouse.up()
    assert map.eval("document.querySelector('.plot-curve').clientHeight") == pytest.approx(height + 60, abs=5)
    bar.focus()
    map.press("ArrowUp")
    assert map.eval("document.querySelector('.plot-curve').clientHeight") < height + 50
    map.find('[data-action="fold-curve"]').click()
    assert map.find(".plot-curve").is_hidden()
    width = map.eval("document.querySelector('.plot-values').clientWidth")
    map.press("d")
    assert map.find("aside").is_hidden()
    assert map.eval("document.querySelector('.plot-values').clientWidth") > width + 200
    map.page.wait_for_url("**#*folded*side*")
    map.page.reload()
    again = Map(map.page)
    assert again.eval("map.state.folded") == ["curve", "side"]
    again.find('[data-splitter="side"]').dblclick()
    assert again.find("aside").is_visible()
    assert again.misplaced() == []


def test_two_maps_of_a_comparison_share_steps_and_swap_with_a_click(browser: Browser, compared: Path) -> None:
    with Map.of_file(browser, compared) as map:
        map.wait_for("map.isReady", True)
        assert map.page.locator("h1").first.inner_text().startswith("jit_roundtrip: HBM peak 8.00 MiB → 12.00 MiB")
        map.page.locator("#app").scroll_into_view_if_needed()
        assert map.eval("map.state.colorBy") == "change"
        assert map.eval("map.liveBytes") == 12 << 20
        titles = map.page.locator("section.values h2")
        assert titles.all_inner_texts() == ["Values of the new dump", "Values of the old dump"]
        colors = map.page.locator('[data-list="legend"] button .label').all_inner_texts()
        assert colors == ["bigger", "unchanged"]
        # A click on a rectangle of the old dump brings that to the front, at its own live bytes.
        plot = map.page.locator('[data-picture="other-values"]')
        box = plot.bounding_box()
        assert box
        plot.click(position={"x": box["width"] / 2, "y": box["height"] / 2})
        map.wait_for("document.querySelector('section.values h2').textContent", "Values of the old dump")
        place = map.page.locator("section.values").nth(0).bounding_box()
        other = map.page.locator("section.values").nth(1).bounding_box()
        assert place
        assert other
        # Each dump keeps its place: the new one stays above.
        assert place["y"] > other["y"]
        map.press("p")
        assert map.eval("map.liveBytes") == analysis_of(_COMPARED[0]).memory.spaces[0].peak_live_bytes
