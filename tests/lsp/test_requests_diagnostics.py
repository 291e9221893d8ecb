"""Diagnostics of documents and of the workspace, published and pulled."""

import os
from pathlib import Path
from typing import Any

import pytest

from lsp.conftest import Loads
from lsp.reading import Reader, copied, in_all_encodings, sibling
from lsp.wire import FULL, PULLING
from samples import SEED, SPLIT, WHILE
from xla_lens.lsp import publisher as limits
from xla_lens.syntax.file_names import split_name

_BAD = ("    cublas-gemm.1{}:4-5", "    cublas-gemm.1{}:4-7")
"""Makes two values occupy the same bytes."""

_ROW = " value: <246 constant.39 @0> (size=4,offset=0): f32[]\n"
"""Without this row a value has no allocation, which is reported in another file."""


def _codes(found: list[Any]) -> list[str]:
    return [diagnostic["code"] for diagnostic in found]


async def _until(reader: Reader, uri: str, codes: list[str]) -> None:
    """Wait until a document has diagnostics with certain codes."""
    await reader.editor.until(lambda: _codes(reader.editor.diagnostics.get(uri, [])) == codes)


async def _settle(reader: Reader, uri: str) -> None:
    """Wait until earlier messages are handled and their notifications received."""
    await reader.ask("hover", uri, position={"line": 0, "character": 0})
    await reader.editor.request("workspace/symbol", {"query": "nobody"})


async def _notice_changes(reader: Reader) -> None:
    """Poll the disk until changes are noticed, have stopped, are loaded, and look final."""
    sets = reader.editor.server.state.sets
    for _ in range(4):
        await sets.poll()
        for one in sets.open:
            await one.checked()


# ---------------------------------------------------------------- one diagnostic


@in_all_encodings
async def test_diagnostic_has_all_parts_of_a_finding(reader: Reader, tmp_path: Path) -> None:
    await reader.start()
    uri = reader.open(copied(SEED, tmp_path, "cublas", "cüb🚀las"))
    await _until(reader, uri, ["peak-understated"])
    (diagnostic,) = reader.editor.diagnostics[uri]
    assert reader.text_at(uri, diagnostic["range"]) == "Live ranges at 5 (peak):"
    assert diagnostic["message"].startswith(
        "The printed peak is not the real one: 324.0 KiB of memory space 0 are live at step 5, "
        "but 580.0 KiB at step 4 (`cüb🚀las-gemm.1`)."
    )
    assert (diagnostic["severity"], diagnostic["source"]) == (3, "xla-lens")
    (related,) = diagnostic["relatedInformation"]
    assert reader.shown([related["location"]]) == ["001_491faa5ce21a17c6:63: 4:cüb🚀las-gemm.1"]
    assert related["message"] == "cüb🚀las-gemm.1: real peak"
    assert diagnostic["codeDescription"]["href"].endswith("/words/explanations/peak-understated.md")


# ---------------------------------------------------------------- published


async def test_diagnostics_of_files_that_are_not_open_are_published(reader: Reader, tmp_path: Path) -> None:
    await reader.start()
    path = copied(SPLIT, tmp_path)
    values, live = (sibling(path, kind).as_uri() for kind in ("buffer-assignment-values", "live-range"))
    uri = reader.open(path)
    await _until(reader, live, ["peak-understated"])
    reader.replace(uri, _ROW, "")
    await _until(reader, values, ["unassigned-value"])
    (diagnostic,) = reader.editor.diagnostics[values]
    assert reader.text_at(values, diagnostic["range"]) == "<246 constant.39 @0>"
    reader.close(uri)
    # The set no longer has open documents.
    await _until(reader, values, [])
    await _until(reader, live, [])


