"""The HLO module is read without delaying requests."""

import asyncio
import threading
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import pytest

from samples import modules
from xla_lens.lsp.module_state import ModuleLoad, ModuleState
from xla_lens.lsp.tasks import Activity


def _reload(state: ModuleState, path: Path, waits: list[None], done: asyncio.Event) -> None:
    state.reload(ModuleLoad(path, {}, nullcontext(), done.set, lambda: waits.append(None)))


async def test_a_load_lets_requests_go_first_again_and_again() -> None:
    state, waits, done = ModuleState(), list[None](), asyncio.Event()
    path = max(modules(), key=lambda path: path.stat().st_size)
    _reload(state, path, waits, done)
    await asyncio.wait_for(done.wait(), 30)
    assert state.module
    # At least once for each 16 KiB of text, half of it searched for references and half of it read.
    assert len(waits) > path.stat().st_size >> 14


async def test_a_load_that_a_request_waits_for_does_not_wait() -> None:
    state, waits, done = ModuleState(), list[None](), asyncio.Event()
    _reload(state, modules()[0], waits, done)
    assert await state.ready()
    assert waits == []
    _reload(state, modules()[-1], waits, done)
    done.clear()
    await asyncio.wait_for(done.wait(), 30)
    assert waits


async def test_a_load_ends_although_requests_never_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xla_lens.lsp.module_state._PATIENCE", 0.2)
    activity, state, done = Activity(), ModuleState(), asyncio.Event()
    activity.begin()
    state.reload(ModuleLoad(modules()[0], {}, nullcontext(), done.set, partial(activity.await_end, 0.05)))
    await asyncio.wait_for(done.wait(), 30)
    assert state.module


def test_waiting_ends_with_the_last_activity() -> None:
    activity = Activity()
    activity.begin()
    activity.begin()
    activity.end()
    ended: list[None] = []

    def end() -> None:
        ended.append(None)
        activity.end()

    threading.Timer(0.05, end).start()
    activity.await_end(30)
    assert ended
