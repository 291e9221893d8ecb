"""Comparisons of two dumps: the page, its links into both, lenses and hovers, and what happens when a side changes."""

import re
import shutil
from pathlib import Path
from typing import Any, Final

import pytest

from lsp.reading import NO_PAGE, Reader, lines, read_page, show_page
from lsp.wire import FULL, RequestFailed
from protocol import check
from samples import DUMPS


def _dump(path: str) -> Path:
    return next(DUMPS.glob(f"{path}*-buffer-assignment.txt"))


OLD: Final = _dump("cpu-jaxlib0.4.20/donation/module_0000")
NEW: Final = _dump("cpu-jaxlib0.6.2/donation/module_0001")
PAIRS: Final = [
    (OLD, NEW),
    (_dump("tpu-v5p-jaxlib0.6.2-libtpu0.0.17.1/host_offload/"), _dump("tpu-v5e2x2-libtpu0.0.51/host_offload/")),
    (_dump("cpu-tf2.5.3/while/"), _dump("cpu-tf2.16.2/while/")),
    (_dump("cpu-jaxlib0.6.0/matmul/"), _dump("gpu-h100-jaxlib0.4.38/matmul/")),
]


async def _compare(reader: Reader, old: Path, new: Path) -> tuple[str, str, str]:
    """Open two dumps and compare them. Return the URIs of both and of the page."""
    uris = reader.open(old), reader.open(new)
    return (*uris, await show_page(reader, "compare", old=uris[0], new=uris[1]))


async def test_lens_and_hover_say_what_a_value_was(reader: Reader) -> None:
    await reader.start()
    old, new, _ = await _compare(reader, OLD, NEW)
    # The schedules of both dumps, in which the instructions are numbered anew.
    assert await _lenses(reader, new, "broadcast_add_fusion.1") == ["lived 3 steps less"]
    assert await _lenses(reader, old, "fusion.2") == ["lives 3 steps longer"]
    commands = [lens["command"] for lens in await reader.ask("codeLens", new)]
    assert {one["arguments"][0]["uri"] for one in commands if one["title"].startswith("live")} == {old}
    assert "- compared: lived 3 steps less (`fusion.2` in the old dump)\n" in await _hover(
        reader, new, "broadcast_add_fusion.1"
    )
    assert "- compared: lives 3 steps longer (`broadcast_add_fusion.1` in the new dump)\n" in await _hover(
        reader, old, "fusion.2"
    )
    assert await reader.run("endComparison", {}) is True
    assert await _lenses(reader, new, "broadcast_add_fusion.1") == []
    assert "compared" not in await _hover(reader, new, "broadcast_add_fusion.1")
    assert await reader.run("endComparison", {}) is False


async def test_click_on_a_lens_follows_edits_of_the_other_dump(reader: Reader) -> None:
    await reader.start()
    old, new, _ = await _compare(reader, OLD, NEW)
    before = await _targets(reader, new)
    assert before
    first = lines(reader.text(old))[0]
    reader.replace(old, first, f"{first}\n")
    assert await _targets(reader, new) == [line + 1 for line in before]


async def _targets(reader: Reader, uri: str) -> list[int]:
    """Return the lines of the other dump that clicks on the comparison's lenses lead to."""
    commands = [lens["command"] for lens in await reader.ask("codeLens", uri)]
    wanted = [one["arguments"][0] for one in commands if one["title"].startswith("live")]
    return [location["range"]["start"]["line"] for location in wanted]


async def _lenses(reader: Reader, uri: str, value: str) -> list[str]:
    """Return the titles of the comparison's lenses at the header of a value."""
    found = []
    for lens in await reader.ask("codeLens", uri):
        line = lines(reader.text(uri))[lens["range"]["start"]["line"]]
        is_compared = lens["command"]["command"] in ("", "xla-lens.goTo")
        if is_compared and re.match(rf" *<\d+ {re.escape(value)}(\{{\}})? @0>", line):
            found.append(lens["command"]["title"])
    return found


async def _hover(reader: Reader, uri: str, value: str) -> str:
    text = reader.text(uri)
    match = re.search(rf"^<\d+ ({re.escape(value)})", text[text.index("Used values:") :], re.MULTILINE)
    assert match
    start = text.index("Used values:") + match.start(1)
    position = {"line": text.count("\n", 0, start), "character": start - text.rindex("\n", 0, start) - 1}
    return str((await reader.ask("hover", uri, position=position))["contents"]["value"])


