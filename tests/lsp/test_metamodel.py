"""The validator that checks all messages in these tests rejects invalid ones."""

import json
import re
from typing import Any

import pytest
from lsprotocol import converters
from lsprotocol import types as lsp

from lsp.metamodel import Violation, check_answer, check_call, check_part, check_progress, check_value

_RANGE = {"start": {"line": 1, "character": 2}, "end": {"line": 1, "character": 4}}
_LOCATION = {"uri": "file:///a", "range": _RANGE}
_SYMBOL = {"name": "a", "kind": 13, "range": _RANGE, "selectionRange": _RANGE}
_LINK = {"targetUri": "file:///a", "targetRange": _RANGE, "targetSelectionRange": _RANGE}
_DIAGNOSTIC = {"range": _RANGE, "message": "m", "severity": 1, "code": "syntax", "source": "xla-lens"}
_TOKENS = {"data": [0, 1, 2, 3, 0]}
_PLACE = {"textDocument": {"uri": "file:///a"}, "position": {"line": 0, "character": 0}}
_HOVER = {"contents": {"kind": "markdown", "value": "x"}, "range": _RANGE}

_CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "hover": ("client", {"id": 1, "method": "textDocument/hover", "params": _PLACE}),
    "initialize": (
        "client",
        {
            "id": 1,
            "method": "initialize",
            "params": {"processId": None, "rootUri": None, "capabilities": {"general": {"positionEncodings": ["x"]}}},
        },
    ),
    "shutdown": ("client", {"id": "a", "method": "shutdown"}),
    "exit": ("client", {"method": "exit"}),
    "cancel": ("client", {"method": "$/cancelRequest", "params": {"id": 1}}),
    "change": (
        "client",
        {
            "method": "textDocument/didChange",
            "params": {
                "textDocument": {"uri": "file:///a", "version": 2},
                "contentChanges": [{"text": "a"}, {"range": _RANGE, "text": "b"}],
            },
        },
    ),
    "diagnostics": (
        "server",
        {"method": "textDocument/publishDiagnostics", "params": {"uri": "file:///a", "diagnostics": [_DIAGNOSTIC]}},
    ),
    "progress": ("server", {"method": "$/progress", "params": {"token": 1, "value": None}}),
    "refresh": ("server", {"id": "b", "method": "workspace/inlayHint/refresh"}),
    "configuration": (
        "server",
        {"id": 3, "method": "workspace/configuration", "params": {"items": [{"section": "xla-lens"}]}},
    ),
}

_RESULTS = {
    "hover": ("textDocument/hover", _HOVER),
    "marked": ("textDocument/hover", {"contents": ["a", {"language": "b", "value": "c"}]}),
    "nothing": ("textDocument/hover", None),
    "places": ("textDocument/definition", [_LOCATION]),
    "links": ("textDocument/definition", [{**_LINK, "originSelectionRange": _RANGE}]),
    "symbols": ("textDocument/documentSymbol", [{**_SYMBOL, "children": [_SYMBOL]}]),
    "flat symbols": ("textDocument/documentSymbol", [{"name": "a", "kind": 13, "location": _LOCATION}]),
    "hints": ("textDocument/inlayHint", [{"position": _RANGE["start"], "label": "x", "paddingLeft": True}]),
    "tokens": ("textDocument/semanticTokens/range", _TOKENS),
    "folds": ("textDocument/foldingRange", [{"startLine": 1, "endLine": 2, "kind": "anything"}]),
    "selections": ("textDocument/selectionRange", [{"range": _RANGE, "parent": {"range": _RANGE}}]),
    "report": ("textDocument/diagnostic", {"kind": "full", "items": [_DIAGNOSTIC]}),
    "wide report": (
        "workspace/diagnostic",
        {"items": [{"kind": "unchanged", "uri": "file:///a", "resultId": "1", "version": None}]},
    ),
    "any": ("workspace/executeCommand", [{"a": [None, 1.5, True, "x"]}]),
    "shutdown": ("shutdown", None),
}


def _edited(value: Any, path: str, *new: Any) -> Any:
    """Return a copy with another value at a path, or without the path."""
    value = found = _copied(value)
    *names, last = [int(name) if name.isdigit() else name for name in path.split(".")]
    for name in names:
        found = found[name]
    if new:
        found[last] = new[0]
    else:
        del found[last]
    return value


def _copied(value: Any) -> Any:
    """Return a deep copy without shared parts."""
    if isinstance(value, dict):
        return {name: _copied(item) for name, item in value.items()}
    return [_copied(item) for item in value] if isinstance(value, list) else value


def _call(name: str) -> tuple[str, dict[str, Any]]:
    sender, call = _CALLS[name]
    return sender, {"jsonrpc": "2.0", **call}


