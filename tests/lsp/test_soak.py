"""Long sessions and big texts: memory is freed, and no tasks or documents leak."""

import asyncio
import gc
import random
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest
from lsprotocol import types as lsp

from fuzzing.games import Player, play_chaos, play_requests, playing
from fuzzing.texts import dump_sets
from lsp.wire import FULL, PATIENCE, Process, eventually
from samples import DUMPS
from xla_lens.lsp import documents
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.text.document import Document
from xla_lens.text.encoding import Encoding

_MEGABYTE = 10**6

_DUMPS = dump_sets(DUMPS, 10**6)


@pytest.mark.slow
async def test_memory_is_freed_after_many_sets(server: Process, tmp_path: Path) -> None:
    """All sets are opened several times before the first measurement: until then, memory still grows by what each kind
    of request and set needs for the first time.
    """
    await server.initialize(FULL, workspaceFolders=[{"uri": DUMPS.as_uri(), "name": "dumps"}])
    player, sizes = Player(server, random.Random(0), tmp_path, "utf-8", _DUMPS), list[int]()
    for number in range(300):
        await play_requests(player, number, player.chance.choice(player.dumps))
        if number % 100 == 99:
            sizes.append(server.resident_bytes())
    assert sizes[-1] - sizes[0] < 10 * _MEGABYTE, [size // _MEGABYTE for size in sizes]
    await server.stop()


async def test_evicting_everything_frees_everything(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("xla_lens.lsp.dump_sets._CACHE_SECONDS", 0.0)
    # Other tests in this process keep dumps that they have loaded.
    gc.collect()
    gc.freeze()
    async with playing(random.Random(0), tmp_path, _DUMPS) as player:
        await play_chaos(player, 300)
        state, protocol = player.server.state, player.server.protocol
        async with asyncio.timeout(PATIENCE):
            # Cancelled work ends in its worker thread. Loads end before their sets are evicted.
            while state.sets.recent:
                await state.sets.poll()
        assert protocol.running == set()
        assert not state.published
        me = asyncio.current_task()

        def running() -> list[str]:
            return [getattr(task.get_coro(), "__qualname__", "") for task in asyncio.all_tasks() if task is not me]

        await eventually(lambda: running() == ["Server._poll"])
        assert threading.active_count() < 10

        def is_freed() -> bool:
            gc.collect()
            return not any(isinstance(found, DumpSet | Document | memoryview) for found in gc.get_objects())

        # A worker thread may briefly keep references to its last result.
        await eventually(is_freed)
    gc.unfreeze()


# ---------------------------------------------------------------- big texts


def test_replace_all_is_applied_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some editors send a "replace all" as many separate changes. Applying them one by one to a big text would block
    the event loop for long.
    """
    count = 2_000
    document = Document(b"".join(b"    %d:name\n" % number for number in range(count)))
    changes = [
        lsp.TextDocumentContentChangePartial(lsp.Range(lsp.Position(row, 0), lsp.Position(row, 4)), "\t\n")
        for row in reversed(range(count))
    ]
    parts, replace = list[int](), vars(documents)["_replaced"]

    def counted(before: Document, found: Sequence[tuple[int, int, bytes]]) -> Document:
        parts.append(len(found))
        return replace(before, found)

    monkeypatch.setattr(documents, "_replaced", counted)
    after, _ = documents.apply_changes(document, changes, Encoding.UTF8)
    assert after.data == document.data.replace(b"    ", b"\t\n")
    assert parts == [count]
