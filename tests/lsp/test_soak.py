"""Long sessions and big texts: memory is freed, and no tasks or documents leak."""

import asyncio
import gc
import random
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from fuzzing.positions import Text
from lsp.wire import FULL, InProcess, Process
from samples import DUMPS, SEED
from soak import close_all, dump_sets, round_of, soak
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.text.document import Document

_MEGABYTE = 10**6

_LONGEST = 10**6


@pytest.mark.slow
async def test_memory_is_freed_after_many_sets(server: Process) -> None:
    """All sets are opened several times before the first measurement."""
    await server.initialize(FULL, workspaceFolders=[{"uri": DUMPS.as_uri(), "name": "dumps"}])
    sizes = await soak(server, dump_sets(DUMPS, _LONGEST), rounds=120, every=40)
    assert sizes[-1] - sizes[0] < 10 * _MEGABYTE, [size // _MEGABYTE for size in sizes]
    await server.stop()
    server.finish()


async def test_evicting_everything_frees_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xla_lens.lsp.dump_sets._CACHE_SECONDS", 0.0)
    editor, chance, opened = InProcess(), random.Random(0), list[str]()
    sets = dump_sets(DUMPS, _LONGEST)
    await editor.initialize(FULL)
    for _ in range(30):
        await round_of(editor, chance, sets, opened)
    await close_all(editor, opened)
    state, protocol = editor.server.state, editor.server.protocol
    assert state.sets.open == []
    for _ in range(50):
        # Cancelled work ends in its worker thread. Loads end before their sets are evicted.
        await asyncio.sleep(0.02)
        await state.sets.poll()
    assert state.sets.recent == []
    assert protocol.in_flight == 0
    assert protocol.activity.is_idle
    assert not any(state.published.diagnostics.values())
    for _ in range(250):
        mine = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        if (running := [getattr(task.get_coro(), "__qualname__", "") for task in mine]) == ["Server._poll"]:
            break
        await asyncio.sleep(0.02)
    assert running == ["Server._poll"]
    assert threading.active_count() < 10
    gc.collect()
    kept = [found for found in gc.get_objects() if isinstance(found, DumpSet | Document | memoryview)]
    await editor.stop()
    assert kept == []


async def test_many_documents_can_be_open() -> None:
    editor = InProcess()
    await editor.initialize(FULL)
    uris = [f"untitled:module_{number:04}.x.cpu_after_optimizations-buffer-assignment.txt" for number in range(300)]
    for uri in uris:
        document = {"uri": uri, "languageId": "xla-dump", "version": 1, "text": SEED.read_text()}
        editor.notify("textDocument/didOpen", {"textDocument": document})
    place = {"line": 1, "character": 3}
    for uri in uris:
        assert await editor.request("textDocument/hover", {"textDocument": {"uri": uri}, "position": place})
    assert len(editor.server.state.sets.open) == len(uris)
    await close_all(editor, list(uris))
    assert not editor.server.state.sets.open
    assert not any(editor.diagnostics.values())
    await editor.stop()


# ---------------------------------------------------------------- big texts


_BIG = 100 * _MEGABYTE


@pytest.mark.slow
@pytest.mark.parametrize("where", ["document", "file"])
async def test_line_of_a_hundred_megabytes(server: Process, tmp_path: Path, where: str) -> None:
    await server.initialize(FULL)
    big, live = (tmp_path / f"x-{kind}.txt" for kind in ("buffer-assignment", "live-range"))
    text = "BufferAssignment: allocation 0: size 4, " + "x" * _BIG
    path = big if where == "document" else live
    # The server imports its engine after the answer to `initialize`. That memory is not the line's.
    small = {"uri": "untitled:small", "languageId": "xla-dump", "version": 1, "text": "BufferAssignment:\n"}
    server.notify("textDocument/didOpen", {"textDocument": small})
    await server.request("textDocument/codeLens", {"textDocument": {"uri": small["uri"]}})
    if where == "file":
        big.write_text(text)
        text = "HloLiveRange (max 1):\n  InstructionSequence:\n    0:a\n  BufferLiveRange:\n    a{}:0-1\n"
    before, started = server.resident_bytes(), time.monotonic()
    document = {"uri": path.as_uri(), "languageId": "xla-dump", "version": 1, "text": text}
    server.notify("textDocument/didOpen", {"textDocument": document})
    here: dict[str, Any] = {"textDocument": {"uri": path.as_uri()}}
    end = Text(text, "utf-8").position(len(text))
    place = {**here, "position": end}
    whole = {**here, "range": {"start": {"line": 0, "character": 0}, "end": end}}
    await server.request("textDocument/hover", place)
    assert (await server.request("textDocument/codeAction", {**whole, "context": {"diagnostics": []}})) is not None
    await server.request("textDocument/inlayHint", whole)
    await server.request("textDocument/semanticTokens/range", whole)
    await server.request("textDocument/selectionRange", {**here, "positions": [end]})
    await server.request("textDocument/references", {**place, "context": {"includeDeclaration": True}})
    for method in ("documentSymbol", "foldingRange", "documentLink", "codeLens"):
        await server.request(f"textDocument/{method}", here)
    # A file that has just been written may not be complete yet.
    await server.until(lambda: bool(server.diagnostics.get(big.as_uri())))
    assert {diagnostic["code"] for diagnostic in server.diagnostics[big.as_uri()]} == {"syntax"}
    change = {"range": {"start": end, "end": end}, "text": "\n"}
    versioned = {**here["textDocument"], "version": 2}
    server.notify("textDocument/didChange", {"textDocument": versioned, "contentChanges": [change]})
    await server.request("textDocument/hover", place)
    # Generous, because other tests may run at the same time.
    assert time.monotonic() - started < 40
    assert server.resident_bytes("VmHWM") - before < 4.5 * _BIG
    server.notify("textDocument/didClose", here)
    await server.request("textDocument/hover", place)
    await asyncio.sleep(0.5)
    # The set stays for some minutes after its last document was closed, and little else.
    assert server.resident_bytes() - before < 1.3 * _BIG
    await server.stop()


@pytest.mark.slow
async def test_replace_all_does_not_block_the_event_loop(server: Process) -> None:
    """Some editors send a "replace all" as many separate changes. Other requests must not wait long for it."""
    await server.initialize(FULL)
    text = "".join(f"    {number}:name.{number}\n" for number in range(200_000))
    document = {"uri": "untitled:x", "languageId": "xla-dump", "version": 1, "text": text}
    server.notify("textDocument/didOpen", {"textDocument": document})
    nothing = {"textDocument": {"uri": "untitled:y"}, "position": {"line": 0, "character": 0}}
    await server.request("textDocument/hover", {**nothing, "textDocument": {"uri": "untitled:x"}})
    changes = [
        {"range": {"start": {"line": row, "character": 0}, "end": {"line": row, "character": 4}}, "text": "\t\n"}
        for row in reversed(range(0, 200_000, 40))
    ]
    versioned = {"uri": "untitled:x", "version": 2}
    server.notify("textDocument/didChange", {"textDocument": versioned, "contentChanges": changes})
    started = time.monotonic()
    await server.request("textDocument/hover", nothing)
    # Applying the changes one by one takes longer.
    assert time.monotonic() - started < 3
    await server.stop()
