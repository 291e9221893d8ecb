"""Fixtures: the server as a process that does not outlive its test, a reader, and work that a test can hold. No test
measures how long loads take: they count as short unless a test says otherwise.
"""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from types import ModuleType
from typing import Any

import pytest
import pytest_asyncio

from lsp.reading import Reader
from lsp.wire import PATIENCE, Process
from xla_lens.disk import loading
from xla_lens.lsp import dump_set_state
from xla_lens.syntax.tree import Cancelled


@pytest.fixture(autouse=True)
def _short_loads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let requests wait for all loads in this process, however long they take."""
    monkeypatch.setattr(dump_set_state, "_SHORT_LOAD", float("inf"))


@pytest_asyncio.fixture
async def server() -> AsyncIterator[Process]:
    """The server as a process, not yet initialized."""
    process = await Process.start()
    yield process
    await process.kill()


@pytest_asyncio.fixture
async def reader(request: pytest.FixtureRequest) -> AsyncIterator[Reader]:
    """A reader, not yet initialized. An indirect parameter sets its position encoding."""
    reader = Reader(getattr(request, "param", "utf-16"))
    yield reader
    await reader.stop()


class Loads:
    """Loads of dump sets, which a test can hold."""

    def __init__(self) -> None:
        self._may_go_on = threading.Event()
        self._may_go_on.set()
        self.begun = threading.Event()
        """Set when the first load has begun."""
        self.count = 0
        """The number of loads that have begun."""
        self.done = 0.0
        """The fraction that held loads report as done."""

    def hold(self) -> None:
        """Make all loads wait from now on."""
        self._may_go_on.clear()

    def resume(self) -> None:
        """Let all loads continue."""
        self._may_go_on.set()

    def wait(self, report_progress: Callable[[float], None]) -> None:
        """Count a load and wait until it may continue."""
        self._begin()
        report_progress(self.done)
        assert self._may_go_on.wait(PATIENCE)

    def wait_unless_cancelled(self, is_cancelled: Callable[[], bool]) -> None:
        """Count a load and wait until it may continue. Raises `Cancelled`."""
        self._begin()
        while not self._may_go_on.wait(0.01):
            if is_cancelled():
                raise Cancelled

    def _begin(self) -> None:
        self.count += 1
        self.begun.set()


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loads]:
    """Loads that the test can hold. Requests do not wait for reloads, however short."""
    found, load = Loads(), vars(dump_set_state)["load_set"]

    def held(*arguments: Any, **options: Any) -> Any:
        found.wait(arguments[-1])
        return load(*arguments, **options)

    monkeypatch.setattr(dump_set_state, "load_set", held)
    monkeypatch.setattr(dump_set_state, "_SHORT_LOAD", 0.0)
    yield found
    found.resume()


class Held:
    """Work in a worker thread that is done, but whose result does not arrive before the test resumes it."""

    def __init__(self) -> None:
        self.is_done, self._may_go_on = asyncio.Event(), asyncio.Event()

    async def done(self) -> None:
        """Wait until the work is done."""
        await asyncio.wait_for(self.is_done.wait(), PATIENCE)

    async def hold(self) -> None:
        """Wait until the test resumes the work."""
        self.is_done.set()
        await self._may_go_on.wait()

    def resume(self) -> None:
        """Let the result arrive."""
        self._may_go_on.set()


Hold = Callable[..., Held]


@pytest.fixture
def hold(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hold]:
    """Holds a result of a function that a module runs in a worker thread. `hold(module, "function", after=1)` lets one
    result arrive and holds the next.
    """
    every: list[Held] = []

    def hold_next(module: ModuleType, name: str, after: int = 0) -> Held:
        held, run, left = Held(), vars(module)["in_thread"], [name] * (after + 1)
        every.append(held)

        async def in_thread(work: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
            result = await run(work, *arguments, **options)
            if left and getattr(work, "__name__", "") == name:
                left.pop()
                if not left:
                    await held.hold()
            return result

        monkeypatch.setattr(module, "in_thread", in_thread)
        return held

    yield hold_next
    for held in every:
        held.resume()


@pytest.fixture
def analyses(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loads]:
    """Analyses that the test can hold after all files of the set are read. Held ones can be cancelled."""
    found, analyse = Loads(), vars(loading)["analyse"]

    def held(*arguments: Any) -> Any:
        found.wait_unless_cancelled(arguments[1])
        return analyse(*arguments)

    monkeypatch.setattr(loading, "analyse", held)
    yield found
    found.resume()
