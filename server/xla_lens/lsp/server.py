"""The language server: how a request finds its answer, and what is told without a request.

This much is imported before the editor hears of the server. The engine, which takes longer to import, comes after the
first answer.
"""

import asyncio
import gc
import logging
import os
from collections.abc import AsyncIterator, Coroutine, Mapping
from contextlib import asynccontextmanager, nullcontext, suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer

from xla_lens import __version__
from xla_lens.lsp.client import Client, client_of
from xla_lens.lsp.methods import ASKED_BY_THE_USER, NEEDS_MODULE, PAGE_SCHEME, Command
from xla_lens.lsp.news import News
from xla_lens.lsp.plain import Plain
from xla_lens.lsp.progress import progress
from xla_lens.lsp.protocol import Protocol
from xla_lens.lsp.settings import SECTION, Settings, read_settings
from xla_lens.lsp.strict import strict_converter
from xla_lens.lsp.threads import in_thread

if TYPE_CHECKING:
    from xla_lens.lsp.index import WorkspaceIndex
    from xla_lens.lsp.requests.content import ShownPage
    from xla_lens.lsp.requests.context import Context
    from xla_lens.lsp.session import DumpSetState, Session

logger = logging.getLogger(__name__)

_LOOK_SECONDS: Final = 1.0
"""How often the disk is looked at."""

_PART: Final = 1_000
"""Entries of a partial result."""


