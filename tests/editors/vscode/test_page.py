"""The memory map as a standalone page, as `xla-lens report --output-format html` writes it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from editors.vscode.memory_map import Map, written_page
from editors.vscode.window import Browser
from samples import ROOT, SPLIT, TPU, analysis_of
from xla_lens.model.attribution.owned import owned_bytes

_AXE = ROOT / "vscode-extension" / "node_modules" / "axe-core" / "axe.min.js"

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


@pytest.fixture
def map(browser: Browser, file: Path) -> Iterator[Map]:
    """Open the page of a training step."""
    with Map.of_file(browser, file) as map:
        yield map


def test_keys_move_through_steps(map: Map) -> None:
    map.wait_for("map.step", _PEAK)
    for key, step in (
        ("Home", 0),
        ("ArrowRight", 1),
        ("Shift+ArrowRight", 11),
        ("ArrowLeft", 10),
        ("End", _LAST),
        ("ArrowRight", _LAST),
        ("p", _PEAK),
        # To the next and the previous change of live bytes.
        ("Control+ArrowRight", 37),
        ("Control+ArrowLeft", _PEAK),
        ("PageUp", 0),
        ("PageDown", _LAST),
    ):
        map.press(key)
        map.wait_for("map.step", step)
    dump = analysis_of(SPLIT).dump
    assert map.eval("map.liveBytes") == owned_bytes(dump, _LAST, 0)[1].sum()


def test_keys_zoom(map: Map) -> None:
    map.press("+")
    first, last = map.eval("map.state.steps")
    # The cursor keeps its position on the screen.
    assert last - first == pytest.approx((_LAST + 1) / 1.5)
    assert (_PEAK - first) / (last - first) == pytest.approx((_PEAK + 0.5) / (_LAST + 1))
    assert map.eval("map.state.bytes") is None
    map.press("Alt++")
    assert map.eval("map.state.bytes") is not None
    map.press("0")
    assert map.eval("[map.state.steps, map.state.bytes]") == [None, None]


def test_keys_move_through_live_values_and_matches(map: Map) -> None:
    map.press("ArrowDown", "ArrowDown")
    assert map.eval("map.label(map.selected)") == "dot"
    map.press("ArrowUp")
    assert map.eval("map.label(map.selected)") == "params_0__0_.1"
    assert map.find('[data-list="live"] [aria-current]').count() == 1
    map.press("Escape")
    assert map.eval("map.selected") == -1
    map.press("/")
    map.page.keyboard.type("/^ynn_fusion\\.[12]$/")
    map.wait_for("map.matchCount", 2)
    map.press("Enter")
    assert map.eval("map.label(map.selected)") == "ynn_fusion.2"
    map.press("Enter", "Shift+Enter", "Shift+Enter")
    assert map.eval("map.label(map.selected)") == "ynn_fusion.1"
    # A field takes letters until it loses the focus.
    map.press("p")
    assert map.eval("map.state.search").endswith("$/p")
    map.press("Escape", "?")
    assert map.find("dialog").is_visible()
    map.press("Escape")
    assert map.find("dialog").is_hidden()


def test_pointer_zooms_pans_frames_and_selects(map: Map) -> None:
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
    # Dragging with Shift zooms to the frame.
    box = map.box("ynn_fusion.6")
    map.page.keyboard.down("Shift")
    mouse.move(box["x"], box["y"])
    mouse.down()
    mouse.move(box["x"] + box["width"], box["y"] + box["height"], steps=4)
    mouse.up()
    map.page.keyboard.up("Shift")
    framed = map.box("ynn_fusion.6")
    assert framed["width"] > 1.5 * box["width"]
    assert framed["height"] > 2 * box["height"]
    # A click selects a value.
    map.click("ynn_fusion.6")
    map.wait_for("map.label(map.selected)", "ynn_fusion.6")


def test_filters_hide_values(map: Map) -> None:
    whole = map.eval("map.drawnCount")
    map.find('[data-control="min-size"]').fill("1 MiB")
    map.wait_for("map.drawnCount", 3)
    assert map.find("[role=alert]").is_hidden()
    map.find('[data-control="min-size"]').fill("much")
    map.find("[role=alert]").wait_for()
    map.find('[data-control="min-size"]').fill("")
    map.wait_for("map.drawnCount", whole)
    # Colors are picked with a click, and hidden or shown alone with the buttons of the details or with keys.
    map.find('[data-category="temp"]').click()
    assert map.actions() == ["Solo", "Hide", "Largest", "Clear"]
    map.find('[data-action="hide"]').click()
    map.wait_for("map.state.hidden", ["temp"])
    without = map.eval("map.drawnCount")
    assert 0 < without < whole
    map.find('[data-action="solo"]').click()
    assert map.eval("map.drawnCount") == whole - without
    map.press("s")
    assert map.eval("map.drawnCount") == whole
    map.press("h")
    map.wait_for("map.state.hidden", ["temp"])
    # A hidden color comes back with a click.
    map.find('[data-category="temp"]').click()
    assert map.eval("map.state.hidden") == []
    map.press("Escape")
    assert map.eval("map.state.picked") is None


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
    # Numbers are sorted in descending order first.
    for is_reverse in (True, False):
        map.find('[data-table="values"] th:has-text("First step") button').click()
        starts = [int(text.split("\t")[4] or -1) for text in map.find(values).all_inner_texts()]
        assert starts == sorted(starts, reverse=is_reverse)


def test_state_survives_in_the_url(map: Map) -> None:
    map.click("dot")
    map.choose("color-by", "source")
    chosen = map.eval("map.state")
    map.page.wait_for_url("**#*colorBy*")
    map.page.reload()
    again = Map(map.page)
    assert again.eval("map.state") == chosen
    assert again.eval("map.label(map.selected)") == "dot"


@pytest.mark.parametrize(
    "looks",
    [{"color_scheme": "light"}, {"color_scheme": "dark"}, {"forced_colors": "active"}],
    ids=["light", "dark", "forced colors"],
)
@pytest.mark.parametrize("view", ["plots", "tables", "keys"])
def test_page_is_accessible(browser: Browser, file_of_several_spaces: Path, looks: dict[str, str], view: str) -> None:
    """axe finds no problem in names, contrast, roles and keyboard operation."""
    with Map.of_file(browser, file_of_several_spaces, bypass_csp=True, **looks) as map:
        if view == "tables":
            map.find('[data-action="curve-table"]').click()
            map.find('[data-action="values-table"]').click()
        elif view == "keys":
            map.press("?")
        map.page.add_script_tag(path=_AXE)
        found = map.page.evaluate("axe.run()")
        assert found["passes"]
        problems = [(one["id"], one["help"], [node["html"] for node in one["nodes"]]) for one in found["violations"]]
        assert problems == []


@pytest.mark.parametrize("width", [320, 600, 2560])
def test_page_fits_any_width(browser: Browser, file: Path, width: int) -> None:
    with Map.of_file(browser, file, viewport={"width": width, "height": 700}) as map:
        assert map.eval("document.documentElement.scrollWidth") <= width
        assert map.eval("map.drawnCount") > 20
