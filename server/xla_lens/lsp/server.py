"""The language server: composes state, publisher and handlers, and dispatches messages to them.

Importing this module is part of the editor's wait for `initialize`, so it does not import the engine (model, features,
render). That is imported in a worker thread after `initialize`, or with the first message that needs it.
"""

import asyncio
import gc
import logging
import os
from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from xla_lens import __version__
from xla_lens.lsp.capabilities import ClientCapabilities, InitializeParams, read_params, server_capabilities
from xla_lens.lsp.errors import ResponseError
from xla_lens.lsp.methods import METHODS
from xla_lens.lsp.protocol import LanguageServerProtocol
from xla_lens.lsp.raw_json import Json
from xla_lens.lsp.settings import SECTION
from xla_lens.lsp.tasks import BackgroundTasks

if TYPE_CHECKING:
    from lsprotocol import types as lsp

    from xla_lens.lsp.client import Client
    from xla_lens.lsp.publisher import Publisher
    from xla_lens.lsp.state import State

logger = logging.getLogger(__name__)

_POLL_SECONDS: Final = 1.0
"""How often the disk is polled."""


class Server:
    """The language server, not yet connected to a client."""

    def __init__(self) -> None:
        notifications: dict[str, Callable[[Any], None]] = {
            "initialized": self._initialized,
            "textDocument/didOpen": self._did_open,
            "textDocument/didChange": self._did_change,
            "textDocument/didClose": self._did_close,
            "textDocument/didSave": self._did_save,
            "workspace/didChangeConfiguration": self._did_change_configuration,
            "workspace/didChangeWatchedFiles": self._did_change_watched_files,
            "workspace/didChangeWorkspaceFolders": self._did_change_workspace_folders,
        }
        methods = (*METHODS, "workspace/executeCommand")
        self.protocol = LanguageServerProtocol(self._initialize, methods, self._answer, notifications)
        self.tasks = BackgroundTasks()
        self._params = InitializeParams(ClientCapabilities(), None, (), None)
        self._folder_uris: list[str] = []

    @cached_property
    def client(self) -> "Client":
        """The editor."""
        from xla_lens.lsp.client import Client

        return Client(self.protocol, self._params.capabilities)

    @cached_property
    def publisher(self) -> "Publisher":
        """Sends what changes to the editor. The first access creates the state and imports the engine."""
        from xla_lens.lsp.publisher import Publisher
        from xla_lens.lsp.state import State

        state = State(self.client, self.tasks)
        publisher = Publisher(state)
        state.sets.events = publisher.events
        state.apply_settings(_section(self._params.options))
        state.set_folders(self._folder_uris)
        return publisher

    @property
    def state(self) -> "State":
        """All mutable state of the server."""
        return self.publisher.state

    def close(self) -> None:
        """Cancel everything in progress."""
        self.tasks.cancel()
        if self._has_state:
            self.state.close()

    @property
    def _has_state(self) -> bool:
        return "publisher" in vars(self)

    # ---------------------------------------------------------------- lifecycle

    def _initialize(self, params: Any) -> Json:
        self._params = read_params(params)
        self._folder_uris = [*self._params.folder_uris]
        self.tasks.start(self._poll(self._params.process_id))
        return {
            "capabilities": server_capabilities(self._params.capabilities),
            "serverInfo": {"name": "xla-lens", "version": __version__},
        }

    def _initialized(self, _params: "lsp.InitializedParams") -> None:
        self.tasks.start(self._start())

    async def _start(self) -> None:
        """Prepare for requests."""
        await asyncio.to_thread(_import_engine)
        await self._pull_settings()

    async def _poll(self, editor: int | None) -> None:
        """Poll the disk until the editor's process is gone, then exit."""
        editor = editor if editor and _is_alive(editor) else None
        while editor is None or _is_alive(editor):
            await asyncio.sleep(_POLL_SECONDS)
            if self._has_state:
                try:
                    await self.state.sets.poll()
                except Exception:
                    logger.exception("cannot poll the disk")
                self.tasks.start(self.publisher.update_workspace())
        self.protocol.on_exit()

    # ---------------------------------------------------------------- documents and files

    def _did_open(self, params: "lsp.DidOpenTextDocumentParams") -> None:
        self.state.did_open(params)

    def _did_change(self, params: "lsp.DidChangeTextDocumentParams") -> None:
        self.state.did_change(params)

    def _did_close(self, params: "lsp.DidCloseTextDocumentParams") -> None:
        self.state.did_close(params)

    def _did_save(self, params: "lsp.DidSaveTextDocumentParams") -> None:
        self.state.did_save(params)

    def _did_change_watched_files(self, _params: "lsp.DidChangeWatchedFilesParams") -> None:
        self.state.files_changed()

    # ---------------------------------------------------------------- settings and folders

    def _did_change_configuration(self, params: "lsp.DidChangeConfigurationParams") -> None:
        if self._params.capabilities.has_configuration:
            self.tasks.start(self._pull_settings())
        else:
            self._apply_settings(params.settings)

    async def _pull_settings(self) -> None:
        if self._params.capabilities.has_configuration:
            with suppress(Exception):
                settings = await self.client.configuration(SECTION)
                # Some editors answer null and send settings only with `initialize`.
                self._apply_settings(self._params.options if settings is None else settings)

    def _apply_settings(self, given: Any) -> None:
        before = self.state.settings
        self.state.apply_settings(_section(given))
        if self.state.settings != before:
            self.publisher.settings_changed(before)

    def _did_change_workspace_folders(self, params: "lsp.DidChangeWorkspaceFoldersParams") -> None:
        removed = {folder.uri for folder in params.event.removed}
        added = [folder.uri for folder in params.event.added]
        self._folder_uris = [*dict.fromkeys((*(uri for uri in self._folder_uris if uri not in removed), *added))]
        self.state.set_folders(self._folder_uris)

    # ---------------------------------------------------------------- requests

    async def _answer(self, method: str, params: Any) -> Any:
        """Answer a request. Unexpected exceptions are logged here, and nowhere else."""
        from xla_lens.lsp.requests import answer

        self.state.requested.add(method)
        token = getattr(params, "work_done_token", None)
        try:
            async with self.client.progress("XLA Lens", token) if token is not None else nullcontext():
                result = await answer(self.state, method, params)
        except (asyncio.CancelledError, ResponseError):
            raise
        except Exception:
            logger.exception("cannot answer %s", method)
            raise
        return self.client.split_result(getattr(params, "partial_result_token", None), result)


def _section(settings: Any) -> Any:
    """The section of XLA Lens, from settings that may contain it or may be it."""
    return settings[SECTION] if isinstance(settings, Mapping) and SECTION in settings else settings


def _import_engine() -> None:
    # Modules are never garbage: keep the collector from scanning them, now and later.
    gc.disable()
    import xla_lens.lsp.publisher
    import xla_lens.lsp.requests  # noqa: F401

    gc.freeze()
    gc.enable()


def _is_alive(process_id: int) -> bool:
    if os.name != "posix":
        # On Windows `os.kill` would end the process.
        return True
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True
