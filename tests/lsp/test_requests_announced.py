"""Each announced request has a handler and a test of its answers."""

from collections.abc import Mapping
from dataclasses import fields

from lsprotocol import types as lsp

from lsp.reading import Reader
from lsp.wire import PULLING
from xla_lens.lsp.handlers import HANDLERS, Command
from xla_lens.lsp.settings import _SETTINGS, Settings

_ANNOUNCED: Mapping[str, tuple[str, ...]] = {
    "callHierarchyProvider": (
        lsp.TEXT_DOCUMENT_PREPARE_CALL_HIERARCHY,
        lsp.CALL_HIERARCHY_INCOMING_CALLS,
        lsp.CALL_HIERARCHY_OUTGOING_CALLS,
    ),
    "codeActionProvider": (lsp.TEXT_DOCUMENT_CODE_ACTION,),
    "codeLensProvider": (lsp.TEXT_DOCUMENT_CODE_LENS, lsp.CODE_LENS_RESOLVE),
    "declarationProvider": (lsp.TEXT_DOCUMENT_DECLARATION,),
    "definitionProvider": (lsp.TEXT_DOCUMENT_DEFINITION,),
    "diagnosticProvider": (lsp.TEXT_DOCUMENT_DIAGNOSTIC, lsp.WORKSPACE_DIAGNOSTIC),
    "documentHighlightProvider": (lsp.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT,),
    "documentLinkProvider": (lsp.TEXT_DOCUMENT_DOCUMENT_LINK, lsp.DOCUMENT_LINK_RESOLVE),
    "documentSymbolProvider": (lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL,),
    "executeCommandProvider": (lsp.WORKSPACE_EXECUTE_COMMAND,),
    "foldingRangeProvider": (lsp.TEXT_DOCUMENT_FOLDING_RANGE,),
    "hoverProvider": (lsp.TEXT_DOCUMENT_HOVER,),
    "implementationProvider": (lsp.TEXT_DOCUMENT_IMPLEMENTATION,),
    "inlayHintProvider": (lsp.TEXT_DOCUMENT_INLAY_HINT,),
    "referencesProvider": (lsp.TEXT_DOCUMENT_REFERENCES,),
    "selectionRangeProvider": (lsp.TEXT_DOCUMENT_SELECTION_RANGE,),
    "semanticTokensProvider": (lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_RANGE,),
    "typeDefinitionProvider": (lsp.TEXT_DOCUMENT_TYPE_DEFINITION,),
    "workspace.textDocumentContent": (lsp.WORKSPACE_TEXT_DOCUMENT_CONTENT,),
    "workspaceSymbolProvider": (lsp.WORKSPACE_SYMBOL,),
}
"""The requests that each capability announces."""

_NO_REQUESTS = {"positionEncoding", "textDocumentSync", "workspace.workspaceFolders", "workspace.fileOperations"}


async def test_announced_capabilities_match_the_handlers(reader: Reader) -> None:
    capabilities = dict((await reader.start(PULLING))["capabilities"])
    capabilities |= {f"workspace.{name}": value for name, value in capabilities.pop("workspace").items()}
    announced = {name for name, value in capabilities.items() if value} - _NO_REQUESTS
    assert announced == _ANNOUNCED.keys()
    promised = {method for methods in _ANNOUNCED.values() for method in methods}
    assert promised == HANDLERS.keys()
    assert capabilities["executeCommandProvider"]["commands"] == [str(command) for command in Command]
    # The server never edits a dump.
    assert not any("rename" in name.lower() or "formatting" in name.lower() for name in capabilities)


def test_each_setting_has_a_reader() -> None:
    assert {field for field, _ in _SETTINGS.values()} == {field.name for field in fields(Settings)}
