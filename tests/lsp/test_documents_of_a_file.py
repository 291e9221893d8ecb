"""Documents and the files that they are: several URIs of one file, and modules whose text shows nothing of a module."""

from pathlib import Path
from typing import Any

import pytest

from lsp.reading import Reader, copied
from samples import SPLIT

_OTHERS = {
    "percent": lambda path: path.as_uri().replace("module", "%6Dodule"),
    "dots": lambda path: path.as_uri().replace("/dump/", "/other/../dump/"),
    "dot": lambda path: path.as_uri().replace("/dump/", "/./dump/"),
    "slashes": lambda path: path.as_uri().replace("/dump/", "//dump/"),
    "host": lambda path: path.as_uri().replace("file:///", "file://localhost/"),
    "scheme": lambda path: path.as_uri().replace("file:", "FILE:"),
    "link": lambda path: path.as_uri().replace("/dump/", "/link/"),
}
"""Other URIs of the file in `_dump`."""

_MARKED = """
allocation 1: size 524288, page 0, parameter 2, shape |f32[512,256]| at ShapeIndex {}, maybe-live-out:
           ^
"""


def _dump(folder: Path) -> Path:
    (folder / "other").mkdir()
    (folder / "link").symlink_to(folder / "dump")
    return copied(SPLIT, folder / "dump")


async def _answers(reader: Reader, uri: str) -> list[Any]:
    place = reader.at(uri, _MARKED)
    declared = {"includeDeclaration": True}
    return [
        (await reader.ask("hover", uri, position=place))["contents"]["value"],
        len(await reader.ask("references", uri, position=place, context=declared)),
        len(await reader.ask("documentSymbol", uri)),
    ]


@pytest.mark.parametrize("name", _OTHERS)
async def test_all_uris_of_a_file_have_the_same_answers(reader: Reader, tmp_path: Path, name: str) -> None:
    await reader.start()
    path = _dump(tmp_path)
    first = reader.open(path)
    expected = await _answers(reader, first)
    second = reader.open_uri(_OTHERS[name](path), path.read_text())
    assert [await _answers(reader, uri) for uri in (second, first)] == [expected, expected]
    # One text is not that of the file any more: the document that was changed last counts.
    reader.replace(first, "allocation 1: size 524288", "allocation 1: size 1524288")
    hover = await reader.ask("hover", first, position=reader.at(first, _MARKED.replace("524288", "1524288")))
    assert "1.45 MiB" in hover["contents"]["value"]
    if name != "link":
        assert await reader.ask("hover", second, position=reader.at(second, _MARKED)) is None
    reader.replace(first, "allocation 1: size 1524288", "allocation 1: size 524288")
    assert await _answers(reader, second) == expected
    reader.replace(second, "BufferAssignment:", "\nBufferAssignment:")
    reader.close(second)
    assert await _answers(reader, first) == expected
    reader.close(first)
    assert await reader.ask("hover", first, position={"line": 2, "character": 12}) is None


@pytest.mark.parametrize("text", ["\n", "{", "", "no module"])
async def test_a_module_stays_one_whatever_its_text_becomes(reader: Reader, tmp_path: Path, text: str) -> None:
    """The answers are those of a server that sees the last text only."""
    path = copied(SPLIT, tmp_path)
    module = path.with_name(path.name.replace("-buffer-assignment", ""))

    async def answers(one: Reader, uri: str) -> list[Any]:
        # This waits until the new text of the module is read.
        symbols = await one.ask("documentSymbol", uri)
        other = one.open(path)
        line = next(row for row, found in enumerate(one.text(other).split("\n")) if found.startswith(" value: "))
        place, declared = {"line": line, "character": 14}, {"includeDeclaration": True}
        places = await one.ask("references", other, position=place, context=declared)
        inside = [place for place in places if place["uri"] == uri]
        folds = await one.ask("foldingRange", uri)
        hover = await one.ask("hover", uri, position={"line": 0, "character": 0})
        return [len(places), len(inside), symbols, folds, hover]

    await reader.start()
    uri = reader.open(module)
    assert await reader.ask("documentSymbol", uri)
    reader.replace(uri, module.read_text(), text)
    before = await answers(reader, uri)
    fresh = Reader()
    await fresh.start()
    fresh.open(module, text)
    assert await answers(fresh, uri) == before
    assert before[1] == 0
    assert before[0] > 3
    assert before[2] == []
    await fresh.stop()
