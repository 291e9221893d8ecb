"""The structure of an HLO module: outline, folding, selection, highlights, tokens and call hierarchy."""

from pathlib import Path
from typing import Any

import pytest

from lsp.conftest import Loads
from lsp.reading import Reader, copied, in_all_encodings, rows
from lsp.wire import FULL
from samples import WHILE
from xla_lens.lsp.requests import call_hierarchy, structure

MODULE = WHILE.with_name(WHILE.name.replace("-buffer-assignment", ""))


def _copied_module(folder: Path, *replaced: str) -> Path:
    path = copied(WHILE, folder, *replaced)
    return path.with_name(path.name.replace("-buffer-assignment", ""))


# ---------------------------------------------------------------- outline and folding


def _outline(symbols: list[Any], indent: str = "") -> list[str]:
    return [
        line
        for symbol in symbols
        for line in (
            f"{indent}{symbol['name']}: {symbol['detail']}",
            *_outline(symbol.get("children", []), indent + "  "),
        )
    ]


@in_all_encodings
async def test_module_has_an_outline(reader: Reader, tmp_path: Path) -> None:
    await reader.start()
    uri = reader.open(_copied_module(tmp_path, "arg_tuple.1", "ärg_tuple🚀"))
    symbols = await reader.ask("documentSymbol", uri)
    outline = _outline(symbols)
    assert outline[:3] == [
        "HloModule jit_tuple_while: 7 computations",
        "  main.3: entry · 7 instructions",
        "    x.1: parameter · 32 B",
    ]
    assert "    ärg_tuple🚀: parameter · 92 B" in outline
    (body,) = (child for child in symbols[0]["children"] if child["name"] == "region_0.1")
    assert reader.text_at(uri, body["selectionRange"]) == "region_0.1"
    assert reader.text_at(uri, body["children"][0]["selectionRange"]) == "ärg_tuple🚀"
    assert reader.text_at(uri, body["children"][1]["range"]).startswith("%constant.3 = s32[] constant(1), metadata")