async def test_maps_of_the_page_are_on_one_axis(reader: Reader) -> None:
    await reader.start()
    old, new, page = await _compare(reader, OLD, NEW)
    maps = await reader.run("comparedMaps", {"uri": page})
    check(maps, "ComparedMaps")
    assert (maps["old_uri"], maps["new_uri"]) == (old, new)
    assert len(maps["old"]["steps"]) == len(maps["new"]["steps"])
    with pytest.raises(RequestFailed, match="is not a comparison"):
        await reader.run("comparedMaps", {"uri": new})


# ---------------------------------------------------------------- choosing what to compare


async def test_actions_select_and_compare(reader: Reader) -> None:
    await reader.start()
    old, new = reader.open(OLD), reader.open(NEW)
    named = f"Compare with {OLD.parent.name}/{OLD.name.removesuffix('-buffer-assignment.txt')}"
    assert await _actions(reader, new) == [
        ("Select this dump for comparison", "xla-lens.selectForCompare", {"uri": new}),
        (named, "xla-lens.compare", {"old": old, "new": new}),
    ]
    selected = await reader.run("selectForCompare", {"uri": old})
    assert selected == {"uri": old, "name": OLD.name.removesuffix("-buffer-assignment.txt")}
    reader.close(old)
    assert (await _actions(reader, new))[1:] == [(named, "xla-lens.compare", {"old": old, "new": new})]
    page = await show_page(reader, "compare", new=new)
    assert page == await show_page(reader, "compare", old=old, new=new)
    assert (await _actions(reader, new))[2:] == [("End the comparison", "xla-lens.endComparison", {})]


async def _actions(reader: Reader, uri: str) -> list[tuple[str, str, Any]]:
    start = {"line": 0, "character": 0}
    params = {"range": {"start": start, "end": start}, "context": {"diagnostics": []}}
    commands = [action["command"] for action in await reader.ask("codeAction", uri, **params)]
    found = [(command["title"], command["command"], command["arguments"][0]) for command in commands]
    return [action for action in found if "omp" in action[1]]


async def test_page_of_a_dump_that_no_command_named_is_refused(reader: Reader, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    copy = Path(shutil.copy(OLD, outside))
    await reader.start(FULL, NEW.parent)
    *_, page = await _compare(reader, OLD, NEW)
    other = f"{page.split('?')[0]}?{copy.as_posix().removesuffix('-buffer-assignment.txt')}"
    assert await read_page(reader, other) == NO_PAGE


# ---------------------------------------------------------------- changes of a side


async def test_edit_of_a_side_updates_page_and_lenses(reader: Reader) -> None:
    await reader.start()
    old, new, page = await _compare(reader, OLD, NEW)
    assert await _lenses(reader, new, "broadcast_add_fusion.1") == ["lived 3 steps less"]
    line = next(line for line in lines(reader.text(old)) if line.startswith("    fusion.2{}:"))
    start = int(line.split(":")[1].split("-")[0])
    reader.replace(old, line, f"    fusion.2{{}}:{start}-{start}")
    await reader.editor.until(lambda: bool(reader.editor.received("workspace/textDocumentContent/refresh")))
    assert await read_page(reader, page) != reader.text(page)
    await reader.editor.until(lambda: len(reader.editor.received("workspace/codeLens/refresh")) >= 1)
    assert await _lenses(reader, new, "broadcast_add_fusion.1") == ["lived 4 steps less"]


async def test_deleted_side_is_named(reader: Reader, tmp_path: Path) -> None:
    copy = Path(shutil.copy(OLD, tmp_path))
    await reader.start()
    new = reader.open(NEW)
    page = await show_page(reader, "compare", old=copy.as_uri(), new=new)
    copy.unlink()
    await _until_refreshed(reader, page)
    assert await read_page(reader, page) == f"These dumps cannot be compared: {OLD.name} cannot be read.\n"
    assert await _lenses(reader, new, "broadcast_add_fusion.1") == []
    assert "compared" not in await _hover(reader, new, "broadcast_add_fusion.1")


async def _until_refreshed(reader: Reader, page: str) -> None:
    for _ in range(2):
        reader.editor.notify("workspace/didChangeWatchedFiles", {"changes": []})
    await reader.editor.until(
        lambda: any(
            message["params"]["uri"] == page
            for message in reader.editor.received("workspace/textDocumentContent/refresh")
        )
    )


async def test_closing_the_documents_keeps_the_comparison(reader: Reader) -> None:
    await reader.start()
    old, new, page = await _compare(reader, OLD, NEW)
    text = reader.text(page)
    reader.close(old)
    assert await _lenses(reader, new, "broadcast_add_fusion.1") == ["lived 3 steps less"]
    reader.close(new)
    assert await read_page(reader, page) == text
    assert "- compared: lived 3 steps less" in await _hover(reader, reader.open(NEW), "broadcast_add_fusion.1")
