"""Every request at every word of a file, without an editor: `xla-lens check --all-features`.

What goes wrong is told: an exception, an answer that the protocol does not allow, or a range that is not in its file.
"""

import asyncio
import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from lsprotocol import types as lsp

from xla_lens.features.tokens import tokens
from xla_lens.lsp.methods import Command
from xla_lens.lsp.requests import HANDLERS, Wide, handler_for
from xla_lens.lsp.requests.content import page_uri
from xla_lens.lsp.requests.context import Context, ModuleContext
from xla_lens.lsp.serve import create_server
from xla_lens.lsp.strict import strict_converter
from xla_lens.model.checks.codes import Code
from xla_lens.model.places.pages import HistoryPage, LiveSetPage, Page, ReportPage, SummaryPage
from xla_lens.model.tables.dump_set import DumpSet
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
"""Lines that an editor shows at once."""

_WORD: Final = re.compile(rb"[^\s{}()\[\]\",=%]+")
"""In an HLO module: a name, a number, a word of the format."""

_QUERIES: Final = ("", "f", "peak:", "temp: >1KiB", "allocation 1", "module:jit")
_CHECKED_RANGES: Final = 100
"""Ranges of one answer that are looked at."""

_DESCRIBED: Final = 20
"""Values, allocations and steps that are described, of each so many."""

_CONVERTER: Final = strict_converter()
# lsprotocol takes whatever has a `command` for a command, and so each action that has one.
_CONVERTER.register_structure_hook(
    lsp.Command | lsp.CodeAction,
    lambda value, _: _CONVERTER.structure(value, lsp.CodeAction if "kind" in value else lsp.Command),
)


@dataclass(slots=True)
class Outcome:
    """What came of the requests about a file. `wrong` are lines of text: where, which request, and what."""

    path: Path
    words: int = 0
    requests: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


def check_requests(path: Path, sample: int | None) -> Outcome:
    """Makes all requests about a file, at each of its words, or at so many of them that are chosen at random.

    Raises `OSError` where the file cannot be read.
    """
    return asyncio.run(_Check(path).run(sample))


