"""How a document is built: its outline, what can be folded, what surrounds a place, colours, hints and links."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from lsp.conftest import Loads
from lsp.reading import Reader, copied, in_all_encodings, lines, sibling
from lsp.wire import RICH
from samples import SEED, SPLIT, TPU
from xla_lens.lsp.requests import documents, structure


def _whole(reader: Reader, uri: str) -> Mapping[str, Any]:
    """The range of all lines."""
    return _rows(0, len(lines(reader.text(uri))))


def _rows(first: int, last: int) -> Mapping[str, Any]:
    return {"start": {"line": first, "character": 0}, "end": {"line": last, "character": 0}}


# ---------------------------------------------------------------- the outline


def _outline(reader: Reader, uri: str, symbols: list[Any], depth: int = 0) -> Iterator[str]:
    """An outline as text: the names, what is told of them, and the text that is selected."""
    for symbol in symbols:
        name = reader.cut(uri, symbol["selectionRange"])
        shown = name if name in (symbol["name"], f"{symbol['name']}:") else f"{symbol['name']} = {name}"
        yield f"{'  ' * depth}{shown} | {symbol['detail']}"
        yield from _outline(reader, uri, symbol.get("children", []), depth + 1)


async def _outline_of(reader: Reader, uri: str) -> list[str]:
    return list(_outline(reader, uri, await reader.ask("documentSymbol", uri)))


@in_all_encodings
async def test_the_outline_of_a_dump_in_one_file(reader: Reader, tmp_path: Path) -> None:
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


async def test_the_outline_is_carried_over_edits(reader: Reader, loads: Loads, tmp_path: Path) -> None:
    await reader.start()
    uri = reader.open(copied(SEED, tmp_path))
    before = await _outline_of(reader, uri)
    loads.hold()
    reader.replace(uri, "BufferAssignment:", "🚀\r\n\tBufferAssignment:")
    reader.replace(uri, "\nallocation 2:", "\n\n🚀 allocation 2:")
    assert await _outline_of(reader, uri) == before


async def test_a_long_outline_says_what_is_left_out(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "SYMBOL_LIMIT", 2)
    await reader.start()
    uri = reader.open(SEED)
    outline = await _outline_of(reader, uri)
    assert outline[0] == "BufferAssignment: | 580.0 KiB · the 2 biggest of 5 allocations"
    assert [line.split(" = ")[0] for line in outline if line.startswith("  allocation")] == [
        "  allocation 0",
        "  allocation 4",
    ]


async def test_the_outline_for_editors_that_take_no_tree(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "SYMBOL_LIMIT", 2)
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
    assert reader.cut(uri, found[3]["location"]["range"]).startswith("allocation 4: 0x399c0d0, size 262144")
    # There is no place for it in the answer.
    (logged,) = reader.editor.received("window/logMessage")
    assert logged["params"]["message"].endswith(f"{uri}: the 2 biggest of each part are shown")


# ---------------------------------------------------------------- folds


async def _folds(reader: Reader, uri: str) -> list[tuple[int, int, str]]:
    """What can be folded: the first line and the last, and what stands there."""
    text = lines(reader.text(uri))
    found = await reader.ask("foldingRange", uri)
    assert {fold["kind"] for fold in found} == {"region"}
    assert not any("startCharacter" in fold or "endCharacter" in fold for fold in found)
    return [(fold["startLine"] + 1, fold["endLine"] + 1, text[fold["startLine"]]) for fold in found]


async def test_sections_allocations_values_and_their_lists_fold(reader: Reader) -> None:
    await reader.start()
    uri = reader.open(SEED)
    assert [(first, last, line[:22]) for first, last, line in await _folds(reader, uri)] == [
        (1, 12, "BufferAssignment:"),
        (2, 3, "allocation 0: 0x399be1"),
        (4, 5, "allocation 1: 0x399bec"),
        (6, 8, "allocation 2: 0x399bf7"),
        (9, 10, "allocation 3: 0x399c02"),
        (11, 12, "allocation 4: 0x399c0d"),
        (16, 54, "Used values:"),
        (17, 22, "<0 param @0>"),
        (23, 30, "<1 param.1 @0>"),
        (24, 26, " positions:"),
        (27, 29, " uses:"),
        (31, 37, "<2 negate.0 @0>"),
        (32, 34, " positions:"),
        (38, 42, "<3 tuple{} @0>"),
        (43, 48, "<4 cublas-gemm.1 @0>"),
        (49, 54, "<5 fusion @0>"),
        (57, 77, "HloLiveRange (max 7):"),
        (58, 65, "  InstructionSequence:"),
        (66, 72, "  BufferLiveRange:"),
        (73, 77, "  Live ranges at 5 (pe"),
    ]


async def test_the_biggest_folds_are_told_to_editors_with_a_limit(reader: Reader) -> None:
    await reader.start({**RICH, "textDocument": {"foldingRange": {"rangeLimit": 4}}})
    uri = reader.open(SEED)
    assert [fold[:2] for fold in await _folds(reader, uri)] == [(1, 12), (16, 54), (57, 77), (58, 65)]
    (logged,) = reader.editor.received("window/logMessage")
    assert logged["params"]["message"] == f"textDocument/foldingRange, {uri}: the 4 biggest folds are shown"


async def test_folds_are_carried_over_edits(reader: Reader, loads: Loads) -> None:
    await reader.start()
    uri = reader.open(SEED)
    before = await _folds(reader, uri)
    loads.hold()
    reader.replace(uri, "BufferAssignment:", "\n\r\n\rBufferAssignment:")
    assert await _folds(reader, uri) == [(first + 3, last + 3, line) for first, last, line in before]
    reader.replace(uri, "    cublas-gemm.1: 4096 bytes", "")
    reader.replace(uri, reader.text(uri).partition("Used values")[0], "")
    assert (await _folds(reader, uri))[0][2] == "Used values:"


# ---------------------------------------------------------------- selections


async def _selections(reader: Reader, uri: str, marked: str) -> list[str]:
    """What is selected step by step from a marked place on."""
    (found,) = await reader.ask("selectionRange", uri, positions=[reader.at(uri, marked)])
    texts = []
    while found:
        texts.append(reader.cut(uri, found["range"]))
        found = found.get("parent")
    return texts


@in_all_encodings
async def test_selections_widen_to_the_whole_file(reader: Reader, tmp_path: Path) -> None:
    await reader.start()
    uri = reader.open(copied(SEED, tmp_path, "cublas", "cüb🚀las"))
    word, row, *blocks, whole = await _selections(reader, uri, "    cüb🚀las-gemm.1: 4096 bytes\n                 ^")
    assert (word, row) == ("cüb🚀las-gemm.1", "cüb🚀las-gemm.1: 4096 bytes")
    assert [block.split("\n")[0] for block in blocks] == ["Live ranges at 5 (peak):", "HloLiveRange (max 7):"]
    assert whole == reader.text(uri)
    marked = " value: <4 cüb🚀las-gemm.1 @0> (size=4096,offset=0): f32[64,16]{1,0}\n"
    texts = await _selections(reader, uri, f"{marked}{' ' * marked.index('16]')}^")
    assert texts[:5] == ["16", "64,16", "[64,16]", "f32[64,16]{1,0}", marked.strip()]
    assert texts[5].startswith("allocation 2: 0x399bf70")


async def test_many_selections_at_once(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    """One answer for each: what is too much has one that does not help."""
    monkeypatch.setattr(structure, "POSITION_LIMIT", 2)
    await reader.start()
    uri = reader.open(SEED)
    places = [{"line": row, "character": 9} for row in (66, 67, 68, 9999)]
    found = await reader.ask("selectionRange", uri, positions=places)
    assert [reader.cut(uri, selection["range"]) for selection in found[:2]] == ["param{}", "param.1{}"]
    assert [selection["range"]["start"] for selection in found[2:]] == places[2:]


async def test_selections_are_carried_over_edits(reader: Reader, loads: Loads) -> None:
    await reader.start()
    uri = reader.open(SEED)
    before = await _selections(reader, uri, "    cublas-gemm.1: 4096 bytes\n      ^")
    loads.hold()
    reader.replace(uri, "BufferAssignment:", "🚀\r\nBufferAssignment:")
    after = await _selections(reader, uri, "    cublas-gemm.1: 4096 bytes\n      ^")
    assert after[:-1] == before[:-1]
    assert after[-1].endswith(before[-1])


# ---------------------------------------------------------------- colours


async def _colours(reader: Reader, uri: str, legend: Any, range_: Any = None) -> dict[int, list[str]]:
    """The words of each line with what they are: ``fusion:variable+liveAtPeak``."""
    found = await reader.ask("semanticTokens/range", uri, range=range_ or _whole(reader, uri))
    told: dict[int, list[str]] = {}
    row = column = 0
    numbers = iter(found["data"])
    for rows, columns, width, kind, modifiers in zip(*[numbers] * 5, strict=True):
        row, column = row + rows, columns if rows else column + columns
        ends = ({"line": row, "character": column}, {"line": row, "character": column + width})
        word = reader.cut(uri, dict(zip(("start", "end"), ends, strict=True)))
        names = [name for bit, name in enumerate(legend["tokenModifiers"]) if modifiers >> bit & 1]
        told.setdefault(row + 1, []).append(f"{word}:{'+'.join([legend['tokenTypes'][kind], *names])}")
    return told


async def _legend(reader: Reader) -> Any:
    return (await reader.start())["capabilities"]["semanticTokensProvider"]["legend"]


@in_all_encodings
async def test_colours_tell_what_words_are(reader: Reader, tmp_path: Path) -> None:
    legend = await _legend(reader)
    uri = reader.open(copied(SEED, tmp_path, "cublas", "cüb🚀las"))
    found = await _colours(reader, uri, legend)
    assert found[1] == ["BufferAssignment:namespace"]
    assert found[6] == [
        "allocation:keyword",
        "2:class+definition",
        "0x399bf70:number",
        "size:property",
        "4096:number",
        "maybe-live-out:enumMember",
    ]
    assert found[8] == [
        "value:keyword",
        "4:number",
        "cüb🚀las-gemm.1:variable+liveAtPeak",
        "0:number",
        "size:property",
        "4096:number",
        "offset:property",
        "0:number",
        "f32[64,16]{1,0}:type",
    ]
    assert found[43] == ["4:number", "cüb🚀las-gemm.1:variable+definition+liveAtPeak", "0:number"]
    assert found[47] == ["negate.0:variable", "operand:property", "0:number"]
    assert found[63] == ["4:number", "cüb🚀las-gemm.1:variable+liveAtPeak"]
    assert "%cüb🚀las-gemm.1:variable+liveAtPeak" in found[37]


async def test_colours_of_some_lines(reader: Reader) -> None:
    legend = await _legend(reader)
    uri = reader.open(SEED)
    whole = await _colours(reader, uri, legend)
    some = await _colours(reader, uri, legend, _rows(40, 48))
    assert some == {row: words for row, words in whole.items() if 41 <= row <= 48}
    assert await _colours(reader, uri, legend, _rows(14, 15)) == {}


async def test_colours_are_carried_over_edits(reader: Reader, loads: Loads) -> None:
    legend = await _legend(reader)
    uri = reader.open(SEED)
    before = await _colours(reader, uri, legend)
    loads.hold()
    reader.replace(uri, "BufferAssignment:", "🚀\r\n\tBufferAssignment:")
    reader.replace(uri, "    cublas-gemm.1{}:4-5", "🚀    cublas-gemm.1{}:4-5")
    assert await _colours(reader, uri, legend) == {row + 1: words for row, words in before.items()}
    reader.replace(uri, "Used values:", "Used\n values:")
    after = await _colours(reader, uri, legend)
    # What an edit has torn apart has no colour for now.
    assert not any(words[0].startswith("Used") for words in after.values())


async def test_colours_are_cut_and_that_is_logged(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(structure, "TOKEN_LIMIT", 7)
    legend = await _legend(reader)
    uri = reader.open(SEED)
    assert sum(map(len, (await _colours(reader, uri, legend)).values())) == 7
    await _colours(reader, uri, legend)
    (logged,) = reader.editor.received("window/logMessage")
    assert "more than 7 words with colours" in logged["params"]["message"]


# ---------------------------------------------------------------- hints


async def _hints(reader: Reader, uri: str, range_: Any = None) -> list[str]:
    """The hints in their lines."""
    text = lines(reader.text(uri))
    found = await reader.ask("inlayHint", uri, range=range_ or _whole(reader, uri))
    told = []
    for hint in sorted(found, key=lambda hint: hint["position"]["line"]):
        line, position = text[hint["position"]["line"]], hint["position"]
        before = reader.cut(uri, {"start": {**position, "character": 0}, "end": position})
        told.append(f"{before}[{hint['label']}]{line[len(before) :]}")
    return told


@in_all_encodings
async def test_hints_beside_the_lines(reader: Reader, tmp_path: Path) -> None:
    await reader.start()
    uri = reader.open(copied(SEED, tmp_path, "cublas", "cüb🚀las"))
    found = await _hints(reader, uri)
    assert " value: <4 cüb🚀las-gemm.1 @0> (size=4096,offset=0): f32[64,16]{1,0}[live 4-5]" in found
    assert "    4:cüb🚀las-gemm.1[580.0 KiB live ◀ peak]" in found
    assert "    cüb🚀las-gemm.1{}:4-5[4.0 KiB]" in found
    assert "  Live ranges at 5 (peak):[true peak of default: 580.0 KiB at step 4 (here 324.0 KiB)]" in found
    assert await _hints(reader, uri, _rows(62, 63)) == ["    4:cüb🚀las-gemm.1[580.0 KiB live ◀ peak]"]


async def test_hints_of_several_memory_spaces(reader: Reader) -> None:
    await reader.start()
    uri = reader.open(sibling(TPU, "live-range"))
    found = await _hints(reader, uri)
    assert "    3:copy-start[default 8.00 MiB, vmem 4.00 MiB, smem 8 B, cmem 4.00 MiB ◀ peak of smem, cmem]" in found
    assert "    copy-start.1{2}:5-6[4 B]" in found


async def test_hints_are_carried_over_edits(reader: Reader, loads: Loads) -> None:
    await reader.start()
    uri = reader.open(SEED)
    before = await _hints(reader, uri)
    loads.hold()
    reader.replace(uri, "BufferAssignment:", "🚀\r\nBufferAssignment:")
    assert await _hints(reader, uri) == before


async def test_hints_are_cut_and_that_is_logged(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "HINT_LIMIT", 2)
    await reader.start()
    uri = reader.open(SEED)
    assert len(await _hints(reader, uri)) == 7
    (logged,) = reader.editor.received("window/logMessage")
    assert logged["params"]["message"].endswith(f"{uri}: the first 2 hints of each kind are shown")


# ---------------------------------------------------------------- links


async def _links(reader: Reader, uri: str) -> list[tuple[str, str, str]]:
    """The links: what is linked, what is said of it, and where it leads to."""
    told = []
    for link in await reader.ask("documentLink", uri):
        found = await reader.editor.request("documentLink/resolve", link)
        told.append((reader.cut(uri, link["range"]), link["tooltip"], found.get("target", "")))
    return told


@in_all_encodings
async def test_links_to_the_other_files(reader: Reader, tmp_path: Path) -> None:
    await reader.start()
    path = copied(SPLIT, tmp_path)
    files = {kind: sibling(path, kind).as_uri() for kind in ("live-range", "memory-usage-report")}
    used = sibling(path, "buffer-assignment-values").as_uri()
    assert await _links(reader, reader.open(path)) == [("BufferAssignment", "Used values", f"{used}#L4")]
    assert await _links(reader, reader.open(sibling(path, "buffer-assignment-values"))) == [
        ("Total bytes used", "Memory usage report", f"{files['memory-usage-report']}#L1"),
        ("Used values", "Live ranges", f"{files['live-range']}#L1"),
    ]
    assert await _links(reader, reader.open(sibling(path, "live-range"))) == [
        ("HloLiveRange", "Buffer assignment", f"{path.as_uri()}#L1"),
        ("InstructionSequence", "Used values", f"{used}#L4"),
        ("BufferLiveRange", "Buffer assignment", f"{path.as_uri()}#L1"),
    ]


async def test_links_to_sources_are_found_when_they_are_followed(reader: Reader, tmp_path: Path) -> None:
    await reader.start(RICH, tmp_path)
    uri = reader.open(copied(SEED, tmp_path, "cublas", "cüb🚀las"))
    assert all("target" not in link for link in await reader.ask("documentLink", uri))
    source = (tmp_path / "test_auto_sharding_basic.py").as_uri()
    tooltip = "test_auto_sharding_basic.py:53"
    assert (
        'test_auto_sharding_basic.py" source_line=53',
        tooltip,
        f"{source}#L53",
    ) in await _links(reader, uri)


async def test_a_relative_source_leads_nowhere_without_a_folder(reader: Reader) -> None:
    await reader.start()
    uri = reader.open(SEED)
    assert {target for _, _, target in await _links(reader, uri)} == {""}


async def test_links_are_cut_and_that_is_logged(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "LINK_LIMIT", 1)
    await reader.start()
    uri = reader.open(SEED)
    assert len(await reader.ask("documentLink", uri)) == 1
    (logged,) = reader.editor.received("window/logMessage")
    assert "more than 1 links" in logged["params"]["message"]


# ---------------------------------------------------------------- where nothing is


@pytest.mark.parametrize(
    ("method", "params", "empty"),
    [
        ("documentSymbol", {}, [[]]),
        ("foldingRange", {}, [[]]),
        ("semanticTokens/range", {"range": _rows(0, 9)}, [{"data": []}]),
        ("inlayHint", {"range": _rows(0, 9)}, [[]]),
        ("documentLink", {}, [[]]),
        ("selectionRange", {"positions": []}, [[]]),
    ],
)
async def test_what_is_no_dump_has_no_structure(
    reader: Reader, tmp_path: Path, method: str, params: Any, empty: Any
) -> None:
    await reader.start()
    uri = reader.open(tmp_path / "x-buffer-assignment.txt", "nothing of a dump\n")
    assert await reader.ask(method, uri, **params) in (*empty, None)
    assert await reader.ask(method, (tmp_path / "closed.txt").as_uri(), **params) is None
