"""The structure of a dump file: selection, semantic tokens and call hierarchy."""

from pathlib import Path
from typing import Any

import pytest

from lsp.reading import Reader, copied, rows
from samples import SEED, WHILE
from xla_lens.lsp.requests import structure

_MODULE = WHILE.with_name(WHILE.name.replace("-buffer-assignment", ""))

# ---------------------------------------------------------------- selection


async def _selections(reader: Reader, uri: str, marked: str) -> list[str]:
    """Return the texts of the selection ranges around a marked place."""
    (found,) = await reader.ask("selectionRange", uri, positions=[reader.at(uri, marked)])
    texts = []
    while found:
        texts.append(reader.text_at(uri, found["range"]))
        found = found.get("parent")
    return texts


async def test_selection_ranges_of_many_positions_are_limited(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    """Positions over the limit get an empty range, since each needs one."""
    monkeypatch.setattr(structure, "POSITION_LIMIT", 2)
    await reader.start()
    uri = reader.open(SEED)
    places = [{"line": row, "character": 9} for row in (66, 67, 68, 9999)]
    found = await reader.ask("selectionRange", uri, positions=places)
    assert [reader.text_at(uri, selection["range"]) for selection in found[:2]] == ["param", "param.1"]
    assert [selection["range"]["start"] for selection in found[2:]] == places[2:]


async def test_selection_ranges_of_deep_nesting_are_limited(reader: Reader, tmp_path: Path) -> None:
    """The innermost ranges and the whole file stay."""
    await reader.start()
    uri = reader.open(copied(SEED, tmp_path, "%tuple = ", f"%tuple = {3000 * '('}{3000 * ')'}"))
    (line,) = (line for line in reader.text(uri).split("\n") if "%tuple = " in line)
    texts = await _selections(reader, uri, f"{line}\n{' ' * (line.index('()') + 1)}^")
    assert len(texts) == structure.NESTING_LIMIT
    assert texts[:3] == ["()", "(())", "((()))"]
    assert texts[-1] == reader.text(uri)


# ---------------------------------------------------------------- call hierarchy


@pytest.mark.parametrize(
    ("path", "row", "first", "producers"),
    [(SEED, 62, "BufferAssignment:", ["fusion", "param.1"]), (_MODULE, 74, "HloModule ", ["x.1"])],
)
async def test_call_hierarchy_item_survives_an_edit(
    reader: Reader, path: Path, row: int, first: str, producers: list[str]
) -> None:
    await reader.start()
    uri = reader.open(path)
    (item,) = await reader.ask("prepareCallHierarchy", uri, position={"line": row, "character": 7})
    reader.replace(uri, first, f"\n\n\n{first}")
    found = await reader.editor.request("callHierarchy/incomingCalls", {"item": item})
    assert [reader.text_at(uri, call["from"]["selectionRange"]) for call in found] == producers
    reader.replace(uri, reader.text(uri), "")
    for way in ("incoming", "outgoing"):
        assert not await reader.editor.request(f"callHierarchy/{way}Calls", {"item": item})
    for data in (None, {"uri": uri}, {"uri": uri, "name": "nobody", "isComputation": True}, {"uri": uri, "name": 5}):
        assert not await reader.editor.request("callHierarchy/outgoingCalls", {"item": {**item, "data": data}})


# ---------------------------------------------------------------- positions without a mention


@pytest.mark.parametrize(
    ("method", "params", "empty"),
    [
        ("documentSymbol", {}, [[]]),
        ("foldingRange", {}, [[]]),
        ("semanticTokens/range", {"range": rows(0, 9)}, [{"data": []}]),
        ("inlayHint", {"range": rows(0, 9)}, [[]]),
        ("documentLink", {}, [[]]),
        ("selectionRange", {"positions": []}, [[]]),
    ],
)
async def test_document_that_is_not_a_dump_has_no_structure(
    reader: Reader, tmp_path: Path, method: str, params: Any, empty: Any
) -> None:
    await reader.start()
    uri = reader.open(tmp_path / "x-buffer-assignment.txt", "nothing of a dump\n")
    assert await reader.ask(method, uri, **params) in (*empty, None)
    assert await reader.ask(method, (tmp_path / "closed.txt").as_uri(), **params) is None
