"""The index of the workspace while a worker thread fills it."""

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lsp.wire import FULL, InProcess
from xla_lens.disk.sets import SetFiles
from xla_lens.lsp.index import IndexedSet

_SETS = 2_000


@pytest.fixture(autouse=True)
def fast_switching() -> Iterator[None]:
    """Switch threads as often as possible."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


async def test_sets_can_be_listed_while_they_are_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The worker thread must not change a dictionary that the event loop iterates over. That shows in a second pass:
    merging its sets into those of the first compares paths, which runs Python code and lets threads alternate.
    """
    summary: Any = object()

    def read_many(*_: Any, **__: Any) -> Iterator[IndexedSet]:
        for number in range(_SETS):
            yield IndexedSet(SetFiles(tmp_path / f"{number}", {}), {}, summary, {})

    monkeypatch.setattr("xla_lens.lsp.index.index", read_many)
    editor = InProcess()
    await editor.initialize(FULL, workspaceFolders=[{"uri": tmp_path.as_uri(), "name": "dumps"}])
    index = editor.server.state.index
    await index.update()
    index.invalidate()
    reading = asyncio.ensure_future(index.update())
    counts = []
    while not reading.done():
        await asyncio.sleep(0)
        counts.append(len(await index.sets_now()))
    await reading
    assert set(counts) == {_SETS}
    await editor.stop()
