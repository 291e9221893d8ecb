"""Settings take effect at once, and changes on disk are noticed."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from lsp.reading import Reader, copied, read_page, show_page, sibling
from lsp.wire import FULL
from samples import SEED, SPLIT

_WHOLE: Mapping[str, Any] = {"range": {"start": {"line": 0, "character": 0}, "end": {"line": 999, "character": 0}}}
_MARKED = "    cublas-gemm.1{}:4-5\n       ^"

_PUSHED: Mapping[str, Any] = {
    **FULL,
    "workspace": {name: value for name, value in FULL["workspace"].items() if name != "configuration"},
}
"""An editor that pushes settings and supports no `workspace/configuration`."""


@pytest.fixture(autouse=True)
def _poll_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xla_lens.lsp.server._POLL_SECONDS", 0.05)


def _codes(reader: Reader, uri: str) -> list[str]:
    return [diagnostic["code"] for diagnostic in reader.editor.diagnostics.get(uri, [])]


def _messages(reader: Reader) -> list[str]:
    return [message["params"]["message"] for message in reader.editor.received("window/showMessage")]


async def _references(reader: Reader, uri: str) -> int:
    return len(await reader.ask_at("references", uri, _MARKED, context={"includeDeclaration": True}))


# ---------------------------------------------------------------- each setting


@pytest.mark.parametrize(
    ("group", "method", "params"), [("inlayHints", "inlayHint", _WHOLE), ("codeLens", "codeLens", {})]
)
async def test_hints_and_lenses_can_be_disabled(reader: Reader, group: str, method: str, params: Any) -> None:
    await reader.start()
    uri = reader.open(SEED)
    refresh = f"workspace/{method}/refresh"
    assert await reader.ask(method, uri, **params)
    await reader.set(**{group: {"enable": False}})
    await reader.editor.until(lambda: len(reader.editor.received(refresh)) == 1)
    assert await reader.ask(method, uri, **params) is None
    await reader.set(**{group: {"enable": True}})
    await reader.editor.until(lambda: len(reader.editor.received(refresh)) == 2)
    assert await reader.ask(method, uri, **params)
    # Only requests that depend on the setting are refreshed, and none if nothing changes.
    await reader.set(**{group: {"enable": True}})
    await reader.ask(method, uri, **params)
    others = {"inlayHint", "codeLens", "diagnostic", "foldingRange", "semanticTokens"} - {method}
    assert not any(reader.editor.received(f"workspace/{other}/refresh") for other in others)
    assert len(reader.editor.received(refresh)) == 2


async def test_settings_refresh_only_past_requests(reader: Reader) -> None:
    await reader.start()
    uri = reader.open(SEED)
    await reader.set(inlayHints={"enable": False}, codeLens={"enable": False})
    assert await reader.ask("codeLens", uri) is None
    assert not reader.editor.received("workspace/inlayHint/refresh")
    assert not reader.editor.received("workspace/codeLens/refresh")


async def test_ignored_codes_are_not_reported(reader: Reader) -> None:
    reader.editor.settings = {"diagnostics": {"ignore": ["peak-understated", "syntax"]}}
    await reader.start()
    uri = reader.open(SEED)
    await reader.analysed(uri)
    assert _codes(reader, uri) == []
    await reader.set(diagnostics={"ignore": []})
    await reader.editor.until(lambda: _codes(reader, uri) == ["peak-understated"])


@pytest.mark.parametrize(
    ("name", "size", "code"),
    [
        ("maxPeak", "500KiB", "max-peak"),
        ("maxMemory", "0.5MiB", "max-memory"),
    ],
)
async def test_memory_limits_are_reported(reader: Reader, name: str, size: str, code: str) -> None:
    await reader.start()
    uri = reader.open(SEED)
    await reader.editor.until(lambda: uri in reader.editor.diagnostics)
    assert code not in _codes(reader, uri)
    await reader.set(diagnostics={name: size})
    await reader.editor.until(lambda: code in _codes(reader, uri))
    await reader.set(diagnostics={name: "1GiB"})
    await reader.editor.until(lambda: code not in _codes(reader, uri))


async def test_capacity_of_the_device_can_be_stated(reader: Reader) -> None:
    await reader.start({**FULL, "experimental": {"xlaLens": {"didLoad": True}}})
    uri = reader.open(SEED)
    overview = await reader.run("overview", {"uri": uri})
    assert overview["spaces"][0]["capacity"] is None
    loads = len(reader.editor.received("xla-lens/didLoad"))
    page = await show_page(reader, "showReport", uri=uri)
    assert "device" not in await read_page(reader, page)
    await reader.set(device={"memory": "500KiB"})
    # Views request what they show again.
    await reader.editor.until(lambda: len(reader.editor.received("xla-lens/didLoad")) > loads)
    # 593,928 bytes are reserved.
    expected = {"size_bytes": 512_000, "source": "the setting xla-lens.device.memory", "over_bytes": 81_928}
    for answer in (await reader.run("overview", {"uri": uri}), await reader.run("memoryMap", {"uri": uri})):
        assert answer["spaces"][0]["capacity"] == expected
    (module,) = (await reader.run("modules", {}))["modules"]
    assert module["spaces"][0]["capacity"] == expected
    assert (
        "It needs 580.0 KiB of 500 KiB of HBM (116.0 %) and does not fit the device: 80.0 KiB too much."
        in await read_page(reader, page)
    )
    await reader.set(device={"memory": ""})
    await reader.editor.until(lambda: len(reader.editor.received("xla-lens/didLoad")) > loads + 1)
    assert (await reader.run("overview", {"uri": uri}))["spaces"][0]["capacity"] is None


# ---------------------------------------------------------------- how editors send settings


async def test_initial_settings_stay_if_the_editor_has_no_others(reader: Reader) -> None:
    await reader.start(initializationOptions={"references.limit": 3})
    uri = reader.open(SEED)
    assert await _references(reader, uri) == 3
    await reader.set(references={"limit": 4})
    assert await _references(reader, uri) == 4


@pytest.mark.parametrize("settings", [{"xla-lens": {"references": {"limit": 3}}}, {"references": {"limit": 3}}])
async def test_pushed_settings_are_used(reader: Reader, settings: Any) -> None:
    await reader.start(_PUSHED)
    uri = reader.open(SEED)
    reader.editor.notify("workspace/didChangeConfiguration", {"settings": settings})
    assert await _references(reader, uri) == 3


async def test_invalid_setting_is_reported_once(reader: Reader) -> None:
    """The valid settings sent along with it take effect."""
    wrong = {"inlayHints": {"enable": "no"}, "references": {"limit": 3}}
    reader.editor.settings = wrong
    await reader.start()
    uri = reader.open(SEED)
    assert await _references(reader, uri) == 3
    complaint = ["xla-lens.inlayHints.enable: expected true or false"]
    assert _messages(reader)[:1] == complaint
    assert reader.editor.received("window/showMessage")[0]["params"]["type"] == 2
    await reader.set(**wrong, codeLens={"enable": False})
    assert await reader.ask("codeLens", uri) is None
    assert [message for message in _messages(reader) if "inlayHints" in message] == complaint
    assert await reader.ask("inlayHint", uri, **_WHOLE)
    await reader.set()
    await reader.set(**wrong)
    await reader.ask("codeLens", uri)
    assert [message for message in _messages(reader) if "inlayHints" in message] == complaint * 2


# ---------------------------------------------------------------- the disk


async def test_set_that_changes_on_disk_is_loaded_again(reader: Reader, tmp_path: Path) -> None:
    await reader.start()
    path = copied(SPLIT, tmp_path)
    live, values = reader.open(sibling(path, "live-range")), sibling(path, "buffer-assignment-values")
    marked = "    dot{}:35-37\n     ^"
    assert reader.shown(await reader.ask_at("definition", live, marked)) == [
        "buffer-assignment-values:280: <244 dot @0>"
    ]
    lenses = await reader.ask("codeLens", live)
    values.write_text(f"\n\n{values.read_text()}")
    # Its diagnostics are stale.
    await reader.editor.until(lambda: bool(reader.editor.received("workspace/codeLens/refresh")))
    assert reader.shown(await reader.ask_at("definition", live, marked)) == [
        "buffer-assignment-values:282: <244 dot @0>"
    ]
    assert await reader.ask("codeLens", live) == lenses
    assert not _messages(reader)


async def test_new_file_joins_its_set(reader: Reader, tmp_path: Path) -> None:
    path = copied(SPLIT, tmp_path)
    values = sibling(path, "buffer-assignment-values")
    text = values.read_text()
    values.unlink()
    await reader.start()
    live = reader.open(sibling(path, "live-range"))
    marked = "    dot{}:35-37\n     ^"
    assert reader.shown(await reader.ask_at("definition", live, marked)) == ["buffer-assignment:84: <244 dot @0>"]
    await reader.ask("codeLens", live)
    values.write_text(text)
    await reader.editor.until(lambda: bool(reader.editor.received("workspace/codeLens/refresh")))
    found = await reader.ask_at("definition", live, marked)
    assert reader.shown(found) == ["buffer-assignment-values:280: <244 dot @0>"]


async def test_deleted_files_are_reported_once(reader: Reader, tmp_path: Path) -> None:
    await reader.start()
    path = copied(SPLIT, tmp_path)
    live = reader.open(sibling(path, "live-range"))
    values = sibling(path, "buffer-assignment-values")
    assert await reader.ask_at("hover", live, "    dot{}:35-37\n     ^")
    path.unlink()
    values.unlink()
    await reader.editor.until(lambda: bool(_messages(reader)))
    hover = await reader.ask_at("hover", live, "    dot{}:35-37\n     ^")
    assert "the dump set lacks the buffer assignment" in hover["contents"]["value"]
    rest = "no longer on disk. XLA Lens continues with the rest of the dump."
    assert _messages(reader) == [f"{values.name}, {path.name}: {rest}"]


async def test_open_documents_outlive_their_folder(reader: Reader, tmp_path: Path) -> None:
    await reader.start()
    path = copied(SEED, tmp_path)
    uri = reader.open(path)
    await reader.editor.until(lambda: _codes(reader, uri) == ["peak-understated"])
    path.write_text("nothing of a dump")
    path.unlink()
    reader.replace(uri, "    cublas-gemm.1{}:4-5", "    cublas-gemm.1{}:4-7")
    await reader.editor.until(lambda: "overlapping-slices" in _codes(reader, uri))
    assert not _messages(reader)
