"""What tests of the server share: the process, which does not outlive its test; a reader; loads that can be held."""

import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
import pytest_asyncio

from lsp.reading import Reader
from lsp.wire import Process
from xla_lens.lsp import dump_set_state


@pytest_asyncio.fixture
async def server() -> AsyncIterator[Process]:
    """The server as a process, not yet initialized."""
    process = await Process.start()
    yield process
    await process.kill()


@pytest_asyncio.fixture
async def reader(request: pytest.FixtureRequest) -> AsyncIterator[Reader]:
    """A reader, who may count columns in a unit that is the parameter; the conversation is not begun."""
    reader = Reader(getattr(request, "param", "utf-16"))
    yield reader
    await reader.stop()


class Loads:
    """Loads of sets, which go on as long as they are not held."""

    def __init__(self) -> None:
        self._may_go_on = threading.Event()
        self._may_go_on.set()
        self.count = 0
        """How many have begun."""

    def hold(self) -> None:
        """What is loaded from now on waits."""
        self._may_go_on.clear()

    def go_on(self) -> None:
        """What has waited goes on."""
        self._may_go_on.set()

    def wait(self) -> None:
        """A load begins."""
        self.count += 1
        assert self._may_go_on.wait(30)


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loads]:
    """Loads that can be held. Nobody waits for a second one of a set, however short it is."""
    found, load = Loads(), vars(dump_set_state)["load_set"]

    def held(*arguments: Any) -> Any:
        found.wait()
        return load(*arguments)

    monkeypatch.setattr(dump_set_state, "load_set", held)
    monkeypatch.setattr(dump_set_state, "_SHORT_LOAD", 0.0)
    yield found
    found.go_on()
