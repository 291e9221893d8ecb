"""Make every request of an editor at every word of dump files: `python tests/every_request.py PATH... [--sample N]`.

Reports exceptions, answers that the protocol does not allow, and ranges that are not in their file.
"""

import argparse
import asyncio
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from lsprotocol import types as lsp

from xla_lens.features.tokens import tokens
from xla_lens.files import find_sets
from xla_lens.lsp.converter import strict_converter, to_json
from xla_lens.lsp.handlers import HANDLERS, Command, StateHandler
from xla_lens.lsp.pages import page_uri
from xla_lens.lsp.requests import answer as answer_request
from xla_lens.lsp.server import Server
from xla_lens.lsp.snapshot import HloSnapshot, Snapshot
from xla_lens.model.analysis import Analysis
from xla_lens.model.checks.codes import Code
from xla_lens.model.places.pages import HistoryPage, LiveSetPage, Page, ReportPage, SummaryPage
from xla_lens.text.document import Document, document_of_file
from xla_lens.text.positions import to_offset, to_position

_CAPABILITIES: Final = {
    "textDocument": {
        "codeAction": {"codeActionLiteralSupport": {"codeActionKind": {"valueSet": ["", "quickfix"]}}},
        "definition": {"linkSupport": True},
        "documentSymbol": {"hierarchicalDocumentSymbolSupport": True},
    },
}
_LINES: Final = 200
"""Number of lines that an editor requests at once."""

_WORD: Final = re.compile(rb"[^\s{}()\[\]\",=%]+")
"""A name, a number or a keyword in an HLO module."""

_QUERIES: Final = ("", "f", "peak:", "temp: >1KiB", "allocation 1", "module:jit")
_CHECKED_RANGES: Final = 100
"""Number of ranges checked in one answer."""

_DESCRIBED: Final = 20
"""Number of values, of allocations and of steps to describe."""

_CONVERTER: Final = strict_converter()
# lsprotocol reads every action with a `command` as a command.
_CONVERTER.register_structure_hook(
    lsp.Command | lsp.CodeAction,
    lambda value, _: _CONVERTER.structure(value, lsp.CodeAction if "kind" in value else lsp.Command),
)


@dataclass(slots=True)
class Outcome:
    """The requests about one file. `failures` are lines of text: position, request, and what is wrong."""

    path: Path
    words: int = 0
    requests: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)


def check_requests(path: Path, sample: int | None) -> Outcome:
    """Make all requests about a file, at each of its words or at a random sample of them. Raises `OSError`."""
    return asyncio.run(_Check(path).run(sample))


