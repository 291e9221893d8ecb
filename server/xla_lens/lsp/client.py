"""The editor: everything the server sends to it."""

import asyncio
import logging
import re
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from concurrent.futures import Future
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, TypeAlias

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer

from xla_lens.lsp.capabilities import SOURCE_METHODS, ClientCapabilities
from xla_lens.lsp.handlers import DID_LOAD, HANDLERS
from xla_lens.lsp.tasks import BackgroundTasks

logger = logging.getLogger(__name__)

_PROGRESS_DELAY: Final = 0.2
"""Seconds of work before its progress is shown."""

_PROGRESS_PERIOD: Final = 0.25
"""Seconds between two progress reports."""


Measure: TypeAlias = Callable[[], tuple[str | None, int]]
"""Returns a message and a percentage."""


def _glob(path: Path) -> str:
    """A pattern that matches a path. Patterns have no way to escape a character."""
    return re.sub(r"[*?{}\[\]]", "?", path.as_posix())


class Client:
    """The editor. Whatever it does not support is not sent."""

    def __init__(self, server: LanguageServer, capabilities: ClientCapabilities, tasks: BackgroundTasks) -> None:
        self.capabilities = capabilities
        self.requested: set[str] = set()
        """The methods of all requests so far."""
        self.source_files: frozenset[Path] = frozenset()
        """The files of the program that the editor was asked to report."""
        self._server, self._tasks = server, tasks
        self._registering = asyncio.Lock()

    async def _try(self, send: Callable[..., Awaitable[Any]], *arguments: Any) -> bool:
        """Wait for the answer to a request for an action. Return whether the editor accepts it."""
        try:
            # Shielded, because pygls fails if the answer to a cancelled request arrives.
            await asyncio.shield(send(*arguments))
        except Exception as error:
            logger.info("the editor rejects a request: %s", error)
            return False
        return True

    # ---------------------------------------------------------------- documents

    def publish_diagnostics(self, uri: str, diagnostics: Sequence[lsp.Diagnostic], version: int | None) -> None:
        """Publish all diagnostics of a document. `version` is None for a document that is not open."""
        params = lsp.PublishDiagnosticsParams(uri, diagnostics, version)
        self._server.text_document_publish_diagnostics(params)

    def refresh(self, *methods: str) -> None:
        """Make the editor send some requests again, or all, if it has sent them before."""
        repeated = self.requested.intersection(methods or self.requested)
        refreshes = {HANDLERS[method].refresh for method in repeated} & self.capabilities.refreshes
        for refresh in sorted(refreshes):
            self._tasks.start(self._try(self._server.protocol.send_request_async, refresh))

    def refresh_page(self, uri: str) -> None:
        """Make the editor read a page again."""
        if self.capabilities.has_text_document_content:
            params = lsp.TextDocumentContentRefreshParams(uri)
            self._tasks.start(self._try(self._server.workspace_text_document_content_refresh_async, params))

    async def show_document(self, uri: str, selection: lsp.Range | None = None) -> None:
        """Make the editor show a document."""
        if self.capabilities.has_show_document:
            params = lsp.ShowDocumentParams(uri, take_focus=True, selection=selection)
            await self._try(self._server.window_show_document_async, params)

    async def register_source_files(self, find: Callable[[], Awaitable[frozenset[Path]]]) -> None:
        """Make the editor report the files of the program that `find` finds, and request their hints and hovers,
        instead of those that it reported before. Other files of their language stay out of it. One call waits for the
        end of another before it searches, so that the last call decides.
        """
        methods = self.capabilities.source_methods
        if not methods:
            return
        async with self._registering:
            paths = await find()
            if paths == self.source_files:
                return
            before, self.source_files = self.source_files, paths
            if before:
                removed = [lsp.Unregistration(f"xla-lens/{method}", method) for method in sorted(methods)]
                params = lsp.UnregistrationParams(removed)
                await self._try(self._server.client_unregister_capability_async, params)
            if paths:
                selector = [{"scheme": "file", "pattern": _glob(path)} for path in sorted(paths)]
                added = [
                    lsp.Registration(
                        f"xla-lens/{method}", method, {"documentSelector": selector, **SOURCE_METHODS[method]}
                    )
                    for method in sorted(methods)
                ]
                await self._try(self._server.client_register_capability_async, lsp.RegistrationParams(added))

    def notify_did_load(self, uris: Collection[str], *, is_loaded: bool) -> None:
        """Report that the set of some files was loaded, or was closed."""
        if self.capabilities.has_did_load:
            self._server.protocol.notify(DID_LOAD, {"uris": sorted(uris), "loaded": is_loaded})

    # ---------------------------------------------------------------- messages and settings

    def show_message(self, kind: lsp.MessageType, text: str) -> None:
        """Show a message to the user."""
        self._server.window_show_message(lsp.ShowMessageParams(kind, text))

    def log_message(self, kind: lsp.MessageType, text: str) -> None:
        """Write a message to the editor's log."""
        self._server.window_log_message(lsp.LogMessageParams(kind, text))

    def configuration(self, section: str, receive: Callable[[Any], None]) -> None:
        """Request a section of the user's settings. `receive` is called with it before any later message is handled."""

        def answered(response: Future[Any]) -> None:
            if not response.cancelled() and response.exception() is None and response.result():
                receive(response.result()[0])

        params = lsp.ConfigurationParams([lsp.ConfigurationItem(section=section)])
        self._server.workspace_configuration(params).add_done_callback(answered)

    # ---------------------------------------------------------------- progress

    @asynccontextmanager
    async def progress(self, title: str, measure: Measure) -> AsyncIterator[None]:
        """Show progress while the body runs. `measure` returns a message and a percentage."""
        reporter = asyncio.create_task(self._report_progress(title, measure))
        try:
            yield
        finally:
            reporter.cancel()
            # Not awaited directly: who cancels the caller in this moment would not be heard.
            await asyncio.wait((reporter,))

    async def _report_progress(self, title: str, measure: Measure) -> None:
        await asyncio.sleep(_PROGRESS_DELAY)
        progress, token = self._server.work_done_progress, f"xla-lens-{uuid.uuid4()}"
        if not (self.capabilities.has_progress and await self._try(progress.create_async, token)):
            return
        progress.begin(token, lsp.WorkDoneProgressBegin(title, percentage=measure()[1]))
        try:
            while True:
                await asyncio.sleep(_PROGRESS_PERIOD)
                message, percentage = measure()
                progress.report(token, lsp.WorkDoneProgressReport(message=message, percentage=percentage))
        finally:
            progress.end(token, lsp.WorkDoneProgressEnd())
            # pygls keeps every token.
            progress.tokens.pop(token, None)