def _answer(name: str) -> tuple[str, dict[str, Any]]:
    method, result = _RESULTS[name]
    return method, {"jsonrpc": "2.0", "id": 1, "result": result}


@pytest.mark.parametrize("name", _CALLS)
def test_valid_calls_are_accepted(name: str) -> None:
    sender, call = _call(name)
    check_call(call, sender)


@pytest.mark.parametrize("name", _RESULTS)
def test_valid_results_are_accepted(name: str) -> None:
    method, answer = _answer(name)
    check_answer(answer, method)


@pytest.mark.parametrize(
    ("name", "path", "new", "reason"),
    [
        ("hover", "jsonrpc", [], "needs 'jsonrpc'"),
        ("hover", "jsonrpc", ["1.0"], "instead of"),
        ("hover", "id", [], "needs 'id'"),
        ("hover", "id", [None], "null"),
        ("hover", "id", [1.5], "(float)"),
        ("hover", "id", [True], "(bool)"),
        ("hover", "params", [], "needs 'params'"),
        ("hover", "params.position.line", [-1], "uinteger"),
        ("hover", "params.position.line", [1 << 31], "32 bits"),
        ("hover", "params.position.line", ["0"], "(str)"),
        ("hover", "params.position.line", [0.0], "(float)"),
        ("hover", "params.position.line", [True], "(bool)"),
        ("hover", "params.position.column", [1], "has no 'column'"),
        ("hover", "params.text_document", [1], "has no 'text_document'"),
        ("hover", "params.workDoneToken", [None], "null"),
        ("hover", "method", ["textDocument/hovers"], "no method"),
        ("hover", "method", [[]], "no method"),
        ("initialize", "params.processId", [], "needs 'processId'"),
        ("initialize", "params.rootUri", [], "needs 'rootUri'"),
        ("initialize", "params.trace", ["loud"], "instead of"),
        ("initialize", "params.capabilities.general", [None], "null"),
        ("shutdown", "params", [None], "null"),
        ("shutdown", "params", [{}], "instead of"),
        ("exit", "id", [1], "has no 'id'"),
        ("cancel", "params.id", [[]], "instead of"),
        ("change", "params.contentChanges.1.range.end", [], "needs 'end'"),
        ("change", "params.contentChanges.1.range.end.line", [0], "ends before it starts"),
        ("change", "params.contentChanges", [{}], "(dict)"),
        ("change", "params.textDocument.version", [None], "null"),
        ("diagnostics", "params.diagnostics.0.severity", [5], "instead of"),
        ("diagnostics", "params.diagnostics.0.severity", [None], "null"),
        ("diagnostics", "params.diagnostics.0.severity", [True], "instead of"),
        ("diagnostics", "params.diagnostics.0.message", [], "needs 'message'"),
        ("diagnostics", "params.diagnostics.0.relatedInformation", [None], "null"),
        ("diagnostics", "params.uri", ["/a"], "without a scheme"),
        ("progress", "params.value", [], "needs 'value'"),
        ("progress", "params.value", [[{"a": {1, 2}}]], "JSON"),
        ("refresh", "params", [None], "null"),
        ("configuration", "params.items.0", [[]], "(list)"),
    ],
)
def test_invalid_calls_are_rejected(name: str, path: str, new: list[Any], reason: str) -> None:
    sender, call = _call(name)
    with pytest.raises(Violation, match=re.escape(reason)):
        check_call(_edited(call, path, *new), sender)


