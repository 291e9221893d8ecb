"""Fixtures: the server as a process that does not outlive its test, a reader, and loads that a test can hold."""

import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
import pytest_asyncio

from lsp.reading import Reader
from lsp.wire import Process
from xla_lens import files
from xla_lens.lsp import dump_set_state
from xla_lens.syntax.tree import Cancelled


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
        self.count += 1
        report_progress(self.done)
        assert self._may_go_on.wait(30)

    def wait_unless_cancelled(self, is_cancelled: Callable[[], bool]) -> None:
        """Count a load and wait until it may continue. Raises `Cancelled`."""
        self.count += 1
        while not self._may_go_on.wait(0.01):
            if is_cancelled():
                raise Cancelled


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loads]:
    """Loads that the test can hold. Requests do not wait for reloads, however short."""
    found, load = Loads(), vars(dump_set_state)["load_set_of"]

    def held(*arguments: Any, **options: Any) -> Any:
        found.wait(arguments[-1])
        return load(*arguments, **options)

    monkeypatch.setattr(dump_set_state, "load_set_of", held)
    monkeypatch.setattr(dump_set_state, "_SHORT_LOAD", 0.0)
    yield found
    found.resume()


@pytest.fixture
def analyses(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loads]:
    """Analyses that the test can hold when all files of the set are read. Those that are held can be cancelled."""
    found, analyse = Loads(), vars(files)["analyse"]

    def held(*arguments: Any) -> Any:
        found.wait_unless_cancelled(arguments[1])
        return analyse(*arguments)

    monkeypatch.setattr(files, "analyse", held)
    yield found
    found.resume()