class _Check:
    """Makes the requests about one file."""

    def __init__(self, path: Path) -> None:
        self._outcome = Outcome(path)
        self._server = Server()
        self._uri = path.absolute().as_uri()
        self._documents: dict[str, Document] = {}

    async def run(self, sample: int | None) -> Outcome:
        path = self._outcome.path.absolute()
        snapshot = await self._open(path)
        if snapshot is None:
            # Not a dump: requests about it have no result.
            return self._outcome
        files = [*snapshot.analysis.dump.files, *([snapshot.module.file] if snapshot.module else [])]
        self._documents = {Path(file.label).as_uri(): file.document for file in files}
        await self._ask_about_file(snapshot)
        await self._ask_about_workspace(snapshot)
        file = snapshot.file
        size = len(file.document.data)
        starts = [token.start for token in tokens(snapshot.analysis, file, 0, size, size + 1)]
        if isinstance(snapshot, HloSnapshot):
            starts = [word.start() for word in _WORD.finditer(file.document.data)]
        if sample is not None and sample < len(starts):
            starts = sorted(random.Random(0).sample(starts, sample))
        for start in starts:
            await self._ask_at(
                snapshot, lsp.Position(*to_position(file.document, start, self._server.client.capabilities.encoding))
            )
        self._outcome.words = len(starts)
        return self._outcome

    async def _open(self, path: Path) -> Snapshot | None:
        params = {"processId": None, "rootUri": None, "capabilities": _CAPABILITIES}
        self._server.protocol.handle_message({"jsonrpc": "2.0", "id": 0, "method": lsp.INITIALIZE, "params": params})
        self._server.state.sets.open_document(self._uri, path, 1, document_of_file(path.read_bytes()))
        # This request waits for the HLO module.
        return await self._server.state.file_snapshot(lsp.TEXT_DOCUMENT_IMPLEMENTATION, self._uri)

    # ---------------------------------------------------------------- requests

    async def _ask_about_file(self, snapshot: Snapshot) -> None:
        document, last = lsp.TextDocumentIdentifier(self._uri), snapshot.file.document.line_count
        await self._ask(snapshot, lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL, lsp.DocumentSymbolParams(document))
        await self._ask(snapshot, lsp.TEXT_DOCUMENT_FOLDING_RANGE, lsp.FoldingRangeParams(document))
        for lens in await self._ask(snapshot, lsp.TEXT_DOCUMENT_CODE_LENS, lsp.CodeLensParams(document)) or []:
            await self._ask(snapshot, lsp.CODE_LENS_RESOLVE, lens)
        for link in await self._ask(snapshot, lsp.TEXT_DOCUMENT_DOCUMENT_LINK, lsp.DocumentLinkParams(document)) or []:
            await self._ask(snapshot, lsp.DOCUMENT_LINK_RESOLVE, link)
        for row in range(0, last, _LINES):
            lines = lsp.Range(lsp.Position(row, 0), lsp.Position(row + _LINES, 0))
            hints = lsp.InlayHintParams(document, lines)
            await self._ask(snapshot, lsp.TEXT_DOCUMENT_INLAY_HINT, hints)
            words = lsp.SemanticTokensRangeParams(document, lines)
            await self._ask(snapshot, lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_RANGE, words)

    async def _ask_about_workspace(self, snapshot: Snapshot) -> None:
        document = lsp.TextDocumentIdentifier(self._uri)
        await self._ask(snapshot, lsp.TEXT_DOCUMENT_DIAGNOSTIC, lsp.DocumentDiagnosticParams(document))
        await self._ask(snapshot, lsp.WORKSPACE_DIAGNOSTIC, lsp.WorkspaceDiagnosticParams([]))
        for query in _QUERIES:
            await self._ask(snapshot, lsp.WORKSPACE_SYMBOL, lsp.WorkspaceSymbolParams(query))
        found = self._server.state.sets.find(self._uri)
        key = found[0].key if found else self._outcome.path
        for page in _pages(snapshot):
            uri = page_uri(key, page)
            await self._ask(snapshot, lsp.WORKSPACE_TEXT_DOCUMENT_CONTENT, lsp.TextDocumentContentParams(uri))
            links = lsp.DocumentLinkParams(lsp.TextDocumentIdentifier(uri))
            answer = await answer_request(self._server.state, lsp.TEXT_DOCUMENT_DOCUMENT_LINK, links)
            self._checked(uri, lsp.TEXT_DOCUMENT_DOCUMENT_LINK, answer)
        for command, arguments in _commands(self._uri, snapshot.analysis):
            params_of_command = lsp.ExecuteCommandParams(command, arguments=[arguments])
            await self._ask(snapshot, lsp.WORKSPACE_EXECUTE_COMMAND, params_of_command)

    async def _ask_at(self, snapshot: Snapshot, position: lsp.Position) -> None:
        document, here = lsp.TextDocumentIdentifier(self._uri), lsp.Range(position, position)
        for method, params in (
            (lsp.TEXT_DOCUMENT_HOVER, lsp.HoverParams(document, position)),
            (lsp.TEXT_DOCUMENT_DEFINITION, lsp.DefinitionParams(document, position)),
            (lsp.TEXT_DOCUMENT_DECLARATION, lsp.DeclarationParams(document, position)),
            (lsp.TEXT_DOCUMENT_TYPE_DEFINITION, lsp.TypeDefinitionParams(document, position)),
            (lsp.TEXT_DOCUMENT_IMPLEMENTATION, lsp.ImplementationParams(document, position)),
            (lsp.TEXT_DOCUMENT_REFERENCES, lsp.ReferenceParams(lsp.ReferenceContext(True), document, position)),
            (lsp.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT, lsp.DocumentHighlightParams(document, position)),
            (lsp.TEXT_DOCUMENT_SELECTION_RANGE, lsp.SelectionRangeParams(document, [position])),
            (lsp.TEXT_DOCUMENT_CODE_ACTION, lsp.CodeActionParams(document, here, lsp.CodeActionContext([]))),
        ):
            await self._ask(snapshot, method, params)
        place = {"line": position.line, "character": position.character}
        what = lsp.ExecuteCommandParams(Command.WHAT_IS_AT, arguments=[{"uri": self._uri, "position": place}])
        await self._ask(snapshot, lsp.WORKSPACE_EXECUTE_COMMAND, what)
        prepare = lsp.CallHierarchyPrepareParams(document, position)
        for item in await self._ask(snapshot, lsp.TEXT_DOCUMENT_PREPARE_CALL_HIERARCHY, prepare) or []:
            incoming, outgoing = lsp.CallHierarchyIncomingCallsParams(item), lsp.CallHierarchyOutgoingCallsParams(item)
            await self._ask(snapshot, lsp.CALL_HIERARCHY_INCOMING_CALLS, incoming)
            await self._ask(snapshot, lsp.CALL_HIERARCHY_OUTGOING_CALLS, outgoing)

    async def _ask(self, snapshot: Snapshot, method: str, params: Any) -> Any:
        """Make a request and return its result. Return None and record a failure if it is wrong."""
        self._outcome.requests[method] += 1
        handler = HANDLERS[method]
        try:
            if isinstance(handler, StateHandler):
                result = await handler.function(self._server.state, params)
            else:
                function = handler.function_for(snapshot.kind)
                result = function(snapshot, params) if function else None
            return self._checked(self._uri, method, result)
        except Exception as error:
            self._outcome.failures.append(f"{_where(params)}{method}: {_reason(error)}")
            return None

    def _checked(self, uri: str, method: str, result: Any) -> Any:
        """Return a result as an object of lsprotocol. Raises if the protocol does not allow it or a range is not in its
        file.
        """
        answer = to_json(result)
        answer_type: Any = lsp.METHOD_TO_TYPES[method][1]
        response = _CONVERTER.structure({"jsonrpc": "2.0", "id": 0, "result": answer}, answer_type)
        for number, (where, place) in enumerate(_ranges(answer, uri)):
            if number < _CHECKED_RANGES and where in self._documents:
                self._check_range(self._documents[where], place)
        return response.result

    def _check_range(self, document: Document, place: Mapping[str, Any]) -> None:
        encoding = self._server.client.capabilities.encoding
        start, end = ((place[name]["line"], place[name]["character"]) for name in ("start", "end"))
        if start > end:
            raise ValueError(f"a range that ends before it starts: {start} to {end}")
        for row, column in (start, end):
            if to_position(document, to_offset(document, row, column, encoding), encoding) != (row, column):
                raise ValueError(f"a position that is not in its file: {row}:{column}")


