"""The language server: a `LanguageServer` of pygls that answers the requests of `capabilities.py` with `handlers.py`.

Importing this module is part of the editor's wait for `initialize`, so it does not import the engine (model, features,
render), which takes 300 ms. The imports in functions below do that, in a worker thread after `initialize`, or with the
first message that needs it.
"""

import asyncio
import logging
import os
from collections.abc import Callable, Mapping
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final

from lsprotocol import types as lsp
from pygls.exceptions import FeatureRequestError, JsonRpcException, JsonRpcInternalError
from pygls.lsp.server import LanguageServer

from xla_lens import __version__
from xla_lens.lsp.capabilities import REQUESTS
from xla_lens.lsp.client import Client, ClientCapabilities
from xla_lens.lsp.converter import message_converter
from xla_lens.lsp.kept_code import save_code
from xla_lens.lsp.protocol import Protocol
from xla_lens.lsp.settings import SECTION
from xla_lens.lsp.tasks import BackgroundTasks

if TYPE_CHECKING:
    from xla_lens.lsp.publisher import Publisher

logger = logging.getLogger(__name__)

_POLL_SECONDS: Final = 1.0
"""How often the disk is polled."""


class Server(LanguageServer):
    """The language server. `exit_status` is the exit status of the process once the server has ended."""

    protocol: Protocol

    def __init__(self) -> None:
        self.exit_status = 1
        self.tasks = BackgroundTasks()
        self._options: Any = None
        self._root: str | None = None
        # pygls logs each error response with its traceback. The server itself logs only unexpected errors.
        logging.getLogger("pygls").setLevel(logging.CRITICAL)
        super().__init__("xla-lens", __version__, protocol_cls=Protocol, converter_factory=message_converter)
        for method, options in REQUESTS.items():
            self.feature(method, options)(partial(self._answer, method))
        notifications: dict[str, Callable[[Any], None]] = {
            lsp.INITIALIZE: self._initialize,
            lsp.INITIALIZED: lambda _params: self.tasks.start(self._start()),
            lsp.EXIT: self._exit,
            # The first access to the state imports the engine.
            lsp.TEXT_DOCUMENT_DID_OPEN: lambda params: self.state.did_open(params.text_document),
            lsp.TEXT_DOCUMENT_DID_CHANGE: lambda params: self.state.did_change(
                params.text_document, params.content_changes
            ),
            lsp.TEXT_DOCUMENT_DID_CLOSE: lambda params: self.state.did_close(params.text_document.uri),
            # Saved dumps are found when the disk is polled.
            lsp.TEXT_DOCUMENT_DID_SAVE: lambda params: self.state.source_documents.did_save(params.text_document.uri),
            lsp.WORKSPACE_DID_CHANGE_CONFIGURATION: self._did_change_configuration,
            lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES: lambda _params: self.state.files_changed(),
            lsp.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS: lambda _params: self.state.set_folders(self._folder_uris),
        }
        for method, handle in notifications.items():
            # pygls sets attributes, which methods do not have.
            self.feature(method)(partial(handle))

    @cached_property
    def capabilities(self) -> ClientCapabilities:
        """What the editor supports."""
        return ClientCapabilities(self.client_capabilities)

    @cached_property
    def client(self) -> Client:
        """The editor."""
        return Client(self, self.capabilities, self.tasks)

    @cached_property
    def state(self) -> "Publisher":
        """All mutable state of the server. The first access imports the engine."""
        from xla_lens.lsp.publisher import Publisher

        state = Publisher(self.client, self.tasks)
        state.apply_settings(_section(self._options))
        state.set_folders(self._folder_uris)
        return state

    def close(self) -> None:
        """Cancel everything in progress."""
        self.tasks.cancel()
        if self._has_state:
            self.state.close()

    @property
    def _has_state(self) -> bool:
        return "state" in vars(self)

    # ---------------------------------------------------------------- lifecycle

    def _initialize(self, params: lsp.InitializeParams) -> None:
        self._options = params.initialization_options
        # Older editors send the root only.
        self._root = None if params.workspace_folders is not None else self.workspace.root_uri
        asyncio.get_running_loop().set_exception_handler(_log_unless_gone)
        self.tasks.start(self._poll(params.process_id))

    async def _start(self) -> None:
        """Prepare for requests."""
        await asyncio.to_thread(_import_engine)
        save_code()
        if self.capabilities.get("workspace.configuration"):
            self.client.configuration(SECTION, self._apply_settings)

    async def _poll(self, editor: int | None) -> None:
        """Poll the disk until the editor's process is gone, then exit."""
        editor = editor if editor and _is_alive(editor) else None
        try:
            while editor is None or _is_alive(editor):
                await asyncio.sleep(_POLL_SECONDS)
                if self._has_state:
                    try:
                        await self.state.sets.poll()
                    except Exception:
                        logger.exception("cannot poll the disk")
                    self.tasks.start(self.state.update_workspace())
        finally:
            # At the end of the input, pygls waits for the threads that load.
            self.close()
        # Another process may keep the input open, and nothing can wake the thread that reads it.
        os._exit(1)

    def _exit(self, _params: None) -> None:
        """End the server. Without a `shutdown` request before it, that is an error."""
        self.exit_status = 0 if self.protocol.is_shut_down else 1
        self.close()

    def report_server_error(self, error: Exception, source: type[Exception]) -> None:
        """Log an error that no response reports, unless it is that the editor is gone."""
        if isinstance(error, OSError) or self.protocol.is_shut_down:
            return
        if isinstance(error, JsonRpcInternalError):
            logger.error("%s\n%s", error, "".join((error.data or {}).get("traceback", ())))
        elif source is not FeatureRequestError:
            logger.warning("ignored: %s: %s", type(error).__name__, error)

    # ---------------------------------------------------------------- settings and folders

    def _did_change_configuration(self, params: lsp.DidChangeConfigurationParams) -> None:
        if self.capabilities.get("workspace.configuration"):
            self.client.configuration(SECTION, self._apply_settings)
        else:
            self._apply_settings(params.settings)

    def _apply_settings(self, given: Any) -> None:
        # Some editors answer null and send settings only with `initialize`.
        before, given = self.state.settings, self._options if given is None else given
        self.state.apply_settings(_section(given))
        if self.state.settings != before:
            self.state.settings_changed(before)

    @property
    def _folder_uris(self) -> list[str]:
        """The URIs of the workspace folders."""
        folders = (folder.uri for folder in self.workspace.folders.values())
        return [*([self._root] if self._root else []), *folders]

    # ---------------------------------------------------------------- requests

    async def _answer(self, method: str, params: Any) -> Any:
        """Answer a request. Unexpected exceptions are logged here, and nowhere else."""
        task = asyncio.current_task()
        assert task is not None
        self.protocol.running.add(task)
        try:
            from xla_lens.lsp.handlers import answer

            self.client.requested.add(method)
            return await answer(self.state, method, params)
        except (asyncio.CancelledError, JsonRpcException):
            raise
        except Exception:
            logger.exception("cannot answer %s", method)
            raise
        finally:
            self.protocol.running.discard(task)


def _section(settings: Any) -> Any:
    """The section of XLA Lens, from settings that may contain it or may be it."""
    return settings[SECTION] if isinstance(settings, Mapping) and SECTION in settings else settings


def _log_unless_gone(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log an error in a callback of the event loop, unless it is that the editor is gone."""
    if not isinstance(context.get("exception"), OSError):
        loop.default_exception_handler(context)


def _import_engine() -> None:
    import xla_lens.lsp.handlers
    import xla_lens.lsp.publisher  # noqa: F401


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