async def test_truncated_flat_outline_is_logged(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(structure, "SYMBOL_LIMIT", 2)
    await reader.start({**FULL, "textDocument": {}})
    uri = reader.open(MODULE)
    symbols = await reader.ask("documentSymbol", uri)
    assert [(symbol["name"], symbol["containerName"]) for symbol in symbols][1:4] == [
        ("main.3", "HloModule jit_tuple_while"),
        ("x.1", "main.3"),
        ("copy.9", "main.3"),
    ]
    (logged,) = reader.editor.received("window/logMessage")
    assert logged["params"]["message"].startswith(f"textDocument/documentSymbol, {uri}: only the ")


async def test_module_has_folding_ranges(reader: Reader) -> None:
    await reader.start()
    uri = reader.open(MODULE)
    found = [(fold["startLine"] + 1, fold["endLine"] + 1) for fold in await reader.ask("foldingRange", uri)]
    assert found[:5] == [(3, 6), (8, 12), (14, 20), (22, 28), (31, 36)]
    assert len(found) == 11


async def test_editors_with_a_limit_get_the_biggest_folding_ranges(reader: Reader) -> None:
    await reader.start({**FULL, "textDocument": {"foldingRange": {"rangeLimit": 2}}})
    uri = reader.open(MODULE)
    assert [fold["startLine"] + 1 for fold in await reader.ask("foldingRange", uri)] == [44, 72]
    (logged,) = reader.editor.received("window/logMessage")
    assert (
        logged["params"]["message"] == f"textDocument/foldingRange, {uri}: only the 2 biggest folding ranges are shown"
    )


# ---------------------------------------------------------------- selection and highlights


@in_all_encodings
async def test_selection_ranges_widen_to_the_whole_file(reader: Reader, tmp_path: Path) -> None:
    await reader.start()
    uri = reader.open(_copied_module(tmp_path, "arg_tuple.1", "ärg_tuple🚀"))
    (line,) = (line for line in reader.text(uri).split("\n") if "%wrapped_add = " in line)
    place = reader.at(uri, f"{line}\n{' ' * line.index('rg_tuple')}^")
    (found,) = await reader.ask("selectionRange", uri, positions=[place])
    texts = []
    while found:
        texts.append(reader.text_at(uri, found["range"]))
        found = found.get("parent")
    assert texts[:3] == [
        "%ärg_tuple🚀#0",
        "%ärg_tuple🚀#0, %constant.3",
        "(%ärg_tuple🚀#0, %constant.3)",
    ]
    assert texts[-3] == line.strip()
    assert texts[-2].startswith("%region_0.1 (")
    assert texts[-1] == reader.text(uri)


@in_all_encodings
async def test_names_in_a_module_are_highlighted(reader: Reader, tmp_path: Path) -> None:
    await reader.start()
    uri = reader.open(_copied_module(tmp_path, "arg_tuple.1", "ärg_tuple🚀"))
    (line,) = (line for line in reader.text(uri).split("\n") if "%copy.4 = " in line)
    place = reader.at(uri, f"{line}\n{' ' * line.index('rg_tuple')}^")
    found = await reader.ask("documentHighlight", uri, position=place)
    assert [(reader.text_at(uri, word["range"]), word["kind"]) for word in found] == [
        ("ärg_tuple🚀", 3),
        ("%ärg_tuple🚀#2", 2),
        ("%ärg_tuple🚀#1", 2),
        ("%ärg_tuple🚀#0", 2),
    ]
    assert await reader.ask("documentHighlight", uri, position={"line": 1, "character": 0}) is None


# ---------------------------------------------------------------- semantic tokens


async def _tokens(reader: Reader, uri: str, legend: Any, first: int, last: int) -> list[str]:
    """Return the semantic tokens of some lines."""
    found = await reader.ask("semanticTokens/range", uri, range=rows(first, last))
    tokens = []
    row = column = 0
    numbers = iter(found["data"])
    for down, right, width, kind, modifiers in zip(*[numbers] * 5, strict=True):
        row, column = row + down, right if down else column + right
        place = {"start": {"line": row, "character": column}, "end": {"line": row, "character": column + width}}
        names = [name for bit, name in enumerate(legend["tokenModifiers"]) if modifiers >> bit & 1]
        tokens.append(f"{reader.text_at(uri, place)}:{'+'.join([legend['tokenTypes'][kind], *names])}")
    return tokens


@in_all_encodings
async def test_module_has_semantic_tokens(reader: Reader, tmp_path: Path) -> None:
    legend = (await reader.start())["capabilities"]["semanticTokensProvider"]["legend"]
    uri = reader.open(_copied_module(tmp_path, "arg_tuple.1", "ärg_tuple🚀"))
    assert await _tokens(reader, uri, legend, 46, 47) == [
        "%copy.5:variable+definition+liveAtPeak",
        "f32[8]{0}:type",
        "copy:macro",
        "%ärg_tuple🚀#2:variable+liveAtPeak",
        "metadata:property",
        "op_name:property",
        '"jit(tuple_while)/while":string',
        "stack_frame_id:property",
    ]
    assert (await _tokens(reader, uri, legend, 60, 61))[0] == "%region_1.2:class+definition"
    assert await _tokens(reader, uri, legend, 1, 2) == []


async def test_semantic_tokens_follow_edits(reader: Reader, loads: Loads) -> None:
    legend = (await reader.start())["capabilities"]["semanticTokensProvider"]["legend"]
    uri = reader.open(MODULE)
    before = await _tokens(reader, uri, legend, 30, 40)
    loads.hold()
    reader.replace(uri, "HloModule ", "\n🚀HloModule ")
    assert await _tokens(reader, uri, legend, 31, 41) == before


# ---------------------------------------------------------------- call hierarchy


async def _item(reader: Reader, uri: str, text: str) -> Any:
    """Return the call hierarchy item at the first occurrence of a text."""
    row, line = next((row, line) for row, line in enumerate(reader.text(uri).split("\n")) if text in line)
    assert line.isascii()
    position = {"line": row, "character": line.index(text) + 1}
    (item,) = await reader.ask("prepareCallHierarchy", uri, position=position)
    return item


async def _calls(reader: Reader, item: Any, way: str) -> list[tuple[str, str, list[str]]]:
    found = await reader.editor.request(f"callHierarchy/{way}Calls", {"item": item})
    other = "from" if way == "incoming" else "to"
    return [
        (
            call[other]["name"],
            call[other]["detail"],
            [reader.text_at(item["uri"], place) for place in call["fromRanges"]],
        )
        for call in found
    ]


@in_all_encodings
async def test_computations_have_callers_and_callees(reader: Reader) -> None:
    await reader.start()
    uri = reader.open(MODULE)
    item = await _item(reader, uri, "%while.6_computation (")
    assert (item["name"], item["detail"], item["kind"]) == ("while.6_computation", "2 instructions", 12)
    assert reader.text_at(uri, item["selectionRange"]) == "while.6_computation"
    assert await _calls(reader, item, "incoming") == [("main.3", "entry · 7 instructions", ["%while.6_computation"])]
    assert [call[0] for call in await _calls(reader, item, "outgoing")] == ["region_1.2", "region_0.1"]


async def test_value_has_producers_and_consumers(reader: Reader) -> None:
    await reader.start()
    uri = reader.open(MODULE)
    item = await _item(reader, uri, "%copy.9 = ")
    assert (item["name"], item["detail"]) == ("copy.9", "copy · 32 B · in main.3")
    assert await _calls(reader, item, "incoming") == [("x.1", "parameter · 32 B · in main.3", ["%x.1"])]
    assert await _calls(reader, item, "outgoing") == [
        ("broadcast_add_fusion", "fusion · 32 B · in main.3", ["%copy.9"]),
        ("tuple", "tuple · 24 B · in main.3", ["%copy.9"]),
    ]


async def test_call_hierarchy_item_survives_an_edit(reader: Reader) -> None:
    await reader.start()
    uri = reader.open(MODULE)
    item = await _item(reader, uri, "%copy.9 = ")
    reader.replace(uri, "HloModule ", "\n\nHloModule ")
    assert [call[0] for call in await _calls(reader, item, "incoming")] == ["x.1"]
    for data in (None, {"uri": uri}, {"uri": uri, "name": "nobody", "isComputation": True}, {"uri": uri, "name": 5}):
        assert not await reader.editor.request("callHierarchy/outgoingCalls", {"item": {**item, "data": data}})


async def test_truncated_answers_are_reported(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_hierarchy, "FLOW_LIMIT", 1)
    await reader.start()
    uri = reader.open(MODULE)
    item = await _item(reader, uri, "%copy.9 = ")
    assert [call[0] for call in await _calls(reader, item, "outgoing")] == ["broadcast_add_fusion"]
    (message,) = reader.editor.received("window/showMessage")
    assert message["params"]["message"] == "more than 1 callees or consumers: the first 1 are shown"


async def test_module_without_a_dump_has_answers(reader: Reader, tmp_path: Path) -> None:
    await reader.start()
    path = tmp_path / "module_0000.f.before_optimizations.txt"
    path.write_text(MODULE.read_text())
    uri = reader.open(path)
    assert _outline(await reader.ask("documentSymbol", uri))[2] == "    x.1: parameter"
    assert len(await reader.ask("foldingRange", uri)) == 11
    item = await _item(reader, uri, "%copy.9 = ")
    assert await _calls(reader, item, "incoming") == [("x.1", "parameter · in main.3", ["%x.1"])]