class _Check:
    """The requests about one file."""

    def __init__(self, path: Path) -> None:
        self._outcome = Outcome(path)
        self._server = create_server()
        self._uri = path.absolute().as_uri()
        self._documents: dict[str, Document] = {}

    async def run(self, sample: int | None) -> Outcome:
        path = self._outcome.path.absolute()
        context = await self._open(path)
        if context is None:
            # Nothing of a dump: what is asked about it has no answer, and that is right.
            return self._outcome
        files = [*context.analysis.dump.files, *([context.module.file] if context.module else [])]
        self._documents = {Path(file.label).as_uri(): file.document for file in files}
        await self._about_the_file(context)
        await self._about_the_workspace(context)
        file = context.file
        size = len(file.document.data)
        starts = [token.start for token in tokens(context.analysis, file, 0, size, size + 1)]
        if isinstance(context, ModuleContext):
            starts = [word.start() for word in _WORD.finditer(file.document.data)]
        if sample is not None and sample < len(starts):
            starts = sorted(random.Random(0).sample(starts, sample))
        for start in starts:
            await self._at(context, lsp.Position(*to_position(file.document, start, self._server.client.encoding)))
        self._outcome.words = len(starts)
        return self._outcome

    async def _open(self, path: Path) -> Context | None:
        protocol = self._server.protocol
        protocol.set_writer(_Sink())
        params = {"processId": None, "rootUri": None, "capabilities": _CAPABILITIES}
        protocol.receive({"jsonrpc": "2.0", "id": 0, "method": lsp.INITIALIZE, "params": params})
        self._server.session.open(self._uri, path, 1, document_of_file(path.read_bytes()))
        # The HLO module should be there, too.
        return await self._server.context(lsp.TEXT_DOCUMENT_IMPLEMENTATION, self._uri)

    # ---------------------------------------------------------------- requests

    async def _about_the_file(self, context: Context) -> None:
        document, last = lsp.TextDocumentIdentifier(self._uri), context.file.document.line_count
        await self._ask(context, lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL, lsp.DocumentSymbolParams(document))
        await self._ask(context, lsp.TEXT_DOCUMENT_FOLDING_RANGE, lsp.FoldingRangeParams(document))
        for lens in await self._ask(context, lsp.TEXT_DOCUMENT_CODE_LENS, lsp.CodeLensParams(document)) or []:
            await self._ask(context, lsp.CODE_LENS_RESOLVE, lens)
        for link in await self._ask(context, lsp.TEXT_DOCUMENT_DOCUMENT_LINK, lsp.DocumentLinkParams(document)) or []:
            await self._ask(context, lsp.DOCUMENT_LINK_RESOLVE, link)
        for row in range(0, last, _LINES):
            lines = lsp.Range(lsp.Position(row, 0), lsp.Position(row + _LINES, 0))
            hints = lsp.InlayHintParams(document, lines)
            await self._ask(context, lsp.TEXT_DOCUMENT_INLAY_HINT, hints)
            words = lsp.SemanticTokensRangeParams(document, lines)
            await self._ask(context, lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_RANGE, words)

    async def _about_the_workspace(self, context: Context) -> None:
        document = lsp.TextDocumentIdentifier(self._uri)
        await self._ask(context, lsp.TEXT_DOCUMENT_DIAGNOSTIC, lsp.DocumentDiagnosticParams(document))
        await self._ask(context, lsp.WORKSPACE_DIAGNOSTIC, lsp.WorkspaceDiagnosticParams([]))
        for query in _QUERIES:
            await self._ask(context, lsp.WORKSPACE_SYMBOL, lsp.WorkspaceSymbolParams(query))
        found = self._server.session.find(self._uri)
        key = found[0].key if found else self._outcome.path
        for page in _pages(context):
            uri = page_uri(key, page)
            await self._ask(context, lsp.WORKSPACE_TEXT_DOCUMENT_CONTENT, lsp.TextDocumentContentParams(uri))
            links = lsp.DocumentLinkParams(lsp.TextDocumentIdentifier(uri))
            answer = await self._server.answer(lsp.TEXT_DOCUMENT_DOCUMENT_LINK, links)
            self._checked(uri, lsp.TEXT_DOCUMENT_DOCUMENT_LINK, answer)
        for command, arguments in _commands(self._uri, context.analysis.dump):
            params_of_command = lsp.ExecuteCommandParams(command, arguments=[arguments])
            await self._ask(context, lsp.WORKSPACE_EXECUTE_COMMAND, params_of_command)

    async def _at(self, context: Context, position: lsp.Position) -> None:
        document, here = lsp.TextDocumentIdentifier(self._uri), lsp.Range(position, position)
        for method, params in (
            (lsp.TEXT_DOCUMENT_HOVER, lsp.HoverParams(document, position)),
            (lsp.TEXT_DOCUMENT_DEFINITION, lsp.DefinitionParams(document, position)),
            (lsp.TEXT_DOCUMENT_DECLARATION, lsp.DeclarationParams(document, position)),
            (lsp.TEXT_DOCUMENT_TYPE_DEFINITION, lsp.TypeDefinitionParams(document, position)),
            (lsp.TEXT_DOCUMENT_IMPLEMENTATION, lsp.ImplementationParams(document, position)),
            (lsp.TEXT_DOCUMENT_REFERENCES, lsp.ReferenceParams(lsp.ReferenceContext(True), document, position)),  # noqa: FBT003
            (lsp.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT, lsp.DocumentHighlightParams(document, position)),
            (lsp.TEXT_DOCUMENT_SELECTION_RANGE, lsp.SelectionRangeParams(document, [position])),
            (lsp.TEXT_DOCUMENT_CODE_ACTION, lsp.CodeActionParams(document, here, lsp.CodeActionContext([]))),
        ):
            await self._ask(context, method, params)
        place = {"line": position.line, "character": position.character}
        what = lsp.ExecuteCommandParams(Command.WHAT_IS_AT, arguments=[{"uri": self._uri, "position": place}])
        await self._ask(context, lsp.WORKSPACE_EXECUTE_COMMAND, what)
        prepare = lsp.CallHierarchyPrepareParams(document, position)
        for item in await self._ask(context, lsp.TEXT_DOCUMENT_PREPARE_CALL_HIERARCHY, prepare) or []:
            incoming, outgoing = lsp.CallHierarchyIncomingCallsParams(item), lsp.CallHierarchyOutgoingCallsParams(item)
            await self._ask(context, lsp.CALL_HIERARCHY_INCOMING_CALLS, incoming)
            await self._ask(context, lsp.CALL_HIERARCHY_OUTGOING_CALLS, outgoing)

    async def _ask(self, context: Context, method: str, params: Any) -> Any:
        """The answer to a request, if nothing is wrong with it."""
        self._outcome.requests[method] += 1
        handler = HANDLERS[method]
        try:
            if isinstance(handler, Wide):
                result = await handler.answer(self._server, params)
            else:
                result = handler_for(context, method).answer(context, params)
            return self._checked(self._uri, method, result)
        except Exception as error:
            self._outcome.wrong.append(f"{_where(params)}{method}: {_reason(error)}")
            return None

    def _checked(self, uri: str, method: str, result: Any) -> Any:
        """An answer. Raises if the protocol does not allow it, or if a range of it is not in its file."""
        answer = self._server.protocol.plain(result)
        answer_type: Any = lsp.METHOD_TO_TYPES[method][1]
        response = _CONVERTER.structure({"jsonrpc": "2.0", "id": 0, "result": answer}, answer_type)
        for number, (where, place) in enumerate(_ranges(answer, uri)):
            if number < _CHECKED_RANGES and where in self._documents:
                self._check_range(self._documents[where], place)
        return response.result

    def _check_range(self, document: Document, place: Mapping[str, Any]) -> None:
        encoding = self._server.client.encoding
        start, end = ((place[name]["line"], place[name]["character"]) for name in ("start", "end"))
        if start > end:
            raise ValueError(f"a range that ends before it starts: {start} to {end}")
        for row, column in (start, end):
            if to_position(document, to_offset(document, row, column, encoding), encoding) != (row, column):
                raise ValueError(f"a position that is not in its file: {row}:{column}")


