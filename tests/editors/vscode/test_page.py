"""The page of the memory map by itself, as `xla-lens report --output-format html` writes it."""

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
    """The page of a training step."""
    return written_page(SPLIT, tmp_path_factory.mktemp("page"))


@pytest.fixture(scope="module")
def file_of_several_spaces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a program with several memory spaces."""
    return written_page(TPU, tmp_path_factory.mktemp("spaces"))


@pytest.fixture
def map(browser: Browser, file: Path) -> Iterator[Map]:
    """The map of a training step."""
    with Map.of_file(browser, file) as map:
        yield map


def test_steps_by_key(map: Map) -> None:
    map.wait_for("map.step", _PEAK)
    for key, step in (
        ("Home", 0),
        ("ArrowRight", 1),
        ("Shift+ArrowRight", 11),
        ("ArrowLeft", 10),
        ("End", _LAST),
        ("ArrowRight", _LAST),
        ("p", _PEAK),
        # To where something is born or dies.
        ("Control+ArrowRight", 37),
        ("Control+ArrowLeft", _PEAK),
        ("PageUp", 0),
        ("PageDown", _LAST),
    ):
        map.press(key)
        map.wait_for("map.step", step)
    dump = analysis_of(SPLIT).dump
    assert map.tells("map.liveBytes") == owned_bytes(dump, _LAST, 0)[1].sum()


def test_zoom_by_key(map: Map) -> None:
    map.press("+")
    first, last = map.tells("map.state.steps")
    # A part of all steps, and the cursor stays where it is among them.
    assert last - first == pytest.approx((_LAST + 1) / 1.5)
    assert (_PEAK - first) / (last - first) == pytest.approx((_PEAK + 0.5) / (_LAST + 1))
    assert map.tells("map.state.bytes") is None
    map.press("Alt++")
    assert map.tells("map.state.bytes") is not None
    map.press("0")
    assert map.tells("[map.state.steps, map.state.bytes]") == [None, None]


def test_the_list_and_the_search_by_key(map: Map) -> None:
    map.press("ArrowDown", "ArrowDown")
    assert map.tells("map.label(map.selected)") == "dot"
    map.press("ArrowUp")
    assert map.tells("map.label(map.selected)") == "params_0__0_.1"
    assert map.find('[data-list="live"] [aria-current]').count() == 1
    map.press("Escape")
    assert map.tells("map.selected") == -1
    map.press("/")
    map.page.keyboard.type("/^ynn_fusion\\.[12]$/")
    map.wait_for("map.matchCount", 2)
    map.press("Enter")
    assert map.tells("map.label(map.selected)") == "ynn_fusion.2"
    map.press("Enter", "Shift+Enter", "Shift+Enter")
    assert map.tells("map.label(map.selected)") == "ynn_fusion.1"
    # Letters are those of the field, until one leaves it.
    map.press("p")
    assert map.tells("map.state.search").endswith("$/p")
    map.press("Escape", "?")
    assert map.find("dialog").is_visible()
    map.press("Escape")
    assert map.find("dialog").is_hidden()


def test_the_pointer(map: Map) -> None:
    x, y = map.point("ynn_fusion.6")
    mouse = map.page.mouse
    # The wheel zooms to what is below the pointer.
    mouse.move(x, y)
    mouse.wheel(0, -60)
    map.wait_for("map.state.steps !== null", True)
    assert map.point("ynn_fusion.6") == (pytest.approx(x, abs=2), y)
    map.page.keyboard.down("Shift")
    mouse.wheel(0, -60)
    map.page.keyboard.up("Shift")
    map.wait_for("map.state.bytes !== null", True)
    assert map.point("ynn_fusion.6") == (pytest.approx(x, abs=2), pytest.approx(y, abs=2))
    # A drag moves what was below it along.
    mouse.move(x, y)
    mouse.down()
    mouse.move(x + 30, y + 20, steps=4)
    mouse.up()
    assert map.point("ynn_fusion.6") == (pytest.approx(x + 30, abs=2), pytest.approx(y + 20, abs=2))
    assert map.tells("map.selected") == -1
    map.find('[data-action="reset"]').click()
    assert map.tells("[map.state.steps, map.state.bytes]") == [None, None]
    # A drag with Shift shows what it frames.
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
    # A click selects.
    map.click("ynn_fusion.6")
    map.wait_for("map.label(map.selected)", "ynn_fusion.6")


def test_filters(map: Map) -> None:
    whole = map.tells("map.drawnCount")
    map.find('[data-control="least"]').fill("1 MiB")
    map.wait_for("map.drawnCount", 3)
    assert map.find("[role=alert]").is_hidden()
    map.find('[data-control="least"]').fill("much")
    map.find("[role=alert]").wait_for()
    map.find('[data-control="least"]').fill("")
    map.wait_for("map.drawnCount", whole)
    map.find('[data-category="temp"]').click()
    map.wait_for("map.state.hidden", ["temp"])
    assert 0 < map.tells("map.drawnCount") < whole


def test_tables_tell_what_the_pictures_show(map: Map) -> None:
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
    assert map.tells("map.label(map.selected)") == "dot"
    # Numbers the greatest first, and then the other way round.
    for is_reverse in (True, False):
        map.find('[data-table="values"] th:has-text("First step") button').click()
        starts = [int(text.split("\t")[4] or -1) for text in map.find(values).all_inner_texts()]
        assert starts == sorted(starts, reverse=is_reverse)


def test_the_address_keeps_what_is_chosen(map: Map) -> None:
    map.click("dot")
    map.choose("colours", "source")
    chosen = map.tells("map.state")
    map.page.wait_for_url("**#*colouredBy*")
    map.page.reload()
    again = Map(map.page)
    assert again.tells("map.state") == chosen
    assert again.tells("map.label(map.selected)") == "dot"


@pytest.mark.parametrize(
    "looks",
    [{"color_scheme": "light"}, {"color_scheme": "dark"}, {"forced_colors": "active"}],
    ids=["light", "dark", "forced colours"],
)
@pytest.mark.parametrize("view", ["pictures", "tables", "keys"])
def test_everybody_can_use_it(browser: Browser, file_of_several_spaces: Path, looks: dict[str, str], view: str) -> None:
    """What axe finds: names, contrast, roles, keyboard."""
    with Map.of_file(browser, file_of_several_spaces, bypass_csp=True, **looks) as map:
        if view == "tables":
            map.find('[data-action="curve-table"]').click()
            map.find('[data-action="values-table"]').click()
        elif view == "keys":
            map.press("?")
        map.page.add_script_tag(path=_AXE)
        found = map.page.evaluate("axe.run()")
        assert found["passes"]
        told = [(one["id"], one["help"], [node["html"] for node in one["nodes"]]) for one in found["violations"]]
        assert told == []


@pytest.mark.parametrize("width", [320, 600, 2560])
def test_it_fits_any_window(browser: Browser, file: Path, width: int) -> None:
    with Map.of_file(browser, file, viewport={"width": width, "height": 700}) as map:
        assert map.tells("document.documentElement.scrollWidth") <= width
        assert map.tells("map.drawnCount") > 20
