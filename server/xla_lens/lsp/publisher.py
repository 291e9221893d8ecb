"""What the editor gets without a request: diagnostics, refresh requests, `didLoad`, and messages about deleted files.

The publisher reacts to the events of dump sets. It keeps no state of its own: what was published is part of `State`.
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Final

from lsprotocol import types as lsp

from xla_lens.lsp.dump_set_state import DumpSetState, Events
from xla_lens.lsp.requests.diagnostics import all_diagnostics
from xla_lens.lsp.settings import Settings
from xla_lens.lsp.state import State
from xla_lens.lsp.uris import uri_of

_AFFECTED_REQUESTS: Final[Mapping[str, str]] = {
    "inlay_hints": lsp.TEXT_DOCUMENT_INLAY_HINT,
    "source_lines": lsp.TEXT_DOCUMENT_INLAY_HINT,
    "code_lenses": lsp.TEXT_DOCUMENT_CODE_LENS,
    "ignored_codes": lsp.TEXT_DOCUMENT_DIAGNOSTIC,
    "device_memory": lsp.TEXT_DOCUMENT_CODE_LENS,
    "max_peak": lsp.TEXT_DOCUMENT_DIAGNOSTIC,
    "max_memory": lsp.TEXT_DOCUMENT_DIAGNOSTIC,
    "checks_workspace": lsp.WORKSPACE_DIAGNOSTIC,
}
"""The request whose answers change with a setting."""


class Publisher(Events):
    """Sends what changes to the editor."""

    def __init__(self, state: State) -> None:
        self.state = state
        self._client = state.client

    # ---------------------------------------------------------------- events of dump sets

    def loading(self, what: str, done: Callable[[], float]) -> AbstractAsyncContextManager[None]:
        """Show progress while a set or its HLO module is loaded."""
        return self._client.progress(f"Reading {what}", measure=lambda: (None, int(100 * done())))

    def loaded(self, dump_set: DumpSetState) -> None:
        """Publish what a load changes."""
        self._publish()
        for uri in self.state.pages.stale(dump_set):
            self.state.tasks.start(self._client.refresh_page(uri))
        self._refresh(dump_set.take_outdated())
        self._publish_load(dump_set)
        if dump_set.key in (self.state.comparisons.active or ()):
            self.state.tasks.start(self.update_comparison())
        self.state.tasks.start(self.update_source_files())

    async def update_comparison(self) -> None:
        """Compute the active comparison again if it is stale, and show the new lenses."""
        await self.state.compare_again()
        self._refresh({lsp.TEXT_DOCUMENT_CODE_LENS} & self.state.requested)

    def module_loaded(self, dump_set: DumpSetState) -> None:
        """Publish what the load of an HLO module changes."""
        self._refresh(dump_set.take_outdated())
        self._publish_load(dump_set)
        self.state.tasks.start(self.update_source_files())

    async def update_source_files(self) -> None:
        """Make the editor report the files of the program that a set in memory names, and show their memory again."""
        await self._client.register_source_files(self._source_files)
        if self.state.settings.source_lines and self.state.source_documents:
            self._refresh({lsp.TEXT_DOCUMENT_INLAY_HINT} & self.state.requested)

    async def _source_files(self) -> frozenset[Path]:
        """Return the files of the program that the editor shall report."""
        if not self.state.settings.source_lines:
            return frozenset()
        named = await self.state.sources.named()
        return frozenset(path for one in named for path in one.files)

    def closed(self, dump_set: DumpSetState) -> None:
        """Withdraw the diagnostics of a set whose last document was closed."""
        self._publish()
        self._refresh(dump_set.take_outdated() | (self.state.requested & {lsp.WORKSPACE_DIAGNOSTIC}))

    def evicted(self, dump_set: DumpSetState) -> None:
        """Forget a set that is no longer in memory. Editors get no `didLoad`: one that requests a set again whenever it
        is evicted would make the server load sets in turns forever.
        """
        self.state.index.keep(dump_set)
        self.state.published.loads.pop(dump_set.key, None)
        self.state.pages.drop(dump_set)
        self.state.tasks.start(self.update_source_files())

    def files_deleted(self, paths: list[Path]) -> None:
        """Report that files of a set are gone."""
        names = ", ".join(path.name for path in paths)
        text = f"{names}: no longer on disk. XLA Lens continues with the rest of the dump."
        self._client.show_message(lsp.MessageType.Info, text)

    # ---------------------------------------------------------------- settings and the workspace

    def settings_changed(self, before: Settings) -> None:
        """Publish what new settings change."""
        self._publish()
        changed = {name for name in _AFFECTED_REQUESTS if getattr(before, name) != getattr(self.state.settings, name)}
        self._refresh(self.state.requested & {_AFFECTED_REQUESTS[name] for name in changed})
        if before.device_memory != self.state.settings.device_memory:
            self._device_changed()
        self.state.tasks.start(self.update_workspace())
        self.state.tasks.start(self.update_source_files())

    def _device_changed(self) -> None:
        """Make the editor's views and pages show the capacity that the user now states."""
        for uris, _, _ in self.state.published.loads.values():
            self._client.notify_did_load(uris, is_loaded=True)
        for uri in list(self.state.pages.pages):
            self.state.pages.pages.pop(uri)
            self.state.tasks.start(self._client.refresh_page(uri))

    async def update_workspace(self) -> None:
        """Publish the diagnostics of sets without open documents if they have changed and the user wants them."""
        published = self.state.published
        if published.is_updating or not (self.state.settings.checks_workspace or published.indexed):
            return
        published.is_updating = True
        try:
            if not self._client.capabilities.pulls_diagnostics:
                await self.state.index.update(is_polling=True)
                sets = await self.state.index.sets()
                # The settings may have changed in the meantime.
                published.indexed = sets if self.state.settings.checks_workspace else {}
                self._publish()
            elif lsp.WORKSPACE_DIAGNOSTIC in self.state.requested:
                await self.state.index.update(is_polling=True)
                if self.state.index.take_is_outdated():
                    self._refresh({lsp.WORKSPACE_DIAGNOSTIC})
        finally:
            published.is_updating = False

    # ---------------------------------------------------------------- diagnostics

    def _publish(self) -> None:
        """Publish the diagnostics that have changed, and withdraw those of files that have none any more."""
        if self._client.capabilities.pulls_diagnostics:
            return
        published, versions = self.state.published, self.state.sets.versions
        found = all_diagnostics(self.state, self.state.sets.open, published.indexed)
        wanted = {uri: (diagnostics, versions.get(uri)) for uri, diagnostics in found.items() if diagnostics}
        for uri in sorted(published.diagnostics.keys() - wanted.keys()):
            self._client.publish_diagnostics(uri, [], versions.get(uri))
        for uri, (diagnostics, version) in wanted.items():
            if published.diagnostics.get(uri) != (diagnostics, version):
                self._client.publish_diagnostics(uri, diagnostics, version)
        published.diagnostics = wanted

    # ---------------------------------------------------------------- loads and refreshes

    def _publish_load(self, dump_set: DumpSetState) -> None:
        """Send `didLoad` if the set has changed since the last one."""
        load = _uris(dump_set), dump_set.generation, dump_set.module
        if self.state.published.loads.get(dump_set.key) != load:
            self.state.published.loads[dump_set.key] = load
            self._client.notify_did_load(load[0], is_loaded=dump_set.has_files)

    def _refresh(self, methods: Iterable[str]) -> None:
        self.state.tasks.start(self._client.refresh(set(methods)))


def _uris(dump_set: DumpSetState) -> frozenset[str]:
    """The URIs of the files of a set that are known so far."""
    members = [
        *(dump_set.analysis.dump.files if dump_set.analysis else ()),
        *([dump_set.module.file] if dump_set.module else ()),
    ]
    closed = {Path(member.label) for member in members} - dump_set.open.keys()
    opened = [uri for one in dump_set.open.values() for uri in (one.uri, one.request_uri)]
    return frozenset((*map(uri_of, closed), *opened))