async def test_findings_wait_until_a_dump_is_written(
    reader: Reader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A dump that is opened while XLA writes it has no findings about its end in between; one that stays cut has."""
    monkeypatch.setattr("xla_lens.lsp.server._POLL_SECONDS", 3600.0)
    path = copied(SPLIT, tmp_path)
    live, values = sibling(path, "live-range"), sibling(path, "buffer-assignment-values")
    whole = live.read_bytes()
    live.write_bytes(whole[: whole.index(b"  BufferLiveRange:")])
    await reader.start()
    uri = reader.open(path)
    await _settle(reader, uri)
    live.write_bytes(whole[: whole.index(b"\n", 2 * len(whole) // 3) + 1])
    await _settle(reader, uri)
    live.write_bytes(whole)
    await _notice_changes(reader)
    await _until(reader, live.as_uri(), ["peak-understated"])
    published = reader.editor.received("textDocument/publishDiagnostics")
    assert {code for one in published for code in _codes(one["params"]["diagnostics"])} == {"peak-understated"}
    text = values.read_bytes()
    values.write_bytes(text[: text.rindex(b" uses:")])
    os.utime(values, (1e9, 1e9))
    await _notice_changes(reader)
    await _until(reader, values.as_uri(), ["truncated-dump"])


async def test_dump_is_held_against_its_module(reader: Reader, tmp_path: Path) -> None:
    """The module is read after the dump. An edit of either of the two is found, and gone when it is undone."""
    await reader.start()
    shape = ("  %copy.9 = f32[8]{0}", "  %copy.9 = f32[9]{0}")
    path = copied(WHILE, tmp_path, *shape)
    values = sibling(path, "buffer-assignment-values").as_uri()
    reader.open(path)
    await _until(reader, values, ["module-mismatch"])
    (diagnostic,) = reader.editor.diagnostics[values]
    (related,) = diagnostic["relatedInformation"]
    assert reader.text_at(related["location"]["uri"], related["location"]["range"]) == "%copy.9 = f32[9]{0} copy(%x.1)"
    assert related["message"] == "copy.9: instruction in the HLO module"
    module = reader.open(path.with_name(f"{split_name(path.name)[0]}.txt"))
    reader.replace(module, *reversed(shape))
    await _until(reader, values, [])
    reader.replace(module, "copy(%x.1)", "copy(%constant.6)")
    await _until(reader, values, ["module-mismatch"])


async def test_published_diagnostics_follow_edits(reader: Reader, loads: Loads, tmp_path: Path) -> None:
    path = copied(SPLIT, tmp_path)
    await reader.start()
    live = reader.open(sibling(path, "live-range"))
    await _until(reader, live, ["peak-understated"])
    reader.replace(live, "HloLiveRange (max 40):", "\nHloLiveRange (max 40):")
    await reader.editor.until(lambda: reader.editor.diagnostics[live][0]["range"]["start"]["line"] == 84)
    loads.hold()
    reader.replace(live, "\nHloLiveRange (max 40):", "\n\n\nHloLiveRange (max 40):")
    # Opening another document publishes the last analysis again, at the current positions.
    await reader.set(diagnostics={"ignore": ["syntax"]})
    await reader.editor.until(lambda: reader.editor.diagnostics[live][0]["range"]["start"]["line"] == 86)
    assert reader.text_at(live, reader.editor.diagnostics[live][0]["range"]) == "Live ranges at 37 (peak):"


async def test_truncated_diagnostics_are_logged(
    reader: Reader, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(limits, "FINDING_LIMIT", 3)
    await reader.start()
    text = "BufferAssignment:\n" + "?\n\n" * 9
    uri = reader.open(tmp_path / "x-buffer-assignment.txt", text)
    await _until(reader, uri, ["syntax"] * 3)
    reader.replace(uri, text, f"{text}?\n")
    await _settle(reader, uri)
    (logged,) = reader.editor.received("window/logMessage")
    assert logged["params"]["message"] == f"textDocument/publishDiagnostics, {uri}: 6 findings left out"


# ---------------------------------------------------------------- pulled


async def test_diagnostics_are_pulled_and_refreshed(reader: Reader, tmp_path: Path) -> None:
    capabilities = (await reader.start(PULLING))["capabilities"]
    assert capabilities["diagnosticProvider"] == {"interFileDependencies": True, "workspaceDiagnostics": True}
    path = copied(SPLIT, tmp_path)
    uri, live = reader.open(path), sibling(path, "live-range").as_uri()
    values = reader.open(sibling(path, "buffer-assignment-values"))
    assert (await reader.ask("diagnostic", values))["items"] == []
    refreshes = len(reader.editor.received("workspace/diagnostic/refresh"))
    reader.replace(uri, _ROW, "")
    await reader.editor.until(lambda: len(reader.editor.received("workspace/diagnostic/refresh")) > refreshes)
    assert _codes((await reader.ask("diagnostic", values))["items"]) == ["unassigned-value"]
    assert await _pull_all(reader) == {values: ["unassigned-value"], live: []}
    reader.close(uri)
    reader.close(values)
    # What was pulled before is withdrawn.
    assert await _pull_all(reader) == {values: [], live: []}
    assert (await reader.ask("diagnostic", values))["items"] == []
    assert not reader.editor.diagnostics


async def _pull_all(reader: Reader) -> dict[str, list[str]]:
    report = await reader.editor.request("workspace/diagnostic", {"previousResultIds": []})
    return {item["uri"]: _codes(item["items"]) for item in report["items"]}


async def test_editors_without_refresh_get_published_diagnostics(reader: Reader) -> None:
    """Neovim pulls diagnostics and supports no refresh requests."""
    workspace = {name: value for name, value in FULL["workspace"].items() if name != "diagnostics"}
    capabilities = (await reader.start({**PULLING, "workspace": workspace}))["capabilities"]
    assert "diagnosticProvider" not in capabilities
    uri = reader.open(SEED)
    await _until(reader, uri, ["peak-understated"])


# ---------------------------------------------------------------- refresh requests


async def _until_received_once(reader: Reader, method: str) -> None:
    await reader.editor.until(lambda: len(reader.editor.received(method)) == 1)


async def test_a_reload_refreshes_what_was_requested(reader: Reader, tmp_path: Path) -> None:
    await reader.start()
    path = copied(SPLIT, tmp_path)
    uri, live = reader.open(path), reader.open(sibling(path, "live-range"))
    lines = {"range": {"start": {"line": 0, "character": 0}, "end": {"line": 200, "character": 0}}}
    asked = {
        "inlayHint": ("workspace/inlayHint/refresh", lines),
        "codeLens": ("workspace/codeLens/refresh", {}),
        "semanticTokens/range": ("workspace/semanticTokens/refresh", lines),
        "foldingRange": ("workspace/foldingRange/refresh", {}),
    }
    for method, (_, params) in asked.items():
        await reader.ask(method, live, **params)
    await reader.checked(live)
    # The requests have waited for the first load.
    assert not any(reader.editor.received(refresh) for refresh, _ in asked.values())
    reader.replace(uri, _ROW, "")
    for refresh, _ in asked.values():
        await _until_received_once(reader, refresh)


# ---------------------------------------------------------------- the workspace


async def test_diagnostics_of_closed_sets_are_published_on_request(
    reader: Reader, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("xla_lens.lsp.index._FRESH_SECONDS", 0.1)
    monkeypatch.setattr("xla_lens.lsp.server._POLL_SECONDS", 0.05)
    reader.editor.settings = {"diagnostics": {"workspace": True}}
    # Before the start: the index must not see half of a set.
    path = copied(SPLIT, tmp_path / "split", _ROW, "")
    seed = copied(SEED, tmp_path / "seed")
    await reader.start(FULL, tmp_path)
    values = sibling(path, "buffer-assignment-values").as_uri()
    await _until(reader, values, ["unassigned-value"])
    await _until(reader, seed.as_uri(), ["peak-understated"])
    published = reader.editor.received("textDocument/publishDiagnostics")
    # Once each, and not at all for files without findings.
    assert sorted(message["params"]["uri"] for message in published) == sorted([values, seed.as_uri()])
    # Open documents replace their files until they are closed.
    uri = reader.open(path, SPLIT.read_text())
    await _until(reader, values, [])
    reader.close(uri)
    await _until(reader, values, ["unassigned-value"])
    # Settings count for closed sets, too.
    await reader.set(diagnostics={"workspace": True, "ignore": ["peak-understated"]})
    await _until(reader, seed.as_uri(), [])
    await reader.set(diagnostics={"workspace": True, "ignore": []})
    await _until(reader, seed.as_uri(), ["peak-understated"])
    # Changes on disk are published.
    seed.write_text(seed.read_text().replace(*_BAD))
    await _until(reader, seed.as_uri(), ["overlapping-slices", "peak-understated"])
    seed.unlink()
    await _until(reader, seed.as_uri(), [])
    await reader.set(diagnostics={"workspace": False})
    await _until(reader, values, [])