class _Sink:
    """What the server says without being asked is of no interest."""

    def write(self, data: bytes) -> None:
        pass

    def close(self) -> None:
        pass


def _pages(context: Context) -> Iterator[Page]:
    yield SummaryPage()
    yield ReportPage()
    for space in context.analysis.memory.spaces:
        if space.peak_step is not None:
            yield LiveSetPage(space.peak_step)
    for index in context.analysis.dump.allocations.index[:3].tolist():
        if index >= 0:
            yield HistoryPage(index)


def _commands(uri: str, dump: DumpSet) -> Iterator[tuple[str, dict[str, Any]]]:
    here = {"uri": uri}
    for form in ("markdown", "text", "json", "html"):
        yield Command.REPORT, {**here, "format": form}
    yield Command.CHECK, here
    yield Command.SHOW_SUMMARY, here
    yield Command.SHOW_REPORT, here
    yield Command.SHOW_LIVE_SET, {**here, "step": 0}
    yield Command.SHOW_ALLOCATION_HISTORY, {**here, "allocation": 0}
    yield Command.SHOW_REFERENCES, {**here, "position": {"line": 1, "character": 0}}
    yield Command.EXPLAIN, {"code": Code.SYNTAX.value}
    yield Command.MEMORY_MAP, here
    yield Command.OVERVIEW, here
    yield Command.MODULES, {}
    steps = sorted(set(dump.schedule.step[dump.schedule.step >= 0].tolist()))
    counts = {"value": range(len(dump.values)), "allocation": range(len(dump.allocations)), "step": steps}
    for what, numbers in counts.items():
        for number in numbers[:_DESCRIBED]:
            yield Command.DESCRIBE, {**here, what: number}


def _ranges(answer: Any, uri: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The ranges in an answer, each with the address of its file."""
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
    """What is wrong, without the tree of errors around it."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"
