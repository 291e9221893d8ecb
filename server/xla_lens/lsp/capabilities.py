"""The request `initialize`: what the editor supports, and what the server announces.

Editors wait for the answer. It is made from plain JSON, because the types of lsprotocol take longer to import than
everything else that the answer needs.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from xla_lens.lsp.errors import InvalidParams
from xla_lens.lsp.methods import ACTION_KIND, PAGE_SCHEME, TOKEN_MODIFIERS, TOKEN_TYPES, Command
from xla_lens.lsp.raw_json import Json
from xla_lens.lsp.uris import uri_of
from xla_lens.records import dataclass
from xla_lens.text.encoding import Encoding

_REFRESH_SUPPORT: Final = {
    "workspace/diagnostic/refresh": "workspace.diagnostics.refreshSupport",
    "workspace/inlayHint/refresh": "workspace.inlayHint.refreshSupport",
    "workspace/codeLens/refresh": "workspace.codeLens.refreshSupport",
    "workspace/semanticTokens/refresh": "workspace.semanticTokens.refreshSupport",
    "workspace/foldingRange/refresh": "workspace.foldingRange.refreshSupport",
}

_SYNCHRONIZATION: Final = "textDocument.synchronization.dynamicRegistration"
_SOURCE_SUPPORT: Final = {
    "textDocument/didOpen": _SYNCHRONIZATION,
    "textDocument/didChange": _SYNCHRONIZATION,
    "textDocument/didSave": _SYNCHRONIZATION,
    "textDocument/didClose": _SYNCHRONIZATION,
    "textDocument/hover": "textDocument.hover.dynamicRegistration",
    "textDocument/inlayHint": "textDocument.inlayHint.dynamicRegistration",
}

_LINK_SUPPORT: Final = {
    "textDocument/definition": "textDocument.definition.linkSupport",
    "textDocument/declaration": "textDocument.declaration.linkSupport",
    "textDocument/typeDefinition": "textDocument.typeDefinition.linkSupport",
    "textDocument/implementation": "textDocument.implementation.linkSupport",
}

_MARKDOWN: Final = "markdown"

_INCREMENTAL: Final = 2
"""The kind of document synchronization that sends the changed parts."""


@dataclass(frozen=True, slots=True)
class ClientCapabilities:
    """What the editor supports.

    `links` are the requests that it accepts `LocationLink`s for, `refreshes` the refresh requests that it handles.
    `folding_limit` is None if the editor sets no limit. `has_pull_diagnostics` means that it requests diagnostics at
    all, `pulls_diagnostics` that it also refreshes them, so that the server need not publish any. `has_command_uris`
    means that links in Markdown may be `command:` URIs.
    `source_methods` are what can be registered for single files of the program: nothing if the editor draws their
    memory by itself.
    """

    encoding: Encoding = Encoding.UTF16
    links: frozenset[str] = frozenset()
    refreshes: frozenset[str] = frozenset()
    folding_limit: int | None = None
    has_markdown: bool = True
    has_nested_symbols: bool = False
    has_code_action_literals: bool = False
    has_pull_diagnostics: bool = False
    pulls_diagnostics: bool = False
    has_configuration: bool = False
    has_progress: bool = False
    has_show_document: bool = False
    has_text_document_content: bool = False
    has_did_load: bool = False
    source_methods: frozenset[str] = frozenset()
    has_command_uris: bool = False


@dataclass(frozen=True, slots=True)
class InitializeParams:
    """The parameters of `initialize`. `options` are the settings, in any form. `process_id` is the editor's process,
    None if it does not say.
    """

    capabilities: ClientCapabilities
    process_id: int | None
    folder_uris: tuple[str, ...]
    options: Any


def read_params(params: Any) -> InitializeParams:
    """Read the parameters of `initialize`, which may be any JSON. Capabilities of an unknown form count as missing.

    Raises `InvalidParams`.
    """
    if not isinstance(params, dict) or not isinstance(params.get("capabilities"), dict):
        raise InvalidParams("expected an object with the capabilities of the editor")
    process_id = params.get("processId")
    if process_id is not None and (not isinstance(process_id, int) or isinstance(process_id, bool)):
        raise InvalidParams("processId: expected an integer or null")
    return InitializeParams(
        capabilities=_client_capabilities(params["capabilities"]),
        process_id=process_id,
        folder_uris=_folder_uris(params),
        options=params.get("initializationOptions"),
    )


def _folder_uris(params: Json) -> tuple[str, ...]:
    """The URIs of the workspace folders. Older editors send the root only."""
    folders, root_uri, root_path = (params.get(name) for name in ("workspaceFolders", "rootUri", "rootPath"))
    if folders is not None:
        if not isinstance(folders, list):
            raise InvalidParams("workspaceFolders: expected a list or null")
        uris = [folder.get("uri") for folder in folders if isinstance(folder, dict)]
        texts = tuple(uri for uri in uris if isinstance(uri, str))
        if len(texts) < len(folders):
            raise InvalidParams("workspaceFolders: expected objects with a URI")
        return texts
    if not all(root is None or isinstance(root, str) for root in (root_uri, root_path)):
        raise InvalidParams("rootUri, rootPath: expected a string or null")
    root = root_uri or (root_path and uri_of(Path(root_path)))
    return (root,) if root else ()


def _client_capabilities(capabilities: Json) -> ClientCapabilities:
    """What matters here of the capabilities that the editor announces."""

    def get(path: str) -> Any:
        value: Any = capabilities
        for name in path.split("."):
            value = value.get(name) if isinstance(value, Mapping) else None
        return value

    def has(path: str) -> bool:
        return get(path) is True

    def texts(path: str) -> list[str]:
        values = get(path)
        return [value for value in values if isinstance(value, str)] if isinstance(values, list) else []

    encodings = [Encoding(name) for name in texts("general.positionEncodings") if name in set(Encoding)]
    limit = get("textDocument.foldingRange.rangeLimit")
    draws = has("experimental.xlaLens.sourceLines")
    pulls = isinstance(get("textDocument.diagnostic"), Mapping)
    return ClientCapabilities(
        encoding=encodings[0] if encodings else Encoding.UTF16,
        links=frozenset(method for method, path in _LINK_SUPPORT.items() if has(path)),
        refreshes=frozenset(method for method, path in _REFRESH_SUPPORT.items() if has(path)),
        folding_limit=limit if isinstance(limit, int) and not isinstance(limit, bool) and limit >= 0 else None,
        has_markdown=_MARKDOWN in (texts("textDocument.hover.contentFormat") or [_MARKDOWN]),
        has_nested_symbols=has("textDocument.documentSymbol.hierarchicalDocumentSymbolSupport"),
        has_code_action_literals=isinstance(get("textDocument.codeAction.codeActionLiteralSupport"), Mapping),
        has_pull_diagnostics=pulls,
        # An edit of one file can change the findings in another, so pulling only works with refresh requests.
        pulls_diagnostics=pulls and has(_REFRESH_SUPPORT["workspace/diagnostic/refresh"]),
        has_configuration=has("workspace.configuration"),
        has_progress=has("window.workDoneProgress"),
        has_show_document=has("window.showDocument.support"),
        has_text_document_content=isinstance(get("workspace.textDocumentContent"), Mapping),
        has_did_load=has("experimental.xlaLens.didLoad"),
        has_command_uris=has("experimental.xlaLens.commandUris"),
        source_methods=frozenset(method for method, path in _SOURCE_SUPPORT.items() if has(path) and not draws),
    )


def server_capabilities(client: ClientCapabilities) -> Json:
    """Return what the server announces to an editor: the requests of `METHODS`, and how documents are synchronized."""
    capabilities = {
        "positionEncoding": client.encoding.value,
        "textDocumentSync": {"openClose": True, "change": _INCREMENTAL, "save": True},
        "hoverProvider": True,
        "definitionProvider": True,
        "declarationProvider": True,
        "typeDefinitionProvider": True,
        "implementationProvider": True,
        "referencesProvider": True,
        "documentHighlightProvider": True,
        "selectionRangeProvider": True,
        "callHierarchyProvider": True,
        "documentSymbolProvider": True,
        "foldingRangeProvider": True,
        "semanticTokensProvider": {
            "legend": {"tokenTypes": TOKEN_TYPES, "tokenModifiers": TOKEN_MODIFIERS},
            "range": True,
        },
        "inlayHintProvider": {"resolveProvider": False},
        "codeLensProvider": {"resolveProvider": True},
        "documentLinkProvider": {"resolveProvider": True},
        "codeActionProvider": {"codeActionKinds": ["quickfix", ACTION_KIND]},
        "diagnosticProvider": {"interFileDependencies": True, "workspaceDiagnostics": True},
        "workspaceSymbolProvider": {"resolveProvider": False, "workDoneProgress": True},
        "executeCommandProvider": {"commands": [*Command], "workDoneProgress": True},
        "workspace": {
            "workspaceFolders": {"supported": True, "changeNotifications": True},
            "textDocumentContent": {"schemes": [PAGE_SCHEME]},
        },
    }
    if client.has_pull_diagnostics and not client.pulls_diagnostics:
        # The editor would show the published diagnostics and the pulled ones.
        del capabilities["diagnosticProvider"]
    return capabilities
