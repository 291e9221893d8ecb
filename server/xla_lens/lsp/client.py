"""What the editor at the other end can do, as far as it makes a difference."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from lsprotocol import types as lsp
from pygls.capabilities import ServerCapabilitiesBuilder, get_capability

from xla_lens.text.encoding import Encoding

_REFRESHES: Final = {
    lsp.WORKSPACE_DIAGNOSTIC_REFRESH: "workspace.diagnostics.refresh_support",
    lsp.WORKSPACE_INLAY_HINT_REFRESH: "workspace.inlay_hint.refresh_support",
    lsp.WORKSPACE_CODE_LENS_REFRESH: "workspace.code_lens.refresh_support",
    lsp.WORKSPACE_SEMANTIC_TOKENS_REFRESH: "workspace.semantic_tokens.refresh_support",
    lsp.WORKSPACE_FOLDING_RANGE_REFRESH: "workspace.folding_range.refresh_support",
}

_LINKS: Final = {
    lsp.TEXT_DOCUMENT_DEFINITION: "text_document.definition.link_support",
    lsp.TEXT_DOCUMENT_DECLARATION: "text_document.declaration.link_support",
    lsp.TEXT_DOCUMENT_TYPE_DEFINITION: "text_document.type_definition.link_support",
    lsp.TEXT_DOCUMENT_IMPLEMENTATION: "text_document.implementation.link_support",
}


@dataclass(frozen=True, slots=True)
class Client:
    """What the editor can do. `links` are the requests that it takes links from, which tell the word that they start
    at; `refreshes` what it can be asked to ask for again; `folding_limit` is None where it has none.
    """

    encoding: Encoding = Encoding.UTF16
    links: frozenset[str] = frozenset()
    refreshes: frozenset[str] = frozenset()
    folding_limit: int | None = None
    reads_markdown: bool = True
    has_nested_symbols: bool = False
    has_code_action_literals: bool = False
    pulls_diagnostics: bool = False
    knows_pulled_diagnostics: bool = False
    has_settings: bool = False
    shows_progress: bool = False
    shows_documents: bool = False
    reads_content: bool = False
    hears_of_loads: bool = False


def client_of(capabilities: lsp.ClientCapabilities) -> Client:
    """What an editor can do by its own word."""

    def has(name: str) -> bool:
        return bool(get_capability(capabilities, name, False))  # noqa: FBT003

    def get(name: str, default: Any) -> Any:
        return get_capability(capabilities, name, default) or default

    knows = get_capability(capabilities, "text_document.diagnostic", None) is not None
    formats = get("text_document.hover.content_format", [lsp.MarkupKind.Markdown])
    return Client(
        encoding=Encoding(ServerCapabilitiesBuilder.choose_position_encoding(capabilities)),
        links=frozenset(method for method, name in _LINKS.items() if has(name)),
        refreshes=frozenset(method for method, name in _REFRESHES.items() if has(name)),
        folding_limit=get_capability(capabilities, "text_document.folding_range.range_limit", None),
        reads_markdown=lsp.MarkupKind.Markdown in formats,
        has_nested_symbols=has("text_document.document_symbol.hierarchical_document_symbol_support"),
        has_code_action_literals=has("text_document.code_action.code_action_literal_support"),
        # Findings in one file come from edits of another, so that an editor must be told when to ask again.
        pulls_diagnostics=knows and has(_REFRESHES[lsp.WORKSPACE_DIAGNOSTIC_REFRESH]),
        knows_pulled_diagnostics=knows,
        has_settings=has("workspace.configuration"),
        shows_progress=has("window.work_done_progress"),
        shows_documents=has("window.show_document.support"),
        hears_of_loads=_experimental(capabilities, "xlaLens", "didLoad") is True,
        reads_content=get_capability(capabilities, "workspace.text_document_content", None) is not None,
    )


def _experimental(capabilities: lsp.ClientCapabilities, *names: str) -> Any:
    """What an editor says beyond the protocol, None if it does not."""
    value: Any = capabilities.experimental
    for name in names:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value
