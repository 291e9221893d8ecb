"""Workspace symbols: modules, allocations and values of all dump sets, open or not."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lsprotocol.types import SymbolKind

from lsp.reading import NO_PAGE, Reader, copied, in_all_encodings, read_page, short_name, sibling
from lsp.wire import FULL, PATIENCE, RequestFailed, eventually
from samples import SEED, SPLIT, TPU
from xla_lens.disk.loading import load_set
from xla_lens.lsp import index as indexing
from xla_lens.lsp.requests import workspace as symbols


async def _find(reader: Reader, query: str, **params: Any) -> Any:
    return await reader.editor.request("workspace/symbol", {"query": query, **params})


def _symbol_texts(reader: Reader, found: Any) -> list[str]:
    """Return symbols as text: name, container and place."""
    texts = []
    for symbol in found:
        uri, range_ = symbol["location"]["uri"], symbol["location"]["range"]
        text = reader.text_at(uri, range_)
        if symbol["kind"] == 2:
            assert (text, range_["start"]) == ("", {"line": 0, "character": 0})
        else:
            # XLA may print a space before an index, and the header of an allocation is longer than its name.
            assert text.replace(" ", "") == symbol["name"].replace(" ", "")
        texts.append(f"{symbol['name']} | {symbol['containerName']} | {short_name(uri)}:{range_['start']['line'] + 1}")
    return texts


async def _modules(reader: Reader) -> Any:
    """The modules, which an empty query finds first."""
    return [symbol for symbol in await _find(reader, "") if symbol["kind"] == SymbolKind.Module]


async def _module_names(reader: Reader) -> list[str]:
    return [symbol["name"] for symbol in await _modules(reader)]


async def _names(reader: Reader, query: str) -> list[str]:
    return [symbol["name"] for symbol in await _find(reader, query)]


# ---------------------------------------------------------------- the same search as a command


async def test_found_values_have_sizes_shares_and_sources(reader: Reader) -> None:
    await reader.start(FULL, SPLIT.parent)
    await _find(reader, "")
    closed = (await reader.run("findValues", {"query": "dot"}))["found"]
    await reader.ask("documentLink", reader.open(SPLIT))
    found = (await reader.run("findValues", {"query": "dot"}))["found"]
    facts = [(one["name"], one["size_bytes"], one["peak_bytes"], one["allocation_kind"], one["space"]) for one in found]
    assert facts == [
        ("dot", 1605632, 4419632, "temp", "host memory"),
        ("dot.1", 524288, None, "parameter", "host memory"),
        ("dot.2", 10240, None, "parameter", "host memory"),
    ]
    # Sources are known of sets in memory.
    assert found[0]["source"] == "/home/user/programs/programs.py:50 in mlp_apply"
    assert [one["source"] for one in closed] == ["", "", ""]
    assert (await reader.run("findValues", {"query": "dot", "limit": 1}))["is_truncated"]


@in_all_encodings
async def test_symbols_after_wide_characters(reader: Reader, tmp_path: Path) -> None:
    path = copied(SPLIT, tmp_path, "ynn_fusion", "ynn_füs🚀n")
    sibling(path, "buffer-assignment-values").write_text(
        sibling(path, "buffer-assignment-values").read_text().replace("\n", "\r\n")
    )
    await reader.start(FULL, tmp_path)
    assert _symbol_texts(reader, await _find(reader, "füs🚀n.1"))[0] == (
        "ynn_füs🚀n.1 | jit_train_step · buffer-assignment · 2.0 KiB · temp · live at the peak | buffer-assignment:85"
    )
    path.unlink()
    reader.open(sibling(path, "live-range"))
    (found,) = _symbol_texts(reader, await _find(reader, "füs🚀n.1"))
    assert found.endswith("| buffer-assignment-values:302")


async def test_truncated_symbols_are_logged(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(symbols, "SYMBOL_LIMIT", 3)
    await reader.start(FULL, SPLIT.parent)
    assert [name for _ in range(2) for name in await _names(reader, ">1MiB")] == [
        "jit_train_step",
        "allocation 29",
        "allocation 0",
    ] * 2
    (logged,) = reader.editor.received("window/logMessage")
    assert logged["params"]["message"] == "workspace/symbol: only the best 3 matches are shown"


async def test_truncated_index_is_logged(reader: Reader, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(indexing, "SET_LIMIT", 2)
    for number in range(3):
        copied(SEED, tmp_path / str(number))
    await reader.start(FULL, tmp_path)
    assert len(await _modules(reader)) == 2
    (logged,) = reader.editor.received("window/logMessage")
    assert logged["params"]["message"].startswith("workspace: ")


# ---------------------------------------------------------------- open documents


async def test_open_documents_take_precedence_over_the_disk(reader: Reader, tmp_path: Path) -> None:
    path = copied(SPLIT, tmp_path)
    await reader.start(FULL, tmp_path)
    assert await _names(reader, "zebra") == []
    uri = reader.open(path, path.read_text().replace("copy.2 @0", "zebra @0"))
    (symbol,) = await _find(reader, "zebra")
    assert symbol["location"]["uri"] == uri
    reader.replace(uri, "BufferAssignment:", "\n\nBufferAssignment:")
    (symbol,) = await _find(reader, "zebra")
    assert reader.text_at(uri, symbol["location"]["range"]) == "zebra"
    reader.close(uri)
    assert await _names(reader, "zebra") == []


async def test_untitled_document_has_symbols(reader: Reader) -> None:
    await reader.start()
    uri = reader.open_uri("untitled:Untitled-1", SEED.read_text())
    (symbol,) = await _find(reader, "cublas")
    assert symbol["location"]["uri"] == uri
    assert reader.text_at(uri, symbol["location"]["range"]) == "cublas-gemm.1"


# ---------------------------------------------------------------- folders


async def test_folders_can_be_added_and_removed(reader: Reader, tmp_path: Path) -> None:
    copied(SPLIT, tmp_path / "one")
    copied(TPU, tmp_path / "two")
    one, two = ({"uri": (tmp_path / name).as_uri(), "name": name} for name in ("one", "two"))
    await reader.start(FULL, tmp_path / "one", rootUri=(tmp_path / "one").as_uri())
    assert await _module_names(reader) == ["jit_train_step"]
    change = "workspace/didChangeWorkspaceFolders"
    reader.editor.notify(change, {"event": {"added": [two], "removed": []}})
    assert sorted(await _module_names(reader)) == ["jit_roundtrip", "jit_train_step"]
    reader.editor.notify(change, {"event": {"added": [], "removed": [one]}})
    assert await _module_names(reader) == ["jit_roundtrip"]
    reader.editor.notify(change, {"event": {"added": [], "removed": [two]}})
    assert await _module_names(reader) == []
    page = f"xla-lens:{tmp_path}/one/{SPLIT.name.removesuffix('-buffer-assignment.txt')}/summary.txt"
    assert await read_page(reader, page) == NO_PAGE


async def test_root_uri_is_the_folder_of_older_editors(reader: Reader, tmp_path: Path) -> None:
    copied(SPLIT, tmp_path)
    await reader.start({}, rootUri=tmp_path.as_uri())
    assert await _module_names(reader) == ["jit_train_step"]


async def test_missing_folders_are_ignored(reader: Reader, tmp_path: Path) -> None:
    folders = [
        {"uri": uri, "name": "x"}
        for uri in ((tmp_path / "gone").as_uri(), "untitled:x", "vscode-vfs://github/a/b", "file:///a%00b", "")
    ]
    await reader.start(FULL, workspaceFolders=folders)
    assert await _find(reader, "") == []


# ---------------------------------------------------------------- the disk


async def test_changes_reported_by_the_editor_are_noticed_at_once(reader: Reader, tmp_path: Path) -> None:
    await reader.start(FULL, tmp_path)
    path = copied(SEED, tmp_path)
    assert await _names(reader, "cublas") == ["cublas-gemm.1"]
    path.write_text(path.read_text().replace("cublas", "zebra"))
    changes = [{"uri": path.as_uri(), "type": 2}]
    reader.editor.notify("workspace/didChangeWatchedFiles", {"changes": changes})
    assert await _names(reader, "zebra") == ["zebra-gemm.1"]


# ---------------------------------------------------------------- while sets are read


class _Reading:
    """Lets the index read one set at a time."""

    def __init__(self) -> None:
        self._may = threading.Semaphore(0)
        self.count = 0

    def resume(self, sets: int) -> None:
        """Allow more sets to be read."""
        self._may.release(sets)

    def wait(self) -> None:
        """Wait until a set may be read."""
        assert self._may.acquire(timeout=PATIENCE)
        self.count += 1


@pytest.fixture
def reading(monkeypatch: pytest.MonkeyPatch) -> Iterator[_Reading]:
    """An index of the workspace that reads only as many sets as the test allows."""
    found, load = _Reading(), load_set

    def held(*arguments: Any, **named: Any) -> Any:
        found.wait()
        return load(*arguments, **named)

    monkeypatch.setattr(indexing, "load_set", held)
    yield found
    found.resume(999)


def _values(reader: Reader, token: str) -> list[Any]:
    """Return the values of `$/progress` notifications with a token."""
    messages = [message["params"] for message in reader.editor.received("$/progress")]
    return [message["value"] for message in messages if message["token"] == token]


async def test_reading_shows_progress(reader: Reader, reading: _Reading, tmp_path: Path) -> None:
    for number in range(4):
        copied(SEED, tmp_path / str(number))
    await reader.start(FULL, tmp_path)
    number = reader.editor.ask("workspace/symbol", {"query": "cublas"})
    reading.resume(2)
    await reader.editor.until(lambda: bool(reader.editor.received("window/workDoneProgress/create")))
    (created,) = reader.editor.received("window/workDoneProgress/create")
    token = created["params"]["token"]
    await reader.editor.until(lambda: len(_values(reader, token)) > 1)
    reading.resume(2)
    assert len(await reader.editor.answer(number)) == 4
    await reader.editor.until(lambda: _values(reader, token)[-1]["kind"] == "end")
    first, *reports, _ = _values(reader, token)
    assert (first["kind"], first["title"]) == ("begin", "Reading dump sets")
    assert {"kind": "report", "message": "2 of 4", "percentage": 50} in reports


async def test_cancelling_a_search_does_not_stop_the_index(reader: Reader, reading: _Reading, tmp_path: Path) -> None:
    for number in range(3):
        copied(SEED, tmp_path / str(number))
    await reader.start(FULL, tmp_path)
    first, second = (reader.editor.ask("workspace/symbol", {"query": "cublas"}) for _ in range(2))
    reading.resume(1)
    await eventually(lambda: reading.count > 0)
    reader.editor.cancel(first)
    with pytest.raises(RequestFailed) as refused:
        await reader.editor.answer(first)
    assert refused.value.code == -32800
    reading.resume(2)
    assert len(await reader.editor.answer(second)) == 3
    assert reading.count == 3


async def test_exit_stops_the_index(reader: Reader, reading: _Reading, tmp_path: Path) -> None:
    for number in range(5):
        copied(SEED, tmp_path / str(number))
    await reader.start(FULL, tmp_path)
    number = reader.editor.ask("workspace/symbol", {"query": "cublas"})
    reading.resume(1)
    await eventually(lambda: reading.count > 0)
    reader.editor.server.close()
    reading.resume(99)
    assert isinstance(await reader.editor.answer(number), list)
    # Only the set that was being read.
    assert reading.count <= 2
