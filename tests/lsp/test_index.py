"""The index of the workspace while a worker thread fills it."""

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lsp.reading import copied
from lsp.wire import FULL, InProcess
from samples import SEED
from xla_lens.files import SetFiles
from xla_lens.lsp import index as module
from xla_lens.model.summary import SetSummary
from xla_lens.workspace import Indexed

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
    summary: Any = object.__new__(SetSummary)

    def read_many(*_: Any, **__: Any) -> Iterator[Indexed[Any]]:
        for number in range(_SETS):
            yield Indexed(SetFiles(tmp_path / f"{number}", {}), {}, summary, {})

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


async def test_polling_checks_a_workspace_less_often_than_requests(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    copied(SEED, tmp_path)
    monkeypatch.setattr(module, "_FRESH_SECONDS", 0.0)
    passes, read = list[int](), vars(module)["index"]

    def counted(*arguments: Any, **options: Any) -> Any:
        passes.append(1)
        return read(*arguments, **options)

    monkeypatch.setattr(module, "index", counted)
    editor = InProcess()
    await editor.initialize(FULL, workspaceFolders=[{"uri": tmp_path.as_uri(), "name": "dumps"}])
    index = editor.server.state.index
    # The check of a folder with one dump takes at least a microsecond, so polling does not repeat it for 1,000 seconds.
    monkeypatch.setattr(module, "_POLLING_SHARE", 1e-9)
    await index.update(is_polling=True)
    await index.update(is_polling=True)
    assert len(passes) == 1
    await index.update()
    assert len(passes) == 2
    index.invalidate()
    await index.update(is_polling=True)
    assert len(passes) == 3
    monkeypatch.setattr(module, "_POLLING_SHARE", 1e9)
    await index.update(is_polling=True)
    assert len(passes) == 4
    await editor.stop()
