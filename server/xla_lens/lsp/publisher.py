"""What the editor gets without a request: diagnostics, refresh requests and `didLoad`.

The publisher is the state of the server, and reacts to the events of its dump sets.
"""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from lsprotocol import types as lsp

from xla_lens.lsp.client import Client
from xla_lens.lsp.convert import Converter
from xla_lens.lsp.documents import uri_in, uri_of
from xla_lens.lsp.dump_set_state import DumpSetState, Events
from xla_lens.lsp.index import FINDING_LIMIT, IndexedSet
from xla_lens.lsp.settings import Settings
from xla_lens.lsp.state import Shown, State
from xla_lens.lsp.tasks import BackgroundTasks
from xla_lens.model.analysis import Analysis
from xla_lens.model.checks.limits import over_limits
from xla_lens.model.checks.problems import Finding
from xla_lens.words.numbers import counted


class Publisher(State, Events):
    """The state of the server, which sends what changes to the editor."""

    def __init__(self, client: Client, tasks: BackgroundTasks) -> None:
        super().__init__(client, tasks)
        self.sets.events = self

    # ---------------------------------------------------------------- events of dump sets

    def loading(self, what: str, done: Callable[[], float]) -> AbstractAsyncContextManager[None]:
        """Show progress while a set or its HLO module is loaded."""
        return self.client.progress(f"Reading {what}", measure=lambda: (None, int(100 * done())))

    def loaded(self, dump_set: DumpSetState) -> None:
        """Publish what a load of a set or of its HLO module changes."""
        self._publish(dump_set.key)
        for uri in self.pages.stale:
            self.client.refresh_page(uri)
        load = (_uris(dump_set), dump_set.generation, dump_set.module)
        before = self.loads.get(dump_set.key)
        if before != load:
            self.loads[dump_set.key] = load
            self.client.notify_did_load(load[0], is_loaded=dump_set.has_files)
        # Requests wait for the first load.
        if before and (before[1] != load[1] or before[2] not in (None, load[2])):
            self.client.refresh()
        if dump_set.key in (self.comparisons.active or ()):
            self.tasks.start(self.update_comparison())
        self.tasks.start(self.update_source_files())

    async def update_comparison(self) -> None:
        """Compute the active comparison again if it is stale, and show the new lenses."""
        if self.comparisons.active:
            old, new = map(self.set_of_key, self.comparisons.active)
            if old and new:
                await self.comparisons.of(old, new)
        self.client.refresh(lsp.TEXT_DOCUMENT_CODE_LENS)

    async def update_source_files(self) -> None:
        """Make the editor report the files of the program that a set in memory names, and show their memory again."""
        await self.client.register_source_files(self._source_files)
        if self.settings.source_lines and self.source_documents:
            self.client.refresh(lsp.TEXT_DOCUMENT_INLAY_HINT)

    async def _source_files(self) -> frozenset[Path]:
        """Return the files of the program that the editor shall report."""
        if not self.settings.source_lines:
            return frozenset()
        named = await self.sources.named()
        return frozenset(path for file in named for path in file.files)

    def closed(self, dump_set: DumpSetState) -> None:
        """Withdraw the diagnostics of a set whose last document was closed."""
        self._publish(dump_set.key)

    def evicted(self, dump_set: DumpSetState) -> None:
        """Forget a set that is no longer in memory. Editors get no `didLoad`: one that requests a set again whenever it
        is evicted would make the server load sets in turns forever.
        """
        self.index.keep(dump_set)
        self.loads.pop(dump_set.key, None)
        self.pages.drop(dump_set)
        self.tasks.start(self.update_source_files())

    def files_deleted(self, paths: list[Path]) -> None:
        """Report that files of a set are gone."""
        names = ", ".join(path.name for path in paths)
        text = f"{names}: no longer on disk. XLA Lens continues with the rest of the dump."
        self.client.show_message(lsp.MessageType.Info, text)

    # ---------------------------------------------------------------- settings and the workspace

    def settings_changed(self, before: Settings) -> None:
        """Publish what new settings change."""
        opened = (dump_set.key for dump_set in self.sets.open)
        for key in dict.fromkeys((*self.published, *self.indexed, *opened)):
            self._publish(key)
        self.client.refresh()
        if before.device_memory != self.settings.device_memory:
            # The views and pages of the editor show the capacity that the user states.
            for uris, _, _ in self.loads.values():
                self.client.notify_did_load(uris, is_loaded=True)
            while self.pages.pages:
                self.client.refresh_page(self.pages.pages.popitem()[0])
        self.tasks.start(self.update_workspace())
        self.tasks.start(self.update_source_files())

    async def update_workspace(self) -> None:
        """Publish the diagnostics of sets without open documents if they have changed and the user wants them."""
        if self.is_updating or not (self.settings.checks_workspace or self.indexed):
            return
        self.is_updating = True
        try:
            await self.index.update(is_polling=True)
            sets = await self.index.sets()
            # The settings may have changed in the meantime.
            before, self.indexed = self.indexed, sets if self.settings.checks_workspace else {}
            for key in before.keys() | self.indexed.keys():
                if before.get(key) is not self.indexed.get(key):
                    self._publish(key)
        finally:
            self.is_updating = False

    # ---------------------------------------------------------------- diagnostics

    def _publish(self, key: Path) -> None:
        """Publish the diagnostics of a set that have changed, and withdraw those of files that have none any more."""
        opened = next((dump_set for dump_set in self.sets.open if dump_set.key == key), None)
        found = self._of_open(opened) if opened else self._of_indexed(self.indexed.get(key))
        versions = {document.uri: document.version for document in opened.open.values()} if opened else {}
        wanted = {uri: (diagnostics, versions.get(uri)) for uri, diagnostics in found.items() if diagnostics}
        before = self.published.pop(key, {})
        # An empty list withdraws what was published or pulled before.
        shown: Shown = {uri: ([], versions.get(uri)) for uri in before.keys() - wanted.keys()} | wanted
        if self.client.capabilities.pulls_diagnostics:
            self.published[key] = shown
            if shown != before:
                self.client.refresh(lsp.TEXT_DOCUMENT_DIAGNOSTIC)
            return
        for uri, (diagnostics, version) in shown.items():
            if before.get(uri) != (diagnostics, version):
                self.client.publish_diagnostics(uri, diagnostics, version)
        if wanted:
            self.published[key] = wanted

    def _of_open(self, dump_set: DumpSetState) -> dict[str, list[lsp.Diagnostic]]:
        """The diagnostics of a set with open documents, by URI."""
        if dump_set.analysis is None or dump_set.is_being_written:
            return {}
        if dump_set.why_empty:
            line = lsp.Range(lsp.Position(0, 0), lsp.Position(1, 0))
            why = lsp.Diagnostic(line, dump_set.why_empty, lsp.DiagnosticSeverity.Information, source="xla-lens")
            return {document.uri: [why] for document in dump_set.open.values()}
        convert = Converter(dump_set.open, self.client.capabilities.encoding)
        findings: dict[str, list[Finding]] = {}
        for finding in findings_of(dump_set.analysis, self.settings):
            findings.setdefault(convert.uri(finding.place.file), []).append(finding)
        for uri, found in findings.items():
            self._report_omitted(uri, len(found) - FINDING_LIMIT)
        return {uri: [*map(convert.diagnostic, found[:FINDING_LIMIT])] for uri, found in findings.items()}

    def _of_indexed(self, indexed: IndexedSet | None) -> dict[str, list[lsp.Diagnostic]]:
        """The diagnostics of a set without open documents, by URI. Findings that depend on the user's memory limits are
        not among them, because they require the whole set.
        """
        found, ignored = {}, self.settings.ignored_codes
        for label, findings in indexed.findings.items() if indexed else ():
            uri = uri_of(Path(label))
            found[uri] = [diagnostic for diagnostic in findings.shown if diagnostic.code not in ignored]
            self._report_omitted(uri, findings.count - len(findings.shown))
        return found

    def _report_omitted(self, uri: str, count: int) -> None:
        if count > 0:
            text = f"{counted(count, 'finding')} left out"
            self.report_truncated(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS, uri, text)


def findings_of(analysis: Analysis, settings: Settings) -> list[Finding]:
    """Return the findings of a set that the user wants to see."""
    limits = over_limits(analysis.dump, analysis.memory, settings.max_memory, settings.max_peak, analysis.module)
    return [finding for finding in (*analysis.findings, *limits) if finding.code not in settings.ignored_codes]


def _uris(dump_set: DumpSetState) -> frozenset[str]:
    """The URIs of the files of a set that are known so far."""
    members = dump_set.analysis.dump.files if dump_set.analysis else ()
    paths = {Path(file.label) for file in (*members, *([dump_set.module.file] if dump_set.module else ()))}
    return frozenset(uri_in(path, dump_set.open) for path in paths | dump_set.open.keys())
