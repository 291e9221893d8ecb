"""The editor: what it supports, and everything the server sends to it."""

import asyncio
import logging
import re
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, TypeAlias

from lsprotocol import types as lsp
from pygls.capabilities import ServerCapabilitiesBuilder, get_capability
from pygls.lsp.server import LanguageServer

from xla_lens.lsp.capabilities import DID_LOAD, REFRESHES
from xla_lens.lsp.tasks import BackgroundTasks
from xla_lens.text.encoding import Encoding

logger = logging.getLogger(__name__)

# ---------------------------------------------------------------- what it supports

_REFRESH_SUPPORT: Final = {
    lsp.WORKSPACE_DIAGNOSTIC_REFRESH: "workspace.diagnostics.refresh_support",
    lsp.WORKSPACE_INLAY_HINT_REFRESH: "workspace.inlay_hint.refresh_support",
    lsp.WORKSPACE_CODE_LENS_REFRESH: "workspace.code_lens.refresh_support",
    lsp.WORKSPACE_SEMANTIC_TOKENS_REFRESH: "workspace.semantic_tokens.refresh_support",
    lsp.WORKSPACE_FOLDING_RANGE_REFRESH: "workspace.folding_range.refresh_support",
}

_SOURCE_METHODS: Final[Mapping[str, Mapping[str, Any]]] = {
    lsp.TEXT_DOCUMENT_DID_OPEN: {},
    lsp.TEXT_DOCUMENT_DID_CHANGE: {"syncKind": lsp.TextDocumentSyncKind.Incremental.value},
    lsp.TEXT_DOCUMENT_DID_SAVE: {"includeText": False},
    lsp.TEXT_DOCUMENT_DID_CLOSE: {},
    lsp.TEXT_DOCUMENT_HOVER: {},
    lsp.TEXT_DOCUMENT_INLAY_HINT: {"resolveProvider": False},
}
"""What is registered for files of the program, with the options of each."""

_SOURCE_SUPPORT: Final = {
    **dict.fromkeys(_SOURCE_METHODS, "text_document.synchronization.dynamic_registration"),
    lsp.TEXT_DOCUMENT_HOVER: "text_document.hover.dynamic_registration",
    lsp.TEXT_DOCUMENT_INLAY_HINT: "text_document.inlay_hint.dynamic_registration",
}

_DRAWN: Final = frozenset({lsp.TEXT_DOCUMENT_HOVER, lsp.TEXT_DOCUMENT_INLAY_HINT})
"""What an editor that draws the memory of its lines by itself does not request."""


class ClientCapabilities:
    """What the editor supports."""

    def __init__(self, announced: lsp.ClientCapabilities) -> None:
        self.announced = announced
        self.encoding = Encoding(ServerCapabilitiesBuilder.choose_position_encoding(announced))
        self.refreshes = self._supported(_REFRESH_SUPPORT)
        """The refresh requests that the editor handles."""
        is_drawn = self.extra("sourceLines") is True
        self.source_methods = self._supported(_SOURCE_SUPPORT) - (_DRAWN if is_drawn else frozenset())
        """What can be registered for single files of the program."""

    def get(self, path: str) -> Any:
        """Return a capability of the protocol, such as `window.show_document.support`, None if it is missing."""
        return get_capability(self.announced, path)

    def extra(self, name: str) -> Any:
        """Return a capability that only XLA Lens knows, one in `experimental.xlaLens`, None if it is missing."""
        experimental = self.announced.experimental
        own = experimental.get("xlaLens") if isinstance(experimental, Mapping) else None
        return own.get(name) if isinstance(own, Mapping) else None

    @property
    def pulls_diagnostics(self) -> bool:
        """Whether the editor requests diagnostics so that the server need not publish any. An edit of one file can
        change the findings in another, so it also has to handle refresh requests.
        """
        return self.get("text_document.diagnostic") is not None and lsp.WORKSPACE_DIAGNOSTIC_REFRESH in self.refreshes

    @property
    def has_command_uris(self) -> bool:
        """Whether links in Markdown may be `command:` URIs."""
        return self.extra("commandUris") is True

    def _supported(self, paths: Mapping[str, str]) -> frozenset[str]:
        return frozenset(method for method, path in paths.items() if self.get(path))


# ---------------------------------------------------------------- what the server sends

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
        refreshes = {REFRESHES[method] for method in repeated & REFRESHES.keys()} & self.capabilities.refreshes
        for refresh in sorted(refreshes):
            self._tasks.start(self._try(self._server.protocol.send_request_async, refresh))

    def refresh_page(self, uri: str) -> None:
        """Make the editor read a page again."""
        if self.capabilities.get("workspace.text_document_content") is not None:
            params = lsp.TextDocumentContentRefreshParams(uri)
            self._tasks.start(self._try(self._server.workspace_text_document_content_refresh_async, params))

    async def show_document(self, uri: str, selection: lsp.Range | None = None) -> None:
        """Make the editor show a document."""
        if self.capabilities.get("window.show_document.support"):
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
                        f"xla-lens/{method}", method, {"documentSelector": selector, **_SOURCE_METHODS[method]}
                    )
                    for method in sorted(methods)
                ]
                await self._try(self._server.client_register_capability_async, lsp.RegistrationParams(added))

    def notify_did_load(self, uris: Collection[str], *, is_loaded: bool) -> None:
        """Report that the set of some files was loaded, or was closed."""
        if self.capabilities.extra("didLoad") is True:
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
        if not (self.capabilities.get("window.work_done_progress") and await self._try(progress.create_async, token)):
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
