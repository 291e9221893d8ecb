"""A dump set is loaded by one task at a time, whatever becomes of a cancellation."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from samples import SPLIT
from xla_lens.lsp.dump_set_state import DumpSetState, Events


class _Events(Events):
    """Counts the loads that are in progress, and does something once as a load ends."""

    def __init__(self) -> None:
        self.in_progress = self.most_in_progress = 0
        self.at_end: Callable[[], None] | None = None

    def loaded(self, dump_set: DumpSetState) -> None:
        at_end, self.at_end = self.at_end, None
        if at_end:
            at_end()

    @asynccontextmanager
    async def loading(self, what: str, done: Callable[[], float]) -> AsyncIterator[None]:
        del what, done
        self.in_progress += 1
        self.most_in_progress = max(self.most_in_progress, self.in_progress)
        yield
        self.in_progress -= 1


def test_a_swallowed_cancellation_does_not_load_a_set_twice_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "dump"
    shutil.copytree(SPLIT.parent, folder)

    async def edit_and_edit_again() -> int:
        events, is_waiting, goes_on = _Events(), asyncio.Event(), asyncio.Event()
        dump_set = DumpSetState(folder / "set", folder / SPLIT.name, events)
        dump_set.reload()
        await dump_set.checked()

        async def wait_for(wait: Coroutine[Any, Any, Any], _seconds: float) -> None:
            # `asyncio.wait_for` of Python 3.11 can end like this, too, if it is cancelled as the time is over.
            wait.close()
            is_waiting.set()
            with suppress(asyncio.CancelledError):
                await goes_on.wait()
            await goes_on.wait()

        monkeypatch.setattr(asyncio, "wait_for", wait_for)
        goes_on.set()
        (folder / SPLIT.name).write_bytes(SPLIT.read_bytes() + b"\n")

        def edit() -> None:
            # Between the steps of a load, so that another load waits.
            goes_on.clear()
            is_waiting.clear()
            dump_set.reload()

        events.at_end = edit
        dump_set.reload()
        while goes_on.is_set():
            await asyncio.sleep(0)
        await is_waiting.wait()
        dump_set.reload()
        for _ in range(10):
            # A second task would begin to wait now.
            await asyncio.sleep(0)
        goes_on.set()
        await dump_set.checked()
        while events.in_progress:
            await asyncio.sleep(0)
        dump_set.close()
        return events.most_in_progress

    assert asyncio.run(edit_and_edit_again()) == 1
