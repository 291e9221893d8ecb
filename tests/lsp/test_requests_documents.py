"""Requests about a whole document: outline, hints and links."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lsp.conftest import Loads
from lsp.reading import Reader, copied, in_all_encodings, lines, rows, sibling
from lsp.wire import FULL
from samples import SEED, SPLIT, TPU
from xla_lens.lsp.requests import annotations, structure

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


@in_all_encodings
async def test_dump_in_one_file_has_an_outline(reader: Reader, tmp_path: Path) -> None:
    await reader.start()
    uri = reader.open(copied(SEED, tmp_path, "cublas", "cüb🚀las"))
    outline = await _outline_of(reader, uri)
    assert outline[:3] == [
        "BufferAssignment: | 580.0 KiB · 5 allocations",
        "  allocation 0 = allocation 0: 0x399be10, size 262144, parameter 0, shape |f32[64,256,4]| at ShapeIndex {}: | "
        "256.0 KiB · parameter · 1 value",
        "    param = value: <0 param @0> (size=262144,offset=0): f32[64,256,4]{2,1,0} | 256.0 KiB",
    ]
    row = "value: <4 cüb🚀las-gemm.1 @0> (size=4096,offset=0): f32[64,16]{1,0}"
    assert f"    cüb🚀las-gemm.1 = {row} | 4.0 KiB" in outline
    assert "  cüb🚀las-gemm.1 = <4 cüb🚀las-gemm.1 @0> | 4.0 KiB" in outline
    assert "  InstructionSequence: | 7 instructions" in outline
    assert "  BufferLiveRange: | 6 live ranges" in outline
    assert [line for line in outline if not line.startswith(" ")] == [
        "BufferAssignment: | 580.0 KiB · 5 allocations",
        "Used values: | 6 values",
        "HloLiveRange (max 7): | 3 parts",
    ]


async def test_outline_follows_edits(reader: Reader, loads: Loads, tmp_path: Path) -> None:
    await reader.start()
    uri = reader.open(copied(SEED, tmp_path))
    before = await _outline_of(reader, uri)
    await reader.analysed(uri)
    loads.hold()
    reader.replace(uri, "BufferAssignment:", "🚀\r\n\tBufferAssignment:")
    reader.replace(uri, "\nallocation 2:", "\n\n🚀 allocation 2:")
    assert await _outline_of(reader, uri) == before


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


async def test_editors_without_nested_symbols_get_a_flat_outline(
    reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(structure, "SYMBOL_LIMIT", 2)
    await reader.start({})
    uri = reader.open(SEED)
    found = await reader.ask("documentSymbol", uri)
    shown = [(symbol["name"], symbol["containerName"]) for symbol in found]
    assert shown[:4] == [
        ("BufferAssignment", SEED.name),
        ("allocation 0", "BufferAssignment"),
        ("param", "allocation 0"),
        ("allocation 4", "BufferAssignment"),
    ]
    assert reader.text_at(uri, found[3]["location"]["range"]).startswith("allocation 4: 0x399c0d0, size 262144")
    # A flat outline has no place for the message.
    (logged,) = reader.editor.received("window/logMessage")
    assert logged["params"]["message"].endswith(f"{uri}: only the 2 biggest entries of each part are shown")


# ---------------------------------------------------------------- hints


async def _hints(reader: Reader, uri: str, range_: Any = None) -> list[str]:
    """Return the lines with their hints."""
    text = lines(reader.text(uri))
    found = await reader.ask("inlayHint", uri, range=range_ or reader.whole(uri))
    texts = []
    for hint in sorted(found, key=lambda hint: hint["position"]["line"]):
        line, position = text[hint["position"]["line"]], hint["position"]
        before = reader.text_at(uri, {"start": {**position, "character": 0}, "end": position})
        texts.append(f"{before}[{hint['label']}]{line[len(before) :]}")
    return texts


@in_all_encodings
async def test_dump_in_one_file_has_hints(reader: Reader, tmp_path: Path) -> None:
    await reader.start()
    uri = reader.open(copied(SEED, tmp_path, "cublas", "cüb🚀las"))
    found = await _hints(reader, uri)
    row = " value: <4 cüb🚀las-gemm.1 @0> (size=4096,offset=0): f32[64,16]{1,0}"
    assert f"{row}[4.0 KiB · 0.7 % of the peak · live 4–5]" in found
    assert "    4:cüb🚀las-gemm.1[+4.0 KiB → 580.0 KiB live ◀ peak]" in found
    assert "    cüb🚀las-gemm.1{}:4-5[4.0 KiB]" in found
    assert "  Live ranges at 5 (peak):[real memory space 0 peak: 580.0 KiB at step 4 (324.0 KiB here)]" in found
    assert await _hints(reader, uri, rows(62, 63)) == ["    4:cüb🚀las-gemm.1[+4.0 KiB → 580.0 KiB live ◀ peak]"]


async def test_hints_show_several_memory_spaces(reader: Reader) -> None:
    await reader.start()
    uri = reader.open(sibling(TPU, "live-range"))
    found = await _hints(reader, uri)
    assert "    3:copy-start[HBM 8.00 MiB, SMEM +4 B → 8 B, host memory 4.00 MiB ◀ peak of SMEM, host memory]" in found
    assert "    copy-start.1{2}:5-6[4 B]" in found


async def test_hints_follow_edits(reader: Reader, loads: Loads) -> None:
    await reader.start()
    uri = reader.open(SEED)
    before = await _hints(reader, uri)
    loads.hold()
    reader.replace(uri, "BufferAssignment:", "🚀\r\nBufferAssignment:")
    assert await _hints(reader, uri) == before


async def test_truncated_hints_are_logged(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(annotations, "HINT_LIMIT", 2)
    await reader.start()
    uri = reader.open(SEED)
    assert len(await _hints(reader, uri)) == 2
    (logged,) = reader.editor.received("window/logMessage")
    assert logged["params"]["message"].endswith(f"{uri}: more than 2 hints: the first 2 are shown")


# ---------------------------------------------------------------- links


async def _links(reader: Reader, uri: str) -> list[tuple[str, str, str]]:
    """Return the links: their text, tooltip and target."""
    texts = []
    for link in await reader.ask("documentLink", uri):
        found = await reader.editor.request("documentLink/resolve", link)
        texts.append((reader.text_at(uri, link["range"]), link["tooltip"], found.get("target", "")))
    return texts


@in_all_encodings
async def test_parts_link_to_the_other_files(reader: Reader, tmp_path: Path) -> None:
    await reader.start()
    path = copied(SPLIT, tmp_path)
    files = {kind: sibling(path, kind).as_uri() for kind in ("live-range", "memory-usage-report")}
    used = sibling(path, "buffer-assignment-values").as_uri()
    assert await _links(reader, reader.open(path)) == [("BufferAssignment", "Used values", f"{used}#L4")]
    assert (await _links(reader, reader.open(sibling(path, "buffer-assignment-values"))))[:2] == [
        ("Total bytes used", "Memory usage report", f"{files['memory-usage-report']}#L1"),
        ("Used values", "Live ranges", f"{files['live-range']}#L1"),
    ]
    assert (await _links(reader, reader.open(sibling(path, "live-range"))))[:3] == [
        ("HloLiveRange", "Buffer assignment", f"{path.as_uri()}#L1"),
        ("InstructionSequence", "Used values", f"{used}#L4"),
        ("BufferLiveRange", "Buffer assignment", f"{path.as_uri()}#L1"),
    ]


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


async def test_truncated_links_are_logged(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(annotations, "LINK_LIMIT", 1)
    await reader.start()
    uri = reader.open(SEED)
    assert len(await reader.ask("documentLink", uri)) == 1
    (logged,) = reader.editor.received("window/logMessage")
    assert "more than 1 links" in logged["params"]["message"]