class XlaLensServer(LanguageServer):
    """The server: its session, what the client can do, and the settings of the user."""

    protocol: Protocol

    def __init__(self) -> None:
        super().__init__("xla-lens", __version__, protocol_cls=Protocol, converter_factory=strict_converter)
        self.client = Client()
        self.settings = Settings()
        self.news = News(self)
        self.asked: set[str] = set()
        self.asked_for: set[Path] = set()
        self._first_settings: Any = None
        self._wrong_settings: list[str] = []
        self._has_folders = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._told: set[tuple[str, str]] = set()
        self.pages: dict[str, ShownPage] = {}
        self.shown: dict[str, tuple[Path, int]] = {}

    @cached_property
    def session(self) -> "Session":
        """The open documents and their sets."""
        from xla_lens.lsp.events import Events
        from xla_lens.lsp.session import Session

        news = self.news
        events = Events(
            loaded=news.set_loaded,
            vanished=news.files_vanished,
            loading=self._loading,
            module_loaded=news.module_loaded,
            closed=news.set_closed,
            let_go=news.set_let_go,
        )
        return Session(events)

    # ---------------------------------------------------------------- the life of the server

    def initialize(self, params: lsp.InitializeParams, capabilities: lsp.ServerCapabilities) -> None:
        """The client has said what it can, and is about to be told what the server can."""
        self.client = client_of(params.capabilities)
        self._has_folders = params.workspace_folders is not None
        self._first_settings = params.initialization_options
        self._take_settings(self._first_settings)
        capabilities.execute_command_provider = lsp.ExecuteCommandOptions([*Command], work_done_progress=True)
        if capabilities.workspace:
            # pygls does not know of it yet.
            capabilities.workspace.text_document_content = lsp.TextDocumentContentOptions([PAGE_SCHEME])
        if self.client.knows_pulled_diagnostics and not self.client.pulls_diagnostics:
            # It would show all diagnostics twice.
            capabilities.diagnostic_provider = None
        self.start(self._look())

    def initialized(self) -> None:
        """The client is ready to be asked."""
        self.start(asyncio.to_thread(_import_engine))
        self.start(self.pull_settings())

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Starts something that nobody waits for."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()):
            logger.error("cannot go on with what nobody waits for", exc_info=error)

    def close(self) -> None:
        """Gives up all that is under way."""
        for task in self._tasks:
            task.cancel()
        if self.is_used:
            self.session.close_all()
        if "index" in vars(self):
            self.index.close()

    @cached_property
    def index(self) -> "WorkspaceIndex":
        """The dump sets of the workspace."""
        from xla_lens.lsp.index import WorkspaceIndex

        return WorkspaceIndex(self)

    @property
    def is_used(self) -> bool:
        """Whether the editor has opened anything yet."""
        return "session" in vars(self)

    def files_changed(self) -> None:
        """The client has seen that files have changed on disk."""
        if "index" in vars(self):
            self.index.forget()
        if self.is_used:
            self.start(self.session.look())

    async def _look(self) -> None:
        editor = self.process_id if self.process_id and _is_alive(self.process_id) else None
        while editor is None or _is_alive(editor):
            await asyncio.sleep(_LOOK_SECONDS)
            if self.is_used:
                try:
                    await self.session.look()
                except Exception:
                    logger.exception("cannot look at the disk")
            self.start(self.news.look())
        # It can never say `exit` again.
        self.protocol.on_exit()

    # ---------------------------------------------------------------- settings

    async def pull_settings(self) -> None:
        """Asks the client for the settings of the user."""
        if self.client.has_settings:
            wanted = lsp.ConfigurationParams([lsp.ConfigurationItem(section=SECTION)])
            with suppress(Exception):
                (given,) = await self.workspace_configuration_async(wanted)
                # Some editors know of no settings but those that they have started the server with.
                self.take_settings(self._first_settings if given is None else given)

    def take_settings(self, given: Any) -> None:
        """Follows settings from now on."""
        before = self.settings
        self._take_settings(given)
        if self.settings != before:
            self.news.settings_changed(before)

    def _take_settings(self, given: Any) -> None:
        if isinstance(given, Mapping) and SECTION in given:
            given = given[SECTION]
        before = self._wrong_settings
        self.settings, self._wrong_settings = read_settings(given)
        for line in self._wrong_settings:
            # What is as wrong as before has been told.
            if line not in before:
                self.window_show_message(lsp.ShowMessageParams(lsp.MessageType.Warning, line))

    # ---------------------------------------------------------------- requests

    async def answer(self, method: str, params: Any) -> Any:
        """The answer to a request. What goes wrong is logged here, and nowhere else."""
        token = getattr(params, "work_done_token", None)
        self.asked.add(method)
        try:
            async with progress(self, "XLA Lens", token) if token is not None else nullcontext():
                result = await self._answer(method, params)
        except (asyncio.CancelledError, JsonRpcException):
            raise
        except Exception:
            logger.exception("cannot answer %s", method)
            raise
        return self._in_parts(getattr(params, "partial_result_token", None), result)

    async def _answer(self, method: str, params: Any) -> Any:
        from xla_lens.lsp.requests import HANDLERS, Slow, Wide, handler_for
        from xla_lens.lsp.requests.content import answer_in_page

        handler, uri = HANDLERS[method], _uri(params)
        if isinstance(handler, Wide):
            return await handler.answer(self, params)
        if uri.startswith(f"{PAGE_SCHEME}:"):
            result = await answer_in_page(self, method, uri, params)
        elif (context := await self.context(method, uri)) is None:
            result = None
        elif isinstance(handler := handler_for(context, method), Slow):
            result = await in_thread(handler.answer, context, params)
        else:
            result = handler.answer(context, params)
        # What cannot be resolved any more is as it was.
        return params if result is None and method.endswith("/resolve") else result

    async def context(self, method: str, uri: str) -> "Context | None":
        """What a request is answered from, None for a document that is not open or holds nothing of a dump."""
        from xla_lens.lsp.requests.context import context_of

        found = self.session.find(uri)
        if found is None:
            return None
        state, path = found
        analysis = await state.analysis_for(path)
        is_of_module = state.module is not None and state.module.file.label == str(path)
        if analysis is None or is_of_module or method in NEEDS_MODULE:
            module = await state.module_for(path)
            if analysis is None and (module is None or module.file.label != str(path)):
                return None
        state.note_answer(method, path)
        loop = asyncio.get_running_loop()

        def told_cut(what: str) -> None:
            loop.call_soon_threadsafe(self.tell_cut, method, uri, what)

        return context_of(state, path, self.client, self.settings, told_cut)

    def _in_parts(self, token: lsp.ProgressToken | None, result: Any) -> Any:
        """A long list in parts, if the client takes them."""
        parts = result.json if isinstance(result, Plain) else result
        if token is None or not isinstance(parts, list) or len(parts) <= _PART:
            return result
        for first in range(0, len(parts), _PART):
            self.send_part(token, parts[first : first + _PART])
        return []

    def send_part(self, token: lsp.ProgressToken, part: Any) -> None:
        """Sends a part of a result before the rest of it."""
        self.protocol.notify(lsp.PROGRESS, lsp.ProgressParams(token, self.protocol.plain(part)))

    def tell_cut(self, method: str, uri: str, what: str) -> None:
        """Tells the user that an answer does not have all that there is; only once what is asked for all the time."""
        if method in ASKED_BY_THE_USER:
            self.window_show_message(lsp.ShowMessageParams(lsp.MessageType.Info, what))
        elif (method, uri) not in self._told:
            self._told.add((method, uri))
            where = f"{method}, {uri}" if uri else method
            self.window_log_message(lsp.LogMessageParams(lsp.MessageType.Info, f"{where}: {what}"))

    @property
    def folders(self) -> list[Path]:
        """The folders of the workspace."""
        from xla_lens.lsp.sync import path_of

        uris = [folder.uri for folder in self.workspace.folders.values()]
        if not self._has_folders and not uris and self.workspace.root_uri:
            uris = [self.workspace.root_uri]
        return [path_of(uri) for uri in uris if uri.startswith("file:")]

    async def show(self, uri: str, selection: lsp.Range | None = None) -> None:
        """Has the editor show a document, if it can."""
        if self.client.shows_documents:
            await self.ask(lsp.WINDOW_SHOW_DOCUMENT, lsp.ShowDocumentParams(uri, take_focus=True, selection=selection))

    async def ask(self, method: str, params: Any) -> bool:
        """Asks the client for something; whether it has agreed."""
        try:
            await self.protocol.send_request_async(method, params)
        except Exception as error:
            logger.info("the client refuses %s: %s", method, error)
            return False
        return True

    def report_server_error(self, error: Exception, source: Any) -> None:
        """What goes wrong is logged where it is caught. The user is not to be disturbed."""

    @asynccontextmanager
    async def _loading(self, state: "DumpSetState") -> AsyncIterator[None]:
        async with progress(self, f"Reading {state.key.name}"):
            yield


def _import_engine() -> None:
    # What is imported stays. The garbage collector need not look at it, now or later.
    gc.disable()
    import xla_lens.lsp.requests
    import xla_lens.lsp.session  # noqa: F401

    gc.freeze()
    gc.enable()


def _is_alive(process_id: int) -> bool:
    if os.name != "posix":
        # There a signal that only asks would end the process.
        return True
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


def _uri(params: Any) -> str:
    """The document that a request is about. What was found before names it in its data."""
    document = getattr(params, "text_document", None)
    if document is not None:
        return str(document.uri)
    data = getattr(getattr(params, "item", params), "data", None)
    return str(data.get("uri", "")) if isinstance(data, Mapping) else ""