def _pages(snapshot: Snapshot) -> Iterator[Page]:
    yield SummaryPage()
    yield ReportPage()
    for space in snapshot.analysis.memory.spaces:
        if space.peak_step is not None:
            yield LiveSetPage(space.peak_step)
    for index in snapshot.analysis.dump.allocations.index[:3].tolist():
        if index >= 0:
            yield HistoryPage(index)


def _commands(uri: str, analysis: Analysis) -> Iterator[tuple[str, dict[str, Any]]]:
    here, dump = {"uri": uri}, analysis.dump
    for form in ("markdown", "text", "json", "html"):
        yield Command.REPORT, {**here, "format": form}
    yield Command.CHECK, here
    yield Command.SHOW_SUMMARY, here
    yield Command.SHOW_REPORT, here
    yield Command.SHOW_ADVICE, here
    yield Command.SHOW_LIVE_SET, {**here, "step": 0}
    yield Command.SHOW_ALLOCATION_HISTORY, {**here, "allocation": 0}
    yield Command.SHOW_REFERENCES, {**here, "position": {"line": 1, "character": 0}}
    yield Command.EXPLAIN, {"code": Code.SYNTAX.value}
    yield Command.MEMORY_MAP, here
    yield Command.OVERVIEW, here
    yield Command.FIND_VALUES, {"query": "peak:"}
    yield Command.MODULES, {}
    for space in analysis.memory.spaces:
        if space.peak_step is not None:
            yield Command.PEAK, {**here, "color": space.color}
    yield Command.VALUES, {**here, "values": [*range(min(len(dump.values), _DESCRIBED))]}
    steps = sorted(set(dump.schedule.step[dump.schedule.step >= 0].tolist()))
    counts = {"value": range(len(dump.values)), "allocation": range(len(dump.allocations)), "step": steps}
    for what, numbers in counts.items():
        for number in numbers[:_DESCRIBED]:
            yield Command.DESCRIBE, {**here, what: number}


def _ranges(answer: Any, uri: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Return the ranges in an answer, each with the URI of its file."""
    if isinstance(answer, list):
        for one in answer:
            yield from _ranges(one, uri)
    elif isinstance(answer, Mapping):
        inside = answer.get("targetUri") or answer.get("uri") or uri
        for name, value in answer.items():
            if isinstance(value, Mapping) and {"start", "end"} <= value.keys():
                yield uri if name in ("originSelectionRange", "fromRanges") else str(inside), value
            else:
                yield from _ranges(value, str(inside))


def _where(params: Any) -> str:
    place = getattr(params, "range", params)
    position = getattr(place, "start", None) or getattr(place, "position", None)
    return f"{position.line + 1}:{position.character + 1}: " if position else ""


def _reason(error: BaseException) -> str:
    """Describe the first error in a tree of errors."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"


def main(arguments: list[str] | None = None) -> int:
    """Run the command line. Return the exit status: 1 if a request fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paths", metavar="PATH", nargs="+", type=Path, help="a dump file, or a folder of dumps")
    parser.add_argument("--sample", metavar="N", type=int, help="check N random words of each file only")
    options = parser.parse_args(arguments)
    has_failed = False
    for path in options.paths:
        files = [file for found in find_sets(path) for file in found.paths.values()] if path.is_dir() else [path]
        for file in files:
            outcome = check_requests(file, options.sample)
            for line in outcome.failures:
                print(f"{file}:{line}")
            made, failed = outcome.requests.total(), len(outcome.failures)
            print(f"{file}: {made:,} requests at {outcome.words:,} words, {failed:,} failed")
            has_failed = has_failed or bool(outcome.failures)
    return int(has_failed)


if __name__ == "__main__":
    sys.exit(main())
