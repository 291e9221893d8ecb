"""Progress of work that takes a while, in the editor's own bar."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Final

from lsprotocol import types as lsp

if TYPE_CHECKING:
    from xla_lens.lsp.server import XlaLensServer

_PATIENCE: Final = 0.2
"""Seconds: nothing is said of what does not take longer."""

_PERIOD: Final = 0.25


@asynccontextmanager
async def progress(
    server: "XlaLensServer",
    title: str,
    token: lsp.ProgressToken | None = None,
    told: Callable[[], tuple[str, int] | None] = lambda: None,
) -> AsyncIterator[None]:
    """Shows that something is under way: in the bar that the editor has offered with a token, or else in one that the
    server asks for. `told` gives how far it is, in words and in percent.
    """
    teller = asyncio.create_task(_tell(server, title, token, told))
    try:
        yield
    finally:
        teller.cancel()
        with suppress(asyncio.CancelledError):
            await teller


async def _tell(
    server: "XlaLensServer",
    title: str,
    token: lsp.ProgressToken | None,
    told: Callable[[], tuple[str, int] | None],
) -> None:
    await asyncio.sleep(_PATIENCE)
    if token is None:
        if not server.client.shows_progress:
            return
        token = f"xla-lens-{uuid.uuid4()}"
        if not await server.ask(lsp.WINDOW_WORK_DONE_PROGRESS_CREATE, lsp.WorkDoneProgressCreateParams(token)):
            return
    bar = server.work_done_progress
    first = told()
    # A bar without a percentage at first never shows one.
    bar.begin(token, lsp.WorkDoneProgressBegin(title, percentage=first[1] if first else None))
    try:
        while True:
            await asyncio.sleep(_PERIOD)
            if now := told():
                bar.report(token, lsp.WorkDoneProgressReport(message=now[0], percentage=now[1]))
    finally:
        bar.end(token, lsp.WorkDoneProgressEnd())
        bar.tokens.pop(token, None)
