"""Call hierarchy as data flow: a producer calls its consumers."""

from pathlib import Path
from typing import Any

import pytest

from lsp.reading import Reader, copied, in_all_encodings, sibling
from samples import SEED, SPLIT, TPU
from xla_lens.lsp.requests import call_hierarchy


async def _item(reader: Reader, uri: str, marked: str) -> Any:
    (item,) = await reader.ask_at("prepareCallHierarchy", uri, marked)
    return item


async def _flow(reader: Reader, item: Any, way: str) -> list[tuple[str, str, list[str]]]:
    """Return the producers or consumers of an item: names, details and places."""
    found = await reader.editor.request(f"callHierarchy/{way}Calls", {"item": item})
    flow = []
    for call in found:
        other = call["from" if way == "incoming" else "to"]
        # The ranges are in the file of the caller.
        uri = other["uri"] if way == "incoming" else item["uri"]
        flow.append((other["name"], other["detail"], [reader.text_at(uri, range_) for range_ in call["fromRanges"]]))
    return flow


@in_all_encodings
async def test_value_has_producers_and_consumers(reader: Reader, tmp_path: Path) -> None:
    await reader.start()
    uri = reader.open(sibling(copied(SPLIT, tmp_path, "ynn_fusion", "ynn_füs🚀n"), "live-range"))
    item = await _item(reader, uri, "    36:ynn_füs🚀n.1\n            ^")
    assert (item["name"], item["detail"]) == (
        "ynn_füs🚀n.1",
        "2.0 KiB · allocation 29, preallocated-temp · live 36–38",
    )
    assert reader.text_at(item["uri"], item["selectionRange"]) == "ynn_füs🚀n.1"
    assert reader.text_at(item["uri"], item["range"]).startswith("<247 ynn_füs🚀n.1 @0>\n positions:\n")
    assert await _flow(reader, item, "incoming") == [
        (
            "multiply_add_fusion",
            "256.0 KiB · allocation 29, preallocated-temp · live 32–36",
            ["ynn_füs🚀n.1, operand 0"],
        ),
        ("constant.39", "4 B · allocation 10, constant · live 8–36", ["ynn_füs🚀n.1, operand 1"]),
    ]
    (reads,) = await _flow(reader, item, "outgoing")
    assert reads[0] == "multiply_subtract_fusion.4"
    assert reads[2] == ["multiply_subtract_fusion.4, operand 1"]


async def test_data_flow_passes_through_tuples_and_aliases(reader: Reader) -> None:
    await reader.start()
    uri = reader.open(sibling(TPU, "live-range"))
    item = await _item(reader, uri, "    8:fusion.2\n       ^")
    incoming = await _flow(reader, item, "incoming")
    # It reads `copy-done.1` and `copy-done.2`, which alias the bytes that they have copied.
    assert [(name, places) for name, _, places in incoming] == [
        ("copy-start.1{0}", ["fusion.2, operand 0"]),
        ("copy-start.2{0}", ["fusion.2, operand 1"]),
    ]
    whole = await _item(reader, uri, "    3:copy-start\n       ^")
    assert (whole["name"], whole["detail"]) == ("copy-start", "3 values · 4.00 MiB · live 3–6")
    outgoing = await _flow(reader, whole, "outgoing")
    assert [name for name, _, _ in outgoing] == ["copy-start.1"]


async def test_call_hierarchy_item_survives_an_edit(reader: Reader) -> None:
    await reader.start()
    uri = reader.open(SEED)
    item = await _item(reader, uri, "    4:cublas-gemm.1\n       ^")
    reader.replace(uri, "BufferAssignment:", "\n\n\nBufferAssignment:")
    found = await reader.editor.request("callHierarchy/incomingCalls", {"item": item})
    assert [reader.text_at(uri, call["from"]["selectionRange"]) for call in found] == ["fusion", "param.1"]
    reader.replace(uri, "<4 cublas-gemm.1 @0>\n positions", "<4 gemm @0>\n positions")
    for way in ("incoming", "outgoing"):
        assert isinstance(await reader.editor.request(f"callHierarchy/{way}Calls", {"item": item}), list)
    for data in (None, {"uri": uri}, {"uri": uri, "name": "nobody", "index": None}, {"uri": uri, "name": 5}):
        given = {**item, "data": data}
        assert not await reader.editor.request("callHierarchy/outgoingCalls", {"item": given})


async def test_truncated_answers_are_reported(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_hierarchy, "FLOW_LIMIT", 1)
    await reader.start()
    uri = reader.open(SEED)
    item = await _item(reader, uri, "    cublas-gemm.1{}:4-5\n       ^")
    assert [name for name, _, _ in await _flow(reader, item, "incoming")] == ["fusion"]
    (message,) = reader.editor.received("window/showMessage")
    assert message["params"]["message"] == "more than 1 producers: the first 1 are shown"
