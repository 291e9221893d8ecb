"""What an editor is told without asking: diagnostics, files that have gone, and what it should ask for again."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from lsprotocol import types as lsp

from xla_lens.lsp.methods import DID_LOAD, REFRESHES
from xla_lens.lsp.settings import Settings

if TYPE_CHECKING:
    from xla_lens.lsp.index import IndexedSet
    from xla_lens.lsp.server import XlaLensServer
    from xla_lens.lsp.session import DumpSetState
    from xla_lens.model.hlo.module import HloModule

_FOLLOWS: Final[Mapping[str, str]] = {
    "inlay_hints": lsp.TEXT_DOCUMENT_INLAY_HINT,
    "code_lenses": lsp.TEXT_DOCUMENT_CODE_LENS,
    "ignored_codes": lsp.TEXT_DOCUMENT_DIAGNOSTIC,
    "max_peak": lsp.TEXT_DOCUMENT_DIAGNOSTIC,
    "max_reserved": lsp.TEXT_DOCUMENT_DIAGNOSTIC,
    "checks_workspace": lsp.WORKSPACE_DIAGNOSTIC,
}
"""The requests that are answered otherwise when a setting changes."""


class News:
    """Tells one editor."""

    def __init__(self, server: "XlaLensServer") -> None:
        self._server = server
        self._published: dict[Path, set[str]] = {}
        self._indexed: dict[Path, tuple[IndexedSet, Settings]] = {}
        self._is_looking = False
        self._told_loads: dict[Path, tuple[frozenset[str], int, HloModule | None]] = {}

    def set_loaded(self, state: "DumpSetState") -> None:
        """A set was loaded, or something of it was opened that had been loaded before."""
        self._publish_open(state)
        for uri, (key, generation) in self._server.shown.items():
            if key == state.key and generation != state.generation:
                self._server.start(self._refresh_page(uri))
        self._refresh(state.outdated())
        self._tell_load(state)

    def module_loaded(self, state: "DumpSetState") -> None:
        """The HLO module of a set was loaded."""
        self._refresh(state.outdated())
        self._tell_load(state)

    def set_closed(self, state: "DumpSetState") -> None:
        """The editor has closed all documents of a set."""
        self._publish_open(state)
        self._refresh(state.outdated())
        if state.key in self._told_loads:
            self._tell(self._told_loads[state.key][0], is_loaded=False)
        self.set_let_go(state)

    def set_let_go(self, state: "DumpSetState") -> None:
        """A set is not kept any longer, nor what holds it."""
        self._told_loads.pop(state.key, None)
        pages = self._server.pages
        self._server.pages = {uri: page for uri, page in pages.items() if page.state is not state}

    def files_vanished(self, _state: "DumpSetState", paths: list[Path]) -> None:
        """Files of a set are gone."""
        names = ", ".join(path.name for path in paths)
        text = f"{names}: no longer on disk. XLA Lens goes on with what is left of the dump."
        self._server.window_show_message(lsp.ShowMessageParams(lsp.MessageType.Info, text))

    def settings_changed(self, before: Settings) -> None:
        """The user has other settings."""
        for state in self._server.session.sets if self._server.is_used else ():
            self._publish_open(state)
        changed = (name for name in _FOLLOWS if getattr(before, name) != getattr(self._server.settings, name))
        self._refresh(self._server.asked & {_FOLLOWS[name] for name in changed})
        self._server.start(self.look())

    async def look(self) -> None:
        """Looks whether the diagnostics of sets that are not open have changed, if the user wants them."""
        if self._is_looking or not (self._server.settings.checks_workspace or self._indexed):
            return
        self._is_looking = True
        try:
            await self._look()
        finally:
            self._is_looking = False

    async def _look(self) -> None:
        server = self._server
        if not server.client.pulls_diagnostics:
            await self._publish_closed()
        elif lsp.WORKSPACE_DIAGNOSTIC in server.asked:
            await server.index.read()
            if server.index.is_answer_outdated():
                self._refresh({lsp.WORKSPACE_DIAGNOSTIC})

    # ---------------------------------------------------------------- diagnostics

    def _publish_open(self, state: "DumpSetState") -> None:
        from xla_lens.lsp.diagnostics import diagnostics_of

        if not self._server.client.pulls_diagnostics:
            self._indexed.pop(state.key, None)
            versions = {opened.uri: opened.version for opened in state.open.values()}
            self._publish(state.key, diagnostics_of(self._server, state), versions)

    async def _publish_closed(self) -> None:
        """Publishes the diagnostics of the sets of the workspace that are not open, as far as they are new."""
        server = self._server
        await server.index.read()
        sets = await server.index.sets()
        # Meanwhile much may have happened.
        is_open = {state.key for state in server.session.sets}
        wanted = {key: indexed for key, indexed in sets.items() if key not in is_open}
        if not server.settings.checks_workspace:
            wanted = {}
        for key in self._indexed.keys() - wanted.keys():
            del self._indexed[key]
            self._publish(key, {}, {})
        for key, indexed in wanted.items():
            told = indexed, server.settings
            if self._indexed.get(key) != told:
                self._indexed[key] = told
                found = server.index.diagnostics(indexed)
                self._publish(key, {uri: diagnostics for uri, diagnostics in found.items() if diagnostics}, {})

    def _publish(self, key: Path, found: Mapping[str, list[lsp.Diagnostic]], versions: Mapping[str, int]) -> None:
        """Publishes all diagnostics of a set, and that there are none any more of its other files."""
        gone = self._published.pop(key, set()) - found.keys()
        if found:
            self._published[key] = set(found)
        for uri, diagnostics in (*((uri, []) for uri in sorted(gone)), *found.items()):
            params = lsp.PublishDiagnosticsParams(uri, diagnostics, versions.get(uri))
            self._server.text_document_publish_diagnostics(params)

    # ---------------------------------------------------------------- loads

    def _tell_load(self, state: "DumpSetState") -> None:
        """Tells that there is something new of a set."""
        told = _uris(state), state.generation, state.module
        if self._told_loads.get(state.key) != told:
            self._told_loads[state.key] = told
            self._tell(told[0], is_loaded=state.analysis is not None and len(state.analysis.dump.files) > 0)

    def _tell(self, uris: frozenset[str], *, is_loaded: bool) -> None:
        if self._server.client.hears_of_loads:
            self._server.protocol.notify(DID_LOAD, {"uris": sorted(uris), "loaded": is_loaded})

    # ---------------------------------------------------------------- what is outdated

    def _refresh(self, outdated: Iterable[str]) -> None:
        """Has the editor make some requests again, as far as it can be told to."""
        wanted = {REFRESHES[method] for method in outdated if method in REFRESHES}
        for refresh in sorted(wanted & self._server.client.refreshes):
            self._server.start(self._ask(refresh, None))

    async def _refresh_page(self, uri: str) -> None:
        if self._server.client.reads_content:
            await self._ask(lsp.WORKSPACE_TEXT_DOCUMENT_CONTENT_REFRESH, lsp.TextDocumentContentRefreshParams(uri))

    async def _ask(self, method: str, params: lsp.TextDocumentContentRefreshParams | None) -> None:
        await self._server.ask(method, params)


def _uris(state: "DumpSetState") -> frozenset[str]:
    """The addresses of the files of a set, as far as they are known."""
    from xla_lens.lsp.sync import uri_of

    files = [
        *(state.analysis.dump.files if state.analysis else ()),
        *([state.module.file] if state.module else ()),
    ]
    closed = {Path(file.label) for file in files} - state.open.keys()
    return frozenset((*map(uri_of, closed), *(opened.uri for opened in state.open.values())))
