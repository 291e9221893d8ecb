"""Requests about a whole document: outline, hints and links."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lsp.reading import Reader, copied
from lsp.wire import FULL
from samples import SEED
from xla_lens.lsp.requests import structure

# ---------------------------------------------------------------- the outline


def _outline(reader: Reader, uri: str, symbols: list[Any], depth: int = 0) -> Iterator[str]:
    """Return an outline as text: names, details and the selected text."""
    for symbol in symbols:
        name = reader.text_at(uri, symbol["selectionRange"])
        shown = name if name in (symbol["name"], f"{symbol['name']}:") else f"{symbol['name']} = {name}"
        yield f"{'  ' * depth}{shown} | {symbol['detail']}"
        yield from _outline(reader, uri, symbol.get("children", []), depth + 1)


async def _outline_of(reader: Reader, uri: str) -> list[str]:
    return list(_outline(reader, uri, await reader.ask("documentSymbol", uri)))


async def test_truncated_outline_says_so(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(structure, "SYMBOL_LIMIT", 2)
    await reader.start()
    uri = reader.open(SEED)
    outline = await _outline_of(reader, uri)
    assert outline[0] == "BufferAssignment: | 580.0 KiB · the 2 largest of 5 allocations"
    assert [line.split(" = ")[0] for line in outline if line.startswith("  allocation")] == [
        "  allocation 0",
        "  allocation 4",
    ]


# ---------------------------------------------------------------- links


async def _links(reader: Reader, uri: str) -> list[tuple[str, str, str]]:
    """Return the links: their text, tooltip and target."""
    texts = []
    for link in await reader.ask("documentLink", uri):
        found = await reader.editor.request("documentLink/resolve", link)
        texts.append((reader.text_at(uri, link["range"]), link["tooltip"], found.get("target", "")))
    return texts


async def test_links_to_sources_are_resolved(reader: Reader, tmp_path: Path) -> None:
    await reader.start(FULL, tmp_path)
    uri = reader.open(copied(SEED, tmp_path, "cublas", "cüb🚀las"))
    assert all("target" not in link for link in await reader.ask("documentLink", uri))
    source = tmp_path / "test_auto_sharding_basic.py"
    link = 'test_auto_sharding_basic.py" source_line=53', "test_auto_sharding_basic.py:53"
    assert (*link, "") in await _links(reader, uri)
    source.touch()
    assert (*link, f"{source.as_uri()}#L53") in await _links(reader, uri)


async def test_relative_source_without_a_folder_has_no_target(reader: Reader) -> None:
    await reader.start()
    uri = reader.open(SEED)
    assert {target for _, _, target in await _links(reader, uri)} == {""}