@pytest.mark.parametrize(
    ("name", "path", "new", "reason"),
    [
        ("hover", "id", [], "needs 'id'"),
        ("hover", "result", [], "needs 'result'"),
        ("hover", "method", ["textDocument/hover"], "has no 'method'"),
        ("hover", "result.contents", [None], "null"),
        ("hover", "result.contents.kind", ["html"], "instead of"),
        ("hover", "result.contents.value", [1], "(int)"),
        ("hover", "result.range", [None], "null"),
        ("hover", "result.range.start.character", [5], "ends before it starts"),
        ("places", "result.0.uri", [], "needs 'uri'"),
        ("places", "result", ["file:///a"], "instead of"),
        ("places", "result.0.uri", ["relative"], "without a scheme"),
        ("places", "result.0", [None], "instead of"),
        ("links", "result.0.targetSelectionRange.end.character", [99], "not in its range"),
        ("links", "result.0.uri", ["file:///a"], "has no"),
        ("symbols", "result.0.children.0.name", [" "], "the name is empty"),
        ("symbols", "result.0.children.0.kind", [27], "instead of"),
        ("symbols", "result.0.children.0.selectionRange.start.line", [0], "not in the range"),
        ("symbols", "result.0.children", [None], "null"),
        ("flat symbols", "result.0.containerName", [None], "null"),
        ("hints", "result.0.label", [[{}]], "label[0]: InlayHintLabelPart needs 'value'"),
        ("hints", "result.0.kind", ["Type"], "instead of"),
        ("tokens", "result.data.1", [-1], "uinteger"),
        ("tokens", "result.data.4", [], "five numbers"),
        ("folds", "result.0.endLine", [0], "ends before it starts"),
        ("folds", "result.0.endCharacter", [None], "null"),
        ("selections", "result.0.parent.range.end.character", [3], "does not hold"),
        ("report", "result.kind", [], "needs 'kind'"),
        ("report", "result.kind", ["unchanged"], "has no 'items'"),
        ("report", "result.items", [], "needs 'items'"),
        ("wide report", "result.items.0.version", [], "needs 'version'"),
        ("any", "result.0.a", [{"b": object()}], "JSON"),
        ("shutdown", "result", [{}], "instead of"),
        ("shutdown", "result", [], "needs 'result'"),
    ],
)
def test_invalid_results_are_rejected(name: str, path: str, new: list[Any], reason: str) -> None:
    method, answer = _answer(name)
    with pytest.raises(Violation, match=re.escape(reason)):
        check_answer(_edited(answer, path, *new), method)


@pytest.mark.parametrize(
    "error",
    [
        {"code": -32600},
        {"code": "x", "message": "m"},
        {"code": 1.5, "message": "m"},
        {"code": 1, "message": None},
        {"code": 1, "message": "m", "cause": "c"},
        None,
        [],
    ],
)
def test_invalid_errors_are_rejected(error: Any) -> None:
    with pytest.raises(Violation):
        check_answer({"jsonrpc": "2.0", "id": 1, "error": error}, "shutdown")


def test_valid_errors_are_accepted() -> None:
    check_answer({"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "m"}}, "shutdown")
    check_answer({"jsonrpc": "2.0", "id": "x", "error": {"code": 1, "message": "m", "data": [None]}}, "shutdown")


def test_response_has_either_a_result_or_an_error() -> None:
    error = {"code": 1, "message": "m"}
    with pytest.raises(Violation):
        check_answer({"jsonrpc": "2.0", "id": 1, "result": None, "error": error}, "shutdown")


def test_methods_of_the_other_side_are_rejected() -> None:
    _, call = _call("hover")
    with pytest.raises(Violation, match="the server does not send"):
        check_call(call, "server")
    _, call = _call("diagnostics")
    with pytest.raises(Violation, match="the client does not send"):
        check_call(call, "client")


def test_progress_and_partial_results_are_checked() -> None:
    check_progress({"kind": "begin", "title": "t", "percentage": 0})
    check_progress({"kind": "report", "message": "m"})
    check_progress({"kind": "end"})
    for wrong in ({"kind": "begin"}, {"kind": "report", "percentage": -1}, {"kind": "stop"}, {}, None):
        with pytest.raises(Violation):
            check_progress(wrong)
    check_part([_LOCATION], "textDocument/references")
    check_part({"items": []}, "workspace/diagnostic")
    check_part({"data": [0, 0, 0, 0, 0]}, "textDocument/semanticTokens/range")
    for value, method in (([_SYMBOL], "textDocument/references"), ({"data": [1]}, "textDocument/semanticTokens/range")):
        with pytest.raises(Violation):
            check_part(value, method)


def test_messages_serialized_by_lsprotocol_are_accepted() -> None:
    converter = converters.get_converter()
    position = lsp.Position(0, 0)
    whole = lsp.Range(position, position)
    capabilities = lsp.ServerCapabilities(
        position_encoding=lsp.PositionEncodingKind.Utf8,
        hover_provider=True,
        semantic_tokens_provider=lsp.SemanticTokensOptions(lsp.SemanticTokensLegend(["type"], []), range=True),
        execute_command_provider=lsp.ExecuteCommandOptions(["a"]),
    )
    values = [
        lsp.InitializeResult(capabilities, lsp.ServerInfo("a")),
        lsp.CallHierarchyIncomingCall(
            lsp.CallHierarchyItem("a", lsp.SymbolKind.Variable, "a:b", whole, whole, data=[1]),
            [],
        ),
        lsp.RegistrationParams([lsp.Registration("1", "workspace/didChangeWatchedFiles", {"watchers": []})]),
        lsp.WorkspaceEdit({"a:b": [lsp.TextEdit(whole, "")]}),
    ]
    for value in values:
        check_value(json.loads(json.dumps(converter.unstructure(value))), type(value))
